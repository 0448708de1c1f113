"""What the stages of a running pipeline share: the arena, the bells, the lifeline, the log.

One of them runs in a second interpreter, which has bare `voxring` and nothing else.
"""

import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.config import load_config
from pipeline.errors import StageError
from pipeline.events import ReplyText, TurnEnded
from pipeline.pipeline import Pipeline
from pipeline.version import VERSION
from ringbuf import VERSION as LAYOUT_VERSION
from stages.topology import STAGES
from tests.pipeline.cli_running import QUESTION
from tests.pipeline.running import run, scripted, tone
from tests.pipeline.second_interpreter import pip

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
    pytest.mark.timeout(300),  # an installation
]
REPLY = "All work and no play makes Jack a dull boy."
LONG = f'llm.options={{replies = ["{REPLY}"], ids_per_s = 20}}'
OLD = """#!/bin/sh
shift 3  # -P -m stages.run
exec {python} -P -c "
import runpy
import pipeline.version
pipeline.version.VERSION = '0.0.1'
runpy.run_module('stages.run', run_name='__main__')
" "$@"
"""

Thing = tuple[int, int]  # device and inode: the same for every descriptor of one kernel object


@dataclass(frozen=True)
class Held:
    """A descriptor of a program."""

    thing: Thing
    target: str
    reads: bool
    writes: bool


@dataclass(frozen=True)
class Snapshot:
    """A pipeline while a reply streams.

    Attributes:
        held: descriptors of each stage.
        names: what the supervisor knows of, by name.
        mapped: files that each stage maps to write into them for others.
        core: the C extension that each stage runs.
    """

    held: dict[str, list[Held]]
    names: dict[str, Thing]
    mapped: dict[str, set[str]]
    core: dict[str, str]


def thing(path: Path | str | int) -> Thing:
    """What a path or a descriptor leads to; links in /proc/PID/fd lead to the object itself."""
    status = os.fstat(path) if isinstance(path, int) else Path(path).stat()
    return status.st_dev, status.st_ino


def held_by(pid: int) -> list[Held]:
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        flags = int(Path(f"/proc/{pid}/fdinfo/{link.name}").read_text().split()[3], 8)
        access = flags & os.O_ACCMODE
        found.append(
            Held(thing(link), str(link.readlink()), access != os.O_WRONLY, access != os.O_RDONLY)
        )
    return found


def shared_mappings(pid: int) -> set[str]:
    lines = [line for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if "rw-s" in line]
    return {line.split(maxsplit=5)[5] for line in lines}


def core_of(pid: int) -> str:
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return next(line.split(maxsplit=5)[5] for line in lines if "ringbuf/_core" in line)


def look(pipeline: Pipeline) -> Snapshot:
    supervisor, pids = pipeline._supervisor, pipeline.stages
    names = {
        "arena": thing(supervisor.arena.fd),
        "lifeline": thing(supervisor._lifeline),
        "log": thing(2),
        "null": thing("/dev/null"),
        **{f"bell of {name}": thing(bell.read_fd) for name, bell in supervisor.bells.items()},
        **{f"ready of {n}": thing(p._pipe) for n, p in supervisor.processes.items()},
    }
    return Snapshot(
        {stage: held_by(pid) for stage, pid in pids.items()},
        names,
        {stage: shared_mappings(pid) for stage, pid in pids.items()},
        {stage: core_of(pid) for stage, pid in pids.items()},
    )


async def look_while_a_reply_streams(pipeline: Pipeline, clip: Path) -> Snapshot:
    async with await pipeline.open() as lane:
        lane.play(clip)
        async for event in lane:
            if isinstance(event, ReplyText) and len(event.text) >= 5:
                break
        seen = look(pipeline)
        async for event in lane:
            assert not isinstance(event, TurnEnded), "the reply was still streaming"
            if isinstance(event, ReplyText):
                return seen
    raise AssertionError("the lane was closed")


def shared(snapshot: Snapshot) -> dict[str, set[str]]:
    """What two stages hold beyond what they may, and who does."""
    may_share = {t for name, t in snapshot.names.items() if not name.startswith("ready")}
    targets = {held.thing: held.target for all in snapshot.held.values() for held in all}
    holders: dict[Thing, set[str]] = defaultdict(set)
    for stage, descriptors in snapshot.held.items():
        for held in descriptors:
            holders[held.thing].add(stage)
    return {targets[t]: who for t, who in holders.items() if len(who) > 1 and t not in may_share}


@pytest.fixture(scope="module")
def snapshot(second_interpreter: Path, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    clip = tone(tmp_path_factory.mktemp("clips") / "clip.wav")
    config = scripted(LONG, f"llm.python={second_interpreter}")
    return run(lambda pipeline: look_while_a_reply_streams(pipeline, clip), config)


def test_two_stages_share_the_arena_bells_lifeline_and_log_and_nothing_else(
    snapshot: Snapshot,
) -> None:
    assert shared(snapshot) == {}
    for name in ("arena", "lifeline", "log"):
        for stage in STAGES:
            assert any(held.thing == snapshot.names[name] for held in snapshot.held[stage])


def test_a_ready_pipe_is_one_stages_alone(snapshot: Snapshot) -> None:
    for stage in STAGES:
        ready = snapshot.names[f"ready of {stage}"]
        assert [name for name in STAGES if any(h.thing == ready for h in snapshot.held[name])] == [
            stage
        ]


def test_a_bell_is_heard_by_its_owner_alone(snapshot: Snapshot) -> None:
    for owner in STAGES:
        bell = snapshot.names[f"bell of {owner}"]
        for stage in STAGES:
            ends = [held for held in snapshot.held[stage] if held.thing == bell]
            assert any(held.writes for held in ends), f"{stage} can ring {owner}"
            assert any(held.reads for held in ends) is (stage == owner)


def test_the_only_memory_that_is_shared_is_the_arena(snapshot: Snapshot) -> None:
    for stage in STAGES:
        assert len(snapshot.mapped[stage]) == 1
        assert next(iter(snapshot.mapped[stage])).startswith("/memfd:")


def test_there_is_no_socket_and_no_named_file_for_writing(snapshot: Snapshot) -> None:
    no_way_out(snapshot)


def test_bare_voxring_is_enough_for_a_stage(snapshot: Snapshot, second_interpreter: Path) -> None:
    """The language model's program runs another build of everything, numpy included."""
    place = str(second_interpreter.parents[1])
    for stage in STAGES:
        assert snapshot.core[stage].startswith(place) is (stage == "llm")
    listed = subprocess.run(
        [*pip(second_interpreter), "list", "--format=freeze"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    packages = {line.partition("==")[0].lower() for line in listed.splitlines()}
    assert "voxring" in packages
    assert not packages & {"torch", "onnxruntime", "soundfile", "faster-whisper", "transformers"}


@pytest.mark.models
def test_the_default_models_open_nothing_between_stages_either() -> None:
    """onnxruntime 1.32 opens a telemetry database, the same in every program, and sockets."""
    config = load_config(cores=2)
    snapshot = run(lambda pipeline: look_while_a_reply_streams(pipeline, QUESTION), config)
    assert shared(snapshot) == {}
    no_way_out(snapshot)


def no_way_out(snapshot: Snapshot) -> None:
    known = set(snapshot.names.values())
    for stage in STAGES:
        others = [held for held in snapshot.held[stage] if held.thing not in known]
        assert not [held for held in others if held.target.startswith("socket:")]
        assert not [held for held in others if held.writes and held.target.startswith("/")]


def test_another_version_is_refused_by_name(second_interpreter: Path, tmp_path: Path) -> None:
    old = tmp_path / "old-python"
    old.write_text(OLD.format(python=second_interpreter))
    old.chmod(0o755)

    async def work(pipeline: Pipeline) -> None:
        raise AssertionError("it started")

    with pytest.raises(StageError) as caught:
        run(work, scripted(f"llm.python={old}"))
    assert str(caught.value) == (
        f"llm runs voxring 0.0.1 with layout {LAYOUT_VERSION}, "
        f"this is {VERSION} with layout {LAYOUT_VERSION}. "
        "Install the same voxring in its interpreter"
    )
