"""English words of numbers, by num2words (LGPL, a package of its own)."""

import re

from num2words import num2words

NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_LONGEST = 36  # digits; a longer number is read digit by digit


def cardinal(text: str) -> str:
    """How many: `text` is written as `NUMBER`. Zeros before it are said: "agent 007"."""
    plain = text.replace(",", "")
    if len(plain) > _LONGEST or re.fullmatch(r"0\d+", plain):
        return digits(plain)
    words: str = num2words(plain)
    return words.replace(",", "")


def ordinal(text: str) -> str:
    """Which one: "21" is the twenty-first."""
    if len(text) > _LONGEST:
        return digits(text)
    words: str = num2words(int(text), to="ordinal")
    return words.replace(",", "")


def year(text: str) -> str:
    """Of four digits: "nineteen ninety"."""
    words: str = num2words(int(text), to="year")
    return words


def digits(text: str) -> str:
    """Digit by digit; all else in `text` is skipped."""
    return " ".join(DIGITS[int(char)] for char in text if char.isdecimal())
