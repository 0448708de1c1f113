"""Many conversations at once on the rings of one arena, without programs around them."""

import os
import random
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ringbuf import Arena, BellPipe, Kind
from stages.lane import Lane
from stages.llm.conversation import Conversation
from stages.llm.pieces import Pieces
from stages.llm.schedule import Schedule
from stages.llm.session import LlmSession
from stages.llm.together import Together
from stages.topology import ASR, CONTROL, LLM, TTS, TURN, topology

IDS_PER_S = 6  # of somebody who speaks
PORTION = 2  # ids of a word
WORDS = 12  # ids of an utterance
REPLY = 40  # ids of an answer
PAUSE_S = 3.0  # between an answer and the next words, at most
OPENING = 400  # ids of history


@dataclass
class Found:
    """What the lanes of one run saw, ms."""

    first: list[float] = field(default_factory=list)
    between: list[float] = field(default_factory=list)


class Speaker:
    """One user: speaks at an even pace, waits for the whole answer, pauses, speaks again."""

    def __init__(self, arenas: dict[str, Arena], number: int, start: float, dice: random.Random):
        self.heard = Lane(arenas[ASR].lane(number), ASR, arenas[ASR].events(ASR)).heard
        self.reply = Lane(arenas[TTS].lane(number), TTS, arenas[TTS].events(TTS)).reply
        self.control = Lane(arenas[TURN].lane(number), TURN, arenas[TURN].events(TURN))
        self._dice = dice
        self._next = start
        self._said = 0
        self._turn = 0
        self._asked: float | None = None
        self._last = 0.0

    def speak(self, now: float) -> bool:
        """Say what is due; whether that was anything."""
        if self._asked is not None or now < self._next:
            return False
        if self._said == 0:
            self._turn += 1
            self.control.turn = self._turn
        if self._said < WORDS:
            ids = np.array([self._dice.randrange(1, 40_000) for _ in range(PORTION)], np.int32)
            self.heard.put_run(ids, position=self._said, turn=self._turn, answer=0)
            self._said += PORTION
            self._next += PORTION / IDS_PER_S
            return True
        self.heard.put(0, position=WORDS, turn=self._turn, answer=0, kind=Kind.END)
        self._asked = self._last = time.perf_counter()
        return True

    def listen(self, found: Found) -> None:
        """Take what was answered."""
        now = time.perf_counter()
        with self.reply.read() as batch:
            for run in batch.runs():
                if run.kind is not Kind.ID:
                    self._said, self._asked = 0, None
                    self._next = now + self._dice.random() * PAUSE_S
                elif self._asked is not None:
                    wait = found.first if run.position == 0 else found.between
                    wait.append((now - self._last) * 1e3)
                    self._last = now


def run(engine: Any, lanes: int, seconds: float, *, batched: bool = True, chunks: int = 2) -> Found:
    """Lanes that speak at random for some seconds.

    Args:
        engine: of the transformers kind.
        batched: they are computed together.
        chunks: of prompts, between two ids of a lane that speaks.
    """
    layout = topology(lanes, engine.context)
    bells = {name: BellPipe.create() for name in layout.processes}
    owner = Arena.create(layout, CONTROL, bells)
    arenas = {p: Arena.attach(os.dup(owner.fd), p, bells) for p in (ASR, LLM, TTS, TURN)}
    for lane in range(lanes):
        owner.claim(lane)
    sessions = []
    dice = random.Random(1)
    pieces = Pieces(tuple(range(1, OPENING + 1)), (5, 6, 7, 8), (9, 10), (11,), frozenset())
    for number in range(lanes):
        view = Lane(arenas[LLM].lane(number), LLM, arenas[LLM].events(LLM))
        talk = Conversation(engine, number, pieces, REPLY)
        sessions.append(
            LlmSession(
                view, talk, lambda _: pieces, lambda _: [], lambda ids: False, time.monotonic_ns
            )
        )
        while talk.behind:
            talk.catch_up()
    begin = time.perf_counter() + 0.2
    speakers = [Speaker(arenas, number, begin + dice.random() * 3, dice) for number in range(lanes)]
    together = Together(engine, engine.rows, Schedule(chunks))
    errors: list[Exception] = []
    found = Found()

    while (now := time.perf_counter()) < begin + seconds and not errors:
        spoke = [speaker.speak(now) for speaker in speakers]
        ready = [s for s, said in zip(sessions, spoke, strict=True) if said or s.due is not None]
        if not ready:
            time.sleep(0.0005)
            continue
        if batched:
            together.step(ready, lambda _, error: errors.append(error))
        else:
            for session in ready:
                session.step()
        for speaker in speakers:
            speaker.listen(found)
    for session in sessions:
        session.close()
    for arena in (*arenas.values(), owner):
        arena.close()
    for bell in bells.values():
        bell.close()
    if errors:
        raise errors[0]
    return found
