from stages.tts.pace import SECOND, Pace


def test_a_listener_is_as_far_behind_as_sound_was_put() -> None:
    now = 5 * SECOND
    pace = Pace(lambda: now)
    assert pace.is_hungry(0.5)
    assert not pace.has_begun
    assert pace.left == 0
    pace.put(0.25)
    pace.put(0.5)
    assert not pace.is_hungry(0.5)
    assert pace.hungry_at(0.5) == round(5.25 * SECOND)
    assert pace.left == 0.75
    now = round(5.25 * SECOND)
    assert pace.is_hungry(0.5)


def test_a_gap_is_not_made_up_for() -> None:
    now = 0
    pace = Pace(lambda: now)
    pace.put(0.1)
    now = 9 * SECOND
    assert pace.left == 0
    assert pace.has_begun
    pace.put(1.0)
    assert pace.hungry_at(0.0) == 10 * SECOND
