import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.config import load_config
from pipeline.errors import ModelError
from ringbuf import Arena, BellPipe, Kind, Mark
from stages.asr.faster_whisper import FasterWhisperAsr
from stages.asr.listener import transcribe
from stages.asr.transcriber import Transcriber
from stages.audio.clip import load_clip
from stages.audio.convert import convert
from stages.lane import Lane
from stages.stage import Host
from stages.topology import topology

pytestmark = pytest.mark.models
WINDOW = 512


def stage(*settings: str) -> FasterWhisperAsr:
    config = load_config(overrides=["llm.model=bytes", *settings])
    return FasterWhisperAsr(Host(config, config.asr, time.monotonic_ns, lambda text, done: None))


@pytest.fixture(scope="module")
def asr() -> FasterWhisperAsr:
    made = stage()
    made.load()
    return made


def samples_of(path: Path) -> NDArray[np.int16]:
    clip = load_clip(path)
    return convert(clip.samples, clip.rate)


def speak(lane: Lane, sound: NDArray[np.int16], turn: int) -> None:
    """Put a clip and a soft end on `speech`, as `turn` does."""
    lane.turn = turn
    for first in range(0, len(sound), WINDOW):
        mark = Mark.NONE if first else Mark.START
        block = sound[first : first + WINDOW]
        assert lane.speech.put(block, first=first, rate=16000, turn=turn, answer=turn, mark=mark)
    nothing = np.empty(0, np.int16)
    for mark in (Mark.SOFT_END, Mark.RELEASE):
        lane.speech.put(nothing, first=0, rate=16000, turn=turn, answer=turn, mark=mark)


def hear(session: Transcriber, llm: Lane) -> str:
    """The words of the turn, or the name of the kind that ended it."""
    session.step()
    while session.due is not None:
        session.step()
    text = b""
    with llm.heard.read() as batch:
        for run in batch.runs():
            if run.kind is not Kind.ID:
                return text.decode() if run.kind is Kind.END else run.kind.name
            text = text[: run.position] + bytes(run.ids.astype(np.uint8))
    pytest.fail("the turn has no end")


def test_a_recorded_question_becomes_ids(
    asr: FasterWhisperAsr, make_lane: Callable[[str], Lane], recordings: Path
) -> None:
    session, turn, llm = asr.open(make_lane("asr")), make_lane("turn"), make_lane("llm")
    speak(turn, samples_of(recordings / "dog-or-cat.mp3"), 1)
    assert hear(session, llm) == "Should I get a dog or a cat?"


@pytest.mark.parametrize("sound", [np.zeros(32_000, np.int16), np.empty(0, np.int16)])
def test_silence_is_an_empty_turn(
    asr: FasterWhisperAsr, make_lane: Callable[[str], Lane], sound: NDArray[np.int16]
) -> None:
    session, turn, llm = asr.open(make_lane("asr")), make_lane("turn"), make_lane("llm")
    speak(turn, sound, 1)
    assert hear(session, llm) == "EMPTY"


def stream(asr: FasterWhisperAsr, lane: Lane, sound: NDArray[np.int16], turn: Lane) -> Transcriber:
    """Speak block by block, each heard before the next comes."""
    session = asr.open(lane)
    turn.turn = 1
    for first in range(0, len(sound), WINDOW):
        mark = Mark.NONE if first else Mark.START
        block = sound[first : first + WINDOW]
        turn.speech.put(block, first=first, rate=16000, turn=1, answer=1, mark=mark)
        session.due = 0
        while session.due is not None:
            asr.step([session], lambda session, error: pytest.fail(str(error)))
    return session


def test_most_of_a_long_sentence_is_written_before_its_end(
    asr: FasterWhisperAsr, make_lane: Callable[[str], Lane], recordings: Path
) -> None:
    sound = samples_of(recordings / "jfk.flac")
    session = stream(asr, make_lane("asr"), sound, make_lane("turn"))
    said = transcribe(asr.whisper, sound).text
    written = bytes(session._heard.ids.astype(np.uint8)).decode()
    assert len(written) > 0.8 * len(said)
    assert said.lower().startswith(written.lower()[:25])  # later words may still be in doubt


def test_nothing_is_written_of_noise(
    asr: FasterWhisperAsr, make_lane: Callable[[str], Lane], recordings: Path
) -> None:
    sound = samples_of(recordings / "noise.wav")
    session = stream(asr, make_lane("asr"), sound, make_lane("turn"))
    assert len(session._heard.ids) == 0


def test_two_conversations_hear_what_one_alone_hears(
    asr: FasterWhisperAsr, recordings: Path
) -> None:
    clips = [samples_of(recordings / file) for file in ("cars.wav", "cutter.flac")]
    layout = topology(lanes=2, context=256)
    bells = {name: BellPipe.create() for name in layout.processes}
    arena = Arena.create(layout, "control", bells)
    lanes = [Lane(arena.lane(n), "asr", arena.events("control")) for n in (0, 1)]
    sessions = [asr.open(lane) for lane in lanes]
    for number, (lane, clip) in enumerate(zip(lanes, clips, strict=True)):
        speak(lane, clip, number + 1)
    together = [hear(session, lane) for session, lane in zip(sessions, lanes, strict=True)]
    assert together == [transcribe(asr.whisper, clip).text for clip in clips]
    arena.close()
    for bell in bells.values():
        bell.close()


def test_a_language_that_the_model_lacks_stops_the_stage() -> None:
    with pytest.raises(ModelError, match="does not know the language 'de'"):
        stage('asr.languages=["de"]').load()
