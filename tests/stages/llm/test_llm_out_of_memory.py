"""A GPU that runs out of memory in a turn: one line, that turn alone, and the next one works."""

from types import SimpleNamespace

import pytest
import torch
from transformers import AutoModelForCausalLM

from pipeline.errors import ModelError, StageError
from ringbuf import Kind
from stages.llm import transformers_engine
from stages.llm.attention import register
from stages.llm.compute import EagerCompute
from stages.llm.forward import Forward
from stages.llm.out_of_memory import explained
from stages.llm.sampling import Sampling
from stages.llm.schedule import Schedule
from stages.llm.together import Together
from stages.llm.transformers import TransformersLlm
from stages.llm.transformers_engine import TransformersEngine
from tests.lanes import open_lanes
from tests.stages.llm.test_llm_session import Bench

CONTEXT, ROWS, LIMIT = 96, 16, 6
SHORT, WELL = 1, 0
MESSAGE = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139.81 GiB of "
    "which 1.50 GiB is free. Process 7 has 138.31 GiB memory in use. See documentation.\nMore."
)


class ShortOfMemory(EagerCompute):
    """A compute that has no memory for one lane's chunks or steps, as long as it is told so."""

    def __init__(self, *arguments, batched):
        super().__init__(*arguments)
        self.is_batched = batched
        self.fails_in = ""

    def chunk(self, lane, ids, piece):
        self._allocate("chunk", [lane])
        super().chunk(lane, ids, piece)

    def decode(self, lanes, ids, positions, *, cheap):
        self._allocate("decode", lanes)
        super().decode(lanes, ids, positions, cheap=cheap)

    def _allocate(self, where, lanes):
        if where == self.fails_in and SHORT in lanes:
            raise torch.OutOfMemoryError(MESSAGE)


@pytest.fixture(scope="module")
def model(tiny_chat):
    return AutoModelForCausalLM.from_pretrained(tiny_chat, attn_implementation=register()).eval()


@pytest.fixture(params=[False, True], ids=["turns", "together"])
def compute(model, request):
    return ShortOfMemory(Forward(model), CONTEXT, ROWS, Sampling(), batched=request.param)


@pytest.fixture
def stage(model, compute):
    host = SimpleNamespace(section=None)
    stage = TransformersLlm(host)
    stage.engine = TransformersEngine(model, CONTEXT, compute=compute)
    stage._together = Together(stage.engine, ROWS, Schedule())
    return stage


@pytest.fixture
def benches(stage):
    with open_lanes() as one, open_lanes() as other:
        yield [
            Bench(lane, engine=stage.engine, number=number, limit=LIMIT)
            for number, lane in ((WELL, one), (SHORT, other))
        ]


def answers(stage, benches):
    """How a turn of each lane ends, both at once; and the errors that were told."""
    errors = []

    def failed(session, error):  # as the runner does
        errors.append(error)
        session.fail(error)

    for bench in benches:
        bench.start()
        bench.say([7, 8, 9])
        bench.mark(Kind.END, 3)
    sessions = [bench.session for bench in benches]
    for _ in range(100):
        stage.step(sessions, failed)
        if all(session.due is None for session in sessions):
            break
    ends = [bench.replies() for bench in benches]
    return [(sum(len(ids) for *_, ids in runs[:-1]), runs[-1][0]) for runs in ends], errors


def test_at_load_it_is_one_line_though_the_weights_have_room(tiny_chat, monkeypatch):
    """The first forward and the graphs of steps need memory, too: their error was torch's own."""

    def capture(*arguments, **options):
        raise torch.OutOfMemoryError(MESSAGE)

    monkeypatch.setattr(transformers_engine, "make_engine", capture)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2**30, 4 * 2**30))
    with pytest.raises(ModelError, match=r"does not fit in cpu: 1.0 of 4.0 GiB are free"):
        transformers_engine.load_engine(tiny_chat, context=CONTEXT)


@pytest.mark.parametrize("where", ["chunk", "decode"])
def test_it_ends_one_turn_of_one_lane_with_one_line(stage, compute, benches, where):
    compute.fails_in = where
    (well, short), errors = answers(stage, benches)
    assert well == (LIMIT, Kind.END)
    assert short == (0 if where == "chunk" else 1, Kind.FAILED)
    assert errors
    for error in errors:
        assert isinstance(error, StageError)
        assert "Tried to allocate 2.00 GiB" in error.message
        assert error.message.endswith("of which 1.50 GiB is free")
        assert "pipeline.lanes" in error.remedy
        assert "\n" not in str(error)
    compute.fails_in = ""
    ends, errors = answers(stage, benches)
    assert ends == [(LIMIT, Kind.END)] * 2
    assert not errors


def test_other_errors_are_left_as_they_are():
    error = RuntimeError("something else")
    assert explained(error) is error
