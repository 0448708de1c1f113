"""A voice without a model: a tone for each id, to measure and test everything around a voice."""

import os
import time
from collections import deque

from pydantic import BaseModel, ConfigDict, Field

from pipeline.tokenizer import ByteVocabulary, Vocabulary, vocabulary_for
from stages.lane import Lane
from stages.stage import Stage
from stages.tts.detokenizer import Detokenizer
from stages.tts.speaker import Speaker
from stages.tts.tones import LOWEST_RATE, SHORTEST_S, tone
from stages.tts.utterance import Sound


class ScriptedTtsOptions(BaseModel):
    """Options of the scripted voice.

    Attributes:
        rate: samples a second.
        tone_ms: how long an id sounds; `tones.read_tones` reads the ids back.
        work_ms: how long the voice is busy before the first tone of an answer.
        abort_on: the program aborts when this text has come, as a crash in native code does.
        fail_on: the voice raises when this text has come; the next answer works.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    rate: int = Field(LOWEST_RATE, ge=LOWEST_RATE, le=192_000)
    tone_ms: int = Field(60, ge=round(SHORTEST_S * 1000), le=10_000)
    work_ms: float = Field(0.0, ge=0)
    abort_on: str = ""
    fail_on: str = ""


class ToneUtterance:
    """One answer in tones."""

    def __init__(self, vocabulary: Vocabulary, options: ScriptedTtsOptions) -> None:
        self.rate = options.rate
        self.due: int | None = None
        self._options = options
        self._detokenizer = Detokenizer(vocabulary)
        self._text = ""
        self._ids: deque[tuple[int, int]] = deque()  # (id, position)
        self._work_ms = options.work_ms

    @property
    def is_ready(self) -> bool:
        """Whether an id waits for its tone."""
        return bool(self._ids)

    def feed(self, id: int, position: int) -> None:
        """The next id of the reply."""
        self._text += self._detokenizer.feed(id)
        self._ids.append((id, position))
        if self._options.abort_on and self._options.abort_on in self._text:
            os.abort()
        if self._options.fail_on and self._options.fail_on in self._text:
            raise RuntimeError(f"the script fails on {self._options.fail_on!r}")

    def end(self, *, complete: bool) -> None:
        """Every id is whole by itself."""

    def more(self) -> Sound | None:
        """The tone of the next id."""
        if not self._ids:
            return None
        self._work()
        id, position = self._ids.popleft()
        return Sound(tone(id, self.rate, self._options.tone_ms / 1000), position)

    def _work(self) -> None:
        # NOTE: burns CPU as a model would; a sleep would leave the core to the other stages.
        end = time.thread_time() + self._work_ms / 1000
        self._work_ms = 0.0
        while time.thread_time() < end:
            pass


class ScriptedTts(Stage):
    """Speaks in tones."""

    name = "tts"

    def load(self) -> None:
        """Check the options; the vocabulary is needed for the words of `abort_on` and `fail_on`."""
        self.options = self.host.options(ScriptedTtsOptions)
        needs_words = self.options.abort_on or self.options.fail_on
        self.vocabulary = (
            vocabulary_for(self.host.config, self.host.progress)
            if needs_words
            else ByteVocabulary()
        )

    def open(self, lane: Lane) -> Speaker:
        """A new conversation."""
        return Speaker(lane, self._begin, self.host.now)

    def _begin(self) -> ToneUtterance:
        return ToneUtterance(self.vocabulary, self.options)
