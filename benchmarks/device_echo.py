"""Open speakers: does it interrupt itself, and can it be interrupted?

The programs of a real conversation run on a sound card in software, in whose room the microphone
hears the loudspeaker: softer, later, and by way of the walls. Nothing but the card is simulated:
the echo canceller of the edge "device" works on what the card's stamps tell.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import metrics, turns_barge_in
from benchmarks.asr_clips import RECORDINGS
from benchmarks.command import Progress, add_config_options, make_parser, read_config, run
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sample import median
from benchmarks.turns_clips import Said, read_said
from benchmarks.turns_talk import Interruption, Manner, began, interrupt
from pipeline.client_lane import ClientLane
from pipeline.events import TurnEnded
from pipeline.pipeline import Pipeline
from stages.event import Event
from stages.outcome import Outcome

ROOT = Path(__file__).parents[1]
QUESTIONS = ("dog-or-cat.mp3", "seine.mp3", "cars.wav")
LEVELS_DB = (-20, -10)
DELAYS_MS = (40, 120, 200)
SETTINGS = (
    'audio.stage="benchmarks.sound_card_edge:CardAudio"',
    'audio.echo="cancel"',
    *turns_barge_in.SETTINGS,
)
LONG = "llm.max_new_tokens=60"  # of answers that nobody interrupts
MANNER = Manner(chain=4, earliest_s=1.0, latest_s=3.0)
SEED = 7
SLACK_NS = 300_000_000  # behind a question, in which its turn may begin anew
PATIENCE_S = 20.0  # for an answer to begin and to end
REST_S = 0.5  # between an answer and the next question


@dataclass(frozen=True)
class Plan:
    """How much.

    Attributes:
        conditions: (dB, ms) of the echo.
        seconds: of answers that the microphone hears, in each.
        tries: interruptions in each.
    """

    conditions: tuple[tuple[int, int], ...]
    seconds: float
    tries: int


FULL = Plan(tuple((db, ms) for db in LEVELS_DB for ms in DELAYS_MS), seconds=60, tries=4)
QUICK = Plan(((-20, 40), (-10, 200)), seconds=15, tries=2)


@dataclass
class Echo:
    """What came of one condition.

    Attributes:
        seconds: of answers that sounded.
        asked: (from, to) of each question, monotonic ns.
        begun: when each turn's voice began.
        interrupted: answers that ended because of a voice while nobody asked anything, which can
            only be their own.
        held: answers that were silent for a moment because of it.
        loss_db: echo return loss enhancement, at the end.
        tries: what was said over answers.
    """

    seconds: float = 0.0
    asked: list[tuple[int, int]] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)
    interrupted: int = 0
    held: int = 0
    loss_db: float = 0.0
    tries: list[Interruption] = field(default_factory=list)

    @property
    def self_turns(self) -> int:
        """Turns that began while nobody asked anything."""
        return sum(not self.is_asked(at) for at in self.begun)

    def is_asked(self, at: int) -> bool:
        """Whether somebody asks something at that moment: a pause in it may have been answered."""
        return any(start <= at < end + SLACK_NS for start, end in self.asked)

    @property
    def silences_ms(self) -> list[float]:
        """From the first voiced sample of each interruption to the answer's last one."""
        found = (silence_ms(each) for each in self.tries)
        return [ms for ms in found if ms is not None and ms >= 0]  # below: it paused already


def silence_ms(each: Interruption) -> float | None:
    """From the first voiced sample of what is said to the last sample of the answer.

    The last sample is what the device says it is: the canceller's card keeps no file. None of an
    answer that was held and went on: that is counted apart.
    """
    at = each.answer.timeline.at if each.answer else {}
    if Event.PLAY_END not in at or Event.GO_ON in at or each.over.onset is None:
        return None
    return (at[Event.PLAY_END] - each.over.onset) / 1e6


def has_gone_on(each: Interruption) -> bool:
    """The answer was held, and went on before it was cut: the words came late, or were lost."""
    return each.answer is not None and Event.GO_ON in each.answer.timeline.at


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.DEVICE_ECHO, __doc__, "--quick --json device_echo.json")
    add_config_options(parser)
    parser.add_argument("--recordings", type=Path, default=RECORDINGS, help="folder of clips")
    run(
        metrics.DEVICE_ECHO,
        parser,
        arguments,
        lambda options, progress: asyncio.run(measure(options, progress)),
    )
    return 0


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """All conditions, each with programs of its own.

    Raises:
        VoxringError: a clip cannot be read, or the pipeline fails.
    """
    before = load_now()
    plan = QUICK if options.quick else FULL
    # The edge of this benchmark is not part of what is installed.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    found: dict[str, Echo] = {}
    with tempfile.TemporaryDirectory() as folder:
        said = read_said([options.recordings / name for name in QUESTIONS], Path(folder))
        for db, ms in plan.conditions:
            settings = f"audio.options={{echo_db={db}.0, delay_ms={ms}.0}}"
            config = read_config(options, *SETTINGS, LONG, settings)
            name = f"{-db}db-{ms}ms"
            async with Pipeline(config, progress.program) as pipeline:
                progress(f"{name}: {plan.seconds:.0f} s of answers in the microphone")
                found[name] = await listen(pipeline, said, plan.seconds)
                progress(f"{name}: talking over answers")
                place = Path(folder) / name
                tries = await interrupt(pipeline, said, MANNER, plan.tries, SEED, place)
                found[name].tries = tries
                _tell(found[name], progress)
    return make_result(
        metrics.DEVICE_ECHO.name,
        before=before,
        n=len(found),
        metrics=figures(found, plan.seconds),
        settings={
            "quick": options.quick,
            "seconds": plan.seconds,
            "tries": plan.tries,
            "config": Path(options.config).name,
            "set": options.overrides,
        },
        packages=("livekit",),
    )


def _tell(echo: Echo, progress: Callable[[str], None]) -> None:
    """What is not as it should be, a line each."""
    for each in echo.tries:
        for fault in turns_barge_in.faults(each.over) if each.answer else ["it was over before"]:
            progress(f"{each.over.said.path.stem}: {fault}")


def figures(found: dict[str, Echo], seconds: float) -> dict[str, Figure]:
    """Sums over all conditions, and each one's part.

    Args:
        seconds: of answers that each should have heard.
    """
    silences = [ms for echo in found.values() for ms in echo.silences_ms]
    metrics: dict[str, Figure] = {
        "self_interruptions": sum(echo.interrupted for echo in found.values()),
        "self_turns": sum(echo.self_turns for echo in found.values()),
        "self_holds": sum(echo.held for echo in found.values()),
        "echo_s": sum(echo.seconds for echo in found.values()),
        "echo_least_share": min((echo.seconds / seconds for echo in found.values()), default=None),
        "erle_db": min((echo.loss_db for echo in found.values()), default=None),
        "barge_in_p50_ms": median(silences),
        "barge_in_max_ms": max(silences, default=None),
        "tries": sum(len(echo.tries) for echo in found.values()),
        "tries_too_late": sum(not t.answer for echo in found.values() for t in echo.tries),
        "tries_gone_on": sum(has_gone_on(t) for echo in found.values() for t in echo.tries),
    }
    for name, echo in found.items():
        metrics |= {
            f"self_interruptions.{name}": echo.interrupted,
            f"self_turns.{name}": echo.self_turns,
            f"self_holds.{name}": echo.held,
            f"erle_db.{name}": echo.loss_db,
            f"barge_in_max_ms.{name}": max(echo.silences_ms, default=None),
        }
    return metrics


async def listen(pipeline: Pipeline, said: Sequence[Said], seconds: float) -> Echo:
    """Ask whenever nothing is heard, until so much of answers was.

    Raises:
        VoxringError: the pipeline fails.
    """
    echo = Echo()
    limit = time.monotonic() + 3 * seconds + PATIENCE_S
    async with await pipeline.open() as lane:
        number = 0
        while echo.seconds < seconds and time.monotonic() < limit:
            what = said[number % len(said)]
            number += 1
            start = time.monotonic_ns()
            lane.play(what.path, speech_end_s=what.end_s)
            echo.asked.append((start, start + round(what.duration_s * 1e9)))
            await _answers(lane, echo)
            await asyncio.sleep(REST_S)
        echo.loss_db = lane.device.echo_loss_db
    return echo


async def _answers(lane: ClientLane, echo: Echo) -> None:
    """Wait until the answer to a question has ended, and all that it set off."""
    before = lane.turns_ended
    while True:
        try:
            async with asyncio.timeout(PATIENCE_S):
                event = await lane.next_event()
        except TimeoutError:
            return
        if not isinstance(event, TurnEnded):
            continue
        at = event.timeline.at
        echo.begun.append(began(event))
        if event.timeline.outcome is Outcome.INTERRUPTED:
            voice = at.get(Event.HOLD, at.get(Event.INTERRUPT, 0))
            echo.interrupted += not echo.is_asked(voice)
        echo.held += Event.GO_ON in at
        if Event.PLAY_START in at and Event.PLAY_END in at:
            echo.seconds += (at[Event.PLAY_END] - at[Event.PLAY_START]) / 1e9
        if lane.turns_ended > before and lane.turns_ended >= lane.turns_begun:
            return


if __name__ == "__main__":
    sys.exit(main())
