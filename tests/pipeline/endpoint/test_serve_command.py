"""`voxring serve` as people start it: signals, a killed endpoint, mistakes."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.pipeline.endpoint.running import Client, ask, quiet
from tests.pipeline.running import alive, wait_until

SCRIPTED = ["--config", "scripted", "--port", "0", "--set", "pipeline.lanes=2"]
READY = re.compile(r"ready at (http\S+)")
START_S = 30


class Serving:
    """A running `voxring serve`.

    Attributes:
        log: what it has written so far.
    """

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def log(self) -> str:
        return self._log.read_text()

    def urls(self) -> list[str]:
        """Of each program that became ready."""
        return READY.findall(self.log)

    def wait_ready(self, times: int = 1) -> str:
        """Wait until it has become ready so often."""
        assert wait_until(lambda: len(self.urls()) >= times or self.ended, START_S), self.log
        assert len(self.urls()) >= times, self.log
        return self.urls()[-1]

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def end(self, number: signal.Signals, seconds: float) -> int:
        """Send a signal; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def program(self) -> int:
        """The process that serves."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        (child,) = children.read_text().split()
        return int(child)


@contextmanager
def serving(tmp_path: Path, *arguments: str, **variables: str) -> Iterator[Serving]:
    log = tmp_path / "log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline", "serve", *SCRIPTED, *arguments],
            stdout=stream,
            stderr=stream,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        )
    try:
        yield Serving(process, log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)


def descendants(pid: int) -> list[int]:
    """Processes below one."""
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += [int(child), *descendants(int(child))]
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_nobody_there_within_two_seconds(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Fault 23."""
    with serving(tmp_path) as served:
        served.wait_ready()
        below = descendants(served.process.pid)
        assert len(below) >= 5
        assert served.end(number, 4) == (0 if number == signal.SIGTERM else 130)
        assert wait_until(lambda: not any(map(alive, below)), 2)
        assert "Traceback" not in served.log


def test_ctrl_c_ends_it_while_it_starts_and_while_somebody_is_there(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        assert wait_until(lambda: bool(descendants(served.process.pid)), START_S)
        assert served.end(signal.SIGINT, 6) == 130

    async def stay(url: str) -> int | None:
        async with connect(url.replace("http", "ws") + "/v1/voice", proxy=None) as socket:
            client = Client(socket)
            await client.start()
            served.process.send_signal(signal.SIGINT)
            with pytest.raises(ConnectionClosed):
                await client.until("turn_ended")
            return socket.close_code

    with serving(tmp_path) as served:
        assert asyncio.run(stay(served.wait_ready())) == 1001
        assert served.process.wait(4) == 130
        assert "Traceback" not in served.log


def test_a_killed_endpoint_comes_back_on_the_same_port(tmp_path: Path) -> None:
    """kill -9 of the edge: clients see the close, and can connect again within 10 s."""

    async def talk(url: str) -> str:
        async with connect(url.replace("http", "ws") + "/v1/voice", proxy=None) as socket:
            client = Client(socket)
            await client.start()
            return str((await client.ask())["outcome"])

    async def killed(served: Serving, url: str) -> float:
        async with connect(url.replace("http", "ws") + "/v1/voice", proxy=None) as socket:
            client = Client(socket)
            await client.start()
            await socket.send(quiet(0.1))
            os.kill(served.program(), signal.SIGKILL)
            with pytest.raises(ConnectionClosed):
                await client.until("turn_ended")
        began = time.monotonic()
        while True:
            try:
                assert await talk(url) == "answered"
                return time.monotonic() - began
            except (InvalidStatus, OSError):
                await asyncio.sleep(0.1)

    with serving(tmp_path) as served:
        url = served.wait_ready()
        below = descendants(served.program())
        asyncio.run(asyncio.wait_for(killed(served, url), 20))
        assert served.wait_ready(2) == url
        assert wait_until(lambda: not any(map(alive, below)), 2)
        _, _, body = ask(url, "/metrics")
        assert 'voxring_restarts_total{stage="edge"} 1.0' in body.decode()
        assert served.end(signal.SIGTERM, 4) == 0


def test_its_programs_end_with_it_when_it_is_killed(tmp_path: Path) -> None:
    """Fault 20."""
    with serving(tmp_path) as served:
        served.wait_ready()
        below = descendants(served.process.pid)
        served.process.kill()
        assert wait_until(lambda: not any(map(alive, below)), 3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "needs a token"),
        (["--set", "serve.tls_cert=x.pem"], "both serve.tls_cert and serve.tls_key"),
        (["--set", "serve.token_file=nowhere"], "nowhere cannot be read"),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1"),
        (["--set", "serve.prot=1"], "Did you mean serve.port?"),
    ],
)
def test_a_mistake_is_one_line_and_code_2(tmp_path: Path, arguments: list[str], said: str) -> None:
    with serving(tmp_path, *arguments, VOXRING_TOKENS="") as served:
        assert served.process.wait(START_S) == 2
        assert said in served.log
        assert served.log.count("\n") == 1


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with serving(tmp_path, "--port", str(port)) as served:
            assert served.process.wait(START_S) == 2
            assert f"cannot listen on 127.0.0.1 port {port}" in served.log


def test_the_log_is_lines_for_a_machine_without_what_people_say(tmp_path: Path) -> None:
    async def talk(url: str) -> None:
        async with connect(url.replace("http", "ws") + "/v1/voice", proxy=None) as socket:
            client = Client(socket)
            await client.start(instructions="SECRET")
            await socket.send('{"type":"SECRET"}')
            assert (await client.ask())["user_text"] == "What time is it?"

    settings = ["--set", "serve.log=json", "--set", "pipeline.log_level=debug"]
    with serving(tmp_path, *settings) as served:
        asyncio.run(talk(re.findall(r"ready at (http[^\"\s]+)", wait_log(served))[0]))
        assert served.end(signal.SIGTERM, 4) == 0
        lines = [json.loads(line) for line in served.log.splitlines() if line.startswith("{")]
    ended = next(line for line in lines if line["event"] == "turn ended")
    assert ended["lane"] == 0
    assert (ended["turn"], ended["outcome"]) == (1, "answered")
    assert ended["user_chars"] == len("What time is it?")
    assert {line["event"] for line in lines} >= {"connected", "disconnected", "ended"}
    for private in ("SECRET", "What time", "It is time"):
        assert private not in served.log


def test_a_stage_s_errors_are_lines_for_a_machine_too(tmp_path: Path) -> None:
    async def talk(url: str) -> None:
        async with connect(url.replace("http", "ws") + "/v1/voice", proxy=None) as socket:
            client = Client(socket)
            await client.start()
            assert (await client.ask())["outcome"] == "failed"

    broken = ["--set", "llm.options={replies = ['no'], fail_after = 1}"]
    with serving(tmp_path, "--set", "serve.log=json", *broken) as served:
        asyncio.run(talk(re.findall(r"ready at (http[^\"\s]+)", wait_log(served))[0]))
        served.end(signal.SIGTERM, 4)
        lines = [json.loads(line) for line in served.log.splitlines() if line.startswith("{")]
    failed = next(line for line in lines if line["program"] == "llm")
    assert (failed["lane"], failed["turn"], failed["level"]) == (0, 1, "error")
    assert "Traceback" in failed["traceback"]
    fault = next(line for line in lines if line["event"] == "fault")
    assert (fault["program"], fault["lane"], fault["turn"]) == ("serve", 0, 1)


def wait_log(served: Serving) -> str:
    """The log, once it says that it is ready."""
    assert wait_until(lambda: "ready at" in served.log, START_S), served.log
    return served.log
