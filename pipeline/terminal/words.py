"""Texts of people, models and programs, made safe to be shown: pure."""

import unicodedata

UNSHOWN = ("Cc", "Cs")  # a terminal obeys control characters; half a pair cannot be written
JOINER = "\u200d"  # of emoji; rich loses count of a line that has one


def clean(text: str) -> str:
    """One line of what can be seen; a model that writes escape sequences commands no terminal."""
    spaced = " ".join(text.split())
    return "".join(c for c in spaced if unicodedata.category(c) not in UNSHOWN and c != JOINER)
