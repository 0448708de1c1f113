"""Small messages come out as they went in."""

import pytest

from stages.messages import (
    Caption,
    CaptionKind,
    Command,
    CommandAt,
    DeviceState,
    End,
    Levels,
    Played,
    PlayOrder,
    Status,
    Words,
)

LAST = 2**32 - 1


@pytest.mark.parametrize(
    "message",
    [
        *(CommandAt(command, sample) for command in Command for sample in (0, 2**62)),
        *Command,
        End(LAST, 2**24 - 1, Status.FAILED),
        Levels(-100.0, -0.0),
        Levels(-33.33, -6.02),
        DeviceState(True, 2**24 - 1, 2**16 - 1, 102.3, 1023),
        DeviceState(False, 1, 0, 12.5, 0),
        *(
            Played(LAST, 2**30 - 1, final, failed)
            for final in (False, True)
            for failed in (False, True)
        ),
        Played(0, 1, final=False),
        Words(LAST, 1, 2, Status.EMPTY),
        Caption(CaptionKind.ERROR, LAST, 1, 2, b"text"),
        PlayOrder("a.wav", 0.5, "b.wav"),
    ],
    ids=str,
)
def test_round_trip(message):
    assert type(message).unpack(message.pack()) == message


def test_levels_beyond_the_scale_stay_on_it():
    assert Levels.unpack(Levels(3.0, -180.0).pack()) == Levels(0.0, Levels.SILENT)
    assert Levels.unpack(0) == Levels()


def test_counts_of_a_device_that_grow_too_large_stay_there():
    state = DeviceState(True, xruns=2**30, corrections=2**20, echo_loss_db=-3.0, latency_ms=5000)
    assert DeviceState.unpack(state.pack()) == DeviceState(True, 2**24 - 1, 2**16 - 1, 0.0, 1023)


def test_a_caption_says_how_long_its_header_is():
    assert len(Caption(CaptionKind.CLIP).pack()) == Caption.HEADER
