"""Plays a suite: cold rounds, each on a fresh start, then warm repeats."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from pathlib import Path

from pipeline.lab.baseline import compare
from pipeline.lab.conduct import hold
from pipeline.lab.mix import Said, prepare
from pipeline.lab.record import record
from pipeline.lab.run import About, Conversation, Run, Turn, samples
from pipeline.lab.suite import Suite
from pipeline.lab.target import Target
from pipeline.lab.usage import Sampler
from pipeline.lab.verdict import judge
from pipeline.report import machine, summarize
from pipeline.version import VERSION

OWN = "voxring"  # the program that plays the suite, among those that are sampled


class Laboratory:
    """One run of a suite. What there is of it can be had at any time, also after an error.

    Args:
        suite: what to play.
        folder: that the suite's files are relative to.
        target: what to play it to.
        work: for what is mixed; not removed here.
        about: what is known of the run before it begins.
        on_say: told of each clip that begins, with its repeat; 0: a cold round.
        on_turns: told of the turns of each conversation that is over.

    Raises:
        ConfigError: a clip cannot be read.
    """

    def __init__(
        self,
        suite: Suite,
        folder: Path,
        target: Target,
        work: Path,
        about: About,
        on_say: Callable[[Said, int], None] = lambda said, repeat: None,
        on_turns: Callable[[Sequence[Turn]], None] = lambda turns: None,
    ) -> None:
        self.suite = suite
        self.clips = {each.name: prepare(each, folder, work) for each in suite.conversations}
        self._target = target
        self._about = about
        self._on_say = on_say
        self._on_turns = on_turns
        self._turns: list[Turn] = []
        self._conversations: list[Conversation] = []
        self._ready_s: list[float] = []
        self._began = time.monotonic()
        self._started = datetime.now().astimezone().isoformat(timespec="seconds")
        self._sampler = Sampler(lambda: {**target.pids, OWN: os.getpid()})

    async def run(self) -> None:
        """Play everything.

        Raises:
            SessionError, StageError: the target broke; what was played until then is kept.
        """
        try:
            async with sampling(self._sampler):
                for number in range(1, self.suite.cold + 1):
                    await self._start()
                    await self._round(number, warm=False)
                    if number < self.suite.cold:
                        await self._target.stop()
                if not self.suite.cold:
                    await self._start()
                for number in range(1, self._most_repeats + 1):
                    await self._round(number, warm=True)
        finally:
            await self._target.stop()

    def result(self, baseline: Run | None = None, interrupted: str = "") -> Run:
        """What there is.

        Args:
            baseline: to be compared with.
            interrupted: why it is not all; "": it is.
        """
        warm = [turn for turn in self._turns if turn.warm]
        run = Run(
            voxring=VERSION,
            machine=machine(),
            turns=self._turns,
            summary={"first_audio_ms": summarize(samples(warm))},
            suite=self._about.model_copy(
                update={
                    "name": self.suite.name,
                    "started": self._started,
                    "seconds": round(time.monotonic() - self._began, 1),
                    "repeats": self.suite.repeats,
                    "cold": self.suite.cold,
                    "percentile": self.suite.percentile,
                    "ready_s": self._ready_s,
                }
            ),
            conversations=self._conversations,
            usage=self._sampler.usage(),
            interrupted=interrupted,
        )
        return run.model_copy(
            update={
                "checks": judge(self.suite, run, baseline),
                "comparisons": compare(baseline, run) if baseline else [],
            }
        )

    @property
    def _most_repeats(self) -> int:
        return max(each.repeats or self.suite.repeats for each in self.suite.conversations)

    async def _start(self) -> None:
        before = time.monotonic()
        await self._target.start()
        self._ready_s.append(round(time.monotonic() - before, 3))

    async def _round(self, number: int, *, warm: bool) -> None:
        """Each conversation once: so that what changes with time changes all of them alike."""
        for each in self.suite.conversations:
            if not warm or number <= (each.repeats or self.suite.repeats):
                await self._play(each.name, number, warm=warm)

    async def _play(self, name: str, number: int, *, warm: bool) -> None:
        clips = self.clips[name]
        began_s = time.monotonic() - self._began
        talk = await self._target.open()
        told = await hold(talk, clips, lambda said: self._on_say(said, number if warm else 0))
        conversation, turns = record(
            name,
            clips,
            told,
            repeat=number,
            warm=warm,
            index=len(self._conversations),
            began_s=began_s,
        )
        self._conversations.append(conversation)
        self._turns += turns
        self._on_turns(turns)


@contextlib.asynccontextmanager
async def sampling(sampler: Sampler) -> AsyncIterator[None]:
    """Sample in the background until the block is left."""
    task = asyncio.create_task(sampler.run())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
