"""The stage under ONNX Runtime, as a program would load it."""

import json
import subprocess
import sys

import pytest

from pipeline.config import Config, LlmConfig
from pipeline.errors import ConfigError
from stages.llm.onnx import OnnxLlm
from stages.stage import Host

LOAD = """
import json, sys, time
from pipeline.config import Config, validate
from stages.llm.onnx import OnnxLlm
from stages.stage import Host
config = validate(Config, json.load(sys.stdin), "stdin")
said = []
stage = OnnxLlm(Host(config, config.llm, time.monotonic_ns, lambda text, _: said.append(text)))
stage.load()
heavy = {"torch", "transformers", "onnxruntime_genai", "huggingface_hub"} & sys.modules.keys()
print(json.dumps([sorted(heavy), said, len(stage.template.pieces("Be kind.").opening)]))
"""


def test_it_loads_without_torch_and_transformers(tiny_chat, tiny_onnx, monkeypatch):
    monkeypatch.setenv("VOXRING_CACHE", str(tiny_onnx.parents[2]))
    config = Config(llm=LlmConfig(model=str(tiny_chat), context=64, threads=1))
    done = subprocess.run(
        [sys.executable, "-c", LOAD],
        input=config.model_dump_json(),
        capture_output=True,
        text=True,
        check=True,
    )
    heavy, said, opening = json.loads(done.stdout)
    assert heavy == []
    assert said == [
        "loading ONNX Runtime",
        "loading the language model",
        "warming up the language model",
    ]
    assert opening > 10


@pytest.mark.parametrize("section", [{"device": "cuda"}, {"dtype": "bfloat16"}])
def test_what_it_cannot_do_is_a_mistake_in_the_configuration(section):
    config = Config(llm=LlmConfig(**section))
    stage = OnnxLlm(Host(config, config.llm, lambda: 0, lambda *_: None))
    with pytest.raises(ConfigError, match="computes in float32 on the CPU") as caught:
        stage.load()
    assert "transformers" in caught.value.remedy
