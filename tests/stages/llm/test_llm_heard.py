"""How much of an answer was heard."""

import pytest

from stages.llm.heard import PATIENCE_NS, heard_ids
from stages.messages import Played

NEVER, LATE = 0, PATIENCE_NS
ANSWER, COUNT = 5, 10


@pytest.mark.parametrize(
    ("played", "released", "waited", "heard"),
    [
        (Played(5, 7, True), 5, NEVER, 7),  # cut in the middle
        (Played(5, 10, True), 5, NEVER, 10),  # to its end
        (Played(5, 99, True), 5, NEVER, 10),  # never more than there is
        (Played(5, 7, False), 5, NEVER, None),  # still sounding
        (Played(5, 7, False), 5, LATE, 7),  # the edge does not tell: what is known
        (Played(4, 3, True), 5, NEVER, None),  # released, and not begun as far as we know
        (Played(4, 3, True), 5, LATE, 0),
        (Played(4, 3, True), 4, NEVER, 0),  # never released: nobody heard it
        (Played(5, 2, True), 6, NEVER, 2),  # the next one is released already
    ],
)
def test_heard(played, released, waited, heard):
    assert heard_ids(ANSWER, COUNT, played, released, waited) == heard


def test_an_empty_answer_is_not_waited_for():
    assert heard_ids(5, 0, Played(5, 0, False), 5, NEVER) == 0
