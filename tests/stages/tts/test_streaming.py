import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.tokenizer import ByteVocabulary
from stages.tts.front import Front
from stages.tts.pace import SECOND
from stages.tts.sound import Rests
from stages.tts.streaming import StreamingUtterance, StreamRules
from stages.tts.utterance import Sound
from tests.stages.tts.letters import FRAMES, HOP, RATE, LetterVoice

PHONEME = HOP * FRAMES  # samples
REST = round(0.25 * RATE)


class Rig:
    """An utterance, its voice and a clock."""

    def __init__(self, **rules: float) -> None:
        rules = {"least_frames": 1, "urgent_s": 0.0, **rules}
        self.voice = LetterVoice()
        self.time = 0
        self.utterance = StreamingUtterance(
            Front(ByteVocabulary()),
            self.voice,
            StreamRules(**rules),  # type: ignore[arg-type]
            Rests(),
            lambda: self.time,
        )
        self.fed = 0
        self.sounds: list[Sound] = []

    def feed(self, text: str) -> None:
        for id in text.encode():
            self.utterance.feed(id, self.fed)
            self.fed += 1

    def run(self) -> list[Sound]:
        """All that can be said now."""
        new = []
        while sound := self.utterance.more():
            new.append(sound)
        self.sounds += new
        return new

    def end(self, *, complete: bool = True) -> None:
        self.utterance.end(complete=complete)
        self.run()

    @property
    def looks(self) -> list[str]:
        return self.voice.graphs.looks

    @property
    def samples(self) -> np.ndarray:
        return np.concatenate([np.zeros(0, np.int16), *(sound.samples for sound in self.sounds)])


def at_once(text: str) -> np.ndarray:
    rig = Rig()
    rig.feed(text)
    rig.end()
    return rig.samples


@pytest.mark.parametrize("text", ["aa bb cc dd", "aa. bb", "a", "*** aa bb cc dd", ""])
def test_it_is_ready_at_the_id_that_lets_it_speak(text: str) -> None:
    rig = Rig()
    for char in text:
        rig.feed(char)
        ready, looks = rig.utterance.is_ready, len(rig.looks)
        if rig.run():
            assert ready
            return
        assert ready is False or len(rig.looks) > looks, "the voice was asked, and had too little"
    rig.utterance.end(complete=True)
    ready = rig.utterance.is_ready
    assert bool(rig.run()) <= ready


def test_a_word_is_said_when_two_more_are_known() -> None:
    rig = Rig()
    rig.feed("aa bb cc")
    assert rig.run() == []
    assert rig.looks == []
    rig.feed(" ")
    rig.run()
    assert rig.looks == ["aa bb cc"]
    # the end of it waits: the decoder looks a frame ahead, and a fade may follow
    assert rig.sounds[-1].position == -1
    assert PHONEME <= len(rig.samples) <= 3 * PHONEME
    rig.feed("dd ")
    rig.run()
    assert rig.sounds[-1].position == 1


def test_a_short_first_word_takes_the_next_along() -> None:
    rig = Rig(least_frames=4)
    rig.feed("a b ccc dd ")
    rig.run()
    assert len(rig.looks) == 1
    # "a" alone gives 3 frames that can be decoded; with "b" there are 7, and one to the right
    assert rig.voice.graphs.decoded == [8]


def test_a_comma_needs_no_lookahead() -> None:
    rig = Rig()
    rig.feed("aa bb, ")
    rig.run()
    assert rig.sounds[-1].position == 1
    assert rig.looks == ["aa bb,"]


def test_a_sentence_is_said_to_its_end_as_soon_as_that_is_known() -> None:
    rig = Rig()
    rig.feed("Is it? ")
    rig.run()
    assert rig.sounds[-1].position == 5
    assert np.array_equal(rig.samples, at_once("Is it?"))


def test_the_end_of_the_reply_is_the_end_of_its_sentence() -> None:
    rig = Rig()
    rig.feed("aa bb")
    assert rig.run() == []
    rig.end()
    assert rig.sounds[-1].position == 4
    assert rig.utterance.more() is None
    assert rig.utterance.due is None


def test_the_voice_rests_between_sentences_and_not_at_the_end() -> None:
    one, two = at_once("Aa."), at_once("Bb.")
    whole = at_once("Aa. Bb.")
    assert np.array_equal(whole, np.concatenate([one, np.zeros(REST, np.int16), two]))


def test_each_piece_carries_the_last_id_that_it_voices() -> None:
    rig = Rig(most_frames=8, first_frames=4)
    rig.feed("aaa b cc, dd ee.")
    rig.end()
    # The sound begins with the last 10 ms before the first letter; each takes 80 samples.
    ends = {2: 3, 4: 5, 8: 9, 11: 12}
    at = 0
    for sound in rig.sounds[:-1]:
        at += len(sound.samples)
        said = [position for position, letters in ends.items() if letters * PHONEME + 80 <= at]
        assert sound.position == max(said, default=-1)
    assert rig.sounds[-1].position == 15


def test_pieces_grow() -> None:
    rig = Rig(first_frames=4, most_frames=16)
    rig.feed("abcdefghijklmnopqrstuvwxyz? ")
    rig.run()
    assert [width - 2 for width in rig.voice.graphs.decoded][:4] == [3, 10, 16, 16]


def test_a_voice_that_is_ahead_waits_for_more_words() -> None:
    rig = Rig(reserve_s=0.01, fresh_words=3, first_frames=4)
    rig.feed("aaaa bbbb cc ")
    rig.run()
    looks = len(rig.looks)
    rig.feed("dd ")
    assert rig.run() == []
    assert len(rig.looks) == looks
    assert rig.utterance.due is not None
    rig.time = rig.utterance.due
    assert rig.run()
    assert len(rig.looks) == looks + 1


def test_a_listener_about_to_run_dry_hears_a_word_with_one_behind_it() -> None:
    rig = Rig(urgent_s=0.01, first_frames=4)
    rig.feed("aaaa bbbb cc ")
    rig.run()
    looks = len(rig.looks)
    assert rig.utterance.due is not None
    rig.time = rig.utterance.due
    assert rig.run()
    assert len(rig.looks) == looks + 1
    assert rig.utterance.due is None, "the last word that is known is never said"


def test_before_the_first_sound_nothing_is_urgent() -> None:
    rig = Rig(urgent_s=9.0)
    rig.feed("aa bb ")
    assert rig.run() == []
    assert rig.utterance.due is None


def test_with_enough_new_words_it_waits_no_longer() -> None:
    rig = Rig(reserve_s=0.001, fresh_words=2, first_frames=4)
    rig.feed("aaaa bbbb cc ")
    rig.run()
    rig.feed("dd ee ")
    assert rig.run()


@pytest.mark.parametrize("text", ["", "...", "🙂", "?!", "\n\n", "<think>aa bb cc dd</think>"])
def test_of_nothing_nothing_is_said(text: str) -> None:
    rig = Rig()
    rig.feed(text)
    rig.end()
    assert rig.sounds == []
    assert rig.looks == []


def test_an_incomplete_reply_ends_with_its_last_whole_word() -> None:
    rig = Rig()
    rig.feed("aa bb c")
    rig.end(complete=False)
    assert rig.sounds[-1].position == 4
    assert np.array_equal(rig.samples, at_once("aa bb"))


def test_a_broken_tail_is_dropped() -> None:
    rig = Rig()
    rig.feed("aa")
    for id in (0xF0, 0x9F):
        rig.utterance.feed(id, rig.fed)
    rig.end()
    assert np.array_equal(rig.samples, at_once("aa"))


@pytest.mark.parametrize("text", ["a,,", "aa,bb,cc", "きょうはとてもいい", "ab" * 90])
def test_a_word_that_was_cut_without_a_space_is_not_lost_in_the_one_before(text: str) -> None:
    rig = Rig(urgent_s=0.02)
    for char in text:
        rig.feed(char)
        rig.run()
    rig.end()
    assert np.array_equal(rig.samples, at_once(text))


TEXT = st.text(st.sampled_from("ab c,.?\n d"), max_size=60)


@settings(max_examples=80)
@given(TEXT, st.lists(st.tuples(st.integers(1, 20), st.integers(0, SECOND // 4)), max_size=40))
def test_whenever_ids_come_the_same_is_said(text: str, steps: list[tuple[int, int]]) -> None:
    rig, at = Rig(first_frames=2, most_frames=8, urgent_s=0.02), 0
    for count, pause in steps:
        rig.feed(text[at : at + count])
        at += count
        rig.run()
        rig.time += pause
        if rig.utterance.due is not None and rig.utterance.due <= rig.time:
            rig.run()
    rig.feed(text[at:])
    rig.end()
    positions = [sound.position for sound in rig.sounds]
    assert positions == sorted(positions)
    assert np.array_equal(rig.samples, at_once(text))
