from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from stages.audio.playback import SECOND, Fact, Gate, Playback
from stages.messages import End, Played, Status

MS = 1_000_000
RATE = 16_000


@dataclass
class Block:
    samples: np.ndarray
    answer: int = 1
    position: int = 1
    stamp: int = 0
    rate: int = RATE


class Voice:
    def __init__(self, *blocks):
        self.blocks = deque(blocks)

    def peek(self):
        return self.blocks[0] if self.blocks else None

    def drop(self, count=1):
        for _ in range(count):
            self.blocks.popleft()


def loud(ms, rate=RATE):
    return np.full(ms * rate // 1000, 1000, np.int16)


def silent(ms, rate=RATE):
    return np.zeros(ms * rate // 1000, np.int16)


def block(ms=20, **fields):
    return Block(loud(ms, fields.get("rate", RATE)), **fields)


def gate(answer=1, released=None, hold=False, end=None, status=Status.OK):
    ended = End(12345, 0, Status.OK) if end is None else End(answer, end, status)
    return Gate(answer, answer if released is None else released, hold, ended)


class Player:
    """Steps a playback and keeps all that it did."""

    def __init__(self, *blocks):
        self.voice = Voice(*blocks)
        self.playback = Playback()
        self.spans, self.facts, self.words = [], [], []

    def step(self, ms, **words):
        tick = self.playback.step(round(ms * MS), gate(**words), self.voice)
        self.spans += tick.spans
        self.facts += tick.facts
        if tick.played is not None:
            self.words.append(tick.played)
        return tick

    def heard_ms(self, answer=1):
        return sum(s.samples.size * 1000 / s.rate for s in self.spans if s.answer == answer)

    def told(self):
        return [(fact.fact, fact.at / MS, fact.value / MS) for fact in self.facts]


def told(position, **fields):
    """What an answer in text is: a block without sound."""
    return Block(np.empty(0, np.int16), position=position, **fields)


def test_an_answer_in_text_is_told_without_sound():
    player = Player(told(2), told(5))
    player.step(0, end=2)
    assert player.spans == []
    assert player.facts == []
    assert player.words == [Played(1, 5, final=True)]


def test_an_answer_in_text_that_is_cut_says_how_far_it_was_told():
    player = Player(told(2))
    player.step(0)
    player.step(10, answer=2, released=1)
    assert player.words == [Played(1, 2, final=False), Played(1, 2, final=True)]


def test_nothing_plays_before_its_release():
    player = Player(block())
    player.step(0, released=0)
    player.step(100, released=0)
    assert (player.spans, player.facts, player.words) == ([], [], [])
    assert len(player.voice.blocks) == 1


def test_the_first_block_sounds_at_the_instant_of_its_release():
    player = Player(block())
    player.step(0, released=0)
    player.step(100)
    assert player.told() == [(Fact.STARTED, 100, 0)]
    player.step(110)
    assert player.heard_ms() == 10
    assert player.told()[1:] == [(Fact.AUDIBLE, 100, 0)]


def test_a_block_that_comes_after_the_release_sounds_when_it_comes():
    player = Player()
    player.step(0)
    player.voice.blocks.append(block(stamp=37 * MS))
    player.step(40)
    assert player.told() == [(Fact.STARTED, 37, 0)]
    assert player.heard_ms() == 3


def test_an_answer_plays_to_its_end():
    player = Player(block(position=3), block(position=6))
    for ms in range(0, 60, 20):
        player.step(ms, end=2)
    assert player.heard_ms() == 40
    assert player.words == [Played(1, 0, False), Played(1, 3, False), Played(1, 6, True)]
    assert player.told() == [
        (Fact.STARTED, 0, 0),
        (Fact.AUDIBLE, 0, 0),
        (Fact.ENDED, 40, 0),
    ]


def test_a_step_that_comes_late_changes_no_time():
    player = Player(block(), block(), block())
    player.step(0, end=3)
    player.step(500, end=3)
    assert player.told()[-1] == (Fact.ENDED, 60, 0)
    assert [span.at / MS for span in player.spans] == [0, 20, 40]


def test_position_counts_only_what_was_heard_to_its_end():
    player = Player(block(position=5), block(position=10))
    player.step(0)
    player.step(39)
    assert player.words[-1] == Played(1, 5, False)


def test_it_becomes_audible_inside_a_block():
    player = Player(Block(np.concatenate((silent(13), loud(17)))))
    player.step(0)
    player.step(30)
    assert player.told()[1] == (Fact.AUDIBLE, 10, 0)


def test_it_becomes_audible_across_blocks():
    player = Player(Block(silent(15)), Block(silent(15)), block())
    player.step(0)
    player.step(60)
    assert player.told()[1] == (Fact.AUDIBLE, 30, 0)


def test_an_answer_of_silence_is_never_audible():
    player = Player(Block(silent(20)))
    player.step(0, end=1)
    player.step(20, end=1)
    assert [fact.fact for fact in player.facts] == [Fact.STARTED, Fact.ENDED]


def test_an_underrun_is_counted_with_its_length_and_the_clock_starts_again():
    player = Player(block())
    player.step(0)
    player.step(20)
    player.step(40)
    player.voice.blocks.append(block(stamp=50 * MS))
    player.step(60, end=2)
    assert player.told()[-1] == (Fact.UNDERRUN, 20, 30)
    player.step(80, end=2)
    assert player.told()[-1] == (Fact.ENDED, 70, 0)
    assert [(span.at / MS, span.pause_ns / MS) for span in player.spans] == [
        (0, 0),
        (50, 30),
        (60, 0),
    ]


def test_a_step_that_comes_late_is_no_underrun():
    player = Player(block())
    player.step(0)
    player.voice.blocks.append(block(stamp=19 * MS))
    player.step(200, end=2)
    assert Fact.UNDERRUN not in [fact.fact for fact in player.facts]
    assert player.told()[-1] == (Fact.ENDED, 40, 0)


def test_an_end_that_is_known_late_is_no_underrun():
    player = Player(block())
    player.step(0)
    player.step(100)
    player.step(120, end=1)
    assert player.told()[-1] == (Fact.ENDED, 20, 0)
    assert Fact.UNDERRUN not in [fact.fact for fact in player.facts]


def test_an_answer_that_starves_until_it_is_stale_had_an_underrun():
    player = Player(block())
    player.step(0)
    player.step(20)
    player.step(70, answer=2, released=1)
    assert player.told()[-2:] == [(Fact.UNDERRUN, 20, 50), (Fact.CUT, 20, 0)]


def test_hold_pauses_in_mid_block_and_the_voice_goes_on_where_it_was():
    player = Player(block(), block())
    player.step(0, end=2)
    player.step(10, end=2)
    player.step(15, hold=True, end=2)
    player.step(115, hold=True, end=2)
    assert player.heard_ms() == 10
    player.step(120, end=2)
    player.step(150, end=2)
    assert player.heard_ms() == 40
    assert player.told()[-1] == (Fact.ENDED, 150, 0)
    assert Fact.UNDERRUN not in [fact.fact for fact in player.facts]
    assert player.spans[1].pause_ns == 110 * MS


def test_a_stale_answer_is_dropped_without_sound_and_final():
    player = Player(block(position=2), block(position=3), block(answer=2))
    player.step(0)
    player.step(25)
    tick = player.step(30, answer=2, released=1)
    assert tick.again
    assert player.words[-1] == Played(1, 2, True)
    assert player.told()[-1] == (Fact.CUT, 25, 0)
    assert [b.answer for b in player.voice.blocks] == [2]
    player.step(60, answer=2)
    player.step(80, answer=2, end=1)
    assert (player.heard_ms(1), player.heard_ms(2)) == (25, 20)
    assert player.words[-1] == Played(2, 1, True)


def test_the_word_of_the_old_answer_is_not_covered_by_that_of_the_new_one():
    player = Player(block())
    player.step(0)
    player.voice.blocks.append(block(answer=2, stamp=10 * MS))
    assert player.step(50, answer=2).played == Played(1, 0, True)
    assert player.step(50, answer=2).played == Played(2, 0, False)


def test_of_an_answer_that_was_never_heard_nothing_is_said():
    """The word on the one before it must stay: its reader may not have come to it yet."""
    player = Player(block(position=4), block(answer=2), block(answer=3))
    player.step(0, end=1)
    player.step(20, end=1)
    player.step(40, answer=2, released=1)
    player.step(60, answer=3, released=2)
    player.step(80, answer=4, released=4)
    assert player.words[-1] == Played(1, 4, True)
    assert player.told()[-1][0] is Fact.ENDED


def test_an_end_that_came_with_the_next_answer_still_counts():
    player = Player(block())
    player.step(0)
    player.step(20)
    tick = player.playback.step(60 * MS, Gate(2, 1, False, End(1, 1, Status.OK)), player.voice)
    assert [fact.fact for fact in tick.facts] == [Fact.ENDED]
    assert tick.played == Played(1, 1, True)


def test_blocks_of_an_answer_newer_than_the_word_wait():
    player = Player(block(answer=2))
    player.step(0, answer=1)
    player.step(20, answer=1)
    assert len(player.voice.blocks) == 1
    player.step(40, answer=2)
    player.step(60, answer=2)
    assert player.heard_ms(2) == 20


def test_numbers_wrap_around():
    last = 2**32 - 1
    player = Player(block(answer=last), block(answer=0))
    player.step(0, answer=last)
    for ms in (10, 20, 50):
        player.step(ms, answer=0, end=1)
    assert (player.heard_ms(last), player.heard_ms(0)) == (0, 20)


@pytest.mark.parametrize("status", [Status.EMPTY, Status.FAILED])
def test_an_answer_without_sound_is_final_once_it_is_released(status):
    player = Player()
    player.step(0, released=0, end=0, status=status)
    assert player.words == []
    player.step(20, end=0, status=status)
    assert player.words == [Played(1, 0, True)]
    assert player.facts == []
    player.step(40, end=0, status=status)
    assert len(player.words) == 1


def test_the_answer_of_the_session_before_is_over():
    player = Player(block(answer=7), block(answer=8, stamp=20 * MS))
    player.playback = Playback(7)
    player.step(0, answer=7, end=3)
    assert (player.words, len(player.voice.blocks)) == ([], 1)
    player.step(20, answer=8)
    player.step(40, answer=8)
    assert player.words == [Played(8, 0, False), Played(8, 1, False)]


def test_a_block_without_sound_moves_the_position():
    player = Player(Block(silent(0), position=4))
    player.step(0, end=1)
    assert player.words == [Played(1, 4, True)]


def test_the_rate_may_change():
    player = Player(block(rate=22_050), block(rate=48_000))
    player.step(0, end=2)
    player.step(100, end=2)
    assert player.told()[-1][1] == pytest.approx(40, abs=0.1)


def test_given_up_the_rest_of_the_answer_is_dropped():
    player = Player(block(), block())
    player.step(0)
    player.step(20)
    assert player.playback.give_up() == Played(1, 1, True, failed=True)
    assert player.playback.give_up() is None
    player.step(40)
    assert (player.heard_ms(), len(player.voice.blocks)) == (20, 0)
    player.step(60, answer=2)
    assert player.words == [Played(1, 0, False), Played(1, 1, False)]


def test_turn_three_is_like_turn_one_after_a_stop_in_turn_two():
    player = Player()
    played = []
    for turn, start in ((1, 0), (2, 1000), (3, 2000)):
        for _ in range(5):
            player.voice.blocks.append(block(answer=turn, stamp=start * MS, position=8))
        for ms in range(start, start + 500, 20):
            if turn == 2 and ms >= start + 40:
                player.step(ms, answer=turn, hold=True, end=5)
            else:
                player.step(ms, answer=turn, end=5)
        played.append(player.heard_ms(turn))
    assert played == [100, 20, 100]
    assert player.words[-1] == Played(3, 8, True)


def test_it_keeps_pace_over_a_long_answer():
    blocks = [Block(np.ones(441, np.int16), rate=22_050) for _ in range(5000)]
    player = Player(*blocks)
    for ms in range(0, 100_020, 20):
        player.step(ms, end=5000)
    assert player.told()[-1] == (Fact.ENDED, 100_000, 0)
    assert sum(span.samples.size for span in player.spans) == 5000 * 441


class AnyOrder(RuleBasedStateMachine):
    """Any order of events: sample n of an answer has the value n, so that order can be seen."""

    @initialize(first=st.sampled_from([1, 2**31 - 1, 2**32 - 2]))
    def begin(self, first):
        self.voice, self.playback = Voice(), Playback((first - 1) % 2**32)
        self.now, self.answer, self.released, self.hold = 1, first, 0, False
        self.made, self.blocks, self.end = 0, 0, None
        self.heard = {}  # answer to sample values
        self.finals = []
        self.quiet_until = 0  # no sound may begin before
        self.seen_gone = set()

    @rule(size=st.integers(0, 90), rate=st.sampled_from([8_000, 22_050]))
    def put(self, size, rate):
        if self.end is None and self.made < 30_000:
            samples = np.arange(self.made, self.made + size).astype(np.int16)
            self.voice.blocks.append(Block(samples, self.answer, self.blocks, self.now, rate))
            self.made += size
            self.blocks += 1

    @rule()
    def finish(self):
        if self.end is None:
            self.end = End(self.answer, self.blocks, Status.OK)

    @rule()
    def release(self):
        self.released = self.answer

    @rule(hold=st.booleans())
    def set_hold(self, hold):
        self.hold = hold

    @rule()
    def next_answer(self):
        self.answer = (self.answer + 1) % 2**32
        self.made, self.blocks, self.end = 0, 0, None

    @rule(ns=st.sampled_from([0, 1, 62_500, 3 * MS, 20 * MS, 90 * MS]))
    def wait(self, ns):
        self.now += ns

    @rule()
    def step(self):
        words = Gate(self.answer, self.released, self.hold, self.end or End(12345, 0, Status.OK))
        tick = self.playback.step(self.now, words, self.voice)
        for span in tick.spans:
            assert span.answer == self.answer == self.released
            assert not self.hold
            assert span.at >= self.quiet_until
            length = span.samples.size * SECOND // span.rate
            assert span.at + length <= self.now
            self.quiet_until = span.at + length
            self.heard.setdefault(span.answer, []).extend(span.samples.tolist())
        for fact in tick.facts:
            assert 0 < fact.at <= self.now
            assert fact.value >= 0
        if tick.played is not None:
            assert tick.played.answer not in self.finals
            if tick.played.final:
                self.finals.append(tick.played.answer)

    @invariant()
    def nothing_twice_or_out_of_order(self):
        for values in self.heard.values():
            assert values == list(range(len(values)))

    def teardown(self):
        if not hasattr(self, "voice"):
            return
        self.finish()
        self.release()
        self.hold = False
        for _ in range(4):
            self.step()
            self.now += 40 * SECOND
        assert self.answer in self.finals
        assert len(self.heard.get(self.answer, [])) == self.made
        assert not self.voice.blocks


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
