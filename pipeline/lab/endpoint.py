"""A running endpoint as a target: this program is the microphone and the loudspeaker.

What is heard is timed here, at the client: first audio is when the first loud sample would be
played, network and all. Phases inside the server are its own, moved to the end of speech that the
suite knows.
"""

import asyncio
import contextlib
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline import events
from pipeline.endpoint import client_events as told
from pipeline.endpoint.client import VoiceClient
from pipeline.errors import SessionError, VoxringError
from pipeline.lab.mix import Said
from pipeline.lab.player import Answer, Player
from pipeline.lab.target import Talk, Told
from pipeline.timeline import MILESTONES, Timeline
from stages.audio.audible import THRESHOLD_DBFS
from stages.audio.clip import load_clip
from stages.audio.level import FULL_SCALE, amplitude
from stages.audio.microphone import SAMPLE_NS, Microphone, Recording, record
from stages.event import Event
from stages.outcome import Outcome
from stages.topology import INPUT_BLOCK, INPUT_RATE

MS = 1_000_000
GREETING_S = 0.3  # for a greeting to begin, which is then heard out
HEARD_HERE = {"first_audio", "play_end"}  # the server tells when it sent them
OUTCOMES = {outcome.label: outcome for outcome in Outcome}
AUDIBLE = INPUT_RATE // 100  # 10 ms
EARLY_NS = 100 * MS


class EndpointTarget:
    """Conversations over `/v1/voice`.

    Args:
        url: of the server.
        token: if it asks for one.
    """

    def __init__(self, url: str, token: str = "") -> None:
        self._url = url
        self._token = token
        self._recordings: dict[Path, Recording] = {}

    @property
    def pids(self) -> dict[str, int]:
        """The server's programs are its own."""
        return {}

    async def start(self) -> None:
        """Find out whether it is there.

        Raises:
            SessionError: it is not, or lets nobody in.
        """
        client = await self._connect()
        await client.close()

    async def stop(self) -> None:
        """It goes on."""

    async def open(self) -> Talk:
        """Begin a conversation.

        Raises:
            SessionError: the server refuses.
        """
        talk = EndpointTalk(await self._connect(), self._recordings)
        until = time.monotonic() + GREETING_S
        while (left := until - time.monotonic()) > 0 and not talk.turns_begun:
            await talk.wait(left)
        return talk

    async def _connect(self) -> VoiceClient:
        return await VoiceClient.connect(self._url, rate=INPUT_RATE, token=self._token)


class EndpointTalk:
    """One conversation; `Talk` tells of its methods."""

    def __init__(self, client: VoiceClient, recordings: dict[Path, Recording]) -> None:
        self._client = client
        self._recordings = recordings
        self._microphone = Microphone()
        self._player = Player()
        self._began = time.monotonic_ns()
        self._user: list[NDArray[np.int16]] = []
        self._clips: list[tuple[int, Said]] = []
        self._voices: dict[int, int] = {}  # turn: monotonic ns at which its voice was noticed
        self._voice = 0  # monotonic ns at which the last one was noticed
        self._stopped: dict[int, int] = {}  # turn: ms of the sound at which it was over
        self._sounding: set[int] = set()  # turns whose answer has begun
        self._answer = 0
        self._stale = 0  # the answer that sounded before the last clip that is to be answered
        self._turns: list[events.TurnEnded] = []
        self._faults: list[str] = []
        self._happened = asyncio.Event()
        self._error: VoxringError | None = None
        self._tasks = [asyncio.create_task(each) for each in (self._speak(), self._hear())]

    @property
    def is_saying(self) -> bool:
        """Whether a clip has not ended."""
        return self._microphone.is_playing

    @property
    def is_answering(self) -> bool:
        """Whether a new answer is heard."""
        fresh = self._answer != self._stale
        return fresh and self._player.is_playing(self._answer, time.monotonic_ns())

    @property
    def turns_begun(self) -> int:
        """Voices that the server has noticed, and greetings that have begun to sound."""
        return len(self._begun)

    @property
    def turns_ended(self) -> int:
        """Those of them whose end it has told."""
        return len({turn.timeline.turn for turn in self._turns} & self._begun)

    @property
    def _begun(self) -> set[int]:
        return {*self._voices, *self._sounding}

    def say(self, said: Said) -> None:
        """Begin it with the next block of the microphone."""
        if not said.say.goes_on:
            self._stale = self._answer
        if said.path not in self._recordings:
            self._recordings[said.path] = record(load_clip(said.path), said.speech_end_s)
        self._microphone.play(self._recordings[said.path])
        self._clips.append((self._time(self._microphone.heard), said))

    async def wait(self, seconds: float) -> None:
        """Until something happens."""
        self._happened.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._happened.wait()
        if self._error:
            raise self._error

    async def close(self) -> Told:
        """Hang up."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.close()
        return Told(
            began=self._began,
            clips=tuple(start for start, _ in self._clips),
            turns=tuple(self._turns),
            faults=tuple(self._faults),
            records=(),
            sound=self._sound(),
        )

    async def _speak(self) -> None:
        """Send each block when its last sample is due, as a microphone does."""
        try:
            while True:
                due = self._time(self._microphone.heard + INPUT_BLOCK)
                await asyncio.sleep(max(0.0, (due - time.monotonic_ns()) / 1e9))
                block = self._microphone.take()
                self._user.append(block)
                await self._client.feed(block)
        except VoxringError as error:
            self._fail(error)

    async def _hear(self) -> None:
        try:
            async for event in self._client:
                self._take(event, time.monotonic_ns())
                self._happened.set()
            self._fail(SessionError("the server has closed the conversation"))
        except VoxringError as error:
            self._fail(error)

    def _fail(self, error: VoxringError) -> None:
        self._error = self._error or error
        self._happened.set()

    def _take(self, event: told.Event, now: int) -> None:
        match event:
            case told.SpeechStarted(turn):
                self._voice = now
                self._voices.setdefault(turn, now)
            case told.UserText(turn):  # over an answer a voice becomes a turn with its words
                self._voices.setdefault(turn, self._voice)
            case told.SpeechStopped(turn, at_ms):
                self._stopped[turn] = at_ms
            case told.SoundStarted(turn, answer):
                self._answer = answer
                self._sounding.add(turn)
                self._player.start(answer)
            case told.Sound(answer, samples):
                self._player.take(answer, samples, now)
            case told.SoundPaused(answer):
                self._player.pause(answer, now)
            case told.SoundResumed(answer):
                self._player.resume(answer, now)
            case told.SoundCut(answer):
                self._player.cut(answer, now)
            case told.TurnEnded():
                self._turns.append(self._ended(event))
            case told.Trouble(code, message):
                self._faults.append(f"{code}: {message}")
            case told.Closing(why, _):
                self._faults.append(f"the server is closing: {why}")

    def _ended(self, ended: told.TurnEnded) -> events.TurnEnded:
        heard = self._player.answers.get(ended.answer)
        at = self._server_times(ended)
        at |= _heard_times(heard) if heard else {}
        if ended.turn in self._voices:
            at[Event.SPEECH_START] = self._voices[ended.turn]
        end = self._speech_end(ended.turn)
        timeline = Timeline(
            lane=0,
            turn=ended.turn,
            answer=ended.answer,
            outcome=OUTCOMES.get(ended.outcome, Outcome.FAILED),
            at=at,
            values={},
            speech_end=end if end is not None else self._server_end(ended),
            speech_end_source="vad" if end is None else "clip",
            underruns=tuple(heard.underruns) if heard else (),
            voice_late=None,  # only the server knows whether it had the words
        )
        return events.TurnEnded(timeline, ended.user_text, ended.reply_text, ended.heard_text)

    def _server_end(self, ended: told.TurnEnded) -> int | None:
        """The end of speech as the server has it: its release has a known place in the sound."""
        stopped, release = self._stopped.get(ended.turn), ended.phases.get("release")
        if stopped is None or release is None:
            return None
        return self._began + round((stopped - release) * MS)

    def _server_times(self, ended: told.TurnEnded) -> dict[Event, int]:
        """Milestones inside the server, on our clock: as if its sound took no time to get there."""
        end = self._server_end(ended)
        if end is None:
            return {}
        known = {n: ms for n, ms in ended.phases.items() if n in MILESTONES.keys() - HEARD_HERE}
        return {MILESTONES[name]: end + round(ms * MS) for name, ms in known.items()}

    def _speech_end(self, turn: int) -> int | None:
        """Where speech ends in the clip that a turn began in."""
        began = self._voices.get(turn)
        for start, said in reversed(self._clips):
            if began is not None and start - EARLY_NS <= began:
                if said.speech_end_s is None:
                    return None
                return start + round(said.speech_end_s * 1e9)
        return None

    def _sound(self) -> NDArray[np.int16]:
        user = np.concatenate(self._user) if self._user else np.zeros(0, np.int16)
        pieces = [piece for answer in self._player.answers.values() for piece in answer.pieces]
        places = [((start - self._began) // SAMPLE_NS, samples) for start, samples in pieces]
        length = max([len(user), *(at + len(samples) for at, samples in places)])
        sound = np.zeros((length, 2), np.int16)
        sound[: len(user), 0] = user
        for at, samples in places:
            sound[at : at + len(samples), 1] = samples
        return sound

    def _time(self, sample: int) -> int:
        """When a sample of the microphone begins, monotonic ns."""
        return self._began + sample * SAMPLE_NS


def _heard_times(heard: Answer) -> dict[Event, int]:
    """What the loudspeaker tells of an answer."""
    if not heard.pieces:
        return {}
    at = {Event.PLAY_START: heard.pieces[0][0], Event.PLAY_END: heard.ended}
    limit = (amplitude(THRESHOLD_DBFS) * FULL_SCALE) ** 2
    for start, samples in heard.pieces:
        whole = len(samples) // AUDIBLE * AUDIBLE
        blocks = samples[:whole].reshape(-1, AUDIBLE).astype(np.float64)
        loud = np.flatnonzero(np.mean(blocks * blocks, axis=1) >= limit)
        if loud.size:
            return at | {Event.FIRST_AUDIO: start + int(loud[0]) * AUDIBLE * SAMPLE_NS}
    return at
