from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from stages.asr.guards import (
    Decode,
    checked,
    guarded,
    loop,
    most_ids,
    restart,
    without_loop,
    without_restart,
)
from stages.asr.window import FULL, RATE

SHORT = 8 * RATE
CARS = " How many cars are there in the picture?"


def spell(ids: Sequence[int]) -> str:
    """An id is a character of text here."""
    return "".join(map(chr, ids))


def decode(
    text: str, logprob: float = -0.1, no_speech: float = 0.0, capped: bool = False
) -> Decode:
    return Decode(tuple(map(ord, text)), text, logprob, no_speech, "en", SHORT, capped)


def answers(*decodes: Decode) -> tuple[Callable[[int], Decode], list[int]]:
    """A decoder that gives these answers, and the windows it was asked for."""
    left, asked = list(decodes), []

    def give(window: int) -> Decode:
        asked.append(window)
        return replace(left.pop(0), window=window)

    return give, asked


def test_a_sure_answer_is_taken() -> None:
    give, asked = answers(decode(CARS))
    assert guarded(give, spell, SHORT, 2.6).text == CARS
    assert asked == [SHORT]


@pytest.mark.parametrize(
    "doubtful",
    [
        decode(" how", logprob=-1.2),
        decode(" how many", capped=True),
        decode(" one two" * 9),
    ],
)
def test_a_doubtful_answer_is_asked_again_in_longer_windows(doubtful: Decode) -> None:
    give, asked = answers(doubtful, decode(CARS))
    assert guarded(give, spell, SHORT, 2.6).text == CARS
    assert asked == [SHORT, 16 * RATE]
    give, asked = answers(doubtful, doubtful, decode(CARS))
    assert guarded(give, spell, SHORT, 2.6).text == CARS
    assert asked == [SHORT, 16 * RATE, FULL]
    give, asked = answers(doubtful, decode(CARS))
    assert guarded(give, spell, 16 * RATE, 2.6).text == CARS
    assert asked == [16 * RATE, FULL]


def test_the_surer_of_two_doubtful_answers_is_taken() -> None:
    unsure = decode(" who", logprob=-1.5)
    give, _ = answers(unsure, decode(" how", logprob=-1.2), unsure)
    assert guarded(give, spell, SHORT, 2.6).text == " how"


def test_silence_is_not_asked_again() -> None:
    give, asked = answers(decode(" you", logprob=-2.0, no_speech=0.8))
    assert guarded(give, spell, SHORT, 0.1).silent
    assert asked == [SHORT]


def test_silence_in_the_full_window_is_silence() -> None:
    give, _ = answers(*[decode(" you", -1.1, 0.5)] * 2, decode(" You", -1.3, 0.9))
    assert guarded(give, spell, SHORT, 0.1).silent


def test_nothing_is_asked_beyond_the_full_window() -> None:
    give, asked = answers(decode(" how", logprob=-1.2))
    guarded(give, spell, FULL, 2.6)
    assert asked == [FULL]


@pytest.mark.parametrize("no_speech", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("logprob", [-0.5, -1.5])
def test_one_strong_doubt_or_both_make_silence(no_speech: float, logprob: float) -> None:
    silent = no_speech > 0.8 or (no_speech > 0.6 and logprob < -1)
    assert decode("x", logprob, no_speech).silent == silent


def test_a_sentence_begun_again_is_cut_and_needs_no_second_decode() -> None:
    give, asked = answers(decode(CARS + CARS + " How many", capped=True))
    result = guarded(give, spell, SHORT, 2.6)
    assert (result.text, result.ids) == (CARS, tuple(map(ord, CARS)))
    assert asked == [SHORT]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (CARS + CARS, CARS),
        (CARS + CARS + CARS, CARS),
        (" Is it safe to swim? Is it safe to", " Is it safe to swim?"),
        (" in being modern. In being modern. In", " in being modern."),
        (" So. How many cars are there? How many cars", " So. How many cars are there?"),
        (" Hi. I see two cars! Hi. I see two cars!", " Hi. I see two cars!"),
        ("今天天气真的很好。今天天气真的", "今天天气真的很好。"),
    ],
)
def test_a_sentence_begun_again_is_found(text: str, kept: str) -> None:
    cut = restart(text, 1.3)
    assert cut is not None
    assert text[:cut] == kept


@pytest.mark.parametrize(
    ("text", "voiced_s"),
    [
        (CARS, 2.6),
        (" No. No.", 0.8),
        (" How are you? How are you?", 2.2),
        (" Is it safe? Is it clean?", 1.0),
        (" I paid 3.50 and 3.50 dollars", 1.0),
        (" I saw it. I saw it yesterday, and it was good.", 2.0),
        ("", 0.0),
    ],
)
def test_what_can_have_been_said_twice_stays(text: str, voiced_s: float) -> None:
    assert restart(text, voiced_s) is None
    assert without_restart(decode(text), spell, voiced_s).text == text


@pytest.mark.parametrize(
    ("ids", "end"),
    [
        ([], None),
        ([1, 2, 3], None),
        ([5, 5, 5, 5], None),  # "no, no" said fast
        ([5] * 9, 1),
        ([7, 1, 2] + [1, 2] * 4, 3),
        ([1, 2] * 4 + [9], None),  # it went on
        ([8, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2], 5),
    ],
)
def test_loops_are_found_at_the_end(ids: list[int], end: int | None) -> None:
    assert loop(ids) == end


def test_a_loop_is_cut_only_where_the_decoder_was_lost() -> None:
    laughing = decode(" ha" * 9)
    assert without_loop(laughing, spell) == laughing
    assert without_loop(replace(laughing, capped=True), spell).text == " ha"
    assert without_loop(replace(laughing, avg_logprob=-1.4), spell).text == " ha"


def test_the_cap_grows_with_the_sound() -> None:
    assert most_ids(0) == 16
    assert most_ids(2 * RATE) == 32


def test_a_sentence_that_was_left_out_is_asked_for_again() -> None:
    give, asked = answers(decode(" in being modern"), decode(CARS))
    assert guarded(give, spell, SHORT, 4.0).text == CARS
    assert asked[:2] == [SHORT, 16 * RATE]


@pytest.mark.parametrize(
    ("text", "voiced_s", "sparse"),
    [
        (CARS, 2.6, False),
        (CARS, 8.0, True),
        (" Yes.", 2.9, False),
        (" Yes.", 3.1, True),
        ("今天天气真好我们出去走走吧", 3.2, False),
    ],
)
def test_how_few_words_are_too_few(text: str, voiced_s: float, sparse: bool) -> None:
    assert checked(decode(text), spell, voiced_s).sparse is sparse
