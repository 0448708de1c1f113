"""One sentence, word by word: words to phonemes, and sound to the words that it voices."""

from collections import deque
from itertools import chain
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stages.tts.boundaries import Ending, ends_phrase
from stages.tts.edges import Edges
from stages.tts.sound import to_int16
from stages.tts.speller import BLANK, is_sayable
from stages.tts.utterance import Sound
from stages.tts.vits.stream import SentenceStream
from stages.tts.words import Word


class StreamingVoice(Protocol):
    """A voice whose sentences may grow.

    Attributes:
        rate: samples a second.
        hop: samples a frame.
        volume: factor on the samples.
    """

    rate: int
    hop: int
    volume: float

    def phonemes(self, text: str) -> list[str]:
        """Of a sentence or its beginning, words divided by a blank; only what it can say."""

    def encode(self, groups: list[list[str]]) -> tuple[list[int], list[int]]:
        """Ids of a sentence, and after how many of them each group of phonemes ends."""

    def begin(self, key: int) -> SentenceStream:
        """The sound of one sentence; `key` is that of its noise."""


class Sentence:
    """A sentence that is spoken while it grows.

    Args:
        voice: shared.
        key: of its noise.
        voiced: position of the last id that was voiced before it.
    """

    def __init__(self, voice: StreamingVoice, key: int, voiced: int) -> None:
        self._voice = voice
        self._stream = voice.begin(key)
        self._edges = Edges(voice.rate)
        self._words: list[Word] = []
        self._groups: list[list[str]] = []  # phonemes of the firm words, and what they carry along
        self._marks: deque[tuple[int, int]] = deque()  # (phoneme ids, position) at ends of words
        self._voiced = voiced
        self._is_mute = False
        self._firm = 0  # words that will be said as they are
        self._is_whole = False
        self.ending: Ending | None = None

    def add(self, word: Word) -> None:
        """The next word."""
        self._words.append(word)

    def end(self, ending: Ending) -> None:
        """No word follows."""
        self.ending = ending

    def fresh(self, lookahead: int) -> int:
        """How many words more could be promised, with so many known behind them or a rest.

        Of a sentence that has ended that is the rest of its words, and one for its end.
        """
        if self.ending is not None:
            return 0 if self._is_whole else len(self._words) - self._firm + 1
        return self._certain(lookahead) - self._firm

    @property
    def ready(self) -> int:
        """How many frames can be decoded."""
        return self._stream.ready

    @property
    def is_over(self) -> bool:
        """All was decoded."""
        return self._is_whole and (self._is_mute or self._stream.is_over)

    def grow(self, lookahead: int, least: int) -> None:
        """Let the voice look at all words that are known, and promise those that are certain.

        Args:
            lookahead: words that are known behind a certain one.
            least: frames that can be decoded then; if there are fewer, because the words are
                short, it promises one more of which less is known, but not the last.
        """
        whole = self.ending is not None
        groups = self._groups + self._spell(len(self._words))[len(self._groups) :]
        self._is_mute = whole and not is_sayable(chain(*groups))
        self._is_whole = whole
        if self._is_mute:
            return
        ids, ends = self._voice.encode(groups)
        self._stream.look(ids)
        firm = len(self._words) if whole else self._certain(lookahead)
        self._promise(firm, groups, ends)
        while not whole and firm < len(self._words) - 1:
            if self._stream.ready_with(ends[len(self._groups)]) >= least:
                break
            firm += 1
            self._promise(firm, groups, ends)
        self._stream.promise(ends[len(self._groups)], whole=whole)

    def _promise(self, firm: int, groups: list[list[str]], ends: list[int]) -> None:
        """Note which phonemes belong to the first `firm` words."""
        for count in range(self._firm + 1, firm + 1):
            is_last = self._is_whole and count == firm
            reach = len(groups) if is_last else min(len(self._spell(count)), len(groups))
            self._groups = groups[: max(reach, len(self._groups))]
            self._marks.append((ends[len(self._groups)], self._words[count - 1].position))
        self._firm = firm

    def decode(self, frames: int) -> list[Sound]:
        """Sound of the next frames, cut where words end; nothing of silence around the sentence."""
        first, samples = self._edges.feed(self._stream.decode(frames))
        if self.is_over:
            rest = self._edges.finish()
            first, samples = min(first, rest[0]), np.concatenate([samples, rest[1]])
        return self._cut(first, to_int16(samples * np.float32(self._voice.volume)))

    def _certain(self, lookahead: int) -> int:
        """How many words have enough behind them."""
        behind = 0
        for count in range(len(self._words), self._firm, -1):
            text = self._words[count - 1].text
            if behind >= lookahead or ends_phrase(text):
                return count
            behind += any(map(str.isalnum, text))
        return self._firm

    def _spell(self, count: int) -> list[list[str]]:
        """Phonemes of the first `count` words, in groups of which all but the first have a blank.

        A group is mostly a word, but espeak-ng says "of the" as one and "24" as two. Words that
        were cut where there is no space get one, or what follows would change a group that is said.
        """
        words = (word.text for word in self._words[:count])
        text = "".join(word if word[:1].isspace() else f" {word}" for word in words)
        groups: list[list[str]] = [[]]
        for phoneme in self._voice.phonemes(text):
            if phoneme == BLANK:
                groups.append([])
            groups[-1].append(phoneme)
        return groups

    def _cut(self, first: int, samples: NDArray[np.int16]) -> list[Sound]:
        """Samples, of which the first is the sentence's sample `first`, word by word."""
        sounds: list[Sound] = []
        end = first + len(samples)
        while self._marks and (self.is_over or self._ends_at(self._marks[0]) <= end):
            mark = self._marks.popleft()
            self._voiced = mark[1]
            is_last = self.is_over and not self._marks
            length = len(samples) if is_last else max(self._ends_at(mark) - first, 0)
            if len(piece := samples[:length]):
                sounds.append(Sound(piece, self._voiced))
            samples, first = samples[length:], first + len(piece)
        if len(samples):
            sounds.append(Sound(samples, self._voiced))
        return sounds

    def _ends_at(self, mark: tuple[int, int]) -> int:
        """The sample at which a word ends."""
        phonemes = mark[0]
        return self._stream.ends[phonemes - 1] if phonemes else 0
