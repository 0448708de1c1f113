"""What is said only to show that one listens."""

import pytest

from pipeline.config import TurnConfig
from stages.asr.backchannels import Backchannels

ENGLISH = Backchannels(TurnConfig().backchannels)


@pytest.mark.parametrize(
    "text",
    [
        "Uh-huh.",
        "uh huh",
        "Okay, okay.",
        "Mm-hmm.",
        "Yeah, right.",
        "I see.",
        "Okay. I see!",
        "OK",
        "MMM.",
        "M.H.N.",
        "Mm-mm-",
    ],
)
def test_backchannels(text: str) -> None:
    assert ENGLISH.match(text.split())


@pytest.mark.parametrize(
    "text", ["Okay, but why?", "I see a dog.", "Stop.", "No.", "Right now.", "What?", "I"]
)
def test_words(text: str) -> None:
    assert not ENGLISH.match(text.split())


def test_other_languages_bring_their_own() -> None:
    german = Backchannels(["ach so", "genau", ""])
    assert german.match(["Genau,", "ach", "so."])
    assert not german.match(["okay"])
    assert not Backchannels([]).match(["okay"])


RULE = Backchannels(["okay"], ["stop", "hold on"], unsure_below=-0.95)


@pytest.mark.parametrize(
    ("words", "avg_logprob", "sound_s", "is_hum"),
    [
        ("In a moment.", -1.06, 0.8, True),  # Whisper's words for "mm-hmm"
        ("In a moment.", -0.4, 0.8, False),  # it is sure: somebody said so
        ("In a moment.", -1.06, 1.3, False),  # too long for a hum
        ("Stop", -1.2, 0.8, False),  # known to be meant
        ("Hold on!", -1.2, 0.8, False),
        ("Get a dog or", -1.1, 1.0, False),  # more than a hum is ever spelled: a damaged question
    ],
)
def test_words_made_of_a_hum(words: str, avg_logprob: float, sound_s: float, is_hum: bool) -> None:
    assert RULE.is_hum(words.split(), avg_logprob, sound_s) is is_hum


def test_without_phrases_every_sound_with_words_is_meant() -> None:
    assert not Backchannels([], [], unsure_below=-0.95).is_hum(["them"], -2.0, 0.5)
