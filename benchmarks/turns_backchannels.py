"""What is no reason to stop: "uh-huh" and noise over answers."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, cycle, islice
from pathlib import Path

from benchmarks.result import Figure
from benchmarks.turns_clips import Said, noise_bursts, write_spoken
from benchmarks.turns_talk import Exchange, attribute, sounding, told
from pipeline.config import Config
from pipeline.models import resolve
from pipeline.pipeline import Pipeline
from stages.event import Event
from stages.tts.piper_model import PiperModel, VoiceSettings, find_voice
from stages.tts.piper_voice import PiperVoice

SPOKEN = ("Uh-huh.", "Okay.", "Mm-hmm.")
OF_AN_ANSWER = 2
FIRST_S = (0.5, 1.2)  # of the answer, when the first comes
APART_S = 3.0  # the answer has gone on by then


@dataclass(frozen=True)
class Murmur:
    """A sound over an answer.

    Attributes:
        answer: the question, and the turn of its answer.
        sound: with the turns that it began: none, if all is well.
    """

    answer: Exchange
    sound: Exchange

    @property
    def was_over_it(self) -> bool:
        """The answer had not ended before the sound began."""
        turn = self.answer.turn
        return turn is not None and turn.timeline.at.get(Event.PLAY_END, 0) > self.sound.asked

    @property
    def goes_on(self) -> bool:
        """The sound was taken for nothing."""
        return not self.sound.turns


def make(config: Config, folder: Path, seed: int) -> list[Said]:
    """A voice that only shows that it listens, and noise, in turns.

    Raises:
        ModelError: the configured voice is no Piper voice.
    """
    voice = PiperVoice.load(
        PiperModel.load(find_voice(resolve(config.tts.model)), VoiceSettings(threads=1))
    )
    spoken = [write_spoken(text, voice.synthesise(text), voice.rate, folder) for text in SPOKEN]
    return list(chain.from_iterable(zip(spoken, noise_bursts(folder, seed), strict=True)))


async def murmur(
    pipeline: Pipeline,
    question: Said,
    sounds: Sequence[Said],
    tries: int,
    seed: int,
    folder: Path,
) -> list[Murmur]:
    """Make sounds over answers, OF_AN_ANSWER over each.

    Raises:
        SessionError, StageError: the conversation or the pipeline broke.
    """
    chance = random.Random(seed)
    left = list(islice(cycle(sounds), tries))
    done: list[Murmur] = []
    while left:
        now, left = left[:OF_AN_ANSWER], left[OF_AN_ANSWER:]
        wav = folder / f"murmur-{len(done)}.wav"
        said, asked = [question, *now], [time.monotonic_ns()]
        async with await pipeline.open() as lane:
            lane.play(question.path, speech_end_s=question.end_s, out=wav)
            await sounding(lane, 0)
            await asyncio.sleep(chance.uniform(*FIRST_S))
            for sound in now:
                asked.append(time.monotonic_ns())
                lane.play(sound.path)
                await asyncio.sleep(APART_S)
            turns = await told(lane)
        answer, *others = attribute(said, asked, turns, [wav] * len(said))
        done += [Murmur(answer, other) for other in others]
    return done


def figures(tries: Sequence[Murmur]) -> dict[str, Figure]:
    """How many answers went on."""
    over = [each for each in tries if each.was_over_it]
    spoken = [each for each in over if each.sound.said.text]
    noise = [each for each in over if not each.sound.said.text]
    return {
        "murmurs": len(over),
        "backchannel_goes_on_share": _share(spoken),
        "noise_goes_on_share": _share(noise),
    }


def _share(tries: Sequence[Murmur]) -> float | None:
    return sum(each.goes_on for each in tries) / len(tries) if tries else None


def tell_faults(tries: Sequence[Murmur], tell: Callable[[str], None]) -> None:
    """One line for each sound that ended an answer."""
    for number, each in enumerate(tries):
        name = each.sound.said.path.stem
        if not each.was_over_it:
            tell(f"sound {number}, {name}: the answer was over before")
        elif not each.goes_on:
            words = "; ".join(turn.transcript for turn in each.sound.turns)
            tell(f"sound {number}, {name}: understood as {words!r}")
