"""Keeps one stage running: sees it die or hang, starts it again, and gives up when it must."""

import asyncio
import signal
import time
from collections.abc import Callable

from pipeline.config import PipelineConfig
from pipeline.errors import StageError
from pipeline.process import Process
from pipeline.restarts import Restarts

LOOK_S = 2.0  # between two looks at the beat


class Keeper:
    """Watches over one stage.

    Args:
        stage: its name.
        start: starts a new program for it.
        beat: its last sign of life, monotonic ns.
        limits: how long it may be silent, and how often it may die.
        on_death: told of each death that is forgiven, in words.
        on_back: told when it is ready again.
    """

    def __init__(
        self,
        stage: str,
        start: Callable[[], Process],
        beat: Callable[[], int],
        limits: PipelineConfig,
        on_death: Callable[[str, str], None],
        on_back: Callable[[str], None],
    ) -> None:
        self._stage = stage
        self._start = start
        self._beat = beat
        self._limits = limits
        self._on_death = on_death
        self._on_back = on_back
        self._restarts = Restarts(limits.restarts, limits.restart_window_s)

    async def keep(self, process: Process) -> StageError:
        """Keep the stage running, from a program that is ready; returns why it was given up."""
        cause = await self._until_dead(process)
        while (delay := self._restarts.died(time.monotonic())) is not None:
            self._on_death(self._stage, cause)
            await asyncio.sleep(delay)
            process = self._start()
            trouble = await self._until_ready(process)
            if trouble is None:
                self._on_back(self._stage)
            cause = trouble or await self._until_dead(process)
        return self._given_up(cause)

    async def _until_dead(self, process: Process) -> str:
        """Wait for its death; one that gives no sign of life is killed."""
        while not await process.gone(LOOK_S):
            silent = (time.monotonic_ns() - self._beat()) / 1e9
            if silent > self._limits.hang_timeout_s:
                process.end(signal.SIGKILL)
                await process.dead.wait()
                return f"gave no sign of life for {silent:.0f} s and was killed"
        return process.obituary

    async def _until_ready(self, process: Process) -> str | None:
        """Wait until it is ready; else why it is not."""
        try:
            async with asyncio.timeout(self._limits.ready_timeout_s):
                await asyncio.shield(process.ready)
        except StageError as error:
            await process.dead.wait()
            return str(error).removeprefix(f"{self._stage} ")
        except TimeoutError:
            process.end(signal.SIGKILL)
            await process.dead.wait()
            return f"was not ready after {self._limits.ready_timeout_s:g} s"
        return None

    def _given_up(self, cause: str) -> StageError:
        times = self._restarts.most + 1
        often = f", {times} times within {self._limits.restart_window_s:g} s" if times > 1 else ""
        return StageError(
            f"stage {self._stage} {cause}{often}", "Its own messages stand above; then start again"
        )
