"""English for what is written with digits: money, dates, times, units, versions, telephones.

Which kind of number stands there is decided here; `numerals` has its words. Two words that are said
as one ("$5 million", "5 km", "May 5") are read here too, with the blank between them. Voices of
other languages leave digits to espeak-ng, which reads them plainly.
"""

# ruff: noqa: RUF001  (signs that look alike are what this file is about)

import re
import unicodedata
from collections.abc import Callable

from stages.tts.abbreviations import MONTHS, NUMBERED, SHORT_MONTHS
from stages.tts.arithmetic import SIGNS, read_formula, read_term, with_powers
from stages.tts.numerals import DIGITS, NUMBER, cardinal, digits, ordinal, year

_CURRENCIES = {  # one, many, a hundredth
    "$": ("dollar", "dollars", "cent"),
    "€": ("euro", "euros", "cent"),
    "£": ("pound", "pounds", "pence"),
    "¥": ("yen", "yen", ""),
    "₹": ("rupee", "rupees", ""),
    "US$": ("U S dollar", "U S dollars", "cent"),
}
_SCALES = {
    "k": "thousand",
    "K": "thousand",
    "M": "million",
    "m": "million",
    "B": "billion",
    "bn": "billion",
    "T": "trillion",
}
_SCALE_WORDS = ("hundred", "thousand", "million", "billion", "trillion")
_UNITS = {
    "%": ("percent", "percent"),
    "°": ("degree", "degrees"),
    "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "km": ("kilometer", "kilometers"),
    "m": ("meter", "meters"),
    "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"),
    "mph": ("mile per hour", "miles per hour"),
    "mi": ("mile", "miles"),
    "ft": ("foot", "feet"),
    "yd": ("yard", "yards"),
    "kg": ("kilogram", "kilograms"),
    "g": ("gram", "grams"),
    "mg": ("milligram", "milligrams"),
    "lb": ("pound", "pounds"),
    "lbs": ("pound", "pounds"),
    "tsp": ("teaspoon", "teaspoons"),
    "tbsp": ("tablespoon", "tablespoons"),
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
    "dB": ("decibel", "decibels"),
    "kcal": ("kilocalorie", "kilocalories"),
    "KB": ("kilobyte", "kilobytes"),
    "kB": ("kilobyte", "kilobytes"),
    "MB": ("megabyte", "megabytes"),
    "GB": ("gigabyte", "gigabytes"),
    "TB": ("terabyte", "terabytes"),
    "Mbps": ("megabit per second", "megabits per second"),
    "Gbps": ("gigabit per second", "gigabits per second"),
    "fps": ("frame per second", "frames per second"),
    "nm": ("nanometer", "nanometers"),
    "μm": ("micrometer", "micrometers"),
    "μs": ("microsecond", "microseconds"),
    "ms": ("millisecond", "milliseconds"),
    "s": ("second", "seconds"),
    "sec": ("second", "seconds"),
    "min": ("minute", "minutes"),
    "h": ("hour", "hours"),
    "hr": ("hour", "hours"),
    "hrs": ("hour", "hours"),
}
_POWERS = {"2": "square", "3": "cubic"}
_PERIODS = {"wk": "week", "mo": "month", "yr": "year"}
_IDIOMS = {"24/7": "twenty-four seven", "9/11": "nine eleven"}


def read_quantity(text: str) -> str | None:
    """What digits and the signs around them say; None: nothing that we know.

    Args:
        text: without white space and punctuation around it; a blank inside parts two words.
    """
    plain = with_powers(_without_vulgar_fraction(text))
    for pattern, read in _READERS:
        if (match := pattern.fullmatch(plain)) and (said := read(match)):
            return said
    return None


def may_go_on(text: str) -> bool:
    """Whether the next word may belong to this one."""
    if text in MONTHS or text in SHORT_MONTHS:
        return True
    return bool(text) and (text[-1] == ")" or unicodedata.category(text[-1]) in ("Nd", "No"))


def _without_vulgar_fraction(text: str) -> str:
    """The same with a fraction in full: 3½ is 3 1/2."""
    match = _VULGAR.fullmatch(text)
    if not match:
        return text
    fraction = unicodedata.normalize("NFKC", match[2]).replace("⁄", "/")
    return f"{match[1]} {fraction}".lstrip() + match[3]


def _measure(number: str, unit: str, power: str | None = None) -> str:
    one, many = _UNITS[unit]
    is_one = number == "1" or ("/" in number and " " not in number)
    said = f"{_POWERS[power]} " if power else ""
    return f"{_mixed(number)} {said}{one if is_one else many}"


def _mixed(text: str) -> str:
    """A number that may have a fraction behind it."""
    whole, _, fraction = text.rpartition(" ")
    if "/" not in fraction:
        return cardinal(text)
    match = _FRACTION.fullmatch(fraction)
    part = _fraction(match) if match else fraction
    if not whole:
        return part
    return f"{cardinal(whole)} and {'a' + part[3:] if part.startswith('one ') else part}"


def _money(sign: str, number: str, scale: str | None) -> str:
    one, many, cent = _CURRENCIES[sign]
    if scale:
        return f"{cardinal(number)} {_SCALES.get(scale, scale)} {many}"
    whole, _, part = number.partition(".")
    if whole and not part.strip("0"):
        return f"{cardinal(whole)} {one if whole == '1' else many}"
    if not cent or len(part) > 2:
        return f"{cardinal(number)} {many}"
    count = int(part.ljust(2, "0"))
    cents = f"{cardinal(str(count))} {cent}{'s' if count > 1 and cent == 'cent' else ''}"
    return (
        cents
        if whole in ("", "0")
        else f"{cardinal(whole)} {one if whole == '1' else many} {cents}"
    )


def _rate(match: re.Match[str]) -> str | None:
    """So much per something: "$5/mo", "9.8 m/s^2", "km/h"."""
    many = _UNITS[match[1]][1] if match[1] in _UNITS else read_quantity(match[1])
    one = _UNITS[match[2]][0] if match[2] in _UNITS else _PERIODS.get(match[2], match[2])
    return f"{many} per {one}{' squared' if match[3] else ''}" if many else None


def _time(match: re.Match[str]) -> str:
    hour, minute, second, half = match.groups()
    said = cardinal(str(int(hour)))
    if minute and minute != "00":
        said += f" oh {DIGITS[int(minute[1])]}" if minute[0] == "0" else f" {cardinal(minute)}"
    elif not half:
        said += " o'clock"
    if second and second != "00":
        count = str(int(second))
        said += f" and {cardinal(count)} second{'' if count == '1' else 's'}"
    return f"{said} {' '.join(half.upper().replace('.', ''))}" if half else said


def _month(text: str) -> str:
    return text if text in MONTHS else SHORT_MONTHS[text]


def _date(month: str, day: str, of_year: str | None) -> str:
    return f"{month} {ordinal(day)}" + (f", {year(of_year)}" if of_year else "")


def _numbered_date(one: str, other: str, of_year: str) -> str | None:
    """Month and day, or day and month if it cannot be else."""
    month, day = (int(one), other) if int(one) <= len(MONTHS) else (int(other), one)
    if not 1 <= month <= len(MONTHS) or not 1 <= int(day) <= 31:
        return None
    return _date(MONTHS[month - 1], day, of_year if len(of_year) == 4 else f"20{of_year}")


def _by_digits(match: re.Match[str]) -> str:
    groups = ", ".join(digits(group) for group in re.split(r"\D+", match[0]) if group)
    return f"plus {groups}" if match[0].startswith("+") else groups


def _range(match: re.Match[str]) -> str | None:
    one, other = match.groups()
    sign = one[0] if one[0] in _CURRENCIES and other[0].isdigit() else ""
    said, until = read_quantity(one.removeprefix(sign)), read_quantity(sign + other)
    return f"{said} to {until}" if said and until else None


def _fraction(match: re.Match[str]) -> str:
    over, under = int(match[1]), int(match[2])
    one, other = cardinal(match[1]), cardinal(match[2])
    if over + under == 100:
        return f"{one} {other}"  # 50/50
    if over == under:
        return f"{one} out of {other}"
    if under == 2:
        return "one half" if over == 1 else f"{one} halves"
    if not 3 <= under <= 10 or over > under:
        return f"{one} over {other}"
    part = "quarter" if under == 4 else ordinal(match[2])
    return f"{one} {part}{'' if over == 1 else 's'}"


def _decade(match: re.Match[str]) -> str:
    words = year(match[1]) if match[1] else cardinal(match[2] or match[3])
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"


def _dotted(match: re.Match[str]) -> str:
    numbers = [cardinal(part) for part in match[2].split(".")]
    return ("version " if match[1] else "") + " dot ".join(numbers)


def _signed(match: re.Match[str]) -> str | None:
    said = read_quantity(match[2])
    return f"{SIGNS[match[1]]} {said}" if said else None


def _numbered(match: re.Match[str]) -> str:
    return f"{NUMBERED[match[1].lower()]} {read_quantity(match[2]) or match[2]}"


def _scientific(match: re.Match[str]) -> str:
    exponent = f"{match[2].strip('+')}{match[3]}"
    return f"{cardinal(match[1])} times {read_term(f'10^{exponent}')}"


def _parts(mark: str) -> Callable[[re.Match[str]], str | None]:
    """Reader of a word with a mark inside, of which some parts are numbers: "80-year-old"."""

    def read(match: re.Match[str]) -> str | None:
        words = match[0].split(mark)
        said = [read_quantity(word) or (word if word.isalnum() else "") for word in words]
        if said == words or not all(said):
            return None
        return ("-" if mark == "-" else " ").join(said)

    return read


_SIGN = "|".join(sorted(map(re.escape, _CURRENCIES), key=len, reverse=True))
_SCALE = "|".join([*_SCALE_WORDS, *_SCALES])
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_MIXED = rf"(?:{NUMBER}|(?:\d{{1,3}} )?\d{{1,3}}/\d{{1,3}})"
_MONTH = "|".join([*MONTHS, *SHORT_MONTHS])
_DAY = "0?[1-9]|[12]\\d|3[01]"
_YEAR = "1[1-9]\\d\\d|20\\d\\d"
_VULGAR = re.compile(r"(\d*)([¼-¾⅐-⅞])([^\d¼-¾⅐-⅞]*)")
_FRACTION = re.compile(r"(\d{1,3})/(\d{1,3})")
_Reader = tuple[str, Callable[[re.Match[str]], str | None]]
_GRAMMAR: tuple[_Reader, ...] = (
    (rf"({_SIGN})({NUMBER}) ?({_SCALE})?", lambda m: _money(m[1], m[2], m[3])),
    (rf"({_SIGN})[-−]({NUMBER})", lambda m: f"minus {_money(m[1], m[2], None)}"),
    (rf"((?:{_SIGN}){NUMBER}|(?:{_MIXED} ?)?(?:{_UNIT}))/([A-Za-z]+)(\^2)?", _rate),
    (rf"({NUMBER}) ?({_SIGN})", lambda m: _money(m[2], m[1], None)),
    (r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?: ?([aApP]\.?[mM]))?", _time),
    (r"(1[0-2]|[1-9])()() ?([aApP]\.?[mM])", _time),
    (rf"({_MONTH})\.? ({_DAY})(?:st|nd|rd|th)?(?:,? ({_YEAR}))?",
     lambda m: _date(_month(m[1]), m[2], m[3])),
    (rf"({_MONTH})\.? ({_DAY})[-–]({_DAY})",
     lambda m: f"{_month(m[1])} {ordinal(m[2])} to {ordinal(m[3])}"),
    (rf"({_MONTH})\.? ({_YEAR})", lambda m: f"{_month(m[1])} {year(m[2])}"),
    (rf"({_DAY}) ({_MONTH})(?: ({_YEAR}))?",
     lambda m: f"the {ordinal(m[1])} of {_month(m[2])}" + (f", {year(m[3])}" if m[3] else "")),
    (r"(\d{4})([-/])(\d{1,2})\2(\d{1,2})", lambda m: _numbered_date(m[3], m[4], m[1])),
    (r"(\d{1,2})/(\d{1,2})/(\d{4}|\d\d)", lambda m: _numbered_date(m[1], m[2], m[3])),
    (r"(?:\+?\d{1,3}[- ])?(?:\(\d{3}\) ?|\d{3}[-.])\d{3}[-.]\d{4}|\d{3}-\d{4}", _by_digits),
    (r"\+\d{1,3} \(\d{3}\)|\+\d{1,3}(?:[- ]\d{2,5}){1,5}", _by_digits),
    (r"\d{4}-\d\d-\d\d", _by_digits),
    (r"(v?)(\d+(?:\.\d+){2,})", _dotted),
    (r"(v)(\d+(?:\.\d+)*)", _dotted),
    ("|".join(map(re.escape, _IDIOMS)), lambda m: _IDIOMS[m[0]]),
    (r"(\d+)(?:st|nd|rd|th)", lambda m: ordinal(m[1])),
    (r"'?((?:1[1-9]|20)\d0)['’]?s|[‘’']([2-9]0)['’]?s|([2-9]0)['’]s", _decade),
    (rf"({_YEAR})", lambda m: year(m[1])),
    (r"#(\d+)", lambda m: f"number {cardinal(m[1])}"),
    (rf"((?i:{'|'.join(NUMBERED)}))\. (\d\S*)", _numbered),
    (r"(\d+)[x×](\d+)", lambda m: f"{cardinal(m[1])} by {cardinal(m[2])}"),
    (rf"({NUMBER})[x×]", lambda m: f"{cardinal(m[1])} times"),
    (r"([1-9])['’′](\d{1,2})", lambda m: f"{cardinal(m[1])} foot {cardinal(m[2])}"),
    (rf"({_MIXED}) ?({_UNIT})(?:\^([23]))?", lambda m: _measure(m[1], m[2], m[3])),
    (rf"({NUMBER})-({_UNIT})", lambda m: f"{cardinal(m[1])} {_UNITS[m[2]][0]}"),
    (rf"({NUMBER})(k|M|B|bn)", lambda m: f"{cardinal(m[1])} {_SCALES[m[2]]}"),
    (rf"({NUMBER})[eE]([-+]?)(\d+)", _scientific),
    (_MIXED, lambda m: _mixed(m[0])),
    (r"([$€£¥₹]?\d\S*)\+", lambda m: f"{read_quantity(m[1]) or m[1]} plus"),
    (r"(\d+):(\d+)", lambda m: f"{cardinal(m[1])} to {cardinal(m[2])}"),
    (r"\S+", lambda m: read_formula(m[0])),
    (r"((?:[$€£¥₹]|\d)[^-–—]*)[-–—]((?:[$€£¥₹]|\d)[^-–—]*)", _range),
    (rf"([{re.escape(''.join(SIGNS))}])((?:[$€£¥₹]|\d).*)", _signed),
    (r"[^/\s]+(?:/[^/\s]+)+", _parts("/")),
    (r"\w+(?:-\w+)+", _parts("-")),
)  # fmt: skip
_READERS = [(re.compile(pattern), read) for pattern, read in _GRAMMAR]
