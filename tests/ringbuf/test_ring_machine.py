"""A token ring against a plain queue: every order of what its two ends and a supervisor can do."""

import os
from collections import deque
from contextlib import ExitStack

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from ringbuf import Arena, Closed, Kind, PeerDied, RingFull
from tests.ringbuf.pair import Pair

CAPACITIES = (1, 2, 8, 64)
NEAR_WRAP = 2**64 - 5
NUMBER_WRAP = 2**32

Slot = tuple[int, int, int, int, Kind]


class TokenRingMachine(RuleBasedStateMachine):
    """The model: a deque of the same capacity, who is there, and the numbers that count."""

    @initialize(
        capacity=st.sampled_from(CAPACITIES),
        start=st.sampled_from((0, NEAR_WRAP)),
        answer=st.sampled_from((7, NUMBER_WRAP - 2)),
    )
    def begin(self, capacity: int, start: int, answer: int) -> None:
        self.pair = Pair(capacity)
        self.capacity = capacity
        self.ring = self.pair.writer.token("ids")
        self.out = self.pair.reader.token("ids")
        self.ring._core.seed(start)
        self.queue: deque[Slot] = deque()
        self.position = 0
        self.answer = answer
        self.session = 0
        self.starved = False
        self.dead = {"a": False, "b": False}

    def teardown(self) -> None:
        if hasattr(self, "pair"):
            self.pair.close()

    # The writer.

    @rule(
        id=st.integers(-(2**31), 2**31 - 1),
        turn=st.integers(0, 2**32 - 1),
        kind=st.sampled_from(list(Kind)),
    )
    def put(self, id: int, turn: int, kind: Kind) -> None:
        fits = len(self.queue) < self.capacity
        numbers = {"position": self.position, "turn": turn, "answer": self.answer}
        assert self.ring.put(id, **numbers, kind=kind) is fits
        if fits:
            self.queue.append((id, self.position, turn, self.answer, kind))
            self.position += 1
        else:
            self.starved = True

    @rule(id=st.integers(0, 9))
    def put_with_a_deadline(self, id: int) -> None:
        if len(self.queue) < self.capacity:
            self.put(id, 1, Kind.ID)
            return
        expected = PeerDied if self.dead["b"] else RingFull
        with pytest.raises(expected) as caught:
            self.ring.put(id, position=0, turn=1, answer=self.answer, timeout=0.0)
        assert caught.value.not_written == 1
        self.starved = True

    @rule(ids=st.lists(st.integers(0, 50_000), max_size=10), turn=st.integers(1, 3))
    def put_run(self, ids: list[int], turn: int) -> None:
        run = np.array(ids, np.int32)
        room = self.capacity - len(self.queue)
        written = self.ring.put_run(run, position=self.position, turn=turn, answer=self.answer)
        assert written == min(len(ids), room)
        self.starved |= written < len(ids)
        for offset, id in enumerate(ids[:written]):
            self.queue.append((id, self.position + offset, turn, self.answer, Kind.ID))
        self.position += written

    @rule(ids=st.lists(st.integers(0, 50_000), max_size=6))
    def put_together(self, ids: list[int]) -> None:
        """Invisible until the end of the block, and then all there."""
        before = len(self.queue)
        with self.ring.together():
            for id in ids:
                self.put(id, 1, Kind.ID)
                assert len(self.out) == before
        assert len(self.out) == len(self.queue)

    @rule()
    def bump_answer(self) -> None:
        """Whatever lies in the ring is stale now; it is told by its number, not taken out."""
        self.answer = (self.answer + 1) % NUMBER_WRAP
        self.position = 0
        self.pair.writer.set("answer", self.answer)

    @precondition(lambda self: self.queue)
    @rule()
    def reader_is_rung(self) -> None:
        self.pair.b.bell.take()
        before = len(self.queue)
        self.put(1, 1, Kind.ID)
        assert self.pair.b.bell.take() == ([1] if len(self.queue) > before else [])

    # The reader.

    @rule(limit=st.integers(0, 12), data=st.data())
    def read(self, limit: int, data: st.DataObject) -> None:
        expected = list(self.queue)[:limit]
        with self.out.read(limit) as batch:
            assert len(batch) == len(expected)
            seen = [
                (id, run.position + offset, run.turn, run.answer, run.kind)
                for run in batch.runs()
                for offset, id in enumerate(run.ids.tolist())
            ]
            assert seen == expected
            assert sum(1 for _ in batch.spans()) <= 2
            taken = data.draw(st.integers(0, len(expected)))
            batch.consume(taken)
        for _ in range(taken):
            self.queue.popleft()
        self._check_woken(taken)

    @rule()
    def read_what_counts(self) -> None:
        """A reader that drops stale answers sees exactly those of the current one."""
        counts = self.pair.reader.get("answer") or self.answer
        with self.out.read() as batch:
            seen = [id for run in batch.runs() if run.answer == counts for id in run.ids.tolist()]
        assert seen == [slot[0] for slot in self.queue if slot[3] == counts]
        taken = len(self.queue)
        self.queue.clear()
        self._check_woken(taken)

    @rule()
    def wait(self) -> None:
        if self.queue:
            assert self.out.wait(0.0)
        elif self.dead["a"]:
            with pytest.raises(PeerDied, match="a, at the other end of ids"):
                self.out.wait(0.0)
        else:
            assert not self.out.wait(0.0)

    @rule()
    def skip(self) -> None:
        self.out.skip()
        assert 1 in self.pair.a.bell.take()  # always: see ring_skip in _ring.h
        self.queue.clear()
        self.starved = False

    @rule()
    def change_session(self) -> None:
        """As stages do: the owner counts up, the reader forgets what is old, then says so."""
        self.session += 1
        self.pair.writer.set("session", self.session)
        assert 1 in self.pair.b.bell.take()
        self.skip()
        self.pair.reader.set("ack", self.pair.reader.get("session"))
        assert self.pair.a.bell.take() == [1]
        assert self.pair.writer.get("ack") == self.session
        assert len(self.out) == 0

    # Death and return.

    @rule(who=st.sampled_from(("a", "b")), unpublished=st.integers(0, 3))
    def die_and_return(self, who: str, unpublished: int) -> None:
        """The process is gone between two calls; its successor maps the memory anew."""
        with ExitStack() as never_left:
            if who == "a":
                never_left.enter_context(self.ring.together())
                for _ in range(min(unpublished, self.ring.free())):
                    self.ring.put(-1, position=0, turn=0, answer=0)
            old = self.pair.a if who == "a" else self.pair.b
            other = self.pair.b if who == "a" else self.pair.a
            new = Arena.attach(os.dup(old.fd), who, self.pair.bells)
            old.close()
        other.mark_dead(who)
        other.mark_alive(who)
        self.dead[who] = False
        if who == "a":
            self.pair.a, self.pair.writer = new, new.lane(1)
            self.ring = self.pair.writer.token("ids")
        else:
            self.pair.b, self.pair.reader = new, new.lane(1)
            self.out = self.pair.reader.token("ids")
            self.skip()

    @rule(who=st.sampled_from(("a", "b")), dead=st.booleans())
    def tell(self, who: str, dead: bool) -> None:
        owner = self.pair.b if who == "a" else self.pair.a
        (owner.mark_dead if dead else owner.mark_alive)(who)
        self.dead[who] = dead
        assert ("(dead)" in repr(self.ring)) is any(self.dead.values())

    @rule(who=st.sampled_from(("a", "b")))
    def use_after_close(self, who: str) -> None:
        arena = self.pair.a if who == "a" else self.pair.b
        spare = Arena.attach(os.dup(arena.fd), who, self.pair.bells)
        ring = spare.lane(1).token("ids")
        spare.close()
        with pytest.raises(Closed):
            ring.put(1, position=0, turn=0, answer=0)
        with pytest.raises(Closed):
            ring.read()

    def _check_woken(self, freed: int) -> None:
        """A writer that was refused is woken as soon as the reader has moved."""
        if self.starved and freed:
            assert 1 in self.pair.a.bell.take()
            self.starved = False

    @invariant()
    def counts(self) -> None:
        if hasattr(self, "queue"):
            assert len(self.out) == len(self.queue)
            assert self.ring.free() == self.capacity - len(self.queue)
            assert self.pair.a.bell.recoveries == self.pair.b.bell.recoveries == 0


TestTokenRing = TokenRingMachine.TestCase
TestTokenRing.settings = settings(max_examples=200, stateful_step_count=40)
