"""The programs of a running pipeline, found from outside by what the kernel tells (Linux)."""

import os
from pathlib import Path

from pipeline.errors import SessionError
from ringbuf.inspect import holders
from stages.topology import CONTROL, STAGES

PAGE = os.sysconf("SC_PAGESIZE")


def find_pipeline() -> int:
    """The one pipeline that runs: the process id of the program that holds it.

    Raises:
        SessionError: none runs, or several.
    """
    found = holders().values()
    owners = sorted(owner(pids) for pids in found if any(map(stage_of, pids)))
    if not owners:
        raise SessionError(
            "no pipeline of yours is running", "Start one, or give its process id: voxring top PID"
        )
    if len(owners) > 1:
        raise SessionError(
            f"{len(owners)} pipelines are running: {', '.join(map(str, owners))}",
            "Say which one: voxring top PID",
        )
    return owners[0]


def owner(pids: list[int]) -> int:
    """Of the programs that hold an arena, the one that started the stages; else the first.

    Whoever looks at a pipeline holds its arena too.
    """
    parents = (parent_of(pid) for pid in pids if stage_of(pid))
    return next((parent for parent in parents if parent in pids), pids[0])


def programs_of(pid: int) -> dict[str, int]:
    """The programs of the pipeline that one of them belongs to: name to process id.

    One that is the edge itself (`audio.stage = "client"`) is "control" alone.
    """
    held = [pids for pids in holders().values() if pid in pids]  # a program may hold several
    mates = max(held, key=lambda pids: sum(map(bool, map(stage_of, pids))), default=[pid])
    named = {stage_of(mate): mate for mate in mates} | {CONTROL: owner(mates)}
    return {name: named[name] for name in (CONTROL, *STAGES) if name in named}


def parent_of(pid: int) -> int:
    """Who started a program; 0 if that is not known."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])


def stage_of(pid: int) -> str:
    """Which stage a program is, by its command line; "": none."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    if b"stages.run" not in words or b"--stage" not in words:
        return ""
    return words[words.index(b"--stage") + 1].decode()


def resident_mib(pid: int) -> float:
    """Memory of a program that is in RAM, what it shares included, MiB.

    Raises:
        OSError: there is no such program.
    """
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * PAGE / 2**20
