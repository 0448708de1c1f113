"""A clip: one sound file in memory, mono, at the rate it came in."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError
from stages.audio.convert import downmix
from stages.audio.riff import promised_frames

RATES = range(4_000, 768_001)
LONGEST = 1 << 28  # samples of all channels: a gigabyte while it is read
_BLOCK = 1024  # frames per read: what a broken FLAC file loses of its last good part is shorter
_MP3_SLACK = 2 * 1152  # frames: encoder delay and padding, which some headers count in
_FORMATS = "WAV, FLAC, MP3, OGG or AIFF"


@dataclass(frozen=True)
class Clip:
    """A sound file, down-mixed but not resampled.

    Attributes:
        path: where it came from.
        samples: float32 [frames], mono, full scale is 1.0.
        rate: frames per second, as in the file.
        channels: how many the file has.
        truncated: one line that says how much is missing; None for a whole file.
    """

    path: Path
    samples: NDArray[np.float32]
    rate: int
    channels: int
    truncated: str | None = None

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self.samples.size / self.rate


def load_clip(path: Path) -> Clip:
    """Read a sound file of any rate, width, channels and encoding that libsndfile knows.

    A file that was cut off is read as far as it goes, with `truncated` set: what it still has
    may be all that is wanted.

    Raises:
        AudioError: missing, a folder, unreadable, not sound, empty, too long, or not finite.
    """
    _check_is_file(path)
    soundfile = _import_soundfile()
    with _open(soundfile, path) as file:
        rate, channels = int(file.samplerate), int(file.channels)
        _check_size(path, rate, int(file.frames) * channels)
        samples = _read(soundfile, file)
        promised = _promised(path, int(file.frames), str(file.format))
        slack = _MP3_SLACK if file.format == "MP3" else 0
    if samples.size == 0:
        raise AudioError(f"{path} has no samples ({promised} promised)", "Record it again")
    if not np.isfinite(samples).all():
        count = int(samples.size - np.isfinite(samples).sum())
        raise AudioError(
            f"{path} has {count} samples that are not finite numbers",
            "Export it again, best as 16-bit PCM",
        )
    missing = _missing(samples.size, promised, rate) if samples.size < promised - slack else None
    return Clip(path, samples, rate, channels, missing)


def _check_is_file(path: Path) -> None:
    try:
        if path.is_dir():
            raise AudioError(f"{path} is a folder, not a sound file", f"Name a clip: {path}/CLIP")
        with path.open("rb") as file:
            empty = not file.read(1)
    except FileNotFoundError:
        raise AudioError(f"{path} does not exist", "Check the name of the clip") from None
    except OSError as error:
        raise AudioError(f"{path} cannot be read: {error.strerror}", "Check its rights") from None
    if empty:
        raise AudioError(f"{path} is empty (0 bytes)", "Record it again")


def _import_soundfile() -> Any:
    try:
        import soundfile
    except ImportError:
        raise AudioError(
            "sound files need the package soundfile, which is not installed",
            "Run: pip install 'voxring[local]'",
        ) from None
    except OSError as error:  # the wheel of another platform: no libsndfile inside
        raise AudioError(f"libsndfile does not load: {error}", "Install libsndfile") from None
    return soundfile


def _open(soundfile: Any, path: Path) -> Any:
    remedy = f"Give {_FORMATS}, or convert it: ffmpeg -i {path.name} {path.stem}.converted.wav"
    if path.suffix.lower() == ".raw":  # soundfile takes the ending as an order
        raise AudioError(f"{path} is raw sound: its rate and width are not known", remedy)
    try:
        return soundfile.SoundFile(path)
    except soundfile.LibsndfileError:
        raise AudioError(f"{path} is not sound that can be read", remedy) from None


def _check_size(path: Path, rate: int, samples: int) -> None:
    if rate not in RATES:
        raise AudioError(
            f"{path} has {rate} samples per second, expected {RATES.start} to {RATES.stop - 1}",
            "Its header may be damaged: export it again",
        )
    if samples > LONGEST:
        raise AudioError(
            f"{path} has {samples} samples, expected at most {LONGEST}", "Cut it into shorter clips"
        )


def _read(soundfile: Any, file: Any) -> NDArray[np.float32]:
    """float32 [frames], mono: as much as can be decoded."""
    # NOTE: soundfile seeks after every read, and libmpg123 then has lost what the next frame of
    # an MP3 needs of the ones before: read in pieces, MP3 files have holes.
    size = -1 if file.format == "MP3" else _BLOCK
    blocks: list[NDArray[np.float32]] = []
    try:
        while (block := file.read(size, dtype="float32", always_2d=True)).size:
            blocks.append(downmix(block))
    except soundfile.LibsndfileError:
        pass  # a FLAC file that was cut off: "decoder lost sync"; the count tells the user
    return np.concatenate(blocks) if blocks else np.zeros(0, np.float32)


def _promised(path: Path, frames: int, kind: str) -> int:
    """How many frames the file should have, by its header."""
    if kind.startswith("WAV"):  # libsndfile reports what is there, not what the header says
        return max(frames, promised_frames(path) or 0)
    return frames


def _missing(present: int, promised: int, rate: int) -> str:
    return (
        f"the file is cut off: its header says {promised} frames ({promised / rate:.2f} s), "
        f"it has {present} ({present / rate:.2f} s)"
    )
