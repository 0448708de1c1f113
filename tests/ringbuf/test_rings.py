"""What goes into a ring comes out of it, and what does not fit is told."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

from ringbuf import (
    Arena,
    EventRecord,
    Kind,
    Layout,
    Mark,
    MessageTooLong,
    RingKind,
    RingSpec,
)
from tests.ringbuf.pair import EVENTS, Pair


def test_a_run_for_the_model_ends_where_the_numbers_jump(pair: Pair) -> None:
    ring, out = pair.writer.token("ids"), pair.reader.token("ids")
    for id, position, turn, kind in [
        (10, 0, 1, Kind.ID),
        (11, 1, 1, Kind.ID),
        (12, 1, 1, Kind.ID),  # a revision
        (13, 2, 1, Kind.ID),
        (0, 3, 1, Kind.END),
        (14, 0, 2, Kind.ID),
    ]:
        assert ring.put(id, position=position, turn=turn, answer=1, kind=kind)
    with out.read() as batch:
        runs = [(run.ids.tolist(), run.position, run.kind) for run in batch.runs()]
        stamps = batch.stamps()
    assert len(stamps) == 6, "one for each slot, whatever its run"
    assert stamps == sorted(stamps)
    assert runs == [
        ([10, 11], 0, Kind.ID),
        ([12, 13], 1, Kind.ID),
        ([0], 3, Kind.END),
        ([14], 0, Kind.ID),
    ]


def test_ids_are_a_view_of_shared_memory(pair: Pair) -> None:
    ring, out = pair.writer.token("ids"), pair.reader.token("ids")
    ring.put(5, position=0, turn=1, answer=1)
    with out.read() as batch:
        (run,) = batch.runs()
        assert run.ids.base is not None
        assert np.shares_memory(run.ids, out.ids)


def test_slots_that_made_the_reader_fail_are_not_read_twice(pair: Pair) -> None:
    ring, out = pair.writer.token("ids"), pair.reader.token("ids")
    ring.put(666, position=0, turn=1, answer=1)

    def poisoned() -> None:
        with out.read():
            raise RuntimeError("poison")

    with pytest.raises(RuntimeError, match="poison"):
        poisoned()
    assert len(out) == 0


def test_consuming_more_than_was_read_is_refused(pair: Pair) -> None:
    with pair.reader.token("ids").read() as batch, pytest.raises(ValueError, match="1 of 0"):
        batch.consume(1)


def test_audio_keeps_length_numbers_and_mark(pair: Pair) -> None:
    ring, out = pair.writer.audio("sound"), pair.reader.audio("sound")
    sound = np.arange(100, dtype=np.int16)
    assert ring.put(
        sound, first=1234, rate=16_000, turn=3, answer=4, mark=Mark.START, position=9, lost=320
    )
    block = out.peek()
    assert block is not None
    assert block.samples.tolist() == sound.tolist()
    assert (block.first, block.rate, block.turn, block.answer) == (1234, 16_000, 3, 4)
    assert (block.mark, block.position, block.lost) == (Mark.START, 9, 320)
    out.drop()
    assert out.peek() is None


def test_sound_is_copied_once_and_read_where_it_lies() -> None:
    """Nothing as long as a block is allocated on either side."""
    ring = RingSpec("long", RingKind.AUDIO, "a", "a", 2, 2**20)
    with Arena.create(Layout(("a",), 1, (ring,), (), text=0), "a", {}) as arena:
        sound = arena.lane(0).audio("long")
        samples = np.arange(2**20).astype(np.int16)
        tracemalloc.start()
        try:
            assert sound.put(samples, first=0, rate=16_000)
            block = sound.peek()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert block is not None
        assert np.array_equal(block.samples, samples)
        assert np.shares_memory(block.samples, sound._columns["samples"])
        assert peak < samples.nbytes / 100


@pytest.mark.parametrize("samples", [np.zeros(321, np.int16), np.zeros(10, np.float32)])
def test_audio_of_the_wrong_form_is_refused(pair: Pair, samples: np.ndarray) -> None:
    with pytest.raises(ValueError, match="at most 320 int16"):
        pair.writer.audio("sound").put(samples, first=0, rate=16_000)


def test_a_full_microphone_counts_what_it_loses(pair: Pair) -> None:
    ring = pair.writer.audio("sound")
    block = np.zeros(320, np.int16)
    assert [ring.put(block, first=i, rate=16_000) for i in range(9)] == [True] * 8 + [False]
    ring.count_lost(320)
    assert ring.dropped == 320


def test_messages_come_out_whole_and_in_order(pair: Pair) -> None:
    ring, out = pair.writer.command("bytes"), pair.reader.command("bytes")
    for turn in range(40):  # many times around 64 bytes
        sent = [bytes([turn]) * (turn % 13), b"", b"end"]
        assert all(ring.put(message) for message in sent)
        assert out.read() == sent


def test_a_message_that_is_put_while_others_are_read_comes_once(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was given by that reading, and again by the next one."""
    ring, out = pair.writer.command("bytes"), pair.reader.command("bytes")

    class Meanwhile:
        """The reader's core, beside which the writer writes right behind each look."""

        def __getattr__(self, name: str) -> Any:
            return getattr(core, name)

        def filled(self) -> int:
            count = core.filled()
            assert ring.put(b"late")
            return count

    core = out._core
    ring.put(b"early")
    monkeypatch.setattr(out, "_core", Meanwhile())
    assert out.read() == [b"early"]
    monkeypatch.setattr(out, "_core", core)
    assert out.read() == [b"late"]


def test_a_message_that_can_never_fit_is_an_error(pair: Pair) -> None:
    with pytest.raises(MessageTooLong, match="at most 60"):
        pair.writer.command("bytes").put(bytes(61))


def test_a_message_that_does_not_fit_now_can_be_dropped_and_counted(pair: Pair) -> None:
    ring = pair.writer.command("bytes")
    assert ring.put_or_drop(bytes(40))
    assert not ring.put_or_drop(bytes(40))
    assert ring.dropped == 1


def test_what_is_kept_stays_until_something_else_is_there() -> None:
    spec = RingSpec("own", RingKind.COMMAND, "a", "a", 64)
    with Arena.create(Layout(("a",), 1, (spec,), (), text=0), "a", {}) as arena:
        ring = arena.lane(0).command("own")
        assert ring.kept() == []
        ring.keep(b"one")
        ring.put(b"behind it")
        assert ring.kept() == ring.kept() == [b"one", b"behind it"]
        with pytest.raises(MessageTooLong):  # beside what is there
            ring.keep(bytes(50))
        assert ring.kept() == [b"one", b"behind it"]
        ring.keep(b"another")
        assert ring.kept() == [b"another"]


def test_events_lose_the_newest_and_count_it(pair: Pair) -> None:
    mine, owners = pair.b.events("b"), pair.a.events("b")
    records = [EventRecord(1, 2, 3, n, -n, n * 10) for n in range(EVENTS + 2)]
    for record in records:
        mine.put(record)
    assert owners.take() == records[:EVENTS]
    assert owners.dropped == 2


def test_a_word_wakes_those_it_names(pair: Pair) -> None:
    pair.writer.set("word", 2**64 - 1)
    assert pair.reader.get("word") == 2**64 - 1
    assert pair.b.bell.take() == [1]
    assert pair.a.bell.take() == []


def test_repr_tells_fill_and_peers(pair: Pair) -> None:
    pair.writer.token("ids").put(1, position=0, turn=1, answer=1)
    assert "ids: a -> b, 1/8, written 1, read 0, dropped 0" in repr(pair.reader)
