"""What the header of a WAV file promises, because libsndfile silently reads what is there."""

import struct
from pathlib import Path
from typing import BinaryIO

_UNKNOWN = (0, 0xFFFFFFFF)  # written by programs that stream: the length was not known yet


def promised_frames(path: Path) -> int | None:
    """How many frames the header of a WAV file announces; None if it does not say.

    Source: Microsoft/IBM "Multimedia Programming Interface 1.0" (RIFF, `fmt ` and `data` chunks).
    """
    with path.open("rb") as file:
        if file.read(4) != b"RIFF" or len(file.read(4)) < 4 or file.read(4) != b"WAVE":
            return None
        return _frames_of_chunks(file)


def _frames_of_chunks(file: BinaryIO) -> int | None:
    frame_bytes = 0
    while len(header := file.read(8)) == 8:
        name, size = struct.unpack("<4sI", header)
        if name == b"data":
            return size // frame_bytes if frame_bytes and size not in _UNKNOWN else None
        if name == b"fmt ":
            frame_bytes = _bytes_per_frame(file.read(16))
            size -= 16
        file.seek(size + size % 2, 1)  # chunks are padded to an even length
    return None


def _bytes_per_frame(fmt: bytes) -> int:
    """0 where a frame has no fixed size in bytes (ADPCM and other packed encodings)."""
    if len(fmt) < 16:
        return 0
    _tag, channels, _rate, _bytes_per_second, align, bits = struct.unpack("<HHIIHH", fmt)
    return int(align) if align * 8 == channels * bits else 0
