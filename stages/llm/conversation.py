"""One lane's conversation, kept in an engine: what was said, and of the answers what was heard."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import StageError
from stages.llm.change import Change
from stages.llm.engine import Engine
from stages.llm.part import Key, Part, Source, is_reply
from stages.llm.pieces import Pieces

CHUNK = 64  # ids computed at once at most, so that a long prefill does not hold up other lanes


class Conversation:
    """What a lane's content is to be, and how far the engine is.

    Every event changes `ids`, the wanted content; `catch_up` brings the engine there, piece by
    piece. A revision is a rollback to the position from which the words differ; so is every change
    to what was said long ago: a part is put in, taken out or shortened, or the opening replaced.

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
        pieces: the form of the conversation.
        is_limited: the last answer ended because it was long enough, not because it was complete.

    Raises:
        StageError: the opening leaves no room in the context, or there is no memory.
    """

    def __init__(self, engine: Engine, lane: int, pieces: Pieces, limit: int) -> None:
        self._engine = engine
        self.lane = lane
        self.pieces = pieces
        self._limit = self._most = limit
        self.turn: int | None = None
        self.answer: int | None = None
        self.answering = False
        self.is_limited = False
        self.ids: list[int] = []
        self._parts: list[Part] = []  # the opening, and what was said before this turn
        self._base = self._end = 0  # of the current turn's words
        self._reply = 0  # where the answer begins
        self._same = self._kept = 0  # so many ids and parts are as the last `change` has them
        self._require_opening(pieces)
        engine.open(lane)
        self._rebuild(pieces.opening, ())

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

    @property
    def asked(self) -> int:
        """How many ids stand before the answer."""
        return self._reply

    @property
    def known(self) -> int:
        """How many ids the engine has computed."""
        return self._engine.length(self.lane)

    def has(self, key: Key) -> bool:
        """Whether a part is there, of what was said before the current turn."""
        return any(part.key == key for part in self._parts)

    def instruct(self, pieces: Pieces) -> None:
        """Replace the system prompt; what was said stays.

        Raises:
            StageError: the new one leaves no room; the old one stays.
        """
        self._require_opening(pieces)
        self.pieces = pieces
        self._rebuild(pieces.opening, self._said())

    def insert(self, key: Key, ids: Sequence[int], after: Key | None = None) -> None:
        """Put a part in, behind another one; behind all if that is none or not there (any more).

        Args:
            key: its source and number; the opening's own key puts it in front of all.

        Raises:
            StageError: it does not fit in the context.
        """
        opening = self._parts[0].end
        self._require_room(len(ids) + len(self.pieces.ask) + 1, beside=opening)
        said = self._said()
        keys = [(int(Source.OPENING), 0), *(other for other, _ in said)]
        place = keys.index(after) if after in keys else len(said)
        self._rebuild(self.ids[:opening], [*said[:place], (key, ids), *said[place:]])

    def remove(self, key: Key) -> None:
        """Take a part out; nothing if it is not there."""
        said = [(other, ids) for other, ids in self._said() if other != key]
        self._rebuild(self.ids[: self._parts[0].end], said)

    def truncate(self, key: Key, count: int) -> None:
        """Only the first `count` ids of a part were heard; nothing if it is not there or shorter.

        As with an answer that was interrupted, the conversation knows that there was more.
        """
        said, cut = self._said(), list(self.pieces.cut)
        for n, (other, ids) in enumerate(said):
            whole = len(ids) - (len(cut) if cut and list(ids[-len(cut) :]) == cut else 0)
            if other == key and count < whole:
                said[n : n + 1] = [(key, [*ids[:count], *cut])] if count else []
                self._rebuild(self.ids[: self._parts[0].end], said)
                return

    def settle(self, heard: int, *, cut: bool = False) -> None:
        """The current turn is over: its words stay, and of its answer what was heard.

        Args:
            heard: how many ids of the answer were heard.
            cut: there was more to say, which the conversation is to know.
        """
        turn = self.turn or 0
        if self.words:
            self._parts.append(Part(Source.WORDS, turn, self._base, self._end))
        if self.answer is not None and heard:
            self._cut(self._reply + heard)
            self.ids += self.pieces.cut if cut else ()
            reply = Part(Source.REPLY, self.answer, self._reply, len(self.ids))
            self._parts.append(reply)
        else:
            self._cut(self._end)
        self.turn = None
        self._drop_answer()
        self._base = self._end = self._reply = len(self.ids)

    def begin(self, turn: int, heard: int, *, cut: bool = False) -> None:
        """The user's next turn begins; the last answer is cut to what was heard of it.

        Args:
            turn: its number.
            heard: how many ids of the last answer were heard; with none, the words of both turns
                make one message.
            cut: there was more to say, which the conversation is to know.
        """
        self.settle(heard, cut=cut)
        self.turn = turn
        last = self._parts[-1].end
        between = list(self._between(self._parts))
        if self.ids[last:] != between:
            self._cut(last)
            self.ids += between
        self._base = self._end = self._reply = len(self.ids)
        # Room for a common utterance too: what leaves now costs nobody's waiting time.
        spare = self._engine.context // 8
        self._make_room(spare + len(self.pieces.ask) + self._room_for_reply, self._unanswered)

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
        self._make_room(len(ids) + len(self.pieces.ask) + 1)
        self._require_room(len(ids) + len(self.pieces.ask) + 1)
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

    def ask(self, answer: int, limit: int | None = None) -> None:
        """The words are complete: begin this answer, which replaces an earlier one to them.

        Args:
            limit: ids after which it is cut; 0: as many as fit; none: the conversation's own.
        """
        self._most = self._limit if limit is None else limit or self._engine.context
        self._drop_answer()
        self._cut(self._end)
        last = self._parts[-1]
        if not self.words and not last.is_reply:  # nothing was added to the message before
            self._base = self._end = last.end
            self._cut(last.end)
        self._make_room(len(self.pieces.ask) + self._room_for_reply, self._unanswered)
        self.ids += self.pieces.ask
        self._reply = len(self.ids)
        self.answer, self.answering = answer, True

    def temper(self, temperature: float | None) -> None:
        """Choose ids with another temperature from here on; None: the configured one.

        Raises:
            StageError: the engine has one for all lanes.
        """
        self._engine.temper(self.lane, temperature)

    def greet(self, answer: int) -> tuple[int, ...]:
        """Answer to nothing at all with the greeting; give its ids."""
        self.ask(answer)
        self.ids += self.pieces.greeting
        self.answering = False
        return self.pieces.greeting

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
        if id in self.pieces.stops:
            self._engine.rollback(self.lane, len(self.ids))
            self.answering = self.is_limited = False
            return None
        self.ids.append(id)
        room = min(self._reply + self._most, self._engine.context)
        self.answering = len(self.ids) < room
        self.is_limited = not self.answering
        return id

    def change(self, *, whole: bool = False) -> Change:
        """What is new since the last call; its cost is that of the new ids.

        Args:
            whole: all there is, whatever was told before.
        """
        same, self._same = 0 if whole else self._same, len(self.ids)
        kept, self._kept = 0 if whole else self._kept, len(self._parts)
        return Change(
            self.turn,
            self.answer,
            self._base,
            self._end,
            self._reply,
            same,
            kept,
            self._parts[kept:],
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
            self._parts[new.kept :] = new.parts
            self.ids[new.same :] = new.ids
        self._same = self._kept = 0
        self.halt()
        if not self.reply:
            self.dismiss()

    def close(self) -> None:
        """Forget everything."""
        self._engine.close(self.lane)

    def _said(self) -> list[tuple[Key, Sequence[int]]]:
        """Everything before the current turn."""
        return [(part.key, self.ids[part.start : part.end]) for part in self._parts[1:]]

    def _rebuild(self, opening: Sequence[int], said: Iterable[tuple[Key, Sequence[int]]]) -> None:
        """Write the conversation anew; what the engine has of it stays, as far as it is the same.

        Args:
            opening: what stands before everything.
            said: before the current turn, which stays as it is.
        """
        words, reply = self.words, self.reply
        ids, parts = list(opening), [Part(Source.OPENING, 0, 0, len(opening))]
        for (source, number), content in said:
            ids += self._between(parts, is_reply(source))
            parts.append(Part(Source(source), number, len(ids), len(ids) + len(content)))
            ids += content
        if self.turn is not None and (words or self.answer is None or parts[-1].is_reply):
            ids += self._between(parts)
        base = len(ids)
        ids += words
        end = len(ids)
        if self.answer is not None:
            ids += self.pieces.ask
        start = len(ids)
        ids += reply
        same = first_difference(self.ids, ids)
        self._cut(same)
        self.ids += ids[same:]
        self._parts, self._base, self._end, self._reply = parts, base, end, start
        self._same = self._kept = 0
        self._make_room(len(self.pieces.ask) + 1)

    def _between(self, parts: Sequence[Part], reply: bool = False) -> tuple[int, ...]:
        """What the template writes behind the last part, before the next one.

        Args:
            reply: the next one is the assistant's.
        """
        last = parts[-1]
        if last.is_reply:  # two replies have an empty message of the user between them
            return (*self.pieces.next, *self.pieces.ask) if reply else self.pieces.next
        if reply:
            return self.pieces.ask
        return () if last.source is Source.OPENING else self.pieces.join

    def _require_opening(self, pieces: Pieces) -> None:
        count, context = len(pieces.opening), self._engine.context
        if count + len(pieces.ask) + 2 > context:
            raise StageError(
                f"the system prompt takes {count} ids of a context of {context}, which leaves no "
                "room for a turn",
                "Shorten llm.system or raise llm.context",
            )

    def _cut(self, position: int) -> None:
        """Nothing from here on was ever said."""
        del self.ids[position:]
        self._same = min(self._same, position)
        while self._parts and self._parts[-1].end > position:
            self._parts.pop()
        self._kept = min(self._kept, len(self._parts))
        if self._engine.length(self.lane) > position:
            self._engine.rollback(self.lane, position)

    def _drop_answer(self) -> None:
        """There is no answer to the current words; the caller cuts its ids."""
        self.answer, self.answering = None, False

    @property
    def _room_for_reply(self) -> int:
        """Ids to keep free for it; a limit beyond all reason must not cost what was said."""
        return min(self._most, self._engine.context // 4)

    def _make_room(self, count: int, keep: int | None = None) -> None:
        """Let the oldest turns leave if so many ids more do not fit.

        Args:
            keep: where begins what must not leave; none: the current turn's words.
        """
        if len(self.ids) + count <= self._engine.context:
            return
        opening, most = self._parts[0].end, self._engine.context - count
        starts = [part.start for part in self._parts[1:] if not part.is_reply]
        left = [(s, opening + len(self.ids) - s) for s in starts if s <= self._base]
        half = (s for s, size in left if size <= min(most, self._engine.context // 2))
        fits = (s for s, size in left if size <= most and not self.words)
        start = next(half, next(fits, self._base if keep is None else keep))
        shift = start - opening
        if not shift:
            return
        del self.ids[opening:start]
        self._same = min(self._same, opening)
        self._kept = min(self._kept, 1)
        stay = [part.moved(-shift) for part in self._parts[1:] if part.start >= start]
        self._parts[1:] = stay
        self._base, self._end = self._base - shift, self._end - shift
        self._reply -= shift
        if self._engine.length(self.lane) > opening:
            self._engine.rollback(self.lane, opening)

    @property
    def _unanswered(self) -> int:
        """Where the turn's words begin, or the message that is to be answered without any."""
        last = self._parts[-1]
        is_asked = not (self.words or last.is_reply or len(self._parts) == 1)
        return min(self._base, last.start) if is_asked else self._base

    def _require_room(self, count: int, beside: int | None = None) -> None:
        """Refuse so many ids more beside what is there, or beside so many."""
        if (len(self.ids) if beside is None else beside) + count > self._engine.context:
            raise StageError(
                f"an utterance of {self._end - self._base + count} ids or more does not fit in a "
                f"context of {self._engine.context}",
                "Raise llm.context, or lower turn.max_turn_s",
            )


def first_difference(one: Sequence[int], other: Sequence[int]) -> int:
    """How many ids two sequences begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))
