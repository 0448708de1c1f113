"""Recorded questions through a pipeline at real-time pace, and what became of them."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
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


OnQuestion = Callable[[Question, int], None]
OnEvent = Callable[[Event], None]


def read_question(path: Path) -> Question:
    """Read a clip and find where speech ends in it.

    Raises:
        AudioError: it cannot be read.
    """
    clip = load_clip(path)
    end = find_speech_end(clip)
    return Question(path, clip.duration_s, end.seconds, end.source, clip.truncated or "")


def answer_files(questions: Sequence[Question], repeat: int, out: Path) -> list[list[Path]]:
    """Where each question's answers are written: CLIP-N.wav, CLIP.K-N.wav for the K-th of a name.

    Raises:
        OutputError: an answer would replace one of the clips.
    """
    stems = Counter(question.path.stem for question in questions)
    seen: Counter[str] = Counter()
    files = []
    for question in questions:
        stem = question.path.stem
        seen[stem] += 1
        name = stem if stems[stem] == 1 else f"{stem}.{seen[stem]}"
        files.append([out / f"{name}-{number}.wav" for number in range(1, repeat + 1)])
    clips = {question.path.resolve() for question in questions}
    for file in (file for group in files for file in group):
        if file.resolve() in clips:
            raise OutputError(f"an answer would replace the clip {file}", "Choose another --out")
    return files


async def replay(
    pipeline: Pipeline,
    questions: Iterable[Question],
    *,
    repeat: int = 1,
    out: Path | None = None,
    on_question: OnQuestion = lambda question, number: None,
    on_event: OnEvent = lambda event: None,
    on_answer: Callable[[Answer], None] = lambda answer: None,
) -> list[Answer]:
    """Play every question `repeat` times, each in a conversation of its own.

    Args:
        out: folder for the answers' WAV files; see `answer_files`.
        on_question: told of each clip that begins, and how often it was played with this.
        on_event: told of everything that happens, as it happens.
        on_answer: told of each turn that has ended.

    Raises:
        StageError: a stage has died.
        SessionError: a clip brought no end in time.
        OutputError: an answer would replace one of the clips.
    """
    answers: list[Answer] = []
    listed = list(questions)
    files = answer_files(listed, repeat, out) if out else None
    for number in range(1, repeat + 1):
        for index, question in enumerate(listed):
            wav = files[index][number - 1] if files else None
            on_question(question, number)
            async with await pipeline.open() as lane:
                for answer in await _ask(lane, question, number, wav, on_event):
                    answers.append(answer)
                    on_answer(answer)
    return answers


async def _ask(
    lane: ClientLane, question: Question, number: int, wav: Path | None, on_event: OnEvent
) -> list[Answer]:
    """Play one clip and wait until everything it brought has ended."""
    while lane.turns_ended < lane.turns_begun:  # the greeting
        on_event(await lane.next_event())
    before = _inode(wav)
    lane.play(question.path, speech_end_s=question.speech_end_s, out=wav)
    turns: list[TurnEnded] = []
    faults: list[str] = []
    async for event in until_over(lane, question):
        on_event(event)
        match event:
            case TurnEnded():
                turns.append(event)
            case Fault(_, message):
                faults.append(message)
            case ClipEnded(error) if error:
                faults.append(error)
    written = wav if _inode(wav) != before else None  # one of an earlier run does not count
    return [Answer(question, number, t, tuple(faults), written) for t in turns] or [
        Answer(question, number, None, tuple(faults))
    ]


async def until_over(lane: ClientLane, question: Question) -> AsyncIterator[Event]:
    """What happens until the clip was played and every turn that it began has been told."""
    now = asyncio.get_running_loop().time
    limit = now() + question.duration_s + LIMIT_S
    told = first = lane.turns_ended
    settled: float | None = None  # when a voice in the clip would have been noticed
    while True:
        quiet = settled is not None and told == lane.turns_begun
        if quiet and (told > first or now() >= (settled or 0)):
            return
        try:
            async with asyncio.timeout_at(settled if quiet else limit):
                event = await lane.next_event()
        except TimeoutError:
            if quiet:
                continue
            raise SessionError(
                f"{question.path.name}: nothing ended within {question.duration_s + LIMIT_S:.0f} s"
            ) from None
        yield event
        told += isinstance(event, TurnEnded)
        if isinstance(event, ClipEnded):
            settled = now() + GRACE_S


def _inode(path: Path | None) -> int | None:
    """Which file this is; a new answer is a new file, whatever stood there."""
    return path.stat().st_ino if path and path.exists() else None
