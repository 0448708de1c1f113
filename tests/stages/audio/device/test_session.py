"""A conversation on a sound card in software: what is heard, when, and what is told of it."""

import numpy as np
import pytest

from benchmarks.sound_card import RATE, Room
from stages.audio.device.session import RESTING_BLOCKS
from stages.event import Event
from stages.messages import Caption, CaptionKind, Command, CommandAt, Levels, Played
from stages.topology import INPUT_BLOCK
from tests.stages.audio.device.desk import MS, Desk, open_desk

DAC_MS = 20
VOICE_RATE = 16_000


def tone(seconds: float, rate: int = VOICE_RATE, hz: float = 440.0) -> np.ndarray:
    times = np.arange(round(seconds * rate)) / rate
    return np.round(8000 * np.sin(2 * np.pi * hz * times)).astype(np.int16)


def events(desk: Desk) -> dict[Event, int]:
    return {Event(record.event): record.at for record in desk.lane._events.take()}


def first_loud(played: np.ndarray) -> int:
    return int(np.flatnonzero(np.abs(played) > 0.01)[0])


def test_the_microphone_arrives_whole_with_its_times() -> None:
    said = tone(0.5)
    with open_desk() as desk:
        desk.run(200)
        desk.card.room.say(said)
        desk.run(1000)
    heard = np.concatenate(desk.heard)
    assert desk.firsts == list(range(0, len(heard), INPUT_BLOCK))
    start = first_loud(heard / 32768)
    assert abs(start - 0.2 * RATE) < 20
    assert np.abs(heard[start + 100 : start + 7000]).max() == pytest.approx(8000, abs=60)
    # A block's time is that of its end at the microphone, 10 ms before it was handed over.
    for first, stamp in zip(desk.firsts, desk.stamps, strict=True):
        sound = stamp - (first + INPUT_BLOCK) * 62_500
        assert abs(sound - (desk.stamps[0] - INPUT_BLOCK * 62_500)) < MS


def test_while_nobody_speaks_several_blocks_come_at_once() -> None:
    def wakes_in_a_second(desk: Desk) -> int:
        desk.run(300)
        before = len(desk.arrived)
        desk.run(1000)
        return len(set(desk.arrived[before:]))

    with open_desk() as desk:
        assert wakes_in_a_second(desk) == pytest.approx(31 / RESTING_BLOCKS, abs=1)
        desk.turn.turn = 1
        desk.session.step()  # the word has woken it
        assert wakes_in_a_second(desk) == pytest.approx(31, abs=1)
        desk.turn.ended = 1
        assert wakes_in_a_second(desk) == pytest.approx(31 / RESTING_BLOCKS, abs=1)
    assert desk.firsts == list(range(0, len(desk.firsts) * INPUT_BLOCK, INPUT_BLOCK))


def test_an_answer_is_heard_through_at_the_pace_of_one_block() -> None:
    """Somebody who speaks into it is heard as soon as that can be."""
    with open_desk() as desk:
        desk.run(300)
        desk.turn.turn = desk.turn.ended = 1
        desk.speak(1, tone(2.0), VOICE_RATE)
        desk.session.step()
        desk.run(300)
        before = len(desk.arrived)
        desk.run(1000)
        assert len(set(desk.arrived[before:])) == pytest.approx(31, abs=1)


@pytest.mark.parametrize("rate", [16_000, 22_050, 24_000])
def test_an_answer_is_heard_to_its_end(rate: int) -> None:
    answer = tone(1.0, rate)
    with open_desk() as desk:
        desk.run(300)
        released = desk.now
        desk.speak(1, answer, rate)
        desk.session.step()
        desk.run(1500)
        assert desk.lane.played == Played(1, -(-len(answer) // 480), final=True)
        at = events(desk)
        loud = np.flatnonzero(np.abs(desk.played) > 0.01)
        assert (loud[-1] - loud[0]) / RATE == pytest.approx(1.0, abs=0.003)
        # It is sound as soon as the device asks again, and its stamps are told, not our clock.
        assert at[Event.PLAY_START] - released <= (10 + DAC_MS) * MS
        assert at[Event.PLAY_END] - at[Event.PLAY_START] == pytest.approx(1000 * MS, abs=MS)
        began = desk.card.calls_at[loud[0] // 160] + DAC_MS * MS
        assert at[Event.PLAY_START] == pytest.approx(began + loud[0] % 160 * 62_500, abs=2 * MS)
        assert Event.UNDERRUN not in at


def test_a_device_with_a_long_buffer_has_no_gaps() -> None:
    with open_desk(output_ms=400) as desk:
        desk.run(300)
        desk.speak(1, tone(2.0), VOICE_RATE)
        desk.session.step()
        desk.run(3000)
        at = events(desk)
        loud = np.flatnonzero(np.abs(desk.played) > 0.01)
        assert (loud[-1] - loud[0]) / RATE == pytest.approx(2.0, abs=0.003)
        assert at[Event.PLAY_END] - at[Event.PLAY_START] == pytest.approx(2000 * MS, abs=MS)
        assert Event.UNDERRUN not in at


def test_nothing_counts_as_heard_before_the_device_says_so() -> None:
    with open_desk() as desk:
        desk.run(300)
        desk.speak(1, tone(1.0), VOICE_RATE, block=160)
        desk.session.step()
        start = desk.now
        for _ in range(60):
            desk.run(10)
            position = desk.lane.played.position
            sounded = (desk.now - start) / MS - DAC_MS
            assert position <= max(0, sounded // 10)
            assert position >= sounded // 10 - 3


def test_a_stale_answer_is_silent_at_the_next_call() -> None:
    with open_desk() as desk:
        desk.run(300)
        desk.speak(1, tone(2.0), VOICE_RATE, block=160)
        desk.session.step()
        desk.run(500)
        calls = len(desk.card.log)
        desk.turn.answer = 2
        desk.session.step()
        desk.run(100)
        assert not np.concatenate(desk.card.log[calls:]).any()
        played = desk.lane.played
        assert (played.answer, played.final) == (1, True)
        loud = np.flatnonzero(np.abs(desk.played) > 0.01)
        assert abs(played.position * 160 - (loud[-1] - loud[0])) <= 160
        at = events(desk)
        assert at[Event.PLAY_END] - at[Event.PLAY_START] == pytest.approx(
            (loud[-1] - loud[0]) * 62_500, abs=2 * MS
        )


def test_the_next_answer_begins_at_its_beginning() -> None:
    with open_desk() as desk:
        desk.run(300)
        desk.speak(1, tone(2.0), VOICE_RATE)
        desk.session.step()
        desk.run(500)
        desk.speak(2, tone(0.3, hz=880.0), VOICE_RATE)
        desk.session.step()
        calls = len(desk.card.log)
        desk.run(1000)
        loud = np.flatnonzero(np.abs(np.concatenate(desk.card.log[calls:])) > 0.01)
        assert (loud[-1] - loud[0]) / RATE == pytest.approx(0.3, abs=0.01)
        assert desk.lane.played == Played(2, 10, final=True)


def stall(desk: Desk, ms: int) -> None:
    """The device plays on while this program does not run."""
    until = desk.now + ms * MS
    while desk.card.due <= until:
        desk.card.call()
    desk.now = until


@pytest.mark.parametrize("stalled_ms", [0, 150])
def test_what_is_held_goes_on_where_it_was_silent(stalled_ms: int) -> None:
    """After a stall what the flush threw away counted as heard, and its words were never said."""
    answer = np.concatenate([np.full(160, 1000 + 10 * n, np.int16) for n in range(100)])
    with open_desk() as desk:
        desk.run(300)
        desk.speak(1, answer, VOICE_RATE, block=160)
        desk.session.step()
        desk.run(300)
        desk.turn.hold = True
        desk.session.step()
        calls = len(desk.card.log)
        stall(desk, stalled_ms)
        desk.run(200)
        assert not np.concatenate(desk.card.log[calls:]).any()
        assert desk.lane.played.position <= 40
        desk.turn.hold = False
        desk.session.step()
        desk.run(1500)
        played = desk.played[desk.played != 0] * 32768
        assert np.array_equal(np.round(played), answer)
        assert desk.lane.played == Played(1, 100, final=True)
        assert Event.UNDERRUN not in events(desk)


def test_the_next_answer_is_heard_after_a_stall_in_an_interruption() -> None:
    """All was taken for heard before the device had said where it was silent; then it was mute."""
    with open_desk() as desk:
        desk.run(300)
        desk.speak(1, tone(0.4), VOICE_RATE, block=160)
        desk.session.step()
        desk.run(150)
        desk.turn.answer = 2
        desk.session.step()
        stall(desk, 150)
        desk.run(50)
        assert desk.lane.played.final
        loud = np.flatnonzero(np.abs(desk.played) > 0.01)
        assert abs(desk.lane.played.position * 160 - (loud[-1] - loud[0])) <= 160
        calls = len(desk.card.log)
        desk.speak(3, tone(0.3, hz=880.0), VOICE_RATE)
        desk.session.step()
        desk.run(1000)
        loud = np.flatnonzero(np.abs(np.concatenate(desk.card.log[calls:])) > 0.01)
        assert (loud[-1] - loud[0]) / RATE == pytest.approx(0.3, abs=0.01)


def test_a_pause_that_is_wanted_is_no_gap_though_no_sound_was_there() -> None:
    with open_desk() as desk:
        desk.run(300)
        desk.turn.answer = desk.turn.released = 1
        for part in range(2):
            block = tone(0.03)
            assert desk.tts.voice.put(block, first=0, rate=VOICE_RATE, answer=1, position=part + 1)
            desk.session.step()
            desk.run(200)
            desk.turn.hold = True
            desk.session.step()
            desk.run(100)
            desk.turn.hold = False
            desk.session.step()
        assert desk.lane.played.position == 2
        assert Event.UNDERRUN not in events(desk)


def test_a_voice_that_comes_late_is_a_gap_in_the_timeline() -> None:
    with open_desk() as desk:
        desk.run(300)
        desk.turn.answer = desk.turn.released = 1
        for part in range(2):
            block = tone(0.03)
            assert desk.tts.voice.put(block, first=0, rate=VOICE_RATE, answer=1, position=part + 1)
            desk.session.step()
            desk.run(330)
        records = {r.event: r for r in desk.lane._events.take()}
        gap = records[Event.UNDERRUN]
        assert gap.value == pytest.approx(300 * MS, abs=12 * MS)


def test_a_command_waits_for_the_sound_before_it() -> None:
    with open_desk() as desk:
        desk.run(505)
        desk.order(Command.COMMIT)
        desk.order(Command.CANCEL)
        desk.session.step()
        commands = [CommandAt.unpack(message) for message in desk.turn.commands.read()]
    commit, cancel = commands
    assert (commit.command, cancel.command) == (Command.COMMIT, Command.CANCEL)
    assert commit.sample == pytest.approx(0.505 * RATE, abs=0.012 * RATE)
    assert cancel.sample == 0


def test_levels_follow_both_sides() -> None:
    with open_desk() as desk:
        desk.run(300)
        assert desk.control.levels.loudspeaker == Levels.SILENT
        assert -75 < desk.control.levels.microphone < -65
        desk.card.room.say(tone(0.5))
        desk.speak(1, tone(0.5), VOICE_RATE)
        desk.session.step()
        desk.run(300)
        assert desk.control.levels.microphone == pytest.approx(-15.3, abs=0.5)
        assert desk.control.levels.loudspeaker == pytest.approx(-15.3, abs=0.5)
        desk.run(700)
        assert desk.control.levels.loudspeaker == Levels.SILENT


def test_a_device_that_goes_is_told_and_its_return_goes_on() -> None:
    answer = np.concatenate([np.full(160, 1000 + 10 * n, np.int16) for n in range(100)])
    with open_desk() as desk:
        desk.run(300)
        desk.speak(1, answer, VOICE_RATE, block=160)
        desk.session.step()
        desk.run(300)
        desk.card.is_active = False  # pulled out
        desk.run(200)
        assert not desk.control.device.is_open
        before = desk.firsts[-1]
        desk.run(4000)
        assert desk.control.device.is_open
        captions = [Caption.unpack(m) for m in desk.control._lane.command("captions_audio").read()]
        told = [(c.position, c.payload.decode()) for c in captions if c.kind is CaptionKind.DEVICE]
        assert told == [
            (0, "the sound card is gone; waiting for it"),
            (1, "the sound card is back"),
        ]
        # The time without a microphone is missing from the count, not squeezed out of it.
        jump = max(np.diff(desk.firsts))
        assert jump > 0.9 * RATE
        assert desk.firsts[-1] - before == pytest.approx(4.2 * RATE, abs=0.1 * RATE)
        # What the listener has not heard is heard now.
        assert desk.lane.played == Played(1, 100, final=True)
        played = np.round(desk.played[desk.played != 0] * 32768)
        assert np.array_equal(np.unique(played), np.unique(answer))


def test_sound_that_came_while_the_program_was_away_is_counted_as_lost() -> None:
    room_s = (1 << 16) / RATE  # of the card
    with open_desk() as desk:
        desk.run(300)
        assert desk.lane.mic.dropped == 0
        while desk.card.due < desk.now + 6_000 * MS:
            desk.card.call()
        desk.now += 6_000 * MS
        desk.run(300)
        missed = desk.lane.mic.dropped
        assert missed / RATE == pytest.approx(6.0 - room_s, abs=0.05)
        desk.card.is_active = False  # its successor begins to count anew
        desk.run(4200)
        assert desk.control.device.is_open
        assert desk.lane.mic.dropped == missed


def test_a_device_that_does_not_start_is_tried_again() -> None:
    with open_desk() as desk:
        desk.run(300)
        desk.card.refuses = 2
        desk.card.is_active = False
        desk.run(2500)
        assert not desk.control.device.is_open
        desk.run(2000)
        assert desk.control.device.is_open
        blocks = len(desk.firsts)
        desk.run(500)
        assert len(desk.firsts) >= blocks + 15


@pytest.mark.parametrize("ppm", [-400.0, 400.0])
def test_drift_is_taken_back_in_silence(ppm: float) -> None:
    with open_desk(ppm=ppm) as desk:
        desk.run(120_000)
        count = desk.firsts[-1] + INPUT_BLOCK
        off = (desk.stamps[-1] - desk.stamps[0]) / 62_500 - (count - INPUT_BLOCK)
        assert abs(off) < 0.025 * RATE  # without it, 48 ms
        assert desk.control.device.corrections >= 1
        assert set(np.diff(desk.firsts)) == {INPUT_BLOCK}


def test_drift_waits_while_somebody_speaks() -> None:
    with open_desk(ppm=-400.0) as desk:
        desk.run(3000)
        desk.card.room.say(np.tile(tone(1.0), 80))
        desk.run(77_000)
        assert desk.control.device.corrections == 0
        desk.run(6_000)
        assert desk.control.device.corrections == 1


def test_half_duplex_hears_nothing_while_it_speaks() -> None:
    room = Room(echo_db=-10.0, delay_s=0.04)
    with open_desk(room, echo="half-duplex") as desk:
        desk.run(500)
        desk.speak(1, tone(1.0), VOICE_RATE)
        desk.session.step()
        desk.run(2500)
        heard = np.concatenate(desk.heard).astype(float)
        loudest = np.abs(heard).max()
        assert loudest < 60  # the room's tone, not the echo of 8000 at -10 dB
        assert np.abs(heard[-RATE:]).max() > 5  # heard again


def test_half_duplex_hears_whoever_interrupts_soon_after_the_answer_was_cut() -> None:
    """It stayed deaf for as long as the voice had been written ahead."""
    with open_desk(echo="half-duplex") as desk:
        desk.run(500)
        desk.speak(1, tone(2.0), VOICE_RATE)
        desk.session.step()
        desk.run(800)
        desk.turn.answer = 2
        desk.session.step()
        desk.run(DAC_MS + 10)
        begun = len(desk.heard)
        desk.card.room.say(tone(1.0))
        desk.run(900)
        loud = np.abs(np.concatenate(desk.heard[begun:]).astype(float)) > 1000
        assert np.flatnonzero(loud)[0] / 16 < 250 + DAC_MS + 70, "two blocks more at most"


def test_another_default_is_not_told_as_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_desk() as desk:
        desk.run(300)
        opened = desk.card.open

        def open_another(*, look_again: bool = False) -> None:
            opened(look_again=look_again)
            desk.card.both = "the microphone 'webcam'"

        monkeypatch.setattr(desk.card, "open", open_another)
        desk.card.is_active = False
        desk.run(4000)
        told = [
            Caption.unpack(message)
            for message in desk.control._lane.command("captions_audio").read()
        ]
    notices = [caption.payload.decode() for caption in told if caption.kind is CaptionKind.DEVICE]
    assert notices[-1] == "going on with the microphone 'webcam'"


def test_headphones_hear_all_the_time() -> None:
    with open_desk(Room(echo_db=-10.0, delay_s=0.04)) as desk:
        desk.run(500)
        desk.speak(1, tone(1.0), VOICE_RATE)
        desk.session.step()
        desk.run(1500)
        assert np.abs(np.concatenate(desk.heard).astype(float)).max() > 1000
