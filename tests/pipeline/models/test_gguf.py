import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.errors import ModelError
from pipeline.models import fetch, prepare_llm, verify
from pipeline.models.gguf import convert
from pipeline.models.progress import silent

gguf = pytest.importorskip("gguf")
torch = pytest.importorskip("torch")
tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

HIDDEN, HEADS, GROUPS, INNER = 64, 4, 2, 96
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}"


def vocabulary() -> tuple[list[str], list[str]]:
    """Special tokens, all bytes, and merges that make runs of blanks and newlines."""
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    merges = ["Ġ Ġ", "Ċ Ċ", "Ġ a"]
    return [*SPECIAL, *letters, *(m.replace(" ", "") for m in merges)], merges


def folded(weight: np.ndarray, heads: int) -> np.ndarray:
    """Reorder rows of q and k as llama.cpp keeps them."""
    rows = weight.reshape(heads, 2, weight.shape[0] // heads // 2, -1)
    return np.ascontiguousarray(rows.swapaxes(1, 2)).reshape(weight.shape)


class Tiny:
    """A random llama of two layers, and its GGUF file with 8-bit weights."""

    def __init__(
        self,
        path: Path,
        *,
        tied: bool = True,
        pre: str = "smollm",
        kind: str = "gpt2",
        layers: int = 2,  # that the file claims to have
        extra: Callable[[Any], None] = lambda writer: None,
    ) -> None:
        self.path = path
        self.tokens, self.merges = vocabulary()
        config = transformers.LlamaConfig(
            vocab_size=len(self.tokens),
            hidden_size=HIDDEN,
            intermediate_size=INNER,
            num_hidden_layers=2,
            num_attention_heads=HEADS,
            num_key_value_heads=GROUPS,
            max_position_embeddings=128,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
            tie_word_embeddings=tied,
        )
        torch.manual_seed(1)
        self.model = transformers.LlamaForCausalLM(config).eval()
        self._write(pre, kind, layers, tied, extra)

    def _write(
        self, pre: str, kind: str, layers: int, tied: bool, extra: Callable[[Any], None]
    ) -> None:
        writer = gguf.GGUFWriter(self.path, "llama")
        writer.add_name("tiny")
        writer.add_context_length(128)
        writer.add_embedding_length(HIDDEN)
        writer.add_block_count(layers)
        writer.add_feed_forward_length(INNER)
        writer.add_head_count(HEADS)
        writer.add_head_count_kv(GROUPS)
        writer.add_layer_norm_rms_eps(1e-6)
        writer.add_rope_freq_base(10000.0)
        writer.add_vocab_size(len(self.tokens))
        writer.add_tokenizer_model(kind)
        writer.add_tokenizer_pre(pre)
        writer.add_token_list(self.tokens)
        writer.add_token_types([3] * len(SPECIAL) + [1] * (len(self.tokens) - len(SPECIAL)))
        writer.add_token_merges(self.merges)
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_pad_token_id(2)
        writer.add_unk_token_id(0)
        writer.add_chat_template(TEMPLATE)
        names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, 2)
        for name, tensor in self.model.state_dict().items():
            if not (tied and name == "lm_head.weight"):
                self._add(writer, names, name, tensor)
        extra(writer)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def _add(self, writer: Any, names: Any, name: str, tensor: Any) -> None:
        """Store a tensor in 8 bits, and give the model what 8 bits left of it."""
        stored = names.get_name(name, try_suffixes=(".weight",))
        data = tensor.numpy()
        if data.ndim == 1:
            writer.add_tensor(stored, data)
            return
        kind = gguf.GGMLQuantizationType.Q8_0
        tensor.copy_(torch.from_numpy(gguf.dequantize(gguf.quantize(data, kind), kind)))
        heads = {"q_proj": HEADS, "k_proj": GROUPS}.get(name.split(".")[-2])
        rows = folded(data, heads) if heads else data
        writer.add_tensor(stored, gguf.quantize(rows, kind), raw_dtype=kind)


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return Tiny(tmp_path / "tiny.gguf")


@pytest.mark.parametrize("tied", [True, False])
def test_the_converted_model_gives_the_same_logits(
    tmp_path: Path, root: Path, tied: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    tiny = Tiny(tmp_path / "tiny.gguf", tied=tied)
    told: list[float | None] = []
    folder = prepare_llm(str(tiny.path), lambda _, share: told.append(share))
    assert told == sorted(told, key=lambda share: share or 0.0)
    assert capfd.readouterr().err == ""
    made = transformers.AutoModelForCausalLM.from_pretrained(folder)
    assert made.dtype == torch.float32
    ids = torch.arange(20)[None]
    with torch.inference_mode():
        assert torch.equal(made(ids).logits, tiny.model(ids).logits)
    assert made.generation_config.eos_token_id == 2


def test_a_tied_head_is_left_out_and_the_class_is_named(tiny: Tiny, root: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    folder = prepare_llm(str(tiny.path))
    with safetensors.safe_open(folder / "model.safetensors", "pt") as file:
        assert "lm_head.weight" not in file.keys()  # noqa: SIM118 - it is no dict
    config = json.loads((folder / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert (folder / "model.safetensors").stat().st_mode == tiny.path.stat().st_mode


def test_the_tokenizer_keeps_special_tokens_and_template(tiny: Tiny, root: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(prepare_llm(str(tiny.path)))
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 2, 2)
    assert tokenizer("<|im_start|>a<|im_end|>").input_ids[::2] == [1, 2]
    assert tokenizer.apply_chat_template([{"content": "a"}], tokenize=False) == (
        "<|im_start|>a<|im_end|>"
    )
    assert tokenizer.model_max_length == 128


def test_digits_stand_alone_where_the_file_says_smollm(tmp_path: Path, root: Path) -> None:
    def cut(pre: str, text: str) -> list[str]:
        folder = prepare_llm(str(Tiny(tmp_path / f"{pre}.gguf", pre=pre).path))
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        return [tokenizer.decode([id]) for id in tokenizer(text).input_ids]

    assert cut("smollm", "a  20\n\n4 a") == ["a", "  ", "2", "0", "\n\n", "4", " a"]
    assert cut("gpt-2", "a  20\n\n4 a") == ["a", " ", " ", "2", "0", "\n", "\n", "4", " a"]


def test_a_model_is_converted_once(tiny: Tiny, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = prepare_llm(str(tiny.path))
    monkeypatch.setattr("pipeline.models.gguf.convert", lambda *_: pytest.fail("again"))
    monkeypatch.setattr("pipeline.models.checksum.sha256_of", lambda *_: pytest.fail("hashed"))
    assert prepare_llm(str(tiny.path)) == first
    assert list((root / "partial").iterdir()) == []


def test_other_weights_at_the_same_path_are_converted_again(tiny: Tiny, root: Path) -> None:
    first = prepare_llm(str(tiny.path))
    before = (first / "model.safetensors").read_bytes()
    Tiny(tiny.path, tied=False)
    assert prepare_llm(str(tiny.path)) == first
    assert (first / "model.safetensors").read_bytes() != before


def test_a_damaged_conversion_is_named_and_forced_away(tiny: Tiny, root: Path) -> None:
    path = prepare_llm(str(tiny.path)) / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    for look in (prepare_llm, verify):
        with pytest.raises(ModelError, match=r"model\.safetensors has a wrong checksum") as caught:
            look(str(tiny.path))
        assert caught.value.remedy == f"Run: voxring models fetch {tiny.path} --force"
    fetch(str(tiny.path), force=True)
    prepare_llm(str(tiny.path))
    verify(str(tiny.path))


@pytest.mark.parametrize("content", [b"", b"GG", b"not a model at all", b"GGUF", b"GGUF" * 20])
def test_a_broken_file_is_one_line(tmp_path: Path, root: Path, content: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"broken\.gguf cannot be converted") as caught:
        prepare_llm(str(path))
    assert "\n" not in str(caught.value)
    assert list((root / "llm").glob("*")) == []


@pytest.mark.parametrize("share", [0.2, 0.5, 0.99])
def test_a_truncated_file_is_one_line(tiny: Tiny, root: Path, share: float) -> None:
    with tiny.path.open("r+b") as file:
        file.truncate(int(tiny.path.stat().st_size * share))
    with pytest.raises(ModelError, match=r"tiny\.gguf cannot be converted"):
        prepare_llm(str(tiny.path))


def scale_rope(writer: Any) -> None:
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)


def add_strange_weights(writer: Any) -> None:
    writer.add_tensor("rope_freqs.weight", np.ones(8, np.float32))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"pre": "llama-bpe"}, "its text is cut as 'llama-bpe'"),
        ({"kind": "llama"}, "its tokenizer is 'llama'"),
        (
            {"extra": lambda writer: writer.add_add_bos_token(True)},
            "its tokenizer begins each text with a token",
        ),
        ({"extra": scale_rope}, "its rope is scaled"),
        ({"extra": add_strange_weights}, "its weights 'rope_freqs.weight' are not known"),
    ],
)
def test_what_is_not_known_to_come_out_exact_is_refused(
    tmp_path: Path, root: Path, options: dict[str, Any], reason: str
) -> None:
    tiny = Tiny(tmp_path / "tiny.gguf", **options)
    with pytest.raises(ModelError, match=f"tiny.gguf cannot be converted: {reason}") as caught:
        prepare_llm(str(tiny.path))
    assert "hub id" in caught.value.remedy


def test_another_architecture_is_refused(tmp_path: Path, root: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "other.gguf", "mamba")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ModelError, match="its architecture is 'mamba', expected 'llama'"):
        prepare_llm(str(tmp_path / "other.gguf"))


def test_a_missing_field_and_missing_weights_are_named(tmp_path: Path, root: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "bare.gguf", "llama")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ModelError, match=r"no 'llama\.attention\.head_count'"):
        prepare_llm(str(tmp_path / "bare.gguf"))
    Tiny(tmp_path / "short.gguf", layers=3)
    with pytest.raises(ModelError, match=r"no weights for 'model\.layers\.2\."):
        prepare_llm(str(tmp_path / "short.gguf"))


def test_the_conversion_does_not_import_torch(tiny: Tiny, root: Path) -> None:
    code = f"""
import sys
from pipeline.models import prepare_llm
prepare_llm({str(tiny.path)!r})
assert not {{"torch", "transformers"}} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_libraries_the_extra_is_named(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ModelError, match=r"safetensors is not installed.*voxring\[local\]"):
        convert(tiny.path, tmp_path / "out", silent)


@pytest.mark.models
def test_the_default_model_cuts_and_knows_its_tokens() -> None:
    folder = prepare_llm("bundle:smollm2-135m-instruct")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert tokenizer.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"]) == [1, 2]
    assert tokenizer.tokenize("2024") == ["2", "0", "2", "4"]
    assert tokenizer.tokenize("a  2") == ["a", "ĠĠ", "2"]
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "hi"}], tokenize=False, add_generation_prompt=True
    )
    assert prompt.endswith("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")
