"""Holds the port, and keeps the program that serves it running.

The endpoint's program holds the conversations; when it dies they are over, and its stages end with
it. The socket that it listened on is held here: a client that connects meanwhile waits in the
kernel's queue until the next program is there.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self

from pipeline.commands.app import FAILED, INTERRUPTED, TERMINATED
from pipeline.config import Config
from pipeline.endpoint.program import CRASHED
from pipeline.errors import ConfigError
from pipeline.process import interpreter
from pipeline.restarts import Restarts
from pipeline.serve_config import ServeConfig

BACKLOG = 1024
KILL_S = 5.0  # after Ctrl-C, for the program to end by itself
EXIT_CODES: dict[int, int] = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}


def listen(config: ServeConfig) -> socket.socket:
    """The socket of an endpoint.

    Raises:
        ConfigError: the address cannot be listened to.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            config.host or "0.0.0.0", config.port, type=socket.SOCK_STREAM
        )[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {config.host} port {config.port}: {error.strerror or error}",
            "Choose another serve.host or serve.port",
        ) from None


class Guardian:
    """Runs the endpoint's program, again when it crashes.

    Args:
        config: the whole configuration.
        tell: gets what happens to the program, for people.

    Raises:
        ConfigError: on entry, if the address cannot be listened to.
    """

    def __init__(self, config: Config, tell: Callable[[str], None]) -> None:
        self._config = config
        self._tell = tell
        self._restarts = Restarts(config.pipeline.restarts, config.pipeline.restart_window_s)
        self._program: subprocess.Popen[bytes] | None = None
        self._asked_by = 0  # the signal

    def __enter__(self) -> Self:
        self._listener = listen(self._config.serve)
        self._lifeline, self._lifeline_end = os.pipe()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._lifeline_end)  # whatever still runs ends with it
        os.close(self._lifeline)
        self._listener.close()
        if self._program:
            self._program.wait()

    @property
    def port(self) -> int:
        """That it listens on."""
        port: int = self._listener.getsockname()[1]
        return port

    def run(self) -> int:
        """Serve until asked to end, by SIGTERM or Ctrl-C; to be called from the main thread.

        Returns:
            The exit code.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._pass_on)
        deaths = 0
        while not self._asked_by:
            code = self._run_once(deaths)
            if self._asked_by or 0 <= code != CRASHED:
                return code if code >= 0 else EXIT_CODES.get(self._asked_by, FAILED)
            deaths += 1
            cause = f"signal {-code}" if code < 0 else "an error of its own"
            delay = self._restarts.died(time.monotonic())
            if delay is None:
                self._tell(f"the endpoint was ended by {cause}, too often: it is given up")
                return FAILED
            self._tell(f"the endpoint was ended by {cause}; it is started again")
            time.sleep(delay)
        return EXIT_CODES[self._asked_by]

    def _run_once(self, deaths: int) -> int:
        """One program, from its start to its end; its exit code."""
        fds = f"socket={self._listener.fileno()},lifeline={self._lifeline}"
        command = [interpreter(""), "-P", "-m", "pipeline.endpoint.program"]
        # Ctrl-C while it imports would be a traceback: the program lets the signal in when it can.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._program = subprocess.Popen(
            [*command, "--fds", fds, "--restarts", str(deaths)],
            stdin=subprocess.PIPE,
            pass_fds=(self._listener.fileno(), self._lifeline),
            process_group=0,  # Ctrl-C is for us: it is passed on once
        )
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        assert self._program.stdin
        if self._asked_by:  # by a signal that came before there was anybody to pass it on to
            self._program.send_signal(self._asked_by)
        try:
            self._program.stdin.write(self._config.model_dump_json().encode())
            self._program.stdin.close()
        except BrokenPipeError:  # it is dead already
            pass
        return self._program.wait()

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        """A signal for us is one for the program; one that does not follow Ctrl-C is killed."""
        self._asked_by = number
        program = self._program
        if program and program.returncode is None:
            program.send_signal(number)
            if number == signal.SIGINT:
                signal.signal(signal.SIGALRM, lambda *_: program.kill())
                signal.setitimer(signal.ITIMER_REAL, KILL_S)
