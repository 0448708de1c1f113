"""The demos run as they are printed."""

import re
import signal
import sys
from pathlib import Path

import pytest

from tests.pipeline.cli_running import OnTerminal, Started, all_gone, children, environment
from tests.pipeline.running import tone

ROOT = Path(__file__).parents[1]
MICROPHONE = ROOT / "demos" / "microphone.py"
MOST_LINES = 60
PROGRAM = (sys.executable, "-m", "demos.microphone")
ARGUMENTS = ("--config", str(ROOT / "configs" / "scripted.toml"), "--clip", "clip.wav")


def test_the_microphone_demo_is_short() -> None:
    assert len(MICROPHONE.read_text(encoding="utf-8").splitlines()) < MOST_LINES


def test_the_microphone_demo_holds_a_conversation(tmp_path: Path) -> None:
    tone(tmp_path / "clip.wav", 0.4)
    with Started([*PROGRAM, *ARGUMENTS], tmp_path, environment()) as started:
        finished = started.finish(60)
    assert (finished.code, finished.err) == (0, "")
    you, voxring, latency = finished.out.splitlines()
    assert you == "you: What time is it?"
    assert voxring == "voxring: It is time to speak."
    assert re.fullmatch(r"latency: \d+ ms \(silence .*\)", latency)


def test_the_microphone_demo_shows_who_speaks_and_knows_the_keys(tmp_path: Path) -> None:
    tone(tmp_path / "clip.wav", 0.4)
    long = f'llm.options={{replies = ["{"All work and no play. " * 5}"], ids_per_s = 50}}'
    with OnTerminal(*ARGUMENTS, "--set", long, cwd=tmp_path, program=PROGRAM) as terminal:
        before = terminal.modes
        for shown in ("you speak", "What time is it?", "voxring  All work"):
            terminal.wait_for(shown)
        terminal.press(b"m")
        terminal.wait_for("m microphone on")
        terminal.press(b"i")
        terminal.wait_for("(interrupted)")
        assert terminal.process.wait(10) == 0
        assert terminal.modes == before


@pytest.mark.parametrize(
    ("way", "code"), [("q", 0), ("Ctrl-C", 130), ("SIGTERM", 143), ("hang up", 143)]
)
def test_the_microphone_demo_ends_as_talk_does(tmp_path: Path, way: str, code: int) -> None:
    tone(tmp_path / "clip.wav", 0.4)
    with OnTerminal(*ARGUMENTS, cwd=tmp_path, program=PROGRAM) as terminal:
        before = terminal.modes
        terminal.wait_for("q quit")
        pids = [child.pid for child in children(terminal.process.pid)]
        match way:
            case "q":
                terminal.press(b"q")
            case "Ctrl-C":
                terminal.press_ctrl_c()
            case "SIGTERM":
                terminal.process.send_signal(signal.SIGTERM)
            case _:
                terminal.hang_up()
        assert terminal.process.wait(5) == code
        assert all_gone(pids, 2.0)
        if way != "hang up":
            assert terminal.modes == before
            assert "Traceback" not in terminal.text
