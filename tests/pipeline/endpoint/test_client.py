"""The Python client, with a real endpoint on scripted stages."""

import asyncio

import numpy as np
import pytest

from pipeline.endpoint.client import Closed, Refused, VoiceClient
from pipeline.endpoint.client_events import (
    Event,
    Sound,
    SoundCut,
    SoundEnded,
    SoundStarted,
    SpeechStarted,
    TurnEnded,
    UserText,
    Words,
)
from pipeline.endpoint.server import Server
from pipeline.pipeline import Pipeline
from tests.pipeline.endpoint.running import loud, quiet
from tests.pipeline.endpoint.serving import run

RATE = 24_000
REPLY = "It is time to speak."
TONE_S = 0.06  # of each character
LONG = 'llm.options={replies=["' + "la " * 60 + '"], ids_per_s=500}'
PLAYED = int(10.5 * TONE_S * RATE)  # samples: ten characters and a half
Told = tuple[list[Event], TurnEnded]


def samples(*pieces: bytes) -> np.ndarray:
    return np.frombuffer(b"".join(pieces), np.int16)


QUESTION = samples(quiet(0.1, RATE), loud(0.4, RATE), quiet(0.5, RATE))


async def until_ended(client: VoiceClient) -> Told:
    told: list[Event] = []
    async for event in client:
        if isinstance(event, TurnEnded):
            return told, event
        told.append(event)
    raise AssertionError("the conversation was closed")


def sound_of(told: list[Event]) -> np.ndarray:
    return np.concatenate([event.samples for event in told if isinstance(event, Sound)])


def test_a_question_is_answered_with_words_and_sound() -> None:
    async def work(server: Server, pipeline: Pipeline) -> Told:
        async with await VoiceClient.connect(server.url, rate=RATE) as client:
            assert client.ready.rate == RATE
            await client.feed(QUESTION)
            return await until_ended(client)

    told, ended = run(work)
    assert (ended.outcome, ended.user_text) == ("answered", "What time is it?")
    assert ended.reply_text == ended.heard_text == REPLY
    assert ended.phases["release"] > ended.phases["silence"] > 0
    assert isinstance(told[0], SpeechStarted)
    assert UserText(ended.turn, "What time is it?", final=True) in told
    kinds = [type(event) for event in told]
    assert kinds.index(SoundStarted) < kinds.index(Sound) < kinds.index(SoundEnded)
    sound = sound_of(told)
    (end,) = [event for event in told if isinstance(event, SoundEnded)]
    assert end.samples == len(sound)
    assert abs(len(sound) / RATE - TONE_S * len(REPLY)) < 0.05
    assert np.sqrt(np.mean(np.square(sound, dtype=float))) > 1000
    words = [event for event in told if isinstance(event, Words)]
    assert words[-1].text == REPLY
    for event in words:  # a character is a tone
        assert REPLY.startswith(event.text)
        assert abs(event.samples / RATE - TONE_S * len(event.text)) < 0.001


def test_a_cancelled_answer_stops_and_only_what_was_played_is_remembered() -> None:
    async def work(server: Server, pipeline: Pipeline) -> Told:
        async with await VoiceClient.connect(server.url, rate=RATE, reports=True) as client:
            await client.feed(QUESTION)
            told: list[Event] = []
            has_cancelled = False
            async for event in client:
                told.append(event)
                if not has_cancelled and isinstance(event, Sound) and len(sound_of(told)) > PLAYED:
                    await client.played(event.answer, PLAYED)
                    await client.cancel()
                    has_cancelled = True
                if isinstance(event, SoundCut):
                    await client.played(event.answer, PLAYED, final=True)
                if isinstance(event, TurnEnded):
                    return told, event
        raise AssertionError("the conversation was closed")

    told, ended = run(work, LONG)
    assert ended.outcome == "interrupted"
    assert ended.heard_text == ("la " * 60)[:10].rstrip()
    assert SoundCut(ended.answer) in told


def test_a_muted_client_is_not_heard_and_an_unmuted_one_is() -> None:
    async def work(server: Server, pipeline: Pipeline) -> TurnEnded:
        async with await VoiceClient.connect(server.url, rate=RATE) as client:
            await client.mute()
            await client.feed(QUESTION)
            await client.unmute()
            await client.feed(QUESTION)
            return (await until_ended(client))[1]

    assert run(work).outcome == "answered"


def test_what_is_committed_is_answered_without_a_pause() -> None:
    async def work(server: Server, pipeline: Pipeline) -> TurnEnded:
        async with await VoiceClient.connect(server.url, rate=RATE) as client:
            await client.feed(samples(loud(0.5, RATE)))
            await client.commit()
            return (await until_ended(client))[1]

    assert run(work).outcome == "answered"


def test_a_full_server_says_when_to_try_again() -> None:
    async def work(server: Server, pipeline: Pipeline) -> Refused:
        async with await VoiceClient.connect(server.url):
            with pytest.raises(Refused, match=r"503.*Try again later") as refused:
                await VoiceClient.connect(server.url)
        while True:  # soon there is room again
            try:
                await (await VoiceClient.connect(server.url)).close()
            except Refused:
                await asyncio.sleep(0.02)
            else:
                return refused.value

    refused = run(work, "pipeline.lanes=1", "serve.retry_after_s=7")
    assert (refused.status, refused.retry_after_s) == (503, 7)


def test_a_token_opens_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXRING_TOKENS", "someone correct-horse-battery-staple-0123456789")

    async def work(server: Server, pipeline: Pipeline) -> None:
        for wrong in ("", "another-token-another-token-another"):
            with pytest.raises(Refused, match="Give a valid token") as refused:
                await VoiceClient.connect(server.url, token=wrong)
            assert refused.value.status == 401
        token = "correct-horse-battery-staple-0123456789"
        async with await VoiceClient.connect(server.url, token=token) as client:
            await client.feed(QUESTION)
            assert (await until_ended(client))[1].outcome == "answered"

    run(work)


def test_the_end_of_the_server_is_told() -> None:
    async def work(server: Server, pipeline: Pipeline) -> Closed:
        async with await VoiceClient.connect(server.url) as client:
            draining = asyncio.create_task(server.drain())
            with pytest.raises(Closed, match="Try again later") as closed:
                async for _ in client:
                    pass
            await draining
            return closed.value

    assert run(work).code == 1001
