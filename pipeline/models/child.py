"""Downloads run as child processes, watched by the size of what they write.

A child can be killed, prints nothing on our terminal, and brings no settings of its own into this
process. Neither pip nor huggingface_hub has progress that a program can read; a folder's size is.
"""

import contextlib
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pipeline.models.workspace import Workspace

_POLL = 0.2  # seconds between two looks at the folder


def run_watched(
    command: Sequence[str],
    space: Workspace,
    *,
    env: Mapping[str, str],
    watch: Path,
    report: Callable[[int], None],
) -> tuple[int, str]:
    """Run `command` to its end and return its exit status and all that it printed.

    Args:
        command: program and arguments.
        space: inherited by the child, and home of its output.
        env: the child's whole environment.
        watch: the folder that grows, or will.
        report: gets the folder's size in bytes, a few times a second.
    """
    log = space.folder / "output.txt"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=env,
            pass_fds=(space.lock,),
        ) as child,
    ):
        try:
            while _running(child):
                report(size_of(watch))
        except BaseException:
            child.kill()  # Ctrl-C, or a progress callback that raised: nothing goes on unseen
            raise
    return child.returncode, log.read_text(errors="replace")


def size_of(folder: Path) -> int:
    """Return the bytes of all files under `folder`; files may come and go meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += Path(parent, name).lstat().st_size
    return total


def last_line(output: str) -> str:
    """Return the last line of a program's output that says anything; empty if none does."""
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")


def _running(child: subprocess.Popen[bytes]) -> bool:
    try:
        child.wait(timeout=_POLL)
    except subprocess.TimeoutExpired:
        return True
    return False
