"""The real command line as a program of its own, and clips for it."""

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import psutil
import soundfile

from tests.pipeline.running import wait_until

PROJECT = Path(__file__).parents[2]
QUESTION = PROJECT / "demos" / "question.wav"
SCRIPTED = ("--config", "scripted")
TINY = 'llm.options={replies = ["OK."], ids_per_s = 1000}'  # 180 ms of sound
# What a replay needs of real models to hear words; language model and voice are scripted.
HEARING = (
    *SCRIPTED,
    *("--set", "turn.stage=silero", "--set", "asr.stage=faster-whisper"),
    *("--set", "asr.options={}", "--set", TINY),
)
DEADLINE_S = 100.0


def command(*arguments: str) -> list[str]:
    """The installed program; from a bare checkout, the module behind it."""
    installed = shutil.which("voxring", path=str(Path(sys.executable).parent))
    return [*([installed] if installed else [sys.executable, "-m", "pipeline"]), *arguments]


def environment(**more: str) -> dict[str, str]:
    """Ours, with the project importable and no width or colour of its own."""
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "FORCE_COLOR")}
    return {**kept, "PYTHONPATH": str(PROJECT), "TERM": "xterm", **more}


@dataclass(frozen=True)
class Finished:
    """What a program left."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """Its one line about a mistake; there must be no other, and no traceback."""
        assert "Traceback" not in self.err, self.err
        lines = [line for line in self.err.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, self.err
        return lines[0]


class Started:
    """A program that runs until the end of a `with` block at the latest."""

    def __init__(self, argv: list[str], cwd: Path, env: dict[str, str]) -> None:
        self.cwd = cwd
        self.process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def finish(self, seconds: float = DEADLINE_S) -> Finished:
        """Wait for its end."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError("it hangs") from None
        return Finished(self.process.returncode, out, err)


def start(*arguments: str, cwd: Path, **env: str) -> Started:
    """Start `voxring ARGUMENTS` in a folder."""
    return Started(command(*arguments), cwd, environment(**env))


def voxring(*arguments: str, cwd: Path, **env: str) -> Finished:
    """Run `voxring ARGUMENTS` in a folder to its end."""
    with start(*arguments, cwd=cwd, **env) as started:
        return started.finish()


class OnTerminal:
    """`voxring ARGUMENTS`, or another program, in a session of its own on a terminal of `columns`.

    A thread reads the terminal, as a person's would, so that the program never waits for it.
    """

    def __init__(
        self,
        *arguments: str,
        cwd: Path,
        columns: int = 80,
        program: Sequence[str] | None = None,
        **env: str,
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            ["setsid", "-c", *(program or command()), *arguments],
            cwd=cwd,
            env=environment(**env),
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        self._seen = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def screen(self) -> str:
        """All that was written to the terminal so far."""
        return self._seen.decode("utf-8", "replace")

    @property
    def text(self) -> str:
        """The same without what moves the cursor, paints or erases."""
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", self.screen)

    def wait_for(self, text: str, seconds: float = DEADLINE_S) -> None:
        """Until a text was shown."""
        assert wait_until(lambda: text in self.text or self.process.poll() is not None, seconds)
        assert text in self.text, self.text

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """End it if it still runs; take the terminal away."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(5)
        self.hang_up()

    def press(self, keys: bytes) -> None:
        """Type something."""
        os.write(self._master, keys)

    def press_ctrl_c(self) -> None:
        """What the key does: the kernel signals the terminal's foreground group."""
        self.press(b"\x03")

    def hang_up(self) -> None:
        """Take the terminal away, as closing its window does; safe to call twice."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    @property
    def modes(self) -> list[object]:
        """How the terminal treats what is typed and written: see termios."""
        return termios.tcgetattr(self._master)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # nobody has it open any more
                return
            if not data:
                return
            self._seen += data


def children(pid: int) -> list[psutil.Process]:
    """Programs that a program started, at any depth."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def words_of(program: psutil.Process) -> list[str]:
    """Its command line; none if it is gone."""
    try:
        return program.cmdline()
    except psutil.NoSuchProcess:
        return []


def stages_of(pid: int) -> dict[str, psutil.Process]:
    """The stage programs of a pipeline's program, by name."""
    found = {}
    for child in children(pid):
        words = words_of(child)
        if "stages.run" in words:
            found[words[words.index("--stage") + 1]] = child
    return found


def maps(pid: int, library: str) -> bool:
    """Whether a program has loaded something of this name."""
    try:
        return library in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def all_gone(pids: list[int], seconds: float) -> bool:
    """Whether these programs end in time, zombies counted as ended."""

    def gone(pid: int) -> bool:
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    return wait_until(lambda: all(map(gone, pids)), seconds)


def stop_when(
    started: subprocess.Popen[str] | subprocess.Popen[bytes],
    ready: Callable[[], bool],
    send: Callable[[], None],
    patience_s: float,
) -> tuple[int, list[int]]:
    """Signal a program once it is ready for that.

    Returns:
        Its exit code, and its children, all of whom have ended within `patience_s`.
    """
    assert wait_until(lambda: ready() or started.poll() is not None, DEADLINE_S)
    assert started.poll() is None, "it ended by itself"
    pids = [child.pid for child in children(started.pid)]
    named = [pid for pid in (started.pid, *pids) if maps(pid, "/dev/shm/")]
    assert not named, "what has a name in shared memory could be left behind"
    sent = time.monotonic()
    send()
    code = started.wait(patience_s)
    assert all_gone(pids, patience_s - (time.monotonic() - sent)), "a child outlived its parent"
    return code, pids


def to_parent(
    started: subprocess.Popen[str] | subprocess.Popen[bytes], sig: signal.Signals
) -> Callable[[], None]:
    """A signal to a program alone."""
    return lambda: os.kill(started.pid, sig)


def silence(path: Path, seconds: float) -> Path:
    """Digital zeros."""
    soundfile.write(path, np.zeros(int(seconds * 16_000), np.int16), 16_000)
    return path


def noise(path: Path, seconds: float) -> Path:
    """White noise at -30 dBFS."""
    samples = np.random.default_rng(1).normal(0, 0.03, int(seconds * 16_000))
    soundfile.write(path, samples, 16_000, subtype="PCM_16")
    return path
