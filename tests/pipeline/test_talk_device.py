"""`voxring talk` on real sound devices, of a PulseAudio server of our own."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import soundfile

from benchmarks.sound_server import SoundServer, missing, sound_server
from pipeline.errors import AudioError
from pipeline.floor import Floor
from pipeline.terminal.screen import SPOKEN
from stages.audio.device import probe
from tests.pipeline.cli_running import SCRIPTED, OnTerminal, all_gone, children, to_parent, voxring
from tests.pipeline.running import wait_until

RATE = 48_000
INTERRUPTED, TERMINATED = 130, 143
DEVICES = ("--input", "usb-mic", "--output", "usb-spk")


@pytest.fixture
def server() -> Iterator[SoundServer]:
    if why := missing():
        pytest.skip(why)
    with TemporaryDirectory() as folder, sound_server(Path(folder)) as server:
        for name, channels in (("mic", 1), ("spk", 2)):
            server.plug(name, rate=RATE, channels=channels, sample_format="int16")
        server.microphone("usb-mic", "mic")
        server.speaker("usb-spk", "spk")
        yield server


def burst() -> np.ndarray:
    times = np.arange(RATE // 3) / RATE
    return (9000 * np.sin(2 * np.pi * 220 * times)).astype(np.int16)


def on_devices(server: SoundServer, tmp_path: Path, *arguments: str) -> OnTerminal:
    return OnTerminal("talk", *SCRIPTED, *DEVICES, *arguments, cwd=tmp_path, **server.environment)


def test_a_conversation_by_microphone_and_loudspeaker(server: SoundServer, tmp_path: Path) -> None:
    kept = ("--transcript", "kept", "--record", "kept")
    with (
        on_devices(server, tmp_path, *kept) as terminal,
        server.record("spk", RATE) as recording,
    ):
        terminal.wait_for(SPOKEN[Floor.OPEN])
        assert "wear headphones" in terminal.text
        server.say("mic", burst(), RATE).wait(10)
        terminal.wait_for(SPOKEN[Floor.ANSWER])
        terminal.wait_for("~")  # its latency, by the detector's end of speech
        terminal.press(b"m")
        terminal.wait_for("microphone off")
        terminal.press(b"q")
        assert terminal.process.wait(2.0) == 0
        assert "voxring  It is time to speak." in terminal.text
        assert np.abs(recording.samples).max() > 3000
    (written,) = (tmp_path / "kept").glob("*.jsonl")
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    assert [(line["user"], line["heard"]) for line in lines] == [
        ("What time is it?", "It is time to speak.")
    ]
    (recorded,) = (tmp_path / "kept").glob("*.wav")
    sides, _ = soundfile.read(recorded, dtype="int16")
    assert (np.abs(sides).max(axis=0) > 3000).all(), "the microphone left, the answer right"


@pytest.mark.parametrize("way", ["key", "Ctrl-C"])
def test_it_ends_while_a_push_is_held_and_a_device_is_gone(
    server: SoundServer, tmp_path: Path, way: str
) -> None:
    with on_devices(server, tmp_path) as terminal:
        before = terminal.modes
        terminal.wait_for(SPOKEN[Floor.OPEN])
        terminal.press(b" ")
        terminal.wait_for("space done")
        server.stop()
        terminal.wait_for("is gone; waiting for it")
        pids = [child.pid for child in children(terminal.process.pid)]
        terminal.press(b"q") if way == "key" else terminal.press_ctrl_c()
        assert terminal.process.wait(2.0) == (0 if way == "key" else INTERRUPTED)
        assert all_gone(pids, 2.0)
        assert terminal.modes == before


def test_a_device_that_is_not_there_is_told_at_once(server: SoundServer, tmp_path: Path) -> None:
    began = time.monotonic()
    finished = voxring("talk", "--input", "nobody", cwd=tmp_path, **server.environment)
    assert finished.code == 2
    assert "no microphone called 'nobody' (audio.input)" in finished.complaint
    assert "usb-mic" in finished.complaint
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("way", ["q", "Ctrl-C", "SIGTERM", "SIGKILL"])
def test_it_ends_while_a_sound_system_hangs(tmp_path: Path, way: str) -> None:
    """It was deaf for as long as it looked for devices; Ctrl-C was told as their fault."""
    configuration = tmp_path / "asound.conf"
    os.mkfifo(configuration)  # whoever reads it waits for a writer
    with OnTerminal("talk", cwd=tmp_path, ALSA_CONFIG_PATH=str(configuration)) as terminal:
        before = terminal.modes
        assert wait_until(lambda: children(terminal.process.pid) != [], 20)
        probe = [child.pid for child in children(terminal.process.pid)]
        if way == "q":
            terminal.press(b"q")
        elif way == "Ctrl-C":
            terminal.press_ctrl_c()
        else:
            to_parent(terminal.process, signal.Signals[way])()
        codes = {"q": 0, "Ctrl-C": INTERRUPTED, "SIGTERM": TERMINATED, "SIGKILL": -signal.SIGKILL}
        assert terminal.process.wait(2.0) == codes[way]
        assert all_gone(probe, 2.0)
        if way == "SIGKILL":
            return
        assert terminal.modes == before
        assert "error" not in terminal.text


def test_a_sound_system_that_hangs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = tmp_path / "asound.conf"
    os.mkfifo(configuration)
    monkeypatch.setenv("ALSA_CONFIG_PATH", str(configuration))
    monkeypatch.setattr(probe, "LIMIT_S", 0.3)
    with pytest.raises(AudioError, match=r"the sound system did not answer within 0.3 s"):
        asyncio.run(probe.find_devices())


def test_without_a_sound_card_one_line_says_so(tmp_path: Path) -> None:
    if voxring("devices", cwd=tmp_path).code == 0:
        pytest.skip("this machine has a sound card")
    finished = voxring("talk", cwd=tmp_path)
    assert finished.code == 2
    assert finished.out == ""
    assert len(finished.err.splitlines()) == 1
    assert "sound device" in finished.complaint or "PortAudio" in finished.complaint
