"""Packed linear layers: the weights' values, each layer's own result, rows that do not mix."""

import pytest
import torch
from torch.nn import Linear, Module

from stages.llm.packed import PackedLinear, can_pack, pack
from tests.stages.llm.tiny import tiny

pytestmark = pytest.mark.skipif(not can_pack(), reason="this processor's products stay as they are")
ROWS = 16
SIZES = [(32, 48), (576, 192), (576, 1536), (1536, 576), (576, 4096)]


class Attention(Module):
    """As transformers' models name their layers."""

    def __init__(self, biased=()):
        super().__init__()
        self.q_proj = Linear(24, 40, bias="q_proj" in biased)
        self.k_proj = Linear(24, 16, bias="k_proj" in biased)
        self.v_proj = Linear(24, 16, bias="v_proj" in biased)
        self.o_proj = Linear(40, 24, bias="o_proj" in biased)


@pytest.fixture(autouse=True)
def _inference():
    torch.manual_seed(3)
    with torch.inference_mode():
        yield


@pytest.fixture(params=[1, 2])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("sizes", SIZES)
def test_a_row_depends_on_itself_alone(sizes):
    """Wherever it stands and whatever stands beside it: what promise B needs."""
    model = torch.nn.Sequential(Linear(*sizes))
    pack(model, ROWS)
    rows = torch.randn(1, ROWS, sizes[0])
    whole = model(rows)
    for shift in range(ROWS):
        others = 100 * torch.randn(1, ROWS, sizes[0])
        others[:, shift:] = rows[:, : ROWS - shift]
        assert torch.equal(model(others)[:, shift:], whole[:, : ROWS - shift])


@pytest.mark.parametrize("biased", [(), ("q_proj", "v_proj"), ("k_proj", "o_proj")])
@pytest.mark.parametrize("order", ["qkv", "vkq", "kqv"])
def test_each_layer_has_its_own_result(biased, order):
    plain = Attention(biased)
    packed = Attention(biased)
    packed.load_state_dict(plain.state_dict())
    pack(packed, ROWS)
    for _ in range(2):
        x, other = torch.randn(2, 1, 3, 24)
        for name in order:
            for seen in (x, other if name == "k" else x):
                wanted = getattr(plain, f"{name}_proj")(seen)
                torch.testing.assert_close(getattr(packed, f"{name}_proj")(seen), wanted)
        y = torch.randn(1, 3, 40)
        torch.testing.assert_close(packed.o_proj(y), plain.o_proj(y))


def test_queries_keys_and_values_are_one_product():
    packed = Attention()
    pack(packed, ROWS)
    multiply, calls = packed.q_proj._product._multiply, []
    packed.q_proj._product._multiply = lambda *what: calls.append(1) or multiply(*what)
    x = torch.randn(1, 3, 24)
    for layer in (packed.q_proj, packed.k_proj, packed.v_proj):
        layer(x)
    assert len(calls) == 1


def test_weights_keep_their_values():
    plain, packed = tiny(), tiny()
    pack(packed, ROWS)
    layers = dict(packed.named_modules())
    linear = {name: layer for name, layer in plain.named_modules() if type(layer) is Linear}
    assert linear
    for name, layer in linear.items():
        assert isinstance(layers[name], PackedLinear)
        assert torch.equal(layers[name].weight, layer.weight)
    assert torch.equal(packed.get_input_embeddings().weight, plain.get_input_embeddings().weight)


def test_other_dtypes_stay():
    model = torch.nn.Sequential(Linear(4, 4, dtype=torch.bfloat16))
    pack(model, ROWS)
    assert type(model[0]) is Linear
