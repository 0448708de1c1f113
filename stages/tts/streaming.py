"""An answer spoken a few words behind its text, by a voice whose sentences may grow."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from stages.tts.boundaries import Ending
from stages.tts.front import Front
from stages.tts.pace import Pace
from stages.tts.sentence import Sentence, StreamingVoice
from stages.tts.sound import Rests
from stages.tts.utterance import Sound
from stages.tts.words import Stop, Word


@dataclass(frozen=True)
class StreamRules:
    """How a growing sentence is spoken.

    Attributes:
        lookahead: words that must be known behind one before it is said.
        least_frames: a hungry listener gets so many, if need be with less lookahead: 24 last until
            the next word has come at 20 ids a second and was said.
        first_frames: the first piece of an answer, and any that is urgent,
        most_frames: the longest one, which another lane's first sound may have to wait for,
        growth: and in between so many times as long as what the listener has left. He hears that
            while the piece is made, which takes a tenth of its own length on a core that is free.
        fresh_words: how many it waits for before it looks at the text again,
        reserve_s: while it is ahead of its listener by more than this.
        urgent_s: with less than this left, one word behind another is enough to say that. It is
            what a look at the text and a short piece take.
    """

    lookahead: int = 2
    least_frames: int = 24
    first_frames: int = 16
    most_frames: int = 64
    growth: float = 3.0
    fresh_words: int = 4
    reserve_s: float = 0.5
    urgent_s: float = 0.15


class StreamingUtterance:
    """Ids to words to sound.

    Args:
        front: the text side of this answer.
        voice: shared by all lanes.
        rules: how much is known of what.
        rests: how long the voice rests after a sentence.
        now: the clock, monotonic ns.
    """

    def __init__(
        self,
        front: Front,
        voice: StreamingVoice,
        rules: StreamRules,
        rests: Rests,
        now: Callable[[], int],
    ) -> None:
        self.rate = voice.rate
        self.due: int | None = None
        self._voice = voice
        self._rules = rules
        self._rests = rests
        self._front = front
        self._parts: deque[Word | Stop] = deque()  # not yet of the sentence that is being said
        self._sounds: deque[Sound] = deque()
        self._pace = Pace(now)
        self._rest: Sound | None = None  # before the next sentence
        self._count = 0  # sentences
        self._voiced = -1
        self._sentence: Sentence | None = None

    @property
    def is_ready(self) -> bool:
        """Whether a word has enough behind it, or something is left to decode."""
        sentence = self._listen()
        if self._sounds or sentence is None:
            return bool(self._sounds)
        return sentence.fresh(self._lookahead) > 0 or sentence.ready > 0

    def feed(self, id: int, position: int) -> None:
        """The next id of the reply."""
        self._parts += self._front.feed(id, position)

    def end(self, *, complete: bool) -> None:
        """Say what is left; of an incomplete reply only whole words."""
        self._parts += self._front.flush() if complete else [Stop(Ending.SENTENCE)]

    def more(self) -> Sound | None:
        """The next piece: at most one look at the text and one run of the decoder."""
        self.due = None
        if not self._sounds:
            self._work()
        if not self._sounds:
            return None
        sound = self._sounds.popleft()
        self._voiced = sound.position
        self._pace.put(len(sound.samples) / self.rate)
        return sound

    def _work(self) -> None:
        """Find the next sounds, or when to look again."""
        while (sentence := self._listen()) is not None and not self._sounds:
            if sentence.is_over:
                self._finish(sentence)
            elif sentence.ready < self._frames and self._may_grow(sentence):
                sentence.grow(self._lookahead, self._least)
            elif self._may_decode(sentence):
                self._decode(sentence)
            else:
                self._wait(sentence)
                return

    def _listen(self) -> Sentence | None:
        """The sentence that is being said, with all of its words that are known."""
        while self._parts and (self._sentence is None or self._sentence.ending is None):
            part = self._parts.popleft()
            if isinstance(part, Word):
                self._open().add(part)
            elif self._sentence:
                self._sentence.end(part.ending)
        return self._sentence

    def _open(self) -> Sentence:
        if self._sentence is None:
            self._sentence = Sentence(self._voice, self._count, self._voiced)
        return self._sentence

    def _may_grow(self, sentence: Sentence) -> bool:
        """Whether to let the voice look at the text once more.

        That costs the same for one word as for many, so that it waits for some if there is time.
        """
        fresh = sentence.fresh(self._lookahead)
        enough = fresh >= self._rules.fresh_words or sentence.ending is not None
        return fresh > 0 and (enough or self._is_hungry)

    def _may_decode(self, sentence: Sentence) -> bool:
        enough = sentence.ready >= self._frames or sentence.ending is not None
        return sentence.ready > 0 and (enough or self._is_hungry)

    def _decode(self, sentence: Sentence) -> None:
        ready = sentence.ready  # what would be left is not worth a window of its own
        sounds = sentence.decode(ready if 2 * ready <= 3 * self._frames else self._frames)
        if not sounds:
            return
        if self._rest:
            self._sounds.append(self._rest)
            self._rest = None
        self._sounds += sounds

    def _finish(self, sentence: Sentence) -> None:
        """The sentence was said; the voice rests only if another one follows."""
        self._count += 1
        self._sentence = None
        assert sentence.ending is not None
        silence = self._rests.after(sentence.ending, self.rate)
        if self._voiced >= 0 and len(silence):
            self._rest = Sound(silence, self._voiced)

    def _wait(self, sentence: Sentence) -> None:
        """For more words, or until the listener is close behind."""
        if sentence.fresh(self._rules.lookahead) or sentence.ready:
            self.due = self._pace.hungry_at(self._rules.reserve_s)
        elif self._pace.has_begun and sentence.fresh(self._urgent_lookahead):
            self.due = self._pace.hungry_at(self._rules.urgent_s)

    @property
    def _frames(self) -> int:
        """How long a piece should be."""
        rules = self._rules
        heard_meanwhile = self._pace.left * self.rate / self._voice.hop
        return max(
            rules.first_frames, min(round(rules.growth * heard_meanwhile), rules.most_frames)
        )

    @property
    def _least(self) -> int:
        return self._rules.least_frames if self._is_hungry else 0

    @property
    def _lookahead(self) -> int:
        is_urgent = self._pace.has_begun and self._pace.is_hungry(self._rules.urgent_s)
        return self._urgent_lookahead if is_urgent else self._rules.lookahead

    @property
    def _urgent_lookahead(self) -> int:
        return min(self._rules.lookahead, 1)

    @property
    def _is_hungry(self) -> bool:
        return self._pace.is_hungry(self._rules.reserve_s)
