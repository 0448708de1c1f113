"""The callback in C against a model of it in Python."""

import ctypes
import threading
import time
from itertools import count

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from stages.audio.device._port import CALLBACK, Port

CAPACITY = 64
MS = 1_000_000


class PortMachine(RuleBasedStateMachine):
    """Any order of calls: nothing is lost that had room, nothing is heard twice."""

    def __init__(self) -> None:
        super().__init__()
        self.port = Port(4, 8, CAPACITY)
        self.numbers = count(1)
        self.heard: list[int] = []  # waits for `take`
        self.queue: list[int] = []  # waits for the device
        self.lost = 0
        self.flush_at: int | None = None
        self.calls = 0

    @rule(frames=st.integers(0, 50))
    def call(self, frames: int) -> None:
        data = [next(self.numbers) for _ in range(frames)]
        played = self.port.call(np.array(data, "<i4").tobytes(), frames, self.calls)
        self.calls += 1
        kept = min(frames, CAPACITY - len(self.heard))
        self.heard += data[:kept]
        self.lost += frames - kept
        if self.flush_at is not None:
            del self.queue[: self.flush_at]
            self.flush_at = None
        expected = self.queue[:frames]
        del self.queue[: len(expected)]
        expected += [0] * (frames - len(expected))
        assert np.frombuffer(played, "<i8").tolist() == expected

    @rule()
    def take(self) -> None:
        assert np.frombuffer(self.port.take(), "<i4").tolist() == self.heard
        self.heard = []

    @rule(frames=st.integers(0, 40))
    def put(self, frames: int) -> None:
        data = [next(self.numbers) for _ in range(frames)]
        room = CAPACITY - len(self.queue)
        if frames > room:
            with pytest.raises(ValueError, match=f"at most {room}"):
                self.port.put(np.array(data, "<i8").tobytes())
            return
        self.port.put(np.array(data, "<i8").tobytes())
        self.queue += data

    @rule()
    def flush(self) -> None:
        self.port.flush()
        self.flush_at = len(self.queue)

    @invariant()
    def counts(self) -> None:
        assert self.port.lost == self.lost
        assert self.port.calls == self.calls
        assert self.port.written - self.port.played == len(self.queue)


TestPort = PortMachine.TestCase
TestPort.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_a_stamp_tells_what_a_call_moved() -> None:
    port = Port(2, 2, 16)
    port.put(bytes(6))
    port.call(bytes(10), 5, 1000, 0, 0.99, 1.0, 1.02)
    port.call(bytes(10), 5, 2000, 0, 0.995, 1.005, 1.025)
    first, second = port.stamps()
    assert first[:3] == (1000, pytest.approx(-10 * MS), pytest.approx(20 * MS))
    assert first[3:] == (0, 0, 5, 5, 3, 0)
    assert second[3:] == (5, 3, 5, 5, 0, 0)
    assert port.stamps() == []


def test_a_host_that_does_not_stamp_tells_nothing() -> None:
    port = Port(2, 2, 16)
    port.call(bytes(2), 1, 1000)
    port.call(bytes(2), 1, 1000, 0, 1.0, 500.0, 900.0)  # nonsense
    assert [stamp[1:3] for stamp in port.stamps()] == [(0, 0), (0, 0)]


def test_a_flush_says_where_it_began() -> None:
    port = Port(2, 2, 64)
    port.put(bytes(40))
    port.call(bytes(10), 5, 0)
    port.flush()
    assert port.cut is None
    port.put(b"\1\0" * 3)
    assert port.call(bytes(10), 5, 0) == b"\1\0" * 3 + bytes(4)
    assert port.cut == 5
    assert (port.played, port.written) == (23, 23)


def test_a_late_flush_cuts_nothing() -> None:
    port = Port(2, 2, 64)
    port.put(bytes(10))
    port.flush()
    port.put(bytes(10))
    port.call(bytes(2), 1, 0)
    assert port.cut == 0
    port.call(bytes(20), 10, 0)
    port.flush()
    port.call(bytes(2), 1, 0)
    assert port.cut == 10


def test_underflow_while_a_stream_primes_is_no_xrun() -> None:
    port = Port(2, 2, 64)
    port.call(bytes(2), 1, 0, 1)
    assert port.xruns == 0
    port.call(bytes(2), 1, 0, 0)
    port.call(bytes(2), 1, 0, 1)
    port.call(bytes(2), 1, 0, 4)
    assert port.xruns == 2


def test_stamps_that_nobody_reads_are_counted() -> None:
    port = Port(0, 2, 64)
    for _ in range(1030):
        port.call(b"", 1, 0)
    assert port.stamps_lost == 6
    assert len(port.stamps()) == 1024


@pytest.mark.parametrize("sizes", [(-1, 2, 64), (2, 5000, 64), (2, 2, 63), (2, 2, 0)])
def test_impossible_sizes_are_refused(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="power of two"):
        Port(*sizes)


def test_half_a_frame_is_refused() -> None:
    with pytest.raises(ValueError, match="whole frames of 4 bytes"):
        Port(0, 4, 64).put(b"123")


class TimeInfo(ctypes.Structure):
    _fields_ = [("adc", ctypes.c_double), ("now", ctypes.c_double), ("dac", ctypes.c_double)]


CallbackType = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_ulong,
    ctypes.POINTER(TimeInfo),
    ctypes.c_ulong,
    ctypes.c_void_p,
)


def test_two_threads_neither_lose_nor_double_nor_tear_a_frame() -> None:
    """The function that PortAudio gets, called by a thread that does not wait for this one."""
    port, frames = Port(8, 8, 256), 16
    callback, info = CallbackType(CALLBACK), TimeInfo(1.0, 1.01, 1.03)
    stop, sent, played = threading.Event(), count(1), []

    def device() -> None:
        while not stop.is_set():
            source = np.array([next(sent) for _ in range(frames)], "<i8")
            target = np.empty(frames, "<i8")
            callback(
                source.ctypes.data, target.ctypes.data, frames, ctypes.byref(info), 0, port.address
            )
            played.append(target)
            time.sleep(0.0002)

    thread = threading.Thread(target=device)
    heard: list[np.ndarray] = []
    thrown: set[int] = set()
    number, limit = 1, time.monotonic() + 60
    thread.start()
    for turn in range(400):
        heard.append(np.frombuffer(port.take(), "<i8"))
        room = min(100, 256 - (port.written - port.played))
        port.put(np.arange(number, number + room, dtype="<i8").tobytes())
        number += room
        if turn % 5 == 4:
            end = port.written
            port.flush()
            while (cut := port.cut) is None and time.monotonic() < limit:
                time.sleep(0.0005)
            assert cut is not None
            thrown |= set(range(cut + 1, end + 1))  # frame n carries the number n + 1
        time.sleep(0.0003)
    stop.set()
    thread.join()
    heard.append(np.frombuffer(port.take(), "<i8"))
    got = np.concatenate(heard)
    assert np.all(np.diff(got) > 0)
    assert len(got) + port.lost == next(sent) - 1
    voice = np.concatenate(played)
    voice = voice[voice != 0]
    assert np.all(np.diff(voice) > 0)
    assert thrown
    assert set(voice.tolist()) == set(range(1, port.played + 1)) - thrown
