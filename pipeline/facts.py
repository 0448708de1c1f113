"""What this machine and this installation are like, as far as voices are concerned."""

import importlib.util
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from pipeline import models
from pipeline.config import Config, usable_cores
from pipeline.errors import VoxringError
from pipeline.kernel import Cores, quota
from pipeline.output import check_writable
from pipeline.prepare import references
from pipeline.process import interpreter
from pipeline.version import VERSION
from ringbuf import memory
from stages.topology import STAGES, topology

NAMES = ("ringbuf", "stages", "pipeline", "configs")  # what voxring installs
LOOK_S = 0.5  # of work, to see what the machine does meanwhile
ASK_S = 20.0  # for another program to answer
CPU = Path("/sys/devices/system/cpu")
# Set for a whole shell, these undo what each stage is given: its share of the cores, and to wait
# without spinning.
PINNING = (
    *("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"),
    *("GOMP_SPINCOUNT", "OMP_DYNAMIC", "MKL_DYNAMIC"),
)


@dataclass(frozen=True)
class Facts:
    """Each was looked at once; None: this system does not say.

    Attributes:
        cores: that this program may use.
        quota: of them, by its control group.
        threads: of each stage's model.
        waiting: share of a moment of work in which some program waited for a core.
        stolen: share of it that the host gave to other machines.
        clock_share: of the highest clock, the fastest core's during that work.
        throttled: times that the processor was slowed down for its heat meanwhile.
        pinning: variables of the environment that tie threads down.
        memory_left: bytes that could still be had.
        lane_bytes: of an open conversation; `lanes` of them may be open.
        open_files, file_bytes: limits of this program (`ulimit -n`, `ulimit -f`).
        missing: models that are not in the cache, by the key that names them.
        sound: why no sound device can be used; "": one can; None: `voxring talk` is not installed.
        foreign: packages that have the names of ours, and where they are.
        versions: what each stage's own interpreter says of voxring; empty where they share one.
        folders: why a folder that conversations are kept in cannot be written, by its key.
        gpu_programs: on the GPUs now; None also where none is to be used.
    """

    cores: int
    quota: float | None
    threads: Mapping[str, int]
    waiting: float | None
    stolen: float | None
    clock_share: float | None
    throttled: int | None
    pinning: Mapping[str, str]
    memory_left: int | None
    lane_bytes: int
    lanes: int
    open_files: int
    file_bytes: int | None
    missing: Mapping[str, str]
    sound: str | None
    foreign: tuple[str, ...]
    versions: Mapping[str, str]
    folders: Mapping[str, str]
    gpu_programs: int | None


def gather(config: Config) -> Facts:
    """Look at everything; it takes about a second."""
    before, hot = Cores.now(), _throttles()
    clock = _clock_at_work(LOOK_S)
    after, hotter = Cores.now(), _throttles()
    layout = topology(config.pipeline.lanes, config.llm.context)
    open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    file_bytes = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return Facts(
        cores=usable_cores(),
        quota=quota(),
        threads={stage: config.section(stage).threads for stage in STAGES},
        waiting=after.waiting(before),
        stolen=after.stolen(before),
        clock_share=clock,
        throttled=None if hot is None or hotter is None else hotter - hot,
        pinning={name: os.environ[name] for name in PINNING if name in os.environ},
        memory_left=memory.left(),
        lane_bytes=layout.lane_size,
        lanes=config.pipeline.lanes,
        open_files=open_files,
        file_bytes=None if file_bytes == resource.RLIM_INFINITY else file_bytes,
        missing=_missing(config),
        sound=_sound(),
        foreign=tuple(_foreign()),
        versions=_versions(config),
        folders=_folders(config),
        gpu_programs=_gpu_programs() if _wants_gpu(config) else None,
    )


def _clock_at_work(seconds: float) -> float | None:
    """Work for a moment; the share of the highest clock that a core reaches meanwhile."""
    end, best = time.monotonic() + seconds, None
    while time.monotonic() < end:
        shares = list(_clocks())
        best = max([*shares, best or 0.0]) if shares else best
        sum(range(50_000))
    return best


def _clocks() -> Iterator[float]:
    for core in CPU.glob("cpu[0-9]*/cpufreq"):
        try:
            now = int((core / "scaling_cur_freq").read_text())
            yield now / int((core / "cpuinfo_max_freq").read_text())
        except (OSError, ValueError):
            continue


def _throttles() -> int | None:
    counts = []
    for path in CPU.glob("cpu[0-9]*/thermal_throttle/core_throttle_count"):
        try:
            counts.append(int(path.read_text()))
        except (OSError, ValueError):
            continue
    return sum(counts) if counts else None


def _missing(config: Config) -> dict[str, str]:
    return {
        key: reference
        for key, reference in references(config).items()
        if not models.is_here(reference)
    }


def _sound() -> str | None:
    """Asked in a program of its own: PortAudio may print, and hang on a broken driver."""
    if importlib.util.find_spec("sounddevice") is None:
        return None
    code = "import sounddevice as s; s.query_devices(kind='input'); s.query_devices(kind='output')"
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=ASK_S
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {ASK_S:.0f} s"
    last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    return "" if done.returncode == 0 else last[0]


def _foreign() -> Iterator[str]:
    """Packages with our names: installed by others, or folders that would be imported first."""
    found = metadata.packages_distributions()
    for name in NAMES:
        for other in sorted({*found.get(name, ())} - {"voxring"}):
            yield f"{name} (installed by {other})"
    ours = Path(__file__).parents[1].resolve()
    for folder in {Path.cwd().resolve(), *(Path(entry or ".").resolve() for entry in sys.path)}:
        if folder != ours:
            yield from (
                str(folder / name) for name in NAMES if (folder / name / "__init__.py").is_file()
            )


def _versions(config: Config) -> dict[str, str]:
    """By stage that has an interpreter of its own; one that is right is left out."""
    code = "from pipeline.version import VERSION; print(VERSION)"
    wrong = {}
    for stage in STAGES:
        if not config.section(stage).python:
            continue
        command = [interpreter(config.section(stage).python), "-P", "-c", code]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            wrong[stage] = f"it cannot be started: {error}"
            continue
        said = done.stdout.strip() if done.returncode == 0 else "no voxring"
        if said != VERSION:
            wrong[stage] = said
    return wrong


def _folders(config: Config) -> dict[str, str]:
    kept = {
        "pipeline.transcripts": config.pipeline.transcripts,
        "audio.record": config.audio.record,
    }
    wrong = {}
    for key, folder in kept.items():
        try:
            if folder:
                check_writable(Path(folder).expanduser(), key, mode=0o700)
        except VoxringError as error:
            wrong[key] = error.message
    return wrong


def _wants_gpu(config: Config) -> bool:
    return config.asr.device == "cuda" or config.llm.device.startswith("cuda")


def _gpu_programs() -> int | None:
    """Programs that compute on GPUs, as nvidia-smi tells."""
    command = ["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"]
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S)
    except subprocess.TimeoutExpired:
        return None
    return len(set(re.findall(r"\d+", done.stdout))) if done.returncode == 0 else None
