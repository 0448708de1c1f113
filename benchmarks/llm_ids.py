"""One id to the GPU and one back, by every way that it can take."""

import mmap
import time
from collections.abc import Callable

import numpy as np
import torch
import triton
import triton.language as tl

from benchmarks.sample import median
from ringbuf import memory

MAPPED = 2  # cudaHostRegisterMapped


@triton.jit
def _echo(address, ids, out, BY_ADDRESS: tl.constexpr):  # noqa: N803
    """The id at an address, or the first of `ids`, plus one."""
    if BY_ADDRESS:  # noqa: SIM108 (a kernel's branch)
        place = tl.load(address, volatile=True).to(tl.pointer_type(tl.int32))
    else:
        place = ids
    tl.store(out, tl.load(place, volatile=True) + 1)


def round_trips(count: int) -> dict[str, float | None]:
    """Median µs from an id on the host to its successor on the host, by way.

    `ring`: the GPU reads the ring's own memory (a memfd, registered). `mapped`: the host writes
    it into a pinned block, which the GPU reads. `pinned` and `pageable`: it is copied to the
    device. `item`: as `pageable`, and back with `.item()`, as it is usually done.
    """
    ways = {"ring": _ring, "mapped": _mapped, "pinned": _pinned, "pageable": _pageable}
    found = {name: _time(*make(), count) for name, make in ways.items()}
    return found | {"item": _time(*_item(), count)}


Send = Callable[[int], None]
Receive = Callable[[], int]


def _time(send: Send, receive: Receive, count: int) -> float | None:
    times = []
    for id in range(count + 50):
        begin = time.perf_counter()
        send(id)
        got = receive()
        times.append((time.perf_counter() - begin) * 1e6)
        assert got == id + 1, f"sent {id}, got {got}"
    return median(times[50:])


def _host(*shape: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, pin_memory=True)


def _recorded(work: Callable[[], object]) -> Callable[[], None]:
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    with torch.cuda.stream(stream):
        work()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            work()
    return graph.replay


def _echo_graph(source: torch.Tensor, out: torch.Tensor, *, by_address: bool) -> Callable[[], None]:
    return _recorded(lambda: _echo[(1,)](source, source, out, BY_ADDRESS=by_address, num_warps=1))


def _receive(out: torch.Tensor) -> Receive:
    view, event = out.numpy(), torch.cuda.Event()  # type: ignore[no-untyped-call]

    def receive() -> int:
        event.record()
        event.synchronize()
        return int(view[0])

    return receive


def _ring() -> tuple[Send, Receive]:
    size = 1 << 16
    ring = np.frombuffer(mmap.mmap(memory.create(size), size), np.int32)
    status = torch.cuda.cudart().cudaHostRegister(ring.ctypes.data, size, MAPPED)
    assert int(status) == 0, f"cudaHostRegister: {status}"
    address, out = _host(1, dtype=torch.int64), _host(1)
    address[0] = ring.ctypes.data
    replay, addresses = _echo_graph(address, out, by_address=True), address.numpy()

    def send(id: int) -> None:
        slot = id % len(ring)
        ring[slot] = id  # the recogniser's write
        addresses[0] = ring.ctypes.data + 4 * slot
        replay()

    return send, _receive(out)


def _mapped() -> tuple[Send, Receive]:
    block, out = _host(1), _host(1)
    replay, view = _echo_graph(block, out, by_address=False), block.numpy()

    def send(id: int) -> None:
        view[0] = id
        replay()

    return send, _receive(out)


def _pinned() -> tuple[Send, Receive]:
    block, device, out = _host(1), torch.zeros(1, dtype=torch.int32, device="cuda"), _host(1)
    replay, view = _echo_graph(device, out, by_address=False), block.numpy()

    def send(id: int) -> None:
        view[0] = id
        device.copy_(block, non_blocking=True)
        replay()

    return send, _receive(out)


def _pageable() -> tuple[Send, Receive]:
    device, out = torch.zeros(1, dtype=torch.int32, device="cuda"), _host(1)
    replay = _echo_graph(device, out, by_address=False)

    def send(id: int) -> None:
        device.copy_(torch.tensor([id], dtype=torch.int32))
        replay()

    return send, _receive(out)


def _item() -> tuple[Send, Receive]:
    device = torch.zeros(1, dtype=torch.int32, device="cuda")
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    replay = _echo_graph(device, out, by_address=False)

    def send(id: int) -> None:
        device.copy_(torch.tensor([id], dtype=torch.int32))
        replay()

    return send, lambda: int(out.item())
