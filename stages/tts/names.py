"""English for what is written short: abbreviations, initials, e-mail addresses, URLs."""

# ruff: noqa: RUF001  (signs that look alike are what this file is about)

import re

_ABBREVIATIONS = {
    "adm": "Admiral",
    "approx": "approximately",
    "apr": "April",
    "aug": "August",
    "capt": "Captain",
    "cf": "compare",
    "col": "Colonel",
    "dec": "December",
    "dr": "Doctor",
    "e.g": "for example",
    "etc": "et cetera",
    "feb": "February",
    "fig": "figure",
    "figs": "figures",
    "gen": "General",
    "gov": "Governor",
    "hon": "Honorable",
    "i.e": "that is",
    "jan": "January",
    "jr": "Junior",
    "jul": "July",
    "jun": "June",
    "lt": "Lieutenant",
    "mr": "Mister",
    "mrs": "Missus",
    "ms": "Miss",
    "mt": "Mount",
    "nov": "November",
    "oct": "October",
    "ph.d": "P H D",
    "prof": "Professor",
    "rep": "Representative",
    "rev": "Reverend",
    "sen": "Senator",
    "sep": "September",
    "sept": "September",
    "sgt": "Sergeant",
    "sr": "Senior",
    "st": "Saint",
    "vol": "volume",
    "vs": "versus",
}
# Words of their own unless a number follows.
_BEFORE_NUMBERS = {"no": "number", "nos": "numbers", "p": "page", "pp": "pages", "ch": "chapter"}
SYMBOLS = {
    "&": "and",
    "+": "plus",
    "=": "equals",
    "@": "at",
    "%": "percent",
    "×": "times",
    "÷": "divided by",
    "<": "less than",
    ">": "greater than",
}
_HOST = r"(?:[\w-]+\.)+[A-Za-z]{2,}"
_EMAIL = re.compile(rf"[\w.+-]+@{_HOST}")
_URL = re.compile(rf"(?:https?://|ftp://)?(?:www\.)?({_HOST})(?::\d+)?(/[^\s?#]*)?(?:[?#]\S*)?")
_FILE = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]?")


def read_name(text: str) -> str | None:
    """What a word written short says; None: it is no such word.

    Args:
        text: without the punctuation around it, but for a dot that may belong to it.
    """
    name = text.removesuffix(".")
    if text.endswith(".") and (said := _ABBREVIATIONS.get(name.lower())):
        return said
    if name.lower() in ("e.g", "i.e", "ph.d"):
        return _ABBREVIATIONS[name.lower()]
    if _INITIALS.fullmatch(text):
        return " ".join(name.replace(".", "").upper())
    if text in SYMBOLS:
        return SYMBOLS[text]
    if _EMAIL.fullmatch(text):
        return _spell_dots(text.replace("@", " at ").replace("-", " dash "))
    if match := _URL.fullmatch(text):
        path = (match[2] or "").rstrip("/").replace("/", " slash ").replace("-", " ")
        return _spell_dots(match[1].replace("-", " dash ")) + _spell_dots(path)
    return _spell_dots(text) if _FILE.fullmatch(text) else None


def read_before_number(text: str) -> str | None:
    """The same of a word that is written short only before a number: "No. 5"."""
    return _BEFORE_NUMBERS.get(text.removesuffix(".").lower()) if text.endswith(".") else None


def _spell_dots(text: str) -> str:
    return text.replace(".", " dot ").replace("_", " ")
