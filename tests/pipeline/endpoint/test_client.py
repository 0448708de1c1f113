"""The Python client, with a real endpoint on scripted stages."""

import asyncio
import os
import sys
import wave
from pathlib import Path

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
from stages.tts.tones import read_tones
from tests.pipeline.endpoint.conftest import House
from tests.pipeline.endpoint.running import loud, quiet
from tests.pipeline.endpoint.serving import BUSY_IS_FINE, another_server

ROOT = Path(__file__).parents[3]
RATE = 24_000
REPLY = "It is time to speak."
TONE_S = 0.06  # of each character
PLAYED = int(10.5 * TONE_S * RATE)  # samples: ten characters and a half
TOKEN = "correct-horse-battery-staple-0123456789"
SETTINGS = ("pipeline.lanes=1", "serve.retry_after_s=7", BUSY_IS_FINE)
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


async def ask(client: VoiceClient) -> Told:
    await client.feed(QUESTION)
    return await until_ended(client)


def sound_of(told: list[Event]) -> np.ndarray:
    return np.concatenate([event.samples for event in told if isinstance(event, Sound)])


def test_a_question_is_answered_with_words_and_sound(house: House) -> None:
    async def work(server: Server) -> Told:
        await house.idle()
        async with await VoiceClient.connect(server.url, rate=RATE) as client:
            assert client.ready.rate == RATE
            return await ask(client)

    told, ended = house.run(work)
    assert (ended.outcome, ended.user_text) == ("answered", "What time is it?")
    assert ended.reply_text == ended.heard_text == REPLY
    assert ended.phases["release"] > ended.phases["silence"] > 0
    assert [event.turn for event in told if isinstance(event, SpeechStarted)] == [ended.turn]
    assert UserText(ended.turn, "What time is it?", final=True) in told
    kinds = [type(event) for event in told]
    assert kinds.index(SoundStarted) < kinds.index(Sound) < kinds.index(SoundEnded)
    sound = sound_of(told)
    (end,) = [event for event in told if isinstance(event, SoundEnded)]
    assert end.samples == len(sound)
    assert abs(len(sound) / RATE - TONE_S * len(REPLY)) < 0.05
    assert np.sqrt(np.mean(np.square(sound, dtype=float))) > 1000


def test_words_come_with_the_samples_that_voice_them(house: House) -> None:
    async def work(server: Server) -> list[Event]:
        await house.idle()
        async with await VoiceClient.connect(server.url, rate=RATE) as client:
            return (await ask(client))[0]

    words = [event for event in house.run(work) if isinstance(event, Words)]
    assert words[-1].text == REPLY
    for event in words:  # a character is a tone
        assert REPLY.startswith(event.text)
        assert abs(event.samples / RATE - TONE_S * len(event.text)) < 0.001


def test_a_cancelled_answer_stops_and_only_what_was_played_is_remembered(house: House) -> None:
    async def work(server: Server) -> Told:
        await house.idle()
        async with await VoiceClient.connect(server.url, rate=RATE) as client:
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

    told, ended = house.run(work)
    assert (ended.outcome, ended.heard_text) == ("interrupted", REPLY[:10])
    assert SoundCut(ended.answer) in told
    assert len(sound_of(told)) < TONE_S * len(REPLY) * RATE


def test_a_muted_client_is_not_heard_and_an_unmuted_one_is(house: House) -> None:
    async def work(server: Server) -> Told:
        await house.idle()
        async with await VoiceClient.connect(server.url, rate=RATE) as client:
            await client.mute()
            await client.feed(QUESTION)
            await client.unmute()
            return await ask(client)

    told, ended = house.run(work)
    assert ended.outcome == "answered"
    (started,) = [event for event in told if isinstance(event, SpeechStarted)]
    assert started.at_ms > 500  # of the second question, less what is heard before a voice counts


def test_what_is_committed_is_answered_without_a_pause(house: House) -> None:
    async def work(server: Server) -> Told:
        await house.idle()
        async with await VoiceClient.connect(server.url, rate=RATE) as client:
            await client.feed(samples(loud(0.5, RATE)))
            await client.commit()
            return await until_ended(client)

    assert house.run(work)[1].outcome == "answered"


def test_a_full_server_says_when_to_try_again(house: House) -> None:
    async def work(server: Server) -> Refused:
        await house.idle()
        async with await VoiceClient.connect(server.url):
            with pytest.raises(Refused, match=r"503.*Try again later") as refused:
                await VoiceClient.connect(server.url)
        await house.idle()
        await (await VoiceClient.connect(server.url)).close()
        return refused.value

    refused = house.run(work)
    assert (refused.status, refused.retry_after_s) == (503, 7)


def test_a_token_opens_the_door(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXRING_TOKENS", f"someone {TOKEN}")

    async def work(_: Server) -> TurnEnded:
        await house.idle()
        async with another_server(house) as server:
            for wrong in ("", "another-token-another-token-another"):
                with pytest.raises(Refused, match="Give a valid token") as refused:
                    await VoiceClient.connect(server.url, token=wrong)
                assert refused.value.status == 401
            async with await VoiceClient.connect(server.url, token=TOKEN, rate=RATE) as client:
                return (await ask(client))[1]

    assert house.run(work).outcome == "answered"


def test_the_demo_asks_the_shipped_question_and_keeps_the_answer(
    house: House, tmp_path: Path
) -> None:
    async def work(server: Server) -> str:
        await house.idle()
        answer = str(tmp_path / "answer.wav")
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, str(ROOT / "demos" / "client.py")),
            *(server.url, str(ROOT / "demos" / "question.wav"), answer),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=asyncio.subprocess.PIPE,
        )
        told, _ = await program.communicate()
        assert program.returncode == 0
        return told.decode()

    assert house.run(work) == f"What time is it? → {REPLY}\n"
    with wave.open(str(tmp_path / "answer.wav")) as clip:
        sound = np.frombuffer(clip.readframes(-1), np.int16)
        rate = clip.getframerate()
    assert bytes(read_tones(sound, rate)).decode() == REPLY


def test_the_end_of_the_server_is_told(house: House) -> None:
    async def work(_: Server) -> Closed:
        await house.idle()
        async with (
            another_server(house) as server,
            await VoiceClient.connect(server.url) as client,
        ):
            draining = asyncio.create_task(server.drain())
            with pytest.raises(Closed, match="Try again later") as closed:
                [event async for event in client]
            await draining
            return closed.value

    assert house.run(work).code == 1001
