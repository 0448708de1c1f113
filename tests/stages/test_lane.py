"""What a stage tells the client, and numbers that wrap around."""

import numpy as np
import pytest

from stages.lane import cut_text, is_newer
from stages.messages import Caption, CaptionKind
from stages.topology import CAPTION_BYTES


def test_an_error_of_any_length_is_told(make_lane):
    control, lane = make_lane("control"), make_lane("llm")
    ring = control._lane.command("captions_llm")
    for text in ("x" * 200_000, "é" * 100_000, "a lone \udcff surrogate", ""):
        lane.caption(CaptionKind.ERROR, text=text)
        (message,) = ring.read()
        assert text.encode(errors="replace").startswith(Caption.unpack(message).payload)
        assert len(message) >= min(len(text), CAPTION_BYTES - 16)


def test_ids_of_any_number_are_told_whole_as_far_as_they_fit(make_lane):
    control, lane = make_lane("control"), make_lane("asr")
    ids = np.arange(30_000, dtype=np.int32)
    lane.caption(CaptionKind.HEARD, ids=ids)
    (message,) = control._lane.command("captions_asr").read()
    told = np.frombuffer(Caption.unpack(message).payload, "<i4")
    assert 16_000 < len(told) < CAPTION_BYTES // 4
    np.testing.assert_array_equal(told, ids[: len(told)])


def test_a_client_that_does_not_read_stops_nobody(make_lane):
    lane = make_lane("tts")
    for _ in range(10):
        lane.caption(CaptionKind.ERROR, text="x" * 40_000)
    assert lane._lane.command("captions_tts").dropped == 9


@pytest.mark.parametrize(("most", "expected"), [(0, ""), (1, ""), (2, "é"), (3, "é"), (9, "éé")])
def test_text_is_cut_between_characters(most, expected):
    assert cut_text("éé", most).decode() == expected


def test_newer_is_so_across_the_wrap_around():
    assert is_newer(0, 2**32 - 1)
    assert not is_newer(2**32 - 1, 0)
    assert not is_newer(7, 7)
