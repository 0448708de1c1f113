"""What the fixture `voxring` gives to a test."""

import asyncio
import tempfile
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pipeline.config import Config, builtin_configs, load_config, validate
from pipeline.errors import VoxringError
from pipeline.lab.laboratory import Laboratory
from pipeline.lab.live import PipelineTarget
from pipeline.lab.run import About, Run, Turn, read_run, samples, to_json
from pipeline.lab.suite import Suite, read_suite
from pipeline.lab.target import Talk, Target, endpoint_target
from pipeline.lab.tell import failures
from pipeline.output import write_text

T = TypeVar("T")
LIMIT_S = 1800.0  # of a suite in a test
STOP_S = 10.0  # for the loop to end; its thread is none that Python waits for


@dataclass(frozen=True)
class Result:
    """What was played.

    Attributes:
        run: all of it, as `voxring replay --json` writes it.
    """

    run: Run

    @property
    def failures(self) -> list[str]:
        """Every expectation that was missed, one line each; `assert result.failures == []`."""
        return list(failures(self.run))

    @property
    def turns(self) -> list[Turn]:
        """Every turn, in order."""
        return self.run.turns

    @property
    def first_audio_ms(self) -> list[float]:
        """Of every warm turn that has one."""
        return samples(turn for turn in self.run.turns if turn.warm)

    def save(self, path: Path | str) -> None:
        """Keep it, as a baseline or for `voxring report`.

        Raises:
            OutputError: it cannot be written.
        """
        write_text(Path(path), to_json(self.run), "save")


class Voxring:
    """Plays clips and suites for a test.

    Args:
        players: of this session.
        folder: that files are relative to.
    """

    def __init__(self, players: "Players", folder: Path) -> None:
        self._players = players
        self._folder = folder

    def ask(self, file: Path | str, *, repeats: int = 1, **expected: Any) -> Result:
        """Say a clip to a pipeline that stays warm from test to test.

        Args:
            file: a sound file.
            repeats: how often.
            expected: keys of a suite's [[clip]], such as within_ms=600, expect=["water"].

        Raises:
            ConfigError: an unknown key, or a clip that cannot be read.
            VoxringError: the pipeline broke.
        """
        raw = {"cold": 0, "repeats": repeats, "clip": [{"file": str(file), **expected}]}
        suite = validate(Suite, raw, "voxring.ask", "docs/lab.md explains every key")
        suite = suite.model_copy(update={"name": Path(file).stem})
        return Result(self._players.play(suite, self._folder, keep=True))

    def suite(
        self, file: Path | str, *, repeats: int | None = None, baseline: Path | str | None = None
    ) -> Result:
        """Play a suite, its cold rounds included.

        Args:
            file: TOML.
            repeats: instead of the suite's.
            baseline: an earlier run, to be compared with.

        Raises:
            ConfigError: it, or a file of it, cannot be read.
            VoxringError: the pipeline broke.
        """
        path = self._folder / file
        suite = read_suite(path)
        if repeats:
            suite = suite.model_copy(update={"repeats": repeats})
        before = read_run(self._folder / baseline, "baseline") if baseline else None
        return Result(self._players.play(suite, path.parent, before=before))


class Players:
    """An event loop in a thread of its own, and the pipeline that stays warm on it.

    Args:
        config: a built-in configuration or a file, relative to the working folder; "": the
            suite's, else the default.
        changes: as `--set`.
        endpoint: the URL of a running one, which is tested instead; "": none, or the suite's.
    """

    def __init__(self, config: str, changes: tuple[str, ...], endpoint: str = "") -> None:
        self._config = config
        self._changes = changes
        self._endpoint = endpoint
        self._work = tempfile.TemporaryDirectory(prefix="voxring-")
        self._kept: Kept | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="voxring", daemon=True)
        self._thread.start()

    def play(
        self, suite: Suite, folder: Path, *, keep: bool = False, before: Run | None = None
    ) -> Run:
        """Play a suite to its end.

        Args:
            keep: on the pipeline that stays warm.
        """
        work = Path(self._work.name)
        target: Target
        if url := self._endpoint or suite.endpoint:
            target, about = endpoint_target(url), About(target=url)
        else:
            target = PipelineTarget(self._load(suite, folder), work)
            about = About(config=self._config or suite.config or "laptop", changes=[*self._changes])
        if keep:
            self._kept = target = self._kept or Kept(target)
        lab = Laboratory(suite, folder, target, work, about)
        try:
            self._do(lab.run())
        except VoxringError:
            if keep:
                self._end_kept()  # the next test gets a new one
            raise
        return lab.result(before)

    def close(self) -> None:
        """End everything."""
        try:
            self._end_kept()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(STOP_S)
            self._loop.close()
            self._work.cleanup()

    def _end_kept(self) -> None:
        kept, self._kept = self._kept, None
        if kept:
            self._do(kept.end())

    def _load(self, suite: Suite, folder: Path) -> Config:
        """What was chosen for all tests, else what the suite names beside itself."""
        name, beside = (self._config, Path()) if self._config else (suite.config, folder)
        path = builtin_configs().get(name) or (beside / name if name else None)
        return load_config(path, [*suite.set, *self._changes])

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the loop, and wait for it; an interrupt of the test ends it too."""
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(LIMIT_S)
        except BaseException:
            future.cancel()
            raise


class Kept:
    """A target that is started once and stays.

    Args:
        target: what it is.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._runs = False

    @property
    def pids(self) -> dict[str, int]:
        """Of the target."""
        return self._target.pids

    async def start(self) -> None:
        """Start it the first time."""
        if not self._runs:
            await self._target.start()
            self._runs = True

    async def stop(self) -> None:
        """It stays."""

    async def open(self) -> Talk:
        """Begin a conversation."""
        return await self._target.open()

    async def end(self) -> None:
        """End it after all."""
        await self._target.stop()
        self._runs = False
