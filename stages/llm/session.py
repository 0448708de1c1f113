"""One conversation inside `llm`: ids of the user's words in, ids of the answer out."""

from collections import deque
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
from stages.llm.wishes import Edit, Insert, Style, carry_out, unpack
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
        encode: ids of what a client wrote, in which special tokens are not.
        silent: whether ids of a reply are nothing to say.
        now: the clock, monotonic ns.
        pace: of a scripted model.
    """

    def __init__(
        self,
        lane: Lane,
        conversation: Conversation,
        pieces: Callable[[str], Pieces],
        encode: Callable[[str], Sequence[int]],
        silent: Callable[[Sequence[int]], bool],
        now: Callable[[], int],
        pace: Pace | None = None,
    ) -> None:
        super().__init__(lane)
        self.conversation = conversation
        self.now = now
        self._pieces = pieces
        self._encode = encode
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
        self._wishes: deque[Style | Edit] = deque()  # that wait until they can be carried out
        self._style = Style(voice=True)
        self._once: Style | None = None  # for the next answer that is asked for
        self._is_dressed = False  # the conversation stands under the instructions of one answer
        self._own = conversation.pieces  # under the instructions of the conversation
        self._temperature: float | None = None  # that the engine was told last
        self._known = 0  # ids computed when the answer was asked for
        self._journal = Journal(lane.history)
        if lane.is_reopened and (changes := self._journal.read()):
            conversation.restore(changes)
            conversation.instruct(self._own)  # it may have stood under those of one answer
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
        ended = self.lane.ended  # first: what was said until then is on the ring
        for message in self.lane.settings.read():
            self._wish(message)
        self._remember()
        self._drop_stale()
        if self._reply:
            self._reply.flush()
        self._listen(at_once=at_once)
        if self._wishes or self._is_dressed:
            self._change(ended)

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

    def _wish(self, message: bytes) -> None:
        """Take what the client asks for."""
        try:
            wish = unpack(message)
        except ValueError as error:
            self._tell(f"settings cannot be read: {message[:80]!r} ({str(error).splitlines()[0]})")
            return
        match wish:
            case Style(once=True):
                self._once = wish
            case Style():
                new = wish.model_dump(include={"voice", "most", "temperature"}, exclude_none=True)
                self._style = self._style.model_copy(update=new)
                if wish.instructions is not None:
                    self._wishes.append(wish)
            case _:
                self._wishes.append(wish)

    def _tell(self, text: str) -> None:
        self.lane.caption(CaptionKind.ERROR, text=f"llm: {text}")

    def _change(self, ended: int) -> None:
        """Carry out what waits, as far as nothing that is said or generated is in its way.

        Args:
            ended: the last turn that is over.
        """
        conversation = self.conversation
        turn = conversation.turn
        if turn is not None and not is_newer(turn, ended) and not conversation.answering:
            if not self._settled():
                return
            self._settle()
        while self._wishes and self._is_possible(self._wishes[0], ended):
            self._carry_out(self._wishes.popleft())
        if self._is_dressed and conversation.turn is None:
            self._undress()
        if conversation.behind:
            self.due = 0

    def _is_possible(self, wish: Style | Edit, ended: int) -> bool:
        """Whether a wish can be carried out: neither too early nor in the middle of an answer."""
        conversation = self.conversation
        if isinstance(wish, Insert) and wish.after is None:
            behind = ended if wish.behind is None else wish.behind
            is_early = is_newer(behind, self._last_turn) and is_newer(behind, ended)
            return conversation.turn is None and not is_early
        if conversation.turn is None:
            return True
        is_past = isinstance(wish, Style) or conversation.has((wish.source, wish.number))
        return conversation.answer is None and (is_past or isinstance(wish, Insert))

    def _carry_out(self, wish: Style | Edit) -> None:
        """One wish; an error in it is told, and costs nothing else."""
        try:
            if isinstance(wish, Style):
                pieces = self._pieces(wish.instructions or "")
                self.conversation.instruct(pieces)
                self._own, self._is_dressed = pieces, False
            else:
                carry_out(wish, self.conversation, self._encode)
        except VoxringError as error:
            self._tell(str(error))

    def _dress(self, instructions: str) -> None:
        """Give one answer instructions of its own."""
        try:
            self.conversation.instruct(self._pieces(instructions))
            self._is_dressed = True
        except VoxringError as error:
            self._tell(str(error))

    def _undress(self) -> None:
        """Back to the conversation's own instructions."""
        self._is_dressed = False
        self.conversation.instruct(self._own)

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
        begins = (Kind.ID, Kind.GREET, Kind.ASK)
        return run.kind in begins and is_newer(run.turn, self._last_turn)

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
        # Whatever comes in a turn, it voids an answer to what was before, and how that ended.
        self._reply, self._halted = None, False
        match run.kind:
            case Kind.ID if not self._broken:
                self.conversation.hear(run.ids, run.position, at_once=at_once)
            case Kind.END:
                self._answer(run)
            case Kind.GREET:
                self._greet(run)
            case Kind.ASK:
                self._respond(run)
            case Kind.RESUME:
                self.conversation.resume()
            case Kind.EMPTY | Kind.FAILED:
                self.conversation.dismiss()

    def _begin(self, turn: int) -> None:
        self._last_turn = turn
        self._broken = False
        self._settle()
        while self._wishes and not self._is_behind(self._wishes[0], turn):
            self._carry_out(self._wishes.popleft())
        if self._is_dressed:
            self._undress()
        self.conversation.begin(turn, 0)

    def _is_behind(self, wish: Style | Edit, turn: int) -> bool:
        """Whether a message stands behind the words of a turn."""
        if not isinstance(wish, Insert) or wish.after is not None or wish.behind is None:
            return False
        return not is_newer(turn, wish.behind)

    def _settle(self) -> None:
        """The last turn is over; what was heard of its answer stays."""
        self._reply = None
        unheard = self.conversation.reply[self._heard :]
        cut = self._halted or not self._silent(unheard)
        self._halted = False
        self.conversation.settle(self._heard, cut=cut)

    def _answer_nothing(self, run: TokenRun) -> None:
        """A turn without words asks for an answer; one of an earlier conversation gets none."""
        if run.kind is Kind.END and is_newer(run.turn, self._last_turn):
            self._refuse(run, Kind.EMPTY)

    def _answer(self, run: TokenRun) -> None:
        """The words are complete: begin to answer, unless that is stale already."""
        if self._broken:
            self._refuse(run, Kind.FAILED)
            return
        words = self.conversation.words
        if is_newer(self.lane.answer, run.answer):
            if run.position < len(words):
                self.conversation.shorten(run.position)
            return
        self._open(run, self._style)
        self.conversation.shorten(run.position)
        if self.conversation.words:
            self._ask(run, self._style)
        else:
            self._refuse(run, Kind.EMPTY)

    def _respond(self, run: TokenRun) -> None:
        """Answer to what was said before, in the style that was asked for."""
        if is_newer(self.lane.answer, run.answer):
            return  # the style that waits may be that of the next one
        style, self._once = self._once or Style(), None
        self._open(run, style)
        if style.instructions is not None:
            self._dress(style.instructions)
        self._ask(run, style)

    def _open(self, run: TokenRun, style: Style) -> None:
        """Make room for an answer."""
        voice = self._style.voice if style.voice is None else style.voice
        kind = Kind.ID if voice else Kind.TEXT
        self._reply = Reply(self.lane, run.turn, run.answer, self.now, kind)
        self._prompted = False

    def _ask(self, run: TokenRun, style: Style) -> None:
        """Begin an answer."""
        self._known = self.conversation.known
        most = self._style.most if style.most is None else style.most
        own = self._style.temperature if style.temperature is None else style.temperature
        if own != self._temperature:
            self._temper(own)
        self.conversation.ask(run.answer, most)

    def _temper(self, temperature: float | None) -> None:
        """Answer at another temperature; if the engine cannot, at the one it has."""
        self._temperature = temperature
        try:
            self.conversation.temper(temperature)
        except VoxringError as error:
            self._tell(str(error))

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
            reply.close(
                Kind.EMPTY if self._silent(conversation.reply) else Kind.END,
                asked=conversation.asked,
                known=min(self._known, conversation.asked),
                limited=conversation.is_limited,
            )
