"""When each clip of a conversation is said; the seconds pass at once."""

import pytest

from pipeline.errors import SessionError
from pipeline.lab.conduct import GRACE_S, LIMIT_S, hold
from pipeline.lab.mix import Said
from tests.pipeline.lab.making import said
from tests.pipeline.lab.skipping import FakeTalk, Script, run

CLIP_S = 2.0


def held(script: Script, *clips: Said) -> FakeTalk:
    """A conversation that was held to its end."""
    talk = FakeTalk(script)

    async def main() -> None:
        await hold(talk, clips)

    run(main())
    assert talk.closed
    return talk


def test_a_clip_waits_until_the_answer_has_ended_and_then_pauses() -> None:
    talk = held(Script(0.4, 3.0), said("a"), said("b", pause_s=2.0), said("c"))
    first_ends = CLIP_S + 0.4 + 3.0
    (_, a), (_, b), (_, c) = talk.said
    assert a == 0
    assert first_ends + 2.0 <= b <= first_ends + 2.0 + 1.0, "an end is noticed within a second"
    assert c - b == pytest.approx(first_ends + 0.5, abs=1.0)


def test_an_interruption_comes_so_long_after_the_first_sound() -> None:
    talk = held(Script(0.4, 3.0), said("a"), said("b", over_answer_ms=800))
    assert talk.said[1][1] == pytest.approx(CLIP_S + 0.4 + 0.8, abs=0.03)


def test_a_second_interruption_is_timed_from_its_own_answer() -> None:
    over = {"over_answer_ms": 500}
    talk = held(Script(0.4, 3.0), said("a"), said("b", **over), said("c", **over))
    assert talk.said[2][1] - talk.said[1][1] == pytest.approx(CLIP_S + 0.4 + 0.5, abs=0.05)


def test_an_answer_that_is_too_short_is_not_waited_for() -> None:
    talk = held(Script(0.4, 0.2), said("a"), said("b", over_answer_ms=800))
    assert talk.said[1][1] == pytest.approx(CLIP_S + 0.4 + 0.8, abs=0.05)


def test_an_answer_that_never_comes_is_waited_for_as_long_as_a_voice_may_be_late() -> None:
    talk = held(Script(None), said("a"), said("b", over_answer_ms=800))
    assert talk.said[1][1] == pytest.approx(CLIP_S + GRACE_S, abs=0.05)
    quiet = held(Script(None), said("a"), said("b", pause_s=0.0))
    assert quiet.said[1][1] == pytest.approx(CLIP_S + GRACE_S, abs=0.05)


def test_a_turn_that_never_ends_is_an_error_with_its_name() -> None:
    talk = FakeTalk(Script(0.4, 1e9))
    with pytest.raises(SessionError, match=f"a: .* did not end within {CLIP_S + LIMIT_S:.0f} s"):
        run(hold(talk, [said("a")]))
    assert talk.closed, "its lane is free for the next one"


def test_a_conversation_may_last_as_long_as_its_turns_do() -> None:
    """Its limit was that of all its clips together, whatever their answers and pauses took."""
    clips = [said(name, pause_s=60.0) for name in "abcdefghij"]
    assert len(held(Script(0.4, 15.0), *clips).said) == len(clips)
