"""One program under supervision: started, listened to, ended."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.errors import StageError

Progress = Callable[[str, str, float | None], None]  # program, what it does, how far (0 to 1)

log = logging.getLogger(__name__)

REAP_S = 2.0  # for a program to be gone after the end of its pipe
REAP_STEP_S = 0.005


class Process:
    """A child program that reports on a pipe of its own; the end of that pipe is its death.

    Args:
        name: for people.
        on_progress: told what the program does while it starts.
        trouble: how to say that it failed before it was ready.
    """

    def __init__(self, name: str, on_progress: Progress, trouble: str = "could not start") -> None:
        self.name = name
        self._trouble = trouble
        self.ready: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.dead = asyncio.Event()
        self._on_progress = on_progress
        self._popen: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._text = b""
        self._sentinel = -1  # a pidfd, where there are any
        self._reaper: asyncio.Task[None] | None = None  # kept, or it might be collected

    @property
    def pid(self) -> int:
        """Of the program; 0 before it starts."""
        return self._popen.pid if self._popen else 0

    def start(
        self,
        command: Sequence[str],
        fds: Mapping[str, str],
        inherited: Sequence[int],
        env: Mapping[str, str],
        stdin: bytes = b"",
    ) -> None:
        """Start the program.

        Args:
            command: interpreter and arguments; `--fds` is added.
            fds: value of each descriptor by name, as `stages.run.parse_fds` reads them.
            inherited: descriptors to pass on.
            env: added to our environment.
            stdin: what it reads from standard input.

        Raises:
            StageError: it cannot be started at all.
        """
        self._pipe, write_fd = os.pipe()
        os.set_blocking(self._pipe, False)
        listed = ",".join(f"{name}={value}" for name, value in {**fds, "ready": write_fd}.items())
        try:
            self._popen = subprocess.Popen(
                [*command, "--fds", listed],
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=2,  # our standard output belongs to results
                pass_fds=(*inherited, write_fd),
                env={**os.environ, **env},
                process_group=0,  # Ctrl-C is for us; and a group can be ended whole
            )
        except OSError as error:
            os.close(self._pipe)
            raise StageError(
                f"{self.name} {self._trouble}: {command[0]}: {error.strerror}",
                "Check the `python` of its section",
            ) from error
        finally:
            os.close(write_fd)
        if self._popen.stdin:
            self._popen.stdin.write(stdin)
            self._popen.stdin.close()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._pipe, self._listen)
        if hasattr(os, "pidfd_open"):  # Linux: also seen if a child of it keeps the pipe open
            self._sentinel = os.pidfd_open(self._popen.pid)
            loop.add_reader(self._sentinel, self._bury)
        self._progress("starting", None)

    def end(self, sig: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal to the program and everything it started."""
        if self._popen and self._popen.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._popen.pid, sig)

    async def gone(self, timeout: float) -> bool:
        """Wait until it is dead and reaped; False if it is not by then."""
        try:
            async with asyncio.timeout(timeout):
                await self.dead.wait()
        except TimeoutError:
            return False
        return True

    def _listen(self) -> None:
        """Read what the program said; the end of the pipe is the end of the program."""
        try:
            data = os.read(self._pipe, 65536)
        except BlockingIOError:
            return
        if data:
            self._take(data)
        else:
            self._bury()

    def _take(self, data: bytes) -> None:
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            self._message(json.loads(line))

    def _message(self, message: dict[str, Any]) -> None:
        if "progress" in message:
            self._progress(message["progress"], message["fraction"])
        elif self.ready.done():
            return
        elif "ready" in message:
            self.ready.set_result(message)
            self._progress("ready", 1.0)
        else:
            self.ready.set_exception(
                StageError(f"{self.name} {self._trouble}: {message['error']}", message["remedy"])
            )

    def _progress(self, text: str, fraction: float | None) -> None:
        """Tell; a caller's mistake in its own callback must not cost us the ready message."""
        try:
            self._on_progress(self.name, text, fraction)
        except Exception:
            log.exception("on_progress raised")

    def _bury(self) -> None:
        """The program is gone, or has let go of its pipe: hear its last words, then reap it."""
        if self._reaper:
            return
        loop = asyncio.get_running_loop()
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._pipe, 65536):
                self._take(data)
        for fd in (self._pipe, self._sentinel):
            if fd >= 0:
                loop.remove_reader(fd)
                os.close(fd)
        self._reaper = loop.create_task(self._reap())

    async def _reap(self) -> None:
        """Wait for the exit status; a program that let go of its pipe but lives on is killed."""
        assert self._popen
        pid = self._popen.pid
        deadline = time.monotonic() + REAP_S
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > deadline:
                self.end(signal.SIGKILL)
            await asyncio.sleep(REAP_STEP_S)
        self.end(signal.SIGKILL)  # what it started; its number is not free before it is reaped
        status = self._popen.wait()
        if not self.ready.done():
            self.ready.set_exception(StageError(f"{self.name} {self._trouble}: it {death(status)}"))
        if not self.ready.cancelled():  # as it is when whoever waited for it was interrupted
            self.ready.exception()  # looked at: nobody need be waiting
        self.dead.set()

    @property
    def obituary(self) -> str:
        """How it died, for people."""
        status = self._popen.returncode if self._popen else None
        return death(status) if status is not None else "is alive"


def death(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"ended with exit code {status}"
    hint = " (out of memory?)" if status == -signal.SIGKILL else ""
    return f"was killed by {signal.Signals(-status).name}{hint}"


def interpreter(python: str) -> str:
    """The interpreter of a stage: its own, or ours."""
    return str(Path(python).expanduser()) if python else sys.executable
