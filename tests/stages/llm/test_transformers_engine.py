"""The transformers engine against transformers' own generate, on tiny random models."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ModelError, StageError
from stages.llm.attention import register
from stages.llm.packed import PackedLinear, can_pack
from stages.llm.sampling import Sampling
from stages.llm.transformers_engine import TransformersEngine, load_engine
from tests.stages.llm.tiny import VOCABULARY, ids, tiny

CONTEXT = 64


@pytest.fixture(scope="module")
def model():
    return tiny()


@pytest.fixture(scope="module")
def engine(model):
    return TransformersEngine(model, CONTEXT)


def reference(model, prompt, count):
    model.set_attn_implementation("sdpa")
    prompt = torch.tensor([list(prompt)])
    out = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=count, do_sample=False
    )
    model.set_attn_implementation(register())
    return out[0, prompt.shape[1] :].tolist()


def streamed(engine, prompt, cuts, count):
    """Greedy ids after a prompt that arrives in pieces."""
    engine.open(0)
    for start, stop in pairwise([0, *sorted(cuts), len(prompt)]):
        if stop > start:
            engine.extend(0, ids(*prompt[start:stop]), start)
    return [engine.step([0])[0] for _ in range(count)]


prompts = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=40)


@settings(max_examples=30, deadline=None)
@given(prompts, st.sets(st.integers(1, 40)))
def test_any_split_gives_the_ids_of_generate(engine, model, prompt, cuts):
    cuts = [cut for cut in cuts if cut < len(prompt)]
    assert streamed(engine, prompt, cuts, 6) == reference(model, prompt, 6)


@settings(max_examples=30, deadline=None)
@given(
    prompts,
    st.lists(
        st.tuples(st.floats(0, 1), prompts.map(lambda p: p[:8]), st.integers(0, 3)), max_size=4
    ),
)
def test_rollbacks_leave_no_trace(engine, model, prompt, detours):
    engine.open(0)
    engine.extend(0, ids(*prompt), 0)
    content = list(prompt)
    for share, words, steps in detours:
        content = content[: math.ceil(share * len(content))]
        engine.rollback(0, len(content))
        if len(content) + len(words) + steps + 6 <= CONTEXT:
            engine.extend(0, ids(*words), len(content))
            content += words
            content += [engine.step([0])[0] for _ in range(steps)]
    if not content:
        content = list(prompt)
        engine.extend(0, ids(*content), 0)
    assert engine.length(0) == len(content)
    count = min(6, CONTEXT - len(content))
    assert [engine.step([0])[0] for _ in range(count)] == reference(model, content, count)


@pytest.mark.parametrize(
    ("kind", "options"),
    [("mistral", {"sliding_window": 8}), ("qwen3", {}), ("gemma3_text", {"sliding_window": 8})],
)
def test_other_families_and_sliding_windows(kind, options):
    model = tiny(kind, **options)
    prompt = list(range(3, 33))
    engine = TransformersEngine(model, CONTEXT)
    assert streamed(engine, prompt, [5, 6, 20], 8) == reference(model, prompt, 8)


def test_lanes_do_not_mix(engine, model):
    for lane in (0, 1):
        engine.open(lane)
        engine.extend(lane, ids(3 + lane, 4, 5), 0)
    both = [engine.step([0, 1]) for _ in range(5)]
    assert [pair[0] for pair in both] == reference(model, [3, 4, 5], 5)
    assert [pair[1] for pair in both] == reference(model, [4, 4, 5], 5)
    engine.open(0)
    assert (engine.length(0), engine.length(1)) == (0, 8)


def test_every_computation_has_one_of_two_shapes(engine, monkeypatch):
    seen = []
    monkeypatch.setattr(
        torch.nn.Embedding,
        "forward",
        lambda self, x: (
            seen.append((x.data_ptr(), *x.shape)) or torch.nn.functional.embedding(x, self.weight)
        ),
    )
    engine.open(0)
    for count in (1, 5, 16, 17):
        engine.extend(0, np.ones(count, np.int32), engine.length(0))
        engine.step([0])
        engine.step([0])
    memory = {address for address, *_ in seen}
    assert len(memory) == 1
    assert {tuple(shape) for _, *shape in seen} == {(1, 1), (1, 16)}


def test_portions_may_have_shapes_of_their_own(model):
    engine = TransformersEngine(model, CONTEXT, rows=0)
    prompt = list(range(3, 33))
    assert streamed(engine, prompt, [5, 6, 20], 8) == reference(model, prompt, 8)


def test_ids_outside_the_vocabulary_change_nothing(engine):
    engine.open(0)
    for bad in (ids(1, VOCABULARY), ids(-1)):
        with pytest.raises(StageError, match="0 to 96"):
            engine.extend(0, bad, 0)
    assert engine.length(0) == 0


def test_more_than_the_context_changes_nothing(engine):
    engine.open(0)
    with pytest.raises(StageError, match="context of 64"):
        engine.extend(0, np.ones(CONTEXT + 1, np.int32), 0)
    engine.extend(0, np.ones(CONTEXT, np.int32), 0)
    with pytest.raises(StageError, match="no next id"):
        engine.step([0])
    assert engine.length(0) == CONTEXT


def test_a_wrong_position_is_refused(engine):
    engine.open(0)
    with pytest.raises(ValueError, match="holds 0"):
        engine.extend(0, ids(1), 1)
    with pytest.raises(ValueError, match="holds 0"):
        engine.rollback(0, 1)


def test_scores_that_are_not_numbers_are_reported():
    model = tiny()
    engine = TransformersEngine(model, CONTEXT)
    with torch.no_grad():
        model.get_output_embeddings().weight[0].fill_(math.nan)
    engine.open(0)
    engine.extend(0, ids(1), 0)
    with pytest.raises(StageError, match="not numbers"):
        engine.step([0])


def test_a_context_longer_than_the_model_is_refused(model):
    with pytest.raises(ModelError, match="can hold 128 ids"):
        TransformersEngine(model, 129)


def test_layers_without_keys_are_refused():
    config = transformers.MambaConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=1, state_size=4
    )
    model = transformers.MambaForCausalLM(config).eval()
    with pytest.raises(ModelError, match="rolled back"):
        TransformersEngine(model, CONTEXT)


def test_sampling_repeats_with_its_seed(model):
    def answer(seed):
        engine = TransformersEngine(model, CONTEXT, Sampling(temperature=1.5, top_p=0.9, seed=seed))
        return streamed(engine, [3, 4, 5], [], 12)

    assert answer(1) == answer(1)
    assert answer(1) != answer(2)


def test_a_tiny_top_p_is_greedy(model):
    engine = TransformersEngine(model, CONTEXT, Sampling(temperature=1.0, top_p=1e-6))
    assert streamed(engine, [3, 4, 5], [], 8) == reference(model, [3, 4, 5], 8)


@pytest.mark.parametrize("mapped", [False, True])
def test_a_saved_model_loads_without_the_network(model, tmp_path, mapped):
    model.save_pretrained(tmp_path)
    threads = torch.get_num_threads()
    try:
        engine = load_engine(tmp_path, context=CONTEXT, dtype="float32", threads=1, mapped=mapped)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)
    packed = any(isinstance(module, PackedLinear) for module in engine.model.modules())
    assert packed is (can_pack() and not mapped)
    assert streamed(engine, [3, 4, 5], [], 8) == reference(model, [3, 4, 5], 8)


def test_a_model_that_does_not_fit_in_the_gpu_is_refused_with_the_sizes(tmp_path, monkeypatch):
    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 16 GiB.")

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", full)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2**31, 2**33))
    with pytest.raises(
        ModelError, match=r"does not fit in cuda: 2\.0 of 8\.0 GiB are free"
    ) as caught:
        load_engine(tmp_path, context=CONTEXT, device="cuda")
    assert caught.value.remedy.startswith("Take a smaller model or dtype, fewer lanes")


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(ModelError, match="not a causal language model"):
        load_engine(tmp_path, context=CONTEXT, dtype="float32", threads=1)
