"""Real programs that keep what was said: a transcript and a recording."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import soundfile

from pipeline.errors import OutputError
from pipeline.events import TurnEnded
from pipeline.pipeline import Pipeline
from stages.tts.tones import read_tones
from tests.pipeline.running import run, scripted, tone, until_turn_ended

LONG, SHORT = "This is a long answer to a short question, and it goes on.", "Yes."


def test_a_conversation_is_kept_as_it_was_heard(tmp_path: Path) -> None:
    """The second question cuts the first answer."""
    clip, out, folder = tone(tmp_path / "clip.wav", 0.5), tmp_path / "answer.wav", tmp_path / "kept"
    config = scripted(
        f'pipeline.transcripts="{folder}"',
        f'audio.record="{folder}"',
        "turn.options={speech = [[200, 500], [1300, 1600]]}",
        "turn.release_ms=256",
        'asr.options={lines = ["Well?", "Stop. Really?"]}',
        f'llm.options={{replies = ["{LONG}", "{SHORT}"], ids_per_s = 200}}',
    )

    async def work(pipeline: Pipeline) -> list[TurnEnded]:
        async with await pipeline.open() as lane:
            lane.play(clip, out=out)
            return [(await until_turn_ended(lane))[0] for _ in range(2)]

    turns = run(work, config)
    recording, transcript = sorted(folder.iterdir(), key=lambda path: path.suffix, reverse=True)
    assert recording.stem == transcript.stem
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    assert [shown(line) for line in lines] == [shown(told(turn)) for turn in turns]
    cut, whole = lines
    assert (cut["interrupted"], whole["interrupted"]) == (True, False)
    assert 0 < len(cut["heard"]) < len(LONG)
    assert cut["reply"].startswith(cut["heard"])
    assert (whole["heard"], whole["outcome"]) == (SHORT, "answered")
    assert 0 < cut["began_s"] < whole["began_s"]

    (left, right), rate = soundfile.read(recording, dtype="int16")[0].T, 16_000
    answers, _ = soundfile.read(out, dtype="int16")
    said, _ = soundfile.read(clip, dtype="int16")
    assert right[right != 0].tolist() == answers[answers != 0].tolist()
    spoken = bytes(read_tones(right, rate)).decode()
    assert spoken.startswith(cut["heard"])
    assert spoken.endswith(SHORT)
    assert said.tobytes() in left.tobytes()


def told(turn: TurnEnded) -> dict[str, Any]:
    return {
        "turn": turn.timeline.turn,
        "user": turn.transcript,
        "reply": turn.reply,
        "heard": turn.heard,
        "outcome": turn.timeline.outcome.label,
    }


def shown(line: dict[str, Any]) -> dict[str, Any]:
    return {name: line[name] for name in ("turn", "user", "reply", "heard", "outcome")}


@pytest.mark.parametrize("key", ["pipeline.transcripts", "audio.record"])
def test_a_folder_that_cannot_be_written_to_is_told_before_anything_starts(
    key: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    pipeline = Pipeline(scripted(f'{key}="{tmp_path / "file"}"'))
    with pytest.raises(OutputError, match=f"File exists. Name another place with {key}"):
        asyncio.run(pipeline.__aenter__())
    assert not pipeline.stages
