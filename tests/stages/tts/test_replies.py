"""Replies of the kind that language models give, as a person would read them."""

# ruff: noqa: E501, RUF001  (what a reply says stands in one line)

import pytest

from tests.stages.tts.reading_aloud import said

REPLIES = {
    "numbered tips": (
        "Sure! Here are **three tips**:\n\n1. **Start small** – pick one habit.\n2. **Track it** (e.g., in a notebook).\n3. *Be patient.* It takes ~66 days.",
        "Sure! | Here are three tips: | one. Start small, pick one habit. | two. Track it (for example, in a notebook). | three. Be patient. | It takes about sixty-six days. |",
    ),
    "recipe": (
        "## Ingredients\n\n- 2 1/2 cups flour\n- 1/2 tsp salt\n- 200 g butter (about 7 oz)\n\nBake at 350°F for 25–30 min.",
        "Ingredients | two and a half cups flour | one half teaspoon salt | two hundred grams butter (about seven ounces) | Bake at three hundred and fifty degrees Fahrenheit for twenty-five to thirty minutes. |",
    ),
    "table": (
        "| Plan | Price | Storage |\n|:-----|------:|:-------:|\n| Basic | $9.99/mo | 100GB |\n| Pro | $20/mo | 2TB |\n\nI'd pick **Pro**.",
        "Plan, Price, Storage | Basic, nine dollars ninety-nine cents per month, one hundred gigabytes | Pro, twenty dollars per month, two terabytes | I'd pick Pro. |",
    ),
    "command": (
        "To list files, run `ls -la` in your terminal.",
        "To list files, run ls -la in your terminal. |",
    ),
    "code": (
        "Here's a function:\n\n```python\ndef add(a, b):\n    return a + b\n```\n\nIt returns the sum.",
        "Here's a function: | It returns the sum. |",
    ),
    "links": (
        "Read more in [the docs](https://example.com/docs/v2?x=1#top), or at https://example.com.",
        "Read more in the docs, or at example dot com. |",
    ),
    "fact": (
        "The Eiffel Tower is 330 m (1,083 ft) tall and was built in 1889.",
        "The Eiffel Tower is three hundred and thirty meters (one thousand and eighty-three feet) tall and was built in eighteen eighty-nine. |",
    ),
    "algebra": (
        "Let's solve it: 2x + 3 = 11, so 2x = 8 and **x = 4**.",
        "Let's solve it: two x plus three equals eleven, so two x equals eight and x equals four. |",
    ),
    "quotation": (
        '> "Be yourself; everyone else is already taken."\n> — Oscar Wilde',
        '"Be yourself; everyone else is already taken." | Oscar Wilde |',
    ),
    "titles": (
        "Dr. Lee (M.D., Ph.D.) works at St. Mary's on 5th Ave. near the U.S. Embassy.",
        "Doctor Lee (M D, P H D) works at Saint Mary's on fifth Avenue near the U S Embassy. |",
    ),
    "appointment": (
        "The meeting is on 11/3/2026 at 10:30 a.m. Please call (555) 123-4567.",
        "The meeting is on November third, twenty twenty-six at ten thirty A M. | Please call five five five, one two three, four five six seven. |",
    ),
    "pros and cons": (
        "### Pros\n* Fast & cheap\n* Works 24/7\n\n### Cons\n* No warranty and/or support",
        "Pros | Fast and cheap | Works twenty-four seven | Cons | No warranty and or support |",
    ),
    "emoji": (
        "Great question! 😊 The answer depends on a few things...",
        "Great question! | The answer depends on a few things... |",
    ),
    "nested list": (
        "1. Preheat to 180 °C.\n   - Line a tin.\n   - [ ] Grease it.\n2. Mix well.",
        "one. Preheat to one hundred and eighty degrees Celsius. | Line a tin. | Grease it. | two. Mix well. |",
    ),
    "thoughts": (
        "<think>\nThe user greets me. 1 < 2.\n</think>\n\nHello! How can I help you today?",
        "Hello! | How can I help you today? |",
    ),
    "tool": (
        'Let me check.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>\nIt is 22°C.',
        "Let me check. | It is twenty-two degrees Celsius. |",
    ),
    "tags": (
        "Use <b>bold</b> sparingly;<br>water is H<sub>2</sub>O.",
        "Use bold sparingly; | water is H2O. |",
    ),
    "menu": (
        'Go to Settings > Privacy > Location, then tap "Off".',
        'Go to Settings, Privacy, Location, then tap "Off". |',
    ),
    "growth": (
        "Revenue grew 3.5x, from $1.5M to $5.25M (+250%), i.e. 75% vs. 25% for rivals.",
        "Revenue grew three point five times, from one point five million dollars to five point two five million dollars (plus two hundred and fifty percent), that is seventy-five percent versus twenty-five percent for rivals. |",
    ),
    "steps": (
        "**Step 1:** Open the app.\n\n---\n\n**Step 2:** Write to @voxring or me@example.com.",
        "Step one: Open the app. | Step two: Write to at voxring or me at example dot com. |",
    ),
    "release": (
        "~~Old~~ New: v1.2.3 fixes #42; see fig. 3 and pp. 10-12 — it's __worth__ it.",
        "Old New: version one dot two dot three fixes number forty-two; see figure three and pages ten to twelve, it's worth it. |",
    ),
    "dialogue": (
        '"Yes," she said. "At 3 p.m.?" *He nodded.*',
        '"Yes, she said. | "At three P M?" | He nodded. |',
    ),
    "mixed scripts": (
        "“你好!” means *hello*. 谢谢！意思是 thanks。",
        "你好! | means hello. | 谢谢！ |意思是 thanks。 |",
    ),
}


@pytest.mark.parametrize(("reply", "spoken"), REPLIES.values(), ids=REPLIES)
def test_a_reply_is_read_as_a_person_would(reply: str, spoken: str) -> None:
    assert said(reply) == spoken
