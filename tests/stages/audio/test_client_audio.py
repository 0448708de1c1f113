"""The edge of a program that brings its own sound, on a clock of our own."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from pipeline.errors import AudioError
from pipeline.events import Sound, SoundCut, SoundEnded, SoundPaused, SoundResumed
from stages.audio.client import BLOCK_NS, LEAD, REPORT_NS, REST_NS, ClientSession
from stages.messages import Command, CommandAt, End, Played, Status
from stages.topology import INPUT_BLOCK, MIC_BLOCKS


@dataclass
class World:
    """One lane as `turn`, `tts` and the edge see it."""

    turn: object
    tts: object
    session: ClientSession = None
    now: int = 10**18  # after every stamp of a block
    heard: list = field(default_factory=list)

    def step(self, after=0):
        self.now += after
        self.session.step()

    def mic(self):
        with self.turn.mic.read() as batch:
            return [(block.first, block.samples.tolist()) for block in batch]


@pytest.fixture
def world(make_lane):
    made = World(make_lane("turn"), make_lane("tts"))
    made.session = ClientSession(make_lane("audio"), lambda: made.now)
    made.session.on_sound = made.heard.append
    return made


def sound(count, start=0):
    return np.arange(start, start + count).astype(np.int16)


def test_whole_blocks_go_at_once_and_the_rest_when_nothing_follows(world):
    world.session.feed(sound(INPUT_BLOCK + 100))
    world.step()
    assert [(first, len(samples)) for first, samples in world.mic()] == [(0, INPUT_BLOCK)]
    world.step(after=REST_NS - 1)
    assert world.mic() == []
    world.step(after=1)
    assert world.mic() == [(INPUT_BLOCK, list(range(INPUT_BLOCK, INPUT_BLOCK + 100)))]
    world.session.feed(sound(INPUT_BLOCK))
    world.step()
    assert [first for first, _ in world.mic()] == [INPUT_BLOCK + 100]


def test_pieces_that_keep_coming_make_whole_blocks(world):
    lengths = []
    for n in range(40):
        world.session.feed(sound(320, 320 * n))
        world.step(after=20_000_000)
        lengths += [len(samples) for _, samples in world.mic()]
    assert lengths == [INPUT_BLOCK] * (40 * 320 // INPUT_BLOCK)


def test_a_command_says_how_much_was_fed_before_it(world):
    world.session.feed(sound(700))
    world.session.command(Command.COMMIT)
    world.session.feed(sound(50))
    world.session.command(Command.CANCEL)
    orders = [CommandAt.unpack(message) for message in world.turn.commands.read()]
    assert orders == [CommandAt(Command.COMMIT, 700), CommandAt(Command.CANCEL, 750)]
    assert sum(len(samples) for _, samples in world.mic()) == 750


def test_a_command_counts_sound_that_waits_for_room(world):
    more = MIC_BLOCKS * INPUT_BLOCK + LEAD + 1
    world.session.feed(sound(more))
    world.session.command(Command.MUTE)
    assert world.session.is_behind
    assert CommandAt.unpack(world.turn.commands.read()[0]).sample == more
    world.mic()
    world.step()
    world.step(after=REST_NS)
    first, samples = world.mic()[-1]
    assert first + len(samples) == more


def test_commands_that_nobody_follows_are_refused(world):
    ring, message = world.session.lane.commands, CommandAt(Command.CANCEL, 0).pack()
    while ring.put(message):
        pass
    with pytest.raises(AudioError, match="too many commands are waiting"):
        world.session.command(Command.CANCEL)


def test_an_answer_is_handed_over_as_it_sounds(world):
    world.turn.answer = 1
    world.tts.voice.put(sound(480), first=0, rate=24_000, answer=1, position=3)
    world.tts.voice_end = End(1, 1, Status.OK)
    world.turn.released = 1
    for _ in range(5):
        world.step(after=BLOCK_NS)
    sounds = [event for event in world.heard if isinstance(event, Sound)]
    assert np.concatenate([sound.samples for sound in sounds]).tolist() == list(range(480))
    assert [sound.first for sound in sounds] == sorted({sound.first for sound in sounds})
    assert world.heard[-1] == SoundEnded(1, 480)
    assert world.turn.played == Played(1, 3, True)


def test_a_failure_gives_the_answer_up_and_is_not_met_at_once_again(world):
    world.turn.answer = world.turn.released = 1
    world.step()
    assert world.session.due is None  # it is rung when there is something to hear

    def broken(event):
        raise RuntimeError("no such device")

    world.session.on_sound = broken
    world.tts.voice.put(sound(480), first=0, rate=24_000, answer=1, position=3)
    world.step()  # it begins to sound
    with pytest.raises(RuntimeError) as caught:
        world.step(after=BLOCK_NS)
    world.session.fail(caught.value)
    assert world.turn.played.failed
    assert world.session.due > world.now


LEAD_NS = 300_000_000
SIZE = 480  # samples of a block: 20 ms


@pytest.fixture
def ahead(world):
    """A lane whose program wants its sound a little early; an answer of a second waits."""
    world.session.lead(LEAD_NS)
    world.turn.answer = 1
    for n in range(50):
        world.tts.voice.put(sound(SIZE), first=n * SIZE, rate=24_000, answer=1, position=n + 1)
    world.tts.voice_end = End(1, 50, Status.OK)
    world.turn.released = 1
    world.step()
    return world


def sent(world):
    return sum(len(event.samples) for event in world.heard if isinstance(event, Sound))


def run_for(world, ns):
    """Step as often as the session asks to be."""
    end = world.now + ns
    while world.session.due is not None and world.session.due <= end:
        world.step(after=max(0, world.session.due - world.now))
    world.now = end


def test_sound_is_sent_early_but_counts_when_its_time_has_passed(ahead):
    assert sent(ahead) == 15 * SIZE
    assert ahead.turn.played == Played(1, 0, False)
    run_for(ahead, 500_000_000)
    assert sent(ahead) == 40 * SIZE
    assert ahead.turn.played.position == 25
    run_for(ahead, 600_000_000)
    assert ahead.heard[-1] == SoundEnded(1, 50 * SIZE)
    assert ahead.turn.played == Played(1, 50, True)
    assert ahead.session.due is None


def test_a_voice_over_the_answer_pauses_it_and_lets_it_go_on(ahead):
    run_for(ahead, 100_000_000)
    ahead.turn.hold = True
    ahead.step()
    before = sent(ahead)
    ahead.now += 400_000_000
    ahead.step()
    assert sent(ahead) == before
    ahead.turn.hold = False
    ahead.step()
    kinds = [type(e) for e in ahead.heard if not isinstance(e, Sound)]
    assert kinds == [SoundPaused, SoundResumed]
    run_for(ahead, 1_000_000_000)
    assert ahead.turn.played == Played(1, 50, True)


def test_a_cut_answer_is_told_and_counts_what_the_clock_says(ahead):
    run_for(ahead, 210_000_000)
    ahead.turn.answer = 2
    ahead.step()
    assert ahead.heard[-1] == SoundCut(1)
    assert ahead.turn.played == Played(1, 10, True)


def test_a_client_s_reports_move_the_clock(ahead):
    run_for(ahead, 200_000_000)
    ahead.session.report(1, 5 * SIZE, final=False)  # it plays 100 ms behind
    assert ahead.turn.played.position == 10, "what was told is not taken back"
    run_for(ahead, 200_000_000)
    assert ahead.turn.played.position == 15
    run_for(ahead, 2_000_000_000)
    assert ahead.turn.played == Played(1, 50, True)


def test_of_a_cut_answer_the_client_knows_better_than_the_clock(ahead):
    run_for(ahead, 400_000_000)
    ahead.session.report(1, 18 * SIZE, final=False)
    ahead.turn.answer = 2
    ahead.step()
    assert not ahead.turn.played.final
    ahead.session.report(1, 17 * SIZE + 5, final=True)
    assert ahead.turn.played == Played(1, 17, True)


def test_a_report_that_does_not_come_is_not_waited_for(ahead):
    ahead.session.report(1, 0, final=False)
    run_for(ahead, 100_000_000)
    ahead.turn.answer = 2
    ahead.step()
    assert not ahead.turn.played.final
    run_for(ahead, REPORT_NS)
    assert ahead.turn.played.final


def test_what_was_reported_in_a_pause_holds_at_once(ahead):
    run_for(ahead, 300_000_000)
    ahead.turn.hold = True
    ahead.step()
    ahead.session.report(1, 12 * SIZE, final=False)
    ahead.turn.answer = 2
    ahead.turn.hold = False
    ahead.step()
    assert ahead.turn.played == Played(1, 12, True)


def test_reports_of_other_answers_and_of_more_than_was_sent_change_nothing(ahead):
    ahead.session.report(7, 10**9, final=True)
    ahead.session.report(1, 10**9, final=False)
    run_for(ahead, 0)
    assert ahead.turn.played.position <= 15
    run_for(ahead, 2_000_000_000)
    assert ahead.turn.played == Played(1, 50, True)


def test_a_program_that_was_away_for_longer_than_the_lead_does_not_count_what_it_did_not_send(
    ahead,
):
    run_for(ahead, 100_000_000)
    assert sent(ahead) == 20 * SIZE
    ahead.step(after=1_000_000_000)  # the event loop stood still
    assert ahead.turn.played.position == 20
    run_for(ahead, 100_000_000)
    assert ahead.turn.played.position == 25
    run_for(ahead, 1_000_000_000)
    assert ahead.turn.played == Played(1, 50, True)
