"""What the recogniser makes of short sounds over an answer: of "uh-huh", and of "stop".

Each is said by the configured voice at three speeds and, where the program espeak-ng is installed,
by three voices of that; then it is heard in three rooms as over an answer, pre-roll included.
"""

import argparse
import io
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import soundfile
from numpy.typing import NDArray

from benchmarks import metrics
from benchmarks.command import Progress, make_parser, run
from benchmarks.result import Figure, Result, load_now, make_result
from pipeline.config import Config, load_config
from pipeline.models import resolve
from stages.asr.backchannels import Backchannels
from stages.asr.listener import Listener
from stages.asr.recogniser import finished
from stages.asr.transcript import Transcript
from stages.asr.whisper import Whisper
from stages.audio.convert import convert
from stages.topology import INPUT_RATE
from stages.tts.piper_model import PiperModel, VoiceSettings, find_voice
from stages.tts.piper_voice import PiperVoice

MURMURS = (
    *("Uh-huh.", "Mm-hmm.", "Mhm.", "Hmm.", "Okay.", "Yeah.", "Right.", "Ah.", "Oh.", "I see."),
    *("Mm.", "Huh."),
)
COMMANDS = (
    *("Stop.", "Wait.", "No.", "Hold on.", "What?", "Why?", "Stop it.", "Hey.", "Sorry."),
    *("Go back.", "Cancel.", "How much?", "Be quiet.", "Again?", "Next.", "Who?", "Listen."),
)
SPEEDS = (0.8, 1.0, 1.3)
ESPEAK = ("en-us", "en-gb+f3", "en-us+m3")
SOUND = 0.01  # of its peak, from which a sample is one of the voice
ESPEAK_S = 10.0


@dataclass(frozen=True)
class Room:
    """How a sound arrives.

    Attributes:
        peak: of the voice.
        noise: rms of what is behind it.
        before_s: of noise, as the pre-roll.
        after_s: of it, when a decode begins.
    """

    peak: float
    noise: float
    before_s: float
    after_s: float


ROOMS = (Room(0.1, 1e-4, 0.3, 0.1), Room(0.5, 1e-3, 0.25, 0.25), Room(0.3, 3e-3, 0.3, 0.06))


@dataclass(frozen=True)
class Heard:
    """A short sound, and what became of it."""

    meant: str
    is_murmur: bool
    transcript: Transcript
    sound_s: float


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.MURMURS, __doc__, "--quick --json murmurs.json")
    run(metrics.MURMURS, parser, arguments, measure)
    return 0


def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The run that was asked for.

    Raises:
        VoxringError: a model cannot be read.
    """
    before, config = load_now(), load_config()
    ear = listener(config)
    heard: list[Heard] = []
    for text in chain(MURMURS, COMMANDS):
        progress(text)
        heard += [
            listen(ear, text, sound, room)
            for sound in voices(text, config, quick=options.quick)
            for room in ROOMS
        ]
    return make_result(
        metrics.MURMURS.name,
        before=before,
        n=len(heard),
        metrics=figures(heard, config),
        settings={
            "quick": options.quick,
            "espeak": shutil.which("espeak-ng") is not None,
            "unsure_below": config.turn.unsure_below,
        },
        packages=("faster-whisper", "piper-tts"),
    )


def listener(config: Config) -> Listener:
    """The recogniser as it is configured, on one thread."""
    whisper = Whisper(
        resolve(config.asr.model),
        compute_type=config.asr.compute_type,
        threads=1,
        languages=config.asr.languages,
    )
    return Listener(whisper, config.asr.window_s)


def voices(text: str, config: Config, *, quick: bool) -> Iterator[NDArray[np.float32]]:
    """A text as each voice says it, float32 [n] at INPUT_RATE."""
    settings = find_voice(resolve(config.tts.model))
    for speed in SPEEDS[1:2] if quick else SPEEDS:
        model = PiperModel.load(settings, VoiceSettings(threads=1, speed=speed))
        voice = PiperVoice.load(model)
        said = voice.synthesise(text).astype(np.float32) / np.float32(32768)
        yield as_input(said, voice.rate)
    if shutil.which("espeak-ng") and not quick:
        for name in ESPEAK:
            spoken = subprocess.run(
                ["espeak-ng", "-v", name, "--stdout", text],
                capture_output=True,
                check=True,
                timeout=ESPEAK_S,
            )
            sound, rate = soundfile.read(io.BytesIO(spoken.stdout), dtype="float32")
            yield as_input(sound, rate)


def as_input(sound: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """At the microphone's rate, without silence around it, with a peak of 1."""
    sound = convert(sound, rate).astype(np.float32) / np.float32(32768)
    sound /= np.abs(sound).max()
    voiced = np.flatnonzero(np.abs(sound) > SOUND)
    return sound[voiced[0] : voiced[-1] + 1]


def listen(ear: Listener, text: str, sound: NDArray[np.float32], room: Room) -> Heard:
    """What is understood of it."""
    padding = tuple(round(seconds * INPUT_RATE) for seconds in (room.before_s, room.after_s))
    padded = np.pad(sound * np.float32(room.peak), padding)
    padded += np.random.default_rng(0).normal(0, room.noise, len(padded)).astype(np.float32)
    ear.clear()
    ear.hear((padded * 32767).astype(np.int16))
    transcript = finished(ear.decode(final=True))
    return Heard(text, text in MURMURS, transcript, len(padded) / INPUT_RATE)


def figures(heard: Sequence[Heard], config: Config) -> dict[str, Figure]:
    """Who would go on, and whom the rule for unsure words would keep silent."""
    turn = config.turn
    rule = Backchannels(turn.backchannels, turn.commands, turn.unsure_below)
    murmurs = [each for each in heard if each.is_murmur]
    commands = [each for each in heard if not each.is_murmur]
    words = [each for each in murmurs if each.transcript.words]
    invented = [each for each in words if not rule.match(each.transcript.words)]
    return {
        "murmurs": len(murmurs),
        "murmurs_go_on_share": _share(murmurs, rule),
        "murmurs_go_on_share.by-words-alone": _share(
            murmurs, Backchannels(turn.backchannels, turn.commands, -np.inf)
        ),
        "invented": len(invented),
        "invented_unsure_share": _share(invented, rule),
        "commands": len(commands),
        "commands_go_on_share": _share(commands, rule),
        **{
            f"commands_go_on_share.{text.rstrip('.?').replace(' ', '-').lower()}": _share(
                [each for each in commands if each.meant == text], rule
            )
            for text in dict.fromkeys(each.meant for each in commands)
        },
    }


def _share(heard: Sequence[Heard], rule: Backchannels) -> float | None:
    """Of sounds that do not end an answer."""
    return sum(goes_on(each, rule) for each in heard) / len(heard) if heard else None


def goes_on(heard: Heard, rule: Backchannels) -> bool:
    """Whether an answer would go on behind it."""
    said = heard.transcript
    is_hum = rule.is_hum(said.words, said.avg_logprob, heard.sound_s)
    return not said.words or is_hum or rule.match(said.words)


if __name__ == "__main__":
    sys.exit(main())
