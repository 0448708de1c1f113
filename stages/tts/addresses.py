"""English for what is put together of letters and signs: initials, e-mail, URLs, files, handles."""

# ruff: noqa: RUF001  (signs that look alike are what this file is about)

import re

_HOST = r"(?:[\w-]+\.)+[A-Za-z]{2,}"
_EMAIL = re.compile(rf"<?([\w.+-]+@{_HOST})>?")
_URL = re.compile(
    rf"<?(?:https?://|ftp://)?(?:www\.)?({_HOST})(?::\d+)?(/[^\s?#>]*)?(?:[?#][^\s>]*)?>?"
)
_FILE = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]?")
_HANDLE = re.compile(r"@([A-Za-z_][\w.-]*)")
_CHOICE = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?(?:/[^\W_]+(?:['’][^\W\d_]+)?)+")
_WITH = {"w/": "with", "w/o": "without", "C#": "C sharp", "F#": "F sharp"}


def read_address(text: str) -> str | None:
    """What such a word says; None: it is none.

    Args:
        text: without the punctuation around it, but for a dot that may belong to it.
    """
    if said := _WITH.get(text):
        return said
    if _INITIALS.fullmatch(text):
        return " ".join(text.replace(".", "").upper())
    if match := _EMAIL.fullmatch(text):
        return _spell_dots(match[1].replace("@", " at ").replace("-", " dash "))
    if match := _URL.fullmatch(text):
        path = (match[2] or "").rstrip("/").replace("/", " slash ").replace("-", " ")
        return _spell_dots(match[1].replace("-", " dash ")) + _spell_dots(path)
    if match := _HANDLE.fullmatch(text):
        return f"at {_spell_dots(match[1])}"
    if _CHOICE.fullmatch(text):
        return text.replace("/", " ")  # and/or
    return _spell_dots(text) if _FILE.fullmatch(text) else None


def _spell_dots(text: str) -> str:
    return text.replace(".", " dot ").replace("_", " ")
