from collections.abc import Iterator

import numpy as np

from pipeline.tokenizer import ByteVocabulary
from stages.tts.clauses import ClauseRules
from stages.tts.clausewise import ClausewiseUtterance, Piece
from stages.tts.front import Front
from stages.tts.sound import Rests
from stages.tts.utterance import Sound


class Letters:
    """A voice with one sample a character, which notes what it was asked to say."""

    rate = 1000

    def __init__(self) -> None:
        self.said: list[str] = []

    def pieces(self, text: str) -> Iterator[Piece]:
        self.said.append(text)
        if text == "long.":
            yield np.zeros(30, np.int16), False
        if text != "mute.":
            yield np.zeros(len(text), np.int16), True


def speak(text: str, *, complete: bool = True) -> tuple[list[str], list[Sound]]:
    voice = Letters()
    utterance = ClausewiseUtterance(
        Front(ByteVocabulary()), voice, ClauseRules(), Rests(sentence=0.25, phrase=0.1, word=0.0)
    )
    sounds = []
    for position, id in enumerate(text.encode()):
        utterance.feed(id, position)
        while sound := utterance.more():
            sounds.append(sound)
    utterance.end(complete=complete)
    while sound := utterance.more():
        sounds.append(sound)
    assert utterance.more() is None
    return voice.said, sounds


def test_a_clause_is_spoken_before_the_reply_is_complete() -> None:
    utterance = ClausewiseUtterance(Front(ByteVocabulary()), Letters(), ClauseRules(), Rests())
    for position, id in enumerate(b"Hello there. H"):
        assert utterance.more() is None
        utterance.feed(id, position)
    sound = utterance.more()
    assert sound
    assert sound.position == 11


def test_sounds_rest_by_their_ending_and_not_at_the_end() -> None:
    said, sounds = speak("I say yes, sir. The end.")
    assert said == ["I say yes,", "sir.", "The end."]
    assert [len(sound.samples) for sound in sounds] == [10, 100, 4, 250, 8]
    assert [sound.position for sound in sounds] == [9, 9, 14, 14, 23]


def test_what_cannot_be_said_is_passed_over() -> None:
    said, sounds = speak("🙂\nOne.\n...\nmute.\nTwo.")
    assert said == ["One.", "mute.", "Two."]
    assert [len(sound.samples) for sound in sounds] == [4, 250, 4]


def test_an_incomplete_reply_ends_after_its_last_whole_clause() -> None:
    said, _ = speak("One. I was cut o", complete=False)
    assert said == ["One."]


def test_text_held_back_as_a_tag_is_said_at_the_end() -> None:
    assert speak("it is 1 <th")[0] == ["it is one th"]


def test_thoughts_are_not_said() -> None:
    assert speak("<think>First. Second.</think>\n\nHi.")[0] == ["Hi."]
    assert speak("<think>First. Second.")[0] == []


def test_a_broken_tail_is_dropped() -> None:
    vocabulary = ByteVocabulary()
    utterance = ClausewiseUtterance(Front(vocabulary), voice := Letters(), ClauseRules(), Rests())
    for position, id in enumerate([*b"Hi", 0xF0, 0x9F]):
        utterance.feed(id, position)
    utterance.end(complete=True)
    assert utterance.more()
    assert voice.said == ["Hi"]


def test_a_clause_in_pieces_is_voiced_with_its_last() -> None:
    _, sounds = speak("Yes? long. End.")
    assert [len(sound.samples) for sound in sounds] == [4, 250, 30, 5, 250, 4]
    assert [sound.position for sound in sounds] == [3, 3, 3, 9, 9, 14]
