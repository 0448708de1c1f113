"""A sound system without a sound card: a PulseAudio server of one's own, with devices of nothing.

The real PortAudio plays through the real ALSA into it and hears from it, at the pace of a clock. It
belongs to one folder, sees no other server and no user's settings, and ends with its block.
"""

import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

NEEDED = ("pulseaudio", "pactl", "pacat", "parec")
START_S = 10.0
CALL_S = 10.0  # for one word with the server
LATENCY_MS = 20  # of what is said into a microphone and of what is recorded
ALSA_CONF = """</usr/share/alsa/alsa.conf>
"""
PCM = """pcm."{name}" {{ type pulse server "unix:{socket}" device "{device}"
  hint {{ show on description "{name}" }} }}
"""
BOTH = """pcm."{name}" {{ type asym capture.pcm "{microphone}" playback.pcm "{speaker}"
  hint {{ show on description "{name}" }} }}
"""


def missing() -> str:
    """Why there can be none here; "": there can."""
    if sys.platform != "linux":
        return "PulseAudio and ALSA are on Linux"
    lacking = [name for name in NEEDED if not shutil.which(name)]
    if lacking:
        return f"not installed: {', '.join(lacking)} (apt install pulseaudio pulseaudio-utils)"
    plugins = ("/usr/lib", "/usr/lib64")
    if not any(Path(p).glob("**/alsa-lib/libasound_module_pcm_pulse.so") for p in plugins):
        return "ALSA's plug-in for PulseAudio is not installed (apt install libasound2-plugins)"
    # Not imported: that would find this program's devices for good.
    if not find_spec("sounddevice"):
        return "not installed: sounddevice (pip install 'voxring[talk]')"
    if not find_library("portaudio"):
        return "not installed: PortAudio (apt install libportaudio2)"
    return ""


@dataclass
class SoundServer:
    """A server of one folder."""

    folder: Path
    _pcms: dict[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / "pulse.sock"

    @property
    def environment(self) -> dict[str, str]:
        """What programs need to find it, and no other."""
        return {
            "ALSA_CONFIG_PATH": str(self.folder / "asound.conf"),
            "PULSE_COOKIE": str(self.folder / "cookie"),
            "PULSE_RUNTIME_PATH": str(self.folder),
            "PULSE_SERVER": f"unix:{self.socket}",
        }

    def start(self) -> None:
        """Come up, with no device.

        Raises:
            TimeoutError: it does not.
        """
        self._configure()
        own = {"HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder)}
        log = self.folder / "pulse.log"
        protocol = f"module-native-protocol-unix auth-anonymous=1 socket={self.socket}"
        with log.open("w") as target:
            self._process = subprocess.Popen(
                [
                    *("pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1"),
                    *("--disable-shm", "--use-pid-file=no", "--realtime=no"),
                    *("--high-priority=no", "-L", protocol),
                ],
                env={**self._whole, **own},
                stdout=target,
                stderr=target,
            )
        limit = time.monotonic() + START_S
        while not self.socket.exists():
            if time.monotonic() > limit or self._process.poll() is not None:
                raise TimeoutError(f"pulseaudio: {log.read_text()[-300:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Go, with all devices; whoever plays or records finds out."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(CALL_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(CALL_S)
        self.socket.unlink(missing_ok=True)

    def plug(self, name: str, *, rate: int, channels: int, sample_format: str) -> None:
        """Connect a device. What it plays can be recorded, and heard by a microphone of that name.

        Args:
            sample_format: "int16" or "float32".
        """
        kind = {"int16": "s16le", "float32": "float32le"}[sample_format]
        self._pactl(
            "load-module",
            "module-null-sink",
            f"sink_name={name}",
            f"format={kind}",
            f"rate={rate}",
            f"channels={channels}",
            "norewinds=1",  # else it takes sound in portions of two seconds
        )

    def microphone(self, name: str, device: str, of: "SoundServer | None" = None) -> None:
        """Let ALSA have a microphone that hears what is said into a device, also of another server.

        A server moves whoever uses a device that goes to another one; only with the whole server
        is a device gone for good.
        """
        self.speaker(name, f"{device}.monitor", of)

    def speaker(self, name: str, device: str, of: "SoundServer | None" = None) -> None:
        """Let ALSA have a loudspeaker that plays into a device, also of another server."""
        self._pcm(name, PCM.format(name=name, socket=(of or self).socket, device=device))

    def headset(self, name: str, microphone: str, speaker: str) -> None:
        """Let ALSA have both as one device."""
        self._pcm(name, BOTH.format(name=name, microphone=microphone, speaker=speaker))

    def say(self, device: str, samples: NDArray[np.int16], rate: int) -> subprocess.Popen[bytes]:
        """Play int16 [n] into a device, from about now on."""
        sound = self.folder / f"say-{time.monotonic_ns()}.raw"
        sound.write_bytes(samples.astype("<i2").tobytes())
        with sound.open("rb") as source:
            return subprocess.Popen(
                [*self._client("pacat", device, rate), "--playback"],
                stdin=source,
                env=self._whole,
            )

    @contextmanager
    def record(self, device: str, rate: int) -> Iterator["Recording"]:
        """Record what a device plays, mono, while the block runs."""
        process = subprocess.Popen(
            self._client("parec", f"{device}.monitor", rate),
            stdout=subprocess.PIPE,
            env=self._whole,
        )
        recording = Recording(rate)
        reader = threading.Thread(target=recording.read, args=(process,), daemon=True)
        reader.start()
        try:
            if not recording.has_begun.wait(START_S):
                raise TimeoutError(f"{device}: nothing was recorded within {START_S:g} s")
            yield recording
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(CALL_S)
            reader.join(CALL_S)

    def _client(self, program: str, device: str, rate: int) -> list[str]:
        return [
            program,
            f"--device={device}",
            f"--rate={rate}",
            "--format=s16le",
            "--channels=1",
            f"--latency-msec={LATENCY_MS}",
            "--raw",
        ]

    def _pcm(self, name: str, text: str) -> None:
        self._pcms[name] = text
        self._configure()

    def _configure(self) -> None:
        conf = Path(self.environment["ALSA_CONFIG_PATH"])
        conf.write_text(ALSA_CONF + "".join(self._pcms.values()))

    def _pactl(self, *arguments: str) -> str:
        done = subprocess.run(
            ["pactl", *arguments],
            env=self._whole,
            capture_output=True,
            text=True,
            timeout=CALL_S,
            check=True,
        )
        return done.stdout.strip()

    @property
    def _whole(self) -> dict[str, str]:
        return {**os.environ, **self.environment}


class Recording:
    """What a device plays.

    Attributes:
        rate: samples per second.
        has_begun: something was recorded.
        began: monotonic s at which the first sample came, less what it had waited: the least that
            any portion of the recording tells.
    """

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self.has_begun = threading.Event()
        self.began = math.inf
        self._data = bytearray()

    @property
    def samples(self) -> NDArray[np.int16]:
        """So far, int16 [n]."""
        data = bytes(self._data)
        return np.frombuffer(data[: len(data) // 2 * 2], "<i2")

    def read(self, process: subprocess.Popen[bytes]) -> None:
        """Take what a recorder writes, until it ends: the body of a thread."""
        assert process.stdout
        with process.stdout as stream:
            while portion := os.read(stream.fileno(), 1 << 16):
                now = time.monotonic()
                self._data += portion
                self.began = min(self.began, now - len(self._data) / 2 / self.rate)
                self.has_begun.set()


@contextmanager
def sound_server(folder: Path) -> Iterator[SoundServer]:
    """Run a server while the block lasts.

    Args:
        folder: for all that it writes; its path must be short enough for a socket's name.

    Raises:
        TimeoutError: it does not come up.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)
    server = SoundServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
