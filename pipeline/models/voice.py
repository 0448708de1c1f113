"""Where a Piper voice is kept in parts: by what its file holds, wherever that lies."""

from pathlib import Path

from pipeline.models.cache import cache_root
from pipeline.models.checksum import known_sha256, read_stamp

SPLIT_RECIPE = "1"  # changes whenever the rules of `stages.tts.vits.split` do


def split_place(source: Path) -> Path:
    """Return the folder of the parts of `source`, an .onnx file, whether it is there or not."""
    return cache_root() / "voices" / known_sha256(source)[:32]


def is_split(place: Path) -> bool:
    """Return whether the parts are there, made by the rules of today."""
    return read_stamp(place).recipe == SPLIT_RECIPE


def voices_in(place: Path) -> list[Path]:
    """Return the .onnx files of the Piper voices that `place` is or holds."""
    found = [place] if place.suffix == ".onnx" else sorted(place.glob("*.onnx"))
    return [path for path in found if path.with_name(f"{path.name}.json").is_file()]
