"""The example of docs/stages.md, as it is printed."""

import re
from pathlib import Path

import pytest

from pipeline.pipeline import Pipeline
from tests.pipeline.running import run, scripted, tone, until_turn_ended

DOCS = Path(__file__).parents[2] / "docs" / "stages.md"


def test_the_documented_stage_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = re.search(r"```python\n# stopwatch\.py\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert source
    (tmp_path / "stopwatch.py").write_text(source[1])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")

    async def work(pipeline: Pipeline) -> str:
        async with await pipeline.open() as lane:
            lane.play(tone(tmp_path / "clip.wav"))
            ended, _ = await until_turn_ended(lane)
            return ended.transcript

    assert re.fullmatch(
        r"I spoke for 0\.[56] seconds\.", run(work, scripted("asr.stage=stopwatch:Stopwatch"))
    )
