"""Pauses that are taken for the end of a turn, at three settings, beside what waiting costs.

The real session of `turn`, with its real detectors, hears whole recordings in variants of level,
noise and speed, on the clock of their sound.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.asr_clips import Spoken, read_clips
from benchmarks.result import Figure
from benchmarks.sample import median, percentile
from benchmarks.turn_moments import VARIANTS, Kind, Moment, Variant, cut_off, find_pauses
from pipeline.config import TurnConfig
from pipeline.models import silero_vad_path, smart_turn_path
from ringbuf import Arena, BellPipe, Mark
from stages.audio.level import FULL_SCALE
from stages.audio.room_tone import RoomTone
from stages.lane import Lane
from stages.messages import Status, Words
from stages.topology import ASR, AUDIO, CONTROL, INPUT_BLOCK, INPUT_RATE, TURN, topology
from stages.turn.session import Judge, TurnSession, Window
from stages.turn.smart_turn import RATE, SmartTurn
from stages.turn.vad import SileroVad, VadState

Samples = NDArray[np.int16]

SETTINGS: Mapping[str, Mapping[str, int | float]] = {
    "eager": {
        "end_after_ms": 96,
        "end_threshold": 0.5,
        "early_release_ms": 256,
        "release_ms": 448,
        "late_release_ms": 1248,
    },
    "default": {},
    "patient": {
        "end_after_ms": 128,
        "end_threshold": 0.95,
        "early_release_ms": 576,
        "release_ms": 704,
        "late_release_ms": 1344,
    },
}
"""What differs from the configuration."""
MISSED_S = 1.5  # behind the end of speech
LATE_S = 0.1  # the detector hears a voice so much later than it comes
JUDGE_NS = 64_000_000  # what the end-of-turn model takes on a loaded core
BLOCK_NS = INPUT_BLOCK * 1_000_000_000 // INPUT_RATE


@dataclass(frozen=True)
class Recording:
    """A clip in one variant, with silence behind it; times in samples at 16 kHz.

    Attributes:
        pauses: inside what is said, from and to.
        end: of what is said; None if the clip ends before its speaker does.
    """

    clip: str
    samples: Samples
    pauses: tuple[tuple[int, int], ...]
    end: int | None


@dataclass(frozen=True)
class Heard:
    """What a session made of a recording: where it ended turns, in samples."""

    recording: Recording
    releases: tuple[int, ...]

    @property
    def cuts(self) -> list[int]:
        """For each pause, how many turns it ended."""
        late = round(LATE_S * RATE)
        return [
            sum(start <= at <= stop + late for at in self.releases)
            for start, stop in self.recording.pauses
        ]

    @property
    def delay_ms(self) -> float | None:
        """From the end of speech to the end of the turn; None: there was none in time."""
        end = self.recording.end
        behind = [at - end for at in self.releases if end is not None and at >= end]
        return behind[0] * 1000 / RATE if behind and behind[0] <= MISSED_S * RATE else None

    @property
    def elsewhere(self) -> int:
        """Turns that ended inside speech where no pause was annotated."""
        end = self.recording.end or len(self.recording.samples)
        return sum(at < end for at in self.releases) - sum(self.cuts)


def figures(heard: Mapping[str, Sequence[Heard]]) -> dict[str, Figure]:
    """All metrics, by setting."""
    found: dict[str, Figure] = {}
    for name, each in heard.items():
        cuts = [cut > 0 for one in each for cut in one.cuts]
        ends = [one for one in each if one.recording.end is not None]
        delays = [one.delay_ms for one in ends if one.delay_ms is not None]
        found |= {
            f"false_cut_share.{name}": sum(cuts) / len(cuts) if cuts else None,
            f"release_delay_p50_ms.{name}": median(delays),
            f"release_delay_p95_ms.{name}": percentile(delays, 95),
            f"missed_end_share.{name}": 1 - len(delays) / len(ends) if ends else None,
            f"false_cuts_elsewhere.{name}": sum(one.elsewhere for one in each),
            "pauses": len(cuts),
            "ends": len(ends),
        }
    return found


def measure(
    folder: Path, config: TurnConfig, variants: int | None, tell: Callable[[str], None]
) -> dict[str, Figure]:
    """Every clip in so many variants, at each setting.

    Raises:
        VoxringError: a clip or a model cannot be read.
    """
    ear = Ear(config.end_model)
    clips = read_clips(folder)
    heard: dict[str, list[Heard]] = {name: [] for name in SETTINGS}
    with Room(ear) as room:
        for variant in spread(VARIANTS, variants):
            tell(f"pauses, {variant.name}")
            for recording in recordings(folder, clips, variant, ear.vad):
                for name, changes in SETTINGS.items():
                    releases = room.hear(recording.samples, config.model_copy(update=changes))
                    heard[name].append(Heard(recording, tuple(releases)))
    return figures(heard)


def spread(variants: Sequence[Variant], count: int | None) -> list[Variant]:
    """So many of them, evenly chosen; None: all."""
    step = len(variants) / (count or len(variants))
    return [variants[int(n * step)] for n in range(count or len(variants))]


def recordings(
    folder: Path, clips: Iterable[Spoken], variant: Variant, vad: SileroVad
) -> Iterator[Recording]:
    """Clips as a variant has them."""
    broken = cut_off(folder)
    for clip in clips:
        over = round(clip.speech_end_s * RATE)
        room = RoomTone(clip.noise_dbfs).take(round((MISSED_S + LATE_S) * RATE))
        sound = np.concatenate((clip.samples[:over], room)).astype(np.float32) / FULL_SCALE
        whole = variant.of(Moment(Kind.END, clip.name, sound.astype(np.float32), over))
        samples = np.round(whole.sound * (FULL_SCALE - 1)).astype(np.int16)
        pauses = tuple(
            (int(start / variant.speed), int(stop / variant.speed))
            for start, stop in find_pauses(clip.samples[:over], vad)
        )
        end = None if clip.name in broken else whole.at
        yield Recording(clip.name, samples, pauses, end)


class Ear:
    """Both models; what was asked before is remembered, because settings ask much the same.

    Args:
        end_model: as `turn.end_model`.
    """

    def __init__(self, end_model: str) -> None:
        self.vad = SileroVad(silero_vad_path())
        self.has_judge = bool(end_model)
        self._smart = SmartTurn(smart_turn_path(end_model)) if end_model else None
        self._voices: dict[bytes, list[float]] = {}
        self._opinions: dict[bytes, float] = {}

    def voice(self, samples: Samples) -> list[float]:
        """The probability of a voice in each window of a stream, int16 [n * 512]."""
        key = _key(samples)
        if key not in self._voices:
            self._voices = {key: self.vad.probabilities(VadState(), samples).tolist()}
        return self._voices[key]

    def opinion(self, said: Window) -> float:
        """The probability that a turn is over."""
        assert self._smart, "there is a model"
        key = _key(said)
        if key not in self._opinions:
            self._opinions[key] = self._smart.probability(said)
        return self._opinions[key]


def _key(samples: Samples) -> bytes:
    return hashlib.blake2b(samples.tobytes(), digest_size=16).digest()


class Room:
    """A lane without programs: the microphone, `turn`, and a recogniser that hears no words.

    Args:
        ear: the models.
    """

    def __init__(self, ear: Ear) -> None:
        self._ear = ear
        self._exit = ExitStack()
        layout = topology(lanes=1, context=256)
        self._bells = {name: BellPipe.create() for name in layout.processes}
        for bell in self._bells.values():
            self._exit.callback(bell.close)
        self._owner = Arena.create(layout, CONTROL, self._bells)
        self._exit.callback(self._owner.close)
        self._edge, self._asr, self._turn = map(self._attach, (AUDIO, ASR, TURN))
        self._now = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def hear(self, samples: Samples, config: TurnConfig) -> list[int]:
        """Where a new conversation ends turns, samples."""
        windows = samples[: len(samples) // INPUT_BLOCK * INPUT_BLOCK]
        voice = _Replayed(self._ear.voice(windows))
        late = _Late(self._ear.opinion)
        judge: Judge | None = late if self._ear.has_judge else None
        session = TurnSession(self._turn, voice, config, lambda: self._now, judge)
        releases = []
        for first in range(0, len(windows), INPUT_BLOCK):
            self._now += BLOCK_NS
            late.tick(self._now)
            block = windows[first : first + INPUT_BLOCK]
            assert self._edge.mic.put(block, first=first, rate=INPUT_RATE)
            session.step()
            if self._follow():
                releases.append(first + INPUT_BLOCK)
        session.fail(RuntimeError("the recording is over"))
        self._follow()
        return releases

    def _follow(self) -> bool:
        """Take what `turn` told; whether it ended a turn, which then had no words."""
        with self._asr.speech.read() as batch:
            ended = [(b.turn, b.answer) for b in batch if b.mark is Mark.RELEASE]
        for turn, answer in ended:
            self._asr.words.put(Words(turn, answer, 0, Status.EMPTY).pack())
        self._owner.lane(0).command("captions_turn").read()
        return bool(ended)

    def _attach(self, process: str) -> Lane:
        arena = Arena.attach(os.dup(self._owner.fd), process, self._bells)
        self._exit.callback(arena.close)
        return Lane(arena.lane(0), process, arena.events(process))


class _Replayed:
    """A detector that has heard everything before."""

    def __init__(self, probabilities: Iterable[float]) -> None:
        self._left = iter(probabilities)

    def probability(self, window: Window) -> float:
        return next(self._left)


class _Late:
    """A judge whose opinion takes its time, on the clock of the sound."""

    def __init__(self, opinion: Callable[[Window], float]) -> None:
        self._opinion = opinion
        self._now = 0
        self._asked: list[tuple[int, Future[float], float]] = []

    def __call__(self, said: Window) -> Future[float]:
        future: Future[float] = Future()
        self._asked.append((self._now + JUDGE_NS, future, self._opinion(said)))
        return future

    def tick(self, now: int) -> None:
        self._now = now
        for due, future, opinion in self._asked:
            if due <= now and not future.done():
                future.set_result(opinion)
        self._asked = [entry for entry in self._asked if not entry[1].done()]
