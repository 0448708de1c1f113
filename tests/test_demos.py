"""The demos run as they are printed."""

import re
import sys
from pathlib import Path

from tests.pipeline.cli_running import Started, environment
from tests.pipeline.running import tone

ROOT = Path(__file__).parents[1]
MICROPHONE = ROOT / "demos" / "microphone.py"
MOST_LINES = 60


def test_the_microphone_demo_is_short_and_uses_the_public_api() -> None:
    source = MICROPHONE.read_text(encoding="utf-8")
    assert len(source.splitlines()) < MOST_LINES
    imported = set(re.findall(r"^from (\S+) import", source, re.MULTILINE))
    assert imported <= {"pathlib", "pipeline", "pipeline.client_lane"}


def test_the_microphone_demo_holds_a_conversation(tmp_path: Path) -> None:
    tone(tmp_path / "clip.wav", 0.4)
    config = ROOT / "configs" / "scripted.toml"
    arguments = ["--config", str(config), "--clip", "clip.wav"]
    argv = [sys.executable, "-m", "demos.microphone", *arguments]
    with Started(argv, tmp_path, environment()) as started:
        finished = started.finish(60)
    assert (finished.code, finished.err) == (0, "")
    assert re.fullmatch(
        r"speak, .*\nyou: What time is it\?\nIt is time.*\n"
        r"heard: It is time to speak\. \(answered, \d+ ms\)\n",
        finished.out,
    )
