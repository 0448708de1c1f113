"""Sampling on both engines against transformers' own logits processors."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.generation import logits_process as theirs

from pipeline.config import LlmConfig
from pipeline.errors import StageError
from stages.llm import sampling
from stages.llm.sampling import HostSampler, Sampler, Sampling, draw, uniform

SWEEP = (np.arange(500) + 0.5) / 500  # every share of chance, once

laws = st.builds(
    Sampling,
    temperature=st.sampled_from([0.3, 1.0, 2.5]),
    top_p=st.sampled_from([1.0, 0.9, 0.5, 1e-6]),
    top_k=st.sampled_from([0, 1, 5, 1000]),
    min_p=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    repetition_penalty=st.sampled_from([1.0, 1.3, 0.8]),
)
scores = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).normal(0, 2, 24).astype(np.float32)
)
said = st.lists(st.integers(0, 23), min_size=1, max_size=6).map(np.array)


def expected(logits, ids, law):
    """Chances, as `generate` has them."""
    row, ids = torch.tensor(logits)[None], torch.tensor(ids)[None]
    row = theirs.RepetitionPenaltyLogitsProcessor(law.repetition_penalty)(ids, row)
    row = theirs.TemperatureLogitsWarper(law.temperature)(ids, row)
    if law.top_k:
        row = theirs.TopKLogitsWarper(law.top_k)(ids, row)
    if law.top_p < 1:
        row = theirs.TopPLogitsWarper(law.top_p)(ids, row)
    if law.min_p:
        row = theirs.MinPLogitsWarper(law.min_p)(ids, row)
    return row.softmax(-1)[0].numpy()


def shares(chosen):
    return np.bincount(chosen, minlength=24) / len(SWEEP)


@settings(max_examples=40)
@given(scores, said, laws)
def test_an_array_is_sampled_as_generate_does(logits, ids, law):
    draws = iter(SWEEP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "uniform", lambda *_: next(draws))
        chosen = [HostSampler(law).choose(logits, ids) for _ in SWEEP]
    np.testing.assert_allclose(shares(chosen), expected(logits, ids, law), atol=5e-3)


@settings(max_examples=40)
@given(scores, said, laws)
def test_a_tensor_is_sampled_as_generate_does(logits, ids, law):
    seen = torch.zeros(24, dtype=torch.bool)
    seen[torch.tensor(ids)] = True
    rows = sampling.penalised(torch.tensor(logits), seen, law.repetition_penalty)
    chosen = draw(rows.expand(len(SWEEP), -1), torch.tensor(SWEEP).float(), law)
    np.testing.assert_allclose(shares(chosen.numpy()), expected(logits, ids, law), atol=5e-3)


@settings(max_examples=40)
@given(scores, said, laws, st.integers(0, 2**40))
def test_both_choose_the_same_id(logits, ids, law, seed):
    law = Sampling(**{**law.__dict__, "seed": seed})
    tensor = Sampler(law).choose(torch.tensor(logits), torch.tensor(ids))
    assert tensor == HostSampler(law).choose(logits, ids)


@settings(max_examples=40)
@given(scores, said, st.sampled_from([1.0, 1.3, 0.8]))
def test_without_chance_the_best_id_is_taken(logits, ids, penalty):
    law = Sampling(repetition_penalty=penalty)
    rows = theirs.RepetitionPenaltyLogitsProcessor(penalty)(
        torch.tensor(ids)[None], torch.tensor(logits)[None]
    )
    best = int(rows.argmax())
    assert HostSampler(law).choose(logits, ids) == best
    assert Sampler(law).choose(torch.tensor(logits), torch.tensor(ids)) == best


def test_chance_depends_on_seed_and_position_alone():
    assert uniform(1, 5) == uniform(1, 5)
    drawn = [uniform(seed, position) for seed in range(40) for position in range(40)]
    assert len(set(drawn)) == len(drawn)
    counts, _ = np.histogram(drawn, 10, (0, 1))
    assert counts.min() > 110  # of 160


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_refused(bad):
    logits = np.array([0, bad, 1], np.float32)
    ids = np.array([0])
    with pytest.raises(StageError, match="not numbers"):
        HostSampler(Sampling()).choose(logits, ids)
    with pytest.raises(StageError, match="not numbers"):
        Sampler(Sampling()).choose(torch.tensor(logits), torch.tensor(ids))


def test_ids_that_a_model_rules_out_are_never_drawn():
    logits = np.full(24, -np.inf, np.float32)
    logits[[3, 4]] = 1.0
    law = Sampling(temperature=5.0)
    said = {HostSampler(law).choose(logits, np.arange(n)) for n in range(1, 40)}
    assert said == {3, 4}


def test_the_settings_come_from_the_configuration():
    section = LlmConfig(temperature=0.7, top_k=40, min_p=0.1, repetition_penalty=1.1, seed=9)
    assert Sampling.of(section) == Sampling(0.7, 1.0, 40, 0.1, 1.1, 9)
