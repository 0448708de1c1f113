"""Ask a running `voxring serve` a recorded question, at real-time pace, and keep its answer.

python demos/client.py [URL] [QUESTION.wav] [ANSWER.wav]
"""

import asyncio
import sys
import wave

import numpy as np

from pipeline.endpoint.client import VoiceClient
from pipeline.endpoint.client_events import Sound, Trouble, TurnEnded
from pipeline.errors import VoxringError

URL = "ws://127.0.0.1:8765"
FRAME_S = 0.02


async def say(client: VoiceClient, samples: np.ndarray) -> None:
    """The question, a frame at a time when its last sample is due, and silence behind it."""
    size = int(client.ready.rate * FRAME_S)
    start = asyncio.get_running_loop().time()
    for number in range(60 * 60 * 50):
        frame = samples[number * size : (number + 1) * size]
        await client.feed(np.pad(frame, (0, size - len(frame))))
        due = start + (number + 1) * FRAME_S
        await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))


async def ask(url: str, question: str, answer: str) -> None:
    """One question, one answer."""
    with wave.open(question) as clip:
        if clip.getsampwidth() != 2 or clip.getnchannels() != 1:
            raise SystemExit(f"{question}: expected 16-bit samples of one channel")
        rate, samples = clip.getframerate(), np.frombuffer(clip.readframes(-1), np.int16)
    with wave.open(answer, "wb") as out:
        out.setparams((1, 2, rate, 0, "NONE", ""))
        async with await VoiceClient.connect(url, rate=rate) as client:
            saying = asyncio.create_task(say(client, samples))
            async for event in client:
                if isinstance(event, Sound):
                    out.writeframes(event.samples.tobytes())
                elif isinstance(event, Trouble):
                    print(event.message, file=sys.stderr)
                elif isinstance(event, TurnEnded):
                    print(event.user_text, "→", event.reply_text)
                    break
            saying.cancel()


if __name__ == "__main__":
    defaults = [URL, "demos/question.wav", "answer.wav"]
    try:
        asyncio.run(ask(*[*sys.argv[1:4], *defaults[len(sys.argv[1:4]) :]]))
    except VoxringError as error:
        raise SystemExit(f"error: {error}") from None
