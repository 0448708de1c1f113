"""Places, the pace of a connection, and the load of the machine: counted, on clocks of our own."""

import pytest

from pipeline.endpoint.load import SPAN_S, Load, cpu_ns
from pipeline.endpoint.pace import Pace, weight
from pipeline.endpoint.places import NoPlaceError, Places, TooManyError


def test_no_place_is_promised_twice() -> None:
    places = Places(lambda: 2)
    held = [places.take(""), places.take("")]
    with pytest.raises(NoPlaceError, match="all 2 places are taken"):
        places.take("")
    held[0].give_back()
    held[0].give_back()  # once, however often it is asked
    assert (places.free, places.taken) == (1, 1)
    places.take("")
    assert places.free == 0


def test_a_token_has_no_more_than_its_share() -> None:
    places = Places(lambda: 10, per_token=2)
    held = [places.take("desk"), places.take("desk")]
    with pytest.raises(TooManyError, match="has 2 conversations"):
        places.take("desk")
    places.take("phone")
    for _ in range(5):
        places.take("")  # where no token is needed, none is counted
    held[1].give_back()
    places.take("desk")


def test_a_connection_is_read_at_its_pace_behind_a_burst() -> None:
    pace = Pace(10, 5, now_s=100.0)
    assert [pace.delay(100.0) for _ in range(5)] == [0.0] * 5
    assert pace.delay(100.0) == pytest.approx(0.1)
    assert pace.delay(100.0) == pytest.approx(0.2)
    assert pace.delay(110.0) == 0.0
    assert [pace.delay(110.0) for _ in range(4)] == [0.0] * 4, "no more than a burst is saved"
    assert pace.delay(110.0) > 0


def test_a_sender_that_never_pauses_is_told_from_one_that_does() -> None:
    pace = Pace(10, 5, now_s=0.0)
    for n in range(100):  # read late, so that the bucket is not always empty
        pace.delay(n * 0.12)
    assert pace.over_s == 0.0, "that is no more than is allowed"
    for n in range(100):
        pace.delay(20 + n * 0.05)
        if n == 60:
            assert pace.over_s > 1
    pace.delay(30.0)
    assert pace.over_s == 0.0


def test_a_large_message_counts_for_several() -> None:
    pace = Pace(250, 1000, now_s=0.0)
    assert [pace.delay(0.0, weight(2**20)) for _ in range(7)] == [0.0] * 7
    assert pace.delay(0.0, weight(2**20)) == pytest.approx(24 / 250)
    assert pace.delay(0.0, weight(2**20)) == pytest.approx(152 / 250)


@pytest.mark.parametrize(
    ("size", "every_s"),
    [(1920, 0.02), (9600, 0.1), (300 * 1024, 2.0), (2**20, 16.0), (2, 0.005)],
)
def test_sound_in_time_is_never_slowed(size: int, every_s: float) -> None:
    """Frames at 48 kHz, base64 in large pieces, small messages."""
    pace = Pace(250, 1000, now_s=0.0)
    assert not any(pace.delay(n * every_s, weight(size)) for n in range(3000))


def busy(load: Load, cores: float, conversations: int, begin: float = 0.0) -> None:
    """Looks of a machine that uses so many cores for a whole span."""
    for second in range(int(SPAN_S) + 1):
        load.look(begin + second, int(cores * second * 1e9), conversations)


def test_somebody_more_is_let_in_while_there_is_room_for_their_share() -> None:
    load = Load(cores=2, most=0.85)
    busy(load, cores=1.0, conversations=2)
    assert load.share == pytest.approx(0.5)
    assert load.has_room(SPAN_S, 2), "0.5 and a quarter more"
    load = Load(cores=2, most=0.85)
    busy(load, cores=1.2, conversations=2)
    assert not load.has_room(SPAN_S, 2), "0.6 and 0.3 more"
    assert load.has_room(SPAN_S, 0), "the first one is always let in"
    busy(load, cores=0.1, conversations=2, begin=100.0)
    assert load.has_room(110.0, 2)
    assert Load(cores=2, most=0).has_room(0.0, 1000)


def test_nobody_more_is_let_in_while_answers_wait_for_their_voice() -> None:
    load = Load(cores=2, most=0.85)
    busy(load, cores=0.1, conversations=1)
    load.was_late(SPAN_S)
    assert not load.has_room(SPAN_S + 1, 1)
    assert load.has_room(2 * SPAN_S, 1)


def test_a_program_that_died_does_not_count_backwards() -> None:
    load = Load(cores=2, most=0.85)
    busy(load, cores=2.0, conversations=1)
    load.look(SPAN_S + 1, 10, 1)
    load.look(SPAN_S + 2, 10 + 10**9, 1)
    assert load.share == pytest.approx(0.5)


def test_time_on_a_core_is_measured() -> None:
    import os
    import time

    before = cpu_ns([os.getpid(), 2**22 - 1])
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
    assert cpu_ns([os.getpid(), 2**22 - 1]) - before >= 20_000_000
