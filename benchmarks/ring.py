"""One token between two sleeping programs, ours and others side by side.

Each message is sent only when its receiver is asleep again. The transports take turns in short
rounds of random order, so that whatever else the machine does hits all of them alike.
"""

import argparse
import contextlib
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from benchmarks import metrics, usage
from benchmarks.audio_copies import count_copies
from benchmarks.channel import (
    Channel,
    ChannelError,
    FullQueueChannel,
    LanesChannel,
    ScatteredChannel,
    SimpleQueueChannel,
    TokenChannel,
    WebsocketChannel,
)
from benchmarks.command import FAILED, INTERRUPTED, MISTAKE, Progress, make_parser, positive, show
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sample import percentile
from pipeline.errors import OutputError

RUNS = 5  # of the transfer in batches
ROUND = 10  # messages of one transport in a row
WARM_UP = 20  # messages of each transport that are not counted
PAUSE_S = (0.001, 0.003)  # before a message: its receiver falls asleep meanwhile


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.RING, __doc__, "--quick --json ring.json")
    parser.add_argument("--messages", type=positive, help="of each transport (5000; quick: 1000)")
    parser.add_argument(
        "--seconds", type=float, help="a reader is idle for its CPU time (20; quick: 5)"
    )
    options = parser.parse_args(arguments)
    progress = Progress(metrics.RING.name)
    try:
        result = measure(options, progress)
        progress.end()
        show(metrics.RING, result, options.json)
    except ChannelError as error:
        parser.exit(FAILED, f"error: {error}\n")
    except OutputError as error:
        parser.exit(MISTAKE, f"error: {error}\n")
    except KeyboardInterrupt:
        parser.exit(INTERRUPTED, "interrupted\n")
    return 0


def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The whole benchmark.

    Raises:
        ChannelError: a receiver died.
    """
    before = load_now()
    messages = options.messages or (1000 if options.quick else 5000)
    seconds = options.seconds or (5 if options.quick else 20)
    progress("starting the receivers")
    latencies, missed = compare(transports(), messages, progress)
    lanes = lanes_figures(messages, seconds, progress)
    batches = batch_figures(100_000 if options.quick else 1_000_000, progress)
    figures = {**latency_figures(latencies), **lanes, **batches, **count_copies(progress)}
    figures["recoveries"] = missed + lanes["recoveries"] + batches["recoveries"]
    has_socket = WebsocketChannel.name in latencies
    if not has_socket:
        progress("no websocket_json: websockets is not installed")
    return make_result(
        metrics.RING.name,
        before=before,
        n=messages,
        metrics=figures,
        settings={"quick": options.quick, "messages": messages, "idle_s": seconds},
        packages=("websockets",) if has_socket else (),
    )


def transports() -> list[Callable[[], Channel]]:
    """Those that this installation has."""
    always: list[Callable[[], Channel]] = [TokenChannel, SimpleQueueChannel, FullQueueChannel]
    return [*always, WebsocketChannel] if WebsocketChannel.is_possible() else always


def compare(
    make: Sequence[Callable[[], Channel]], messages: int, progress: Progress
) -> tuple[dict[str, list[int]], int]:
    """One-way times of each channel, ns, and the wake-ups that ours missed."""
    with contextlib.ExitStack() as stack:
        channels = [stack.enter_context(contextlib.closing(one())) for one in make]
        latencies = take_turns(channels, messages, progress)
        return latencies, sum(c.recoveries for c in channels if isinstance(c, TokenChannel))


def lanes_figures(messages: int, seconds: float, progress: Progress) -> dict[str, float]:
    """Many open lanes beside one: by themselves, since they fill the caches."""
    progress("opening lanes")
    with contextlib.closing(TokenChannel()) as one, contextlib.closing(LanesChannel()) as many:
        channels: list[Channel] = [one, many, ScatteredChannel(many)]
        with on_one_core([one.pid, many.pid]):
            latencies = take_turns(channels, messages, progress)
        halves = {name: float(np.median(sample)) / 1e3 for name, sample in latencies.items()}
        return {
            "lanes_p50_us": halves["lanes"],
            "lanes_ratio_p50": halves["lanes"] / halves["token"],
            "scattered_p50_us": halves["scattered"],
            "scattered_ratio_p50": halves["scattered"] / halves["token"],
            "idle_cpu_percent": idle_percent(many.pid, seconds, progress),
            "recoveries": one.recoveries + many.recoveries,
        }


@contextlib.contextmanager
def on_one_core(pids: Iterable[int]) -> Iterator[None]:
    """Keep us and other programs on one core: where each wakes up would decide a comparison."""
    before = os.sched_getaffinity(0)
    for pid in (0, *pids):
        os.sched_setaffinity(pid, {min(before)})
    try:
        yield
    finally:
        for pid in (0, *pids):
            os.sched_setaffinity(pid, before)


def batch_figures(count: int, progress: Progress) -> dict[str, float]:
    """Ids in batches, as fast as they go."""
    with contextlib.closing(TokenChannel("batch")) as batches:
        rates = transfer(batches, RUNS, count, progress)
        return {
            "batch_mtokens_per_s": float(np.median(rates)),
            "recoveries": batches.recoveries,
        }


def take_turns(
    channels: Sequence[Channel], messages: int, progress: Progress
) -> dict[str, list[int]]:
    """One-way times of each channel, ns."""
    chance = random.Random(0)
    for channel in channels:
        send_round(channel, range(WARM_UP), chance)
    latencies: dict[str, list[int]] = defaultdict(list)
    for first in range(0, messages, ROUND):
        progress(f"{first // 100 * 100} of {messages} messages by each transport")
        ids = range(first, min(first + ROUND, messages))
        for channel in chance.sample(channels, len(channels)):
            latencies[channel.name] += send_round(channel, ids, chance)
    return latencies


def send_round(channel: Channel, ids: Iterable[int], chance: random.Random) -> list[int]:
    """Send ids, each to a sleeping receiver; the one-way times, ns."""
    times = []
    for id in ids:
        time.sleep(chance.uniform(*PAUSE_S))
        sent = time.monotonic_ns()
        channel.send(id)
        times.append(channel.arrival(id) - sent)
    return times


def transfer(channel: TokenChannel, runs: int, count: int, progress: Progress) -> list[float]:
    """Million ids a second of each run."""
    rates = []
    for run in range(runs):
        progress(f"{count} ids in batches, run {run + 1} of {runs}")
        began = time.monotonic_ns()
        channel.send_series(count)
        rates.append(count * 1e3 / (channel.arrival(count) - began))
    return rates


def idle_percent(pid: int, seconds: float, progress: Progress) -> float:
    """Of one core, by a parked receiver."""
    progress(f"a receiver that gets nothing for {seconds:g} s")
    earlier = usage.take({"reader": pid})
    time.sleep(seconds)
    return usage.take({"reader": pid}).cpu_percent(earlier)["reader"]


def latency_figures(latencies: dict[str, list[int]]) -> dict[str, Figure]:
    """Percentiles of each channel in µs, and how ours compares.

    Args:
        latencies: one-way times by channel, ns; "token" and "simplequeue" among them.
    """
    figures: dict[str, Figure] = {}
    for name, sample in latencies.items():
        for percent in (50, 99):
            figures[f"{name}_p{percent}_us"] = percentile((ns / 1e3 for ns in sample), percent)
    for percent in (50, 99):
        figures[f"token_ratio_p{percent}"] = ratio(latencies, "token", "simplequeue", percent)
    return figures


def ratio(
    latencies: Mapping[str, Sequence[int]], one: str, other: str, percent: int
) -> float | None:
    """A percentile of one channel over that of another; None of nothing."""
    ours, theirs = percentile(latencies[one], percent), percentile(latencies[other], percent)
    return ours / theirs if ours and theirs else None


if __name__ == "__main__":
    sys.exit(main())
