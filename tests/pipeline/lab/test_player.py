"""What a client of an endpoint hears, piece by piece."""

import numpy as np

from pipeline.lab.player import Player

MS = 1_000_000


def piece(ms: int, value: int = 1000) -> np.ndarray:
    return np.full(16 * ms, value, np.int16)


def heard(player: Player, answer: int = 1) -> list[tuple[int, int]]:
    """When each piece began, and how long it is, ms."""
    return [(start // MS, len(samples) // 16) for start, samples in player.answers[answer].pieces]


def test_pieces_follow_each_other_however_early_they_come() -> None:
    player = Player()
    player.start(1)
    for at in (100, 101, 102):
        player.take(1, piece(20), at * MS)
    assert heard(player) == [(100, 20), (120, 20), (140, 20)]
    assert player.answers[1].underruns == []
    assert player.is_playing(1, 159 * MS)
    assert not player.is_playing(1, 160 * MS)


def test_a_piece_that_is_late_leaves_a_gap() -> None:
    player = Player()
    player.take(1, piece(20), 100 * MS)
    player.take(1, piece(20), 170 * MS)
    player.take(1, piece(20), 192 * MS)  # the clock of a program is no gap
    assert heard(player) == [(100, 20), (170, 20), (192, 20)]
    assert player.answers[1].underruns == [(120 * MS, 50 * MS)]


def test_what_a_voice_held_goes_on_where_it_stopped() -> None:
    player = Player()
    player.take(1, piece(100), 100 * MS)
    player.pause(1, 130 * MS)
    player.take(1, piece(20), 140 * MS)
    assert player.is_playing(1, 300 * MS), "held back is not over"
    player.resume(1, 500 * MS)
    assert heard(player) == [(100, 30), (500, 70), (570, 20)]
    assert player.answers[1].underruns == [], "the pause is no gap"


def test_what_was_cut_is_not_heard() -> None:
    player = Player()
    player.take(1, piece(100), 100 * MS)
    player.take(1, piece(100), 101 * MS)
    player.cut(1, 150 * MS)
    assert heard(player) == [(100, 50)]
    assert not player.is_playing(1, 151 * MS)


def test_a_cut_behind_a_pause_drops_what_was_held() -> None:
    player = Player()
    player.take(1, piece(100), 100 * MS)
    player.pause(1, 130 * MS)
    player.cut(1, 200 * MS)
    assert heard(player) == [(100, 30)]
    assert not player.is_playing(1, 201 * MS)
    player.start(2)
    player.take(2, piece(20), 300 * MS)
    assert heard(player, 2) == [(300, 20)]


def test_news_of_answers_that_never_sounded() -> None:
    player = Player()
    player.pause(7, 0)
    player.resume(7, 0)
    player.cut(7, 0)
    assert player.answers == {}
