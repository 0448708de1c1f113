import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest

from pipeline.config import load_config
from pipeline.errors import ConfigError
from ringbuf import Kind, Mark
from stages.asr.recogniser import finished
from stages.asr.scripted import Script, ScriptedAsr, ScriptedAsrOptions
from stages.lane import Lane
from stages.stage import Host

SILENCE = np.zeros(512, np.int16)


def said(script: Script, *, final: bool = True) -> str:
    return finished(script.decode(final=final)).text


def script_of(**options: object) -> Script:
    return Script(ScriptedAsrOptions(**options), lambda: 0)


def stage(*settings: str) -> ScriptedAsr:
    config = load_config(overrides=["asr.stage=scripted", "llm.model=bytes", *settings])
    made = ScriptedAsr(Host(config, config.asr, lambda: 0, lambda text, fraction: None))
    made.load()
    return made


def test_each_conversation_starts_at_the_first_line() -> None:
    one, other = script_of(lines=["one", "two"]), script_of(lines=["one", "two"])
    lines = []
    for _ in range(3):
        lines.append(said(one))
        one.clear()
    assert lines == ["one", "two", "one"]
    assert said(other) == "one"


def test_a_pause_that_was_none_is_the_same_line_and_going_on_the_next() -> None:
    script = script_of(lines=["one", "two"])
    assert [said(script), said(script)] == ["one", "one"]
    script.settle()
    assert said(script) == "two"


def test_a_line_is_spoken_word_by_word() -> None:
    script = script_of(lines=["one two three"], words_per_s=31.25)
    assert script.streams
    heard = []
    for _ in range(4):
        heard.append(said(script, final=False))
        script.hear(SILENCE)
    assert heard == ["", "one", "one two", "one two three"]
    assert not script_of().streams


def test_a_soft_end_is_the_next_line(make_lane: Callable[[str], Lane]) -> None:
    asr, turn, llm = make_lane("asr"), make_lane("turn"), make_lane("llm")
    session = stage('asr.options.lines=["Hé", ""]').open(asr)
    for number, mark in ((1, Mark.START), (1, Mark.SOFT_END), (2, Mark.START), (2, Mark.SOFT_END)):
        turn.speech.put(SILENCE, first=0, rate=16000, turn=number, answer=number, mark=mark)
    turn.turn = 2
    while session.due is not None or len(asr.speech):
        session.step()
    with llm.heard.read() as batch:
        runs = [(run.kind, run.position, run.turn, run.ids.tolist()) for run in batch.runs()]
    assert runs == [
        (Kind.ID, 0, 1, [0x48, 0xC3, 0xA9]),
        (Kind.END, 3, 1, [0]),
        (Kind.EMPTY, 0, 2, [0]),
    ]


def test_it_is_as_busy_as_it_is_told() -> None:
    script = script_of(work_ms=20)
    before = time.thread_time()
    said(script)
    assert time.thread_time() - before >= 0.02


def test_it_fails_where_it_is_told() -> None:
    script = script_of(lines=["fine", "boom"], fail_on="boom")
    assert said(script) == "fine"
    script.clear()
    with pytest.raises(RuntimeError, match="fails on 'boom'"):
        said(script)


@pytest.mark.parametrize(
    "setting", ["asr.options.line=[]", "asr.options.lines=[]", "asr.options.delay_ms=-1"]
)
def test_a_wrong_option_is_an_error(setting: str) -> None:
    with pytest.raises(ConfigError, match="options"):
        stage(setting)


def test_it_runs_where_no_model_library_is_installed() -> None:
    code = (
        "import sys, stages.asr.scripted\n"
        "extras = {'tokenizers', 'ctranslate2', 'faster_whisper', 'onnxruntime', 'torch'}\n"
        "sys.exit(str(extras & set(sys.modules)) if extras & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
