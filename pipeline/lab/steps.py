"""Which step of a turn took the time until it was heard: pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

STAGES = {
    "silence": "turn",
    "soft_end": "turn",
    "decode_start": "asr",
    "transcript": "asr",
    "prefill": "llm",
    "first_id": "llm",
    "first_sound": "tts",
    "release": "turn",
    "first_audio": "audio",
}
"""Milestone to the stage whose work ends with it, as far as first audio waits for it."""

NAMES = {
    "silence": "noticing the silence",
    "soft_end": "waiting for the pause to last",
    "decode_start": "beginning the final decode",
    "transcript": "recognising the words",
    "prefill": "reading the words into the language model",
    "first_id": "generating the first id",
    "first_sound": "synthesising the first sound",
    "release": "deciding that the turn is over",
    "first_audio": "starting to play",
}


@dataclass(frozen=True)
class Step:
    """What first audio waited for.

    Attributes:
        name: the milestone that it ends with.
        start_ms: after the end of speech.
        took_ms: below zero never; the first may begin before the end of speech.
    """

    name: str
    start_ms: float
    took_ms: float

    @property
    def stage(self) -> str:
        """Whose time it was."""
        return STAGES[self.name]


def critical_path(phases: Mapping[str, float]) -> list[Step]:
    """The steps up to first audio, in order, without gaps; none where nothing was heard.

    An answer is heard when it is ready and the turn is over, whichever is later. So the release is
    a step only where the sound was ready before it; else nothing waited for it.

    Args:
        phases: milestone to ms after the end of speech.
    """
    if "first_audio" not in phases:
        return []
    heard = phases["first_audio"]
    ready, release = phases.get("first_sound"), phases.get("release")
    hidden = release is not None and ready is not None and release <= ready
    on_path = {
        name: at
        for name, at in phases.items()
        if name in STAGES and at <= heard and not (hidden and name == "release")
    }
    order = list(STAGES)
    steps: list[Step] = []
    before = 0.0
    for name, at in sorted(on_path.items(), key=lambda item: (item[1], order.index(item[0]))):
        start = min(before, at) if not steps else before
        steps.append(Step(name, start, at - start))
        before = at
    return steps


def longest(steps: Iterable[Step]) -> Step | None:
    """The step that took most."""
    return max(steps, key=lambda step: step.took_ms, default=None)


def describe(name: str, took_ms: float) -> str:
    """A step in words: "transcript (asr, recognising the words) took 310 ms"."""
    return f"{name} ({STAGES[name]}: {NAMES[name]}) took {took_ms:.0f} ms"
