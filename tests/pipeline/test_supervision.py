"""Programs that start, fail to start, die, and end: for real, with signals."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.errors import SessionError, StageError
from pipeline.events import ReplyText
from pipeline.pipeline import Pipeline
from stages.topology import STAGES
from tests.pipeline.running import alive, run, scripted, tone, until_turn_ended, wait_until

PATIENCE_S = 2.0
ONCE = "pipeline.restarts=0"  # the first death is the end
LONG = f'llm.options={{replies = ["{"All work and no play. " * 30}"], ids_per_s = 50}}'
PROGRAM = """
import asyncio, sys
from pathlib import Path
from tests.pipeline.running import scripted
from pipeline.pipeline import Pipeline

async def main():
    async with Pipeline(scripted()) as pipeline:
        lane = await pipeline.open()
        print(*pipeline.stages.values(), flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def shared_memory() -> set[str]:
    """Names in /dev/shm; semaphores are other programs'."""
    return {path.name for path in Path("/dev/shm").iterdir() if not path.name.startswith("sem.")}


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def failure_of(*overrides: str) -> str:
    async def work(pipeline: Pipeline) -> None:
        raise AssertionError("it started")

    with pytest.raises(StageError) as caught:
        run(work, scripted(*overrides))
    return str(caught.value)


@pytest.mark.parametrize("stage", STAGES)
def test_a_killed_stage_ends_the_run_by_name_and_takes_everything_along(
    stage: str, tmp_path: Path
) -> None:
    pids: dict[str, int] = {}

    async def work(pipeline: Pipeline) -> None:
        pids.update(pipeline.stages)
        async with await pipeline.open() as lane:
            lane.play(tone(tmp_path / "clip.wav"))
            async for event in lane:
                if isinstance(event, ReplyText):
                    break
            killed = time.monotonic()
            os.kill(pids[stage], signal.SIGKILL)
            with pytest.raises(StageError, match=f"stage {stage} was killed by SIGKILL"):
                await until_turn_ended(lane)
            assert time.monotonic() - killed < PATIENCE_S

    with pytest.raises(StageError, match=f"stage {stage}"):
        run(work, scripted(LONG, ONCE))
    assert not any(alive(pid) for pid in pids.values())


def test_a_stage_that_aborts_in_native_code_is_named(tmp_path: Path) -> None:
    """rhasspy/piper#124: one word brought the whole program down."""

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            lane.play(tone(tmp_path / "clip.wav"))
            await until_turn_ended(lane)

    with pytest.raises(StageError, match="stage tts was killed by SIGABRT"):
        run(work, scripted('tts.options={abort_on = "speak"}', ONCE))


def test_a_stage_that_hangs_is_killed_and_named() -> None:
    async def work(pipeline: Pipeline) -> None:
        os.kill(pipeline.stages["llm"], signal.SIGSTOP)
        await pipeline.open()

    with pytest.raises(StageError, match="llm gave no sign of life for"):
        run(work, scripted("pipeline.hang_timeout_s=1.5", ONCE))


def test_a_stage_that_does_not_follow_a_session_is_named() -> None:
    async def work(pipeline: Pipeline) -> None:
        pid = pipeline.stages["tts"]
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(SessionError, match="tts did not follow session 1"):
                await pipeline.open()
        finally:
            os.kill(pid, signal.SIGCONT)

    run(work, scripted("pipeline.open_timeout_s=0.3"))


def test_a_stage_that_does_not_exist_lists_those_that_do() -> None:
    message = failure_of("asr.stage=whisperer")
    assert "asr could not start" in message
    assert "faster-whisper, scripted" in message


def test_a_stage_that_cannot_be_imported_says_so() -> None:
    assert "No module named 'no_such_package'" in failure_of("llm.stage=no_such_package:Llm")


def test_an_option_that_does_not_exist_names_the_nearest() -> None:
    message = failure_of("tts.options={tone_m = 40}")
    assert "tts could not start" in message
    assert "Did you mean tone_ms?" in message


def test_an_interpreter_that_does_not_exist_is_named() -> None:
    message = failure_of("asr.python=/no/such/python")
    assert "/no/such/python" in message
    assert "Check the `python` of its section" in message


def test_a_stage_that_is_not_ready_in_time_is_named() -> None:
    assert "not ready after 0 s" in failure_of("pipeline.ready_timeout_s=0.05")


def test_two_pipelines_at_once_do_not_meet(tmp_path: Path) -> None:
    clip = tone(tmp_path / "clip.wav")

    async def ask(text: str) -> str:
        config = scripted(f'asr.options={{lines = ["{text}"]}}')
        async with Pipeline(config) as pipeline, await pipeline.open() as lane:
            lane.play(clip)
            ended, _ = await until_turn_ended(lane)
            return ended.transcript

    async def both() -> list[str]:
        return await asyncio.gather(ask("one"), ask("two"))

    assert asyncio.run(both()) == ["one", "two"]


def test_starting_and_stopping_leaves_nothing(tmp_path: Path) -> None:
    async def work(pipeline: Pipeline) -> dict[str, int]:
        return pipeline.stages

    run(work)  # warm: imports, event loop
    gc.collect()  # what other tests left; what this one leaves must go by itself
    before = (descriptors(), shared_memory())
    pids = run(work)
    assert (descriptors(), shared_memory()) == before
    assert not any(alive(pid) for pid in pids.values())


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_program_outlives_its_parent(sig: signal.Signals) -> None:
    """vllm-project/vllm#55510: children survived kill -9 and kept the GPU."""
    before = shared_memory()
    parent = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert parent.stdout
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == len(STAGES)
    os.kill(parent.pid, sig)
    parent.wait(PATIENCE_S + 1)
    parent.stdout.close()
    assert wait_until(lambda: not any(map(alive, pids)), PATIENCE_S)
    assert shared_memory() == before


def test_a_stopped_program_does_not_outlive_its_parent_either() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert parent.stdout
    pids = [int(word) for word in parent.stdout.readline().split()]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    parent.kill()
    parent.wait(PATIENCE_S)
    parent.stdout.close()
    assert wait_until(lambda: not any(map(alive, pids)), PATIENCE_S)
