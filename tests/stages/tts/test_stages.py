import signal
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest

from pipeline.config import Config, validate
from pipeline.errors import ConfigError
from ringbuf import Kind
from stages.lane import Lane
from stages.messages import End, Status
from stages.stage import Host, Stage
from stages.tts.piper import PiperTts
from stages.tts.scripted import ScriptedTts
from stages.tts.tones import read_tones

MakeLane = Callable[[str], Lane]


def load(kind: type[Stage], tts: dict[str, object], llm: str = "bytes") -> Stage:
    config = validate(Config, {"tts": tts, "llm": {"model": llm}}, "test")
    stage = kind(Host(config, config.tts, lambda: 5, lambda text, fraction: None))
    stage.load()
    return stage


def put(lane: Lane, ids: list[int]) -> None:
    for position, id in enumerate(ids):
        assert lane.reply.put(id, position=position, turn=1, answer=1)
    assert lane.reply.put(0, position=len(ids), turn=1, answer=1, kind=Kind.END)


def sound_of(stage: Stage, make_lane: MakeLane, ids: list[int]) -> tuple[np.ndarray, End]:
    session, edge = stage.open(make_lane("tts")), make_lane("audio")
    make_lane("turn").answer = 1
    put(make_lane("llm"), ids)
    session.due = 0
    sound = []
    while session.due is not None:
        session.step()
        with edge.voice.read() as batch:
            sound += [block.samples.copy() for block in batch]
    return np.concatenate([np.zeros(0, np.int16), *sound]), edge.voice_end


def test_scripted_ids_are_read_back_from_the_sound(make_lane: MakeLane) -> None:
    stage = load(ScriptedTts, {"options": {"tone_ms": 50}})
    sound, end = sound_of(stage, make_lane, [3, 3, 77, 49_151, 0])
    assert read_tones(sound, 16_000) == [3, 3, 77, 49_151, 0]
    assert len(sound) == 5 * 800
    assert end == End(1, 15, Status.OK)


def test_scripted_options_are_checked() -> None:
    with pytest.raises(ConfigError, match="tone"):
        load(ScriptedTts, {"options": {"tone": 50}})
    with pytest.raises(ConfigError, match="tone_ms"):
        load(ScriptedTts, {"options": {"tone_ms": 5}})


def test_scripted_work_comes_once_an_answer() -> None:
    stage = load(ScriptedTts, {"options": {"work_ms": 30}})
    assert isinstance(stage, ScriptedTts)
    utterance = stage._begin()
    took = []
    for position in range(2):
        utterance.feed(1, position)
        start = time.thread_time()
        assert utterance.more()
        took.append(time.thread_time() - start)
    assert took[0] >= 0.03 > took[1]


def test_a_scripted_failure_comes_with_its_word() -> None:
    stage = load(ScriptedTts, {"options": {"fail_on": "no"}})
    assert isinstance(stage, ScriptedTts)
    utterance = stage._begin()
    utterance.feed(ord("n"), 0)
    with pytest.raises(RuntimeError, match="fails on 'no'"):
        utterance.feed(ord("o"), 1)


def test_a_scripted_abort_kills_the_program() -> None:
    """Fault 15."""
    code = (
        "from pipeline.tokenizer import ByteVocabulary\n"
        "from stages.tts.scripted import ScriptedTtsOptions, ToneUtterance\n"
        "u = ToneUtterance(ByteVocabulary(), ScriptedTtsOptions(abort_on='button'))\n"
        "[u.feed(id, 0) for id in b'press the button now']\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == -signal.SIGABRT


@pytest.fixture(scope="module")
def piper() -> PiperTts:
    stage = load(PiperTts, {"threads": 1})
    assert isinstance(stage, PiperTts)
    return stage


@pytest.mark.models
def test_piper_speaks_ids(piper: PiperTts, make_lane: MakeLane) -> None:
    sound, end = sound_of(piper, make_lane, list("Hello there 🙂, my friend.".encode()))
    assert 0.8 <= len(sound) / 22_050 <= 2.5
    assert end.status is Status.OK
    assert len(sound) / 441 <= end.count <= len(sound) / 441 + 10  # a block ends with each word


@pytest.mark.models
@pytest.mark.parametrize("text", ["", "...", "🙂", "ʤ"])
def test_piper_has_nothing_to_say_of_symbols(
    piper: PiperTts, make_lane: MakeLane, text: str
) -> None:
    sound, end = sound_of(piper, make_lane, list(text.encode()))
    assert len(sound) == 0
    assert end == End(1, 0, Status.EMPTY)


@pytest.mark.models
def test_piper_reads_the_vocabulary_of_the_language_model() -> None:
    stage = load(PiperTts, {"threads": 1}, llm="bundle:smollm2-135m-instruct")
    assert isinstance(stage, PiperTts)
    assert len(stage.vocabulary.table) == 49_152
