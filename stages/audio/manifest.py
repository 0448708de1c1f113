"""What is known about a clip: its entry in the `manifest.toml` beside it."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import AudioError

NAME = "manifest.toml"


@dataclass(frozen=True)
class ClipNote:
    """One `[[clip]]` table.

    Attributes:
        file: name of the clip in the same folder.
        text: what is said, as spoken; empty if nothing is.
        speech_end_s: seconds from the clip's start to the end of its last voiced sample.
    """

    file: str
    text: str | None = None
    speech_end_s: float | None = None


def find_note(clip: Path) -> ClipNote | None:
    """The note on a clip, or None where there is no manifest or no entry for it.

    Raises:
        AudioError: the manifest is not TOML, or a value of the entry has the wrong type.
    """
    path = clip.parent / NAME
    try:
        with path.open("rb") as file:
            entries = tomllib.load(file).get("clip", [])
    except FileNotFoundError:
        return None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AudioError(f"{path} is not valid TOML: {error}", "Mend or remove it") from None
    except OSError as error:
        raise AudioError(f"{path} cannot be read: {error.strerror}", "Check its rights") from None
    if not isinstance(entries, list):
        raise AudioError(f"{path}: clip is {_kind(entries)}", "Write its entries as [[clip]]")
    for entry in entries:
        if isinstance(entry, dict) and entry.get("file") == clip.name:
            return _note(path, entry)
    return None


def _note(path: Path, entry: dict[str, object]) -> ClipNote:
    text, end = entry.get("text"), entry.get("speech_end_s")
    where = f"{path}: {entry['file']}:"
    if text is not None and not isinstance(text, str):
        raise AudioError(f"{where} text is {_kind(text)}, expected a string")
    if end is None:
        return ClipNote(str(entry["file"]), text)
    if not isinstance(end, int | float) or isinstance(end, bool) or not 0 < end < float("inf"):
        raise AudioError(f"{where} speech_end_s is {end!r}, expected seconds above zero")
    return ClipNote(str(entry["file"]), text, float(end))


def _kind(value: object) -> str:
    return f"of type {type(value).__name__}"
