"""What of a word is said: markup, emoji and unknown symbols skipped, letters and punctuation kept.

Rule: a symbol that is neither a letter, a digit nor punctuation with a name or a rest of its own is
skipped.
"""

# ruff: noqa: RUF001  (the punctuation of several languages is what this file is about)

import re
import unicodedata

# Inside a word they stand for a blank, around one for nothing.
_EMPHASIS = re.compile(r"\*\*|__|~~|\$\$|(?<!\w)[*_\[\]{}]+|[*_\[\]{}]+(?!\w)")
_SPELLED_SYMBOLS = frozenset("$€£¥¢%&+=@°/§")
_RESTING_SYMBOLS = frozenset(".,;:?!…'\"’‘“”()-–—。！？、，；：¿¡«»")
_IPA = range(0x250, 0x300)  # phonetic letters and marks: written sound, which is no word


def say_word(word: str) -> str:
    """What is said of one word, a blank before it if it had white space there."""
    said = " ".join("".join(map(_kept, _EMPHASIS.sub("", word))).split())
    return f" {said}" if said and word[0].isspace() else said


def _kept(char: str) -> str:
    if char in _SPELLED_SYMBOLS or char in _RESTING_SYMBOLS:
        return char
    if ord(char) in _IPA:
        return ""
    category = unicodedata.category(char)
    if category[0] in "LN" or category in ("Mn", "Mc"):
        return "" if "\ufe00" <= char <= "\ufe0f" else char  # a variant of an emoji
    # Joiners and modifiers are inside one symbol; all else stood between two words.
    return "" if category in ("Cf", "Sk", "Me") else " "
