"""What is kept of a conversation: small, and whole at every instant."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from ringbuf import Arena, BellPipe, CommandRing, Kind
from stages.lane import Lane
from stages.llm.change import Change
from stages.llm.conversation import Conversation
from stages.llm.journal import Journal
from stages.llm.part import Part, Source
from stages.llm.scripted_engine import ScriptedEngine, scripted_pieces
from stages.llm.session import LlmSession
from stages.topology import LLM, topology
from tests.stages.llm import talker
from tests.stages.llm.test_llm_session import SYSTEM, Bench

ROOT = Path(__file__).parents[3]
STOPS = 40
DEADLINE_S = 30.0


@contextmanager
def arena_of(context: int) -> Iterator[Arena]:
    layout = topology(1, context)
    nobody = dict.fromkeys(layout.processes, BellPipe(-1, -1))
    with Arena.create(layout, LLM, nobody) as arena:
        yield arena


def ring_of(arena: Arena) -> CommandRing:
    return arena.lane(0).command("history")


def restored(changes: list[Change]) -> tuple[object, ...]:
    said = talker.conversation()
    said.restore(changes)
    return (said.turn, said.answer, *said.words, "reply", *said.reply, "all", *said.ids)


@pytest.fixture
def ring() -> Iterator[CommandRing]:
    with arena_of(talker.CONTEXT) as arena:
        yield ring_of(arena)


def test_a_change_is_the_same_in_bytes() -> None:
    for change in (
        Change(None, None, 3, 3, 3, 0, 0, [Part(Source.OPENING, 0, 0, 3)], [1, 2, 3]),
        Change(2**32 - 1, 2**32 - 2, 9, 12, 13, 13, 4, [], [2**31 - 1, -1]),
        Change(1, 2, 9, 9, 9, 9, 1, [Part(Source.WRITTEN, 2**32 - 1, 5, 9)], []),
    ):
        assert Change.unpack(change.pack()) == change


def test_what_was_kept_is_what_is_there(ring: CommandRing) -> None:
    """Over many turns, a context that fills and a ring that wraps, id by id."""
    journal = Journal(ring)
    for said in islice(talker.talk(), 1500):
        journal.save(said)
        assert restored(Journal(ring).read()) == restored([said.change(whole=True)])


def test_a_program_that_dies_while_it_writes_all_anew_leaves_one_whole_conversation(
    ring: CommandRing,
) -> None:
    """Between the new one and the end of the old one."""
    journal = Journal(ring)
    for said in islice(talker.talk(), 100):
        journal.save(said)
    everything = said.change(whole=True)
    ring.put(everything.pack())
    assert restored(Journal(ring).read()) == restored([everything])


def test_nothing_new_is_nothing_written(ring: CommandRing) -> None:
    journal, said = Journal(ring), talker.conversation()
    journal.save(said)
    written = ring.written
    journal.save(said)
    assert ring.written == written
    said.begin(1, 0)
    journal.save(said)
    assert ring.written > written


def test_the_largest_conversation_fits(ring: CommandRing) -> None:
    """A context full of turns of one word and no answer that was heard."""
    journal, said = Journal(ring), talker.conversation()
    for turn in range(4 * talker.CONTEXT):
        said.begin(turn, 0)
        said.hear(np.array([turn], np.int32), 0)
        journal.save(said)
    assert restored(Journal(ring).read()) == restored([said.change(whole=True)])


@pytest.mark.parametrize("context", [256, 2048, 2559])
def test_the_ring_holds_three_conversations_of_any_form(context: int) -> None:
    """An id that is a part by itself is the most that one can cost."""
    worst = 4 * context + 16 * context + 64
    with arena_of(context) as arena:
        assert 3 * worst <= ring_of(arena).spec.capacity


def test_an_id_costs_the_same_in_a_long_conversation() -> None:
    context = 1024
    with arena_of(context) as arena:
        ring = ring_of(arena)
        journal, costs = Journal(ring), []
        engine = ScriptedEngine([range(1000, 1000 + context)], context)
        said = Conversation(engine, 0, scripted_pieces([1]), context)
        said.begin(0, 0)
        said.hear(np.array([5], np.int32), 0)
        said.ask(1)
        said.catch_up()
        while said.answering:
            said.step()
            before = ring.written
            journal.save(said)
            costs.append(ring.written - before)
    assert sorted(costs)[len(costs) * 99 // 100] == costs[1] <= 48
    # Now and then all is written anew: its share of an id does not grow with the conversation.
    assert sum(costs) / len(costs) < 2 * 48


def test_a_session_of_the_next_program_goes_on(make_lane: Callable[[str], Lane]) -> None:
    bench = Bench(make_lane, [[201, 202], [211]])
    bench.start()
    bench.say([10, 11])
    bench.mark(Kind.END, 2)
    bench.run()
    next_lane = make_lane(LLM)
    for next_lane.is_reopened, wanted in ((True, bench.talk.ids), (False, SYSTEM)):
        blank = Conversation(ScriptedEngine([[211]], 128), 0, scripted_pieces(SYSTEM), 20)
        pieces, silent = lambda _: scripted_pieces([]), lambda _: False
        LlmSession(next_lane, blank, pieces, lambda _: [], silent, lambda: 0)
        assert blank.ids == wanted


def test_a_program_that_is_stopped_at_any_instant_leaves_a_conversation() -> None:
    """Stopped, which leaves in shared memory what kill -9 would, and looked at, again and again."""
    with arena_of(talker.CONTEXT) as arena:
        ring = ring_of(arena)
        command = [sys.executable, "-m", talker.__name__, str(arena.fd)]
        with subprocess.Popen(command, cwd=ROOT, pass_fds=[arena.fd]) as child:
            seen = [stopped(child.pid, ring) for _ in range(STOPS)]
            child.kill()
    last = max(changes[-1].turn or 0 for changes in seen)
    possible = set()
    for said in talker.talk():
        if said.turn is not None and said.turn > last:
            break
        possible.add(restored([said.change(whole=True)]))
    assert {restored(changes) for changes in seen} <= possible
    assert len({len(changes) for changes in seen}) > STOPS // 2


def stopped(pid: int, ring: CommandRing) -> list[Change]:
    """What lies in the ring at some instant, while its writer is stopped."""
    target, end = ring.written + random.randrange(1, 2000), time.monotonic() + DEADLINE_S
    while ring.written < target:
        assert time.monotonic() < end, "the child does not write"
    os.kill(pid, signal.SIGSTOP)
    assert os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])
    changes = Journal(ring).read()
    os.kill(pid, signal.SIGCONT)
    return changes
