"""One conversation inside `llm`: ids of the user's words in, ids of the answer out."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.errors import VoxringError
from ringbuf import Kind, TokenRun
from stages.event import Event
from stages.lane import Lane, is_newer
from stages.llm.conversation import CHUNK, Conversation
from stages.llm.heard import PATIENCE_NS, heard_ids
from stages.llm.journal import Journal
from stages.llm.pieces import Pieces
from stages.llm.reply import Reply
from stages.llm.schedule import Need
from stages.messages import CaptionKind
from stages.stage import Session


@dataclass(frozen=True)
class Pace:
    """How fast a scripted model speaks; a real one as fast as it can.

    Attributes:
        first_ns: from the end of the prompt to the first id.
        next_ns: from id to id.
    """

    first_ns: int = 0
    next_ns: int = 0


class LlmSession(Session):
    """Keeps one lane's conversation and answers its turns.

    Args:
        lane: the lane.
        conversation: of this lane, at its opening.
        pieces: the form of a conversation under given instructions.
        silent: whether ids of a reply are nothing to say.
        now: the clock, monotonic ns.
        pace: of a scripted model.
    """

    def __init__(
        self,
        lane: Lane,
        conversation: Conversation,
        pieces: Callable[[str], Pieces],
        silent: Callable[[Sequence[int]], bool],
        now: Callable[[], int],
        pace: Pace | None = None,
    ) -> None:
        super().__init__(lane)
        self.conversation = conversation
        self.now = now
        self._pieces = pieces
        self._silent = silent
        self._pace = pace or Pace()
        self._last_turn = lane.turn  # it and older ones are an earlier conversation's
        self._broken = False  # something failed in this turn: its answer is a failure
        self._reply: Reply | None = None
        self._prompted = False  # the reply's prompt is in the cache
        self._next_id = 0  # when the next id may come, for the pace
        self._played = lane.played  # the edge's last word on the last answer that sounded
        self._waiting_since: int | None = None
        self._heard = 0  # ids of the last answer that were heard
        self._halted = False  # it was stopped before it was complete
        self._journal = Journal(lane.history)
        if lane.is_reopened and (changes := self._journal.read()):
            conversation.restore(changes)
        self.due = 0  # the opening is computed before anybody speaks

    def step(self) -> None:
        """Hear what came, then one piece of work: a part of the prompt, or one id."""
        self.listen()
        match self.need:
            case Need.SPEAK:
                if self.may_speak():
                    self.say(self.conversation.step())
            case None:
                pass
            case _:
                self.compute()
        self.save()

    def listen(self, *, at_once: bool = True) -> None:
        """Hear what came.

        Args:
            at_once: words are computed here, if nothing is behind; else `need` tells of them.
        """
        self.due = None
        self._configure()
        self._remember()
        self._drop_stale()
        if self._reply:
            self._reply.flush()
        self._listen(at_once=at_once)

    @property
    def need(self) -> Need | None:
        """What this lane waits for; none: nothing."""
        conversation = self.conversation
        if not conversation.behind:
            return Need.SPEAK if conversation.answering else None
        if conversation.answering:
            return Need.ANSWER
        return Need.HISTORY if conversation.turn is None else Need.WORDS

    def compute(self, most: int = CHUNK) -> None:
        """Compute at most so many ids of what is behind."""
        self.conversation.catch_up(most)
        self.due = 0

    def fail(self, error: Exception) -> None:
        """The turn is lost: what was said of its answer stands, else its words are forgotten."""
        self._broken = True
        if self.conversation.reply:
            self.conversation.halt()
        else:
            self.conversation.dismiss()
        if self._reply and not self._reply.closed:
            self._reply.close(Kind.FAILED)
        self.due = 0 if len(self.lane.heard) else None
        self.save()

    def save(self) -> None:
        """Keep the conversation where it outlives this program."""
        self._journal.save(self.conversation)

    def close(self) -> None:
        """Forget the conversation."""
        self.conversation.close()

    def _configure(self) -> None:
        """Follow the client's settings."""
        for message in self.lane.settings.read():
            try:
                settings = json.loads(message)
                self.conversation.instruct(self._pieces(str(settings["instructions"])))
            except (ValueError, KeyError, TypeError):
                text = f"llm: settings must be JSON with 'instructions', got {message[:80]!r}"
                self.lane.caption(CaptionKind.ERROR, text=text)
            except VoxringError as error:
                self.lane.caption(CaptionKind.ERROR, text=f"llm: {error}")

    def _remember(self) -> None:
        """Keep what is said of our last answer: a later word is on one that we may not know."""
        played = self.lane.played
        if played.answer == self.conversation.answer:
            self._played = played

    def _drop_stale(self) -> None:
        """Stop an answer that nobody will hear."""
        if self._reply and is_newer(self.lane.answer, self._reply.answer):
            self._halted = self.conversation.answering
            self.conversation.halt()
            self._account(self._reply)
            self._reply = None

    def _account(self, reply: Reply) -> None:
        """Tell of work that was done in vain."""
        if self.lane.released != reply.answer:
            turn, answer, at = reply.turn, reply.answer, self.now()
            self.lane.emit(Event.DROPPED, turn=turn, answer=answer, value=reply.count, at=at)

    def _listen(self, *, at_once: bool) -> None:
        """Take the runs in order, as far as what they ask for can be done now."""
        with self.lane.heard.read() as batch:
            runs = list(batch.runs())
            batch.consume(0)
            taken = 0
            for run in runs:
                if self._begins(run) and not self._settled():
                    return
                # Counted before it is taken: a run that raises must not come again.
                taken += len(run.ids)
                batch.consume(taken)
                # Words with something behind them wait for it, and share one forward with it.
                self._take(run, at_once=at_once and run is runs[-1])

    def _begins(self, run: TokenRun) -> bool:
        """Whether these are the first words of a new turn."""
        return run.kind in (Kind.ID, Kind.GREET) and is_newer(run.turn, self._last_turn)

    def _settled(self) -> bool:
        """Whether it is known how much of the last answer was heard."""
        now, last = self.now(), self.conversation
        if self._waiting_since is None:
            self._waiting_since = now
        waited = now - self._waiting_since
        heard = None
        if last.answer is not None:
            heard = heard_ids(last.answer, len(last.reply), self._played, waited)
            if heard is None:
                self.due = self._waiting_since + PATIENCE_NS
                return False
        self._waiting_since = None
        self._heard = heard or 0
        return True

    def _take(self, run: TokenRun, *, at_once: bool) -> None:
        if self._begins(run):
            self._begin(run.turn)
        if run.turn != self.conversation.turn:
            self._answer_nothing(run)
            return
        self._reply = None  # whatever comes in a turn, it voids an answer to what was before
        match run.kind:
            case Kind.ID if not self._broken:
                self.conversation.hear(run.ids, run.position, at_once=at_once)
            case Kind.END:
                self._answer(run)
            case Kind.GREET:
                self._greet(run)
            case Kind.RESUME:
                self.conversation.resume()
            case Kind.EMPTY | Kind.FAILED:
                self.conversation.dismiss()

    def _begin(self, turn: int) -> None:
        self._last_turn = turn
        self._broken = False
        self._reply = None
        unheard = self.conversation.reply[self._heard :]
        cut = self._halted or not self._silent(unheard)
        self._halted = False
        self.conversation.begin(turn, self._heard, cut=cut)

    def _answer_nothing(self, run: TokenRun) -> None:
        """A turn without words asks for an answer; one of an earlier conversation gets none."""
        if run.kind is Kind.END and is_newer(run.turn, self._last_turn):
            self._refuse(run, Kind.EMPTY)

    def _answer(self, run: TokenRun) -> None:
        """The words are complete: begin to answer, unless that is stale already."""
        if is_newer(self.lane.answer, run.answer):
            return
        if self._broken:
            self._refuse(run, Kind.FAILED)
            return
        self._reply = Reply(self.lane, run.turn, run.answer, self.now)
        self._prompted = False
        self.conversation.shorten(run.position)
        if self.conversation.words:
            self.conversation.ask(run.answer)
        else:
            self._reply.close(Kind.EMPTY)

    def _greet(self, run: TokenRun) -> None:
        """Say what is said before anybody has spoken."""
        self._reply = Reply(self.lane, run.turn, run.answer, self.now)
        for id in self.conversation.greet(run.answer):
            self._reply.put(id)
        self._reply.close(Kind.END)

    def _refuse(self, run: TokenRun, kind: Kind) -> None:
        self._reply = Reply(self.lane, run.turn, run.answer, self.now)
        self._reply.close(kind)

    def may_speak(self) -> bool:
        """Whether the next id of the answer can be chosen and published now."""
        reply, conversation = self._reply, self.conversation
        assert reply
        if not reply.flush():
            return False  # this lane is woken when the voice has read some
        if not self._prompted:
            self._prompted = True
            self._next_id = self.now() + self._pace.first_ns
            words = len(conversation.words)
            self.lane.emit(
                Event.PREFILL, turn=reply.turn, answer=reply.answer, value=words, at=self.now()
            )
        if self.now() < self._next_id:
            self.due = self._next_id
            return False
        self._next_id += self._pace.next_ns
        return True

    def say(self, id: int | None) -> None:
        """Publish one id, if there is one, and the end behind the last one."""
        reply, conversation = self._reply, self.conversation
        assert reply
        if id is not None:
            reply.put(id)
        if conversation.answering:
            self.due = self._next_id if self._pace.next_ns else 0
        else:
            reply.close(Kind.EMPTY if self._silent(conversation.reply) else Kind.END)
