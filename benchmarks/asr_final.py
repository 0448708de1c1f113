"""The authoritative decode against faster-whisper's own, in turns."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from faster_whisper import WhisperModel

from benchmarks.asr_clips import Spoken, word_errors
from benchmarks.result import Figure
from benchmarks.sample import median
from stages.asr.listener import transcribe
from stages.asr.whisper import Whisper

_LONGEST_S = 12.0  # of clips that count for the time


@dataclass
class Side:
    """One of the two."""

    transcribe: Callable[[Spoken], str]
    texts: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def run(self, clip: Spoken) -> None:
        """Transcribe once, timed."""
        before = time.perf_counter()
        self.texts[clip.name] = self.transcribe(clip)
        self.seconds.setdefault(clip.name, []).append(time.perf_counter() - before)

    def errors(self, clips: Sequence[Spoken]) -> tuple[int, int]:
        """Wrong words and words said, of all clips."""
        pairs = [word_errors(clip.text, self.texts[clip.name]) for clip in clips]
        return sum(wrong for wrong, _ in pairs), sum(said for _, said in pairs)


def compare(
    clips: Sequence[Spoken], model: Path, compute_type: str, threads: int, repeats: int
) -> dict[str, Figure]:
    """Metrics of the authoritative decode, English, on a CPU."""
    whisper = Whisper(model, "cpu", compute_type, threads, ("en",))
    stock = WhisperModel(str(model), device="cpu", compute_type=compute_type, cpu_threads=threads)
    ours = Side(lambda clip: transcribe(whisper, clip.samples).text)
    theirs = Side(lambda clip: _stock(stock, clip))
    for side in (ours, theirs):
        side.transcribe(clips[0])  # warm
    for repeat in range(repeats):
        for clip in clips:
            if repeat and clip.seconds > _LONGEST_S:
                continue
            for side in (ours, theirs) if repeat % 2 else (theirs, ours):
                side.run(clip)
    (wrong, said), (reference, _) = ours.errors(clips), theirs.errors(clips)
    return {
        "wer_final": wrong / said,
        "wer_reference": reference / said,
        "words_more_wrong": wrong - reference,
        "time_ratio_final": median(
            (median(ours.seconds[clip.name]) or 0) / (median(theirs.seconds[clip.name]) or 1)
            for clip in clips
            if clip.seconds <= _LONGEST_S
        ),
    }


def _stock(model: WhisperModel, clip: Spoken) -> str:
    segments, _ = model.transcribe(
        clip.samples.astype(np.float32) / np.float32(32768),
        language="en",
        beam_size=1,
        without_timestamps=True,
        condition_on_previous_text=False,
    )
    return " ".join(segment.text.strip() for segment in segments)
