"""`voxring doctor --llm`: what one turn of the language model shows, why, and what mends it.

A finding is made from a profile by a plain function, so each can be tried on made-up numbers.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from rich.console import Console
from rich.table import Table

from pipeline.config import Config
from pipeline.errors import StageError
from pipeline.findings import Finding, Health, judged, judged_share
from pipeline.gpu_doctor import gpu_findings
from pipeline.supervisor import environment
from stages.llm.profiling import Profile


def diagnose(config: Config) -> list[Finding]:
    """Profile one turn of the configured language model.

    Raises:
        StageError: it cannot be loaded, with the reason.
    """
    profile = take_profile(config)
    return [finding for look in LOOKS for finding in look(profile)]


def take_profile(config: Config) -> Profile:
    """Run `stages.llm.profiling` as the stage would be run.

    Raises:
        StageError: it failed.
    """
    done = subprocess.run(
        [config.llm.python or sys.executable, "-P", "-m", "stages.llm.profiling"],
        input=config.model_dump_json(),
        capture_output=True,
        text=True,
        env={**os.environ, **environment(config.llm.threads)},
    )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        last = done.stderr.strip().splitlines()[-1:]
        raise StageError(f"the profile failed: {' '.join(last) or done.returncode}") from None
    if "profile" not in answer:
        raise StageError(answer["error"], answer["remedy"])
    return Profile.parse(answer["profile"])


def show(console: Console, findings: Sequence[Finding]) -> None:
    """Print findings; the bad ones with cause and remedy."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("looked at", "", "seen"):
        table.add_column(column, overflow="fold")
    styles = {Health.GOOD: "green", Health.BAD: "red", Health.UNREAD: "yellow"}
    for finding in findings:
        style = styles[finding.health]
        table.add_row(finding.what, f"[{style}]{finding.health.value}[/]", finding.seen)
        links = finding.link if finding.health is Health.BAD else ""
        for line in (finding.cause, finding.remedy, links):
            if line:
                table.add_row("", "", f"[dim]→[/] {line}")
    console.print(table)


def time_to_ready(profile: Profile) -> Iterable[Finding]:
    """How long loading and warming up takes."""
    yield Finding("load and warm-up", Health.GOOD, f"{profile.load_s:.1f} s")


def warmth(profile: Profile) -> Iterable[Finding]:
    """The first turn must be as fast as the second."""
    if profile.gpu:
        return  # computes beside this program, so it has findings of its own
    seen = f"{profile.first_ms:.0f} ms, then {profile.again_ms:.0f} ms"
    yield judged(
        "first id of the first turn, of the second",
        profile.first_ms <= 1.5 * profile.again_ms + 5,
        seen,
        "memory that is touched for the first time, or cores that were busy for a moment",
        "Run it again; if it stays, report it: the warm-up misses something",
        row="first-answer-slow",
    )


def pace(profile: Profile) -> Iterable[Finding]:
    """Speech needs six ids a second for each lane that speaks."""
    if profile.gpu:
        return
    ms = median(step.ms for step in profile.steps)
    yield judged(
        "time of one id",
        ms <= 80,
        f"{ms:.1f} ms, {1000 / ms:.0f} ids a second",
        "the model is large for this processor",
        fewer_bits(profile),
    )


def bandwidth(profile: Profile) -> Iterable[Finding]:
    """An id cannot come faster than the weights can be read."""
    what = "weights read, of what the memory can give"
    if profile.gpu:
        return  # it has its own memory, and a finding of its own
    if profile.read_bytes is None:
        yield Finding(what, Health.UNREAD, f"stage '{profile.stage}' does not say what it reads")
        return
    best = min(step.ms for step in profile.steps)
    reached = profile.read_bytes / best / 1e6  # GB/s
    share = reached / profile.read_gb_s
    seen = f"{reached:.1f} of {profile.read_gb_s:.1f} GB/s, {share:.0%}"
    yield judged(
        what,
        share >= 0.5 or profile.read_bytes < 300e6,
        seen,
        "computing, not reading, takes the time: too few threads, or weights that are unpacked",
        "Raise llm.threads if cores are free",
    )


def threads(profile: Profile) -> Iterable[Finding]:
    """Threads that outnumber cores wait for each other."""
    cores = min(profile.cores, profile.quota or profile.cores)
    limit = "" if profile.quota is None else f" (control group: {profile.quota:g})"
    yield judged(
        "threads of the model, cores",
        profile.threads <= cores,
        f"{profile.threads} on {profile.cores}{limit}",
        "more threads than cores: each id waits for the last of them",
        f"Set llm.threads to {max(int(cores), 1)} or less",
        row="oversubscribed-cores",
    )
    yield judged(
        "threads of the model and the voice, which work together",
        profile.budget <= cores,
        f"{profile.budget} on {cores:g}",
        "the voice and the model take each other's cores",
        "Lower llm.threads or tts.threads, or leave both 0",
        row="oversubscribed-cores",
    )
    busy = median(step.cpu_ms for step in profile.steps) / median(s.ms for s in profile.steps)
    yield judged(
        "cores that an id keeps busy",
        busy >= 0.6 * min(profile.threads, cores),
        f"{busy:.1f} of {profile.threads}",
        "threads wait: for other programs, or because the model is too small to share out",
        "Mend what the lines below find, or lower llm.threads",
    )


def company(profile: Profile) -> Iterable[Finding]:
    """Other programs, and other machines on the same host."""
    lost = sum(step.preempted for step in profile.steps) / len(profile.steps)
    yield judged(
        "times an id's threads lost their core",
        lost <= 2,
        f"{lost:.1f} an id",
        "other programs want the same cores",
        "End them, run renice 10 PID for what can wait, or lower llm.threads",
        row="latency-jumps",
    )
    yield judged_share(
        "time in which some program waited for a core",
        profile.waiting,
        0.2,
        "/proc/pressure/cpu is not there",
        "more is running than there are cores",
        "Run: top, which shows what; then renice 10 PID for what can wait",
        row="latency-jumps",
    )
    yield judged_share(
        "time that the host gave to other machines",
        profile.stolen,
        0.02,
        "/proc/stat is not there",
        "a shared virtual machine",
        "Choose an instance with cores of its own",
        row="latency-jumps",
    )
    clock = profile.clock_share
    yield judged_share(
        "clock missing of the highest",
        None if clock is None else 1 - clock,
        0.3,
        "the system does not tell its clock (a virtual machine?)",
        "power saving, or heat",
        "Run: cpupower frequency-set -g performance; or check the cooling",
        row="throttling",
    )


def memory(profile: Profile) -> Iterable[Finding]:
    """A turn must find its memory there."""
    steps = profile.steps
    minor = median(step.minor_faults for step in steps)
    yield judged(
        "pages touched for the first time",
        minor <= 16,
        f"{minor:g} an id",
        "memory that is given back and asked for again, or a cache that grows",
        _other_engine(profile),
    )
    major = sum(step.major_faults for step in steps)
    yield judged(
        "pages read from the disk",
        major == 0,
        f"{major}",
        "memory is short: weights were put out and read again",
        f"{fewer_bits(profile)}; or lower pipeline.lanes, or end other programs",
        row="memory-short",
    )
    if profile.swapped_mib is None:
        yield Finding("swapped out", Health.UNREAD, "/proc/self/status is not there")
    else:
        yield judged(
            "swapped out",
            profile.swapped_mib < 1,
            f"{profile.swapped_mib:.0f} MiB",
            "memory is short",
            f"{fewer_bits(profile)}; or lower pipeline.lanes, or end other programs",
            row="memory-short",
        )


def allocations(profile: Profile) -> Iterable[Finding]:
    """What stays behind an id."""
    settled = profile.steps[len(profile.steps) // 2 :]
    blocks = median(step.grown for step in settled)
    yield judged(
        "Python blocks that an id leaves",
        blocks <= 4,
        f"{blocks:g}",
        "something is kept for every id",
        _other_engine(profile),
    )
    heaps = [step.heap_grown for step in settled if step.heap_grown is not None]
    if not heaps:
        yield Finding("heap that an id leaves", Health.UNREAD, "no mallinfo2: not glibc")
        return
    yield judged(
        "heap that an id leaves",
        median(heaps) <= 1024,
        f"{median(heaps):g} bytes",
        "something is kept for every id",
        _other_engine(profile),
    )


def gpu(profile: Profile) -> Iterable[Finding]:
    """What an NVIDIA GPU shows, if the model is on one."""
    if profile.gpu:
        yield from gpu_findings(profile.gpu)


def fewer_bits(profile: Profile) -> str:
    """The switch that makes the weights smaller, for the stage that runs them."""
    if profile.device != "cpu":
        return "Choose a smaller model"
    return {
        "onnx": "Set llm.quantization to 'int4', or choose a smaller model",
        "transformers": "Set llm.stage to 'onnx' and llm.quantization to 'int4'",
    }.get(profile.stage, "Choose a smaller model")


Look = Callable[[Profile], Iterable[Finding]]
LOOKS: tuple[Look, ...] = (
    time_to_ready,
    warmth,
    pace,
    bandwidth,
    threads,
    company,
    memory,
    allocations,
    gpu,
)
"""What is looked at, in the order of the report."""


def _other_engine(profile: Profile) -> str:
    """What to do about an engine that takes memory in a turn, which none should."""
    again = "Run it again; if it stays, report it with this output"
    if profile.stage == "onnx" or profile.device != "cpu":
        return again
    return f"{again}, and set llm.stage to 'onnx'"
