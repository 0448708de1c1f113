"""Two tracks on one time axis."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stages.audio.tape import LEFT, RIGHT, Tape

WINDOW = 16
puts = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([LEFT, RIGHT]), st.integers(-5, 120), st.integers(0, 40)),
        st.just(None),  # flush
    ),
    max_size=30,
)


class Disk:
    """Everything that was passed on, each frame in its last version."""

    def __init__(self):
        self.frames = np.zeros((4000, 2), np.int16)
        self.tape = Tape(self.write, WINDOW)

    def write(self, first, frames):
        assert len(frames) <= WINDOW
        self.frames[first : first + len(frames)] = frames


@given(puts)
def test_nothing_is_lost_doubled_or_out_of_order(script):
    """And what comes in time is in its place: behind what its track has, or where it says."""
    disk, said = Disk(), [[], []]
    newest = 0  # the furthest frame: the window goes back by half of its length at least
    for put in script:
        if put is None:
            disk.tape.flush()
            continue
        track, position, count = put
        samples = np.arange(1, count + 1) + len(said[track])
        due = max(position, disk.tape.ends[track])
        disk.tape.put(track, position, samples.astype(np.int16))
        said[track] += samples.tolist()
        if count and due >= newest - WINDOW // 2:
            assert disk.tape.ends[track] == due + count
        newest = max(newest, *disk.tape.ends)
    disk.tape.flush()
    for track in (LEFT, RIGHT):
        written = disk.frames[:, track]
        assert written[written != 0].tolist() == said[track]
        assert not written[disk.tape.ends[track] :].any()


def test_a_track_has_silence_where_nothing_was_put():
    disk = Disk()
    disk.tape.put(LEFT, 0, np.full(6, 1, np.int16))
    disk.tape.put(RIGHT, 4, np.full(2, 2, np.int16))
    disk.tape.put(RIGHT, 300, np.full(2, 3, np.int16))
    disk.tape.flush()
    assert np.flatnonzero(disk.frames[:, RIGHT]).tolist() == [4, 5, 300, 301]
    assert np.flatnonzero(disk.frames[:, LEFT]).tolist() == [0, 1, 2, 3, 4, 5]


def test_only_what_has_changed_is_passed_on():
    passed = []
    tape = Tape(lambda first, frames: passed.append((first, len(frames))), WINDOW)
    tape.put(LEFT, 0, np.ones(8, np.int16))
    tape.flush()
    tape.flush()
    tape.put(RIGHT, 5, np.ones(1, np.int16))
    tape.flush()
    assert passed == [(0, 8), (5, 3)]
