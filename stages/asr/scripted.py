"""A recogniser that hears what its script says, for tests, benchmarks and stage writers."""

import time
from itertools import cycle

from pydantic import BaseModel, ConfigDict, Field

from stages.asr.bridge import bridge_for
from stages.asr.transcriber import Samples, Transcriber
from stages.lane import Lane
from stages.stage import Stage


class ScriptedAsrOptions(BaseModel):
    """Options of the scripted recogniser.

    Attributes:
        lines: what each soft end of a conversation was, in turn, and then from the first again;
            an empty line is a noise without words.
        delay_ms: from a soft end to its ids, during which other lanes go on.
        work_ms: how long the recogniser is busy with each soft end.
        fail_on: the recogniser raises instead of hearing a line with this text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    lines: list[str] = Field(["Is it safe to swim in the Seine?"], min_length=1)
    delay_ms: float = Field(0.0, ge=0)
    work_ms: float = Field(0.0, ge=0)
    fail_on: str = ""


class Script:
    """One conversation's place in the script."""

    def __init__(self, options: ScriptedAsrOptions) -> None:
        self._options = options
        self._lines = cycle(options.lines)

    def recognise(self, samples: Samples) -> str:
        """Give the next line, whatever the sound."""
        self._work()
        line = next(self._lines)
        if self._options.fail_on and self._options.fail_on in line:
            raise RuntimeError(f"the script fails on {self._options.fail_on!r}")
        return line

    def _work(self) -> None:
        # NOTE: burns CPU as a model would; a sleep would leave the core to the other stages.
        end = time.thread_time() + self._options.work_ms / 1000
        while time.thread_time() < end:
            pass


class ScriptedAsr(Stage):
    """The ring protocol of the real recogniser, without a model."""

    name = "asr"

    def load(self) -> None:
        """Check the script, and load the language model's tokenizer if it has one."""
        self.options = self.host.options(ScriptedAsrOptions)
        self.bridge = bridge_for(self.host.config, self.host.progress)

    def open(self, lane: Lane) -> Transcriber:
        """Open a new conversation, at the script's first line."""
        script = Script(self.options)
        delay_ns = int(self.options.delay_ms * 1e6)
        return Transcriber(lane, script.recognise, self.bridge, self.host.now, delay_ns)
