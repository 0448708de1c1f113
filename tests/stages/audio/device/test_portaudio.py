"""The real PortAudio on a sound system without a card: questions in, answers out."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from benchmarks.sound_server import SoundServer, missing, sound_server
from pipeline.client_lane import ClientLane
from pipeline.config import Config, builtin_configs, load_config
from pipeline.errors import AudioError, SessionError
from pipeline.events import DeviceNotice, Event, TurnEnded
from pipeline.pipeline import Pipeline
from stages.audio.device import portaudio
from stages.audio.device.options import DeviceOptions
from stages.audio.device.sound_devices import SoundDevices
from stages.messages import Command
from stages.outcome import Outcome
from stages.tts.tones import read_tones
from tests.pipeline.running import back, run

REPLY = "It is time to speak."
RATE = 48_000  # of what is recorded
TONE = (8000 * np.sin(2 * np.pi * 220 * np.arange(RATE // 2) / RATE)).astype(np.int16)
needs_server = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def whole_server() -> Iterator[SoundServer]:
    with (
        tempfile.TemporaryDirectory(prefix="voxring-") as folder,
        sound_server(Path(folder)) as one,
    ):
        yield one


@pytest.fixture
def server(whole_server: SoundServer, monkeypatch: pytest.MonkeyPatch) -> SoundServer:
    for name, value in whole_server.environment.items():
        monkeypatch.setenv(name, value)
    return whole_server


def on_device(microphone: str, speaker: str, options: str = "") -> Config:
    """A long buffer: what is asked here is words, on a machine that does much else."""
    settings = [
        "audio.stage=device",
        f"audio.input={microphone}",
        f"audio.output={speaker}",
        f"audio.options={{latency_ms=200.0{options}}}",
    ]
    return load_config(builtin_configs()["scripted"], settings, cores=2)


async def until(lane: ClientLane, kind: type[Event]) -> Event:
    """The next event of a kind."""
    async with asyncio.timeout(20):
        async for event in lane:
            if isinstance(event, kind):
                return event
    raise AssertionError("the lane was closed")


async def ask(
    server: SoundServer,
    lane: ClientLane,
    room: str,
    speaker: str,
    other: SoundServer | None = None,
) -> tuple[bytes, Outcome]:
    """Say something; the answer, as it was heard, and what the timeline says of it.

    Args:
        server: of the room.
        other: of the loudspeaker, if it is another one.
    """
    with (other or server).record(speaker, RATE) as recording:
        voice = server.say(room, TONE, RATE)
        ended = await until(lane, TurnEnded)
        voice.wait(10)
        await asyncio.sleep(0.3)  # what the recorder has not written yet
    assert isinstance(ended, TurnEnded)
    return bytes(read_tones(recording.samples, RATE)), ended.timeline.outcome


@needs_server
@pytest.mark.parametrize(
    ("rate", "channels", "sample_format"), [(44_100, 1, "int16"), (48_000, 2, "float32")]
)
def test_a_question_is_answered(
    server: SoundServer, rate: int, channels: int, sample_format: str
) -> None:
    name = f"{sample_format}x{channels}"
    room, speaker = f"room-{name}", f"speaker-{name}"
    for device in (room, speaker):
        server.plug(device, rate=rate, channels=channels, sample_format=sample_format)
    server.microphone(f"mic {name}", room)
    server.speaker(f"out {name}", speaker)
    options = (
        f", rate={rate}, input_channels={channels}, output_channels={channels}, "
        f'sample_format="{sample_format}"'
    )

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            assert await ask(server, lane, room, speaker) == (REPLY.encode(), Outcome.ANSWERED)
            assert lane.device.is_open
            lane.command(Command.MUTE)
            begun = lane.turns_begun
            server.say(room, TONE, RATE).wait(10)
            await asyncio.sleep(0.5)
            assert lane.turns_begun == begun, "a microphone that is off hears nobody"
            lane.command(Command.UNMUTE)
            assert await ask(server, lane, room, speaker) == (REPLY.encode(), Outcome.ANSWERED)

    run(work, on_device(f"mic {name}", f"out {name}", options))


@needs_server
def test_a_headset_is_one_stream(server: SoundServer) -> None:
    for device in ("ear", "mouth"):
        server.plug(device, rate=48_000, channels=1, sample_format="int16")
    server.microphone("boom", "mouth")
    server.speaker("cup", "ear")
    server.headset("whole headset", "boom", "cup")
    config = on_device("whole headset", "whole headset", ", one_stream=true")
    with sound_devices(config) as devices:
        assert devices.is_one

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            assert await ask(server, lane, "mouth", "ear") == (REPLY.encode(), Outcome.ANSWERED)

    run(work, config)


@contextmanager
def sound_devices(config: Config) -> Iterator[SoundDevices]:
    """Open, in this program, which then forgets what it found."""
    devices = SoundDevices(config.audio, DeviceOptions(**config.audio.options))
    devices.open()
    yield devices
    devices.close()
    portaudio.unload()


@needs_server
@pytest.mark.parametrize(
    ("side", "is_killed"), [("microphone", False), ("microphone", True), ("loudspeaker", False)]
)
def test_a_device_that_is_pulled_out_and_put_back(
    server: SoundServer, side: str, is_killed: bool
) -> None:
    kind = {"rate": 48_000, "channels": 1, "sample_format": "int16"}

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            usb.stop()
            gone = await until(lane, DeviceNotice)
            assert gone == DeviceNotice(
                f"the {side} 'desk {side}' is gone; waiting for it", is_open=False
            )
            assert not lane.device.is_open
            if is_killed:  # the one that comes in its place waits for the device, too
                old = pipeline.stages["audio"]
                os.kill(old, signal.SIGKILL)
                await back(pipeline, "audio", old)
            usb.start()
            usb.plug("out", **kind)
            async with asyncio.timeout(20):
                while not lane.device.is_open:
                    await asyncio.sleep(0.1)
            if not is_killed:
                told = DeviceNotice(f"the {side} 'desk {side}' is back", is_open=True)
                assert await until(lane, DeviceNotice) == told
            room, speaker = ("out", "in") if side == "microphone" else ("in", "out")
            of_room, of_speaker = (usb, server) if side == "microphone" else (server, usb)
            assert (await ask(of_room, lane, room, speaker, of_speaker))[0] == REPLY.encode()

    with sound_server(server.folder / "usb") as usb:
        usb.plug("out", **kind)
        server.plug("in", **kind)
        server.microphone("desk microphone", *(("out", usb) if side == "microphone" else ("in",)))
        server.speaker("desk loudspeaker", *(("out", usb) if side == "loudspeaker" else ("in",)))
        run(work, on_device("desk microphone", "desk loudspeaker"))


@needs_server
def test_a_device_that_is_not_there_is_an_error_with_the_list(server: SoundServer) -> None:
    server.plug("kitchen", rate=48_000, channels=1, sample_format="int16")
    server.microphone("kitchen microphone", "kitchen")

    async def work(pipeline: Pipeline) -> None:
        raise AssertionError("it must not start")

    with pytest.raises(AudioError, match=r"no microphone called 'bathroom'.*kitchen mic"):
        run(work, on_device("bathroom", ""))


@needs_server
def test_a_device_that_cannot_be_opened_is_an_error_with_the_others(server: SoundServer) -> None:
    """Not a silent fallback: the system's default would do, and is not asked."""
    for name in ("attic", "cellar"):
        server.plug(name, rate=48_000, channels=1, sample_format="int16")
        server.microphone(f"{name} microphone", name)
        server.speaker(f"{name} loudspeaker", name)

    async def work(pipeline: Pipeline) -> None:
        with pytest.raises(SessionError) as refused:
            await pipeline.open()
        told = str(refused.value)
        assert told.startswith(
            "audio: microphone 'attic microphone' cannot be opened at 48000 Hz: "
        )
        remedy = told.partition("one of: ")[2]
        assert "cellar microphone" in remedy
        assert "attic microphone" not in remedy

    options = ", rate=48000, input_channels=64"  # more than the sound server has
    run(work, on_device("attic microphone", "attic loudspeaker", options))


@needs_server
def test_the_devices_are_listed(server: SoundServer) -> None:
    server.plug("hall", rate=48_000, channels=1, sample_format="int16")
    server.microphone("hall microphone", "hall")
    server.speaker("hall loudspeaker", "hall")
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "devices"], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    heard, _, spoken = done.stdout.partition("audio.output")
    assert "hall microphone" in heard
    assert "hall loudspeaker" in spoken


@pytest.mark.parametrize("configuration", ["/usr/share/alsa/alsa.conf", os.devnull])
def test_without_a_sound_card_the_message_says_so_in_one_line(configuration: str) -> None:
    """Also where PortAudio is not installed, or aborts for want of a configuration; and soon."""
    environment = {**os.environ, "ALSA_CONFIG_PATH": configuration, "NO_COLOR": "1"}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "devices"],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    took = time.monotonic() - began
    if done.returncode == 0:
        pytest.skip("this machine has sound devices that ALSA does not know of")
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("error: ")
    assert "sound device" in done.stderr
    assert done.stdout == ""
    assert took < 20  # two seconds on a machine that has nothing else to do
