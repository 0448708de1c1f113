"""Split voices in the model cache, each made once."""

import hashlib
from pathlib import Path

from pipeline.models import Progress, cache_root
from pipeline.models.cache import need_room, storing
from pipeline.models.checksum import check, is_from, read_stamp, seal
from pipeline.models.workspace import install, locked, workspace
from stages.tts.vits.cuts import NotCut
from stages.tts.vits.graphs import Shape, Style, VitsGraphs

RECIPE = "1"  # changes whenever the rules of `split` do


def open_graphs(
    source: Path, symbols: int, style: Style, threads: int, progress: Progress
) -> VitsGraphs:
    """The graphs of a voice, split now if they were not before.

    Args:
        source: the voice's .onnx file.
        symbols: how many phoneme ids it has.
        progress: told while it is split.

    Raises:
        NotCut: it is no VITS graph that we know, or the package `onnx` is not installed.
        ModelError: the cache cannot be written, or was changed.
    """
    place = cache_root() / "voices" / f"{source.stem}-{_digest(source)}"
    if not is_from(place, [source], RECIPE):
        _split(source, place, symbols, progress)
    remedy = f"Remove {place}"
    check(place, read_stamp(place).model_files, remedy=remedy, progress=progress)
    return VitsGraphs.open(place, Shape.read(place), style, threads)


def _digest(source: Path) -> str:
    """Of its path: two voices may have one name."""
    return hashlib.sha256(bytes(source.absolute())).hexdigest()[:12]


def _split(source: Path, place: Path, symbols: int, progress: Progress) -> None:
    try:
        from stages.tts.vits.split import split
    except ImportError as error:
        raise NotCut(f"splitting a voice needs the package onnx ({error})") from error
    root = cache_root()

    def waiting() -> None:
        progress(f"waiting: another process splits {source.stem}", None)

    with storing(root), locked(root / "locks" / f"voice-{place.name}", waiting):
        if is_from(place, [source], RECIPE):  # another process has just done it
            return
        progress(f"splitting the voice {source.stem}", None)
        with workspace(root, place.name) as space:
            need_room(root, 2 * source.stat().st_size, f"splitting {source.stem}")
            made = space.folder / "voice"
            made.mkdir()
            split(source, made, symbols)
            seal(made, [source], RECIPE)
            install(made, place, space)
