"""What waits for a slow reader: bounded whatever happens, nothing lost without a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.endpoint.outbox import Audio, Gap, Outbox, SlowReaderError

MS, EVENTS = 100.0, 8


def everything(outbox: Outbox) -> list[object]:
    items = []
    while (item := outbox.take()) is not None:
        items.append(item)
    return items


def test_the_oldest_sound_makes_room_and_a_note_stands_where_it_was() -> None:
    outbox = Outbox(MS, EVENTS)
    for n in range(7):
        outbox.put_audio(Audio(bytes([n]), 1, 20))
    assert everything(outbox) == [Gap(1, 40), *(Audio(bytes([n]), 1, 20) for n in range(2, 7))]
    assert outbox.dropped_ms == 40


def test_events_keep_their_place_among_the_sound() -> None:
    outbox = Outbox(MS, EVENTS)
    outbox.put_audio(Audio(b"a", 1, 60))
    outbox.put_event("between")
    outbox.put_audio(Audio(b"b", 1, 60))
    assert everything(outbox) == [Gap(1, 60), "between", Audio(b"b", 1, 60)]


def test_a_reader_for_whom_too_many_events_wait_is_too_slow() -> None:
    outbox = Outbox(MS, EVENTS)
    for n in range(EVENTS):
        outbox.put_event(str(n))
    with pytest.raises(SlowReaderError, match="8 events wait"):
        outbox.put_event("one more")
    assert everything(outbox) == [str(n) for n in range(EVENTS)]
    outbox.put_event("now there is room")


def test_stale_sound_goes_without_a_note() -> None:
    outbox = Outbox(MS, EVENTS)
    outbox.put_audio(Audio(b"a", 1, 20))
    outbox.put_event("cut")
    outbox.put_audio(Audio(b"b", 2, 20))
    outbox.cut(1)
    assert everything(outbox) == ["cut", Audio(b"b", 2, 20)]
    assert outbox.dropped_ms == 0


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("sound"), st.integers(1, 3), st.integers(1, 150)),
        st.tuples(st.just("event"), st.just(0), st.just(0)),
        st.tuples(st.just("take"), st.just(0), st.just(0)),
        st.tuples(st.just("cut"), st.integers(1, 3), st.just(0)),
    ),
    max_size=60,
)


@given(STEPS)
def test_it_is_bounded_and_accounts_for_all_sound(steps: list[tuple[str, int, int]]) -> None:
    outbox = Outbox(MS, EVENTS)
    put = taken = noted = cut = 0.0
    for step, answer, ms in steps:
        if step == "sound":
            outbox.put_audio(Audio(b"", answer, ms))
            put += ms
        elif step == "event":
            try:
                outbox.put_event("e")
            except SlowReaderError:
                assert sum(isinstance(i, str) for i in outbox._items) == EVENTS
        elif step == "cut":
            waits = [i for i in outbox._items if not isinstance(i, str) and i.answer == answer]
            cut += sum(i.ms for i in waits)
            outbox.cut(answer)
        elif (item := outbox.take()) is not None and not isinstance(item, str):
            taken += item.ms if isinstance(item, Audio) else 0
            noted += item.ms if isinstance(item, Gap) else 0
        sound = [i.ms for i in outbox._items if isinstance(i, Audio)]
        assert sum(sound) <= MS
        assert len(outbox) <= EVENTS + len(sound) + 3 * (EVENTS + 1)
    for item in everything(outbox):
        taken += item.ms if isinstance(item, Audio) else 0
        noted += item.ms if isinstance(item, Gap) else 0
    assert taken + noted + cut == pytest.approx(put)
