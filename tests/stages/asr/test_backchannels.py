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
