"""Whatever happened to a lane, its cache and scores are bit for bit those of one shot.

Promise B of the transformers engine, on tiny random models; `python -m benchmarks.llm_cuda` holds a
GPU to the same.
"""

import math
from itertools import groupby, pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import StageError
from stages.llm.buckets import Buckets
from stages.llm.compute import EagerCompute
from stages.llm.forward import Forward
from stages.llm.packed import pack
from stages.llm.sampling import Sampling
from stages.llm.transformers_engine import TransformersEngine
from tests.stages.llm.tiny import VOCABULARY, ids, tiny

CONTEXT = 72
ROWS = 4
LIVED, ONE_SHOT = 0, 1
words = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=11)
portions = st.lists(words, min_size=1, max_size=5)
detours = st.lists(
    st.tuples(st.floats(0, 1), st.one_of(st.just([]), words), st.integers(0, 4)), max_size=6
)


def make_engine(model):
    engine = TransformersEngine(model, CONTEXT, rows=ROWS)
    engine.compute.buckets = Buckets.even(CONTEXT, 20)  # edges that a test crosses
    return engine


@pytest.fixture(scope="module", params=["plain", "packed"])
def model(request):
    return tiny() if request.param == "plain" else packed()


def packed(*what, **options):
    model = tiny(*what, **options)
    pack(model, ROWS)
    return model


@pytest.fixture(scope="module")
def engine(model):
    return make_engine(model)


def complete(engine, lane):
    """Compute an id that was chosen but not computed yet."""
    if engine._lanes[lane].lacks_one:
        engine._compute_last([lane])


def assert_same_bits(engine, one, other):
    complete(engine, one)
    complete(engine, other)
    count = engine.length(one)
    assert engine.length(other) == count
    caches = [engine.compute._lanes[lane].kv for lane in (one, other)]
    for left, right in zip(*(cache.layers for cache in caches), strict=True):
        assert torch.equal(left.keys[:, :, :count], right.keys[:, :, :count])
        assert torch.equal(left.values[:, :, :count], right.values[:, :, :count])
    scores = [engine.compute._lanes[lane].logits for lane in (one, other)]
    assert torch.equal(*scores)


def one_shot(engine, lane, content, chosen):
    """The same ids, each run of given ones at once, and of chosen ones as if chosen again."""
    engine.open(lane)
    position = 0
    for was_chosen, run in groupby(zip(content, chosen, strict=True), key=lambda pair: pair[1]):
        values = [id for id, _ in run]
        if was_chosen:
            for id in values:
                engine.append(lane, id)
        else:
            engine.extend(lane, ids(*values), position)
        position += len(values)


def live(engine, lane, start, detours):
    """Take what comes, answer, roll back, go on; the ids and which of them were chosen."""
    engine.open(lane)
    engine.extend(lane, ids(*start), 0)
    content, chosen = list(start), [False] * len(start)
    for share, more, steps in detours:
        keep = max(1, math.ceil(share * len(content)))
        content, chosen = content[:keep], chosen[:keep]
        engine.rollback(lane, keep)
        if len(content) + len(more) + steps > CONTEXT:
            continue
        if more:
            engine.extend(lane, ids(*more), keep)
            content, chosen = content + more, chosen + [False] * len(more)
        for _ in range(steps):
            content += engine.step([lane])
            chosen.append(True)
    return content, chosen


@settings(max_examples=20, deadline=None)
@given(words, detours)
def test_a_life_leaves_no_trace(engine, start, detours):
    content, chosen = live(engine, LIVED, start, detours)
    one_shot(engine, ONE_SHOT, content, chosen)
    if not engine._lanes[LIVED].scored:  # the last id's scores went with the rollback
        engine.rollback(LIVED, engine.length(LIVED) - 1)
        last = len(content) - 1
        if chosen[last]:
            engine._lanes[LIVED].append(content[last])
        else:
            engine.extend(LIVED, ids(content[last]), last)
    assert_same_bits(engine, LIVED, ONE_SHOT)


@settings(max_examples=20, deadline=None)
@given(portions)
def test_any_portions_are_one_shot(engine, portions):
    whole = [id for part in portions for id in part]
    for lane, parts in ((LIVED, portions), (ONE_SHOT, [whole])):
        engine.open(lane)
        for part in parts:
            engine.extend(lane, ids(*part), engine.length(lane))
    assert_same_bits(engine, LIVED, ONE_SHOT)
    assert engine.step([LIVED]) == engine.step([ONE_SHOT])


def test_an_early_answer_is_the_answer(engine):
    """Asked twice, in vain and then for good, with a revision of the words between."""
    suffix = [90, 91, 92]
    engine.open(LIVED)
    engine.extend(LIVED, ids(*range(1, 18)), 0)
    engine.extend(LIVED, ids(*suffix), 17)
    early = [engine.step([LIVED])[0] for _ in range(5)]
    engine.rollback(LIVED, 15)
    engine.extend(LIVED, ids(16, 17, *suffix), 15)
    late = [engine.step([LIVED])[0] for _ in range(5)]
    assert late == early
    one_shot(engine, ONE_SHOT, [*range(1, 18), *suffix, *late], [False] * 20 + [True] * 5)
    assert_same_bits(engine, LIVED, ONE_SHOT)


@pytest.mark.parametrize(
    ("kind", "options"),
    [("mistral", {"sliding_window": 8}), ("qwen3", {}), ("gemma3_text", {"sliding_window": 8})],
)
def test_other_families_too(kind, options):
    engine = make_engine(packed(kind, **options))
    whole = [(7 * n) % VOCABULARY for n in range(50)]
    one_shot(engine, ONE_SHOT, whole, [False] * 50)
    for cuts in ([1, 2, 19, 21, 33], [16, 32, 48], [39, 40, 41]):
        engine.open(LIVED)
        for start, stop in pairwise([0, *cuts, 50]):
            engine.extend(LIVED, ids(*whole[start:stop]), start)
        assert_same_bits(engine, LIVED, ONE_SHOT)


def test_a_turn_moves_no_memory(engine):
    """What is allocated at the opening is all that a lane ever uses."""

    def addresses():
        state = engine.compute._lanes[LIVED]
        layers = [layer.keys.data_ptr() for layer in state.kv.layers]
        layers += [layer.values.data_ptr() for layer in state.kv.layers]
        return [engine.compute._ids.data_ptr(), engine.compute._positions.data_ptr(), *layers]

    engine.open(LIVED)
    before = addresses()
    for turn in range(3):
        engine.extend(LIVED, ids(*range(turn, turn + 9)), engine.length(LIVED))
        for _ in range(6):
            engine.step([LIVED])
        engine.rollback(LIVED, engine.length(LIVED) - 3)
    assert addresses() == before


class RunsAhead(EagerCompute):
    """Begins the step after an id before the id is told, as a GPU does."""

    runs_ahead = True

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._last = {}

    def choose(self, lanes, contents):
        scores = [self._lanes[lane].scores() for lane in lanes]
        ids = [int(score.nan_to_num().argmax()) for score in scores]
        self._last.update(zip(lanes, ids, strict=True))

        def wait():
            for score in scores:
                if score.isnan().any():
                    raise StageError("the scores are not numbers")
            return ids

        return wait

    def decode(self, lanes, ids, positions, *, cheap):
        known = [
            self._last[lane] if id is None else id for lane, id in zip(lanes, ids, strict=True)
        ]
        super().decode(lanes, known, positions, cheap=cheap)


@settings(max_examples=12, deadline=None)
@given(words, detours)
def test_running_ahead_leaves_no_trace(engine, ahead, start, detours):
    lived = live(ahead, LIVED, start, detours)
    assert lived == live(engine, LIVED, start, detours)
    one_shot(ahead, ONE_SHOT, *lived)
    if ahead._lanes[LIVED].scored and ahead._lanes[ONE_SHOT].scored:
        assert_same_bits(ahead, LIVED, ONE_SHOT)


def test_a_choice_that_is_none_changes_nothing():
    """The step ahead was begun; the content is as it was, and goes on when asked again."""
    engine = make_ahead(tiny())
    engine.open(LIVED)
    engine.extend(LIVED, ids(1, 2, 3), 0)
    scores = engine.compute._lanes[LIVED].logits.clone()
    engine.compute._lanes[LIVED].logits = torch.full_like(scores, math.nan)
    with pytest.raises(StageError, match="not numbers"):
        engine.step([LIVED])
    assert engine.length(LIVED) == 3
    (id,) = engine.step([LIVED])
    assert id == int(scores.argmax())


def make_ahead(model):
    compute = RunsAhead(Forward(model), CONTEXT, ROWS, Sampling())
    compute.buckets = Buckets.even(CONTEXT, 20)
    return TransformersEngine(model, CONTEXT, compute=compute)


@pytest.fixture(scope="module")
def ahead(model):
    return make_ahead(model)


@pytest.mark.parametrize("full_steps", [0, 2])
def test_a_reply_is_full_before_it_is_cheap(full_steps):
    compute = RunsAhead(Forward(tiny()), CONTEXT, ROWS, Sampling())
    compute.full_steps = full_steps
    seen = []
    run = compute.decode
    compute.decode = lambda *what, cheap: seen.append(cheap) or run(*what, cheap=cheap)
    engine = TransformersEngine(tiny(), CONTEXT, compute=compute)
    engine.open(LIVED)
    for _ in range(2):
        engine.extend(LIVED, ids(1, 2, 3), engine.length(LIVED))
        for _ in range(4):
            engine.step([LIVED])
    one = [False, False, True, True] if full_steps else [False] * 4
    assert seen == 2 * one
