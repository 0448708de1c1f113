"""One lane's conversation, kept in an engine: what was said, and of the answers what was heard."""

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import StageError
from stages.llm.change import Change
from stages.llm.engine import Engine
from stages.llm.pieces import Pieces

CHUNK = 64  # ids computed at once at most, so that a long prefill does not hold up other lanes


class Conversation:
    """What a lane's content is to be, and how far the engine is.

    Every event changes `ids`, the wanted content; `catch_up` brings the engine there, piece by
    piece. A revision is a rollback to the position from which the words differ.

    When the context is full the oldest turns leave: everything between the opening and the
    earliest turn from which on all fits in half the context. The turn that is being spoken always
    stays; if it alone is too long, it fails.

    Args:
        engine: any engine.
        lane: its number in the engine, where it is opened here.
        pieces: the form of the conversation.
        limit: a reply is cut after so many ids.

    Attributes:
        ids: the conversation; enough to build it again in another engine.
        turn: the user's turn that is current; none before the first.
        answer: the reply that is being or was last generated; none if this turn has no reply yet.
        answering: it is not complete.

    Raises:
        StageError: the opening leaves no room in the context, or there is no memory.
    """

    def __init__(self, engine: Engine, lane: int, pieces: Pieces, limit: int) -> None:
        self._engine = engine
        self.lane = lane
        self._pieces = pieces
        self._limit = limit
        self.turn: int | None = None
        self.answer: int | None = None
        self.answering = False
        self.ids: list[int] = []
        self._starts: list[int] = []  # where each turn's words begin
        self._base = self._end = 0  # of the current turn's words
        self._reply = 0  # where the answer begins
        self._same = 0  # so many ids are as the last `change` has them
        self._start_over(pieces.opening)
        engine.open(lane)

    @property
    def behind(self) -> bool:
        """The engine has not computed all of `ids` yet."""
        return self._engine.length(self.lane) < len(self.ids)

    @property
    def reply(self) -> list[int]:
        """The ids of the answer so far."""
        return [] if self.answer is None else self.ids[self._reply :]

    @property
    def words(self) -> list[int]:
        """The ids of the current turn's words."""
        return self.ids[self._base : self._end]

    def instruct(self, pieces: Pieces) -> None:
        """Replace the system prompt.

        Raises:
            StageError: the first turn has begun, or the new one leaves no room.
        """
        if self.turn is not None:
            raise StageError("the system prompt can only be set before the first turn")
        self._start_over(pieces.opening)
        self._engine.rollback(self.lane, 0)
        self._pieces = pieces

    def begin(self, turn: int, heard: int, *, cut: bool = False) -> None:
        """The user's next turn begins; the last answer is cut to what was heard of it.

        Args:
            turn: its number.
            heard: how many ids of the last answer were heard; with none, the words of both turns
                make one message.
            cut: there was more to say, which the conversation is to know.
        """
        if self.answer is not None and heard:
            mark = self._pieces.cut if cut else ()
            self._go_on(self._reply + heard, (*mark, *self._pieces.next))
        elif self.words:
            self._go_on(self._end, self._pieces.join)
        else:
            self._cut(self._end)  # a greeting that nobody heard
        self.turn = turn
        self._drop_answer()
        self._base = self._end = len(self.ids)
        # Room for a common utterance too: what leaves now costs nobody's waiting time.
        spare = self._engine.context // 8
        self._make_room(spare + len(self._pieces.ask) + self._room_for_reply)

    def hear(self, ids: NDArray[np.int32], position: int, *, at_once: bool = True) -> None:
        """Words of the current turn; what was there from `position` on is void, an answer too.

        Args:
            ids: int32 [n]; with `at_once` given to the engine as they lie, and not kept.
            position: of ids[0] within the turn.
            at_once: false if more comes right behind, which then shares one forward.

        Raises:
            StageError: ids before them are missing, the engine refuses them, or the turn does not
                fit in the context.
        """
        self.shorten(position)
        self._make_room(len(ids) + len(self._pieces.ask) + 1)
        self._require_room(len(ids) + len(self._pieces.ask) + 1)
        if at_once and not self.behind and len(ids) <= CHUNK:
            self._engine.extend(self.lane, ids, len(self.ids))
        self.ids += ids.tolist()
        self._end = len(self.ids)

    def shorten(self, count: int) -> None:
        """Only the first `count` ids of the current turn's words were said; an answer is void.

        Raises:
            StageError: there are fewer.
        """
        if count > self._end - self._base:
            raise StageError(f"a turn of {count} ids, of which {self._end - self._base} came")
        self._drop_answer()
        self._end = self._base + count
        self._cut(self._end)

    def ask(self, answer: int) -> None:
        """The words are complete: begin this answer, which replaces an earlier one to them."""
        self._drop_answer()
        self._cut(self._end)
        self._make_room(len(self._pieces.ask) + self._room_for_reply)
        self.ids += self._pieces.ask
        self._reply = len(self.ids)
        self.answer, self.answering = answer, True

    def greet(self, answer: int) -> tuple[int, ...]:
        """Answer to nothing at all with the greeting; give its ids."""
        self.ask(answer)
        self.ids += self._pieces.greeting
        self.answering = False
        return self._pieces.greeting

    def resume(self) -> None:
        """The user goes on: the words stay, the answer goes."""
        self._drop_answer()
        self._cut(self._end)

    def dismiss(self) -> None:
        """The current turn had no words after all."""
        self.shorten(0)

    def halt(self) -> None:
        """Generate no further; `begin` decides what stays of the answer."""
        self.answering = False

    def catch_up(self, most: int = CHUNK) -> None:
        """Compute the next piece of what the engine lacks, at most so many ids.

        Raises:
            StageError: the engine refuses it.
        """
        done = self._engine.length(self.lane)
        piece = np.array(self.ids[done : done + most], np.int32)
        self._engine.extend(self.lane, piece, done)

    def step(self) -> int | None:
        """Generate the answer's next id; none, and `answering` is over, if it ends without one.

        Raises:
            StageError: the engine cannot.
        """
        (id,) = self._engine.step([self.lane])
        return self.accept(id)

    def accept(self, id: int) -> int | None:
        """Take the id that the engine chose for this lane; none if it ends the answer."""
        if id in self._pieces.stops:
            self._engine.rollback(self.lane, len(self.ids))
            self.answering = False
            return None
        self.ids.append(id)
        room = min(self._reply + self._limit, self._engine.context)
        self.answering = len(self.ids) < room
        return id

    def change(self, *, whole: bool = False) -> Change:
        """What is new since the last call; its cost is that of the new ids.

        Args:
            whole: all there is, whatever was told before.
        """
        same, self._same = 0 if whole else self._same, len(self.ids)
        return Change(
            self.turn,
            self.answer,
            self._base,
            self._end,
            self._reply,
            same,
            self._starts[bisect_left(self._starts, same) :],
            self.ids[same:],
        )

    def restore(self, changes: Iterable[Change]) -> None:
        """Go on where another program stopped; a turn that it was in the middle of is lost.

        What was said of its answer stays, as far as it was heard; else its words are forgotten.

        Args:
            changes: all since one that had `same` 0, in order; at least one.
        """
        for new in changes:
            self.turn, self.answer = new.turn, new.answer
            self._base, self._end, self._reply = new.base, new.end, new.reply
            self._starts[bisect_left(self._starts, new.same) :] = new.starts
            self.ids[new.same :] = new.ids
        self._same = 0
        self.halt()
        if not self.reply:
            self.dismiss()

    def close(self) -> None:
        """Forget everything."""
        self._engine.close(self.lane)

    def _start_over(self, opening: tuple[int, ...]) -> None:
        needed = len(opening) + len(self._pieces.ask) + 2
        if needed > self._engine.context:
            raise StageError(
                f"the system prompt takes {len(opening)} ids of a context of "
                f"{self._engine.context}, which leaves no room for a turn",
                "Shorten llm.system or raise llm.context",
            )
        self.ids = list(opening)
        self._same = 0
        self._starts = [len(opening)]
        self._base = self._end = self._reply = len(opening)

    def _go_on(self, position: int, piece: tuple[int, ...]) -> None:
        """Keep what was said up to a position, and begin the next words behind a piece."""
        self._cut(position)
        self.ids += piece
        self._starts.append(len(self.ids))

    def _cut(self, position: int) -> None:
        """Nothing from here on was ever said."""
        del self.ids[position:]
        self._same = min(self._same, position)
        if self._engine.length(self.lane) > position:
            self._engine.rollback(self.lane, position)

    def _drop_answer(self) -> None:
        """There is no answer to the current words; the caller cuts its ids."""
        self.answer, self.answering = None, False

    @property
    def _room_for_reply(self) -> int:
        """Ids to keep free for it; a limit beyond all reason must not cost what was said."""
        return min(self._limit, self._engine.context // 4)

    def _make_room(self, count: int) -> None:
        """Let the oldest turns leave if so many ids more do not fit."""
        if len(self.ids) + count <= self._engine.context:
            return
        opening = self._starts[0]
        most = min(self._engine.context // 2, self._engine.context - count)
        fits = (s for s in self._starts if opening + len(self.ids) - s <= most)
        start = next(fits, self._starts[-1])
        shift = start - opening
        if not shift:
            return
        del self.ids[opening:start]
        self._same = min(self._same, opening)
        self._starts = [s - shift for s in self._starts if s >= start]
        self._base, self._end = self._base - shift, self._end - shift
        if self._engine.length(self.lane) > opening:
            self._engine.rollback(self.lane, opening)

    def _require_room(self, count: int) -> None:
        if len(self.ids) + count > self._engine.context:
            raise StageError(
                f"an utterance of {self._end - self._base + count} ids or more does not fit in a "
                f"context of {self._engine.context}",
                "Raise llm.context, or lower turn.max_turn_s",
            )
