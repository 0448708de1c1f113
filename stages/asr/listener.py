"""One conversation's ear on a shared Whisper: decodes growing speech, of any length."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stages.asr.guards import Decode, checked, guarded
from stages.asr.log_mel import ROOM, LogMel
from stages.asr.recogniser import Decoding, Samples, finished
from stages.asr.transcript import Transcript, Words, split_words, spoken
from stages.asr.window import (
    FULL,
    RATE,
    SHORTEST,
    loudest_dbfs,
    quietest,
    voiced_seconds,
    window_for,
)
from stages.mel import HOP

Floats = NDArray[np.float32]

_FLOOR_DBFS = -60.0  # quieter than this is a muted microphone, and Whisper would invent words
_EARLIEST = RATE // 2  # of sound, before which an unfinished sentence is only guessed at
_CUT_AT_PAUSE = 8 * RATE  # sound before a pause from which on it is done with
_CUT_AT_GAP = 12 * RATE  # sound that is cut where it is quiet between two words, if it is
_CUT_IN_SPEECH = 20 * RATE  # sound that is cut between two words, quiet or not
_QUIET_DB = 25.0  # below the loudest
_CUT_BEFORE_END = 3 * RATE  # the newest words may still change
_LONGEST = 29 * RATE  # sound that one window holds
_PAUSE = RATE // 5  # silence that is surely between two words
_LANGUAGE = 3 * RATE  # of sound, after which its language is not asked for again


class Model(Protocol):
    """What is asked of a Whisper; see `stages.asr.whisper.Whisper`."""

    @property
    def filters(self) -> Floats: ...  # noqa: D102

    def encode(self, features: Floats) -> object: ...  # noqa: D102

    def generate(  # noqa: D102
        self, encoded: object, samples: int, window: int, language: str = ""
    ) -> Decode: ...

    def spell(self, ids: Sequence[int]) -> str: ...  # noqa: D102

    def id_ends(  # noqa: D102
        self, encoded: object, decode: Decode, samples: int
    ) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class _Pause:
    """A pause up to which the turn was decoded."""

    at: int
    """samples from the turn's beginning"""
    words: Words
    """of the sound that is kept"""


class Listener:
    """Keeps a turn's sound as a spectrogram, and gives all of the turn's words at each decode.

    Sound is done with once it lies before a pause of 0.2 s and is 8 s long; in speech without such
    pauses, where it is quiet between two words after 12 s, or between any two after 20 s. Its words
    stand, and it is forgotten, so a decode costs in minute ten what it costs in the first.

    Args:
        whisper: shared by all conversations, one call at a time.
        shortest_s: the shortest encoder window.
    """

    streams = True

    def __init__(self, whisper: Model, shortest_s: float = SHORTEST / RATE) -> None:
        self._whisper = whisper
        self._shortest = int(shortest_s * RATE)
        self._mel = LogMel(whisper.filters)
        self.clear()

    def clear(self) -> None:
        """A new turn begins."""
        self._mel.clear()
        self._done: Words = ()  # of sound that is forgotten
        self._gone = 0  # samples of it; places in the turn are counted from its beginning
        self._heard = Transcript()  # the sound that is kept, by its last decode
        self._pause: _Pause | None = None  # the newest, if what comes before it was decoded
        self._language = ""

    def hear(self, samples: Samples) -> None:
        """More sound of the turn: int16 [n] at 16 kHz, n at most 30 s."""
        while self._mel.samples > _LONGEST and self._mel.samples + len(samples) > ROOM:
            self._shorten()
        self._mel.append(samples.astype(np.float32) / np.float32(32768))

    def decode(self, *, final: bool) -> Decoding:
        """Begin to decode all of the turn so far."""
        if final:
            self._pause = None
        return self._decoding(self._gone + self._mel.samples, final)

    def settle(self) -> None:
        """The speaker goes on after a pause: what came before it may be done with."""
        pause, self._pause = self._pause, None
        if pause is None:
            return
        before = pause.at - self._gone
        if before >= _CUT_AT_PAUSE and self._mel.samples - before >= _PAUSE:
            self._finish(pause.words, quietest(self._mel.sound, before, before + _PAUSE))

    def _decoding(self, end: int, final: bool) -> Decoding:
        while end - self._gone > _LONGEST:
            self._shorten()
            yield 0
        if final:
            heard = self._final(max(0, end - self._gone))
            self._pause = _Pause(end, heard.words)
        else:
            heard = yield from self._partial(max(0, end - self._gone))
        self._heard = heard
        return replace(heard, words=(*self._done, *heard.words))

    def _shorten(self) -> None:
        """Sound came faster than it was decoded: be done with a part."""
        cut = quietest(self._mel.sound, _LONGEST // 2, _LONGEST)
        self._finish(self._final(cut).words, cut)

    def _final(self, samples: int) -> Transcript:
        """The words of the first samples, with a second opinion where the first is doubtful."""
        sound = self._mel.sound[:samples]
        if loudest_dbfs(sound) <= _FLOOR_DBFS:
            return Transcript()
        window, voiced_s = window_for(samples, self._shortest), voiced_seconds(sound)
        spell = self._whisper.spell
        return self._read(
            guarded(lambda size: self._attempt(samples, size), spell, window, voiced_s), samples
        )

    def _partial(self, samples: int) -> Decoding:
        """The same of an unfinished sentence, with one attempt; if it fails, what was heard before.

        With its doubts: a failure makes nobody surer of it.
        """
        sound = self._mel.sound[:samples]
        if samples < _EARLIEST or loudest_dbfs(sound) <= _FLOOR_DBFS:
            return self._heard
        voiced_s, window = voiced_seconds(sound), window_for(samples, self._shortest)
        encoded = self._whisper.encode(self._mel.window(samples, window))
        gone = self._gone
        yield 0
        if self._gone != gone:  # the sound was cut meanwhile
            return self._heard
        decode = self._whisper.generate(encoded, samples, window, self._language)
        decode = checked(decode, self._whisper.spell, voiced_s)
        if decode.silent or decode.doubtful:
            return self._heard
        heard = self._read(decode, samples)
        if samples < _CUT_AT_GAP:
            return heard
        yield 0
        if self._gone != gone:
            return self._heard
        return replace(heard, words=self._cut(encoded, decode, heard.words, samples))

    def _attempt(self, samples: int, window: int) -> Decode:
        encoded = self._whisper.encode(self._mel.window(samples, window))
        return self._whisper.generate(encoded, samples, window, self._language)

    def _read(self, decode: Decode, samples: int) -> Transcript:
        if samples >= _LANGUAGE:
            self._language = decode.language
        text = "" if decode.silent else spoken(decode.text)
        return Transcript(
            split_words(text),
            min(decode.avg_logprob, decode.attempts_logprob),
            decode.no_speech_prob,
            decode.language,
            decode.window / RATE,
        )

    def _cut(self, encoded: object, decode: Decode, words: Words, samples: int) -> Words:
        """Be done with what lies before the quietest end of a word; give the words behind it."""
        ends = self._word_ends(encoded, decode, words, samples)
        sound, reach = self._mel.sound, _PAUSE // 2
        places = [n for n, end in enumerate(ends) if samples // 4 < end < samples - _CUT_BEFORE_END]
        if not places:
            return words

        def level(n: int) -> float:
            return loudest_dbfs(sound[ends[n] - reach : ends[n] + reach])

        best = min(places, key=level)
        is_gap = level(best) < loudest_dbfs(sound[:samples]) - _QUIET_DB
        if not is_gap and samples < _CUT_IN_SPEECH:
            return words
        self._finish(words[: best + 1], quietest(sound, ends[best] - reach, ends[best] + reach))
        return words[best + 1 :]

    def _word_ends(self, encoded: object, decode: Decode, words: Words, samples: int) -> list[int]:
        """Where each word ends, samples; nothing if the words are not the decode's own."""
        if not words or "".join(words) != decode.text:
            return []
        ends = self._whisper.id_ends(encoded, decode, samples)
        lengths = [len(self._whisper.spell(decode.ids[: n + 1])) for n in range(len(ends))]
        stops = accumulate(map(len, words))
        return [ends[bisect_left(lengths, stop)] for stop in stops]

    def _finish(self, words: Words, cut: int) -> None:
        """These words stand, and the sound before the cut is forgotten."""
        cut -= cut % HOP
        self._mel.drop(cut)
        self._gone += cut
        self._done += words
        self._heard = Transcript()


def transcribe(whisper: Model, samples: Samples) -> Transcript:
    """Decode int16 [n] at 16 kHz, of any length, at once; no words if nobody speaks."""
    listener = Listener(whisper)
    for start in range(0, len(samples), FULL):
        listener.hear(samples[start : start + FULL])
    return finished(listener.decode(final=True))
