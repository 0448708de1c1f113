"""The command line as a person meets it: help, a terminal, and the ways to stop it."""

import json
import re
import signal
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import soundfile

from pipeline.commands.app import EXIT_CODES
from pipeline.config import Config
from pipeline.version import VERSION
from stages.topology import STAGES
from tests.pipeline.cli_running import (
    QUESTION,
    SCRIPTED,
    TINY,
    OnTerminal,
    children,
    maps,
    stages_of,
    start,
    stop_when,
    to_parent,
    voxring,
    words_of,
)
from tests.pipeline.running import tone

PATIENCE_S = 2.0
LONG = f'llm.options={{replies = ["{"All work and no play. " * 5}"], ids_per_s = 50}}'
INTERRUPTED, TERMINATED = 130, 143


# Asking about it.


@pytest.mark.parametrize(
    ("arguments", "example"),
    [
        ([], "Start with: voxring replay demos/question.wav --out answers"),
        (["replay"], "• voxring replay a.wav b.mp3 --repeat 10 --json result.json"),
        (["talk"], '• voxring talk --system "You are a pirate." --speed 1.1 --echo cancel'),
        (["top"], "• voxring top 4711 --once"),
        (["bench"], "• voxring bench --quick --only ring --only overhead"),
        (["doctor"], "• voxring doctor --arena 4711"),
        (["config"], "• voxring config --config laptop --set tts.speed=1.2 > mine.toml"),
        (["models"], "fetch   Bring models into the cache."),
        (["models", "fetch"], "• voxring models fetch"),
        (["models", "verify"], "• voxring models verify whisper-tiny.en"),
    ],
)
def test_help_has_an_example_on_a_line_of_its_own(
    arguments: list[str], example: str, tmp_path: Path
) -> None:
    finished = voxring(*arguments, "--help", cwd=tmp_path)
    assert finished.code == 0
    assert any(example in line for line in finished.out.splitlines()), finished.out


def test_help_tells_the_exit_codes_as_docs_do(tmp_path: Path) -> None:
    shown = " ".join(voxring("--help", cwd=tmp_path).out.split())
    assert EXIT_CODES in shown


@pytest.mark.parametrize("arguments", [[], ["models"]])
def test_no_arguments_show_the_help_and_are_a_mistake(arguments: list[str], tmp_path: Path) -> None:
    finished = voxring(*arguments, cwd=tmp_path)
    assert finished.code == 2
    assert "Usage: voxring" in finished.out
    assert "no command was given" in finished.complaint


def test_versions(tmp_path: Path) -> None:
    assert voxring("--version", cwd=tmp_path).out == f"{VERSION}\n"
    assert voxring("version", cwd=tmp_path).out == f"{VERSION}\n"


def test_the_effective_configuration_can_be_read_back(tmp_path: Path) -> None:
    printed = voxring("config", "--set", "llm.max_new_tokens=40", cwd=tmp_path).out
    assert Config.model_validate(tomllib.loads(printed)).llm.max_new_tokens == 40
    (tmp_path / "mine.toml").write_text(printed)
    assert voxring("config", "--config", "mine.toml", cwd=tmp_path).out == printed


def test_models_are_listed_without_cut_words(tmp_path: Path) -> None:
    finished = voxring("models", "list", cwd=tmp_path, VOXRING_CACHE=str(tmp_path))
    assert finished.code == 0
    assert "…" not in finished.out
    assert "smollm2-135m-instruct  missing   98  " in finished.out
    assert max(map(len, finished.out.splitlines()[1:])) <= 80


# A replay.


def test_a_replay_on_a_terminal_shows_what_happens_and_then_the_result(tmp_path: Path) -> None:
    tone(tmp_path / "clip.wav", 1.5)
    arguments = (
        "replay",
        "clip.wav",
        *SCRIPTED,
        "--set",
        "llm.options={replies = ['Yes, it is.']}",
    )
    with OnTerminal(*arguments, cwd=tmp_path) as terminal:
        for text in (" audio ", "starting", "clip.wav", "playing 0."):
            terminal.wait_for(text)
        assert terminal.process.wait(30) == 0
    assert "answering" in terminal.screen
    assert "\x1b[?25h" in terminal.screen.rpartition("\x1b[?25l")[2], "the cursor is back"
    shown = displayed(terminal.screen)
    for line in ("clip.wav · answered", "heard   What time is it?", "answer  Yes, it is."):
        assert line in shown
    assert "playing" not in shown, "what was live has gone"


def test_a_piped_replay_writes_results_only(tmp_path: Path) -> None:
    tone(tmp_path / "clip.wav", 0.4)
    arguments = ("--set", TINY, "--repeat", "2", "--warmup", "1", "--out", "a", "--json", "r.json")
    finished = voxring("replay", "clip.wav", *SCRIPTED, *arguments, cwd=tmp_path)
    assert (finished.code, finished.err) == (0, "")
    assert finished.out.count("clip.wav · answered") == 2, "the warm-up is not shown"
    assert "\x1b" not in finished.out
    content = json.loads((tmp_path / "r.json").read_text())
    assert [turn["wav"] for turn in content["turns"]] == ["a/clip-1.wav", "a/clip-2.wav"]
    assert [turn["repeat"] for turn in content["turns"]] == [1, 2]
    assert content["summary"]["first_audio_ms"]["n"] == 2


def test_a_stage_that_dies_ends_the_replay_with_what_there_is(tmp_path: Path) -> None:
    tone(tmp_path / "clip.wav", 0.4)
    with start(
        *(
            "replay",
            "clip.wav",
            *SCRIPTED,
            "--set",
            TINY,
            "--json",
            "r.json",
            "--repeat",
            "30",
            "--set",
            "pipeline.restarts=0",
        ),
        cwd=tmp_path,
    ) as started:
        assert started.process.stdout
        assert "clip.wav · answered" in started.process.stdout.readline()
        stages_of(started.process.pid)["tts"].kill()
        finished = started.finish()
    assert finished.code == 1
    assert "stage tts was killed by SIGKILL" in finished.complaint
    assert "first audio, ms after the end of speech" in finished.out
    assert json.loads((tmp_path / "r.json").read_text())["turns"][0]["outcome"] == "answered"


# Stopping it.


def prepares(pid: int) -> bool:
    """The models are looked for, and no stage was started."""
    return any("pipeline.prepare" in words for words in map(words_of, children(pid)))


def starts(pid: int) -> bool:
    """All stages were started; none can be ready yet."""
    return len(stages_of(pid)) == len(STAGES)


def test_an_interrupt_while_python_imports(tmp_path: Path) -> None:
    with start("replay", str(QUESTION), *SCRIPTED, cwd=tmp_path) as started:
        process = started.process
        send = to_parent(process, signal.SIGINT)
        code, pids = stop_when(process, lambda: maps(process.pid, "_core"), send, PATIENCE_S)
        finished = started.finish()
    assert code in (INTERRUPTED, -signal.SIGINT)  # a shell shows both as 130
    assert "Traceback" not in finished.err
    assert not pids


@pytest.mark.parametrize(
    ("sig", "expected", "word"),
    [(signal.SIGINT, INTERRUPTED, "interrupted"), (signal.SIGTERM, TERMINATED, "terminated")],
)
@pytest.mark.parametrize("moment", [prepares, starts])
def test_a_signal_to_the_parent_while_stages_start(
    moment: Callable[[int], bool],
    sig: signal.Signals,
    expected: int,
    word: str,
    tmp_path: Path,
) -> None:
    with start("replay", str(QUESTION), *SCRIPTED, "--out", "a", cwd=tmp_path) as started:
        process = started.process
        send = to_parent(process, sig)
        code, pids = stop_when(process, lambda: moment(process.pid), send, PATIENCE_S)
        finished = started.finish()
    assert (code, finished.err.strip()) == (expected, word)
    assert pids
    assert list((tmp_path / "a").iterdir()) == []


@pytest.mark.parametrize("moment", ["playing", "answering"])
def test_ctrl_c_on_a_terminal(moment: str, tmp_path: Path) -> None:
    """The key signals the whole group, as no `kill` does; stages must not print tracebacks."""
    tone(tmp_path / "clip.wav", 0.8)
    arguments = ("replay", "clip.wav", *SCRIPTED, "--set", LONG, "--out", "a", "--json", "r.json")
    with OnTerminal(*arguments, cwd=tmp_path) as terminal:
        code, pids = stop_when(
            terminal.process, lambda: moment in terminal.screen, terminal.press_ctrl_c, PATIENCE_S
        )
    assert code == INTERRUPTED
    assert len(pids) == len(STAGES)
    assert "interrupted" in terminal.screen
    assert "Traceback" not in terminal.screen
    assert "\x1b[?25h" in terminal.screen.rpartition("\x1b[?25l")[2], "the cursor is back"
    whole_or_nothing(tmp_path / "a")


def test_a_terminated_replay_keeps_what_it_has(tmp_path: Path) -> None:
    """SIGTERM in the second turn: the first is in the summary and in the file."""
    tone(tmp_path / "clip.wav", 0.4)
    arguments = ("--set", TINY, "--repeat", "30", "--out", "a", "--json", "r.json")
    with start("replay", "clip.wav", *SCRIPTED, *arguments, cwd=tmp_path) as started:
        process = started.process
        assert process.stdout
        assert "clip.wav · answered" in process.stdout.readline()
        send = to_parent(process, signal.SIGTERM)
        code, pids = stop_when(process, lambda: True, send, PATIENCE_S)
        finished = started.finish()
    assert (code, finished.err.strip()) == (TERMINATED, "terminated")
    assert len(pids) == len(STAGES)
    assert "first audio, ms after the end of speech" in finished.out
    assert json.loads((tmp_path / "r.json").read_text())["turns"][0]["outcome"] == "answered"
    assert (tmp_path / "a" / "clip-1.wav").exists()
    whole_or_nothing(tmp_path / "a")


@pytest.mark.models
@pytest.mark.parametrize("how", ["key", "parent"])
def test_an_interrupt_while_models_load(how: str, tmp_path: Path) -> None:
    """huggingface/speech-to-speech#140: native code that loads hears no signal."""
    slow = ("--set", "llm.stage=transformers")
    with OnTerminal("replay", str(QUESTION), *slow, cwd=tmp_path) as terminal:
        process = terminal.process

        def imports_torch() -> bool:
            return any(maps(child.pid, "libtorch_cpu") for child in stages_of(process.pid).values())

        send = terminal.press_ctrl_c if how == "key" else to_parent(process, signal.SIGINT)
        code, pids = stop_when(process, imports_torch, send, PATIENCE_S)
    assert code == INTERRUPTED
    assert len(pids) == len(STAGES)
    assert "Traceback" not in terminal.screen


def whole_or_nothing(folder: Path) -> None:
    """Every answer that has its name can be read to its end, and nothing else lies about."""
    for file in folder.iterdir():
        assert re.fullmatch(r"clip-\d+\.wav", file.name), file
        with soundfile.SoundFile(file) as sound:
            assert sound.frames == len(sound.read()) > 0
            assert file.stat().st_size == 44 + 2 * sound.frames


def displayed(screen: str) -> str:
    """The lines that are left, once those that were taken away again are left out."""
    lines: list[str] = []
    for part in re.split(r"(\x1b\[1A|\x1b\[2K|\r?\n)", screen):
        if part == "\x1b[1A":
            lines = lines[:-1]
        elif part.endswith("\n"):
            lines.append("")
        elif part != "\x1b[2K":
            text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", part).rpartition("\r")[2]
            lines = [*lines[:-1], (lines[-1] if lines and "\r" not in part else "") + text]
    return "\n".join(lines)
