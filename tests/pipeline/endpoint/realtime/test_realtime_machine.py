"""Whatever a client sends and whatever happens, in whatever order: what is told makes sense."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.realtime_messages import message
from pipeline.endpoint.realtime.actions import Ask, Settle
from pipeline.events import Fault, SoundCut, TurnBegan, TurnClosed, UserText
from stages.llm.wishes import pack, unpack
from stages.outcome import Outcome
from stages.turn.settings import TurnSettings
from tests.pipeline.endpoint.realtime.bench import Bench
from tests.pipeline.endpoint.realtime.shapes import check


class Pipeline:
    """Does what a pipeline does, in its order, and any of it may be left out."""

    def __init__(self, bench: Bench, random: Random) -> None:
        self.bench = bench
        self.random = random
        self.is_speaking = False
        self.is_answering = False
        self.written = 0
        self.sounded = 0

    def step(self) -> None:
        b, random = self.bench, self.random
        acts = [self.fault] if random.randrange(10) == 0 else []
        if self.is_answering:
            acts += [self.write, self.sound, self.sound, self.end, self.cut]
        elif self.is_speaking:
            acts += [self.hear, self.close]
        else:
            acts += [self.begin, self.release]
        random.choice(acts)()
        assert b.turn < 2**32

    def begin(self) -> None:
        self.bench.turn += 1
        self.is_speaking = True
        self.bench.happen(TurnBegan(self.bench.turn, self.random.randrange(5000)))

    def hear(self) -> None:
        final = bool(self.random.randrange(2))
        self.bench.happen(UserText(self.bench.turn, self.random.choice(["", "Hello."]), final))

    def close(self) -> None:
        self.is_speaking = False
        self.bench.happen(TurnClosed(self.bench.turn, self.random.randrange(5000)))
        if self.random.randrange(3):
            self.release(voice=True)
        else:
            self.bench.answer += 1
            self.bench.end(Outcome.NOTED, said="Hello.")

    def release(self, *, voice: bool = False) -> None:
        self.written = self.sounded = 0
        self.is_answering = True
        self.bench.release(voice=voice)

    def write(self) -> None:
        self.written = min(self.written + self.random.randrange(9), len(self.bench.words))
        self.bench.write(self.written)

    def sound(self) -> None:
        ms = self.random.randrange(1, 200)
        self.bench.sound(ms, self.sounded, min(self.written, self.sounded // 20))
        self.sounded += ms

    def cut(self) -> None:
        self.bench.happen(SoundCut(self.bench.answer))
        self.end()

    def end(self) -> None:
        self.is_answering = False
        self.bench.end(self.random.choice(list(Outcome)), heard="It", said="Hello.")

    def fault(self) -> None:
        self.bench.happen(Fault(self.bench.turn, "stage llm was killed"))


def check_order(told: list[dict[str, Any]]) -> None:
    """Responses come one after the other, and nothing of one comes outside of it."""
    active: str | None = None
    items: set[str] = set()
    for event in told:
        kind = event["type"]
        if kind == "response.created":
            assert active is None
            active = event["response"]["id"]
            assert event["response"]["status"] == "in_progress"
        elif kind == "response.done":
            assert event["response"]["id"] == active
            assert event["response"]["status"] in ("completed", "cancelled", "failed", "incomplete")
            assert event["response"]["usage"] is not None
            active = None
        elif kind.startswith("response."):
            assert event["response_id"] == active
        if kind in ("conversation.item.added", "conversation.item.created"):
            assert event["item"]["id"] not in items
            items.add(event["item"]["id"])
            assert event["previous_item_id"] is None or event["previous_item_id"] in items
        if kind == "conversation.item.deleted":
            items.discard(event["item_id"])


@settings(max_examples=150)
@given(st.integers(0, 2**32), st.booleans())
def test_whatever_comes_what_is_told_makes_sense(seed: int, is_beta: bool) -> None:
    random = Random(seed)
    bench = Bench(is_beta=is_beta)
    pipeline = Pipeline(bench, random)
    for _ in range(60):
        if random.randrange(2):
            pipeline.step()
            continue
        before = len(bench.told)
        sent = message(random, most=2_000)
        bench.take(bench.core.receive(sent))
        errors = [e for e in bench.told[before:] if e["type"] == "error"]
        assert len(errors) <= 1
        assert all(e["error"]["type"] == "invalid_request_error" for e in errors)
    if not is_beta:  # a flat session changes the dialect in the middle
        check([e for e in bench.told if not _is_flat(e)])
    check_order(bench.told)
    for action in bench.done:  # what is passed on can be read
        if isinstance(action, Ask):
            assert unpack(pack(action.wish)) == action.wish
        elif isinstance(action, Settle):
            packed = action.settings.pack()
            assert TurnSettings.model_validate_json(packed) == action.settings


def _is_flat(event: dict[str, Any]) -> bool:
    session = event.get("session", {"audio": None})
    return "audio" not in session
