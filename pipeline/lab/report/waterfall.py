"""One turn in close-up: what each stage did, over the sound of both sides: pure."""

from dataclasses import dataclass

from pipeline.lab.report.scale import Scale, Tick
from pipeline.lab.report.waves import waveform
from pipeline.lab.run import Conversation, Mark, Turn, Wave

SPANS = (
    # name, stage, milestones that it may begin with (the latest that was reached), and its end
    ("notices the silence", "turn", ("speech_end",), "silence"),
    ("waits out the pause", "turn", ("silence",), "soft_end"),
    ("recognises the words", "asr", ("decode_start",), "transcript"),
    ("reads the words", "llm", ("transcript",), "prefill"),
    ("first id", "llm", ("prefill",), "first_id"),
    ("first words", "llm", ("first_id",), "first_words"),
    ("first sound", "tts", ("first_id", "first_words"), "first_sound"),
    ("decides it is over", "turn", ("soft_end",), "release"),
    ("begins to play", "audio", ("first_sound", "release"), "first_audio"),
)
GUIDES = {
    "soft_end": "soft end",
    "transcript": "transcript",
    "first_id": "first id",
    "first_words": "first words",
    "first_sound": "first sound",
    "release": "release",
    "first_audio": "first audio",
}
NOTABLE = {
    "release": ("turn over", "release"),
    "first_audio": ("first audio", "audio"),
    "play_end": ("silent", "end"),
    "hold": ("held", "cut"),
    "go_on": ("goes on", "release"),
    "interrupt": ("interrupted", "cut"),
    "resume": ("user went on", "cut"),
    "underrun": ("gap", "cut"),
    "voice_late": ("voice late", "cut"),
    "idle": ("idle", "end"),
}


@dataclass(frozen=True)
class Bar:
    """What a stage did.

    Attributes:
        left: percent of the plot.
        start_ms: after the end of speech.
    """

    name: str
    stage: str
    left: float
    width: float
    start_ms: float
    ms: float
    ends: str


@dataclass(frozen=True)
class Guide:
    """A line through the plot."""

    name: str
    kind: str
    at: float
    ms: float


@dataclass(frozen=True)
class Sound:
    """A stretch of both sides.

    Attributes:
        user: SVG path.
        voice: SVG path.
    """

    user: str
    voice: str


@dataclass(frozen=True)
class CloseUp:
    """A turn's plot."""

    sound: Sound | None
    bars: list[Bar]
    guides: list[Guide]
    ticks: list[Tick]


@dataclass(frozen=True)
class Overview:
    """A conversation's plot.

    Attributes:
        speech: (left, width, name) of each stretch in which the user spoke.
    """

    sound: Sound
    seconds: float
    speech: list[tuple[float, float, str]]
    guides: list[Guide]
    ticks: list[Tick]


def close_up(turn: Turn) -> CloseUp | None:
    """Of a turn whose end of speech is known; else None."""
    if not turn.phases:
        return None
    scale = _axis(turn)
    spans = [bar for span in SPANS if (bar := _bar(span, turn.phases, scale))]
    guides = [
        Guide(name, phase, scale(turn.phases[phase]), turn.phases[phase])
        for phase, name in GUIDES.items()
        if phase in turn.phases
    ]
    end = Guide("end of speech", "speech_end", scale(0.0), 0.0)
    return CloseUp(_sound(turn.wave) if turn.wave else None, spans, [end, *guides], scale.ticks(7))


def overview(conversation: Conversation, turns: list[Turn]) -> Overview | None:
    """Of a conversation whose sound was kept; else None."""
    if conversation.wave is None:
        return None
    scale = Scale(0.0, conversation.seconds)
    speech = [
        (scale(t.speech_start_s), scale(t.speech_end_s) - scale(t.speech_start_s), t.name)
        for t in turns
        if t.speech_start_s is not None and t.speech_end_s is not None
    ]
    guides = [_mark(mark, scale) for mark in conversation.marks if mark.event in NOTABLE]
    return Overview(
        _sound(conversation.wave), conversation.seconds, speech, guides, scale.ticks(8, " s")
    )


def _axis(turn: Turn) -> Scale:
    """The stretch of sound that is shown with it, ms after the end of speech."""
    if turn.wave and turn.speech_end_s is not None:
        start = 1000 * (turn.wave.start_s - turn.speech_end_s)
        return Scale(start, start + 1000 * turn.wave.seconds)
    ends = [turn.phases[end] for _, _, _, end in SPANS if end in turn.phases]
    return Scale(min([0.0, *ends]) - 100, max([0.0, *ends]) + 100)


def _bar(
    span: tuple[str, str, tuple[str, ...], str], phases: dict[str, float], scale: Scale
) -> Bar | None:
    name, stage, starts, end = span
    known = {"speech_end": 0.0, **phases}
    begun = [known[start] for start in starts if start in known]
    if end not in phases or not begun:
        return None
    stop = phases[end]
    start = min(max(begun), stop)
    left = scale(start)
    return Bar(name, stage, left, max(scale(stop) - left, 0.0), start, stop - start, end)


def _mark(mark: Mark, scale: Scale) -> Guide:
    name, kind = NOTABLE[mark.event]
    return Guide(name, kind, scale(mark.at_s), 1000 * mark.at_s)


def _sound(wave: Wave) -> Sound:
    return Sound(waveform(wave.user), waveform(wave.voice))
