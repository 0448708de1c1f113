"""Computes for the transformers engine on an NVIDIA GPU: one graph launch a step, no allocation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pipeline.config import CudaConfig
from pipeline.errors import ModelError, StageError
from stages.llm.buckets import Buckets, Piece
from stages.llm.compute import Choice, Progress
from stages.llm.cuda.buffers import Buffers
from stages.llm.cuda.exchange import (
    HEAD,
    LANES,
    RING,
    WORDS,
    fetch_kernel,
    publish_kernel,
)
from stages.llm.cuda.llama import Llama, why_not
from stages.llm.cuda.narrow import narrow
from stages.llm.cuda.sampler import DeviceSampler
from stages.llm.cuda.strict import pin
from stages.llm.cuda.weights import Layer
from stages.llm.forward import Forward
from stages.llm.kv_cache import KvCache
from stages.llm.sampling import Sampling, uniform

FIRST_BUCKET = 512
PAGE = 64  # positions; a capacity is a multiple of it


class CudaCompute:
    """See `stages.llm.compute.Compute`.

    Every step is one function of fixed memory, captured as a graph for each batch size and bucket;
    the host writes a block of numbers, launches, and waits only for an id.

    Args:
        forward: the model.
        context: ids that each lane can hold.
        lanes: open at once.
        rows: of the chunk step.
        sampling: how ids are chosen.
        switches: what is used.
        progress: told of what takes a while.

    Attributes:
        kind: `llama`, our own chain of kernels, or `plain`, transformers' forward, and why.

    Raises:
        ModelError: there is not enough memory.
    """

    def __init__(
        self,
        forward: Forward,
        context: int,
        lanes: int,
        rows: int,
        sampling: Sampling,
        switches: CudaConfig,
        progress: Progress = lambda what, done: None,
    ) -> None:
        if switches.strict:
            pin()
        self.rows = rows
        self.buckets = Buckets.doubling(context, FIRST_BUCKET)
        self.runs_ahead = switches.run_ahead
        self.is_batched = switches.batch and not switches.strict
        self.full_steps = switches.full_steps
        self._forward = forward
        self._switches = switches
        self.device: torch.device = forward.model.device
        self._batches = _batch_sizes(lanes if switches.batch and not switches.strict else 1)
        self._stream: Any = torch.cuda.Stream(self.device, priority=-1)  # type: ignore[no-untyped-call]
        capacity = -(-(context + rows) // PAGE) * PAGE
        needed = capacity * (lanes + 1) * _bytes_each(forward)
        free, _ = torch.cuda.mem_get_info(self.device)
        try:
            self.kv = KvCache(forward.shapes, lanes + 1, capacity, forward.model.dtype, self.device)
            largest = self._batches[-1]
            self.buffers = Buffers.allocate(
                lanes + 1,
                capacity,
                largest,
                max(rows, largest),
                forward.vocabulary,
                self.device,
            )
            self.kind, self._llama, self._cheap = self._make_chain(largest)
        except torch.OutOfMemoryError as error:
            raise ModelError(
                f"{lanes} lanes of {context} ids need {needed / 2**30:.1f} GiB of GPU memory, "
                f"{free / 2**30:.1f} GiB are free",
                "Lower pipeline.lanes or llm.context, or end other programs on the GPU",
            ) from error
        self._sampler = DeviceSampler(sampling, self.buffers)
        self._ring: NDArray[np.int32] = self.buffers.ring.numpy()
        self._out: NDArray[np.int32] = self.buffers.out.numpy()
        self._tickets: list[_Ticket | None] = [None] * RING
        self._events: list[Any] = [torch.cuda.Event() for _ in range(RING)]  # type: ignore[no-untyped-call]
        self._turn = 0
        self._slots = list(range(lanes))
        self._trash = lanes
        self._lanes: dict[int, _Lane] = {}
        self._graphs: dict[tuple[int, int, int, bool], torch.cuda.CUDAGraph] = {}
        if switches.graphs:
            self._capture(progress)

    def open(self, lane: int) -> None:
        """See `Compute.open`: the memory is there since the start."""
        if not self._slots:
            raise StageError("every lane of the GPU's cache is in use", "Raise pipeline.lanes")
        self._lanes[lane] = _Lane(self._slots.pop())

    def close(self, lane: int) -> None:
        """See `Compute.close`."""
        self._slots.append(self._lanes.pop(lane).slot)

    def temper(self, lane: int, temperature: float | None) -> None:
        """See `Compute.temper`."""
        if temperature not in (None, self._sampler.sampling.temperature):
            raise StageError(
                "a temperature of its own is asked for, but on a GPU all conversations have one",
                "Leave it out, or set llm.temperature",
            )

    def chunk(self, lane: int, ids: NDArray[np.int32], piece: Piece) -> None:
        """See `Compute.chunk`."""
        state = self._lanes[lane]
        chance = self._chance(piece.start + piece.count)
        head = [state.slot, piece.start, piece.count, chance, *ids.tolist()]
        state.ticket, state.row = self._launch(1, self.rows, piece.bucket, head), 0

    def decode(
        self,
        lanes: Sequence[int],
        ids: Sequence[int | None],
        positions: Sequence[int],
        *,
        cheap: bool,
    ) -> None:
        """See `Compute.decode`."""
        most = self._batches[-1]
        for begin in range(0, len(lanes), most):
            part = slice(begin, begin + most)
            self._decode(lanes[part], ids[part], positions[part], cheap)

    def choose(self, lanes: Sequence[int], contents: Sequence[NDArray[np.int32]]) -> Choice:
        """See `Compute.choose`: the step that computed the scores has chosen too."""
        states = [self._lanes[lane] for lane in lanes]
        results = [(state.ticket, state.row) for state in states]

        def wait() -> list[int]:
            ids = [ticket.ids()[row] if ticket else -1 for ticket, row in results]
            if min(ids) < 0:
                raise StageError(
                    "the language model's scores are not numbers",
                    "Its weights may be broken, or its dtype too small: try llm.dtype = 'float32'",
                )
            return ids

        return wait

    def _decode(
        self,
        lanes: Sequence[int],
        ids: Sequence[int | None],
        positions: Sequence[int],
        cheap: bool,
    ) -> None:
        size = next(size for size in self._batches if size >= len(lanes))
        states = [self._lanes[lane] for lane in lanes]
        words: list[int] = []
        for state, id, position in zip(states, ids, positions, strict=True):
            chance = self._chance(position + 1)
            words += (state.slot, position, 1, chance, -1 if id is None else id)
        words += (self._trash, 0, 1, 0, 0) * (size - len(lanes))
        ticket = self._launch(size, 1, self.buckets.of(max(positions)), words, cheap)
        for row, state in enumerate(states):
            state.ticket, state.row = ticket, row

    def _chance(self, position: int) -> int:
        """What chance draws for a position, as the bits of a float32."""
        if self._sampler.sampling.greedy:
            return 0
        drawn = np.float32(uniform(self._sampler.sampling.seed, position))
        return int(np.minimum(drawn, np.float32(1 - 2**-24)).view(np.int32))

    def _launch(
        self, lanes: int, rows: int, bucket: int, words: Sequence[int], cheap: bool = False
    ) -> "_Ticket":
        """Begin a step over the lanes that `words` names."""
        index = self._turn % RING
        old = self._tickets[index]
        if old:
            old.ids()  # its block has been read, and what it chose is kept
        self._ring[index, : len(words)] = words
        with torch.cuda.stream(self._stream):
            self._hand_over(index)
            graph = self._graphs.get((lanes, rows, bucket, cheap))
            if graph:
                graph.replay()
            else:
                self.compute(lanes, rows, bucket, cheap)
            self._events[index].record(self._stream)
        self._turn += 1
        ticket = _Ticket(self._events[index], self._out[index, :lanes])
        self._tickets[index] = ticket
        return ticket

    def _hand_over(self, index: int) -> None:
        """Bring a block to the device, if it does not read it where it lies."""
        match self._switches.ids_in:
            case "pinned":
                self.buffers.copied[index].copy_(self.buffers.ring[index], non_blocking=True)
            case "pageable":
                pageable = torch.from_numpy(self._ring[index].copy())
                self.buffers.copied[index].copy_(pageable)

    @torch.inference_mode()
    def compute(self, lanes: int, rows: int, bucket: int, cheap: bool = False) -> None:
        """The step itself, from the block of this turn to the ids that it chooses."""
        b = self.buffers
        ring = b.ring if self._switches.ids_in == "mapped" else b.copied
        fetch_kernel[(lanes,)](
            ring, b.counter, b.now, b.chosen, b.history, b.ids, b.positions, b.slots, b.row,
            b.drawn, b.history.shape[1], RING=RING, WORDS=WORDS, HEAD=HEAD, N_ROWS=rows,
            WIDTH=_width(rows), num_warps=1,
        )  # fmt: skip
        if self._llama:
            parts = self._llama(lanes, rows, bucket, self._cheap if cheap else None)
        else:
            parts = self._plain(lanes, rows, bucket)
        parts = self._sampler(lanes, rows, bucket, parts)
        publish_kernel[(lanes,)](
            b.best, b.best_at, b.now, b.counter, b.chosen, b.slots, b.out, parts,
            RING=RING, LANES=LANES, WIDTH=_width(parts), num_warps=4,
        )  # fmt: skip

    def _plain(self, lanes: int, rows: int, bucket: int) -> int:
        b = self.buffers
        ids = b.ids[: lanes * rows].view(lanes, rows)
        positions = b.positions[: lanes * rows].view(lanes, rows)
        self.kv.aim(b.slots[:lanes], positions, bucket)
        b.logits[:lanes] = self._forward(self.kv, ids, positions, b.row)
        best, best_at = b.logits[:lanes].max(-1)
        b.best[:lanes], b.best_at[:lanes] = best, best_at
        return 1

    def _make_chain(self, lanes: int) -> tuple[str, Llama | None, list[Layer] | None]:
        model = self._forward.model
        reason = why_not(model) if self._switches.kernels else "llm.cuda.kernels is off"
        if reason:
            return f"plain: {reason}", None, None
        chain = Llama(model, self.kv, self.buffers, lanes, self.rows)
        cheap = [narrow(layer) for layer in chain.layers] if self.full_steps else None
        return "llama", chain, cheap

    def _capture(self, progress: Progress) -> None:
        """Run every step once, then record it."""
        shapes = [(1, self.rows), *((size, 1) for size in self._batches)]
        kinds = [False, True] if self._cheap else [False]
        keys = [
            (lanes, rows, bucket, cheap)
            for bucket in self.buckets.edges
            for lanes, rows in shapes
            for cheap in kinds
            if rows == 1 or not cheap
        ]
        pool: Any = None
        self._ring[:] = 1  # slot, start, count and ids that are all sound
        for done, key in enumerate(keys):
            progress("recording the GPU's steps", done / len(keys))
            with torch.cuda.stream(self._stream):
                self.buffers.copied.fill_(1)
                self.compute(*key)
            self._stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool, stream=self._stream):
                self.compute(*key)
            pool = pool or graph.pool()
            self._graphs[key] = graph
        self._stream.synchronize()
        self.buffers.counter.zero_()
        for layer in self.kv.layers:  # what the warm-up wrote
            layer.keys.zero_()
            layer.values.zero_()
        torch.cuda.synchronize(self.device)

    def synchronize(self) -> None:
        """Wait for everything that was begun; for measurements."""
        self._stream.synchronize()

    def launching(self) -> Any:
        """A context in which work is put on this engine's stream; for measurements."""
        return torch.cuda.stream(self._stream)


class _Ticket:
    """The ids that a step chooses, once it has."""

    def __init__(self, event: Any, out: NDArray[np.int32]) -> None:
        self._event = event
        self._out = out
        self._ids: list[int] | None = None

    def ids(self) -> list[int]:
        """Wait for them: the one synchronisation of a step."""
        if self._ids is None:
            self._event.synchronize()
            self._ids = self._out.tolist()
        return self._ids


class _Lane:
    """A lane's slot, and where what follows its content will be found."""

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.ticket: _Ticket | None = None
        self.row = 0


def _width(count: int) -> int:
    return max(2, 1 << (count - 1).bit_length())


def _batch_sizes(lanes: int) -> list[int]:
    """1, 2, 4, … until every lane fits, at most LANES."""
    sizes = [1]
    while sizes[-1] < min(lanes, LANES):
        sizes.append(2 * sizes[-1])
    return sizes


def _bytes_each(forward: Forward) -> int:
    """Bytes of cache for one position of one lane."""
    each = sum(heads * (keys + values) for heads, keys, values in forward.shapes)
    return each * int(forward.model.dtype.itemsize)
