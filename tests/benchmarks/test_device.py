"""The arithmetic of the benchmarks of sound devices, and their sound card, without a pipeline."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.device import ALL, Case, figures
from benchmarks.device_echo import Echo, silence_ms
from benchmarks.device_echo import figures as echo_figures
from benchmarks.device_rig import Exchange, Spoken
from benchmarks.metrics import DEVICE, DEVICE_ECHO
from benchmarks.sound_card import RATE, REVERB_S, Room, response
from benchmarks.turns_clips import Said
from benchmarks.turns_talk import Exchange as Asked
from benchmarks.turns_talk import Interruption
from pipeline.events import TurnEnded
from pipeline.timeline import Timeline
from stages.event import Event
from stages.outcome import Outcome

MS = 1_000_000
NOTHING = np.zeros(0, np.int16)
SAID = Spoken(Path("a.wav"), NOTHING, "should I stay", 1.0)


def ended(
    at_ms: dict[Event, int], outcome: Outcome = Outcome.ANSWERED, transcript: str = ""
) -> TurnEnded:
    at = {event: ms * MS for event, ms in at_ms.items()}
    end = at.get(Event.SPEECH_END)
    timeline = Timeline(0, 1, 1, outcome, at, {}, end, "clip")
    return TurnEnded(timeline, transcript, "", "")


def test_every_kind_of_device_is_a_part_of_its_own() -> None:
    assert len({kind.name for kind in ALL}) == len(ALL) == 8
    assert ALL[0].name == "44100-mono-int16"


def test_words_and_latency_of_all_kinds() -> None:
    right = Exchange(SAID, ended({}, transcript="Should I stay?"), NOTHING, 400.0, 5.0)
    wrong = Exchange(SAID, ended({}, Outcome.EMPTY, "Should I go?"), NOTHING, None, None)
    found = figures({"a": Case([right], 1), "b": Case([wrong], 2, 1, 4)})
    assert found["question_words_wrong_share"] == pytest.approx(1 / 6)
    assert found["question_words_wrong_share.b"] == pytest.approx(1 / 3)
    assert found["answer_words_wrong_share"] == 0.25
    assert found["answer_words_wrong_share.a"] is None
    assert (found["latency_p50_ms"], found["latency_max_ms"]) == (400.0, 400.0)
    assert (found["unanswered"], found["xruns"]) == (1, 3)
    assert DEVICE.ordered(found)


def tried(play_end_ms: int, outcome: Outcome = Outcome.INTERRUPTED, *more: Event) -> Interruption:
    """Somebody speaks from 1,000 to 2,000 ms over an answer."""
    over = Said(Path("b.wav"), "stop", 0.05, 1.05, 1.1)
    cut = ended({Event.PLAY_END: play_end_ms, **dict.fromkeys(more, 1500)}, outcome)
    following = ended({Event.SPEECH_END: 2000})
    return Interruption(Asked(over, 0, (cut,), Path()), Asked(over, 950 * MS, (following,), Path()))


def test_an_interruption_is_timed_from_its_first_voiced_sample() -> None:
    assert silence_ms(tried(1180)) == 180
    assert silence_ms(tried(900, Outcome.ANSWERED)) is None
    assert silence_ms(tried(3000, Outcome.INTERRUPTED, Event.GO_ON)) is None


def test_turns_that_nobody_began_are_the_echo() -> None:
    echo = Echo(asked=[(1000 * MS, 2000 * MS)], begun=[1100 * MS, 2200 * MS, 5000 * MS])
    echo.tries = [tried(1180), tried(3000, Outcome.INTERRUPTED, Event.GO_ON)]
    assert echo.self_turns == 1
    echo.seconds = 30
    found = echo_figures({"10db-40ms": echo}, 60)
    assert found["echo_least_share"] == 0.5
    assert (found["self_turns"], found["tries"], found["tries_gone_on"]) == (1, 2, 1)
    assert found["barge_in_max_ms"] == 180
    assert DEVICE_ECHO.ordered(found)


def test_a_room_answers_with_the_energy_that_it_got() -> None:
    heard = response(seed=0)
    assert len(heard) == REVERB_S * RATE
    assert float(np.sum(heard**2)) == pytest.approx(1.0, abs=0.05)
    early, late = np.sum(heard[1:800] ** 2), np.sum(heard[-800:] ** 2)
    assert 10 * np.log10(early / late) > 40


def test_an_echo_comes_when_it_is_due_and_as_soft_as_it_is_asked() -> None:
    room = Room(echo_db=-20.0, delay_s=0.01)
    room._response = np.ones(1, np.float32)
    room.hear(np.full(160, 0.5, np.float32), 320)
    heard = room.take(1600)
    loud = np.flatnonzero(np.abs(heard) > 0.01)
    assert (loud[0], loud[-1]) == (320 + 160, 320 + 160 + 159)
    assert heard[500] == pytest.approx(0.05, abs=0.002)
