"""Values of a client's message, checked: pure.

Each function gives the value of a key, or refuses it by the key's whole name.
"""

from collections.abc import Collection, Mapping
from typing import Any

from pipeline.endpoint.realtime.problem import RefusedError, invalid, missing

Object = Mapping[str, Any]
LONGEST_TEXT = 32_000  # bytes of UTF-8
LONGEST_ID = 64


def only(source: Object, known: Collection[str], prefix: str) -> None:
    """Refuse keys that the protocol does not have here."""
    for key in source:
        if key not in known:
            name = f"{prefix}{str(key)[:LONGEST_ID]}"
            raise RefusedError(f"Unknown parameter: '{name}'.", "unknown_parameter", name)


def text(source: Object, key: str, prefix: str = "", longest: int = LONGEST_TEXT) -> str:
    """A string that must be there; half of a surrogate pair is no character."""
    value = source.get(key)
    if value is None:
        raise missing(prefix + key)
    if not isinstance(value, str):
        raise invalid(prefix + key, value, "a string")
    clean = value.encode(errors="replace")
    if len(clean) > longest:
        raise RefusedError(
            f"'{prefix}{key}' has {len(clean)} bytes, at most {longest} are allowed.",
            "string_above_max_length",
            prefix + key,
        )
    return clean.decode()


def maybe_text(source: Object, key: str, prefix: str = "", longest: int = LONGEST_TEXT) -> str:
    """The same; "" if it is not there."""
    return "" if source.get(key) is None else text(source, key, prefix, longest)


def identifier(source: Object, key: str, prefix: str = "") -> str | None:
    """A name that a client gave; None: none."""
    if source.get(key) is None:
        return None
    name = text(source, key, prefix, LONGEST_ID)
    if not name:
        raise invalid(prefix + key, name, "1 to 64 bytes")
    return name


def choice(source: Object, key: str, prefix: str, known: Collection[str]) -> str:
    """One of a few words."""
    value = source.get(key)
    if value is None:
        raise missing(prefix + key)
    if not isinstance(value, str) or value not in known:
        raise invalid(prefix + key, value, " or ".join(f"'{word}'" for word in known))
    return value


def number(
    source: Object, key: str, prefix: str, least: float, most: float, default: float
) -> float:
    """A number between two others."""
    value = source.get(key)
    if value is None:
        return default
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        raise invalid(prefix + key, value, f"a number from {least:g} to {most:g}")
    return float(value)


def whole(source: Object, key: str, prefix: str, least: int, most: int, default: int) -> int:
    """A whole number between two others."""
    value = source.get(key)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise invalid(prefix + key, value, f"a whole number from {least} to {most}")
    return value


def switch(source: Object, key: str, prefix: str, default: bool) -> bool:
    """Yes or no."""
    value = source.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise invalid(prefix + key, value, "true or false")
    return value


def table(source: Object, key: str, prefix: str = "") -> Object:
    """An object; empty if it is not there."""
    value = source.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid(prefix + key, value, "an object")
    return value


def sequence(source: Object, key: str, prefix: str = "") -> list[Any]:
    """An array; empty if it is not there."""
    value = source.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise invalid(prefix + key, value, "an array")
    return value
