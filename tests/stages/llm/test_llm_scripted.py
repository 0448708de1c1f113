"""The scripted language model as a stage."""

import subprocess
import sys

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models

from pipeline.config import Config, LlmConfig
from pipeline.errors import ConfigError, StageError
from ringbuf import Kind
from stages.llm.scripted import ScriptedLlm
from stages.llm.scripted_engine import ASK, NEXT, STOP, ScriptedEngine
from stages.stage import Host
from stages.topology import ASR, LLM, TTS, TURN


def stage(model="bytes", **options):
    config = Config(llm=LlmConfig(stage="scripted", model=model, system="Hi", options=options))
    made = ScriptedLlm(Host(config, config.llm, lambda: 0, lambda text, fraction: None))
    made.load()
    return made


def asked(made, make_lane, words):
    """The answer to one turn: its text and how it ended."""
    make_lane(TURN).turn = 1
    session = made.open(make_lane(LLM))
    session._last_turn = 0
    heard = make_lane(ASR).heard
    heard.put_run(np.frombuffer(words, np.uint8).astype(np.int32), position=0, turn=1, answer=0)
    heard.put(0, position=len(words), turn=1, answer=0, kind=Kind.END)
    while session.due is not None:
        try:
            session.step()
        except StageError as error:
            session.fail(error)
    with make_lane(TTS).reply.read() as batch:
        runs = [(run.kind, run.ids.tolist()) for run in batch.runs()]
    return bytes(id for kind, ids in runs if kind is Kind.ID for id in ids), runs[-1][0]


def test_it_says_its_script(make_lane):
    assert asked(stage(replies=["Grüß dich."]), make_lane, b"hello") == (
        "Grüß dich.".encode(),
        Kind.END,
    )


@pytest.mark.parametrize("reply", ["", " \n"])
def test_white_space_is_an_empty_reply(make_lane, reply):
    assert asked(stage(replies=[reply]), make_lane, b"hello") == (reply.encode(), Kind.EMPTY)


def test_it_fails_where_it_was_told_to(make_lane):
    made = stage(replies=["abcdef"], fail_after=3)
    assert asked(made, make_lane, b"hello") == (b"abc", Kind.FAILED)


def test_it_speaks_in_the_ids_of_a_model(make_lane, tmp_path):
    tokenizer = Tokenizer(models.BPE({"h": 3, "i": 4, "hi": 5}, [("h", "i")]))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text("{}")
    made = stage(str(tmp_path), replies=["hihi"])
    assert asked(made, make_lane, b"hello") == (bytes([5, 5]), Kind.END)


def test_an_unknown_option_is_refused():
    with pytest.raises(ConfigError, match="replis"):
        stage(replis=["x"])


def test_it_needs_no_model_library():
    """A stage of another interpreter has bare voxring only."""
    code = (
        "import sys, stages.llm.scripted, stages.llm.transformers;"
        "sys.exit(bool({'torch', 'transformers', 'tokenizers', 'jinja2'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_replies_follow_the_turns_and_are_the_same_when_asked_again():
    engine = ScriptedEngine([[1], [2]], 64)
    engine.open(0)
    for turn, first in enumerate([1, 2, 1]):
        start = engine.length(0)
        for _ in range(2):
            engine.rollback(0, start)
            engine.extend(0, np.array([9, ASK], np.int32), start)
            assert engine.step([0]) == [first], turn
        assert engine.step([0]) == [STOP]
        engine.rollback(0, engine.length(0) - 1)
        engine.extend(0, np.array([NEXT], np.int32), engine.length(0))


def test_the_scripted_engine_keeps_the_contract():
    engine = ScriptedEngine([[1]], 2)
    engine.open(0)
    with pytest.raises(ValueError, match="holds 0"):
        engine.extend(0, np.array([1], np.int32), 1)
    with pytest.raises(ValueError, match="holds 0"):
        engine.rollback(0, 1)
    with pytest.raises(StageError, match="fit in 2"):
        engine.extend(0, np.zeros(3, np.int32), 0)
    engine.extend(0, np.array([5, ASK], np.int32), 0)
    with pytest.raises(StageError, match="full"):
        engine.step([0])
    engine.close(0)
    assert engine._content == {}
