"""A suite: recorded conversations and what is expected of them, read from TOML. docs/lab.md."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from pipeline.config import validate
from pipeline.errors import ConfigError
from pipeline.frozen import Frozen

OutcomeName = Literal["answered", "interrupted", "empty", "no speech", "failed", "timed out", "any"]
ANY: OutcomeName = "any"  # but failed or timed out


class Saying(Frozen):
    """One clip that is said, and what is expected of the answer.

    Attributes:
        file: a sound file; relative to the suite.
        name: for people; empty: the file's name without its ending.
        text: what is said, for the word error rate; None: the manifest beside the clip tells.
        speech_end_s: from the clip's start to the end of its last voiced sample; None: the
            manifest tells, or it is measured.
        expect: each of these stands in the reply; "sun|light": either does.
        forbid: none of these stands in it.
        match: a regular expression that is found in the reply.
        outcome: how the turn ends; any: however it does, unless it fails or times out; None:
            answered, or interrupted where the next clip comes over its answer.
        within_ms: first audio comes so soon.
        cold_within_ms: also right after the start of the pipeline.
        max_wer: word error rate at most, over all repeats.
        noise: a sound file that is mixed in, again and again; empty: room noise.
        noise_snr_db: how far the speech is above it; None: nothing is mixed in.
        pause_s: before it, once the answer to the one before has ended.
        over_answer_ms: it comes so long after the first sound of the answer to the one before.
        silent_within_ms: that answer is silent so soon after the first sound of this voice.
        goes_on: it is only a murmur: that answer goes on, and nothing is answered.
    """

    file: str
    name: str = ""
    text: str | None = None
    speech_end_s: float | None = Field(None, gt=0)
    expect: list[str] = Field(default_factory=list)
    forbid: list[str] = Field(default_factory=list)
    match: str = ""
    outcome: OutcomeName | None = None
    within_ms: float | None = Field(None, gt=0)
    cold_within_ms: float | None = Field(None, gt=0)
    max_wer: float | None = Field(None, ge=0)
    noise: str = ""
    noise_snr_db: float | None = Field(None, ge=-20, le=80)
    pause_s: float = Field(0.5, ge=0, le=60)
    over_answer_ms: float | None = Field(None, ge=0, le=60_000)
    silent_within_ms: float | None = Field(None, gt=0)
    goes_on: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.noise and self.noise_snr_db is None:
            raise ValueError("noise needs noise_snr_db: how far the speech is above it, in dB")
        if self.over_answer_ms is None and (self.goes_on or self.silent_within_ms):
            raise ValueError("goes_on and silent_within_ms need over_answer_ms: when it is said")
        if self.goes_on and self.silent_within_ms:
            raise ValueError("an answer that goes on is not silent: goes_on or silent_within_ms")
        try:
            re.compile(self.match)
        except re.error as error:
            raise ValueError(f"match is no regular expression: {error}") from None
        return self

    @property
    def label(self) -> str:
        """What to call it."""
        return self.name or Path(self.file).stem


class Conversation(Frozen):
    """Clips that are said in one conversation, one after the other.

    Attributes:
        repeats: instead of the suite's.
    """

    name: str
    turn: list[Saying] = Field(min_length=1)
    repeats: int | None = Field(None, ge=1, le=1000)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.turn[0].over_answer_ms is not None:
            raise ValueError("over_answer_ms of the first turn: there is no answer before it")
        return self

    @property
    def keys(self) -> list[str]:
        """A name for each turn that no other turn of the suite has."""
        if len(self.turn) == 1:
            return [self.name]
        return [f"{self.name}/{label}" for label in distinct(say.label for say in self.turn)]


class Suite(Frozen):
    """Conversations that are played, and how often.

    Attributes:
        config: a built-in configuration by name, or a file relative to the suite.
        set: changes to it, as `--set`.
        endpoint: a running endpoint's URL, in place of a pipeline of our own; "": none.
        repeats: of each conversation, warm; so many that a baseline is told something.
        cold: rounds that begin with a fresh start of the pipeline; reported apart.
        percentile: of the repeats, that each bound in ms is held against; nearest rank: with few
            repeats, the slowest.
        clip: conversations of one turn, for short.
    """

    name: str = ""
    config: str = ""
    set: list[str] = Field(default_factory=list)
    endpoint: str = ""
    repeats: int = Field(10, ge=1, le=1000)
    cold: int = Field(1, ge=0, le=100)
    percentile: float = Field(95, gt=0, le=100)
    clip: list[Saying] = Field(default_factory=list)
    conversation: list[Conversation] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if any(clip.over_answer_ms is not None for clip in self.clip):
            raise ValueError("over_answer_ms of a clip alone: there is no answer before it")
        return self

    @property
    def conversations(self) -> list[Conversation]:
        """Single clips first, each as a conversation of its own."""
        names = distinct([c.label for c in self.clip] + [c.name for c in self.conversation])
        single = [Conversation(name=c.label, turn=[c]) for c in self.clip]
        return [
            each.model_copy(update={"name": name})
            for name, each in zip(names, [*single, *self.conversation], strict=True)
        ]


def read_suite(path: Path) -> Suite:
    """Read a suite.

    Raises:
        ConfigError: it cannot be read; names the key, and the nearest valid one.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no suite {path}", "Check its name") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", "Check its rights") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}", "docs/lab.md shows one") from None
    suite = validate(Suite, _with_defaults(raw), str(path), "docs/lab.md explains every key")
    if not suite.conversations:
        raise ConfigError(f"{path} has nothing to say", "Add a [[clip]] with a file")
    return suite if suite.name else suite.model_copy(update={"name": path.stem})


def suite_of(clips: Sequence[Path], repeats: int, cold: int) -> Suite:
    """A suite without expectations."""
    names = ", ".join(clip.name for clip in clips[:3]) + (", ..." if len(clips) > 3 else "")
    said = [Saying(file=str(clip.absolute()), outcome=ANY) for clip in clips]
    return Suite(name=names, repeats=repeats, cold=cold, clip=said)


def distinct(names: Iterable[str]) -> list[str]:
    """The same names; from its second time on, one gets a number."""
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name}.{seen[name]}")
    return result


def _with_defaults(raw: dict[str, Any]) -> dict[str, Any]:
    """What [defaults] says, in every clip and turn that does not say it itself."""
    raw = dict(raw)
    defaults = raw.pop("defaults", {})
    if not isinstance(defaults, dict):
        return raw | {"defaults": defaults}  # told as an unknown key
    if isinstance(raw.get("clip"), list):
        raw["clip"] = _fill(raw["clip"], defaults)
    if isinstance(raw.get("conversation"), list):
        raw["conversation"] = [
            each | {"turn": _fill(each["turn"], defaults)}
            if isinstance(each, dict) and isinstance(each.get("turn"), list)
            else each
            for each in raw["conversation"]
        ]
    return raw


def _fill(says: list[Any], defaults: dict[str, Any]) -> list[Any]:
    return [defaults | say if isinstance(say, dict) else say for say in says]
