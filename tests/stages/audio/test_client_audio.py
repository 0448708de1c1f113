"""The edge of a program that brings its own sound, on a clock of our own."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from pipeline.errors import AudioError
from pipeline.events import Sound, SoundEnded
from stages.audio.client import BLOCK_NS, LEAD, REST_NS, ClientSession
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
