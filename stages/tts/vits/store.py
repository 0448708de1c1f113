"""Split voices in the model cache, each made once."""

import logging
import tempfile
from pathlib import Path

from pipeline.errors import ModelError
from pipeline.models import Progress, cache_root
from pipeline.models.cache import need_room, storing
from pipeline.models.checksum import check, read_stamp, seal
from pipeline.models.voice import SPLIT_RECIPE, is_split, split_place
from pipeline.models.workspace import install, locked, workspace
from stages.tts.vits.cuts import NotCut
from stages.tts.vits.graphs import Shape, Style, VitsGraphs

_LOG = logging.getLogger(__name__)


def open_graphs(
    source: Path, symbols: int, style: Style, threads: int, progress: Progress
) -> VitsGraphs:
    """The graphs of a voice, split now if they were not before.

    Where the cache refuses them they are split anew at every start, with one warning.

    Args:
        source: the voice's .onnx file.
        symbols: how many phoneme ids it has.
        progress: told while it is split.

    Raises:
        NotCut: it is no VITS graph that we know, the package `onnx` is not installed, or there is
            no room for the parts anywhere.
        ModelError: the parts in the cache were changed.
    """
    try:
        place = split_once(source, symbols, progress)
    except ModelError as refused:
        _LOG.warning("%s is split anew at every start: %s", source.name, refused)
        progress(f"splitting the voice {source.stem}", None)
        return _open_aside(source, symbols, style, threads)
    remedy = f"Remove {place}"
    check(place, read_stamp(place).model_files, remedy=remedy, progress=progress)
    return VitsGraphs.open(place, Shape.read(place), style, threads)


def split_once(source: Path, symbols: int, progress: Progress) -> Path:
    """The folder of a voice's parts, made now if it is not there.

    Raises:
        NotCut: as `open_graphs`.
        ModelError: the cache cannot be written.
    """
    place, root = split_place(source), cache_root()
    if is_split(place):
        return place

    def waiting() -> None:
        progress(f"waiting: another process splits {source.stem}", None)

    with storing(root), locked(root / "locks" / f"voice-{place.name}", waiting):
        if is_split(place):  # another process has just done it
            return place
        progress(f"splitting the voice {source.stem}", None)
        with workspace(root, place.name) as space:
            need_room(root, 2 * source.stat().st_size, f"splitting {source.stem}")
            made = space.folder / "voice"
            made.mkdir()
            _split(source, made, symbols)
            seal(made, [source], SPLIT_RECIPE)
            install(made, place, space)
    return place


def _open_aside(source: Path, symbols: int, style: Style, threads: int) -> VitsGraphs:
    """Split into a folder that is gone once the graphs are in memory."""
    try:
        with tempfile.TemporaryDirectory(prefix="voxring-") as name:
            _split(source, Path(name), symbols)
            return VitsGraphs.open(Path(name), Shape.read(Path(name)), style, threads)
    except OSError as error:
        raise NotCut(f"there is no room for its parts ({error})") from error


def _split(source: Path, folder: Path, symbols: int) -> None:
    try:
        from stages.tts.vits.split import split
    except ImportError as error:
        raise NotCut(f"splitting a voice needs the package onnx ({error})") from error
    split(source, folder, symbols)
