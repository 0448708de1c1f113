"""The official Python client, unmodified, against real scripted stages."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection

from pipeline.endpoint.realtime import g711
from tests.pipeline.endpoint.realtime.serving import serving
from tests.pipeline.endpoint.realtime.shapes import check
from tests.pipeline.endpoint.running import loud, quiet

RATE = 24_000
REPLY = "It is time to speak."
TONE_MS = 60  # of each letter
DEADLINE_S = 30
SYSTEM = "Be kind."
LINES = 'asr.options={lines = ["What time is it?", "And now?"]}'
TYPED = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
VAD = {"type": "server_vad", "silence_duration_ms": 256}


class Talk:
    """A connection, and what came over it.

    Attributes:
        told: events, as JSON.
        pcm: sound of the last response.
    """

    def __init__(self, connection: AsyncRealtimeConnection) -> None:
        self.connection = connection
        self.told: list[dict[str, Any]] = []
        self.sound = b""

    async def until(self, *types: str) -> dict[str, Any]:
        """Take what comes, up to the next event of one of these types."""
        while True:
            event = (await self.connection.recv()).to_dict()
            self.told.append(event)
            if event["type"] == "response.created":
                self.sound = b""
            if event["type"] in ("response.output_audio.delta", "response.audio.delta"):
                self.sound += base64.b64decode(event["delta"])
            if event["type"] in types:
                return event

    async def done(self) -> dict[str, Any]:
        """The next response, when it is over."""
        return (await self.until("response.done"))["response"]

    async def say(self, data: bytes, step: int = 4800) -> None:
        """Send sound in pieces."""
        for at in range(0, len(data), step):
            audio = base64.b64encode(data[at : at + step]).decode()
            await self.connection.input_audio_buffer.append(audio=audio)

    async def update(self, **session: Any) -> dict[str, Any]:
        """Change settings."""
        session = {"type": "realtime", **session}
        await self.connection.session.update(session=session)  # type: ignore[arg-type]
        return (await self.until("session.updated"))["session"]

    async def type(self, item: dict[str, Any] = TYPED, **place: str) -> str:
        """Write a message; its name."""
        await self.connection.conversation.item.create(item=item, **place)  # type: ignore[arg-type]
        return (await self.until("conversation.item.done"))["item"]["id"]

    def kinds(self) -> list[str]:
        """Types so far, each once."""
        return list(dict.fromkeys(event["type"] for event in self.told))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where an endpoint listens, which all tests here share."""
    with serving(f"llm.system={SYSTEM}", LINES, "turn.barge_in=voice", "pipeline.lanes=8") as where:
        yield f"{where}/v1"


def within(work: Awaitable[None]) -> None:
    """Do something, within a deadline."""

    async def main() -> None:
        async with asyncio.timeout(DEADLINE_S):
            await work

    asyncio.run(main())


def talk(url: str, work: Callable[[Talk], Awaitable[None]]) -> Talk:
    """A conversation of the official client."""
    made: list[Talk] = []

    async def main() -> None:
        client = AsyncOpenAI(api_key="unused", base_url=url, max_retries=0)
        async with client, client.realtime.connect(model="gpt-realtime") as connection:
            made.append(Talk(connection))
            await made[0].until("session.created")
            await work(made[0])
        check(made[0].told)

    within(main())
    return made[0]


SPEECH = quiet(0.1, RATE) + loud(0.5, RATE) + quiet(0.5, RATE)


def test_a_spoken_turn(url: str) -> None:
    async def work(t: Talk) -> None:
        await t.update(audio={"input": {"turn_detection": VAD}})
        await t.say(SPEECH)
        done = await t.done()
        assert done["status"] == "completed"
        assert done["output"][0]["content"] == [{"type": "output_audio", "transcript": REPLY}]
        assert abs(len(t.sound) / 48 - len(REPLY) * TONE_MS) < 1
        heard = np.frombuffer(t.sound, np.int16)
        assert np.abs(heard).max() > 3000
        question = len("What time is it?")
        assert done["usage"]["input_tokens"] == len(SYSTEM) + question + 1
        assert done["usage"]["output_tokens"] == len(REPLY)

    made = talk(url, work)
    assert made.kinds()[:7] == [
        "session.created",
        "session.updated",
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
    ]
    words = "conversation.item.input_audio_transcription"
    assert {f"{words}.delta", f"{words}.completed", "response.created"} < set(made.kinds())


def test_typed_text_history_and_text_answers(url: str) -> None:
    async def work(t: Talk) -> None:
        first = await t.type()
        answer = {"type": "output_text", "text": "Ho"}
        await t.type({"type": "message", "role": "assistant", "content": [answer]})
        await t.type(previous_item_id="root")
        await t.connection.response.create(response={"output_modalities": ["text"]})
        done = await t.done()
        assert done["output"][0]["content"] == [{"type": "output_text", "text": REPLY}]
        assert t.sound == b""
        # system, "Hi", join, "Hi", ask, "Ho", an empty message of the user, ask
        assert done["usage"]["input_tokens"] == len(SYSTEM) + 2 + 1 + 2 + 1 + 2 + 1 + 1
        await t.connection.conversation.item.delete(item_id=first)
        await t.until("conversation.item.deleted")
        await t.update(instructions="Be", output_modalities=["text"], max_output_tokens=4)
        await t.type()
        await t.connection.response.create()
        done = await t.done()
        assert (done["status"], done["usage"]["output_tokens"]) == ("incomplete", 4)
        kept = len("Be") + 2 + 1 + 2 + 1 + 1 + len(REPLY)  # as before, without "Hi" and its join
        assert done["usage"]["input_tokens"] == kept + 1 + 2 + 1, "all of it was told"
        texts = [e["delta"] for e in t.told if e["type"] == "response.output_text.delta"]
        assert "".join(texts) == REPLY + REPLY[:4]

    talk(url, work)


def test_truncation_cuts_the_conversation(url: str) -> None:
    async def work(t: Talk) -> None:
        await t.type()
        await t.connection.response.create()
        done = await t.done()
        item = done["output"][0]["id"]
        await t.connection.conversation.item.truncate(
            item_id=item, content_index=0, audio_end_ms=11 * TONE_MS
        )
        await t.until("conversation.item.truncated")
        await t.connection.conversation.item.retrieve(item_id=item)
        shown = (await t.until("conversation.item.retrieved"))["item"]
        assert shown["content"][0]["transcript"] == "It is time"
        await t.connection.response.create(response={"instructions": "Go."})
        done = await t.done()
        kept = len("It is time") + len("...")  # llm.interrupted
        assert done["usage"]["input_tokens"] == len("Go.") + 2 + 1 + kept + 1 + 1

    talk(url, work)


def test_a_voice_interrupts_and_the_client_cancels(url: str) -> None:
    async def work(t: Talk) -> None:
        await t.update(audio={"input": {"turn_detection": VAD}})
        await t.say(SPEECH)
        await t.until("response.output_audio.delta")
        await t.say(SPEECH)
        done = await t.done()
        assert done["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
        await t.until("response.output_audio.delta")
        await t.connection.response.cancel()
        done = await t.done()
        assert done["status_details"]["reason"] == "client_cancelled"

    made = talk(url, work)
    said = [e["transcript"] for e in made.told if e["type"].endswith("transcription.completed")]
    assert said == ["What time is it?", "And now?"]


def test_the_client_commits_and_asks(url: str) -> None:
    async def work(t: Talk) -> None:
        session = await t.update(audio={"input": {"turn_detection": None}})
        assert session["audio"]["input"]["turn_detection"] is None
        await t.connection.input_audio_buffer.commit()
        error = (await t.until("error"))["error"]
        assert error["code"] == "input_audio_buffer_commit_empty"
        await t.say(SPEECH)
        await t.connection.input_audio_buffer.clear()
        await t.until("input_audio_buffer.cleared")
        await t.say(SPEECH)
        await t.connection.input_audio_buffer.commit()
        await t.type()
        await t.connection.response.create(response={"output_modalities": ["text"]})
        done = await t.done()
        said = len("What time is it?")
        assert done["usage"]["input_tokens"] == len(SYSTEM) + said + 1 + 2 + 1
        assert "input_audio_buffer.speech_started" not in t.kinds()

    talk(url, work)


def test_speech_that_is_not_answered(url: str) -> None:
    async def work(t: Talk) -> None:
        await t.update(audio={"input": {"turn_detection": {**VAD, "create_response": False}}})
        await t.say(SPEECH)
        await t.until("conversation.item.input_audio_transcription.completed")
        await t.connection.response.create()
        done = await t.done()
        assert done["usage"]["input_tokens"] == len(SYSTEM) + len("What time is it?") + 1

    made = talk(url, work)
    assert sum(e["type"] == "response.created" for e in made.told) == 1


@pytest.mark.parametrize("kind", ["audio/pcmu", "audio/pcma"])
def test_telephone_sound(url: str, kind: str) -> None:
    async def work(t: Talk) -> None:
        audio = {
            "input": {"format": {"type": kind}, "turn_detection": VAD},
            "output": {"format": {"type": kind}},
        }
        await t.update(audio=audio)
        samples = np.frombuffer(quiet(0.1, 8000) + loud(0.5, 8000) + quiet(0.5, 8000), np.int16)
        await t.say(g711.encode(samples, mu=kind == "audio/pcmu"), step=800)
        await t.done()
        assert abs(len(t.sound) / 8 - len(REPLY) * TONE_MS) < 1

    talk(url, work)


def test_an_error_leaves_the_connection_open(url: str) -> None:
    async def work(t: Talk) -> None:
        tools = [{"type": "function", "name": "f", "parameters": {}}]
        await t.update(tools=tools)
        assert "not supported yet" in (await t.until("error"))["error"]["message"]
        await t.connection.send({"type": "nonsense", "event_id": "mine"})  # type: ignore[typeddict-item]
        error = (await t.until("error"))["error"]
        assert (error["type"], error["event_id"]) == ("invalid_request_error", "mine")
        assert error["param"] == "type"
        await t.type()

    talk(url, work)


def test_the_beta_client(url: str) -> None:
    seen: list[Talk] = []

    async def main() -> None:
        where = url.replace("http", "ws", 1)  # else the beta client insists on TLS
        client = AsyncOpenAI(api_key="unused", websocket_base_url=where, max_retries=0)
        beta = client.beta.realtime.connect(model="gpt-4o-realtime-preview")
        async with client, beta as connection:
            made = Talk(connection)  # type: ignore[arg-type]
            seen.append(made)
            created = await made.until("session.created")
            assert created["session"]["input_audio_format"] == "pcm16"
            session = {"modalities": ["text", "audio"], "turn_detection": VAD}
            await connection.session.update(session=session)  # type: ignore[arg-type]
            await made.until("session.updated")
            await made.say(SPEECH)
            done = await made.done()
            content = done["output"][0]["content"]
            assert content == [{"type": "audio", "transcript": REPLY}]
            assert abs(len(made.sound) / 48 - len(REPLY) * TONE_MS) < 1

    within(main())
    check(seen[0].told, is_beta=True)
    kinds = set(seen[0].kinds())
    assert {"response.audio.delta", "conversation.item.created"} <= kinds
    assert not {"response.output_audio.delta", "conversation.item.added"} & kinds


def test_several_clients_have_their_own_conversations(url: str) -> None:
    async def main() -> None:
        client = AsyncOpenAI(api_key="unused", base_url=url, max_retries=0)

        async def one(count: int) -> None:
            async with client.realtime.connect(model="m") as connection:
                made = Talk(connection)
                await made.type({**TYPED, "content": [{"type": "input_text", "text": "x" * count}]})
                await connection.response.create(response={"output_modalities": ["text"]})
                usage = (await made.done())["usage"]
                assert usage["input_tokens"] == len(SYSTEM) + count + 1

        async with client:
            await asyncio.gather(*(one(n) for n in (1, 20, 300)))

    within(main())
