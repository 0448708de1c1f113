"""An arena as text, and the arenas of a running program: for people, read-only."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ringbuf.arena import Arena
from ringbuf.errors import NoArena
from ringbuf.lane import Lane

MEMFD = "/memfd:voxring"
MIB = 2**20


def arenas_of(pid: int) -> Iterator[Arena]:
    """The arenas that a program holds, mapped for reading; each is closed after its turn.

    Raises:
        NoArena: there is no such program, it has none, or it is not ours to look at.
        LayoutMismatch: it runs another version of ringbuf.
    """
    seen: set[int] = set()
    for fd in _open_memory_of(pid):
        inode = os.fstat(fd).st_ino
        if inode in seen:
            os.close(fd)
            continue
        seen.add(inode)
        with look(fd) as arena:
            yield arena
    if not seen:
        raise _no_arena(pid)


def arena_of(pid: int) -> Arena:
    """The arena that a program shares with most others, mapped for reading; the caller closes it.

    Raises:
        NoArena: there is no such program, it has none, or it is not ours to look at.
        LayoutMismatch: it runs another version of ringbuf.
    """
    shared = holders()
    found = list(_open_memory_of(pid))
    if not found:
        raise _no_arena(pid)
    best = max(found, key=lambda fd: len(shared.get(os.fstat(fd).st_ino, ())))
    for fd in found:
        if fd != best:
            os.close(fd)
    return look(best)


def holders() -> dict[int, list[int]]:
    """All arenas on this machine that we may look at: inode to the programs that hold it."""
    found: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone, or not ours
            for inode in {link.stat().st_ino for link in _memory_links(folder / "fd")}:
                found.setdefault(inode, []).append(int(folder.name))
    return found


def look(fd: int) -> Arena:
    """Map what a descriptor leads to; the descriptor is closed, now or with the arena.

    Raises:
        LayoutMismatch: it is no arena, or one of another version or shape.
    """
    try:
        return Arena.look(fd)
    except BaseException:
        os.close(fd)
        raise


def _no_arena(pid: int) -> NoArena:
    return NoArena(f"process {pid} holds no arena: is it a voxring pipeline or one of its stages?")


def _memory_links(folder: Path) -> Iterator[Path]:
    """The entries of a /proc/PID/fd that are nameless memory of ours."""
    for link in sorted(folder.iterdir(), key=lambda link: int(link.name)):
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            if str(link.readlink()).startswith(MEMFD):
                yield link


def _open_memory_of(pid: int) -> Iterator[int]:
    """Its nameless memory, opened once more for each descriptor it has of it, for reading."""
    try:
        for link in _memory_links(Path(f"/proc/{pid}/fd")):
            with contextlib.suppress(FileNotFoundError):
                yield os.open(link, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        proc = "" if Path("/proc/self").exists() else " (it takes /proc, so Linux, to look)"
        raise NoArena(f"there is no process {pid}{proc}") from None
    except PermissionError:
        raise NoArena(
            f"process {pid} may not be looked at: it is another user's, or protected"
        ) from None


def describe(arena: Arena, now: int) -> str:
    """Everything that stands in an arena, without disturbing anybody.

    Args:
        arena: mapped for reading or as one of its processes.
        now: the clock that its processes use, monotonic ns.
    """
    claimed = [n for n in range(arena.layout.lanes) if arena.is_claimed(n)]
    parts = [_summary(arena, len(claimed)), _processes(arena, now)]
    parts += [_lane(arena.lane(number)) for number in claimed]
    return "\n\n".join(parts) + "\n"


def _summary(arena: Arena, claimed: int) -> str:
    layout = arena.layout
    held = os.fstat(arena.fd).st_blocks * 512
    return (
        f"arena, layout version {layout.version}: {claimed} of {layout.lanes} lanes open\n"
        f"{layout.size / MIB:.1f} MiB of address space, {held / MIB:.1f} MiB in memory; an open "
        f"lane costs {layout.lane_size / MIB:.2f} MiB "
        f"(token slots {layout.tokens_size / MIB:.2f}, sound and commands "
        f"{layout.bulk_size / MIB:.2f}) and {layout.control_size / 1024:.1f} KiB of counters and "
        f"words, a closed one those counters only"
    )


def _processes(arena: Arena, now: int) -> str:
    rows = []
    for name in arena.layout.processes:
        bell, events = arena.bell_of(name), arena.events(name)
        state = "dead" if bell.life % 2 else "asleep" if bell.asleep else "awake"
        beat = f"{(now - bell.beat) / 1e9:.1f} s ago" if bell.beat else "none"
        lanes = " ".join(map(str, bell.pending())) or "none"
        fill = f"{events._core.filled()}/{arena.layout.events}"
        rows.append(
            (name, state, bell.life, beat, bell.recoveries, lanes, fill, str(events.dropped))
        )
    return _table(
        ("process", "state", "life", "beat", "recoveries", "rung lanes", "events", "dropped"), rows
    )


def _lane(lane: Lane) -> str:
    words = "  ".join(f"{name} {value:#x}" for name, value in lane.words.items() if value)
    rows = [
        (
            spec.name,
            f"{spec.writer} -> {spec.reader}",
            f"{ring._core.filled()}/{spec.capacity}",
            ring._core.head,
            ring._core.tail,
            ring.dropped,
        )
        for ring in lane.rings.values()
        for spec in (ring.spec,)
    ]
    table = _table(("ring", "ends", "fill", "written", "read", "dropped"), rows)
    return f"lane {lane.number}: {words or 'all words 0'}\n{table}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [[*columns], *([str(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
