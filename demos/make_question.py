"""Makes the question that voxring ships: `python -m demos.make_question VOICE.onnx`.

The voice is the project's own (`voxring models` names its path); seeded, so that the same voice and
the same versions give the same file, within rounding.
"""

import argparse
import wave
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from stages.audio.convert import resample, to_int16
from stages.audio.level import amplitude, rms
from stages.audio.room_tone import RoomTone
from stages.topology import INPUT_RATE

TEXT = "What do plants need to grow?"
SEED = 7
LEAD_S, TAIL_S = 0.5, 0.3
PEAK_DBFS = -6.0
ROOM_DBFS = -60.0
SILENT_DBFS = -50.0  # as in the definition of first-audio latency
FOLDER = Path(__file__).parent

MANIFEST = """\
# The clip that voxring ships. Written by make_question.py.
# speech_end_s: end of the last 10 ms of the clean voice at -50 dBFS or more.

[[clip]]
file = "question.wav"
text = "{text}"
speech_end_s = {speech_end_s:.2f}
kind = "synthetic question"
source = "demos/make_question.py: Piper voice en_US-joe-medium, seed {seed}, over room tone"
licence = "Apache-2.0 (this project); voice: CC0 data, finetuned from lessac (its model card)"
"""


def speak(voice: Path) -> NDArray[np.float32]:
    """The question, float32 [n] at 16 kHz, without silence at either end."""
    from piper import PiperVoice

    onnxruntime.set_seed(SEED)  # the voice draws its noise inside the graph
    model = PiperVoice.load(voice)
    chunks = [chunk.audio_float_array for chunk in model.synthesize(TEXT)]
    sound = np.concatenate(chunks).astype(np.float32)
    sound *= np.float32(amplitude(PEAK_DBFS) / np.abs(sound).max())
    return trim(resample(sound, model.config.sample_rate, INPUT_RATE))


def trim(sound: NDArray[np.float32]) -> NDArray[np.float32]:
    """Without the windows of 10 ms at either end that nobody hears."""
    window = INPUT_RATE // 100
    heard = np.flatnonzero(rms(sound, window) >= amplitude(SILENT_DBFS))
    return sound[heard[0] * window : (heard[-1] + 1) * window]


def place(sound: NDArray[np.float32]) -> tuple[NDArray[np.int16], float]:
    """The clip, int16 [n], and where speech ends in it, in seconds."""
    lead, tail = (int(seconds * INPUT_RATE) for seconds in (LEAD_S, TAIL_S))
    spoken = to_int16(np.pad(sound, (lead, tail)))
    room = RoomTone(ROOM_DBFS, SEED).take(spoken.size)
    return spoken + room, (lead + sound.size) / INPUT_RATE


def main() -> None:
    """Write question.wav and manifest.toml beside this file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("voice", type=Path, help="the voice's .onnx file")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write to")
    options = parser.parse_args()
    samples, end_s = place(speak(options.voice))
    with wave.open(str(options.out / "question.wav"), "wb") as file:
        file.setparams((1, 2, INPUT_RATE, 0, "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())
    manifest = MANIFEST.format(text=TEXT, speech_end_s=end_s, seed=SEED)
    (options.out / "manifest.toml").write_text(manifest, encoding="utf-8")


if __name__ == "__main__":
    main()
