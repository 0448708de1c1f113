"""A run of a suite as its file has it: what reports, exports and comparisons are made of."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.errors import ConfigError
from pipeline.lab.steps import Step, critical_path
from stages.outcome import BROKEN


class Part(BaseModel):
    """A part of a run. Keys that a newer voxring has added are skipped."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Wave(Part):
    """Both sides of a stretch of sound, as peaks (`peaks.py`).

    Attributes:
        start_s: from the start of the conversation.
        seconds: how long it is.
        user: base64 of uint8, of full scale.
        voice: of the answers.
    """

    start_s: float = 0.0
    seconds: float = 0.0
    user: str = ""
    voice: str = ""


class Mark(Part):
    """Something that happened in a conversation.

    Attributes:
        at_s: from its start.
        event: name of a `stages.event.Event`, in lower case.
    """

    at_s: float
    event: str
    value: int = 0
    turn: int = 0
    answer: int = 0


class Turn(Part):
    """One clip and what came of it; docs/lab.md explains each field."""

    clip: str
    repeat: int
    outcome: str
    transcript: str = ""
    reply: str = ""
    heard: str = ""
    first_audio_ms: float | None = None
    phases: dict[str, float] = Field(default_factory=dict)
    speech_end_source: str = ""
    ids_early: int | None = None
    ids_heard: int | None = None
    ids_dropped: list[int] = Field(default_factory=list)
    cut_off: bool = False
    underruns_ms: list[float] = Field(default_factory=list)
    voice_late_ms: list[float] | None = Field(default_factory=list)
    events_lost: int = 0
    errors: list[str] = Field(default_factory=list)
    note: str = ""
    wav: str | None = None
    # Of a suite only:
    key: str = ""
    conversation: int = 0
    warm: bool = True
    said: str | None = None
    word_errors: int | None = None
    words: int | None = None
    false_cut_offs: int = 0
    resumes: int = 0
    ids_out: int | None = None
    clip_start_s: float | None = None
    speech_start_s: float | None = None
    speech_end_s: float | None = None
    over_answer_ms: float | None = None
    interrupted: bool | None = None
    silent_ms: float | None = None
    goes_on: bool | None = None
    wave: Wave | None = None

    @property
    def is_broken(self) -> bool:
        """It ended as no turn should."""
        return self.outcome in [outcome.label for outcome in BROKEN]

    @property
    def name(self) -> str:
        """What it is counted with: the same turn in every repeat."""
        return self.key or self.clip

    @property
    def steps(self) -> list[Step]:
        """What its first audio waited for."""
        return critical_path(self.phases)


class Conversation(Part):
    """One repeat of one conversation.

    Attributes:
        began_s: from the start of the run.
        seconds: how long it lasted.
        strays: turns that no clip began, such as those of an echo.
    """

    name: str
    repeat: int
    warm: bool
    began_s: float = 0.0
    seconds: float = 0.0
    wave: Wave | None = None
    marks: list[Mark] = Field(default_factory=list)
    errors: list[str] = Field(default_factory=list)
    strays: int = 0


class Usage(Part):
    """CPU and memory over time.

    Attributes:
        at_s: of each sample, from the start of the run.
        cpu_percent: of one core, by program; None while it was away.
        memory_mib: resident, what it shares with others included.
    """

    at_s: list[float] = Field(default_factory=list)
    cpu_percent: dict[str, list[float | None]] = Field(default_factory=dict)
    memory_mib: dict[str, list[float | None]] = Field(default_factory=dict)


class Check(Part):
    """One expectation of a suite.

    Attributes:
        key: of the turn, or of the conversation.
        kind: which expectation.
        warm: of the warm repeats; else of the cold ones.
        passed: whether it was met.
        text: what was seen and what was expected, one line.
        phase: the milestone whose step took the time, where time is what was missed.
    """

    key: str
    kind: str
    warm: bool
    passed: bool
    text: str
    phase: str = ""


class Comparison(Part):
    """A turn, or all turns, against a baseline.

    Attributes:
        key: of the turn; "": all of them.
        metric: "first_audio_ms", "silent_ms", or "counted": the share of first audios that count.
        pairs: repeats that both runs have.
        ratio: now over then.
        lower: bound of the ratio at 99.9 % confidence, one-sided.
        upper: the same on the other side.
        delta_ms: median of the differences.
        regression: whether it is called one.
        phase: the milestone whose step grew most.
        phase_delta_ms: by how much, median.
    """

    key: str
    metric: str
    pairs: int
    ratio: float | None = None
    lower: float | None = None
    upper: float | None = None
    delta_ms: float | None = None
    regression: bool = False
    phase: str = ""
    phase_delta_ms: float | None = None


class About(Part):
    """Which suite was run, and how.

    Attributes:
        started: ISO 8601, with the offset.
        seconds: how long it took.
        target: "pipeline", or an endpoint's URL.
        config: the configuration's name or file.
        changes: as `--set`.
        models: section to model, of those that are named.
    """

    name: str = ""
    started: str = ""
    seconds: float = 0.0
    target: str = "pipeline"
    config: str = ""
    changes: list[str] = Field(default_factory=list)
    models: dict[str, str] = Field(default_factory=dict)
    repeats: int = 1
    cold: int = 0
    percentile: float = 95.0
    ready_s: list[float] = Field(default_factory=list)


class Run(Part):
    """The whole file."""

    voxring: str
    machine: dict[str, Any] = Field(default_factory=dict)
    turns: list[Turn] = Field(default_factory=list)
    summary: dict[str, Any] = Field(default_factory=dict)
    suite: About = Field(default_factory=About)
    conversations: list[Conversation] = Field(default_factory=list)
    usage: Usage = Field(default_factory=Usage)
    checks: list[Check] = Field(default_factory=list)
    comparisons: list[Comparison] = Field(default_factory=list)
    interrupted: str = ""

    @property
    def passed(self) -> bool:
        """Every expectation was met, nothing is slower than it was, and nothing broke off."""
        checked = all(check.passed for check in self.checks)
        return checked and not self.interrupted and not any(c.regression for c in self.comparisons)

    @property
    def keys(self) -> list[str]:
        """The names of its turns, in the order of the suite."""
        return list(dict.fromkeys(turn.name for turn in self.turns))

    def of(self, key: str, *, warm: bool | None = None) -> list[Turn]:
        """All repeats of a turn."""
        return [
            turn for turn in self.turns if turn.name == key and (warm is None or turn.warm is warm)
        ]


def to_json(run: Run) -> str:
    """The file's text: one object, UTF-8."""
    return json.dumps(run.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"


def read_run(path: Path, what: str = "run") -> Run:
    """Read what `voxring replay --json` has written.

    Args:
        what: how to call it in errors.

    Raises:
        ConfigError: it cannot be read, or is something else.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(
            f"there is no {what} {path}", "Write one: voxring replay --json"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "Check the file") from None
    try:
        return Run.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise ConfigError(
            f"{path} is no {what} of voxring: {where}: {first['msg']}",
            "Name a file that `voxring replay --json` has written",
        ) from None


def samples(turns: Iterable[Turn], metric: str = "first_audio_ms") -> list[float]:
    """A figure of the turns that have one: what was cut off, cancelled or unheard has none."""
    values = [getattr(turn, metric) for turn in turns]
    return [value for value in values if value is not None]
