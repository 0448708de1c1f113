# ruff: noqa: RUF001  (signs that look alike are what this file is about)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.tokenizer import Vocabulary
from stages.tts.front import Front
from stages.tts.words import Stop, Word
from tests.stages.tts.reading_aloud import joined, parts, said


def check(text: str, spoken: str) -> None:
    assert said(text).removesuffix(" |") == spoken


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("10 - 3", "ten minus three"),
        ("10 − 3", "ten minus three"),
        ("10 - 3 - 5 = 2", "ten minus three minus five equals two"),
        ("x = 3 - 5", "x equals three minus five"),
        ("5 * 6", "five times six"),
        ("5 x 6, 5 × 6", "five times six, five times six"),
        ("12 / 4", "twelve divided by four"),
        ("2^10", "two to the power of ten"),
        ("10^-3 and 10³", "ten to the power of minus three and ten cubed"),
        ("mc^2", "m c squared"),
        ("E = mc²", "E equals m c squared"),
        ("x² + y² = 9", "x squared plus y squared equals nine"),
        ("3 1/2 cups", "three and a half cups"),
        ("2 3/4, 3½, ½", "two and three quarters, three and a half, one half"),
        ("x = 5", "x equals five"),
        ("5 > 3 and a < b", "five is greater than three and a is less than b"),
        ("price > 100, x ≤ 5", "price is greater than one hundred, x is at most five"),
        ("50%-60%, 50-60%", "fifty percent to sixty percent, fifty to sixty percent"),
        ("±2", "plus or minus two"),
        ("~5, ≥3, <5%, +7", "about five, at least three, less than five percent, plus seven"),
        ("2+2=4", "two plus two equals four"),
        ("5*6=30", "five times six equals thirty"),
        ("2*(3+4)=14", "two times three plus four equals fourteen"),
        ("a+b≠5", "A plus b is not equal to five"),
        ("2x + 3 = 7", "two x plus three equals seven"),
        ("5-3=2", "five minus three equals two"),
        ("O(n^2)", "O(n squared)"),
        ("1e6", "one times ten to the power of six"),
    ],
)
def test_arithmetic(text: str, spoken: str) -> None:
    check(text, spoken)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Chapter 5 - The end", "Chapter five, The end"),
        ("vitamin C - a nutrient", "vitamin C, a nutrient"),
        ("the city - it is", "the city, it is"),
        ("- 5 - 10 minutes", "five to ten minutes"),
        ("Settings > Privacy > On", "Settings, Privacy, On"),
        ("A → B", "A, B"),
        ("and / or", "and or"),
        ("it is 2x faster", "it is two times faster"),
        ("grew 3.5x", "grew three point five times"),
    ],
)
def test_signs_that_are_not_arithmetic(text: str, spoken: str) -> None:
    check(text, spoken)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("See fig. 3 on it", "See figure three on it"),
        ("I ate a fig. Then", "I ate a fig. | Then"),
        ("One more rep. Then", "One more rep. | Then"),
        ("Rep. Smith", "Representative Smith"),
        ("Call me, hon. I wait", "Call me, hon. | I wait"),
        ("Hon. Lee", "Honorable Lee"),
        ("St. Paul, Main St. is", "Saint Paul, Main Street is"),
        ("on Main St. The shop", "on Main Street. | The shop"),
        ("near Mount St. Helens", "near Mount Saint Helens"),
        ("No. 5 apples", "number five apples"),
        ("cats vs. Dogs", "cats versus Dogs"),
        ("approx. 5 and e.g. This", "approximately five and for example This"),
        ("at 5 a.m. we", "at five A M we"),
        ("at 10:00 a.m. Then", "at ten A M. | Then"),
        ("in the U.S. The army", "in the U S. | The army"),
        ("the U.S. Army", "the U S Army"),
        ("by Acme Inc. The firm", "by Acme Inc. | The firm"),
        ("“He said ‘No.’” Then", "“He said ‘No.’” | Then"),
        ("Well, ?", "Well,"),
        ("Well,, — so", "Well, so"),
        ("Plan B. Then J. Lee", "Plan B. | Then J Lee"),
        ("Dec. 25, 2024. Then", "December twenty-fifth, twenty twenty-four. | Then"),
    ],
)
def test_abbreviations(text: str, spoken: str) -> None:
    check(text, spoken)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("11/3/2026", "November third, twenty twenty-six"),
        ("13/11/2026", "November thirteenth, twenty twenty-six"),
        ("2026-11-03", "November third, twenty twenty-six"),
        ("2026-13-45", "two zero two six, one three, four five"),
        ("on Nov 3, 2026", "on November third, twenty twenty-six"),
        ("Nov. 3 or Nov 2026", "November third or November twenty twenty-six"),
        ("on 5 May 2024 it", "on the fifth of May twenty twenty-four it"),
        ("1:05:09", "one oh five and nine seconds"),
        ("10:05, 3 PM", "ten oh five, three P M"),
        ("9:00-17:00", "nine o'clock to seventeen o'clock"),
        ("30s and 30 s", "thirty seconds and thirty seconds"),
        ("the 30s, 1990s, ’80s", "the thirties, nineteen nineties, eighties"),
        ("24/7, 50/50", "twenty-four seven, fifty fifty"),
        ("-$5, $-5", "minus five dollars, minus five dollars"),
        ("$1.5M, US$5, $5-10", "one point five million dollars, five U S dollars, five to ten "
         "dollars"),
        ("5 €, 5€, £3.50", "five euros, five euros, three pounds fifty pence"),
        ("$9.99/mo, $100+", "nine dollars ninety-nine cents per month, one hundred dollars plus"),
        ("(555) 123-4567.", "five five five, one two three, four five six seven."),
        ("+1 (555) 123-4567", "plus one, five five five, one two three, four five six seven"),
        ("555-123-4567", "five five five, one two three, four five six seven"),
        ("1st/2nd", "first second"),
        ("20 °C in °C", "twenty degrees Celsius in °C"),
        ("10km, 5GB, 5-km", "ten kilometers, five gigabytes, five kilometer"),
        ("10m/s, 9.8 m/s², 90 km/h", "ten meters per second, nine point eight meters per second "
         "squared, ninety kilometers per hour"),
        ("200 mg/day in km/h", "two hundred milligrams per day in kilometers per hour"),
        ("-5°C/23°F", "minus five degrees Celsius twenty-three degrees Fahrenheit"),
        ("March 5–7, .5, the 90's", "March fifth to seventh, zero point five, the nineties"),
        ("$.50, 3½ km", "fifty cents, three and a half kilometers"),
        ("20 m², 1/2 km", "twenty square meters, one half kilometer"),
        ("3-5, 10-20km", "three to five, ten to twenty kilometers"),
        ("5 - 10 min, 1914 - 1918", "five to ten minutes, nineteen fourteen to nineteen eighteen"),
        ("v1.2.3, #1", "version one dot two dot three, number one"),
        ("10k, 7B", "ten thousand, seven billion"),
        ("3:1, 5'10", "three to one, five foot ten"),
        ("80-year-old, COVID-19", "eighty-year-old, COVID-nineteen"),
        ("10/10, 120/80", "ten out of ten, one hundred and twenty over eighty"),
    ],
)  # fmt: skip
def test_quantities(text: str, spoken: str) -> None:
    check(text, spoken)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("and/or, he/she", "and or, he she"),
        ("A & B", "A and B"),
        ("ask @name", "ask at name"),
        ("C# w/ milk", "C sharp with milk"),
        ("<https://a.bc/d>", "a dot bc slash d"),
        ("Henry VIII", "Henry VIII"),
    ],
)
def test_names(text: str, spoken: str) -> None:
    check(text, spoken)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("你好!我们", "你好! |我们"),
        ("好吗?\"好.行", "好吗? |好. |行"),
        ("好,可以:行;走", "好,可以,行;走"),
        ("안녕!우리", "안녕! |우리"),
        ("用Python!我们", "用 Python! |我们"),
        ("在a.txt里3.5个", "在 a dot txt里 three point five个"),
        ("こんにちは。元気？はい！", "こんにちは。 |元気？ |はい！"),
    ],
)  # fmt: skip
def test_half_width_marks_between_wide_letters(text: str, spoken: str) -> None:
    check(text, spoken)


PIECES = """
10 - * / ^ x = > < 5% 1/2 $5 km a.m . , U.S St No fig ( ) 555 123-4567 Nov 2026 The rep ``` ` <b>
<think> </think> <tool_call> | ~~~ ** [a]( 你 好 ! ? ² :05 s + & @a / th
"""


@given(st.lists(st.sampled_from([*PIECES.split(), " ", "  ", "\n"]), max_size=30))
def test_any_split_into_ids_gives_the_same(pieces: list[str]) -> None:
    front = Front(Vocabulary(tuple(piece.encode() for piece in pieces), strips_space=False))
    found: list[Word | Stop] = []
    for id in range(len(pieces)):
        found += front.feed(id, id)
    found += front.flush()
    assert joined(found) == said("".join(pieces))


@given(st.text(st.sampled_from("0123456789٣²½$€%°:/-–.,x^+#()'eEkKms AaPpMmth"), max_size=24))
def test_whatever_has_digits_is_read(text: str) -> None:
    assert all(part.text.strip() for part in parts(text) if isinstance(part, Word))


def test_a_word_waits_for_few_others() -> None:
    front = Front(Vocabulary((b"+44 ", b"20 "), strips_space=False))
    known = sum(len(front.feed(int(position > 0), position)) for position in range(20))
    assert known > 10
