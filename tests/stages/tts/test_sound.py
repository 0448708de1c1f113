import numpy as np
import pytest

from stages.tts.clauses import Ending
from stages.tts.sound import Rests, to_int16


@pytest.mark.parametrize(
    ("value", "expected"), [(0.0, 0), (1.0, 32767), (-1.0, -32767), (9.0, 32767)]
)
def test_full_scale(value: float, expected: int) -> None:
    samples = to_int16(np.array([value], np.float32))
    assert samples.dtype == np.int16
    assert samples.tolist() == [expected]


def test_rests_follow_the_ending() -> None:
    rests = Rests(sentence=0.3, phrase=0.1, word=0.0)
    lengths = [len(rests.after(ending, 1000)) for ending in Ending]
    assert lengths == [300, 100, 0]
    assert rests.after(Ending.SENTENCE, 1000).dtype == np.int16
