"""Other programs on the same rings: inherited descriptors, another Python, an end by force."""

import multiprocessing
import os
import shutil
import subprocess
import sys
from multiprocessing import reduction
from pathlib import Path

import pytest

from ringbuf import Arena, BellPipe, Kind
from tests.ringbuf.pair import Pair

ROOT = Path(__file__).parents[2]
DEADLINE_S = 60
COUNT = 5_000
# Adds up what comes on "ids", and tells the sum in the word "ack".
PEER = """
import sys
from ringbuf import Arena, BellPipe, Kind
fd, a_write, b_read, b_write = map(int, sys.argv[1:])
bells = {"a": BellPipe(-1, a_write), "b": BellPipe(b_read, b_write)}
with Arena.attach(fd, "b", bells) as arena:
    lane = arena.lane(1)
    ring, total, going = lane.token("ids"), 0, True
    while going and ring.wait(30):
        with ring.read() as batch:
            for run in batch.runs():
                going = run.kind is not Kind.END
                total += int(run.ids.sum()) if going else 0
    lane.set("ack", total)
print(sys.version_info[:2], arena)
"""


def descriptors(pair: Pair) -> list[int]:
    a, b = pair.bells["a"], pair.bells["b"]
    return [pair.a.fd, a.write_fd, b.read_fd, b.write_fd]


def send_all(pair: Pair) -> None:
    ring = pair.writer.token("ids")
    for id in range(COUNT):
        ring.put(id, position=id, turn=1, answer=1, timeout=DEADLINE_S)
    ring.put(0, position=COUNT, turn=1, answer=1, kind=Kind.END, timeout=DEADLINE_S)


def python_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def other_python() -> str:
    """An interpreter of another version with ringbuf: VOXRING_OTHER_PYTHON, or one in PATH."""
    mine = sys.version_info[:2]
    names = [f"python3.{minor}" for minor in range(11, 20) if (3, minor) != mine]
    found = [shutil.which(name) for name in names]
    code = f"import sys, numpy, ringbuf; sys.exit(sys.version_info[:2] == {mine})"
    for python in (os.environ.get("VOXRING_OTHER_PYTHON"), *found):
        if (
            python
            and not subprocess.run(
                [python, "-c", code], env=python_environment(), capture_output=True, check=False
            ).returncode
        ):
            return python
    pytest.skip("needs a second Python with NumPy: set VOXRING_OTHER_PYTHON, or put one into PATH")


def exchange(pair: Pair, python: str) -> str:
    fds = descriptors(pair)
    child = subprocess.Popen(
        [python, "-W", "error", "-c", PEER, *map(str, fds)],
        pass_fds=fds,
        env=python_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    send_all(pair)
    output, errors = child.communicate(timeout=DEADLINE_S)
    assert (child.returncode, errors) == (0, "")
    assert pair.writer.get("ack") == sum(range(COUNT))
    return output


def test_a_program_inherits_the_descriptors(pair: Pair) -> None:
    exchange(pair, sys.executable)


def test_a_program_of_another_python(pair: Pair) -> None:
    output = exchange(pair, other_python())
    assert str(sys.version_info[:2]) not in output


def multiprocessing_peer(handles: "list[reduction.DupFd]") -> None:  # type: ignore[name-defined]
    fd, a_write, b_read, b_write = (handle.detach() for handle in handles)
    bells = {"a": BellPipe(-1, a_write), "b": BellPipe(b_read, b_write)}
    with Arena.attach(fd, "b", bells) as arena:
        ring, total, going = arena.lane(1).token("ids"), 0, True
        while going and ring.wait(DEADLINE_S):
            with ring.read() as batch:
                for run in batch.runs():
                    going = run.kind is not Kind.END
                    total += int(run.ids.sum()) if going else 0
        arena.lane(1).set("ack", total)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_child_of_multiprocessing_gets_duplicates(pair: Pair, method: str) -> None:
    context = multiprocessing.get_context(method)
    handles = _Handles(descriptors(pair))
    child = context.Process(target=multiprocessing_peer, args=(handles,))
    child.start()
    send_all(pair)
    child.join(DEADLINE_S)
    assert child.exitcode == 0
    assert pair.writer.get("ack") == sum(range(COUNT))
    # Its end harmed nobody.
    assert pair.writer.token("ids").put(1, position=0, turn=2, answer=1)
    assert len(pair.reader.token("ids")) == 1


class _Handles(list[int]):
    """Descriptors that are duplicated when a child is being started, which is when pickle asks."""

    def __reduce__(self) -> tuple[type[list[object]], tuple[list[object]]]:
        return list, ([reduction.DupFd(fd) for fd in self],)


def test_nothing_with_a_name_is_left(pair: Pair) -> None:
    """vllm-project/vllm#51317: every killed run left a file in /dev/shm."""
    before = sorted(Path("/dev/shm").iterdir())
    pids = []
    for _ in range(3):
        fds = descriptors(pair)
        child = subprocess.Popen(
            [sys.executable, "-c", PEER, *map(str, fds)], pass_fds=fds, env=python_environment()
        )
        pids.append(child.pid)
        child.kill()
        child.wait(DEADLINE_S)
    assert sorted(Path("/dev/shm").iterdir()) == before
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
