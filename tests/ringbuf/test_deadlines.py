"""Waiting with a deadline, and the named errors of those who wait."""

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from ringbuf import Closed, EventRecord, Overrun, PeerDied, RingFull
from tests.ringbuf.pair import EVENTS, Pair

DEADLINE_S = 30
WORD_S = 0.1  # from the supervisor's word to the error


class Waiter(threading.Thread):
    """Calls something that waits; keeps its result or error, and when that came."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self.call = call
        self.result: object = None
        self.at = 0

    def run(self) -> None:
        try:
            self.result = self.call()
        except Exception as error:
            self.result = error
        self.at = time.monotonic_ns()

    def asleep_on(self, pair: Pair, process: str) -> "Waiter":
        self.start()
        end = time.monotonic() + DEADLINE_S
        while not pair.a.bell_of(process).asleep and time.monotonic() < end:
            time.sleep(0)  # yields; the condition has a deadline
        assert pair.a.bell_of(process).asleep
        return self

    def outcome(self) -> object:
        self.join(DEADLINE_S)
        assert not self.is_alive()
        return self.result


def fill(pair: Pair) -> None:
    ring = pair.writer.token("ids")
    while ring.put(1, position=0, turn=1, answer=1):
        pass


def put(pair: Pair, timeout: float) -> bool:
    return pair.writer.token("ids").put(9, position=0, turn=1, answer=1, timeout=timeout)


def test_a_put_waits_for_its_reader(pair: Pair) -> None:
    fill(pair)
    waiter = Waiter(lambda: put(pair, DEADLINE_S)).asleep_on(pair, "a")
    pair.reader.token("ids").skip()
    assert waiter.outcome() is True
    with pair.reader.token("ids").read() as batch:
        assert [run.ids.tolist() for run in batch.runs()] == [[9]]


def test_a_put_that_was_too_long_says_who_and_how_much(pair: Pair) -> None:
    """vllm-project/vllm#5801, #27313: a full ring was an endless log line."""
    ring = pair.writer.token("ids")
    ids = np.arange(20, dtype=np.int32)
    with pytest.raises(RingFull, match="ids is full: 12 not written, b has made no room") as caught:
        ring.put_run(ids, position=0, turn=1, answer=1, timeout=0.02)
    assert (caught.value.ring, caught.value.reader, caught.value.not_written) == ("ids", "b", 12)
    assert 0.02 <= caught.value.waited_s < DEADLINE_S
    with pair.reader.token("ids").read() as batch:  # what was written is there, in order
        assert [run.ids.tolist() for run in batch.runs()] == [list(range(8))]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 100])
def test_a_long_run_passes_through_a_short_ring(pair: Pair, count: int) -> None:
    ring, out = pair.writer.token("ids"), pair.reader.token("ids")
    ids = np.arange(count, dtype=np.int32)
    writer = Waiter(lambda: ring.put_run(ids, position=5, turn=1, answer=1, timeout=DEADLINE_S))
    writer.start()
    seen: list[int] = []
    while len(seen) < count and out.wait(DEADLINE_S):
        with out.read(3) as batch:
            for run in batch.runs():
                assert run.position == 5 + len(seen)
                seen.extend(run.ids.tolist())
    assert seen == list(range(count))
    assert writer.outcome() == count
    assert pair.a.bell.recoveries == pair.b.bell.recoveries == 0


def test_sound_and_commands_wait_too(pair: Pair) -> None:
    sound, message = np.zeros(320, np.int16), bytes(60)
    audio, command = pair.writer.audio("sound"), pair.writer.command("bytes")
    while audio.put(sound, first=0, rate=16_000):
        pass
    assert command.put(message)
    with pytest.raises(RingFull, match="sound is full: 1 not"):
        audio.put(sound, first=0, rate=16_000, timeout=0.01)
    with pytest.raises(RingFull, match="bytes is full: 64 not"):
        command.put(message, timeout=0.01)


def test_a_reader_waits_for_its_writer(pair: Pair) -> None:
    out = pair.reader.token("ids")
    assert not out.wait(0.01)
    waiter = Waiter(lambda: out.wait(DEADLINE_S)).asleep_on(pair, "b")
    put(pair, 0)
    assert waiter.outcome() is True


def test_other_lanes_that_ring_meanwhile_are_not_forgotten(pair: Pair) -> None:
    fill(pair)
    waiter = Waiter(lambda: put(pair, DEADLINE_S)).asleep_on(pair, "a")
    pair.b.bell_of("a").ring(0)
    pair.reader.token("ids").skip()
    assert waiter.outcome() is True
    assert 0 in pair.a.bell.take()


def test_only_the_ends_of_a_ring_wait_for_each_other(pair: Pair) -> None:
    with pytest.raises(ValueError, match="only b may wait"):
        pair.writer.token("ids").wait(0)
    with pytest.raises(ValueError, match="only a may wait"):
        pair.reader.token("ids").wait_for_room(1, 0)
    with pytest.raises(ValueError, match="8 slots, not 9"):
        pair.writer.token("ids").wait_for_room(9, 0)
    with pytest.raises(ValueError, match="polled"):
        pair.a.events("b").wait(0)


# Death, by the supervisor's word.


def test_a_writer_learns_that_its_reader_is_dead(pair: Pair) -> None:
    fill(pair)
    waiter = Waiter(lambda: put(pair, DEADLINE_S)).asleep_on(pair, "a")
    told = time.monotonic_ns()
    pair.a.mark_dead("b")
    error = waiter.outcome()
    assert isinstance(error, PeerDied)
    assert (error.process, error.ring, error.not_written) == ("b", "ids", 1)
    assert waiter.at - told < WORD_S * 1e9


def test_a_reader_reads_what_there_is_before_it_learns_of_the_death(pair: Pair) -> None:
    out = pair.reader.token("ids")
    put(pair, 0)
    pair.a.mark_dead("a")
    assert out.wait(DEADLINE_S)
    out.skip()
    with pytest.raises(PeerDied, match="a, at the other end of ids, has died"):
        out.wait(DEADLINE_S)


def test_a_peer_that_died_and_came_back_is_not_the_one_that_was_waited_for(pair: Pair) -> None:
    fill(pair)
    waiter = Waiter(lambda: put(pair, DEADLINE_S)).asleep_on(pair, "a")
    pair.b.bell_of("b").life += 2  # dead and back before the waiter looks
    pair.b.bell_of("a").nudge()
    assert isinstance(waiter.outcome(), PeerDied)


def test_life_is_counted(pair: Pair) -> None:
    bell = pair.a.bell_of("b")
    for mark, life in [
        (pair.a.mark_dead, 1),
        (pair.a.mark_dead, 1),
        (pair.a.mark_alive, 2),
        (pair.a.mark_alive, 2),
        (pair.a.mark_dead, 3),
    ]:
        mark("b")
        assert bell.life == life


def test_a_ringer_that_was_killed_before_its_byte(pair: Pair) -> None:
    """It took `asleep` and never wrote; nobody else would. The word of its death wakes all."""
    out = pair.reader.token("ids")
    waiter = Waiter(lambda: out.wait(DEADLINE_S)).asleep_on(pair, "b")
    victim = pair.attach_without_pipes("a")
    assert victim.lane(1).token("ids").put(9, position=0, turn=1, answer=1)
    victim.close()
    assert waiter.is_alive()
    told = time.monotonic_ns()
    pair.a.mark_dead("a")
    assert waiter.outcome() is True
    assert waiter.at - told < WORD_S * 1e9
    assert pair.b.bell.recoveries == 0


def test_open_lanes_are_looked_at_again_after_a_death(pair: Pair) -> None:
    pair.a.mark_dead("b", lanes=[0])
    assert pair.a.bell.take() == [0]


# Loss, for those who ask.


def test_a_reader_that_asks_is_told_once_what_was_lost(pair: Pair) -> None:
    mine, owners = pair.b.events("b"), pair.a.events("b")
    records = [EventRecord(1, 2, 3, n, n, n) for n in range(EVENTS + 2)]
    for record in records:
        mine.put(record)
    with pytest.raises(Overrun, match="events has lost 2") as caught:
        owners.take(strict=True)
    assert caught.value.lost == 2
    assert owners.take(strict=True) == records[:EVENTS]


def test_messages_and_samples_that_were_dropped_are_told_too(pair: Pair) -> None:
    command, sound = pair.writer.command("bytes"), pair.writer.audio("sound")
    assert command.put_or_drop(bytes(50))
    assert not command.put_or_drop(bytes(50))
    sound.count_lost(320)
    with pytest.raises(Overrun, match="lost 1"):
        pair.reader.command("bytes").read(strict=True)
    assert pair.reader.command("bytes").read(strict=True) == [bytes(50)]
    with pytest.raises(Overrun, match="lost 320"):
        pair.reader.audio("sound").check_lost()


# The end.


def test_everything_of_a_closed_arena_says_so(pair: Pair) -> None:
    ring, sound, command = (
        pair.writer.token("ids"),
        pair.writer.audio("sound"),
        pair.writer.command("bytes"),
    )
    events, bell, lane = pair.a.events("a"), pair.a.bell, pair.writer
    ids = ring.ids
    pair.a.close()
    uses: list[Callable[[], object]] = [
        lambda: put(pair, 0),
        lambda: ring.put_run(np.zeros(3, np.int32), position=0, turn=0, answer=0),
        lambda: ring.read(),
        lambda: ring.free(),
        lambda: len(ring),
        lambda: ring.skip(),
        lambda: sound.put(np.zeros(3, np.int16), first=0, rate=1),
        lambda: sound.peek(),
        lambda: command.put(b"x"),
        lambda: command.read(),
        lambda: events.take(),
        lambda: lane.get("word"),
        lambda: lane.set("word", 1),
        lambda: bell.ring(0),
        lambda: bell.take(),
        lambda: bell.park(0),
        lambda: bell.life,
        lambda: pair.a.lane(0),
        lambda: pair.a.claim(0),
        lambda: pair.a.text,
    ]
    for use in uses:
        with pytest.raises(Closed, match="closed"):
            use()
    for thing in (ring, sound, command, lane, bell, pair.a):
        assert "closed" in repr(thing)
    ids[0] = 5  # views stay
    assert ids[0] == 5


def test_closing_wakes_whoever_waits(pair: Pair) -> None:
    waiter = Waiter(lambda: pair.reader.token("ids").wait(DEADLINE_S)).asleep_on(pair, "b")
    pair.b.close()
    assert isinstance(waiter.outcome(), Closed)


def test_closing_inside_a_batch_keeps_the_first_error(pair: Pair) -> None:
    put(pair, 0)

    def close_and_fail() -> None:
        with pair.reader.token("ids").read():
            pair.b.close()
            raise RuntimeError("the real error")

    with pytest.raises(RuntimeError, match="the real error"):
        close_and_fail()
