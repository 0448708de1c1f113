"""How much of an answer was heard."""

import pytest

from stages.llm.heard import PATIENCE_NS, heard_ids
from stages.messages import Played

NEVER, LATE = 0, PATIENCE_NS
ANSWER, COUNT = 5, 10


@pytest.mark.parametrize(
    ("played", "waited", "heard"),
    [
        (Played(5, 7, True), NEVER, 7),  # cut in the middle
        (Played(5, 10, True), NEVER, 10),  # to its end
        (Played(5, 99, True), NEVER, 10),  # never more than there is
        (Played(5, 7, True, failed=True), NEVER, 7),  # the edge gave it up
        (Played(5, 7, False), NEVER, None),  # still sounding
        (Played(5, 7, False), LATE, 7),  # the edge does not tell: what is known
        (Played(4, 3, True), NEVER, 0),  # it never began: that would have been told
        (Played(4, 3, True), LATE, 0),
    ],
)
def test_heard(played, waited, heard):
    assert heard_ids(ANSWER, COUNT, played, waited) == heard


def test_an_empty_answer_is_not_waited_for():
    assert heard_ids(5, 0, Played(5, 0, False), NEVER) == 0
