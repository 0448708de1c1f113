"""`voxring talk` as a person meets it: a real terminal, real programs, scripted stages."""

import re
import shlex
import signal
import subprocess
import termios
from pathlib import Path

import numpy as np
import psutil
import pytest
import soundfile

from stages.topology import INPUT_RATE
from tests.pipeline.cli_running import (
    QUESTION,
    SCRIPTED,
    Finished,
    OnTerminal,
    all_gone,
    children,
    command,
    environment,
    stages_of,
    start,
    stop_when,
    to_parent,
    voxring,
)
from tests.pipeline.running import wait_until

PATIENCE_S = 2.0
INTERRUPTED, TERMINATED = 130, 143
LONG = f'llm.options={{replies = ["{"All work and no play. " * 5}"], ids_per_s = 50}}'
LISTENING = "q quit"


def bursts(path: Path, *at: float, seconds: float = 20.0) -> Path:
    """A quiet clip with a loud third of a second at each of these times, s."""
    samples = np.random.default_rng(1).normal(0, 0.0005, int(seconds * INPUT_RATE))
    for start_s in at:
        loud = slice(int(start_s * INPUT_RATE), int((start_s + 0.3) * INPUT_RATE))
        samples[loud] += 0.3 * np.sin(2 * np.pi * 220 * np.arange(loud.stop - loud.start) / 16_000)
    soundfile.write(path, samples, INPUT_RATE, subtype="PCM_16")
    return path


def on_terminal(tmp_path: Path, *arguments: str, columns: int = 80) -> OnTerminal:
    return OnTerminal("talk", *SCRIPTED, *arguments, cwd=tmp_path, columns=columns)


def is_raw(terminal: OnTerminal) -> bool:
    local = terminal.modes[3]
    assert isinstance(local, int)
    return not local & termios.ECHO


def cursor_is_seen(terminal: OnTerminal) -> bool:
    return "\x1b[?25h" in terminal.screen.rpartition("\x1b[?25l")[2]


def ended_well(terminal: OnTerminal, before: list[object]) -> None:
    """The terminal is as it was, and its cursor is seen."""
    assert terminal.modes == before
    assert wait_until(lambda: cursor_is_seen(terminal), PATIENCE_S)


def test_a_conversation_on_a_narrow_terminal(tmp_path: Path) -> None:
    bursts(tmp_path / "clip.wav", 0.3, seconds=1.0)
    kept = ("--transcript", "kept", "--record", "kept")
    with on_terminal(tmp_path, "--clip", "clip.wav", *kept, columns=60) as terminal:
        before = terminal.modes
        terminal.wait_for("you speak")
        assert is_raw(terminal)
        terminal.wait_for("voxring speaks")
        assert terminal.process.wait(30) == 0
        ended_well(terminal, before)
        shown = terminal.text
    for line in ("you      What time is it?", "voxring  It is time to speak."):
        assert line in shown
    assert re.search(r"\d+ ms +silence", shown)
    assert shown.rpartition("ms   ")[2].count("What time is it?") == 0, "nothing is seen twice"
    assert re.search(r"voxring  It is t\n|voxring  It i\n|voxring  It \n", shown), "word by word"
    assert {path.suffix for path in (tmp_path / "kept").iterdir()} == {".jsonl", ".wav"}
    for path in (tmp_path / "kept").iterdir():
        assert path.name in shown.replace("\n         ", "")


def test_keys_on_a_terminal(tmp_path: Path) -> None:
    bursts(tmp_path / "clip.wav", 0.3)
    with on_terminal(tmp_path, "--clip", "clip.wav", "--set", LONG) as terminal:
        before = terminal.modes
        terminal.wait_for("voxring  All work")
        terminal.press(b"\x1b")
        terminal.wait_for("(interrupted)")
        terminal.press(b"m")
        terminal.wait_for("microphone off")
        terminal.press(b"\x1b[A")  # an arrow: nothing
        terminal.press(b" ")
        terminal.wait_for("space done")
        terminal.press(b"m")
        terminal.press(b"q")
        assert terminal.process.wait(PATIENCE_S) == 0
        ended_well(terminal, before)
        assert "error" not in terminal.text


def test_push_to_talk_holds_the_turn_open(tmp_path: Path) -> None:
    """Of two utterances with a long pause between them; each is a line of the script."""
    bursts(tmp_path / "clip.wav", 1.5, 3.0)
    lines = 'asr.options={lines = ["One.", "Two.", "Three."]}'
    with on_terminal(tmp_path, "--clip", "clip.wav", "--set", lines) as terminal:
        terminal.wait_for(LISTENING)
        terminal.press(b" ")
        terminal.wait_for("space done")
        terminal.wait_for("you      Two.")
        assert "voxring speaks" not in terminal.text
        terminal.press(b" ")
        terminal.wait_for("voxring  It is time to speak.")
        terminal.wait_for("microphone off")
        terminal.press(b"q")
        assert terminal.process.wait(PATIENCE_S) == 0
    ends = [line for line in terminal.text.splitlines() if re.match(r"\d+ ms", line)]
    assert len(ends) == 1, "it was one turn"


def test_quit_while_it_loads(tmp_path: Path) -> None:
    with on_terminal(tmp_path, "--clip", str(QUESTION)) as terminal:
        terminal.wait_for(" audio ")
        pids = [child.pid for child in children(terminal.process.pid)]
        terminal.press(b"q")
        assert terminal.process.wait(PATIENCE_S) == 0
        assert all_gone(pids, PATIENCE_S)
        assert not is_raw(terminal)
        assert "error" not in terminal.text


@pytest.mark.parametrize("state", ["starting", LISTENING, "voxring  All work"])
def test_ctrl_c_in_every_state(state: str, tmp_path: Path) -> None:
    bursts(tmp_path / "clip.wav", 1.0)
    with on_terminal(tmp_path, "--clip", "clip.wav", "--set", LONG) as terminal:
        before = terminal.modes
        code, _ = stop_when(
            terminal.process, lambda: state in terminal.text, terminal.press_ctrl_c, PATIENCE_S
        )
        assert code == INTERRUPTED
        if state != "starting":
            ended_well(terminal, before)
        assert "Traceback" not in terminal.text
    if "All work" in state:
        assert "(the conversation ended here)" in terminal.text


def test_sigterm_while_it_speaks(tmp_path: Path) -> None:
    bursts(tmp_path / "clip.wav", 0.3)
    with on_terminal(tmp_path, "--clip", "clip.wav", "--set", LONG) as terminal:
        before = terminal.modes
        code, _ = stop_when(
            terminal.process,
            lambda: "voxring  All work" in terminal.text,
            to_parent(terminal.process, signal.SIGTERM),
            PATIENCE_S,
        )
        assert code == TERMINATED
        ended_well(terminal, before)


def test_ctrl_z_gives_the_terminal_back_and_takes_it_again(tmp_path: Path) -> None:
    bursts(tmp_path / "clip.wav", 0.3)
    with on_terminal(tmp_path, "--clip", "clip.wav") as terminal:
        before = terminal.modes
        terminal.wait_for(LISTENING)
        program = psutil.Process(terminal.process.pid)
        terminal.press(b"\x1a")
        assert wait_until(lambda: program.status() == psutil.STATUS_STOPPED, PATIENCE_S)
        assert terminal.modes == before
        assert wait_until(lambda: cursor_is_seen(terminal), PATIENCE_S)
        program.send_signal(signal.SIGCONT)
        assert wait_until(lambda: is_raw(terminal), PATIENCE_S)
        terminal.press(b"q")
        assert terminal.process.wait(PATIENCE_S) == 0
        ended_well(terminal, before)


def test_a_terminal_that_is_closed_ends_it(tmp_path: Path) -> None:
    bursts(tmp_path / "clip.wav", 0.3)
    with on_terminal(tmp_path, "--clip", "clip.wav", "--set", LONG) as terminal:
        terminal.wait_for("you speak")
        pids = [terminal.process.pid, *(c.pid for c in children(terminal.process.pid))]
        terminal.hang_up()
        assert terminal.process.wait(PATIENCE_S) == TERMINATED
        assert all_gone(pids, PATIENCE_S)


def test_a_stage_that_is_lost_is_told_on_a_terminal_that_works(tmp_path: Path) -> None:
    bursts(tmp_path / "clip.wav", 0.3)
    once = ("--set", "pipeline.restarts=0", "--set", LONG)
    with on_terminal(tmp_path, "--clip", "clip.wav", *once) as terminal:
        before = terminal.modes
        terminal.wait_for("voxring  All work")
        stages_of(terminal.process.pid)["tts"].kill()
        assert terminal.process.wait(PATIENCE_S) == 1
        ended_well(terminal, before)
        shown = terminal.text
        assert "error: stage tts " in shown
        assert "(the conversation ended here)" in shown
        assert "Traceback" not in shown


def test_what_programs_complain_of_stands_above_the_picture(tmp_path: Path) -> None:
    bursts(tmp_path / "clip.wav", 0.3, seconds=1.0)
    aborts = ("--set", 'tts.options={abort_on = "speak"}')
    with on_terminal(tmp_path, "--clip", "clip.wav", *aborts) as terminal:
        before = terminal.modes
        assert terminal.process.wait(30) == 1, "the turn failed"
        ended_well(terminal, before)
        shown = terminal.text
    assert re.search(r"note     stage tts .*started", shown), shown


# Without a terminal.


def test_plain_lines_without_a_terminal_or_any_input(tmp_path: Path) -> None:
    bursts(tmp_path / "clip.wav", 0.3, seconds=1.0)
    clips = ("--clip", "clip.wav", "--clip", "clip.wav")
    words = shlex.join(command("talk", *SCRIPTED, *clips))
    done = subprocess.run(
        ["sh", "-c", f"exec {words} <&-"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[0::3] == ["you: What time is it?"] * 2
    assert lines[1::3] == ["voxring: It is time to speak."] * 2
    assert all(line.startswith("latency: ") for line in lines[2::3])
    assert len(lines) == 6


def test_lines_come_as_they_are_known_and_whoever_reads_may_go(tmp_path: Path) -> None:
    bursts(tmp_path / "clip.wav", 0.3, 3.0)
    with start("talk", *SCRIPTED, "--clip", "clip.wav", cwd=tmp_path) as started:
        assert started.process.stdout
        assert started.process.stderr
        assert started.process.stdout.readline() == "you: What time is it?\n"
        assert started.process.poll() is None
        started.process.stdout.close()
        assert started.process.wait(30) == 1
        told = started.process.stderr.read()
        finished = Finished(1, "", told)
        assert "standard output cannot be written: Broken pipe" in finished.complaint
        started.process.stdout = None


# What was asked.


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--speed", "9"), "tts.speed is 9.0"),
        (("--echo", "loud"), "audio.echo is 'loud'"),
        (("--voice", "bundle:nobody"), "tts.model: "),
        (("--system", "@nowhere.txt"), "--system @nowhere.txt: No such file or directory"),
        (("--clip", "nowhere.wav"), "nowhere.wav does not exist"),
        (("--transcript", "/proc/nowhere"), "cannot be written"),
    ],
)
def test_a_mistake_is_told_before_anything_starts(
    arguments: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    clip = () if "--clip" in arguments else ("--clip", str(QUESTION))
    finished = voxring("talk", "--config", "laptop", *clip, *arguments, cwd=tmp_path)
    assert finished.code == 2
    assert told in finished.complaint
