"""A recogniser that hears what its script says, for tests, benchmarks and stage writers."""

import time
from collections.abc import Callable
from itertools import cycle

from pydantic import BaseModel, ConfigDict, Field

from stages.asr.bridge import bridge_for
from stages.asr.recogniser import Decoding, Samples
from stages.asr.stage import AsrStage
from stages.asr.transcriber import Transcriber
from stages.asr.transcript import Transcript, split_words
from stages.lane import Lane
from stages.topology import INPUT_RATE


class ScriptedAsrOptions(BaseModel):
    """Options of the scripted recogniser.

    Attributes:
        lines: what each utterance of a conversation was, in turn, and then from the first again;
            an empty line is a noise without words. An utterance that goes on after a pause is the
            next line.
        words_per_s: how fast a line is spoken: so many of its words are heard before it is over;
            0: none.
        delay_ms: from the end of an utterance to its words, during which other lanes go on.
        work_ms: how long the recogniser is busy with each decode.
        fail_on: the recogniser raises instead of hearing a line with this text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    lines: list[str] = Field(["Is it safe to swim in the Seine?"], min_length=1)
    words_per_s: float = Field(0.0, ge=0)
    delay_ms: float = Field(0.0, ge=0)
    work_ms: float = Field(0.0, ge=0)
    fail_on: str = ""


class Script:
    """One conversation's place in the script.

    Args:
        options: the script.
        now: the clock, monotonic ns.
    """

    def __init__(self, options: ScriptedAsrOptions, now: Callable[[], int]) -> None:
        self.streams = options.words_per_s > 0
        self._options = options
        self._now = now
        self._lines = cycle(options.lines)
        self._line = next(self._lines)
        self._samples = 0
        self._used = False  # the line was an utterance

    def clear(self) -> None:
        """A new turn begins."""
        self._samples = 0
        self.settle()

    def hear(self, samples: Samples) -> None:
        """Whatever it is, it takes its time."""
        self._samples += len(samples)

    def decode(self, *, final: bool) -> Decoding:
        """The line, or as much of it as was spoken by now."""
        if final:
            self._used = True
            due = self._now() + int(self._options.delay_ms * 1e6)
            return self._decoding(self._line, due)
        spoken = int(self._samples / INPUT_RATE * self._options.words_per_s)
        return self._decoding("".join(split_words(self._line)[:spoken]), 0)

    def settle(self) -> None:
        """What comes next is the next line."""
        if self._used:
            self._line, self._used = next(self._lines), False

    def _decoding(self, line: str, due: int) -> Decoding:
        if due > self._now():
            yield due
        self._work()
        yield 0
        if self._options.fail_on and self._options.fail_on in line:
            raise RuntimeError(f"the script fails on {self._options.fail_on!r}")
        return Transcript(split_words(line))

    def _work(self) -> None:
        # NOTE: burns CPU as a model would; a sleep would leave the core to the other stages.
        end = time.thread_time() + self._options.work_ms / 1000
        while time.thread_time() < end:
            pass


class ScriptedAsr(AsrStage):
    """The ring protocol of the real recogniser, without a model."""

    def load(self) -> None:
        """Check the script, and load the language model's tokenizer if it has one."""
        self.options = self.host.options(ScriptedAsrOptions)
        self.bridge = bridge_for(self.host.config, self.host.progress)

    def open(self, lane: Lane) -> Transcriber:
        """Open a new conversation, at the script's first line."""
        script = Script(self.options, self.host.now)
        return self.transcriber(lane, script, self.bridge)
