"""How much of the machine goes into answers that nobody may ever hear."""

from stages.turn.speculation import SHARE, SPAN_NS, Speculation

MS = 1_000_000


def test_what_was_prepared_lately_counts_against_what_may_begin() -> None:
    speculation = Speculation(cores=1)
    most = int(SHARE * SPAN_NS)
    speculation.began(0, 0)
    assert speculation.is_affordable(most - 1)
    assert not speculation.is_affordable(most)
    speculation.ended(0, most)
    assert not speculation.is_affordable(SPAN_NS)
    assert speculation.is_affordable(SPAN_NS + MS)
    assert speculation.is_affordable(SPAN_NS + most)


def test_lanes_add_up_and_cores_share() -> None:
    for cores, lanes, is_affordable in ((1, 2, False), (2, 2, False), (4, 2, True), (2, 1, True)):
        speculation = Speculation(cores)
        for lane in range(lanes):
            speculation.began(lane, 0)
        assert speculation.is_affordable(2000 * MS) == is_affordable


def test_a_lane_that_ends_what_it_never_began_and_one_that_begins_twice() -> None:
    speculation = Speculation(cores=1)
    speculation.ended(3, 100)
    speculation.began(3, 0)
    speculation.began(3, 1900 * MS)
    assert not speculation.is_affordable(2000 * MS)
