"""A running `voxring serve`, and what it costs."""

import http.client
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from benchmarks import usage
from pipeline.errors import StageError

READY = re.compile(r"ready at (http[^\s\"]+)")
SERVE = (  # `voxring serve`, which outlives nobody
    "from ringbuf import die_with_parent; die_with_parent(); "
    "from pipeline.__main__ import main; raise SystemExit(main())"
)
START_S = 300.0  # models may be fetched
END_S = 10.0
LOOK_S = 0.05


class Serving:
    """One server.

    Args:
        process: the command.
        log: what it writes.
    """

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log
        self.url = ""

    def wait_ready(self, times: int = 1) -> None:
        """Wait until it has become ready so often.

        Raises:
            StageError: it ended, or took too long.
        """
        deadline = time.monotonic() + START_S
        while len(found := READY.findall(self._log.read_text())) < times:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise StageError(f"voxring serve did not start: {self._log.read_text()[-500:]}")
            time.sleep(LOOK_S)
        self.url = found[-1]

    @property
    def program(self) -> int:
        """The process that serves."""
        return children(self._process.pid)[0]

    def stage(self, name: str) -> int:
        """The process of a stage."""
        for pid in children(self.program):
            if f"--stage\0{name}\0" in Path(f"/proc/{pid}/cmdline").read_text():
                return pid
        raise StageError(f"no stage {name} is running")

    @property
    def pids(self) -> dict[str, int]:
        """All its processes."""
        program = self.program
        pids = [self._process.pid, program, *children(program)]
        return {str(pid): pid for pid in pids}

    def memory_mib(self) -> float:
        """PSS of all its processes."""
        return sum(usage.memory_mib(pid) for pid in self.pids.values())

    def websocket(self, path: str = "/v1/voice") -> str:
        """Where to connect to."""
        return self.url.replace("http", "ws", 1) + path

    def metrics(self) -> dict[str, float]:
        """What `/metrics` tells: name, or name and labels, to value."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=10)
        try:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        finally:
            connection.close()
        return {
            ".".join([sample.name, *sample.labels.values()]): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


@contextmanager
def serving(config: str, settings: Sequence[str]) -> Iterator[Serving]:
    """A server with a configuration, on a free port, until the block ends.

    Raises:
        StageError: it did not start.
    """
    overrides = [part for setting in settings for part in ("--set", setting)]
    command = [sys.executable, "-c", SERVE, "serve", "--config", config, "--port", "0"]
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as stream:
            process = subprocess.Popen([*command, *overrides], stdout=stream, stderr=stream)
        try:
            server = Serving(process, log)
            server.wait_ready()
            yield server
        except Exception:
            sys.stderr.write(log.read_text()[-2000:])  # what it said is the first thing to read
            raise
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def children(pid: int) -> list[int]:
    """Processes that a process has started, in that order (Linux)."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]
