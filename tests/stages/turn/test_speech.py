"""The writing end of `speech`."""

from collections.abc import Callable

import numpy as np

from ringbuf import Mark
from stages.lane import Lane
from stages.turn.speech import Speech


def test_what_finds_no_room_comes_later_and_in_order(make_lane: Callable[[str], Lane]) -> None:
    asr, ring = make_lane("asr"), make_lane("turn").speech
    speech = Speech(ring)
    room = ring.free()
    for n in range(room + 3):
        speech.put(np.full(4, n % 100, np.int16), first=4 * n, turn=1, answer=2)
    speech.put(np.empty(0, np.int16), first=4 * (room + 3), turn=1, answer=2, mark=Mark.RELEASE)
    assert not speech.flush()
    read = []
    for _ in range(2):
        with asr.speech.read() as batch:
            read += [(b.first, int(b.samples.sum()), b.mark) for b in batch]
        assert speech.flush()
    assert read[:-1] == [(4 * n, 4 * (n % 100), Mark.NONE) for n in range(room + 3)]
    assert read[-1] == (4 * (room + 3), 0, Mark.RELEASE)
