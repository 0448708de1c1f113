"""A wall clock that jumps, for a program and all it starts; see wall_clock.c (Linux, glibc)."""

import os
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
FILE, PRELOAD = "VOXRING_WALL_CLOCK", "LD_PRELOAD"
COMPILERS = ("cc", "gcc", "clang")
AHEAD = struct.Struct("<q")  # seconds


def build(folder: Path) -> dict[str, str]:
    """Compile it and write its file; the variables with which a program obeys it.

    Raises:
        RuntimeError: there is no compiler, or it fails.
    """
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise RuntimeError(f"no C compiler ({', '.join(COMPILERS)})")
    library, file = folder / "wall_clock.so", folder / "ahead"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{SOURCE.name} cannot be compiled: {done.stderr.strip()}")
    file.write_bytes(AHEAD.pack(0))
    before = [library for library in (os.environ.get(PRELOAD),) if library]
    return {PRELOAD: os.pathsep.join([str(library), *before]), FILE: str(file)}


def is_ours() -> bool:
    """Whether this program was started to obey it."""
    return FILE in os.environ


def can_jump() -> bool:
    """Whether it does."""
    return bool(os.environ.get(FILE))


def jump(seconds: int) -> None:
    """Set the wall clock of this program, and of all it has started, by so much from now on."""
    path = Path(os.environ[FILE])
    (ahead,) = AHEAD.unpack(path.read_bytes())
    with path.open("r+b") as file:  # in place: it is mapped
        file.write(AHEAD.pack(ahead + seconds))
