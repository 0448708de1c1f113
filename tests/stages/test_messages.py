"""Small messages come out as they went in."""

import pytest

from stages.messages import (
    Caption,
    CaptionKind,
    Command,
    CommandAt,
    End,
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
        End(LAST, 2**24 - 1, Status.FAILED),
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


def test_a_caption_says_how_long_its_header_is():
    assert len(Caption(CaptionKind.CLIP).pack()) == Caption.HEADER
