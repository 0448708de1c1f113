"""The arithmetic of `benchmarks.turns`, without a pipeline."""

import argparse
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from benchmarks import turns_backchannels, turns_barge_in, turns_cuts, turns_echo, turns_heard
from benchmarks.metrics import TURNS
from benchmarks.turns import PARTS, count, parts
from benchmarks.turns_clips import LEAD_S, Said, measure_onset, noise_bursts, trim
from benchmarks.turns_cuts import Heard, Recording
from benchmarks.turns_echo import DELAY_S, Echo
from benchmarks.turns_latency import without_speculation
from benchmarks.turns_talk import Exchange, Interruption, attribute, chain_of, last_audible
from pipeline.config import TurnConfig
from pipeline.events import TurnEnded
from pipeline.timeline import Timeline
from pipeline.tokenizer import ByteVocabulary
from stages.audio.clip import Clip
from stages.event import Event
from stages.outcome import Outcome
from stages.topology import INPUT_BLOCK
from stages.tts.tones import tone

MS = 1_000_000
RATE = 16_000
SAID = Said(Path("a.wav"), "Should I stay?", 0.05, 1.05, 1.15)


def turn(
    at_ms: dict[Event, int],
    outcome: Outcome = Outcome.INTERRUPTED,
    *,
    end_ms: int | None = None,
    said: str = "should I stay",
    reply: str = "",
    heard: str = "",
) -> TurnEnded:
    at = {event: ms * MS for event, ms in at_ms.items()}
    end = None if end_ms is None else end_ms * MS
    return TurnEnded(Timeline(0, 1, 1, outcome, at, {}, end, "clip"), said, reply, heard)


def interruption(
    wav: Path, at_ms: dict[Event, int], over: TurnEnded | None = None, heard: str = ""
) -> Interruption:
    """An answer that plays from 10 s on, and a voice over it that begins at 11 s."""
    cut = turn({Event.PLAY_START: 10_000, **at_ms}, heard=heard)
    over = over or turn(
        {Event.SPEECH_START: 11_064, Event.FIRST_AUDIO: 12_500}, Outcome.ANSWERED, end_ms=12_000
    )
    return Interruption(Exchange(SAID, 0, (cut,), wav), Exchange(SAID, 10_950 * MS, (over,), wav))


def sound(path: Path, seconds: float, silent_s: float = 0.0) -> Path:
    """Noise, and silence behind it."""
    loud = np.random.default_rng(0).integers(-3000, 3000, round(seconds * RATE)).astype(np.int16)
    soundfile.write(path, np.concatenate((loud, np.zeros(round(silent_s * RATE), np.int16))), RATE)
    return path


def voice(seconds: float, lead_s: float) -> NDArray[np.float32]:
    """A buzz, as of a voice, behind silence and before it."""
    times = np.arange(round(seconds * RATE)) / RATE
    buzz = sum(np.sin(2 * np.pi * 150 * n * times) / n for n in range(1, 12))
    quiet = 1e-4 * np.random.default_rng(0).standard_normal(round(lead_s * RATE))
    return np.concatenate((quiet, 0.2 * np.asarray(buzz), quiet)).astype(np.float32)


def test_the_onset_of_a_voice_is_found_and_what_is_before_it_cut_off(tmp_path: Path) -> None:
    sound = voice(0.8, 1.0)
    sound[: RATE // 2] += voice(0.4, 0.05)  # of somebody else, before
    clip = Clip(tmp_path / "clip.wav", sound, RATE, 1)
    assert measure_onset(clip, 1.05) == pytest.approx(1.0, abs=0.03)
    said = trim(clip, 1.05, tmp_path)
    assert said.onset_s == pytest.approx(LEAD_S, abs=1e-6)
    assert said.end_s == pytest.approx(0.85, abs=0.05)
    assert soundfile.info(said.path).duration == pytest.approx(said.duration_s)


def test_silence_is_counted_from_the_voice_to_the_last_audible_sound(tmp_path: Path) -> None:
    wav = sound(tmp_path / "a.wav", 1.2, silent_s=0.5)
    each = interruption(wav, {Event.HOLD: 11_100, Event.PLAY_END: 11_110})
    assert turns_barge_in.silence_ms(each) == pytest.approx(200)
    assert turns_barge_in.decision_ms(each) == pytest.approx(10)


def test_an_answer_that_paused_before_the_voice_gives_no_latency(tmp_path: Path) -> None:
    each = interruption(sound(tmp_path / "a.wav", 0.5, silent_s=1.0), {})
    found = turns_barge_in.figures([each])
    assert (found["barge_in_p50_ms"], found["tries_in_a_pause"]) == (None, 1)
    assert (found["tries"], found["tries_too_late"]) == (1, 0)
    assert TURNS.ordered(found)


def test_an_answer_that_was_over_is_no_try(tmp_path: Path) -> None:
    done = turn({}, Outcome.ANSWERED)
    each = Interruption(
        Exchange(SAID, 0, (done,), tmp_path / "a.wav"), Exchange(SAID, 1, (), tmp_path / "b.wav")
    )
    found = turns_barge_in.figures([each])
    assert (found["tries_too_late"], found["next_turn_correct_share"]) == (1, None)
    assert chain_of(3, [each]) == 3
    assert chain_of(1, [each]) == 0


@pytest.mark.parametrize(
    ("turns", "fault"),
    [
        ((), "no turn"),
        ((turn({Event.FIRST_AUDIO: 9}, end_ms=5), turn({Event.FIRST_AUDIO: 9}, end_ms=5)), "2"),
        ((turn({Event.FIRST_AUDIO: 9}, end_ms=5, said="what now"),), "understood"),
        ((turn({Event.FIRST_AUDIO: 9}, Outcome.FAILED, end_ms=5),), "failed"),
        ((turn({}, end_ms=5),), "not heard"),
    ],
)
def test_what_can_be_wrong_with_the_next_turn(turns: tuple[TurnEnded, ...], fault: str) -> None:
    over = Exchange(SAID, 0, turns, Path("none.wav"))
    assert any(fault in found for found in turns_barge_in.faults(over))


def test_turns_belong_to_the_question_that_was_heard_when_they_began() -> None:
    first, second = (turn({Event.SPEECH_START: ms}) for ms in (100, 1_190))
    files = [Path("0.wav"), Path("1.wav")]
    one, other = attribute([SAID, SAID], [50 * MS, 1_200 * MS], [first, second], files)
    assert (one.turns, other.turns) == ((first,), (second,))


def test_the_last_audible_sample() -> None:
    loud, quiet = np.full(1000, 3000, np.int16), np.zeros(1000, np.int16)
    assert last_audible(quiet, RATE) == 0
    assert last_audible(np.concatenate((loud, quiet)), RATE) == 1120  # to a whole 10 ms
    assert last_audible(loud, RATE) == 1000


@pytest.mark.parametrize(
    ("kept", "heard", "within"),
    [
        ("One two three", "one two three", True),
        ("One two three", "one two", True),
        ("One two three", "one too three fo", True),
        ("One two three", "one", False),
        ("One", "one two three four", False),
        ("", "", True),
    ],
)
def test_where_a_reply_was_cut(kept: str, heard: str, *, within: bool) -> None:
    assert turns_heard.is_within_a_word("One two three four five six.", kept, heard) is within


def test_words_that_were_misunderstood_do_not_move_the_end() -> None:
    reply = ["the", "cat", "sat", "on", "the", "mat", "near", "the", "door"]
    assert turns_heard.ends_of(reply, ["a", "cat", "sad", "on", "the", "mat"]) == [6]
    assert turns_heard.ends_of(reply, []) == [0]


def test_tones_are_read_back_as_text(tmp_path: Path) -> None:
    wav = tmp_path / "tones.wav"
    seconds = turns_heard.TONE_MS / 1000
    samples = np.concatenate([tone(id, RATE, seconds) for id in b"hello"])
    soundfile.write(wav, samples[: -round(0.5 * seconds * RATE)], RATE)
    exact, wrong = (interruption(wav, {}, heard=text) for text in ("hell", "hello"))
    found = turns_heard.figures([exact, wrong], ByteVocabulary())
    assert found["heard_exact_share"] == 0.5
    assert TURNS.ordered(found)


def test_sounds_that_began_a_turn_ended_the_answer() -> None:
    answer = Exchange(SAID, 0, (turn({Event.PLAY_END: 9_000}, Outcome.ANSWERED),), Path("a.wav"))
    noise = Said(Path("n.wav"), "", 0, 1, 1)
    tries = [
        turns_backchannels.Murmur(answer, Exchange(SAID, 1_000 * MS, (), Path("a.wav"))),
        turns_backchannels.Murmur(answer, Exchange(SAID, 1_000 * MS, (turn({}),), Path("a.wav"))),
        turns_backchannels.Murmur(answer, Exchange(noise, 1_000 * MS, (), Path("a.wav"))),
        turns_backchannels.Murmur(answer, Exchange(noise, 9_500 * MS, (), Path("a.wav"))),
    ]
    found = turns_backchannels.figures(tries)
    assert found == {"murmurs": 3, "backchannel_goes_on_share": 0.5, "noise_goes_on_share": 1}
    assert TURNS.ordered(found)


def test_noise_is_the_same_for_a_seed(tmp_path: Path) -> None:
    first = [said.path.read_bytes() for said in noise_bursts(tmp_path, seed=1)]
    assert [said.path.read_bytes() for said in noise_bursts(tmp_path, seed=1)] == first
    assert [said.path.read_bytes() for said in noise_bursts(tmp_path, seed=2)] != first


def heard(*releases_ms: int, end_ms: int | None = 3000) -> Heard:
    """A recording with pauses from 1 to 1.3 s and from 2 to 2.4 s."""
    pauses = ((RATE, RATE * 13 // 10), (2 * RATE, RATE * 24 // 10))
    end = None if end_ms is None else end_ms * RATE // 1000
    recording = Recording("a", np.zeros(5 * RATE, np.int16), pauses, end)
    return Heard(recording, tuple(ms * RATE // 1000 for ms in releases_ms))


def test_turns_that_end_in_pauses_elsewhere_and_at_the_end() -> None:
    one = heard(1250, 1700, 3400)
    assert (one.cuts, one.elsewhere, one.delay_ms) == ([1, 0], 1, 400)
    assert heard(5100).delay_ms is None
    found = turns_cuts.figures({"default": [one, heard(5100), heard(2450, end_ms=None)]})
    assert found["false_cut_share.default"] == pytest.approx(2 / 6)
    assert found["missed_end_share.default"] == 0.5
    assert (found["pauses"], found["ends"], found["false_cuts_elsewhere.default"]) == (6, 2, 1)
    assert found["release_delay_p50_ms.default"] == 400
    assert TURNS.ordered(found)


def test_variants_are_chosen_evenly() -> None:
    everything = turns_cuts.spread(turns_cuts.VARIANTS, None)
    assert everything == list(turns_cuts.VARIANTS)
    assert turns_cuts.spread(turns_cuts.VARIANTS, 2) == [everything[0], everything[6]]


def test_an_opinion_takes_its_time() -> None:
    late = turns_cuts._Late(lambda said: 0.7)
    late.tick(1000)
    future = late(np.zeros(1, np.int16))
    late.tick(1000 + turns_cuts.JUDGE_NS - 1)
    assert not future.done()
    late.tick(1000 + turns_cuts.JUDGE_NS)
    assert future.result() == 0.7


def test_a_room_gives_back_what_was_played_softer_and_later() -> None:
    room = turns_echo.Room()
    for _ in range(4):
        room.take()
    room.add(np.full(300, 10_000, np.int16))
    room.add(np.full(300, 10_000, np.int16))
    sound = np.concatenate([room.take() for _ in range(8)])
    echo = np.flatnonzero(sound > 500)
    assert (echo[0], len(echo)) == (round(DELAY_S * RATE), 600)
    assert sound[echo].mean() == pytest.approx(1000, abs=20)
    assert (room.heard, room.echoed) == (12 * INPUT_BLOCK, 600)


def test_echo_by_mode() -> None:
    second = 1_000 * MS
    calm = Echo(second, 30, [0, 9 * second], [MS, 9 * second])
    twice = Echo(second, 30, [0], [MS, 500 * MS, 2 * second], 1)
    off = turns_echo.figures([calm, twice], "off")
    assert off == {"self_interruptions": 1, "self_turns": 1, "echo_s": 60}
    assert turns_echo.figures([twice], "words")["self_interruptions.words"] == 1
    assert TURNS.ordered(off)


def test_without_speculation_nothing_begins_before_the_release() -> None:
    alone = TurnConfig(end_model="", release_ms=500)
    assert without_speculation(alone)[0] == "turn.soft_end_ms=500"
    assert without_speculation(TurnConfig(early_release_ms=300))[0] == "turn.soft_end_ms=300"


def test_parts_are_named_on_the_command_line() -> None:
    assert parts("heard,cuts") == ["heard", "cuts"]
    assert set(parts(",".join(PARTS))) == set(PARTS)
    with pytest.raises(argparse.ArgumentTypeError, match="no part 'hurd'"):
        parts("hurd")
    assert count({"pauses": 108, "tries": 30}) == 30
    assert count({}) == 0
