import os
from collections.abc import Iterator

import pytest

from ringbuf import Arena, BellPipe
from stages.event import Event
from stages.lane import Lane
from stages.stage import Session
from stages.topology import topology
from stages.tts.fair import step_fairly
from stages.tts.speaker import Speaker
from tests.stages.tts.test_speaker import Beeps

LANES = 3


class Rig:
    """Speakers on lanes of one arena, and the other ends of their rings."""

    def __init__(self) -> None:
        layout = topology(lanes=LANES, context=256)
        self.bells = {name: BellPipe.create() for name in layout.processes}
        owner = Arena.create(layout, "control", self.bells)
        self.arenas = {"control": owner}
        for name in ("turn", "llm", "tts", "audio"):
            self.arenas[name] = Arena.attach(os.dup(owner.fd), name, self.bells)
        self.time = 0
        self.order: list[int] = []
        self.speakers = [self._speaker(number) for number in range(LANES)]
        for number in range(LANES):
            self.lane("turn", number).answer = 1
        self.failed: list[tuple[Session, Exception]] = []

    def lane(self, process: str, number: int) -> Lane:
        arena = self.arenas[process]
        return Lane(arena.lane(number), process, arena.events(process))

    def _speaker(self, number: int) -> Speaker:
        def begin() -> Beeps:
            beeps = Beeps()
            more = beeps.more

            def noted() -> object:
                sound = more()
                if sound:
                    self.order.append(number)
                    self.time += 10
                return sound

            beeps.more = noted  # type: ignore[method-assign, assignment]
            return beeps

        return Speaker(self.lane("tts", number), begin, lambda: self.time)

    def reply(self, number: int, ids: list[int], first: int = 0) -> None:
        ring = self.lane("llm", number).reply
        for position, id in enumerate(ids, first):
            assert ring.put(id, position=position, turn=1, answer=1)
            ring.stamp[position] = self.time

    def step(self, *numbers: int) -> None:
        speakers = [self.speakers[number] for number in numbers]
        step_fairly(speakers, lambda session, error: self.failed.append((session, error)))

    def close(self) -> None:
        for arena in self.arenas.values():
            arena.close()
        for bell in self.bells.values():
            bell.close()


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()


def test_one_stretch_a_step_and_who_waits_is_asked_again(rig: Rig) -> None:
    rig.reply(0, [1, 2])
    rig.reply(1, [1, 2])
    rig.step(0, 1)
    assert len(rig.order) == 1
    assert rig.speakers[0].due == rig.speakers[1].due == 0


def test_a_long_reply_does_not_delay_anothers_first_sound(rig: Rig) -> None:
    rig.reply(0, [1] * 50)
    for _ in range(10):
        rig.step(0)
    rig.reply(1, [1])
    rig.step(0, 1)
    assert rig.order == [0] * 10 + [1]


def test_lanes_take_turns_by_what_their_listeners_have_left(rig: Rig) -> None:
    for number in range(LANES):
        rig.reply(number, [1] * 20)
    for _ in range(30):
        rig.step(0, 1, 2)
    assert [rig.order.count(number) for number in range(LANES)] == [10, 10, 10]
    with rig.lane("audio", 2).voice.read():
        pass  # the listener of lane 2 has heard all of it
    for _ in range(5):
        rig.step(0, 1, 2)
    assert rig.order[30:] == [2] * 5


def test_a_lane_that_fails_delays_nobody(rig: Rig) -> None:
    rig.reply(0, [666])
    rig.reply(1, [1])
    rig.step(0, 1)
    assert [session for session, _ in rig.failed] == [rig.speakers[0]]
    assert rig.order == [1]


def late(rig: Rig) -> list[int]:
    records = rig.arenas["control"].events("tts").take()
    return [record.value for record in records if record.event == Event.VOICE_LATE]


def test_a_voice_that_keeps_its_listener_waiting_says_so(rig: Rig) -> None:
    rig.reply(0, [1, 2])
    rig.lane("turn", 0).released = 1
    rig.step(0)
    assert late(rig) == []  # the first sound is not late: its latency is told otherwise
    with rig.lane("audio", 0).voice.read():
        pass
    rig.step(0)
    assert late(rig) == [10]


def test_a_listener_who_waits_for_words_is_no_fault_of_the_voice(rig: Rig) -> None:
    rig.reply(0, [1])
    rig.lane("turn", 0).released = 1
    rig.step(0)
    with rig.lane("audio", 0).voice.read():
        pass
    rig.step(0)  # nothing to say
    rig.time += 1000
    rig.reply(0, [2], first=1)
    rig.step(0)
    assert late(rig) == [10]


def test_a_voice_that_was_busy_with_others_is_late_since_it_knew_the_words(rig: Rig) -> None:
    """It counted from when it came to the lane: the gap looked like missing words."""
    rig.reply(0, [1, 2])
    rig.lane("turn", 0).released = 1
    rig.step(0)
    with rig.lane("audio", 0).voice.read():
        pass
    rig.reply(1, [1, 2, 3])
    for _ in range(3):
        rig.step(1)
    rig.step(0)
    assert late(rig) == [40]
