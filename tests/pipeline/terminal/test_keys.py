"""Bytes of a terminal, in any portions, to keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.terminal.keys import Key, KeyReader

M, T, STOP, Q = Key.MUTE, Key.TALK, Key.INTERRUPT, Key.QUIT


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"m iq", [M, T, STOP, Q]),
        (b"MIQ", [M, STOP, Q]),
        (b"\x03", [Q]),
        (b"\x04", [Q]),
        (b"xyz123\r\n\t\x7f", []),
        ("ümïq".encode(), [M, Q]),
        (b"\x1b[A\x1b[D", []),  # arrows
        (b"\x1bOPm", [M]),  # F1
        (b"\x1b[15~q", [Q]),  # F5
        (b"\x1b[1;5Ci", [STOP]),  # Ctrl and an arrow
        (b"\x1bmq", [Q]),  # Alt and m
        (b"\x1b\x1b[A", [STOP]),  # escape, then an arrow
        (
            b"\x1b[200~mute? i quit\x1b[201~",
            [M, T, STOP, T, Q, STOP],
        ),  # pasted: as if it were typed
    ],
)
def test_what_it_knows_and_what_it_skips(data: bytes, keys: list[Key]) -> None:
    assert KeyReader().feed(data) == keys


def test_escape_alone_is_a_key_once_nothing_has_followed() -> None:
    reader = KeyReader()
    assert reader.feed(b"\x1b") == []
    assert reader.is_open
    assert reader.settle() == [STOP]
    assert not reader.is_open
    assert reader.settle() == []


def test_half_a_sequence_is_none_and_ends() -> None:
    reader = KeyReader()
    assert reader.feed(b"\x1b[1") == []
    assert reader.settle() == []
    assert reader.feed(b"q") == [Q]


@given(st.lists(st.sampled_from([b"m", b" ", b"q", b"\x1b[A", b"\x1bOP", b"\x1bx"])), st.data())
def test_portions_make_no_difference(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    reader = KeyReader()
    keys = []
    for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        keys += reader.feed(whole[start:stop])
    assert keys == KeyReader().feed(whole)
    assert not reader.is_open


@given(st.binary(max_size=200))
def test_no_bytes_break_it(data: bytes) -> None:
    reader = KeyReader()
    reader.feed(data)
    reader.settle()
    assert reader.feed(b"q") == [Q]
