"""The ONNX Runtime engine against transformers' generate, on a tiny random model."""

import math
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx_ir
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ModelError, StageError
from pipeline.models.onnx_int4 import convert, four_bits
from pipeline.models.onnx_pack import pack
from stages.llm.engine import warm_up
from stages.llm.onnx_engine import load_engine
from stages.llm.sampling import Sampling

VOCABULARY = 259
CONTEXT = 64


@pytest.fixture(scope="module")
def model(tiny_chat):
    return transformers.AutoModelForCausalLM.from_pretrained(tiny_chat).eval()


@pytest.fixture(scope="module")
def engine(tiny_onnx):
    return load_engine(tiny_onnx, context=CONTEXT)


def ids(*values):
    return np.array(values, np.int32)


def reference(model, prompt, count):
    prompt = torch.tensor([list(prompt)])
    out = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=count,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
    )
    return out[0, prompt.shape[1] :].tolist()


def streamed(engine, prompt, cuts, count):
    """Ids after a prompt that arrives in pieces."""
    engine.open(0)
    for start, stop in pairwise([0, *sorted(cuts), len(prompt)]):
        if stop > start:
            engine.extend(0, ids(*prompt[start:stop]), start)
    return [engine.step([0])[0] for _ in range(count)]


prompts = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=40)
detours = st.lists(
    st.tuples(st.floats(0, 1), prompts.map(lambda p: p[:8]), st.integers(0, 3)), max_size=4
)


def wander(engine, prompt, detours):
    """Bring lane 0 to some content on a way with rollbacks; returns the content."""
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
    return content


@settings(max_examples=20)
@given(prompts, st.sets(st.integers(1, 40)))
def test_any_split_gives_the_ids_of_generate(engine, model, prompt, cuts):
    cuts = [cut for cut in cuts if cut < len(prompt)]
    assert streamed(engine, prompt, cuts, 6) == reference(model, prompt, 6)


@settings(max_examples=20)
@given(prompts, detours)
def test_rollbacks_leave_no_trace(engine, model, prompt, detours):
    content = wander(engine, prompt, detours)
    count = min(6, CONTEXT - len(content))
    assert [engine.step([0])[0] for _ in range(count)] == reference(model, content, count)


@settings(max_examples=20)
@given(prompts, detours)
def test_chance_leaves_none_either(tiny_onnx, prompt, detours):
    law = Sampling(temperature=1.2, top_p=0.95, top_k=50, repetition_penalty=1.2, seed=3)
    engine = load_engine(tiny_onnx, context=CONTEXT, sampling=law)
    content = wander(engine, prompt, detours)
    count = min(6, CONTEXT - len(content))
    said = [engine.step([0])[0] for _ in range(count)]
    assert said == streamed(engine, content, [], count)


@settings(max_examples=20)
@given(prompts, detours)
def test_scores_are_right_after_a_rollback(engine, model, prompt, detours):
    """Those of onnxruntime-genai's generator need not be: its issue 2555."""
    content = wander(engine, prompt, detours)
    with torch.inference_mode():
        expected = model(torch.tensor([content])).logits[0, -1].numpy()
    np.testing.assert_allclose(engine.scores(0), expected, atol=1e-4, rtol=1e-4)


def test_lanes_do_not_mix(engine, model):
    for lane in (0, 1):
        engine.open(lane)
        engine.extend(lane, ids(3 + lane, 4, 5), 0)
    both = [engine.step([0, 1]) for _ in range(5)]
    assert [pair[0] for pair in both] == reference(model, [3, 4, 5], 5)
    assert [pair[1] for pair in both] == reference(model, [4, 4, 5], 5)
    engine.open(0)
    assert (engine.length(0), engine.length(1)) == (0, 8)


def test_a_closed_lane_gives_its_memory_back(tiny_onnx):
    def mapped():
        return Path("/proc/self/maps").read_text().count("/dev/zero")

    engine = load_engine(tiny_onnx, context=128)
    before = mapped()
    engine.open(0)
    assert mapped() == before + 1
    engine.extend(0, ids(1, 2, 3), 0)
    engine.close(0)
    assert mapped() == before


def test_no_plan_of_memory_is_kept_for_every_length(engine):
    assert not engine._session.get_session_options().enable_mem_pattern


def test_warming_up_leaves_nothing_open(engine):
    warm_up(engine)
    with pytest.raises(KeyError):
        engine.length(-1)


def test_ids_outside_the_vocabulary_change_nothing(engine):
    engine.open(0)
    for bad in (ids(1, VOCABULARY), ids(-1)):
        with pytest.raises(StageError, match="0 to 258"):
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


def test_no_memory_for_a_lane_is_said_with_its_size(engine, monkeypatch):
    def full(*_):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("stages.llm.onnx_engine.mmap.mmap", full)
    with pytest.raises(StageError, match=r"cache of lane 5 \(0 MB for 64 ids\): Cannot allocate"):
        engine.open(5)


def test_scores_that_are_not_numbers_are_reported(tiny_onnx, tmp_path):
    folder = tmp_path / "tiny" / "none"
    shutil.copytree(tiny_onnx, folder)
    data = folder / "model.onnx.data"
    data.write_bytes(b"\xff" * data.stat().st_size)
    engine = load_engine(folder, context=CONTEXT)
    engine.open(0)
    engine.extend(0, ids(1), 0)
    with pytest.raises(StageError, match="not numbers"):
        engine.step([0])
    assert engine.length(0) == 1


def test_a_context_longer_than_the_model_is_refused(tiny_onnx):
    with pytest.raises(ModelError, match=r"can hold 128 ids, llm\.context asks for 129"):
        load_engine(tiny_onnx, context=129)


def test_a_folder_without_a_model_is_refused(tmp_path, tiny_onnx):
    with pytest.raises(ModelError, match=r"genai_config\.json cannot be read"):
        load_engine(tmp_path, context=CONTEXT)
    shutil.copy(tiny_onnx / "genai_config.json", tmp_path)
    shutil.copy(tiny_onnx / "build.json", tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"none")
    with pytest.raises(ModelError, match=r"model\.onnx cannot be loaded") as caught:
        load_engine(tmp_path, context=CONTEXT)
    assert "\n" not in str(caught.value)


def test_mapped_weights_say_the_same(engine, tiny_onnx, tmp_path):
    pack(tiny_onnx / "model.onnx", tmp_path)
    for name in ("genai_config.json", "build.json"):
        shutil.copy(tiny_onnx / name, tmp_path)
    mapped = load_engine(tmp_path, context=CONTEXT)
    assert mapped.read_bytes == engine.read_bytes > 0
    prompt = list(range(5, 35))
    assert streamed(mapped, prompt, [9], 8) == streamed(engine, prompt, [9], 8)
    np.testing.assert_array_equal(mapped.scores(0), engine.scores(0))


def test_four_bits_keep_the_values_of_four_bit_weights(tiny_chat, tiny_onnx, tmp_path):
    """The scores of a model whose weights are those of Q4_1, before and after."""

    def rounded(weight):
        if weight.shape[0] % 32:
            return weight  # such a product stays as it is
        numbers, step, offset = four_bits(weight.T.copy())
        return (numbers * step[..., None] + offset[..., None]).reshape(weight.T.shape).T

    exact, made = tmp_path / "exact" / "none", tmp_path / "made" / "int4"
    for folder in (exact, made):
        shutil.copytree(tiny_onnx, folder)
    model = onnx_ir.load(exact / "model.onnx")
    for node in model.graph:
        value = node.inputs[1] if node.op_type == "MatMul" else None
        if value is not None and value.const_value is not None and "lm_head" not in node.name:
            value.const_value = onnx_ir.tensor(rounded(value.const_value.numpy()), name=value.name)
    onnx_ir.save(model, tmp_path / "model.onnx", external_data="model.onnx.data")
    for name in ("model.onnx", "model.onnx.data"):
        (tmp_path / name).replace(exact / name)
    convert(exact / "model.onnx", made)
    scores = []
    for folder in (exact, made):
        engine = load_engine(folder, context=CONTEXT)
        engine.open(0)
        engine.extend(0, ids(*range(5, 35)), 0)
        scores.append(engine.scores(0).copy())
    assert np.corrcoef(scores)[0, 1] > 0.999  # activations in 8 bits are what is left
    graph = onnx_ir.load(made / "model.onnx").graph
    kinds = Counter(node.op_type for node in graph)
    assert (kinds["MatMulNBits"], kinds["Add"]) == (2 * 4 + 1, 2 * 4)


def test_the_models_own_stop_ids_are_known(engine):
    assert engine.stops == {258}
