"""Recorded questions through a pipeline at real-time pace, and what became of them."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pipeline.client_lane import ClientLane
from pipeline.errors import OutputError, SessionError
from pipeline.events import ClipEnded, Event, Fault, TurnEnded
from pipeline.pipeline import Pipeline
from stages.audio.clip import load_clip
from stages.audio.speech_end import find_speech_end
from stages.outcome import Outcome

GRACE_S = 1.5  # after a clip, for a voice to be noticed
LIMIT_S = 120.0  # beyond the clip's own length, for anything to happen at all


@dataclass(frozen=True)
class Question:
    """A clip to be played.

    Attributes:
        speech_end_s: s from its start; None if nothing is said in it.
        speech_end_source: "manifest" or "energy".
        truncated: what is missing of the file; "" if it is whole.
    """

    path: Path
    duration_s: float
    speech_end_s: float | None
    speech_end_source: str
    truncated: str = ""


@dataclass(frozen=True)
class Answer:
    """One turn of a replay; a clip without a turn gives one with no `turn`."""

    question: Question
    repeat: int
    turn: TurnEnded | None
    faults: tuple[str, ...] = ()
    wav: Path | None = None

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        return self.turn.timeline.outcome if self.turn else Outcome.NO_SPEECH


OnEvent = Callable[[Question, Event], None]


def read_question(path: Path) -> Question:
    """Read a clip and find where speech ends in it.

    Raises:
        AudioError: it cannot be read.
    """
    clip = load_clip(path)
    end = find_speech_end(clip)
    return Question(path, clip.duration_s, end.seconds, end.source, clip.truncated or "")


def make_folder(path: Path) -> None:
    """Make the folder for answers, and check that it can be written.

    Raises:
        OutputError: it cannot.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".voxring-probe"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise OutputError(
            f"answers cannot be written to {path}: {error.strerror}", "Choose another --out"
        ) from error


async def replay(
    pipeline: Pipeline,
    questions: Iterable[Question],
    *,
    repeat: int = 1,
    out: Path | None = None,
    on_event: OnEvent = lambda question, event: None,
    on_answer: Callable[[Answer], None] = lambda answer: None,
) -> list[Answer]:
    """Play every question `repeat` times, each in a conversation of its own.

    Args:
        out: folder for the answers' WAV files.
        on_event: told of everything that happens, as it happens.
        on_answer: told of each turn that has ended.

    Raises:
        StageError: a stage has died.
        SessionError: a clip brought no end in time.
    """
    answers: list[Answer] = []
    listed = list(questions)
    for number in range(1, repeat + 1):
        for question in listed:
            async with await pipeline.open() as lane:
                for answer in await _ask(lane, question, number, out, on_event):
                    answers.append(answer)
                    on_answer(answer)
    return answers


async def _ask(
    lane: ClientLane, question: Question, number: int, out: Path | None, on_event: OnEvent
) -> list[Answer]:
    """Play one clip and wait until everything it brought has ended."""
    wav = out / f"{question.path.stem}-{number}.wav" if out else None
    lane.play(question.path, speech_end_s=question.speech_end_s, out=wav)
    turns: list[TurnEnded] = []
    faults: list[str] = []
    clip_is_over = False
    try:
        async with asyncio.timeout(question.duration_s + LIMIT_S):
            while not (clip_is_over and lane.turns_ended == lane.turns_begun):
                event = await lane.next_event()
                on_event(question, event)
                match event:
                    case TurnEnded():
                        turns.append(event)
                    case Fault():
                        faults.append(event.message)
                    case ClipEnded(error):
                        faults.extend([error] if error else [])
                        clip_is_over = True
                        await asyncio.sleep(GRACE_S if not turns else 0)
    except TimeoutError:
        raise SessionError(
            f"{question.path.name}: nothing ended within {question.duration_s + LIMIT_S:.0f} s"
        ) from None
    written = wav if wav and wav.exists() else None
    return [Answer(question, number, t, tuple(faults), written) for t in turns] or [
        Answer(question, number, None, tuple(faults))
    ]
