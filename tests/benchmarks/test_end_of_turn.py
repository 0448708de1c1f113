from pathlib import Path

import numpy as np
import pytest

from benchmarks.asr_clips import Spoken, Word
from benchmarks.end_of_turn import Answer, figures, table
from benchmarks.metrics import END_OF_TURN
from benchmarks.turn_moments import VARIANTS, Kind, Moment, Variant, find_moments
from stages.turn.smart_turn import RATE
from stages.turn.vad import WINDOW
from tests.benchmarks.results import result

SPOKEN = ("one", "two", "three,", "four", "five", "six.")


class Voices:
    """A voice activity detector that hears a voice where sound is loud."""

    def probabilities(self, state: object, windows: np.ndarray) -> np.ndarray:
        return (np.abs(windows.reshape(-1, WINDOW)).max(axis=1) > 1000).astype(np.float32)


def clip(*pause_windows: int) -> Spoken:
    """Ten loud windows, a pause, ten loud windows, and so on."""
    loud = np.full(10 * WINDOW, 5000, np.int16)
    parts = [loud]
    for windows in pause_windows:
        parts += [np.zeros(windows * WINDOW, np.int16), loud]
    sound = np.concatenate(parts)
    return Spoken("a", sound, " ".join(SPOKEN), len(sound) / RATE, -70.0)


def moments(tmp_path: Path, spoken: Spoken, kind: str = "question") -> list[Moment]:
    (tmp_path / "manifest.toml").write_text(f'[[clip]]\nfile = "a.wav"\nkind = "{kind}"\n')
    step = spoken.speech_end_s / len(SPOKEN)
    words = [Word(text, (n + 1) * step) for n, text in enumerate(SPOKEN)]
    return find_moments(tmp_path, [spoken], {"a": words}, Voices())


def test_a_clip_has_an_end_its_long_pauses_and_cuts(tmp_path: Path) -> None:
    spoken = clip(6, 7)  # of 32 ms: 192 ms is no pause, 224 ms is one
    found = moments(tmp_path, spoken)
    assert [moment.kind for moment in found[:3]] == ["end", "pause", "cut"]
    assert {moment.kind for moment in found[2:]} == {"cut"}
    pause = found[1]
    assert (pause.at, pause.silence_ms) == ((10 + 6 + 10) * WINDOW, 224)
    assert len(pause.after(200)) == pause.at + RATE // 5
    assert all(moment.silence_ms >= 1000 for moment in found if moment.kind is not Kind.PAUSE)


def test_no_cut_is_made_at_punctuation(tmp_path: Path) -> None:
    spoken = clip()
    cuts = [m.at / RATE / spoken.speech_end_s for m in moments(tmp_path, spoken) if m.kind == "cut"]
    assert cuts == pytest.approx([2 / 6, 4 / 6], abs=0.01)  # 0.5 is behind "three,"


def test_a_clip_that_ends_mid_speech_has_no_end(tmp_path: Path) -> None:
    assert {m.kind for m in moments(tmp_path, clip(), "long, ends mid-speech")} == {Kind.CUT}


def test_variants_change_level_noise_and_speed() -> None:
    sound = np.sin(np.arange(RATE) / 10).astype(np.float32) / 2
    moment = Moment(Kind.END, "a", sound, RATE // 2)
    soft = Variant("soft", gain_db=-20).of(moment)
    assert soft.sound == pytest.approx(sound / 10)
    fast = Variant("fast", speed=1.25).of(moment)
    assert (len(fast.sound), fast.at) == (RATE * 4 // 5, RATE * 2 // 5)
    noise = Variant("noise", snr_db=20).of(moment).sound - sound
    assert 10 * np.log10(np.mean(sound**2) / np.mean(noise**2)) == pytest.approx(20, abs=0.5)
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS) >= 8


def test_shares_are_counted_by_silence_and_threshold() -> None:
    answers = [
        Answer(Kind.END, "as-is", 100, 0.95),
        Answer(Kind.END, "soft", 100, 0.4),
        Answer(Kind.CUT, "as-is", 100, 0.6),
        Answer(Kind.CUT, "as-is", 200, 0.95),
    ]
    found = figures(answers)
    assert (found["ends"], found["cuts"], found["pauses"]) == (2, 1, 0)
    assert found["ends_recognised.100ms-0.3"] == 1
    assert (found["ends_recognised"], found["ends_recognised.soft"]) == (0.5, 0)
    assert (found["cuts_called_ends.100ms-0.7"], found["cuts_called_ends.200ms-0.9"]) == (0, 1)
    assert found["pauses_called_ends"] is None
    assert END_OF_TURN.ordered(found)  # every figure has a meaning
    lines = table(result("end_of_turn", **found)).splitlines()
    assert "| 100 | 0.3 | 100 (2) | - | 100 (1) |" in lines
    assert "| 200 | 0.9 | - | - | 100 (1) |" in lines
