"""`voxring top`: a running pipeline, looked at from another program."""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.errors import SessionError
from pipeline.pipeline import Pipeline
from pipeline.top import programs
from pipeline.top.screen import WIDE, render
from pipeline.top.snapshot import Snapshot
from pipeline.top.state import MEANINGS, state_of
from pipeline.top.watcher import Watcher
from ringbuf import NoArena
from ringbuf.inspect import arena_of
from stages.messages import End, Played, Status
from stages.topology import CONTROL, STAGES
from tests.pipeline.running import back, run, scripted, tone, until_turn_ended
from tests.pipeline.test_recovery import listening

NOTHING = dict.fromkeys(
    ("turn", "ended", "answer", "released", "hold", "reply_end", "voice_end", "played"), 0
)
TURN_3 = {**NOTHING, "turn": 3, "ended": 2, "answer": 7, "released": 6}
RELEASED = {**TURN_3, "released": 7}
SOUNDS = {**RELEASED, "played": Played(7, 1, final=False).pack()}


@pytest.mark.parametrize(
    ("words", "state"),
    [
        (NOTHING, "listening"),
        ({**TURN_3, "ended": 3}, "listening"),
        (TURN_3, "hearing"),
        ({**TURN_3, "reply_end": End(7, 9, Status.OK).pack()}, "preparing"),
        ({**TURN_3, "reply_end": End(6, 9, Status.OK).pack()}, "hearing"),
        (RELEASED, "waiting"),
        (SOUNDS, "answering"),
        ({**SOUNDS, "hold": 1}, "held"),
    ],
)
def test_the_words_of_a_lane_tell_what_goes_on(words: dict[str, int], state: str) -> None:
    assert state_of(words) == state
    assert state in MEANINGS


def plain(snapshot: Snapshot, width: int) -> str:
    console = Console(width=width, record=True, file=open(os.devnull, "w"))  # noqa: PTH123, SIM115
    with console.file:
        console.print(render(snapshot, width))
    return console.export_text()


def test_a_pipeline_is_seen_from_outside_with_its_turns_and_its_restarts(tmp_path: Path) -> None:
    clip = tone(tmp_path / "clip.wav", 0.3)

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            with arena_of(os.getpid()) as arena:
                watcher = Watcher(os.getpid(), arena, time.monotonic_ns)
                assert watcher.look().open[0].state == "listening"
                lane.play(clip)
                ended, _ = await until_turn_ended(lane)
                await asyncio.sleep(0.05)
                snapshot = watcher.look()
                (seen,) = snapshot.open
                assert (seen.number, seen.turn, seen.turns, seen.last) == (0, 1, 1, "answered")
                assert seen.first_audio_ms == (ended.timeline.first_audio_ms,)
                assert seen.phases == ended.timeline.phases
                assert [ring.name for ring in seen.rings] == [
                    *("mic", "speech", "heard", "reply", "voice")
                ]
                assert 10 < seen.rings[0].rate_per_s < 60, "blocks of 32 ms"
                pids = {program.name: program.pid for program in snapshot.programs}
                assert pids == {CONTROL: os.getpid(), **pipeline.stages}
                assert all(p.cpu_percent is not None for p in snapshot.programs)
                assert all((p.memory_mib or 0) > 5 for p in snapshot.programs)
                for width in (80, WIDE):
                    text = plain(snapshot, width)
                    assert "1 of 4 lanes open" in text
                    assert "answered" in text
                old = pipeline.stages["tts"]
                os.kill(old, signal.SIGKILL)
                await back(pipeline, "tts", old)
                again = {program.name: program for program in watcher.look().programs}
                assert again["tts"].restarts == 1
                assert again["tts"].pid == pipeline.stages["tts"]
                assert again["llm"].restarts == 0

    run(work, listening())


def test_the_command_prints_one_look_as_json_or_as_a_table() -> None:
    async def call(pid: int, *options: str) -> str:
        command = [sys.executable, "-m", "pipeline", "top", str(pid), "--once", *options]
        program = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        output, _ = await program.communicate()
        assert program.returncode == 0
        return output.decode()

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open():
            stage = pipeline.stages["llm"]
            text, table = await asyncio.gather(call(stage, "--json"), call(os.getpid()))
            seen = json.loads(text)
            assert seen["pid"] == os.getpid(), "a stage leads to its pipeline"
            assert [program["name"] for program in seen["programs"]] == [CONTROL, *STAGES]
            assert [lane["number"] for lane in seen["open"]] == [0]
            assert seen["models"]["llm"] == "scripted"
            assert "dropped" in table

    run(work, scripted())


def test_a_program_without_a_pipeline_is_refused() -> None:
    with pytest.raises(NoArena, match="holds no arena"):
        arena_of(os.getppid())


def test_several_pipelines_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = {11: "asr", 21: "tts"}
    monkeypatch.setattr(programs, "stage_of", lambda pid: stages.get(pid, ""))
    monkeypatch.setattr(programs, "parent_of", lambda pid: pid - 1)
    arenas = {1: [5, 10, 11], 2: [20, 21], 3: [30]}  # 5 only looks; 30 runs no stage
    monkeypatch.setattr(programs, "holders", lambda: arenas)
    with pytest.raises(SessionError, match=r"2 pipelines are running: 10, 20\. Say which one"):
        programs.find_pipeline()
    assert programs.programs_of(11) == {CONTROL: 10, "asr": 11}
    del arenas[2]
    assert programs.find_pipeline() == 10
    arenas.clear()
    with pytest.raises(SessionError, match="no pipeline of yours is running"):
        programs.find_pipeline()
