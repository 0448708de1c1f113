"""From a model's name to its files on disk: fetched, checked and converted as needed."""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path

from pipeline.errors import ModelError
from pipeline.models import gguf, onnx_build
from pipeline.models.bundle import Bundle
from pipeline.models.cache import cache_root, storing
from pipeline.models.catalogue import catalogue
from pipeline.models.checksum import check, is_from, read_stamp, seal
from pipeline.models.fetch import bundle_folder, fetch_bundle
from pipeline.models.hub import cached_hub, fetch_hub, verify_hub
from pipeline.models.onnx_build import Quantization
from pipeline.models.progress import Progress, silent
from pipeline.models.reference import Reference, Source, parse
from pipeline.models.voice import split_place, voices_in
from pipeline.models.workspace import Workspace, install, locked, workspace


class State(Enum):
    """How a bundle is in the cache."""

    MISSING = "missing"
    READY = "ready"
    DAMAGED = "damaged"


def check_name(reference: str) -> None:
    """Check that a name means a model at all; nothing is fetched or opened.

    Raises:
        ModelError: no bundle, path or hub id has this name; suggests the nearest bundle.
    """
    _parse(reference)


def resolve(reference: str, progress: Progress = silent) -> Path:
    """Return the folder or file of a model, fetching it on first use.

    With a warm cache there is no network call and no import of a model library; bundle files are
    checked against their pins (see `checksum`).

    Args:
        reference: `bundle:NAME`, hub id or path.
        progress: told while something takes time.

    Raises:
        ModelError: unknown name, cannot be fetched, wrong checksum.
    """
    match _parse(reference):
        case Reference(Source.PATH, name):
            return Path(name).expanduser().absolute()
        case Reference(Source.HUB, name):
            here = cached_hub(name, cache_root())
            return here or fetch_hub(name, cache_root(), progress, force=False)
        case Reference(_, name):
            return _bundle_files(_bundle(name), progress)


def is_here(reference: str) -> bool:
    """Whether a model is in the cache, or at its path; nothing is fetched or checked.

    Raises:
        ModelError: no model can be called that.
    """
    place = _present(_parse(reference))
    return place is not None and place.exists()


def prepare_llm(reference: str, progress: Progress = silent) -> Path:
    """Return a transformers model folder for an LLM, converting GGUF weights on first use.

    Args:
        reference: as for `resolve`; a folder of safetensors, a GGUF file, or a folder with one.
        progress: told while something takes time.

    Raises:
        ModelError: as `resolve`; no model in it; cannot be converted.
    """
    source = resolve(reference, progress)
    weights = _gguf_in(source)
    if weights is None:
        if not (source / "config.json").is_file():
            raise ModelError(
                f"{source} holds no language model: expected a config.json or one .gguf file"
            )
        return source
    return _made_once(
        _conversion(reference, weights),
        [weights],
        gguf.RECIPE,
        lambda made, _: gguf.convert(weights, made, progress),
        remedy=_refetch(reference),
        progress=progress,
    )


def prepare_onnx(
    reference: str,
    quantization: Quantization,
    progress: Progress = silent,
    *,
    mapped: bool = False,
) -> Path:
    """Return the folder of an LLM's model for ONNX Runtime, building it on first use.

    It holds tokenizer and chat template too.

    Args:
        reference: as for `prepare_llm`.
        quantization: of the weights.
        progress: told while something takes time.
        mapped: the weights are packed for this processor, to be mapped from the file.

    Raises:
        ModelError: as `prepare_llm`; it cannot be built.
    """
    folder = prepare_llm(reference, progress)
    place = _builds(reference) / (f"{quantization}-mapped" if mapped else quantization)
    text = f"building {place.parent.name} for ONNX Runtime (once)"

    def build(made: Path, space: Workspace) -> None:
        onnx_build.build(
            folder, made, quantization, space, lambda share: progress(text, share), mapped=mapped
        )

    return _made_once(
        place,
        onnx_build.sources(folder),
        onnx_build.recipe(quantization, mapped=mapped, kept=read_stamp(place).recipe),
        build,
        remedy=_refetch(reference),
        progress=progress,
    )


def fetch(reference: str, progress: Progress = silent, *, force: bool = False) -> Path:
    """Bring a model into the cache; with `force` again, and forget what was converted from it.

    Raises:
        ModelError: as `resolve`.
    """
    if not force:
        return resolve(reference, progress)
    match _parse(reference):
        case Reference(Source.PATH, _):
            place = resolve(reference)
        case Reference(Source.HUB, name):
            place = fetch_hub(name, cache_root(), progress, force=True)
        case Reference(_, name):
            place = fetch_bundle(_bundle(name), cache_root(), progress, force=True)
    _forget(reference, place)
    return place


def verify(reference: str, progress: Progress = silent) -> None:
    """Hash every file of a model in the cache, and of what was made of it; fetches nothing.

    A path has no checksums: only what was made of it is checked.

    Raises:
        ModelError: not in the cache, or a file differs; names it, both digests and the remedy.
    """
    parsed = _parse(reference)
    place = _present(parsed)
    if place is None:
        raise ModelError(
            f"model '{reference}' is not in the cache", f"Run: voxring models fetch {reference}"
        )
    remedy = _refetch(reference)
    if parsed.source is Source.BUNDLE:
        check(place, _bundle(parsed.name).files, remedy=remedy, progress=progress, full=True)
    elif parsed.source is Source.HUB:
        verify_hub(parsed.name, place, progress)
    weights = _gguf_in(place)
    made = [*sorted(_builds(reference).glob("*")), *map(split_place, voices_in(place))]
    if weights is not None:
        made.append(_conversion(reference, weights))
    for folder in filter(Path.is_dir, made):
        files = read_stamp(folder).model_files
        check(folder, files, remedy=remedy, progress=progress, full=True)


def state(bundle: Bundle, progress: Progress = silent) -> State:
    """Return how a bundle is in the cache, by the same check as at every start."""
    folder = bundle_folder(cache_root(), bundle)
    if not folder.is_dir():
        return State.MISSING
    try:
        check(folder, bundle.files, remedy="", progress=progress)
    except ModelError:
        return State.DAMAGED
    return State.READY


def _parse(reference: str) -> Reference:
    return parse(reference, [bundle.name for bundle in catalogue()])


def _bundle(name: str) -> Bundle:
    return next(bundle for bundle in catalogue() if bundle.name == name)


def _refetch(reference: str) -> str:
    return f"Run: voxring models fetch {reference} --force"


def _bundle_files(bundle: Bundle, progress: Progress) -> Path:
    place = bundle_folder(cache_root(), bundle)
    if not place.is_dir():
        fetch_bundle(bundle, cache_root(), progress, force=False)
    check(place, bundle.files, remedy=_refetch(bundle.name), progress=progress)
    return place


def _present(parsed: Reference) -> Path | None:
    if parsed.source is Source.HUB:
        return cached_hub(parsed.name, cache_root())
    if parsed.source is Source.PATH:
        return Path(parsed.name).expanduser().absolute()
    place = bundle_folder(cache_root(), _bundle(parsed.name))
    return place if place.is_dir() else None


def _gguf_in(place: Path) -> Path | None:
    """Return the GGUF file that `place` is or holds; None where there is a config to load."""
    if place.is_file():
        return place
    found = sorted(place.glob("*.gguf"))
    if not found or (place / "config.json").exists():
        return None
    if len(found) > 1:
        raise ModelError(
            f"{place} holds {len(found)} GGUF files, expected one",
            f"Name one of them: {', '.join(path.name for path in found[:5])}",
        )
    return found[0]


def _conversion(reference: str, weights: Path) -> Path:
    """Return where the conversion of `weights` is, or would be."""
    return cache_root() / "llm" / _called(reference, weights)


def _builds(reference: str) -> Path:
    """Return where the builds of a model for ONNX Runtime are, each in a folder of its own."""
    return cache_root() / "onnx" / _called(reference, Path(reference).expanduser())


def _called(reference: str, path: Path) -> str:
    """Return a name for what is made of a model: of its own, or of the path where it lies."""
    parsed = _parse(reference)
    if parsed.source is not Source.PATH:
        return parsed.name.replace("/", "--")
    return f"{path.stem}-{hashlib.sha256(bytes(path.absolute())).hexdigest()[:12]}"


def _made_once(
    place: Path,
    sources: Sequence[Path],
    recipe: str,
    make: Callable[[Path, Workspace], None],
    *,
    remedy: str,
    progress: Progress,
) -> Path:
    """Return a folder of what is made from other files: as it is in the cache, or made now.

    Args:
        place: where it is, or will be.
        sources: what it is made from.
        recipe: the version of how.
        make: fills an empty folder.
        remedy: for a damaged one.
        progress: told while something takes time.
    """
    if is_from(place, sources, recipe):
        check(place, read_stamp(place).model_files, remedy=remedy, progress=progress)
        return place
    root = cache_root()
    name = "-".join(place.relative_to(root).parts)

    def waiting() -> None:
        progress(f"waiting: another process makes {name}", None)

    with storing(root), locked(root / "locks" / name, waiting):
        if is_from(place, sources, recipe):  # another process has just made it
            return place
        with workspace(root, name) as space:
            made = space.folder / place.name
            made.mkdir()
            make(made, space)
            seal(made, sources, recipe)
            install(made, place, space)
    return place


def _forget(reference: str, place: Path) -> None:
    if (weights := _gguf_in(place)) is not None:
        shutil.rmtree(_conversion(reference, weights), ignore_errors=True)
    for voice in voices_in(place):
        shutil.rmtree(split_place(voice), ignore_errors=True)
    shutil.rmtree(_builds(reference), ignore_errors=True)
