"""Scripted stages that write down when they took what a turn brought them.

Nothing else is different: each tells, at the end of a conversation, when each message that an
answer hung on was put and when it was taken. With VOXRING_OVERHEAD_WORK_MS, each stage besides
keeps its thread busy for so long on every turn, after it has taken it.
"""

import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ringbuf import Kind, Mark
from stages.asr.scripted import ScriptedAsr
from stages.asr.transcriber import Transcriber
from stages.audio.file import FileAudio
from stages.lane import Lane
from stages.llm.scripted import ScriptedLlm
from stages.llm.session import LlmSession
from stages.stage import Session
from stages.tts.scripted import ScriptedTts
from stages.tts.speaker import Speaker
from stages.turn.scripted import ScriptedTurn
from stages.turn.session import TurnSession

FOLDER, WORK_MS = "VOXRING_OVERHEAD", "VOXRING_OVERHEAD_WORK_MS"
HOPS = ("speech", "heard", "reply", "voice")
RECORD = struct.Struct("<IIqq")  # session, answer, put, taken (monotonic ns)


class Notes:
    """When one lane's messages crossed one arrow.

    Args:
        hop: the arrow.
    """

    def __init__(self, hop: str, lane: int) -> None:
        self._path = Path(os.environ[FOLDER]) / f"{hop}-{lane}"
        self._work_s = float(os.environ.get(WORK_MS, "0")) / 1000
        self._records: dict[tuple[int, int], bytes] = {}

    def take(self, session: int, answer: int, put: int) -> None:
        """The first message of an answer was taken: note it, then work."""
        if (session, answer) not in self._records:
            taken = time.monotonic_ns()
            self._records[session, answer] = RECORD.pack(session, answer, put, taken)
            work(self._work_s)

    def write(self) -> None:
        """Tell, and forget."""
        with self._path.open("ab") as file:
            file.write(b"".join(self._records.values()))
        self._records.clear()


def work(seconds: float) -> None:
    """Keep this thread on its core, as a model does that holds the GIL."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def read(folder: Path) -> Iterator[tuple[str, int, int, int, int, int]]:
    """Every record of a folder: hop, lane, session, answer, put, taken; its files are removed."""
    for path in folder.iterdir():
        hop, _, lane = path.name.partition("-")
        for record in RECORD.iter_unpack(path.read_bytes()):
            yield (hop, int(lane), *record)
        path.unlink()


def before(target: Any, name: str, act: Callable[..., None]) -> None:
    """Have `act` called with what a method of one object is called with, just before it."""
    method = getattr(target, name)

    def both(*args: Any, **kwargs: Any) -> Any:
        act(*args)
        return method(*args, **kwargs)

    setattr(target, name, both)


def at_close(session: Session, notes: Notes) -> Session:
    """A session that tells its notes when it is closed."""
    before(session, "close", notes.write)
    return session


class NotedTurn(ScriptedTurn):
    """Works before it says that a pause may be the end; what follows is measured."""

    def open(self, lane: Lane) -> TurnSession:
        """A new conversation."""
        session = super().open(lane)
        seconds = float(os.environ.get(WORK_MS, "0")) / 1000

        def marks(marks: tuple[Mark, ...], _: int) -> None:
            if Mark.SOFT_END in marks:
                work(seconds)

        before(session, "_marks", marks)
        return session


class NotedAsr(ScriptedAsr):
    """Notes soft ends."""

    def open(self, lane: Lane) -> Transcriber:
        """A new conversation."""
        session, number = super().open(lane), lane.session
        notes = Notes("speech", lane.number)

        def take(block: Any) -> None:
            if block.mark is Mark.SOFT_END:
                notes.take(number, block.answer, block.stamp)

        before(session, "_take", take)
        at_close(session, notes)
        return session


class NotedLlm(ScriptedLlm):
    """Notes the ends of the user's words."""

    def open(self, lane: Lane) -> LlmSession:
        """A new conversation."""
        session, number = super().open(lane), lane.session
        notes = Notes("heard", lane.number)

        def take(run: Any) -> None:
            if run.kind is Kind.END:
                notes.take(number, run.answer, run.stamp)

        before(session, "_take", take)
        at_close(session, notes)
        return session


class NotedTts(ScriptedTts):
    """Notes first ids."""

    def open(self, lane: Lane) -> Speaker:
        """A new conversation."""
        session, number = super().open(lane), lane.session
        notes = Notes("reply", lane.number)

        def take(run: Any, _: Any) -> None:
            if run.kind is Kind.ID and run.position == 0:
                notes.take(number, run.answer, run.stamp)

        before(session, "_take", take)
        at_close(session, notes)
        return session


class NotedAudio(FileAudio):
    """Notes first blocks of answers, whether they may be heard yet or not."""

    def open(self, lane: Lane) -> Session:
        """A new conversation."""
        session, number = super().open(lane), lane.session
        notes = Notes("voice", lane.number)
        step = session._loudspeaker.step  # type: ignore[attr-defined]

        def look(now: int) -> bool:
            block = lane.voice.peek()
            if block is not None and block.first == 0:
                notes.take(number, block.answer, block.stamp)
            again: bool = step(now)
            return again

        session._loudspeaker.step = look  # type: ignore[attr-defined]
        return at_close(session, notes)
