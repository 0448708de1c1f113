"""One conversation of a suite, as a person would hold it."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from pipeline.errors import SessionError, VoxringError
from pipeline.lab.mix import Said
from pipeline.lab.target import Talk, Told

POLL_S = 0.01
GRACE_S = 1.5  # behind a clip, for a voice to be noticed
LIMIT_S = 120.0  # beyond the clip before and what the suite waits for, until the next one is said
CLOSE_S = 10.0  # of a conversation that has failed
OnSay = Callable[[Said], None]


async def hold(talk: Talk, clips: Sequence[Said], on_say: OnSay = lambda said: None) -> Told:
    """Say every clip when its time has come, and hear the last answer out.

    Args:
        on_say: told of each clip that begins.

    It is closed then, whatever ends it: whoever goes on with the target has the lane back.

    Raises:
        SessionError: a turn did not end in time, or the conversation is over.
        StageError: a stage has died.
    """
    try:
        await _hold(talk, clips, on_say)
    except BaseException:
        with contextlib.suppress(VoxringError, TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await talk.close()
        raise
    return await talk.close()


async def _hold(talk: Talk, clips: Sequence[Said], on_say: OnSay) -> None:
    now = asyncio.get_running_loop().time
    key, seconds = clips[0].key, LIMIT_S
    try:
        async with asyncio.timeout(seconds) as limit:
            await _ended(talk)  # a greeting
            for number, said in enumerate(clips):
                seconds = LIMIT_S + (clips[number - 1].duration_s if number else 0.0) + wait_s(said)
                limit.reschedule(now() + seconds)
                if said.say.over_answer_ms is not None:
                    await _into_answer(talk, said.say.over_answer_ms / 1000)
                elif number:
                    await _quiet(talk)
                    await _pause(talk, said.say.pause_s)
                on_say(said)
                talk.say(said)
                key = said.key
            seconds = LIMIT_S + clips[-1].duration_s
            limit.reschedule(now() + seconds)
            await _quiet(talk)
    except TimeoutError:
        raise SessionError(f"{key}: its turn did not end within {seconds:.0f} s") from None


def wait_s(said: Said) -> float:
    """How long the suite itself waits before a clip."""
    return said.say.pause_s + (said.say.over_answer_ms or 0.0) / 1000


async def _ended(talk: Talk) -> None:
    """Every turn that has begun was told to its end."""
    while talk.turns_ended < talk.turns_begun:
        await talk.wait(1.0)


async def _quiet(talk: Talk) -> None:
    """The clip is over, and so is every turn that it began; a voice may be noticed late."""
    now = asyncio.get_running_loop().time
    before = talk.turns_ended
    while talk.is_saying:
        await talk.wait(1.0)
    settled = now() + GRACE_S
    while talk.turns_ended < talk.turns_begun or (talk.turns_ended == before and now() < settled):
        await talk.wait(min(1.0, max(POLL_S, settled - now())))


async def _into_answer(talk: Talk, seconds: float) -> None:
    """So long after an answer began to sound; at once if there will be none."""
    now = asyncio.get_running_loop().time
    before = talk.turns_ended
    settled: float | None = None
    while talk.is_saying or not talk.is_answering:
        if not talk.is_saying and settled is None:
            settled = now() + GRACE_S
        noticed = talk.turns_begun > talk.turns_ended
        if settled is not None and not noticed and (talk.turns_ended > before or now() >= settled):
            return  # it has ended already, or never began
        await talk.wait(POLL_S)
    await _pause(talk, seconds)


async def _pause(talk: Talk, seconds: float) -> None:
    now = asyncio.get_running_loop().time
    until = now() + seconds
    while (left := until - now()) > 0:
        await talk.wait(left)
