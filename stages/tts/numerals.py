"""English for what is written with digits: money, dates, times, units, versions, telephones.

The words of numbers are num2words' (LGPL, a package of its own); which kind of number stands there
is decided here. Voices of other languages leave digits to espeak-ng, which reads them plainly.
"""

# ruff: noqa: RUF001  (signs that look alike are what this file is about)

import re
from collections.abc import Callable

from num2words import num2words

_CURRENCIES = {  # one, many, a hundredth
    "$": ("dollar", "dollars", "cent"),
    "€": ("euro", "euros", "cent"),
    "£": ("pound", "pounds", "pence"),
    "¥": ("yen", "yen", ""),
    "₹": ("rupee", "rupees", ""),
}
_SCALES = {"k": "thousand", "K": "thousand", "M": "million", "m": "million", "B": "billion"}
SCALE_WORDS = frozenset({"hundred", "thousand", "million", "billion", "trillion"})
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
_UNITS = {
    "%": ("percent", "percent"),
    "°": ("degree", "degrees"),
    "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "km": ("kilometer", "kilometers"),
    "m": ("meter", "meters"),
    "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"),
    "km/h": ("kilometer per hour", "kilometers per hour"),
    "mph": ("mile per hour", "miles per hour"),
    "mi": ("mile", "miles"),
    "ft": ("foot", "feet"),
    "kg": ("kilogram", "kilograms"),
    "g": ("gram", "grams"),
    "mg": ("milligram", "milligrams"),
    "lb": ("pound", "pounds"),
    "lbs": ("pound", "pounds"),
    "oz": ("ounce", "ounces"),
    "l": ("liter", "liters"),
    "L": ("liter", "liters"),
    "ml": ("milliliter", "milliliters"),
    "Hz": ("hertz", "hertz"),
    "kHz": ("kilohertz", "kilohertz"),
    "MHz": ("megahertz", "megahertz"),
    "GHz": ("gigahertz", "gigahertz"),
    "W": ("watt", "watts"),
    "kW": ("kilowatt", "kilowatts"),
    "kWh": ("kilowatt hour", "kilowatt hours"),
    "V": ("volt", "volts"),
    "KB": ("kilobyte", "kilobytes"),
    "kB": ("kilobyte", "kilobytes"),
    "MB": ("megabyte", "megabytes"),
    "GB": ("gigabyte", "gigabytes"),
    "TB": ("terabyte", "terabytes"),
    "ms": ("millisecond", "milliseconds"),
    "s": ("second", "seconds"),
    "min": ("minute", "minutes"),
    "h": ("hour", "hours"),
}
_DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_LONGEST = 36  # digits; a longer number is read digit by digit

_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))


def read_number(text: str) -> str | None:
    """What a word made of digits says; None: nothing that we know.

    Args:
        text: without white space and the punctuation around it.
    """
    for pattern, read in _READERS:
        if match := pattern.fullmatch(text):
            return read(match)
    return None


def read_with(text: str, following: str) -> str | None:
    """The same of two words, if they belong together: "$5 million", "5 km", "7 p.m."."""
    if match := re.fullmatch(rf"([{''.join(_CURRENCIES)}])({_NUMBER})", text):
        if following in SCALE_WORDS:
            return f"{_cardinal(match[2])} {following} {_CURRENCIES[match[1]][1]}"
        return None
    if following in _UNITS and re.fullmatch(rf"[-−]?(?:{_NUMBER})", text):
        return _measure(text, following)
    return None


def read_date(month: str, day: str) -> str | None:
    """A day behind its month's name: "May 5"."""
    if month in MONTHS and re.fullmatch(r"[1-9]|[12]\d|3[01]", day):
        return _ordinal(day)
    return None


def _cardinal(text: str) -> str:
    plain = text.replace(",", "").replace("−", "-")
    if len(plain) > _LONGEST or re.fullmatch(r"0\d+", plain):
        return _digits(plain)
    words: str = num2words(plain)
    return words.replace(",", "")


def _ordinal(text: str) -> str:
    words: str = num2words(int(text), to="ordinal")
    return words.replace(",", "")


def _year(text: str) -> str:
    words: str = num2words(int(text), to="year")
    return words


def _digits(text: str) -> str:
    return " ".join(_DIGITS[int(char)] for char in text if char.isdecimal())


def _measure(number: str, unit: str) -> str:
    one, many = _UNITS[unit]
    return f"{_cardinal(number)} {one if number == '1' else many}"


def _money(match: re.Match[str]) -> str:
    sign, number, scale = match[1], match[2], match[3]
    one, many, cent = _CURRENCIES[sign]
    if scale:
        return f"{_cardinal(number)} {_SCALES[scale]} {many}"
    whole, _, part = number.partition(".")
    if not part.strip("0"):
        return f"{_cardinal(whole)} {one if whole == '1' else many}"
    if not cent or len(part) > 2:
        return f"{_cardinal(number)} {many}"
    count = int(part.ljust(2, "0"))
    cents = f"{_cardinal(str(count))} {cent}{'s' if count > 1 and cent == 'cent' else ''}"
    return cents if whole == "0" else f"{_cardinal(whole)} {one if whole == '1' else many} {cents}"


def _time(match: re.Match[str]) -> str:
    hour, minute, half = match[1], match[2], match[3]
    said = _cardinal(str(int(hour)))
    if minute is None or minute == "00":
        said += "" if half else " o'clock"
    else:
        said += f" oh {_DIGITS[int(minute[1])]}" if minute[0] == "0" else f" {_cardinal(minute)}"
    return f"{said} {' '.join(half.upper().replace('.', ''))}" if half else said


def _time_without_minutes(match: re.Match[str]) -> str:
    return f"{_cardinal(match[1])} {' '.join(match[3].upper().replace('.', ''))}"


def _iso_date(match: re.Match[str]) -> str:
    year, month, day = match[1], int(match[2]), match[3]
    if not 1 <= month <= len(MONTHS):
        return _dashed(match)
    return f"{MONTHS[month - 1]} {_ordinal(day)}, {_year(year)}"


def _dashed(match: re.Match[str]) -> str:
    return ", ".join(_digits(group) for group in re.split(r"\D+", match[0]) if group)


def _range(match: re.Match[str]) -> str:
    one, other = match[1], match[2]
    if len(one) == len(other) == 4:
        return f"{_year(one)} to {_year(other)}"
    return f"{_cardinal(one)} to {_cardinal(other)}"


def _fraction(match: re.Match[str]) -> str:
    over, under = int(match[1]), int(match[2])
    if under == 2:
        return "one half" if over == 1 else f"{_cardinal(match[1])} halves"
    if not 3 <= under <= 10 or over >= under:
        return f"{_cardinal(match[1])} over {_cardinal(match[2])}"
    part = "quarter" if under == 4 else _ordinal(match[2])
    return f"{_cardinal(match[1])} {part}{'' if over == 1 else 's'}"


def _decade(match: re.Match[str]) -> str:
    words = _year(match[1]) if len(match[1]) == 4 else _cardinal(match[1])
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"


def _dotted(match: re.Match[str]) -> str:
    numbers = [_cardinal(part) for part in match[2].split(".")]
    return ("version " if match[1] else "") + " dot ".join(numbers)


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(rf"([{''.join(_CURRENCIES)}])({_NUMBER})([kKmMB])?"), _money),
    (re.compile(r"([01]?\d|2[0-3]):([0-5]\d)([aApP]\.?[mM]\.?)?"), _time),
    (re.compile(r"(1[0-2]|[1-9])()([aApP]\.?[mM]\.?)"), _time_without_minutes),
    (re.compile(r"(\d{4})-(\d{2})-(\d{2})"), _iso_date),
    (re.compile(r"\+?\d*[ -]?\(?\d{3}\)?[- ]\d{3}-\d{4}|\d{3}-\d{4}"), _dashed),
    (re.compile(r"(v?)(\d+(?:\.\d+){2,})"), _dotted),
    (re.compile(r"(v)(\d+(?:\.\d+)*)"), _dotted),
    (re.compile(r"(\d+)[-–](\d+)"), _range),
    (re.compile(r"(\d{1,3})/(\d{1,3})"), _fraction),
    (re.compile(r"(\d+)(?:st|nd|rd|th)"), lambda m: _ordinal(m[1])),
    (re.compile(r"[‘’']?((?:1[1-9]|20)\d0|[2-9]0)'?s"), _decade),
    (re.compile(r"(1[1-9]\d\d|20\d\d)"), lambda m: _year(m[1])),
    (re.compile(r"#(\d+)"), lambda m: f"number {_cardinal(m[1])}"),
    (re.compile(r"(\d+)[x×](\d+)"), lambda m: f"{_cardinal(m[1])} by {_cardinal(m[2])}"),
    (re.compile(rf"([-−]?(?:{_NUMBER}))({_UNIT})"), lambda m: _measure(m[1], m[2])),
    (re.compile(rf"[-−]?(?:{_NUMBER})"), lambda m: _cardinal(m[0])),
)
