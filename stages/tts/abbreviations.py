"""Abbreviations of English: what each says, and what its dot means.

Several are words too ("one more rep.", "a ripe fig.", "no."): those are read out only where they
stand as an abbreviation does, a title in capitals, a reference before a number.
"""

import re

# Before a name, written with a capital: the dot ends nothing.
_TITLES = {
    "Adm": "Admiral",
    "Capt": "Captain",
    "Col": "Colonel",
    "Dr": "Doctor",
    "Fr": "Father",
    "Gen": "General",
    "Gov": "Governor",
    "Hon": "Honorable",
    "Lt": "Lieutenant",
    "Messrs": "Messieurs",
    "Mr": "Mister",
    "Mrs": "Missus",
    "Ms": "Miss",
    "Mt": "Mount",
    "Pres": "President",
    "Prof": "Professor",
    "Rep": "Representative",
    "Rev": "Reverend",
    "Sen": "Senator",
    "Sgt": "Sergeant",
    "St": "Saint",
}
# Something always follows.
_LEADING = {
    "approx": "approximately",
    "cf": "compare",
    "e.g": "for example",
    "i.e": "that is",
    "viz": "namely",
    "vs": "versus",
}
# Words of their own unless a number follows.
NUMBERED = {
    "art": "article",
    "ca": "circa",
    "ch": "chapter",
    "eq": "equation",
    "fig": "figure",
    "figs": "figures",
    "no": "number",
    "nos": "numbers",
    "op": "opus",
    "p": "page",
    "pp": "pages",
    "sec": "section",
    "ver": "version",
    "vol": "volume",
    "vols": "volumes",
}
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
SHORT_MONTHS = {month[:3]: month for month in MONTHS} | {"Sept": "September"}
# They may end a sentence, or stand inside.
_TRAILING = {"etc": "et cetera", "Jr": "Junior", "Sr": "Senior", "Ph.D": "P H D"}
_STREETS = {"St": "Street", "Ave": "Avenue", "Blvd": "Boulevard", "Rd": "Road"}
# Saints stand behind these, not streets.
_BEFORE_SAINTS = frozenset({"East", "Fort", "Lake", "Mount", "Mt", "Port"})
# Rarely the end: the next word decides.
_INSIDE_NAMES = frozenset({"co", "corp", "dept", "inc", "jr", "ltd", "sr"})
_SENTENCE_OPENERS = frozenset(
    re.findall(
        r"\w+",
        """
        After All Also And Another Are As At Both But By Can Did Do Does Each For From Have He Here
        How However If In Instead Is It Its Let Many Most My No Not Now On One Or Our Please She So
        Some Such That The Their Then There These They This Those To Was We Were What When Where
        Which While Who Why With Would Yes You Your
        """,
    )
)
_DOTTED = re.compile(r"(?:[^\W\d]{1,2}\.)+[^\W\d]{1,2}")  # U.S, Ph.D, a.m
_HALF_DAY = re.compile(r".*[ap]\.m", re.IGNORECASE)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")


def is_short(core: str) -> bool:
    """Whether a word with a dot may be an abbreviation."""
    tables = (_TITLES, _TRAILING, _STREETS, SHORT_MONTHS)
    name = core.lower()
    if name in _LEADING or name in NUMBERED or any(core in table for table in tables):
        return True
    return (
        _DOTTED.fullmatch(core) is not None
        or _HALF_DAY.fullmatch(core) is not None
        or (len(core) == 1 and core.isalpha())
    )


def read_abbreviation(core: str, following: str, *, before: str = "") -> str | None:
    """What a word with a dot says; None: it is no abbreviation, or only before a number.

    Args:
        core: without its last dot.
        following: the next word, or how it begins; empty if there is none in its sentence.
        before: the word before it; empty if that is the first of its sentence, or there is none.
    """
    if is_street(core, following, before=before):
        return _STREETS[core]
    said = _LEADING.get(core.lower()) or _TITLES.get(core)
    return said or _TRAILING.get(core) or SHORT_MONTHS.get(core)


def is_street(core: str, following: str, *, before: str = "") -> bool:
    """Whether "St" is a street and no saint: behind a name or a number, or before no name."""
    if core not in _STREETS or before in _BEFORE_SAINTS:
        return False
    is_behind = before[:1].isupper() or _ORDINAL.fullmatch(before) is not None
    return is_behind or core not in _TITLES or not following[:1].isupper()


def dot_ends(core: str, following: str, *, before: str = "", opens: bool) -> bool | None:
    """Whether a word's dot ends its sentence, if a space and then `following` come.

    Args:
        core: the word without its last dot and what surrounds it.
        following: the next character that is not a space.
        before: see `read_abbreviation`.
        opens: the word is the first of its sentence.

    Returns:
        None: the next word tells, see `opens_sentence`.
    """
    name = core.lower()
    if following.islower() or name in _LEADING:
        return False
    if is_street(core, following, before=before):
        return True
    if core in _TITLES:
        return False
    if name in NUMBERED or core in SHORT_MONTHS:
        return not following.isdigit()
    if core.isdigit():
        return not opens  # "1." that opens a list item
    if len(core) == 1:
        return None if core.isalpha() and core != "I" else True  # an initial: J. Smith
    if _HALF_DAY.fullmatch(core):
        return True
    return None if name in _INSIDE_NAMES or _DOTTED.fullmatch(core) else True


def opens_sentence(word: str) -> bool:
    """Whether a word that follows a doubtful dot begins a sentence; names seldom look so."""
    match = re.search(r"[^\W\d]+", word)
    return match is not None and match[0] in _SENTENCE_OPENERS
