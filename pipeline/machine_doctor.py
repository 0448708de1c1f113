"""`voxring doctor`: what this machine and this installation show, why, and what mends it.

A finding is made from facts by a plain function, so each can be tried on made-up ones. Each links
to its row of docs/troubleshooting.md.
"""

from collections.abc import Callable, Iterable

from pipeline.config import Config
from pipeline.facts import Facts, gather
from pipeline.findings import Finding, Health, judged, judged_share

MIB = 2**20
FEW_FILES = 256  # a pipeline holds about forty, and a lane of a socket one more
SPARE = 1.2  # memory for the programs beside the lanes


def diagnose(config: Config) -> list[Finding]:
    """Everything that can be checked without starting anything."""
    facts = gather(config)
    return [finding for look in LOOKS for finding in look(facts)]


def cores(facts: Facts) -> Iterable[Finding]:
    """Threads that outnumber cores wait for each other."""
    usable = min(facts.cores, facts.quota or facts.cores)
    limit = "" if facts.quota is None else f" (control group: {facts.quota:g})"
    together = max(facts.threads["asr"], facts.threads["llm"]) + facts.threads["tts"]
    yield judged(
        "threads that work at the same time, cores",
        together <= max(usable, 2),  # a single core has to be shared
        f"{together} on {facts.cores}{limit}",
        "more threads than cores: each step waits for the last of them",
        "Leave the `threads` of asr, llm and tts 0, or lower them",
        row="oversubscribed-cores",
    )
    yield judged(
        "cores of the control group",
        facts.quota is None or facts.quota >= min(facts.cores, 2),
        "no limit" if facts.quota is None else f"{facts.quota:g} of {facts.cores}",
        "a container's limit: programs see all cores and are stopped when the share is used up",
        "Raise the container's CPU limit, or set the `threads` of asr, llm and tts to it",
        row="container-cores",
    )
    yield judged(
        "variables that tie threads down",
        not facts.pinning,
        ", ".join(f"{name}={value}" for name, value in facts.pinning.items()) or "none",
        "every stage is tied to the same cores, or spins while it waits",
        f"Run: unset {' '.join(facts.pinning)}",
        row="thread-settings",
    )


def company(facts: Facts) -> Iterable[Finding]:
    """Other programs, and other machines on the same host."""
    yield judged_share(
        "time in which some program waited for a core",
        facts.waiting,
        0.2,
        "/proc/pressure/cpu is not there",
        "more is running than there are cores",
        "Run: top, which shows what; then renice 10 PID for what can wait",
        row="latency-jumps",
    )
    yield judged_share(
        "time that the host gave to other machines",
        facts.stolen,
        0.02,
        "/proc/stat is not there",
        "a shared virtual machine",
        "Choose an instance with cores of its own",
        row="latency-jumps",
    )


def heat(facts: Facts) -> Iterable[Finding]:
    """The clock under load."""
    clock = facts.clock_share
    yield judged_share(
        "clock missing of the highest, at work",
        None if clock is None else 1 - clock,
        0.3,
        "the system does not tell its clock (a virtual machine?)",
        "power saving, or heat",
        "Run: cpupower frequency-set -g performance; or check the cooling",
        row="throttling",
    )
    what = "times that the processor was slowed down for its heat"
    if facts.throttled is None:
        yield Finding(what, Health.UNREAD, "the system does not count them", row="throttling")
    else:
        yield judged(
            what,
            facts.throttled == 0,
            str(facts.throttled),
            "the processor is too hot",
            "Check the cooling",
            row="throttling",
        )


def shared_memory(facts: Facts) -> Iterable[Finding]:
    """What the rings take, and what a limit would refuse."""
    needed = facts.lane_bytes * facts.lanes
    what, row = "shared memory of all lanes, memory that is left", "shared-memory"
    if facts.memory_left is None:
        yield Finding(what, Health.UNREAD, "the system does not tell", row=row)
    else:
        yield judged(
            what,
            needed * SPARE <= facts.memory_left,
            f"{needed / MIB:.0f} of {facts.memory_left / MIB:.0f} MiB",
            "too little memory, or a container's limit: rings count as memory, not as /dev/shm",
            "Lower pipeline.lanes or llm.context, or raise the container's memory limit",
            row=row,
        )
    yield judged(
        "largest file that may be written (ulimit -f)",
        facts.file_bytes is None,
        "no limit" if facts.file_bytes is None else f"{facts.file_bytes / MIB:.0f} MiB",
        "the limit holds for shared memory too, and for models and recordings",
        "Run: ulimit -f unlimited",
        row=row,
    )
    yield judged(
        "files that may be open (ulimit -n)",
        facts.open_files >= FEW_FILES,
        str(facts.open_files),
        "a pipeline holds about forty, and each connection one more",
        "Run: ulimit -n 4096",
        row="open-files",
    )


def installation(facts: Facts) -> Iterable[Finding]:
    """Models, packages and other interpreters."""
    missing = ", ".join(f"{key} ({name})" for key, name in facts.missing.items())
    yield judged(
        "models that are not in the cache",
        not facts.missing,
        missing or "none",
        "the first start fetches them; without a network it fails",
        f"Run: voxring models fetch {' '.join(facts.missing.values())}",
        row="no-models",
    )
    yield judged(
        "foreign packages with the names of ours",
        not facts.foreign,
        ", ".join(facts.foreign) or "none",
        "Python may import them in place of voxring's",
        "Uninstall them, or use a virtual environment; do not start Python in such a folder",
        row="foreign-packages",
    )
    wrong = ", ".join(f"{stage}: {said}" for stage, said in facts.versions.items())
    yield judged(
        "voxring in the interpreters of stages",
        not facts.versions,
        wrong or "the same everywhere",
        "a stage's `python` has no voxring, or another version",
        "Install the same voxring there, without extras",
        row="other-version",
    )


def sound(facts: Facts) -> Iterable[Finding]:
    """A microphone and a loudspeaker, and places for recordings."""
    what, row = "sound devices", "no-device"
    if facts.sound is None:
        yield Finding(what, Health.UNREAD, "sounddevice is not installed (extra: talk)", row=row)
    else:
        yield judged(
            what,
            not facts.sound,
            facts.sound or "a microphone and a loudspeaker",
            "no sound card, a container without one, PortAudio is missing, or no permission",
            "Install libportaudio2; run: voxring devices, where there are any; replay needs none",
            row=row,
        )
    wrong = ", ".join(f"{key}: {why}" for key, why in facts.folders.items())
    yield judged(
        "folders that conversations are kept in",
        not facts.folders,
        wrong or "can be written",
        "a disk that is full, or no permission",
        "Free some space, or name another folder",
        row="disk-full",
    )


def gpu(facts: Facts) -> Iterable[Finding]:
    """Who else computes there, where a stage is to do so."""
    if facts.gpu_programs is None:
        return
    yield judged(
        "programs on the GPU",
        facts.gpu_programs == 0,
        str(facts.gpu_programs),
        "a GPU switches between programs, which costs milliseconds at a time",
        "End the others (nvidia-smi shows them), or set asr.device to 'cpu'",
        row="gpu-shared",
    )


Look = Callable[[Facts], Iterable[Finding]]
LOOKS: tuple[Look, ...] = (cores, company, heat, shared_memory, installation, sound, gpu)
"""What is looked at, in the order of the report."""
