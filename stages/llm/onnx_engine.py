"""A language model under ONNX Runtime, as an engine for a CPU.

The model is the one that onnxruntime-genai builds, run by onnxruntime itself: a lane's keys and
values lie in one block that is bound to the graph as input and as output, so a step writes them in
place, and a rollback is a length. onnxruntime-genai's own generator does that at the same speed,
but after a rewind its scores are wrong until something is appended (its issue 2555).
"""

import json
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from pipeline.errors import ModelError, StageError
from stages.llm.sampling import HostSampler, Sampling

_KNOWN = frozenset({"input_ids", "attention_mask", "position_ids"})
_PAST, _PRESENT = "past_key_values", "present"
_REMEDY = "Set llm.stage to 'transformers', or build it again: voxring models fetch NAME --force"


class OnnxEngine:
    """The engine contract over a model built for ONNX Runtime.

    Args:
        session: of the model.
        form: what its files say of it.
        context: ids that each lane can hold.
        sampling: how ids are chosen.

    Attributes:
        stops: ids that end a reply, as the model's generation config has them.
        read_bytes: of weights, that each id needs.

    Raises:
        ModelError: the model cannot hold that many ids, or keeps no keys that can be rolled back.
    """

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        form: "Form",
        context: int,
        sampling: Sampling | None = None,
    ) -> None:
        if context > form.context:
            raise ModelError(
                f"{form.name} can hold {form.context} ids, llm.context asks for {context}",
                f"Set llm.context to at most {form.context}",
            )
        self.context = context
        self.stops = form.stops
        self.read_bytes = form.read_bytes
        self._session = session
        self._vocabulary = form.vocabulary
        self._sampling = sampling or Sampling()
        self._cache = _cache_shapes(session, form, context)
        self._positions = np.arange(context, dtype=np.int64)
        self._mask = np.ones(context, np.int64)
        self._takes_positions = any(i.name == "position_ids" for i in session.get_inputs())
        self._lanes: dict[int, _Lane] = {}

    def open(self, lane: int) -> None:
        """See `Engine.open`."""
        self.close(lane)
        size = sum(map(prod, self._cache.values())) * np.dtype(np.float32).itemsize
        try:
            # A mapping of its own: untouched pages cost nothing, and all go back when it is closed.
            memory = mmap.mmap(-1, size)
        except OSError as error:
            raise StageError(
                f"no memory for the cache of lane {lane} ({size / 1e6:.0f} MB for {self.context} "
                f"ids): {error.strerror}",
                "Lower llm.context or the number of lanes",
            ) from error
        binding, sampler = self._session.io_binding(), HostSampler(self._sampling)
        state = _Lane(self.context, self._vocabulary, binding, memory, sampler)
        self._bind(state)
        self._lanes[lane] = state

    def extend(self, lane: int, ids: NDArray[np.int32], position: int) -> None:
        """See `Engine.extend`."""
        state = self._lanes[lane]
        stop = position + len(ids)
        if position != state.length:
            raise ValueError(f"ids for position {position} of a lane that holds {state.length}")
        if stop > self.context:
            raise StageError(f"{stop} ids do not fit in a context of {self.context}")
        if ids.min() < 0 or ids.max() >= self._vocabulary:
            raise StageError(
                f"ids from {ids.min()} to {ids.max()}, but the language model knows "
                f"0 to {self._vocabulary - 1}: its tokenizer is not the one that wrote them"
            )
        state.ids[position:stop] = ids
        self._compute(state, stop)
        state.length = stop

    def rollback(self, lane: int, position: int) -> None:
        """See `Engine.rollback`."""
        state = self._lanes[lane]
        if not 0 <= position <= state.length:
            raise ValueError(f"rollback to {position} of a lane that holds {state.length}")
        state.length = position
        if position < state.cached:
            state.cached, state.scored = position, False

    def step(self, lanes: Sequence[int]) -> list[int]:
        """See `Engine.step`. The lanes take turns."""
        return [self._step(lane) for lane in lanes]

    def scores(self, lane: int) -> NDArray[np.float32]:
        """The model's scores of what follows a lane's content, not empty: [vocabulary], a view."""
        state = self._lanes[lane]
        if not state.scored and state.cached == state.length:
            state.cached -= 1  # after a rollback the last id must be asked once more
        if state.cached < state.length:
            self._compute(state, state.length)
        return state.logits

    def temper(self, lane: int, temperature: float | None) -> None:
        """See `Engine.temper`."""
        self._lanes[lane].sampler = HostSampler(self._sampling.at(temperature))

    def length(self, lane: int) -> int:
        """See `Engine.length`."""
        return self._lanes[lane].length

    def close(self, lane: int) -> None:
        """See `Engine.close`."""
        self._lanes.pop(lane, None)

    def _step(self, lane: int) -> int:
        state = self._lanes[lane]
        if not 0 < state.length < self.context:
            raise StageError(f"no next id for {state.length} ids in a context of {self.context}")
        id = state.sampler.choose(self.scores(lane), state.ids[: state.length])
        state.ids[state.length] = id
        state.length += 1
        return id

    def _compute(self, state: "_Lane", stop: int) -> None:
        """Compute ids [cached, stop) behind what the cache holds, and the scores behind them."""
        start, binding = state.cached, state.binding
        state.scored = False
        _bind(binding.bind_input, "input_ids", state.ids[None, start:stop])
        _bind(binding.bind_input, "attention_mask", self._mask[None, :stop])
        if self._takes_positions:
            _bind(binding.bind_input, "position_ids", self._positions[None, start:stop])
        try:
            self._session.run_with_iobinding(binding)
        except Exception as error:  # NOTE: ONNX Runtime's own errors share no public base class
            raise StageError(f"the language model failed: {_line(error)}") from error
        state.cached, state.scored = stop, True

    def _bind(self, state: "_Lane") -> None:
        """Bind a lane's keys and values, each as what the graph reads and as what it writes."""
        offset = 0
        for name, shape in self._cache.items():
            part = np.frombuffer(state.memory, np.float32, prod(shape), offset).reshape(shape)
            offset += part.nbytes
            _bind(state.binding.bind_input, name, part)
            _bind(state.binding.bind_output, name.replace(_PAST, _PRESENT), part)
        _bind(state.binding.bind_output, "logits", state.logits[None, None])


class _Lane:
    """What the engine knows of one lane.

    Attributes:
        ids: int64 [context], the content; `length` of it is filled.
        cached: how many of them the cache holds, which may lack the last: `step` leaves its choice
            to the next run.
        logits: float32 [vocabulary], the scores of what follows the cache's last id, if `scored`.
        binding: where the graph reads and writes.
        memory: of the cache; the binding knows only its address.
        sampler: chooses its ids.
    """

    def __init__(
        self,
        context: int,
        vocabulary: int,
        binding: Any,
        memory: mmap.mmap,
        sampler: HostSampler,
    ) -> None:
        self.ids = np.zeros(context, np.int64)
        self.length = 0
        self.cached = 0
        self.scored = False
        self.logits = np.zeros(vocabulary, np.float32)
        self.binding = binding
        self.memory = memory
        self.sampler = sampler


@dataclass(frozen=True)
class Form:
    """What the builder's genai_config.json says of a model.

    Attributes:
        name: of its folder.
        context: positions that its rotary table has.
        vocabulary: how many ids it knows.
        head_size: of keys and values.
        read_bytes: of weights, that each id needs: all but the embedding, of which it is one row.
        stops: ids that end a reply.
    """

    name: str
    context: int
    vocabulary: int
    head_size: int
    read_bytes: int
    stops: frozenset[int]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read it.

        Raises:
            ModelError: there is none, or it lacks something.
        """
        path = folder / "genai_config.json"
        try:
            model = json.loads(path.read_text())["model"]
            stops = model["eos_token_id"]
            embedding = model["vocab_size"] * model["decoder"]["hidden_size"] * 4
            weights = json.loads((folder / "build.json").read_text())["weights"]
            return cls(
                folder.parent.name,
                model["context_length"],
                model["vocab_size"],
                model["decoder"]["head_size"],
                max(weights - embedding, 0),
                frozenset(stops if isinstance(stops, list) else [stops]),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path} cannot be read: {error!r}", _REMEDY) from error


def load_engine(
    folder: Path,
    *,
    context: int,
    threads: int = 1,
    sampling: Sampling | None = None,
    spin: bool = False,
) -> OnnxEngine:
    """Load a folder that `pipeline.models.prepare_onnx` made.

    Args:
        folder: model.onnx, its weights and genai_config.json.
        context: ids that each lane can hold.
        threads: of one run.
        sampling: how ids are chosen.
        spin: threads that wait burn their core; only to measure what that costs.

    Raises:
        ModelError: it is not a model that this engine can run.
    """
    form = Form.read(folder)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # It would keep a plan of memory for every length that was ever seen, and lengths always differ.
    options.enable_mem_pattern = False
    # A spinning pool burns 50 ms of CPU a call that the other stages need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spin else "0")
    options.log_severity_level = 4  # what it would print is in the error that it raises
    path = folder / "model.onnx"
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # NOTE: ONNX Runtime's own errors share no public base class
        raise ModelError(f"{path} cannot be loaded: {_line(error)}", _REMEDY) from error
    return OnnxEngine(session, form, context, sampling)


def _cache_shapes(
    session: onnxruntime.InferenceSession, form: Form, context: int
) -> dict[str, tuple[int, int, int, int]]:
    """Shape of each of the graph's caches, by name: [1, heads, context, head size]."""
    shapes = {}
    for node in session.get_inputs():
        if node.name in _KNOWN:
            continue
        if not node.name.startswith(_PAST) or len(node.shape) != 4:
            raise ModelError(
                f"{form.name} keeps '{node.name}', which cannot be rolled back when the user goes "
                "on",
                "Choose a language model whose layers are all attention",
            )
        size = node.shape[3] if isinstance(node.shape[3], int) else form.head_size
        shapes[node.name] = (1, node.shape[1], context, size)
    return shapes


def _bind(bind: Callable[..., None], name: str, array: NDArray[Any]) -> None:
    """Let the graph read or write an array where it lies; the caller keeps it alive."""
    bind(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
