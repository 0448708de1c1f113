"""The default language model, for real: both engines give the greedy ids of `generate`."""

import numpy as np
import pytest
import torch
import transformers

from pipeline.config import Config, LlmConfig
from pipeline.models import prepare_llm, prepare_onnx
from ringbuf import Kind
from stages.llm import onnx_engine, transformers_engine
from stages.llm.conversation import Conversation
from stages.llm.onnx import OnnxLlm
from stages.llm.template import ChatTemplate
from stages.llm.transformers import TransformersLlm
from stages.stage import Host
from stages.topology import ASR, LLM, TTS, TURN

pytestmark = pytest.mark.models
SYSTEM = "You are a friendly voice assistant. Answer in one or two short, plain sentences."
QUESTIONS = [
    "What do cats like to eat?",
    "How far away is the moon?",
    "Why is the sky blue?",
]
COUNT = 8


MODEL = "bundle:smollm2-135m-instruct"


@pytest.fixture(scope="module")
def folder():
    return prepare_llm(MODEL)


@pytest.fixture(scope="module", params=["onnx", "transformers"])
def engine(request, folder):
    if request.param == "onnx":
        return onnx_engine.load_engine(prepare_onnx(MODEL, "none"), context=1024, threads=2)
    return transformers_engine.load_engine(folder, context=1024, threads=2)


@pytest.fixture(scope="module")
def reference(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def generated(reference, prompt):
    """Greedy ids of transformers, up to and without the stop id."""
    prompt = torch.tensor([prompt])
    out = reference.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=COUNT, do_sample=False
    )
    ids = out[0, prompt.shape[1] :].tolist()
    return [id for id in ids if id != reference.generation_config.eos_token_id]


def test_a_conversation_gets_the_ids_of_generate(engine, folder, reference):
    """Three turns in one cache, words one by one, each with a false end and a revision."""
    template = ChatTemplate.load(folder, engine.stops)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    talk = Conversation(engine, 0, template.pieces(SYSTEM), COUNT)
    messages = [{"role": "system", "content": SYSTEM}]
    for turn, question in enumerate(QUESTIONS):
        talk.begin(turn, len(talk.reply))
        words = np.array(tokenizer.encode(question, add_special_tokens=False), np.int32)
        for position in range(len(words)):
            talk.hear(words[position : position + 1], position)
            while talk.behind:
                talk.catch_up()
        talk.ask(2 * turn)
        talk.catch_up()
        talk.step()
        talk.resume()
        talk.hear(words[2:], 2, at_once=False)
        talk.ask(2 * turn + 1)
        while talk.behind:
            talk.catch_up()
        reply = []
        while talk.answering:
            id = talk.step()
            reply += [] if id is None else [id]
        messages.append({"role": "user", "content": question})
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        prompt = tokenizer.encode(prompt, add_special_tokens=False)
        assert reply == generated(reference, prompt), question
        messages.append({"role": "assistant", "content": tokenizer.decode(reply)})


@pytest.mark.parametrize("kind", [OnnxLlm, TransformersLlm])
def test_the_stage_answers_on_the_rings(folder, make_lane, kind):
    config = Config(llm=LlmConfig(threads=2, max_new_tokens=8))
    said = []
    stage = kind(Host(config, config.llm, lambda: 0, lambda *what: said.append(what)))
    stage.load()
    assert ("loading the language model", None) in said
    session = stage.open(make_lane(LLM))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    words = np.array(
        tokenizer.encode("What is the capital of France?", add_special_tokens=False), np.int32
    )
    make_lane(TURN).turn = 1
    heard = make_lane(ASR).heard
    heard.put_run(words, position=0, turn=1, answer=0)
    heard.put(0, position=len(words), turn=1, answer=0, kind=Kind.END)
    while session.due is not None:
        session.step()
    with make_lane(TTS).reply.read() as batch:
        runs = [(run.kind, run.ids.tolist()) for run in batch.runs()]
    assert [kind for kind, _ in runs] == [Kind.ID, Kind.END]
    assert "Paris" in tokenizer.decode(runs[0][1])
