"""One turn of the configured language model, measured: `python -P -m stages.llm.profiling`.

The configuration on standard input, the profile as JSON on standard output. It is a program of its
own so that it runs with the environment and the memory that the stage would have, alone.
"""

import ctypes
import gc
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.config import Config, usable_cores, validate
from pipeline.errors import StageError
from pipeline.kernel import Cores, quota
from stages.llm.engine import Engine
from stages.llm.gpu_profile import GpuProfile
from stages.report import explain
from stages.run import find_stage
from stages.stage import Host

HISTORY = 400  # ids at most
UTTERANCE = 12
STEPS = 24
PIECE = 64  # ids computed at once while the history is filled
READ_MIB = 256  # read at once to measure the memory's bandwidth: far beyond any cache


@dataclass(frozen=True)
class Step:
    """What one id took.

    Attributes:
        ms: wall time.
        cpu_ms: of all threads of the program.
        minor_faults: pages that were mapped on first touch.
        major_faults: pages that had to be read from the disk.
        preempted: times that a thread lost its core to another program.
        grown: memory blocks of the Python heap that stayed.
        heap_grown: bytes of the C heap that stayed; none: not known here.
    """

    ms: float
    cpu_ms: float
    minor_faults: int
    major_faults: int
    preempted: int
    grown: int
    heap_grown: int | None


@dataclass(frozen=True)
class Profile:
    """What one turn took, and on what; None: it could not be read.

    Attributes:
        stage: that ran it.
        device: of the model.
        threads: of the model.
        budget: threads of all stages that work while it does.
        cores: that this program may use.
        quota: cores that its control group may use.
        load_s: from start to ready.
        first_ms: the first turn's first id after its last word.
        again_ms: the second turn's.
        steps: one for each id of the second turn's reply.
        read_bytes: of weights, for each id.
        read_gb_s: bandwidth that was measured with as many threads.
        stolen: share of the time in which the host ran other machines.
        waiting: share of the time in which some program here waited for a core.
        swapped_mib: of this program.
        clock_share: of the processor's highest clock, while it ran.
        gpu: what an NVIDIA GPU showed, if the model is on one.
    """

    stage: str
    device: str
    threads: int
    budget: int
    cores: int
    quota: float | None
    load_s: float
    first_ms: float
    again_ms: float
    steps: list[Step]
    read_bytes: int | None
    read_gb_s: float
    stolen: float | None
    waiting: float | None
    swapped_mib: float | None
    clock_share: float | None
    gpu: GpuProfile | None = None

    @classmethod
    def parse(cls, raw: dict[str, Any]) -> "Profile":
        """The inverse of `asdict`."""
        gpu = raw["gpu"] and GpuProfile(**raw["gpu"])
        return cls(**{**raw, "steps": [Step(**step) for step in raw["steps"]], "gpu": gpu})


def main() -> int:
    """Measure, and print."""
    out, sys.stdout = sys.stdout, sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    answer: dict[str, Any]
    try:
        config = validate(Config, json.load(sys.stdin), "the configuration")
        answer = {"profile": asdict(profile(config))}
    except Exception as error:
        answer = explain(error)
    out.write(json.dumps(answer) + "\n")
    return 0 if "profile" in answer else 1


def profile(config: Config) -> Profile:
    """Load the configured stage and let it answer twice.

    Raises:
        VoxringError: it cannot be loaded, or is none.
    """
    if config.llm.stage == "scripted":
        raise StageError("llm.stage 'scripted' has no model to look at")
    began = time.perf_counter()
    host = Host(config, config.llm, time.monotonic_ns, lambda *_: None)
    stage: Any = find_stage("llm", config.llm.stage)(host)
    stage.load()
    load_s = time.perf_counter() - began
    before = Cores.now()
    first_ms, _ = turn(stage.engine)
    again_ms, steps = turn(stage.engine)
    after = Cores.now()
    return Profile(
        stage=config.llm.stage,
        device=config.llm.device,
        threads=config.llm.threads,
        budget=config.llm.threads + config.tts.threads,
        cores=usable_cores(),
        quota=quota(),
        load_s=load_s,
        first_ms=first_ms,
        again_ms=again_ms,
        steps=steps,
        read_bytes=getattr(stage.engine, "read_bytes", None),
        read_gb_s=read_bandwidth(config.llm.threads),
        stolen=after.stolen(before),
        waiting=after.waiting(before),
        swapped_mib=_status_kib("VmSwap"),
        clock_share=_clock_share(),
        gpu=_gpu(stage.engine, config.llm.device),
    )


def _gpu(engine: Any, device: str) -> GpuProfile | None:
    if not device.startswith("cuda"):
        return None
    from stages.llm.cuda.profiling import take_gpu_profile  # needs torch and triton

    return take_gpu_profile(engine)


def turn(engine: Engine) -> tuple[float, list[Step]]:
    """One turn on a lane of its own: ms to the first id after the last word, and the steps."""
    lane = -2
    count = min(HISTORY, engine.context // 2)
    ids = (np.arange(count + UTTERANCE) % 90).astype(np.int32)
    engine.open(lane)
    gc.freeze()  # collections look at what is new only
    for start in range(0, len(ids) - 2, PIECE):
        engine.extend(lane, ids[start : min(start + PIECE, len(ids) - 2)], start)
    began = time.perf_counter()
    engine.extend(lane, ids[-2:], len(ids) - 2)
    engine.step([lane])
    first_ms = (time.perf_counter() - began) * 1e3
    steps = [measure(engine, lane) for _ in range(min(STEPS, engine.context - len(ids) - 2))]
    engine.close(lane)
    gc.unfreeze()
    return first_ms, steps


def measure(engine: Engine, lane: int) -> Step:
    """One id, and what it cost."""
    before, heap = _usage(), _heap()
    blocks = sys.getallocatedblocks()
    began = time.perf_counter()
    engine.step([lane])
    ms = (time.perf_counter() - began) * 1e3
    gc.collect()  # what waits for it is not kept
    grown = sys.getallocatedblocks() - blocks
    after, heap_after = _usage(), _heap()
    return Step(
        ms=ms,
        cpu_ms=(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3,
        minor_faults=after.ru_minflt - before.ru_minflt,
        major_faults=after.ru_majflt - before.ru_majflt,
        preempted=after.ru_nivcsw - before.ru_nivcsw,
        grown=grown,
        heap_grown=None if heap is None or heap_after is None else heap_after - heap,
    )


def read_bandwidth(threads: int) -> float:
    """GB/s at which this machine reads memory, the best of five."""
    parts = np.array_split(np.ones(READ_MIB << 18, np.float32), threads)
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(5):
            began = time.perf_counter()
            list(pool.map(np.max, parts))  # NumPy lets others run meanwhile
            best = max(best, sum(p.nbytes for p in parts) / (time.perf_counter() - began) / 1e9)
    return best


def _usage() -> resource.struct_rusage:
    return resource.getrusage(resource.RUSAGE_SELF)


class _MallInfo(ctypes.Structure):
    """See mallinfo2(3)."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


@cache
def _mallinfo() -> Callable[[], _MallInfo] | None:
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        return None
    ask.restype = _MallInfo
    return ask


def _heap() -> int | None:
    """Bytes that glibc's heap has given out; none: another C library."""
    ask = _mallinfo()
    if ask is None:
        return None
    info = ask()
    return int(info.uordblks + info.hblkhd)


def _status_kib(name: str) -> float | None:
    """A size from /proc/self/status, in MiB."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / 1024
    except (OSError, ValueError):
        return None
    return None


def _clock_share() -> float | None:
    """Of the highest clock, the slowest core's."""
    try:
        cores = [
            Path(f"/sys/devices/system/cpu/cpu{core}/cpufreq") for core in os.sched_getaffinity(0)
        ]
        shares = [
            int((core / "scaling_cur_freq").read_text())
            / int((core / "cpuinfo_max_freq").read_text())
            for core in cores
        ]
        return min(shares)
    except (OSError, ValueError, AttributeError):
        return None


if __name__ == "__main__":
    sys.exit(main())
