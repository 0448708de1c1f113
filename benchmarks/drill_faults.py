"""The faults of the drill: what is done to a pipeline that runs, and what must become of it."""

import asyncio
import contextlib
import os
import resource
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import wall_clock
from pipeline.client_lane import ClientLane
from pipeline.events import ClipEnded, Event, Fault, TurnEnded
from pipeline.pipeline import Pipeline
from stages.outcome import Outcome
from stages.topology import ASR, AUDIO, CONTROL, LLM, STAGES, TTS, TURN

IDLE, SPEAKING, PREPARING, ANSWERING = PHASES = ("idle", "speaking", "preparing", "answering")
HANG_S = 1.5
PATIENT = "pipeline.hang_timeout_s=100"  # a stopped stage is only slow
SLOW_S = 0.8
HOUR_S = 3600
FULL_MIC_S = 5.0  # stopped for longer than the ring of the microphone lasts
FULL_SPEECH_S = 68.0  # likewise
ANSWERED, FAILED = Outcome.ANSWERED.label, Outcome.FAILED.label
TIMED_OUT = Outcome.TIMED_OUT.label
SHARED = (FAILED, ANSWERED)  # what a stage that dies was doing for all of them is lost
NONE = "-"  # no turn was hit


@dataclass
class Scene:
    """A pipeline with one conversation in some phase of its first turn.

    Attributes:
        target: what is hit.
        told: what the conversation has told so far.
        hit: monotonic s at which the fault came.
        seen: process ids of all programs there were.
    """

    pipeline: Pipeline
    lane: ClientLane
    target: str
    clip: Path
    told: list[Event] = field(default_factory=list)
    hit: float = 0.0
    seen: set[int] = field(default_factory=set)

    @property
    def pid(self) -> int:
        """Of the program that is hit."""
        return os.getpid() if self.target == CONTROL else self.pipeline.stages[self.target]

    async def next_event(self) -> Event:
        """What is told next."""
        event = await self.lane.next_event()
        self.told.append(event)
        return event

    async def turn_ended(self) -> TurnEnded:
        """The end of the next turn."""
        while not isinstance(event := await self.next_event(), TurnEnded):
            pass
        return event

    def complaints(self) -> list[str]:
        """What went wrong, as the client was told."""
        faults = [event.message for event in self.told if isinstance(event, Fault)]
        return faults + [e.error for e in self.told if isinstance(e, ClipEnded) and e.error]


Act = Callable[[Scene], Awaitable[None]]
Check = Callable[[Scene], str]


async def nothing(_: Scene) -> None:
    """Wait for nothing."""


def no_restart(scene: Scene) -> str:
    """Nothing was started again."""
    return "" if scene.seen == set(scene.pipeline.stages.values()) else "a stage was restarted"


@dataclass(frozen=True)
class Kind:
    """One sort of fault.

    Attributes:
        does: for people.
        targets: what is hit, one after the other.
        phases: in which.
        strike: does it.
        settle: waits until what was hit is there again.
        turn: how the turn that is hit ends; with none (idle) there is no end.
        beside: how that of another conversation may end, which runs at the same time.
        check: what must be true after the next turn; says what is not.
        settings: of the pipeline, besides the drill's.
        around: holds while the pipeline runs.
        speaks_s: how long the user speaks in the turn that is hit.
    """

    does: str
    targets: tuple[str, ...]
    strike: Act
    phases: tuple[str, ...] = PHASES
    settle: Act = nothing
    turn: str = ANSWERED
    beside: tuple[str, ...] = (ANSWERED,)
    check: Check = no_restart
    settings: tuple[str, ...] = ()
    around: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
    speaks_s: float = 1.0


async def back(scene: Scene) -> None:
    """Wait until the stage that was hit is another program, and ready."""
    while scene.pid in scene.seen or scene.pipeline.away:
        await asyncio.sleep(0.01)
    scene.seen |= set(scene.pipeline.stages.values())


def one_restart(scene: Scene) -> str:
    """The stage that was hit was started again, once, and nothing else was."""
    extra = len(scene.seen) - len(scene.pipeline.stages)
    return "" if extra == 1 else f"{extra} restarts"


async def kill(scene: Scene) -> None:
    """End the program at once."""
    os.kill(scene.pid, signal.SIGKILL)


async def stop(scene: Scene) -> None:
    """Let it hang for good."""
    os.kill(scene.pid, signal.SIGSTOP)


@contextlib.asynccontextmanager
async def stopped(scene: Scene) -> AsyncIterator[None]:
    """Let it stand still while the block runs."""
    os.kill(scene.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(scene.pid, signal.SIGCONT)


async def slow(scene: Scene) -> None:
    """Let it stand still for a moment; the client's own program blocks its event loop."""
    if scene.target == CONTROL:
        time.sleep(SLOW_S)
        return
    async with stopped(scene):
        await asyncio.sleep(SLOW_S)


async def fill_mic(scene: Scene) -> None:
    """Nobody reads the microphone until it must drop sound."""
    async with stopped(scene):
        await asyncio.sleep(FULL_MIC_S)


def mic_dropped(scene: Scene) -> str:
    """The ring was full, and what found no room was counted."""
    return no_restart(scene) or ("" if scene.lane.lane.audio("mic").dropped else "nothing dropped")


async def fill_speech(scene: Scene) -> None:
    """Nobody recognises what is said, until the ring of speech is full and the microphone waits."""
    speech, mic = scene.lane.lane.audio("speech"), scene.lane.lane.audio("mic")
    async with stopped(scene):
        while speech.free() or not len(mic):
            await asyncio.sleep(0.01)


def speech_was_whole(scene: Scene) -> str:
    """It was kept until it was recognised."""
    lost = scene.lane.lane.audio("speech").dropped + scene.lane.lane.audio("mic").dropped
    return no_restart(scene) or (f"{lost} samples dropped" if lost else "")


def fill_ids(name: str) -> Act:
    """Nobody reads a ring of ids, turn after turn, until it is full; then somebody does.

    The turn that is looked at is the one that is asked then.
    """

    async def fill(scene: Scene) -> None:
        ring = scene.lane.lane.token(name)
        async with stopped(scene):
            await scene.turn_ended()
            while ring.free():
                scene.lane.play(scene.clip)
                await scene.turn_ended()
            scene.lane.play(scene.clip)

    return fill


def others_timed_out(scene: Scene) -> str:
    """No turn had an answer while its reader stood still, and each was told so."""
    outcomes = [e.timeline.outcome for e in scene.told if isinstance(e, TurnEnded)]
    before = outcomes[:-2]
    is_right = len(before) > 1 and set(before) == {Outcome.TIMED_OUT}
    return no_restart(scene) or ("" if is_right else f"before: {before}")


async def fill_voice(scene: Scene) -> None:
    """The answer is longer than the ring of its sound: the voice must wait for its listener."""
    ring = scene.lane.lane.audio("voice")
    while ring.free():
        await asyncio.sleep(0.01)


async def jump_ahead(_: Scene) -> None:
    """The wall clock of all programs is set to a later time, at once."""
    wall_clock.jump(HOUR_S)


async def jump_back(_: Scene) -> None:
    """The wall clock of all programs is set to an earlier time, at once."""
    wall_clock.jump(-HOUR_S)


def fill_disk(pid: int) -> None:
    """Whatever a program writes to a file is refused from now on, as it is by a full disk."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, hard))


async def fill_transcripts(_: Scene) -> None:
    """The client's program cannot write another byte."""
    fill_disk(os.getpid())


async def fill_recording(scene: Scene) -> None:
    """The edge cannot write another byte."""
    fill_disk(scene.pipeline.stages[AUDIO])


def told_of_the_disk(scene: Scene) -> str:
    """The client knows what is not kept, once."""
    told = [line for line in scene.complaints() if "cannot be written" in line]
    return no_restart(scene) or ("" if len(told) == 1 else f"told {told}")


@contextlib.contextmanager
def full_log() -> Iterator[None]:
    """Standard error of every program goes to a disk that is full."""
    sys.stderr.flush()
    kept, full = os.dup(2), os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, 2)
    os.close(full)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextlib.contextmanager
def file_limit() -> Iterator[None]:
    """Whatever this program may write is as it was, afterwards."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


KILL, STOP, SLOW, CLOCK, DISK, RINGS = "kill -9", "stop", "slow", "clock", "disk", "full ring"
LONG_REPLY = 'llm.options={replies = ["All work and no play makes a dull voice, they say."]}'
LONG_QUESTION = 'asr.options={lines = ["All work and no play makes a dull ear, they say."]}'
SOON_FULL = (PATIENT, "llm.system=''", "llm.context=128", "turn.answer_timeout_s=0.3")
KINDS: dict[str, tuple[Kind, ...]] = {
    KILL: (
        Kind(
            "kill -9",
            STAGES,
            kill,
            settle=back,
            turn=FAILED,
            beside=SHARED,
            check=one_restart,
        ),
    ),
    STOP: (
        Kind(
            "stop",
            STAGES,
            stop,
            settle=back,
            turn=FAILED,
            beside=SHARED,
            check=one_restart,
            # Sound for longer than it takes to notice: else a stage that had done its part of the
            # turn may hang and the answer is heard all the same.
            settings=("tts.options={tone_ms = 100}",),
        ),
    ),
    SLOW: (Kind(f"stand still {SLOW_S} s", (*STAGES, CONTROL), slow, settings=(PATIENT,)),),
    RINGS: (
        Kind(
            "mic full",
            (TURN,),
            fill_mic,
            (IDLE, SPEAKING, ANSWERING),
            check=mic_dropped,
            settings=(PATIENT,),
        ),
        Kind(
            "speech full",
            (ASR,),
            fill_speech,
            (SPEAKING,),
            beside=(TIMED_OUT,),
            check=speech_was_whole,
            settings=(PATIENT, "turn.max_turn_s=120"),
            speaks_s=FULL_SPEECH_S,
        ),
        Kind(
            "heard full",
            (LLM,),
            fill_ids("heard"),
            (SPEAKING,),
            beside=(TIMED_OUT,),
            check=others_timed_out,
            settings=(*SOON_FULL, LONG_QUESTION),
        ),
        Kind(
            "reply full",
            (TTS,),
            fill_ids("reply"),
            (SPEAKING,),
            beside=(TIMED_OUT,),
            check=others_timed_out,
            settings=(*SOON_FULL, LONG_REPLY),
        ),
        Kind(
            "voice full",
            (AUDIO,),
            fill_voice,
            (PREPARING,),
            settings=(LONG_REPLY, "llm.max_new_tokens=60", "tts.options={tone_ms = 250}"),
        ),
    ),
    CLOCK: (
        Kind("clock +1 h", ("all",), jump_ahead),
        Kind("clock -1 h", ("all",), jump_back),
    ),
    DISK: (
        Kind(
            "full disk: transcripts",
            (CONTROL,),
            fill_transcripts,
            check=told_of_the_disk,
            settings=('pipeline.transcripts="{folder}/transcripts"',),
            around=file_limit,
        ),
        Kind(
            "full disk: recording",
            (AUDIO,),
            fill_recording,
            check=told_of_the_disk,
            settings=('audio.record="{folder}/recordings"',),
        ),
        Kind(
            "full disk: log",  # sound that was lost is worth a line in it
            (TURN,),
            fill_mic,
            (SPEAKING,),
            check=mic_dropped,
            settings=(PATIENT,),
            around=full_log,
        ),
    ),
}
