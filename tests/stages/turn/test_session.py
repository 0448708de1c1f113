"""The microphone of one lane, step by step, on shared memory and a clock of our own."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.config import TurnConfig
from pipeline.errors import AudioError
from ringbuf import Mark
from stages.lane import Lane
from stages.messages import (
    Caption,
    CaptionKind,
    Command,
    CommandAt,
    End,
    Played,
    Status,
    Words,
)
from stages.outcome import Outcome
from stages.topology import INPUT_RATE
from stages.turn.scripted import ScriptedDetector, ScriptedTurnOptions
from stages.turn.session import TurnSession
from stages.turn.settings import TurnSettings

MakeLane = Callable[[str], Lane]
MS = 1_000_000
BLOCK = 320  # 20 ms: an edge may hand over less than a window
LOUD, QUIET = 8000, 0


@dataclass
class Bench:
    """A turn session with its neighbours' ends of the rings."""

    edge: Lane
    asr: Lane
    tts: Lane
    lane: Lane
    control: Lane
    session: TurnSession
    now: int = 0
    fed: int = 0

    def hear(self, ms: int, level: int) -> None:
        for _ in range(ms // 20):
            self.feed(BLOCK, level)
            self.now += 20 * MS
            self.session.step()

    def feed(self, samples: int, level: int, lost: int = 0) -> None:
        """The edge writes, `turn` sleeps."""
        self.fed += lost
        block = np.full(samples, level, np.int16)
        assert self.edge.mic.put(block, first=self.fed, rate=INPUT_RATE, lost=lost)
        self.fed += samples

    def command(self, command: Command, after: int | None = None, payload: bytes = b"") -> None:
        """Give a command behind so many samples; None: what was fed."""
        sample = self.fed if after is None else after
        assert self.edge.commands.put(CommandAt(command, sample, payload).pack())

    def settle(self, **settings: Any) -> None:
        """The client changes how turns are taken."""
        self.command(Command.SETTLE, payload=TurnSettings(**settings).pack())
        self.session.step()

    def told(self, *kinds: CaptionKind) -> list[tuple[CaptionKind, int, int]]:
        """What the client was told of these kinds: kind, turn, ms."""
        ring = self.control._lane.command("captions_turn")
        captions = [Caption.unpack(message) for message in ring.read()]
        return [(c.kind, c.turn, c.position) for c in captions if c.kind in kinds]

    def marks(self) -> list[Mark]:
        with self.asr.speech.read() as batch:
            return [block.mark for block in batch if block.mark]

    def speech(self) -> list[tuple[int, NDArray[np.int16]]]:
        """Where each block begins, and its samples; as `asr` reads them."""
        with self.asr.speech.read() as batch:
            return [(block.first, block.samples.copy()) for block in batch]

    def fill_speech(self) -> None:
        """`asr` reads nothing any more."""
        while self.lane.speech.put(np.empty(0, np.int16), first=0, rate=INPUT_RATE):
            pass

    def outcomes(self) -> list[Outcome]:
        ring = self.control._lane.command("captions_turn")
        captions = [Caption.unpack(message) for message in ring.read()]
        return [Outcome(c.position) for c in captions if c.kind is CaptionKind.OUTCOME]


def samples_of(speech: list[tuple[int, NDArray[np.int16]]]) -> NDArray[np.int16]:
    return np.concatenate([samples for _, samples in speech])


def ends_of(speech: list[tuple[int, NDArray[np.int16]]]) -> int:
    first, samples = speech[-1]
    return first + len(samples)


@pytest.fixture
def bench(make_lane: MakeLane) -> Bench:
    return make_bench(make_lane)


def make_bench(make_lane: MakeLane, *, cancels_echo: bool = False) -> Bench:
    lane = make_lane("turn")
    config = TurnConfig(soft_end_ms=96, release_ms=320, answer_timeout_s=2)
    edge, asr, tts, control = (make_lane(name) for name in ("audio", "asr", "tts", "control"))
    made = Bench(edge, asr, tts, lane, control, None)  # type: ignore[arg-type]
    detector = ScriptedDetector(ScriptedTurnOptions())
    made.session = TurnSession(lane, detector, config, lambda: made.now, cancels_echo=cancels_echo)
    return made


def test_a_turn_from_first_sound_to_answered(bench: Bench) -> None:
    bench.hear(1000, QUIET)
    bench.hear(1000, LOUD)
    assert (bench.edge.turn, bench.edge.answer, bench.edge.released) == (1, 1, 0)
    bench.hear(400, QUIET)
    assert bench.marks() == [Mark.START, Mark.PAUSE, Mark.SOFT_END, Mark.RELEASE]
    assert bench.edge.released == 1
    bench.tts.voice_end = End(1, 10, Status.OK)
    bench.edge.played = Played(1, 5, final=True)
    bench.session.step()
    assert bench.session.turns.deadline is None
    assert bench.outcomes() == [Outcome.ANSWERED]


def test_speech_begins_with_its_pre_roll_and_has_no_hole(bench: Bench) -> None:
    """pipecat#3375: the first word was cut because the detector needs a moment."""
    bench.hear(1000, QUIET)
    bench.hear(640, LOUD)
    with bench.asr.speech.read() as batch:
        blocks = [(block.first, len(block.samples), block.turn, block.mark) for block in batch]
    assert blocks[0][3] is Mark.START
    assert all(turn == 1 for _, _, turn, _ in blocks)
    onset = 16_000
    assert onset - 0.5 * INPUT_RATE < blocks[0][0] < onset - 0.2 * INPUT_RATE
    for (first, count, _, _), (following, _, _, _) in pairwise(blocks):
        assert first + count == following


def test_pre_roll_never_overlaps_the_turn_before(bench: Bench) -> None:
    bench.hear(1000, LOUD)
    bench.hear(400, QUIET)
    with bench.asr.speech.read() as batch:
        end = max(block.first + len(block.samples) for block in batch)
    bench.hear(100, QUIET)
    bench.hear(200, LOUD)
    with bench.asr.speech.read() as batch:
        first = next(iter(batch))
        assert first.mark is Mark.START
        assert first.first >= end


def test_a_voice_that_stops_arriving_is_ended_by_the_wall_clock(bench: Bench) -> None:
    """pipecat#4124: a muted client left the turn open for ever."""
    bench.hear(1000, LOUD)
    assert bench.session.due is not None
    bench.now = bench.session.due
    bench.session.step()
    assert bench.marks() == [Mark.START, Mark.PAUSE, Mark.SOFT_END, Mark.RELEASE]


def test_an_answer_that_never_comes_times_out(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.hear(400, QUIET)
    bench.now += 3000 * MS
    bench.session.step()
    assert bench.edge.answer == 2
    assert bench.session.due is None or bench.session.due > bench.now


def test_no_words_end_the_turn(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.hear(200, QUIET)
    bench.asr.words.put(Words(1, 1, 0, Status.EMPTY).pack())
    bench.hear(200, QUIET)
    assert bench.session.turns.deadline is None


def test_commit_cancel_and_mute(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.command(Command.COMMIT)
    bench.session.step()
    assert bench.marks() == [Mark.START, Mark.PAUSE, Mark.SOFT_END, Mark.RELEASE]
    bench.command(Command.CANCEL)
    bench.session.step()
    assert bench.edge.answer == 2
    bench.command(Command.MUTE)
    bench.hear(500, LOUD)
    assert bench.edge.turn == 1
    bench.command(Command.UNMUTE)
    bench.hear(500, LOUD)
    assert bench.edge.turn == 2


@pytest.mark.parametrize("last", [Command.COMMIT, Command.MUTE, Command.UNMUTE])
def test_push_to_talk_holds_the_turn_open_until_it_is_let_go(bench: Bench, last: Command) -> None:
    bench.command(Command.OPEN)
    bench.hear(500, LOUD)
    bench.hear(2000, QUIET)
    bench.hear(500, LOUD)
    bench.hear(1000, QUIET)
    assert bench.edge.turn == 1
    assert Mark.RELEASE not in bench.marks()
    bench.command(last)
    bench.hear(20, QUIET)  # the silence so far is long enough for any end
    bench.hear(20, QUIET)
    assert bench.marks() == [Mark.RELEASE]
    bench.hear(500, LOUD)
    bench.hear(500, QUIET)
    expected = [] if last is Command.MUTE else [Mark.START, Mark.PAUSE, Mark.SOFT_END, Mark.RELEASE]
    assert bench.marks() == expected, "the next turn ends by itself again"


def test_a_command_does_not_overtake_the_sound_before_it(bench: Bench) -> None:
    for _ in range(25):
        bench.feed(BLOCK, LOUD)
    bench.command(Command.COMMIT)
    bench.session.step()
    speech = bench.speech()
    assert len(samples_of(speech)) == ends_of(speech) == bench.fed == 25 * BLOCK
    assert bench.edge.released == 1


def test_a_command_waits_for_the_sound_before_it(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.command(Command.COMMIT, after=bench.fed + BLOCK)
    bench.session.step()
    assert bench.edge.released == 0
    bench.hear(20, LOUD)
    assert bench.edge.released == 1


def test_a_command_applies_in_the_middle_of_a_block(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.command(Command.COMMIT, after=bench.fed + 100)
    bench.hear(20, LOUD)
    assert ends_of(bench.speech()) == bench.fed - BLOCK + 100


def test_what_is_muted_is_silence_from_that_sample_on(bench: Bench) -> None:
    bench.hear(500, LOUD)
    muted_at = bench.fed + 100
    bench.command(Command.MUTE, after=muted_at)
    bench.hear(100, LOUD)
    speech = bench.speech()
    sound = samples_of(speech)
    muted = sound[muted_at - speech[0][0] :]
    assert sound[: -len(muted)].all()
    assert not muted.any()


def test_a_commit_without_speech_takes_no_sound_away(bench: Bench) -> None:
    bench.hear(20, QUIET)
    bench.command(Command.COMMIT)
    bench.hear(500, LOUD)
    first, _ = bench.speech()[0]
    assert first == 0


@pytest.mark.parametrize("ending", ["commit", "limit"])
def test_the_tail_of_an_utterance_does_not_interrupt_its_answer(bench: Bench, ending: str) -> None:
    bench.hear(500, LOUD)
    if ending == "commit":
        bench.command(Command.COMMIT)
    else:
        bench.session.endpointer.rules = replace(bench.session.endpointer.rules, max_turn_ms=600)
    bench.hear(1000, LOUD)
    assert bench.outcomes() == []
    assert (bench.edge.turn, bench.edge.released) == (1, 1)
    bench.speech()
    bench.hear(200, QUIET)
    pause = bench.fed
    bench.hear(200, LOUD)
    assert bench.edge.hold
    first, _ = bench.speech()[0]
    assert first >= pause - 200 * 16, "nothing of the tail is in the next turn"


def test_sound_at_another_rate_is_refused(bench: Bench) -> None:
    """pipecat#3844: 8 kHz was heard at double speed."""
    bench.edge.mic.put(np.zeros(160, np.int16), first=0, rate=8000)
    with pytest.raises(AudioError, match="8000 Hz, expected 16000 Hz"):
        bench.session.step()


def test_a_recogniser_that_lags_loses_no_sound(bench: Bench) -> None:
    """`speech` full: the microphone waits, and every sample arrives once there is room."""
    bench.hear(500, LOUD)
    before = bench.speech()
    bench.fill_speech()
    bench.hear(100, LOUD)
    assert len(bench.lane.mic) > 2
    bench.asr.speech.skip()
    bench.session.step()
    assert len(bench.lane.mic) == 0
    missing = bench.speech()
    assert missing[0][0] == ends_of(before)
    assert len(samples_of(missing)) == ends_of(missing) - ends_of(before)


def test_a_full_ring_loses_no_mark(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.fill_speech()
    bench.command(Command.COMMIT)
    bench.session.step()
    bench.asr.speech.skip()
    bench.session.step()
    assert bench.marks() == [Mark.PAUSE, Mark.SOFT_END, Mark.RELEASE]


def test_sound_that_waits_for_room_has_not_stopped(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.fill_speech()
    bench.hear(2000, LOUD)
    assert bench.edge.released == 0


def test_lost_sound_does_not_shift_what_comes_after_it(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.hear(520, LOUD)
    bench.speech()
    gap = bench.fed
    bench.feed(BLOCK, LOUD, lost=1000)
    bench.hear(200, LOUD)
    speech = bench.speech()
    firsts = [first for first, _ in speech]
    assert gap + 1000 in firsts
    assert not any(gap <= first < gap + 1000 for first in firsts)
    assert "1000 samples of the microphone were lost" in caplog.text


def test_pre_roll_does_not_reach_across_lost_sound(bench: Bench) -> None:
    bench.hear(500, QUIET)
    bench.feed(BLOCK, QUIET, lost=1000)
    behind = bench.fed - BLOCK
    bench.hear(200, LOUD)
    assert bench.speech()[0][0] == behind


def test_the_end_of_an_answer_counts_though_the_next_turn_begins_in_the_same_step(
    bench: Bench,
) -> None:
    bench.hear(500, LOUD)
    bench.hear(400, QUIET)
    bench.tts.voice_end = End(1, 10, Status.OK)
    bench.edge.played = Played(1, 5, final=True)
    for _ in range(10):
        bench.feed(BLOCK, LOUD)
    bench.session.step()
    assert bench.edge.turn == 2
    assert bench.outcomes() == [Outcome.ANSWERED]


def test_an_answer_that_the_edge_gives_up_has_failed(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.hear(200, QUIET)
    bench.tts.voice_end = End(1, 10, Status.OK)
    bench.edge.played = Played(1, 0, final=True, failed=True)
    bench.session.step()
    assert bench.outcomes() == []
    bench.now = bench.session.due or 0  # the release comes with the clock: no step follows it
    bench.session.step()
    assert bench.outcomes() == [Outcome.FAILED]


def test_failing_ends_the_turn_and_the_next_one_works(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.session.fail(RuntimeError("bad block"))
    assert bench.marks() == [Mark.START, Mark.RELEASE]
    bench.hear(400, QUIET)
    bench.hear(500, LOUD)
    assert bench.edge.turn == 2
    assert bench.outcomes() == [Outcome.FAILED]


@pytest.mark.parametrize("pause", [0, 200, 400])
def test_nothing_of_a_failed_turn_is_spoken_after_it(bench: Bench, pause: int) -> None:
    bench.hear(500, LOUD)
    bench.hear(pause, QUIET)
    bench.session.fail(RuntimeError("bad block"))
    assert bench.outcomes() == [Outcome.FAILED]
    assert bench.edge.answer == 2
    assert bench.edge.released in (0, 1)


def test_behind_a_bad_block_everything_is_heard(bench: Bench) -> None:
    bench.edge.mic.put(np.zeros(160, np.int16), first=0, rate=8000)
    for _ in range(10):
        bench.feed(BLOCK, LOUD)
    with pytest.raises(AudioError) as caught:
        bench.session.step()
    bench.session.fail(caught.value)
    assert bench.session.due == 0
    bench.session.step()
    assert bench.edge.turn == 1


def speak_an_answer(bench: Bench) -> None:
    """The user asks, and hears the beginning of the answer."""
    bench.hear(500, LOUD)
    bench.hear(400, QUIET)
    bench.edge.played = Played(1, 5, final=False)
    bench.session.step()
    bench.speech()


def test_a_voice_over_an_answer_holds_it_and_is_sent_as_a_turn_that_may_be(bench: Bench) -> None:
    speak_an_answer(bench)
    bench.hear(300, LOUD)
    assert bench.edge.hold
    assert (bench.edge.turn, bench.edge.answer) == (1, 1)
    with bench.asr.speech.read() as batch:
        assert {(block.turn, block.answer) for block in batch} == {(2, 2)}
    bench.asr.words.put(Words(2, 2, 1, Status.OK, final=False).pack())
    bench.session.step()
    assert not bench.edge.hold
    assert (bench.edge.turn, bench.edge.answer) == (2, 2)


@pytest.mark.parametrize(("cancels_echo", "windows"), [(False, 2), (True, 1)])
def test_a_voice_that_a_canceller_softens_holds_an_answer_sooner(
    make_lane: MakeLane, cancels_echo: bool, windows: int
) -> None:
    bench = make_bench(make_lane, cancels_echo=cancels_echo)
    bench.hear(320, QUIET)
    bench.feed(512, LOUD)
    bench.feed(512, QUIET)
    bench.session.step()
    assert bench.edge.turn == 0, "and only over an answer"
    speak_an_answer(bench)
    heard = 0
    while not bench.edge.hold:
        bench.feed(512, LOUD)
        bench.session.step()
        heard += 1
    assert heard == windows


def test_a_locked_answer_is_not_interrupted_and_what_is_said_behind_it_is_heard(
    bench: Bench,
) -> None:
    """Somebody speaks into the end of it: the turn begins where it may begin."""
    bench.command(Command.LOCK)
    speak_an_answer(bench)
    bench.hear(300, LOUD)
    assert not bench.edge.hold
    assert bench.speech() == []
    bench.tts.voice_end = End(1, 10, Status.OK)
    bench.edge.played = Played(1, 9, final=True)
    bench.hear(240, LOUD)
    assert bench.edge.turn == 1, "it may be an echo"
    bench.hear(160, LOUD)
    assert bench.edge.turn == 2
    bench.hear(400, QUIET)
    bench.command(Command.UNLOCK)
    bench.edge.played = Played(2, 1, final=False)
    bench.hear(600, LOUD)
    assert bench.edge.hold


@pytest.mark.parametrize(("probability", "windows"), [(0.9, 5), (0.1, 20), (0.6, 10), (None, 10)])
def test_a_model_shortens_or_lengthens_the_pause_that_ends_a_turn(
    bench: Bench, probability: float | None, windows: int
) -> None:
    opinion: Future[float] = Future()
    if probability is not None:
        opinion.set_result(probability)
    asked: list[int] = []

    def judge(said: NDArray[np.int16]) -> Future[float]:
        asked.append(len(said))
        return opinion

    limits = {"early_release_ms": 160, "release_ms": 320, "late_release_ms": 640}
    config = TurnConfig(**limits, early_questions_only=False)
    detector = ScriptedDetector(ScriptedTurnOptions())
    bench.session = TurnSession(bench.lane, detector, config, lambda: bench.now, judge)
    bench.hear(960, LOUD)
    bench.hear(960, QUIET)
    with bench.asr.speech.read() as batch:
        blocks = list(batch)
    marks = [block.mark for block in blocks]
    silence = blocks[marks.index(Mark.RELEASE)].first - 960 * 16
    assert silence == windows * 512
    assert len(asked) == 1, "each pause is judged once"
    assert asked[0] == 960 * 16 + 96 * 16


def test_a_conversation_in_which_nobody_speaks_is_told_idle_once(bench: Bench) -> None:
    config = TurnConfig(idle_s=5)
    detector = ScriptedDetector(ScriptedTurnOptions())
    bench.session = TurnSession(bench.lane, detector, config, lambda: bench.now)
    ring = bench.control._lane.command("captions_turn")
    bench.session.step()
    assert bench.session.due == 5000 * MS
    told = []
    for _ in range(3):
        bench.now += 6000 * MS
        bench.session.step()
        told.append([Caption.unpack(message).kind for message in ring.read()])
    assert told == [[CaptionKind.IDLE], [], []]


@pytest.mark.parametrize(("question", "windows"), [(True, 7), (False, 10)])
def test_a_question_is_answered_sooner(bench: Bench, question: bool, windows: int) -> None:
    sure: Future[float] = Future()
    sure.set_result(0.99)
    config = TurnConfig(early_release_ms=224, release_ms=320)
    detector = ScriptedDetector(ScriptedTurnOptions())
    clock = lambda: bench.now  # noqa: E731
    bench.session = TurnSession(bench.lane, detector, config, clock, lambda said: sure)
    bench.hear(960, LOUD)
    bench.hear(100, QUIET)
    bench.asr.words.put(Words(1, 1, 3, Status.OK, question=question).pack())
    bench.hear(500, QUIET)
    with bench.asr.speech.read() as batch:
        (released,) = [block.first for block in batch if block.mark is Mark.RELEASE]
    assert released - 960 * 16 == windows * 512


def test_a_short_utterance_is_not_judged_by_what_was_known_of_the_one_before(bench: Bench) -> None:
    """Its last voiced window may be the one that begins it."""
    sure: list[Future[float]] = [Future()]
    sure[0].set_result(0.99)
    config = TurnConfig(early_release_ms=224, release_ms=320)
    detector = ScriptedDetector(ScriptedTurnOptions(speech=[(0, 960), (1600, 1664)]))
    clock = lambda: bench.now  # noqa: E731
    judge = lambda said: sure.pop() if sure else Future()  # noqa: E731
    bench.session = TurnSession(bench.lane, detector, config, clock, judge)
    bench.hear(1100, QUIET)
    bench.asr.words.put(Words(1, 1, 3, Status.OK, question=True).pack())
    bench.hear(400, QUIET)
    bench.asr.words.put(Words(1, 1, 0, Status.EMPTY).pack())
    bench.hear(300, QUIET)
    bench.asr.words.put(Words(2, 2, 1, Status.OK, question=True).pack())
    bench.hear(500, QUIET)
    with bench.asr.speech.read() as batch:
        released = [block.first for block in batch if block.mark is Mark.RELEASE]
    assert released == [960 * 16 + 7 * 512, 1664 * 16 + 10 * 512]


BEGAN, CLOSED, RELEASED = CaptionKind.BEGAN, CaptionKind.CLOSED, CaptionKind.RELEASED


def test_a_client_is_told_where_in_the_sound_a_turn_lies(bench: Bench) -> None:
    bench.hear(960, QUIET)
    bench.hear(640, LOUD)
    bench.hear(640, QUIET)
    told = bench.told(BEGAN, CLOSED, RELEASED)
    assert told == [(BEGAN, 1, 960), (CLOSED, 1, 1600), (RELEASED, 1, 0)]


def test_the_silence_that_ends_a_turn_may_change_in_the_middle_of_it(bench: Bench) -> None:
    bench.hear(960, LOUD)
    bench.settle(release_ms=960, early_release_ms=960, late_release_ms=960)
    bench.hear(800, QUIET)
    assert bench.edge.released == 0
    bench.hear(200, QUIET)
    assert bench.edge.released == 1


def test_settings_that_cannot_be_read_are_told_and_change_nothing(bench: Bench) -> None:
    before = bench.session.config
    for payload in (b"", b"nonsense", b'{"threshold": 7}', b'{"colour": 1}'):
        bench.command(Command.SETTLE, payload=payload)
    bench.session.step()
    assert len(bench.told(CaptionKind.ERROR)) == 4
    assert bench.session.config == before


def test_a_turn_that_is_not_answered_and_then_is(bench: Bench) -> None:
    bench.settle(answers=False)
    bench.hear(960, LOUD)
    bench.hear(400, QUIET)
    assert bench.marks() == [Mark.START, Mark.PAUSE, Mark.SOFT_END, Mark.RELEASE]
    assert bench.edge.released == 0
    bench.asr.words.put(Words(1, 1, 2, Status.OK).pack())
    bench.session.step()
    assert bench.outcomes() == [Outcome.NOTED]
    bench.command(Command.RESPOND)
    bench.session.step()
    with bench.asr.speech.read() as batch:
        (ask,) = [(block.mark, block.turn, block.answer) for block in batch]
    assert ask == (Mark.ASK, 2, 3)
    assert (bench.edge.turn, bench.edge.answer, bench.edge.released) == (2, 3, 3)


def test_an_answer_that_is_asked_for_while_somebody_speaks_comes_behind(bench: Bench) -> None:
    bench.settle(answers=False)
    bench.hear(960, LOUD)
    bench.command(Command.RESPOND)
    bench.hear(400, QUIET)
    assert Mark.ASK not in bench.marks()
    bench.asr.words.put(Words(1, 1, 2, Status.OK).pack())
    bench.session.step()
    assert bench.marks() == [Mark.ASK]
    assert bench.session.due is not None, "nothing else may wake this program"
    bench.now = bench.session.due
    bench.session.step()
    assert bench.outcomes() == [Outcome.NOTED, Outcome.TIMED_OUT]


def test_an_answer_that_is_asked_for_waits_for_a_murmur_that_is_not_over(bench: Bench) -> None:
    """The murmur's numbers were taken for the answer's own, and nobody answered."""
    speak_an_answer(bench)
    bench.hear(300, LOUD)
    bench.hear(200, QUIET)
    bench.asr.words.put(Words(2, 2, 1, Status.OK, final=True, backchannel=True).pack())
    bench.session.step()
    bench.tts.voice_end = End(1, 9, Status.OK)
    bench.edge.played = Played(1, 9, final=True)
    bench.session.step()
    assert bench.outcomes() == [Outcome.ANSWERED]
    bench.command(Command.RESPOND)
    bench.session.step()
    bench.speech()
    assert bench.edge.answer == 1
    bench.hear(400, QUIET)  # now it is over
    with bench.asr.speech.read() as batch:
        marks = [(block.mark, block.turn, block.answer) for block in batch if block.mark]
    assert marks[-1] == (Mark.ASK, bench.edge.turn, bench.edge.answer)
    assert bench.edge.released == bench.edge.answer


def test_commands_reach_a_program_that_has_begun_anew_though_nothing_is_heard(
    make_lane: MakeLane,
) -> None:
    """They waited for sound that a client with its microphone off never sends."""
    bench = make_bench(make_lane)
    bench.hear(1000, QUIET)
    bench.lane._lane.set("ack_turn", bench.lane.session)
    bench.lane.skip_unread()
    detector = ScriptedDetector(ScriptedTurnOptions())
    bench.session = TurnSession(bench.lane, detector, bench.session.config, lambda: bench.now)
    bench.command(Command.RESPOND)
    bench.session.step()
    assert bench.marks() == [Mark.ASK]
    bench.hear(500, LOUD)
    assert bench.edge.hold, "and what is heard then has its place"


def test_an_end_of_turn_model_that_fails_costs_its_opinion_and_nothing_else(bench: Bench) -> None:
    """Every later window asked for the same result, and raised again."""
    broken: Future[float] = Future()
    broken.set_exception(RuntimeError("out of memory"))
    config = TurnConfig(release_ms=320)
    detector = ScriptedDetector(ScriptedTurnOptions())
    clock = lambda: bench.now  # noqa: E731
    bench.session = TurnSession(bench.lane, detector, config, clock, lambda said: broken)
    bench.hear(960, LOUD)
    bench.hear(500, QUIET)
    assert bench.edge.released == 1


def test_what_is_cleared_was_never_said(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.command(Command.CLEAR)
    bench.session.step()
    assert bench.marks() == [Mark.START, Mark.DROP]
    assert bench.outcomes() == [Outcome.NO_SPEECH]
    bench.command(Command.CLEAR)
    bench.session.step()
    assert bench.marks() == []
    bench.hear(500, LOUD)
    assert bench.edge.turn == 2


def test_by_hand_all_sound_is_the_utterance_until_it_is_committed(bench: Bench) -> None:
    bench.settle(manual=True, answers=False)
    bench.hear(640, QUIET)
    bench.hear(640, LOUD)
    bench.hear(3200, QUIET)
    assert bench.marks() == [Mark.START]
    bench.now += 5_000 * MS
    bench.session.step()
    assert bench.marks() == [], "whoever presses a key may think"
    bench.command(Command.COMMIT)
    bench.session.step()
    assert bench.marks() == [Mark.PAUSE, Mark.SOFT_END, Mark.RELEASE]
    bench.asr.words.put(Words(1, 1, 2, Status.OK).pack())
    bench.session.step()
    bench.hear(200, QUIET)
    assert bench.marks() == [Mark.START], "the next one begins at once"
