"""English for formulas: "2^10", "x = 5", "10 - 3".

A sign that stands alone is one of arithmetic only between two operands: "10 - 3" has a minus, "the
city - it is" has a rest.
"""

# ruff: noqa: RUF001  (signs that look alike are what this file is about)

import re

from stages.tts.numerals import NUMBER, cardinal

# Said wherever they stand alone.
SYMBOLS = {
    "&": "and",
    "+": "plus",
    "=": "equals",
    "@": "at",
    "%": "percent",
    "×": "times",
    "÷": "divided by",
    "±": "plus or minus",
    "−": "minus",
    "≤": "at most",
    "≥": "at least",
    "≈": "is about",
    "≠": "is not equal to",
}
# Said between two operands; elsewhere they are rests, bullets or quotations.
_OPERATORS = {
    "-": "minus",
    "–": "to",
    "*": "times",
    "x": "times",
    "/": "divided by",
    "^": "to the power of",
    "<": "is less than",
    ">": "is greater than",
    "<=": "is at most",
    ">=": "is at least",
    "==": "equals",
    "!=": "is not equal to",
    "≤": "is at most",
    "≥": "is at least",
}
_COMPARISONS = ("<", ">", "<=", ">=", "≤", "≥")
# Before a number, without a blank.
SIGNS = {
    "-": "minus",
    "−": "minus",
    "+": "plus",
    "±": "plus or minus",
    "~": "about",
    "≈": "about",
    "<": "less than",
    ">": "more than",
    "≤": "at most",
    "≥": "at least",
    "√": "the square root of",
}
_POWERS = {"2": "squared", "3": "cubed"}

_SUPERSCRIPT = re.compile(r"[⁻⁰¹²³⁴-⁹]+")
_PLAIN_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
# A number, a letter or three, or both: 10, x, mc, 2x. Then its power.
_FACTOR = rf"(?:{NUMBER}%?[A-Za-zα-ωΑ-Ω]?|{NUMBER}?[A-Za-zα-ωΑ-Ω]{{1,3}})(?:\^[-−]?\w{{1,3}})?"
_TERM = re.compile(rf"([-−]?)({NUMBER})?(%?)([A-Za-zα-ωΑ-Ω]*)(?:\^([-−]?)(\w+))?")
_GLUE = r"<=|>=|==|!=|[-+*/=<>×÷−≤≥≈≠±]"
_OPERAND_PART = rf"[-−]?\(*{_FACTOR}\)*"
_FORMULA = re.compile(rf"{_OPERAND_PART}(?:(?:{_GLUE}){_OPERAND_PART})*")
_PIECE = re.compile(rf"(?P<sign>{_GLUE})|{_FACTOR}")
_RAISED = re.compile(r"\w+\^[-−]?\w+")
# What makes more than a range, a compound or a path of it.
_CERTAIN = re.compile(r"[+*=<>×÷−≤≥≈≠±^]")
_OPERAND = re.compile(r"[-−±]?[$€£]?\d.*|[A-Za-zα-ωΑ-Ω]|.+\^.+")
_NUMERIC = re.compile(r"[-−]?[$€£]?[\d.,]+%?")


def is_operator(text: str) -> bool:
    """Whether a word may be a sign of arithmetic."""
    return text in _OPERATORS or text in SYMBOLS


def is_doubtful(text: str, before: str) -> bool:
    """Whether what a sign says behind a word depends on the next one."""
    return text in _OPERATORS and (is_operand(before) or text in _COMPARISONS)


def is_operand(text: str) -> bool:
    """Whether signs of arithmetic may stand before and behind a word."""
    return _OPERAND.fullmatch(with_powers(text)) is not None


def read_operator(text: str, one: str, other: str, *, goes_on: bool) -> str | None:
    """What a sign that stands alone between two words says; None: it is none there.

    Args:
        text: the sign.
        one: the word before it.
        other: the word behind it.
        goes_on: another sign stands before `one`.
    """
    compares = text in _COMPARISONS and _NUMERIC.fullmatch(other)
    if text not in _OPERATORS or not (compares or (is_operand(one) and is_operand(other))):
        return None
    has_digit = any(map(str.isdigit, one + other))
    if not has_digit and text in ("-", "–", "x", "/"):
        return None  # "vitamin C - D"
    rises = one.isdecimal() and other.isdecimal() and int(one) < int(other)
    return "to" if text == "-" and rises and not goes_on else _OPERATORS[text]


def read_formula(text: str) -> str | None:
    """What a word made of operands and signs says; None: it is no formula."""
    plain = with_powers(text)
    if not _FORMULA.fullmatch(plain) or not _CERTAIN.search(plain):
        return None
    if "=" not in plain and "^" not in plain and not any(map(str.isdigit, plain)):
        return None
    said, after_operand = [], False
    for piece in _PIECE.finditer(plain):
        if sign := piece["sign"]:
            said.append(_read_sign(sign) if after_operand else SIGNS.get(sign, sign))
        else:
            said.append(read_term(piece[0]) or piece[0])
        after_operand = not sign
    return " ".join(said)


def read_term(text: str) -> str | None:
    """One operand with letters: "2x" has two x, not two times."""
    match = _TERM.fullmatch(with_powers(text))
    if not match:
        return None
    sign, number, percent, letters, power_sign, power = match.groups()
    said = ["minus"] if sign else []
    said += [cardinal(number)] if number else []
    said += ["percent"] if percent else []
    said += [_spell(letters, apart=bool(number))] if letters else []
    if power:
        said.append(_read_power(power_sign, power))
    return " ".join(said)


def read_powers(text: str) -> str:
    """Any word with the powers in it read out: "O(n^2)"."""
    return _RAISED.sub(lambda match: read_term(match[0]) or match[0], with_powers(text))


def with_powers(text: str) -> str:
    """The same with raised digits behind a circumflex: "x²" is "x^2"."""
    return _SUPERSCRIPT.sub(lambda match: "^" + match[0].translate(_PLAIN_DIGITS), text)


def _read_sign(sign: str) -> str:
    return _OPERATORS.get(sign) or SYMBOLS[sign]


def _read_power(sign: str, power: str) -> str:
    if not sign and power in _POWERS:
        return _POWERS[power]
    said = cardinal(power) if power.isdecimal() else " ".join(power)
    return f"to the power of {'minus ' if sign else ''}{said}"


def _spell(letters: str, *, apart: bool) -> str:
    """Letters, one by one unless they are a word like "sin"."""
    is_word = re.search("[aeiou]", letters) and len(letters) > 1
    said = letters if is_word and not apart else " ".join(letters)
    return re.sub(r"\ba\b", "A", said)  # the letter, not the article
