"""Times of each product of a model for many tiles: what `stages.llm.cuda.tiles` is written from.

Prints, for each product, the best tiles with the microseconds of one layer.
"""

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence

import torch
import triton

from benchmarks.random_models import SHAPES, random_model
from benchmarks.sample import median
from stages.llm.cuda.buffers import Buffers
from stages.llm.cuda.llama import Llama
from stages.llm.cuda.narrow import narrow
from stages.llm.cuda.tiles import TABLE, Tile
from stages.llm.cuda.weights import Layer
from stages.llm.forward import Forward
from stages.llm.kv_cache import KvCache

SHARED_BYTES = 210_000  # of a multiprocessor, for one program
HEADS = 4  # times that the head is computed: a layer is computed once for each layer


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm_tiles", description=__doc__)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("--rows", type=int, choices=(1, 16, 64), default=1)
    parser.add_argument("--narrow", action="store_true", help="weights of eight bits")
    options = parser.parse_args(arguments)
    chain = make_chain(options.shape, options.rows)
    if options.narrow:
        chain.layers = [narrow(layer) for layer in chain.layers]
    for name, inner, work, count in products(chain, options.rows):
        key = (name.partition(" ")[0], options.rows, inner, options.narrow)
        times = []
        for tile in tiles(options.rows):
            TABLE[key] = tile
            try:
                times.append((time_us(work) / count, tile))
            except triton.runtime.errors.OutOfResources:
                continue
        times.sort(key=lambda pair: pair[0])
        best = ", ".join(f"{us:.1f} {tile}" for us, tile in times[:3])
        sys.stdout.write(f"{key}: {best}\n")
    return 0


def make_chain(shape: str, rows: int) -> Llama:
    """The kernels of a random model, without an engine."""
    model = random_model(shape, "cuda", torch.bfloat16)
    forward = Forward(model)
    kv = KvCache(forward.shapes, 2, 1024, model.dtype, model.device)
    buffers = Buffers.allocate(2, 1024, rows, rows, forward.vocabulary, model.device)
    return Llama(model, kv, buffers, rows, rows)


def products(chain: Llama, rows: int) -> Iterator[tuple[str, int, Callable[[], object], int]]:
    """Name, elements of a row, the work of all layers, and how many they are."""
    count, heads = len(chain.layers), chain.heads * chain.size

    def every(work: Callable[[Layer, int], None]) -> Callable[[], None]:
        def run() -> None:
            for index, layer in enumerate(chain.layers):
                work(layer, index)

        return run

    yield "qkv", chain.hidden, every(lambda la, index: chain.qkv(la, index, rows, rows)), count
    yield "add o", heads, every(lambda la, _: chain.project(la, rows)), count
    yield "gate_up", chain.hidden, every(lambda la, _: chain.gate_up(la, rows)), count
    yield "add down", chain.inner, every(lambda la, _: chain.down(la, rows)), count
    if rows == 1:
        yield "head", chain.hidden, lambda: [chain.score(1, 1) for _ in range(HEADS)], HEADS


def tiles(rows: int) -> Iterator[Tile]:
    """Worth trying for so many rows."""
    sizes = itertools.product((4, 8, 16, 32, 64), (64, 128, 256, 512, 1024, 2048))
    for (n, k), stages, warps in itertools.product(sizes, (1, 3, 5), (2, 4, 8)):
        if rows == 1:
            sensible = 2048 <= n * k <= 16_384 and warps > 2 and stages < 5
        else:
            shared = (n * k * 2 + rows * k * 4) * stages
            sensible = n >= 16 and k <= 256 and stages > 1 and shared <= SHARED_BYTES
        if sensible:
            yield Tile(n, k, stages, warps)


def time_us(work: Callable[[], object]) -> float:
    """Median of five replays of some work, recorded as a graph."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    with torch.cuda.stream(stream):
        work()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            work()
        times = []
        for _ in range(6):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
            begin.record(stream)
            graph.replay()
            end.record(stream)
            stream.synchronize()
            times.append(float(begin.elapsed_time(end)) * 1e3)
    return median(times[1:]) or 0.0


if __name__ == "__main__":
    sys.exit(main())
