"""The configuration: frozen, strict, and the same in every program of a pipeline."""

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, Field, ValidationError

from pipeline.errors import ConfigError
from pipeline.frozen import Frozen
from pipeline.serve_config import ServeConfig

M = TypeVar("M", bound=BaseModel)


class Section(Frozen):
    """What every stage has.

    Attributes:
        stage: a built-in stage's name, or "package.module:Class" of your own.
        python: another interpreter to run it with; it needs `voxring` without extras.
        threads: of its model; 0: its share of the machine's cores.
        nice: added to its scheduling priority number.
        options: for scripted stages and your own.
    """

    stage: str
    python: str = ""
    threads: int = Field(0, ge=0)
    nice: int = Field(0, ge=0, le=19)
    options: dict[str, Any] = Field(default_factory=dict)


class AudioConfig(Section):
    """The edge.

    Attributes:
        stage: "file" plays recorded clips and writes answers; "client": your own program is the
            edge: `feed` is its microphone, `Sound` events are its loudspeaker; "device": the
            microphone and the loudspeaker of this machine, for one conversation at a time.
        record: a folder for a stereo WAV of each conversation; empty: none is kept.
        input: microphone of the edge "device": its number in `voxring devices`, or part of its
            name; empty: the system's default.
        output: the same of its loudspeaker.
        echo: "headphones": the microphone does not hear the loudspeaker; "cancel": it does, and
            what it hears of it is taken out; "half-duplex": nothing is heard while it speaks.
        noise_suppression: steady noise is taken out of the microphone (edge "device").
        gain_control: a quiet or a loud voice is brought to the same level (edge "device").
    """

    stage: str = "file"
    record: str = ""
    input: int | str = ""
    output: int | str = ""
    echo: Literal["headphones", "cancel", "half-duplex"] = "headphones"
    noise_suppression: bool = False
    gain_control: bool = False


class TurnConfig(Section):
    """Who speaks.

    Attributes:
        threshold: speech probability at which an utterance begins.
        pre_roll_ms: sound from before that moment that belongs to it.
        min_speech_ms: shorter bursts begin no turn.
        soft_end_ms: silence after which an answer is prepared, unheard.
        release_ms: silence after which the turn is over and the answer may be heard,
        early_release_ms: if the end-of-turn model is sure that what was said is complete,
        early_questions_only: and its words are a question: many a pause sounds like an end,
        late_release_ms: and if it takes it for incomplete.
        end_model: a bundle, an ONNX file or a hub id of Smart Turn; empty: silence alone decides.
        end_after_ms: silence at which the model is asked.
        sure_threshold: its probability from which what was said is surely complete,
        pause_threshold: and below which it is incomplete.
        max_turn_s: an utterance is ended after this long.
        input_timeout_s: sound that stops arriving in mid-speech for so long ends the turn.
        answer_timeout_s: a turn whose answer does not begin for so long ends as timed out.
        barge_in: what ends an answer: words (a voice only holds it), any voice, or nothing (off).
        hold_ms: a voice that brings no words for so long no longer holds an answer; if an echo has
            damaged it, its words may take two seconds.
        backchannels: what is said only to show that one listens, and does not end an answer.
        commands: what ends an answer even if the recogniser is unsure of it.
        unsure_below: mean log probability below which short words over an answer are taken for a
            hum, unless they are a command; such words are invented.
        greeting: what is said when a conversation is opened; empty: nothing.
        idle_s: a conversation in which nobody speaks for so long is told idle; 0: never.
    """

    stage: str = "silero"
    threshold: float = Field(0.5, gt=0, lt=1)
    pre_roll_ms: int = Field(300, ge=0, le=1000)
    min_speech_ms: int = Field(64, ge=0, le=1000)
    soft_end_ms: int = Field(64, ge=32, le=2000)
    release_ms: int = Field(1120, ge=32, le=5000)
    early_release_ms: int = Field(224, ge=32, le=5000)
    early_questions_only: bool = True
    late_release_ms: int = Field(1280, ge=32, le=10_000)
    end_model: str = "bundle:smart-turn-v3.2"
    end_after_ms: int = Field(96, ge=32, le=2000)
    sure_threshold: float = Field(0.9, gt=0, lt=1)
    pause_threshold: float = Field(0.5, gt=0, lt=1)
    max_turn_s: float = Field(60.0, gt=0, le=3600)
    input_timeout_s: float = Field(1.0, gt=0)
    answer_timeout_s: float = Field(20.0, gt=0)
    barge_in: Literal["words", "voice", "off"] = "words"
    hold_ms: int = Field(3000, ge=100, le=10_000)
    backchannels: list[str] = Field(
        [
            *("uh-huh", "mm-hmm", "mhm", "mm", "hmm", "hm", "uh", "um", "ah", "oh", "huh", "aha"),
            *("em", "ow", "aw", "ooh", "amen"),  # as recognisers spell a hum
            *("okay", "ok", "yeah", "yep", "right", "sure", "wow", "i see", "got it", "all right"),
            *("alright", "of course", "go on", "makes sense"),
        ]
    )
    commands: list[str] = Field(
        [
            *(
                "stop",
                "stop it",
                "wait",
                "no",
                "cancel",
                "listen",
                "hold on",
                "be quiet",
                "shut up",
            ),
            *(
                "again",
                "next",
                "back",
                "go back",
                "help",
                "enough",
                "pause",
                "hello",
                "hey",
                "sorry",
            ),
            *("what", "why", "who", "how", "where", "when", "which"),
        ]
    )
    unsure_below: float = Field(-0.65, le=0)
    greeting: str = ""
    idle_s: float = Field(0.0, ge=0)


class AsrConfig(Section):
    """Speech to ids.

    Attributes:
        model: a bundle, a folder or a hub id of a CTranslate2 Whisper model.
        languages: codes such as "en" that are spoken: one fixes it, several are chosen among, none
            leaves the choice to the model.
        window_s: the shortest stretch that the encoder is given; 30 is Whisper's own.
        partials: write words while they are spoken.
        first_ms: speech before they are first looked for.
        step_ms: speech between two looks, at least.
        agreement: decodes in a row that must agree on a word.
        decode_at_pause: begin the final decode at the first silent window, not at the soft end.
    """

    stage: str = "faster-whisper"
    model: str = "bundle:whisper-tiny.en"
    device: Literal["cpu", "cuda"] = "cpu"
    compute_type: str = "int8"
    languages: list[str] = Field(["en"])
    window_s: float = Field(8.0, ge=3, le=30)
    partials: bool = True
    first_ms: int = Field(800, ge=200, le=10_000)
    step_ms: int = Field(250, ge=50, le=10_000)
    agreement: int = Field(2, ge=1, le=5)
    decode_at_pause: bool = True


class CudaConfig(Frozen):
    """What the language model's engine uses on an NVIDIA GPU; each can be turned off.

    Attributes:
        graphs: steps are recorded once and launched as a whole.
        kernels: our own, for models that are built like Llama; else transformers' forward.
        run_ahead: the step after an id is begun before the id is known here.
        batch: lanes that speak at the same time are computed together.
        chunks: of prompts, computed between two ids of a lane that speaks, at most.
        ids_in: how ids reach the GPU: it reads the host's memory ("mapped"), or they are copied
            from "pinned" or from "pageable" memory.
        strict: not one bit changes from run to run or with what other lanes do; no batches.
        full_steps: ids of a reply that are computed in full, before weights of eight bits take
            over; 0: all. It changes answers, and needs `kernels`.
    """

    graphs: bool = True
    kernels: bool = True
    run_ahead: bool = True
    batch: bool = True
    chunks: int = Field(2, ge=1, le=64)
    ids_in: Literal["mapped", "pinned", "pageable"] = "mapped"
    strict: bool = False
    full_steps: int = Field(0, ge=0)


class LlmConfig(Section):
    """Ids to ids.

    Attributes:
        stage: "onnx" runs on a CPU; "transformers" takes more models, and GPUs.
        model: a bundle, a folder or a hub id of a causal language model.
        dtype: of weights and cache, on a device of PyTorch.
        quantization: of the weights of the stage "onnx"; "none" keeps them exactly.
        map_weights: weights are mapped from the disk: the stage "onnx" keeps them packed there,
            "transformers" on a CPU then reads the model's own files instead of packing them.
        context: tokens that a conversation may hold.
        chunk: for the stage "transformers": rows of the one shape in which given ids are computed,
            so that the portions in which they arrive leave no trace, bit for bit; 0: each portion
            in a shape of its own.
        system: the system prompt.
        interrupted: what stands in the conversation behind an answer that was cut short.
        max_new_tokens: an answer is cut after so many ids.
        temperature: 0 always takes the likeliest id; above, chance grows with it.
        top_p: chance is among the likeliest ids that together have this much of it.
        top_k: and among so many of the likeliest; 0: any number.
        min_p: and among those at least this times as likely as the likeliest.
        repetition_penalty: above 1, ids that the conversation has already become less likely.
        seed: of chance; the same words with the same seed get the same answer.
    """

    stage: str = "onnx"
    model: str = "bundle:smollm2-135m-instruct"
    device: str = "cpu"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    quantization: Literal["none", "int8", "int4"] = "none"
    map_weights: bool = False
    context: int = Field(2048, ge=64, le=131_072)
    chunk: int = Field(16, ge=0, le=64)
    system: str = "You are a friendly voice assistant. Answer in one or two short, plain sentences."
    interrupted: str = "..."
    max_new_tokens: int = Field(60, ge=1, le=4096)
    temperature: float = Field(0.0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    top_k: int = Field(0, ge=0)
    min_p: float = Field(0.0, ge=0, le=1)
    repetition_penalty: float = Field(1.0, gt=0)
    seed: int = Field(0, ge=0)
    cuda: CudaConfig = CudaConfig()


class TtsConfig(Section):
    """Ids to sound.

    Attributes:
        model: a bundle, or the path of a Piper voice (.onnx with its .json beside it).
        speed: 1.0 is the voice's own.
        volume: 1.0 is the voice's own.
        speaker: of a voice with several.
        streaming: speak a sentence while it is being written, if the voice can be split for it.
        lookahead: words that are known behind one before it is said.
        skip_thinking: a reasoning model's `<think>` to `</think>` is not spoken.
        first_words: without streaming, the first clause is cut after so many words; 0: never.
    """

    stage: str = "piper"
    model: str = "bundle:piper-joe-medium"
    speed: float = Field(1.0, ge=0.25, le=4)
    volume: float = Field(1.0, ge=0, le=4)
    speaker: int = Field(0, ge=0)
    streaming: bool = True
    lookahead: int = Field(2, ge=1, le=16)
    skip_thinking: bool = True
    first_words: int = Field(5, ge=0)


class PipelineConfig(Frozen):
    """The programs together.

    Attributes:
        lanes: conversations at once.
        ready_timeout_s: a stage that is not ready by then has failed; downloads count.
        open_timeout_s: a conversation that is not open by then has failed.
        hang_timeout_s: a stage without a sign of life for so long is killed.
        restarts: deaths of a stage within the window that are forgiven; 0: the first is the end.
        restart_window_s: that window.
        log_level: of the stage programs.
        transcripts: a folder for what was said in each conversation; empty: it is not kept.
    """

    lanes: int = Field(4, ge=1, le=1024)
    ready_timeout_s: float = Field(600.0, gt=0)
    open_timeout_s: float = Field(10.0, gt=0)
    hang_timeout_s: float = Field(15.0, gt=0)
    restarts: int = Field(5, ge=0)
    restart_window_s: float = Field(60.0, gt=0)
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    transcripts: str = ""


class Config(Frozen):
    """Everything that can be configured."""

    pipeline: PipelineConfig = PipelineConfig()
    audio: AudioConfig = AudioConfig()
    turn: TurnConfig = TurnConfig()
    asr: AsrConfig = AsrConfig()
    llm: LlmConfig = LlmConfig()
    tts: TtsConfig = TtsConfig()
    serve: ServeConfig = ServeConfig()

    def section(self, stage: str) -> Section:
        """The part that belongs to a stage."""
        part = getattr(self, stage)
        assert isinstance(part, Section)
        return part


def thread_budget(cores: int) -> dict[str, int]:
    """Threads for each stage's model, so that those that work at the same time fit the cores.

    A turn has two phases. Until the words are known, `asr` works alone (`turn` needs a
    two-hundredth of a core); half the cores are its best, because its windows are short. Then `llm`
    and `tts` share the machine: the voice has one thread and the language model the others, at
    least one.
    """
    return {"audio": 1, "turn": 1, "asr": max(1, cores // 2), "llm": max(1, cores - 1), "tts": 1}


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load_config(
    path: Path | None = None, overrides: Iterable[str] = (), cores: int | None = None
) -> Config:
    """Read a configuration.

    Args:
        path: a TOML file; None: configs/laptop.toml. Keys that it lacks have their defaults.
        overrides: "section.key=value" with a TOML value; a bare word is taken as a string.
        cores: of the machine; None: those this process may use.

    Raises:
        ConfigError: names the file, the key and the nearest valid key.
    """
    source = str(path) if path else "the defaults"
    raw = _read(path or builtin_configs()["laptop"])
    changes = list(overrides)
    for override in changes:
        _override(raw, override)
    config = validate(Config, raw, f"{source} with --set" if changes else source)
    return _with_threads(config, cores or usable_cores())


def builtin_configs() -> dict[str, Path]:
    """Name to path of the configurations that come with voxring."""
    folder = Path(str(resources.files("configs")))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def validate(
    model: type[M],
    raw: Mapping[str, Any],
    source: str,
    remedy: str = "`voxring config` prints every key with its value",
) -> M:
    """Check raw values against a model.

    Args:
        source: what to call the place they came from.
        remedy: what to do about a wrong value.

    Raises:
        ConfigError: names the place, the key and, for an unknown key, the nearest valid one.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise _explain(model, error, source, remedy) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(builtin_configs())
        raise ConfigError(
            f"there is no configuration file {path}", f"Built-in ones are: {known}"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}", "Name a TOML file with --config"
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(
            f"{path} is not TOML: {error}", "`voxring config` prints one to start from"
        ) from None


def _override(raw: dict[str, Any], text: str) -> None:
    key, separator, value = text.partition("=")
    names = key.strip().split(".")
    if not separator or not all(names):
        raise ConfigError(
            f"--set takes section.key=value, not {text!r}", "Example: --set llm.max_new_tokens=40"
        )
    table = raw
    for name in names[:-1]:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise ConfigError(f"--set {text}: {name} is not a table")
    table[names[-1]] = _toml_value(value.strip())


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _explain(
    model: type[BaseModel], error: ValidationError, source: str, remedy: str
) -> ConfigError:
    """The finding that explains most, as one line."""
    findings = error.errors()  # a key that is not known may be why another one is missing
    finding = next((each for each in findings if each["type"] == "extra_forbidden"), findings[0])
    path = [str(part) for part in finding["loc"]]
    key = ".".join(path)
    if finding["type"] == "missing":
        return ConfigError(f"{source}: {key} is missing", remedy)
    if finding["type"] == "value_error":  # of a table: its parts contradict each other
        return ConfigError(
            f"{source}: {f'{key}: ' if key else ''}{finding['ctx']['error']}", remedy
        )
    if finding["type"] != "extra_forbidden":
        is_table = finding["type"] in ("model_type", "model_attributes_type")
        expected = "it is a table of keys" if is_table else finding["msg"].lower()
        return ConfigError(f"{source}: {key} is {finding['input']!r}; {expected}", remedy)
    known = _keys(model, path[:-1])
    near = difflib.get_close_matches(path[-1], known, 1, 0.5)
    prefix = ".".join([*path[:-1], ""])
    remedy = f"Did you mean {prefix}{near[0]}?" if near else f"Valid are: {', '.join(known)}"
    return ConfigError(f"{source}: unknown key {key}", remedy)


def _keys(model: type[BaseModel], path: list[str]) -> list[str]:
    for name in (name for name in path if not name.isdigit()):  # that is a place in a list
        inner = model.model_fields[name].annotation
        candidates = [inner, *get_args(inner)]
        model = next(c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel))
    return list(model.model_fields)


def _with_threads(config: Config, cores: int) -> Config:
    budget = thread_budget(cores)
    sections = {
        name: section.model_copy(update={"threads": section.threads or budget[name]})
        for name in budget
        if (section := config.section(name))
    }
    return config.model_copy(update=sections)
