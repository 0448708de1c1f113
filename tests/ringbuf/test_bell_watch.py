"""A doorbell on an event loop."""

import asyncio
import gc
import time
import weakref
from collections.abc import Awaitable, Callable

import pytest

from ringbuf import BellWatch, Closed, PeerDied, RingFull
from tests.ringbuf.pair import Pair

DEADLINE_S = 30
pytestmark = pytest.mark.filterwarnings("error")


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        async with asyncio.timeout(DEADLINE_S):
            await work()

    asyncio.run(within(), debug=True)


def put(pair: Pair, id: int = 1) -> bool:
    return pair.writer.token("ids").put(id, position=0, turn=1, answer=1)


def test_lanes_that_ring_are_called_back(pair: Pair) -> None:
    async def work() -> None:
        heard: asyncio.Queue[list[int]] = asyncio.Queue()
        pair.a.bell_of("b").ring(0)  # before anybody listens
        watch = BellWatch(pair.b.bell, heard.put_nowait)
        assert await heard.get() == [0]
        put(pair)
        assert await heard.get() == [1]
        watch.stop()

    run(work)


def test_a_reader_and_a_writer_on_one_loop(pair: Pair) -> None:
    async def work() -> None:
        ring, out, count = pair.writer.token("ids"), pair.reader.token("ids"), 2_000
        writes, reads = BellWatch(pair.a.bell), BellWatch(pair.b.bell)

        async def write() -> None:
            for id in range(count):
                await writes.wait_for_room(ring, timeout=DEADLINE_S)
                assert put(pair, id)

        async def read() -> list[int]:
            seen: list[int] = []
            while len(seen) < count:
                assert await reads.wait(out, timeout=DEADLINE_S)
                with out.read() as batch:
                    for run in batch.runs():
                        seen.extend(run.ids.tolist())
            return seen

        _, seen = await asyncio.gather(write(), read())
        assert seen == list(range(count))
        writes.stop()
        reads.stop()

    run(work)


def test_deadlines_and_deaths(pair: Pair) -> None:
    async def work() -> None:
        ring, out = pair.writer.token("ids"), pair.reader.token("ids")
        writes, reads = BellWatch(pair.a.bell), BellWatch(pair.b.bell)
        assert not await reads.wait(out, timeout=0.01)
        while put(pair):
            pass
        with pytest.raises(RingFull, match="b has made no room"):
            await writes.wait_for_room(ring, timeout=0.01)
        waiting = asyncio.ensure_future(writes.wait_for_room(ring))
        await asyncio.sleep(0)
        told = time.monotonic()
        pair.b.mark_dead("b")
        with pytest.raises(PeerDied, match="b, at the other end of ids"):
            await waiting
        assert time.monotonic() - told < 0.1
        with pytest.raises(ValueError, match="only b may wait"):
            await writes.wait(ring)
        writes.stop()
        reads.stop()

    run(work)


def test_a_writer_that_never_stops_leaves_time_for_others(pair: Pair) -> None:
    async def work() -> None:
        rounds = 0

        def ring_again(lanes: list[int]) -> None:
            nonlocal rounds
            rounds += 1
            pair.a.bell_of("b").ring(1)

        watch = BellWatch(pair.b.bell, ring_again)
        put(pair)
        for _ in range(10):
            await asyncio.sleep(0)  # the loop turns although there is always work
        assert rounds > 1
        watch.stop()

    run(work)


def test_a_listener_that_raises_is_called_again(pair: Pair) -> None:
    async def work() -> None:
        failed, heard = asyncio.Event(), asyncio.Event()
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: failed.set())

        def listen(lanes: list[int]) -> None:
            if lanes == [0]:
                raise RuntimeError("bad lane")
            heard.set()

        watch = BellWatch(pair.b.bell, listen)
        pair.a.bell_of("b").ring(0)
        await failed.wait()
        pair.a.bell_of("b").ring(1)
        await heard.wait()
        watch.stop()

    run(work)


def test_who_waits_on_a_stopped_watch_is_told(pair: Pair) -> None:
    async def work() -> None:
        watch = BellWatch(pair.b.bell)
        waiting = asyncio.ensure_future(watch.wait(pair.reader.token("ids")))
        await asyncio.sleep(0)
        watch.stop()
        watch.stop()
        with pytest.raises(Closed):
            await waiting

    run(work)


def test_a_stopped_watch_lets_go_of_its_listener(pair: Pair) -> None:
    async def work() -> None:
        class Listener:
            def rung(self, lanes: list[int]) -> None: ...

        listener = Listener()
        watch = BellWatch(pair.b.bell, listener.rung)
        gone = weakref.ref(listener)
        watch.stop()
        del listener
        gc.collect()
        assert gone() is None

    run(work)
