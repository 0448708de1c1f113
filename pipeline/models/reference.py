"""What a model's name in the configuration means."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pipeline.errors import ModelError

_PREFIX = "bundle:"
_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)


class Source(Enum):
    """Where a model comes from."""

    BUNDLE = "bundle"
    HUB = "hub"
    PATH = "path"


@dataclass(frozen=True)
class Reference:
    """A model's name, understood."""

    source: Source
    name: str  # the bundle's name, the hub id, or the path as it was written


def parse(text: str, bundles: Sequence[str]) -> Reference:
    """Return what `text` refers to.

    A known bundle's name means the bundle even where a file of that name exists, so that the
    meaning does not change with the current folder; write `./NAME` for the file.

    Args:
        text: `bundle:NAME`, a known bundle's NAME, a path that exists, or a hub id `org/name`.
        bundles: the names of the known bundles.

    Raises:
        ModelError: none of these; suggests the nearest bundle.
    """
    name = text.removeprefix(_PREFIX)
    if name in bundles:
        return Reference(Source.BUNDLE, name)
    if name == text and text and Path(text).expanduser().exists():
        return Reference(Source.PATH, text)
    if name == text and _HUB_ID.fullmatch(text):
        return Reference(Source.HUB, text)
    raise _unknown(text, name, bundles)


def _unknown(text: str, name: str, bundles: Sequence[str]) -> ModelError:
    near = difflib.get_close_matches(name, bundles, n=1)
    if near:
        remedy = f"Did you mean '{_PREFIX}{near[0]}'?"
    else:
        remedy = f"Known bundles: {', '.join(bundles)}"
    expected = (
        "a known bundle" if name != text else "a bundle, an existing path or a hub id org/name"
    )
    return ModelError(f"no model '{text}': expected {expected}", remedy)
