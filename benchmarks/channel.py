"""The ways of a token between two programs that `ring` compares: the sender's side."""

import importlib
import importlib.util
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.receiver import ACK, BATCH, HOST, PARK_S, READER, RING, WRITER, receive_queue
from ringbuf import Arena, BellPipe, Kind, Layout, RingKind, RingSpec

ROOT = Path(__file__).parents[1]
CAPACITY = 4096  # slots: what a context of 2048 tokens gets in the pipeline
LANES, LANE_CAPACITY = 1000, 64  # open at once, on one doorbell
STRIDE = 389  # from lane to lane; has no factor in common with their number
SILENCE_S = 30.0  # after which a receiver is taken for dead
END_S = 2.0
TURN = ANSWER = 1


class ChannelError(Exception):
    """A receiver has died or is silent."""


class Channel:
    """Sends ids to a program of its own and learns when each was there.

    Attributes:
        pid: of the receiver.
    """

    name: ClassVar[str]
    pid: int
    _acks: "Connection[bytes, bytes]"

    def send(self, id: int) -> None:
        """Send one id."""
        raise NotImplementedError

    def close(self) -> None:
        """End the receiver."""
        raise NotImplementedError

    def arrival(self, id: int) -> int:
        """Wait until `id` was received; monotonic ns of that.

        Raises:
            ChannelError: something else was received, or nothing.
        """
        number, at = self._ack()
        if number != id:
            raise ChannelError(f"{self.name}: {number} arrived, expected {id}")
        return at

    def _ack(self) -> tuple[int, int]:
        try:
            if self._acks.poll(SILENCE_S):
                number, at = ACK.unpack(self._acks.recv_bytes())
                return number, at
        except (EOFError, OSError) as error:
            raise ChannelError(f"{self.name}: the receiver has died") from error
        raise ChannelError(f"{self.name}: no answer within {SILENCE_S:.0f} s")


class Receiver:
    """`benchmarks.receiver` as a program of its own.

    Args:
        mode: what it receives.
        fds: value of each descriptor by name, besides acks and lifeline.
        inherited: the descriptors in them.
    """

    def __init__(self, mode: str, fds: Mapping[str, str], inherited: Sequence[int]) -> None:
        ack_fd, acks_fd = os.pipe()
        lifeline_fd, self._lifeline_end = os.pipe()
        named = {**fds, "acks": str(acks_fd), "lifeline": str(lifeline_fd)}
        listed = ",".join(f"{name}={value}" for name, value in named.items())
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.receiver", mode, "--fds", listed],
            pass_fds=(*inherited, acks_fd, lifeline_fd),
            cwd=ROOT,
        )
        os.close(acks_fd)
        os.close(lifeline_fd)
        self.acks: Connection[bytes, bytes] = Connection(ack_fd, writable=False)
        self.pid = self._popen.pid

    def end(self) -> None:
        """End it and wait for that."""
        os.close(self._lifeline_end)
        self._popen.kill()
        self._popen.wait()
        self.acks.close()


class TokenChannel(Channel):
    """Our ring: `put`, doorbell, a reader that was parked.

    Args:
        mode: "token" to have each id acknowledged, "batch" for `send_series`.
        lanes: open at once, on the receiver's one doorbell.
        capacity: slots of each ring.
    """

    name = "token"

    def __init__(self, mode: str = "token", lanes: int = 1, capacity: int = CAPACITY) -> None:
        bells = {name: BellPipe.create() for name in (WRITER, READER)}
        ring = RingSpec(RING, RingKind.TOKEN, WRITER, READER, capacity)
        layout = Layout(processes=(WRITER, READER), lanes=lanes, rings=(ring,), words=())
        self._bells = bells
        self._arena = Arena.create(layout, WRITER, bells)
        for lane in range(lanes):
            self._arena.claim(lane)
        self._rings = [self._arena.lane(lane).token(RING) for lane in range(lanes)]
        self._ring = self._rings[0]
        self._receiver = self._start(mode)
        self.pid, self._acks = self._receiver.pid, self._receiver.acks
        self._ack()

    def send(self, id: int) -> None:
        """Send one id with all that a slot carries."""
        self._ring.put(id, position=id, turn=TURN, answer=ANSWER)

    def send_series(self, count: int) -> None:
        """Send ids 0 to `count` in batches, as fast as there is room; then the end."""
        ids = np.arange(count, dtype=np.int32)
        done = 0
        while done < count:
            batch = ids[done : done + BATCH]
            sent = self._ring.put_run(batch, position=done, turn=TURN, answer=ANSWER)
            done += sent
            if sent < len(batch):
                self._wait_for_room()
        while not self._ring.put(0, position=count, turn=TURN, answer=ANSWER, kind=Kind.END):
            self._wait_for_room()

    @property
    def recoveries(self) -> int:
        """Wake-ups of either side that only the safety timer noticed."""
        return sum(self._arena.bell_of(name).recoveries for name in (WRITER, READER))

    def close(self) -> None:
        """End the receiver and give the memory back."""
        self._receiver.end()
        self._arena.close()
        for bell in self._bells.values():
            bell.close()

    def _start(self, mode: str) -> Receiver:
        bells = self._bells
        fds = {
            "arena": str(self._arena.fd),
            READER: f"{bells[READER].read_fd}:{bells[READER].write_fd}",
            WRITER: f"-1:{bells[WRITER].write_fd}",
        }
        inherited = [self._arena.fd, bells[READER].read_fd, *(b.write_fd for b in bells.values())]
        return Receiver(mode, fds, inherited)

    def _wait_for_room(self) -> None:
        self._arena.bell.park(PARK_S)
        self._arena.bell.take()


class LanesChannel(TokenChannel):
    """The same with many open lanes; all ids take one of them."""

    name = "lanes"

    def __init__(self) -> None:
        super().__init__(lanes=LANES, capacity=LANE_CAPACITY)
        for lane in range(LANES):  # a page that nobody has touched yet is no cost of a wake-up
            self.send_on(lane, 0)
            self.arrival(0)

    def send(self, id: int) -> None:
        """Send one id on the last lane."""
        self.send_on(LANES - 1, id)

    def send_on(self, lane: int, id: int) -> None:
        """Send one id on a lane."""
        self._rings[lane].put(id, position=id, turn=TURN, answer=ANSWER)


class ScatteredChannel(Channel):
    """The same receiver; each id takes a lane far from the last one, whose memory is cold.

    Args:
        lanes: whose receiver it is; not closed with this.
    """

    name = "scattered"

    def __init__(self, lanes: LanesChannel) -> None:
        self._lanes = lanes
        self._acks, self.pid = lanes._acks, lanes.pid

    def send(self, id: int) -> None:
        """Send one id on a lane of its own."""
        self._lanes.send_on(id * STRIDE % LANES, id)

    def close(self) -> None:
        """Nothing: the receiver belongs to another."""


class QueueChannel(Channel):
    """A queue of multiprocessing's, with a bare int: the least it can be asked to carry."""

    def __init__(self) -> None:
        # spawn: a real program too, and no fork of threads that other channels have started.
        self._context = multiprocessing.get_context("spawn")
        self._queue = self._make()
        self._acks, pipe = self._context.Pipe(duplex=False)
        self._process = self._context.Process(
            target=receive_queue, args=(self._queue, pipe), daemon=True
        )
        self._process.start()
        pipe.close()
        self.pid = self._process.pid or 0
        self._ack()

    def send(self, id: int) -> None:
        """Send one id."""
        self._queue.put(id)

    def close(self) -> None:
        """End the receiver."""
        self._queue.put(None)
        self._process.join(END_S)
        self._process.kill()
        self._process.join()
        self._queue.close()
        self._acks.close()

    def _make(self) -> Any:
        raise NotImplementedError


class SimpleQueueChannel(QueueChannel):
    """A pipe with a lock."""

    name = "simplequeue"

    def _make(self) -> Any:
        return self._context.SimpleQueue()


class FullQueueChannel(QueueChannel):
    """A pipe with locks and a thread that feeds it."""

    name = "queue"

    def _make(self) -> Any:
        return self._context.Queue()


class WebsocketChannel(Channel):
    """A JSON object with what a slot carries, over a local socket, without compression."""

    name = "websocket_json"

    def __init__(self) -> None:
        self._receiver = Receiver("websocket", {}, ())
        self.pid, self._acks = self._receiver.pid, self._receiver.acks
        port, _ = self._ack()
        client = importlib.import_module("websockets.sync.client")
        self._socket = client.connect(f"ws://{HOST}:{port}", compression=None, proxy=None)

    @staticmethod
    def is_possible() -> bool:
        """Whether its library is installed."""
        return importlib.util.find_spec("websockets") is not None

    def send(self, id: int) -> None:
        """Send one id with all that a slot carries."""
        message = {"id": id, "position": id, "turn": TURN, "answer": ANSWER}
        self._socket.send(json.dumps(message))

    def close(self) -> None:
        """End the receiver."""
        self._socket.close()
        self._receiver.end()
