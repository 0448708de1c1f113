"""Which step of a turn took the time until it was heard: pure."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

STAGES = {
    "silence": "turn",
    "soft_end": "turn",
    "decode_start": "asr",
    "transcript": "asr",
    "prefill": "llm",
    "first_id": "llm",
    "first_words": "llm",
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
    "first_words": "writing the words of the first sound",
    "first_sound": "synthesising the first sound",
    "release": "deciding that the turn is over",
    "first_audio": "starting to play",
}

PAUSE = {"silence", "soft_end", "decode_start"}  # in the order in which they came
WORK = ("transcript", "prefill", "first_id", "first_words", "first_sound")  # one after the other


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
    steps: list[Step] = []
    before = 0.0
    for name, at in _in_order(phases):
        start = before if steps else min(before, at)
        steps.append(Step(name, start, at - start))
        before = at
    return steps


def _in_order(phases: Mapping[str, float]) -> list[tuple[str, float]]:
    """What first audio waited for, cause before effect.

    A program stamps what it has just passed on, so that the next one may stamp its own answer
    first, by some microseconds: no cause is later than its effect.
    """
    ready = max((phases[name] for name in WORK if name in phases), default=-math.inf)
    hidden = phases.get("release", ready) <= ready
    begun = sorted(PAUSE & phases.keys(), key=lambda name: (phases[name], list(STAGES).index(name)))
    chain = [*begun, *(name for name in WORK if name in phases), "release", "first_audio"]
    found = []
    limit = phases["first_audio"]
    for name in reversed(chain):
        if name in phases and not (hidden and name == "release"):
            limit = min(limit, phases[name])
            found.append((name, limit))
    return found[::-1]


def longest(steps: Iterable[Step]) -> Step | None:
    """The step that took most."""
    return max(steps, key=lambda step: step.took_ms, default=None)


def describe(name: str, took_ms: float) -> str:
    """A step in words: "transcript (asr, recognising the words) took 310 ms"."""
    return f"{name} ({STAGES[name]}: {NAMES[name]}) took {took_ms:.0f} ms"
