"""A program that keeps one conversation in an arena, until it is killed: python talker.py FD."""

import sys
from collections.abc import Iterator

import numpy as np

from ringbuf import Arena, BellPipe
from stages.llm.conversation import Conversation
from stages.llm.journal import Journal
from stages.llm.scripted_engine import ScriptedEngine, scripted_pieces
from stages.topology import LLM, topology

CONTEXT = 256
REPLY = 40  # ids


def conversation() -> Conversation:
    """An empty one, in an engine of its own."""
    engine = ScriptedEngine([range(1000, 1000 + REPLY)], CONTEXT)
    return Conversation(engine, 0, scripted_pieces([1, 2, 3]), REPLY)


def talk() -> Iterator[Conversation]:
    """Turn after turn, word by word and id by id, for ever; the same in every program."""
    said, turn = conversation(), 0
    while True:
        said.begin(turn, 7 * turn % REPLY)
        for position in range(turn % 5 + 1):
            said.hear(np.array([position + turn % 900], np.int32), position)
            yield said
        said.ask(turn)
        yield said
        while said.behind:
            said.catch_up()
        while said.answering:
            said.step()
            yield said
        turn += 1


if __name__ == "__main__":
    nobody = dict.fromkeys(topology(1, CONTEXT).processes, BellPipe(-1, -1))
    arena = Arena.attach(int(sys.argv[1]), LLM, nobody)
    journal = Journal(arena.lane(0).command("history"))
    for state in talk():
        journal.save(state)
