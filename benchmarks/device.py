"""Questions into a microphone, answers out of a loudspeaker, through the real PortAudio.

The devices are those of a PulseAudio server of the benchmark's own, without a sound card: recorded
questions are played into the one that the microphone hears, and the one that the loudspeaker plays
into is recorded. Latency is measured on these recordings, not by the pipeline. Then both are in one
room, so that the echo canceller works on what PortAudio's own stamps tell; and none is there.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks import metrics
from benchmarks.asr_clips import RECORDINGS, word_errors
from benchmarks.command import Progress, add_config_options, make_parser, read_config, run
from benchmarks.device_rig import (
    RECORD_RATE,
    Exchange,
    Spoken,
    ask,
    read_questions,
    require_server,
    server_in,
)
from benchmarks.judge import Judge, plain
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sample import median
from benchmarks.sound_server import SoundServer
from pipeline.errors import AudioError
from pipeline.pipeline import Pipeline

QUESTIONS = ("dog-or-cat.mp3", "seine.mp3", "cars.wav")
JUDGE = "bundle:whisper-base"
NO_CARDS = "/usr/share/alsa/alsa.conf"  # the system's own: it knows of no sound server
NO_CARD_CODE = 2
TRIES = 3
OPEN = ('audio.echo="cancel"', "llm.max_new_tokens=60")
SETTINGS = ('audio.stage="device"', "llm.max_new_tokens=16")


@dataclass(frozen=True)
class Open:
    """What came of a loudspeaker that the microphone hears as loud as itself.

    Attributes:
        loss_db: echo return loss enhancement at the end.
        self_turns: that nobody but the echo began.
    """

    exchanges: list[Exchange]
    loss_db: float
    self_turns: int


@dataclass(frozen=True)
class Kind:
    """What both devices of a case are."""

    rate: int
    channels: int
    sample_format: str

    @property
    def name(self) -> str:
        """As a part of a metric."""
        width = "mono" if self.channels == 1 else "stereo"
        return f"{self.rate}-{width}-{self.sample_format}"

    @property
    def options(self) -> str:
        """A mixer in software does not say what its devices are."""
        return (
            f"audio.options={{rate={self.rate}, input_channels={self.channels}, "
            f'output_channels={self.channels}, sample_format="{self.sample_format}"}}'
        )


ALL = tuple(Kind(*each) for each in product((44_100, 48_000), (1, 2), ("int16", "float32")))
QUICK = (Kind(44_100, 1, "int16"), Kind(48_000, 2, "float32"))


@dataclass
class Case:
    """What came of one kind of device.

    Attributes:
        xruns: that the system told of.
        answer_wrong, answer_words: of what an independent Whisper hears of the answers.
    """

    exchanges: list[Exchange]
    xruns: int
    answer_wrong: int = 0
    answer_words: int = 0

    @property
    def question_words(self) -> tuple[int, int]:
        """Wrong words of what was understood, and words said."""
        pairs = [
            word_errors(each.said.text, each.ended.transcript if each.ended else "")
            for each in self.exchanges
        ]
        return sum(wrong for wrong, _ in pairs), sum(words for _, words in pairs)

    @property
    def latencies(self) -> list[float]:
        """Of each answer that was heard."""
        return [each.latency_ms for each in self.exchanges if each.latency_ms is not None]

    @property
    def stamp_errors(self) -> list[float]:
        """Likewise."""
        return [each.stamp_error_ms for each in self.exchanges if each.stamp_error_ms is not None]

    @property
    def unanswered(self) -> int:
        """Questions without an answer."""
        return sum(not each.is_answered for each in self.exchanges)

    def judge(self, judge: Judge) -> None:
        """Let somebody else listen to the answers."""
        for each in self.exchanges:
            reply = plain(each.ended.reply) if each.ended else ""
            wrong, words = word_errors(reply, judge.hear(each.answer, RECORD_RATE))
            self.answer_wrong += wrong
            self.answer_words += words


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.DEVICE, __doc__, "--quick --json device.json")
    add_config_options(parser)
    parser.add_argument("--recordings", type=Path, default=RECORDINGS, help="folder of clips")
    run(
        metrics.DEVICE,
        parser,
        arguments,
        lambda options, progress: asyncio.run(measure(options, progress)),
    )
    return 0


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """All kinds of devices.

    Raises:
        AudioError: there is no sound server here, or a clip cannot be read.
        VoxringError: the pipeline fails.
    """
    require_server()
    before = load_now()
    questions = read_questions([options.recordings / name for name in QUESTIONS])
    cases: dict[str, Case] = {}
    with (
        tempfile.TemporaryDirectory(prefix="voxring-") as folder,
        server_in(Path(folder)) as server,
    ):
        for kind in QUICK if options.quick else ALL:
            cases[kind.name] = await converse(options, server, kind, questions, progress)
        both = await converse_openly(options, server, questions, progress)
    progress("without a sound card")
    without_s = max(without_card_s() for _ in range(TRIES))
    progress("what was heard of the answers")
    judge = Judge(JUDGE)
    for case in cases.values():
        case.judge(judge)
    return make_result(
        metrics.DEVICE.name,
        before=before,
        n=sum(len(case.exchanges) for case in cases.values()),
        metrics=figures(cases)
        | {
            "open_erle_db": both.loss_db,
            "open_self_turns": both.self_turns,
            "open_unanswered": sum(not each.is_answered for each in both.exchanges),
            "without_card_s": without_s,
        },
        settings={
            "quick": options.quick,
            "config": Path(options.config).name,
            "set": options.overrides,
        },
        packages=("sounddevice", "soxr", "livekit"),
    )


async def converse(
    options: argparse.Namespace,
    server: SoundServer,
    kind: Kind,
    questions: Sequence[Spoken],
    progress: Progress,
) -> Case:
    """One conversation on devices of one kind."""
    room, speaker = f"room-{kind.name}", f"speaker-{kind.name}"
    for device in (room, speaker):
        server.plug(
            device, rate=kind.rate, channels=kind.channels, sample_format=kind.sample_format
        )
    server.microphone(f"microphone {kind.name}", room)
    server.speaker(f"loudspeaker {kind.name}", speaker)
    names = (
        f'audio.input="microphone {kind.name}"',
        f'audio.output="loudspeaker {kind.name}"',
    )
    config = read_config(options, *SETTINGS, *names, kind.options)
    async with Pipeline(config, progress.program) as pipeline, await pipeline.open() as lane:
        progress(f"{kind.name}: {len(questions)} questions")
        exchanges = [await ask(server, lane, said, room, speaker) for said in questions]
        return Case(exchanges, lane.device.xruns)


async def converse_openly(
    options: argparse.Namespace,
    server: SoundServer,
    questions: Sequence[Spoken],
    progress: Progress,
) -> Open:
    """One conversation in which the microphone hears the loudspeaker, undamped and at once."""
    room = "open room"
    server.plug("open", rate=48_000, channels=1, sample_format="int16")
    server.microphone(f"microphone {room}", "open")
    server.speaker(f"loudspeaker {room}", "open")
    names = (f'audio.input="microphone {room}"', f'audio.output="loudspeaker {room}"')
    config = read_config(options, *SETTINGS, *names, *OPEN)
    async with Pipeline(config, progress.program) as pipeline, await pipeline.open() as lane:
        progress(f"{room}: {len(questions)} questions")
        exchanges = [await ask(server, lane, said, "open", "open") for said in questions]
        return Open(exchanges, lane.device.echo_loss_db, lane.turns_begun - len(questions))


def without_card_s() -> float:
    """Until `voxring talk` says that there is no sound card, s.

    Raises:
        AudioError: it did not.
    """
    environment = {**os.environ, "ALSA_CONFIG_PATH": NO_CARDS}
    before = time.monotonic()
    command = [sys.executable, "-m", "pipeline", "talk"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    if done.returncode != NO_CARD_CODE or done.stderr.count("\n") != 1:
        raise AudioError(f"voxring talk without a sound card: {done.returncode} {done.stderr!r}")
    return time.monotonic() - before


def figures(cases: dict[str, Case]) -> dict[str, Figure]:
    """Over all kinds, and some of each."""
    latencies = [ms for case in cases.values() for ms in case.latencies]
    errors = [ms for case in cases.values() for ms in case.stamp_errors]
    found: dict[str, Figure] = {
        "question_words_wrong_share": _share(case.question_words for case in cases.values()),
        "answer_words_wrong_share": _share(
            (case.answer_wrong, case.answer_words) for case in cases.values()
        ),
        "latency_p50_ms": median(latencies),
        "latency_max_ms": max(latencies, default=None),
        "stamp_error_p50_ms": median(errors),
        "unanswered": sum(case.unanswered for case in cases.values()),
        "xruns": sum(case.xruns for case in cases.values()),
    }
    for name, case in cases.items():
        found |= {
            f"question_words_wrong_share.{name}": _share([case.question_words]),
            f"answer_words_wrong_share.{name}": _share([(case.answer_wrong, case.answer_words)]),
            f"latency_p50_ms.{name}": median(case.latencies),
            f"stamp_error_p50_ms.{name}": median(case.stamp_errors),
            f"xruns.{name}": case.xruns,
        }
    return found


def _share(counts: Sequence[tuple[int, int]] | Iterator[tuple[int, int]]) -> float | None:
    wrong, words = map(sum, zip(*counts, strict=True))
    return wrong / words if words else None


if __name__ == "__main__":
    sys.exit(main())
