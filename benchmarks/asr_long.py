"""Half an hour of speech as one turn: what it costs, minute by minute."""

import os
from collections.abc import Sequence
from itertools import cycle

import numpy as np

from benchmarks import usage
from benchmarks.asr_clips import Spoken, Word, word_errors
from benchmarks.asr_figures import Reader, held, pair_lags
from benchmarks.asr_live import Clock, Live
from benchmarks.command import Progress
from benchmarks.result import Figure
from benchmarks.sample import median, percentile
from pipeline.config import Config
from stages.audio.room_tone import RoomTone
from stages.topology import INPUT_RATE

_MINUTES, _PART_MINUTES = 30, 5
_QUICK_MINUTES, _QUICK_PART_MINUTES = 3, 1
_BETWEEN_S = 0.3  # of room tone, so that clips that are cut close do not run into each other
_NEVER = 10**9


def measure(
    clips: Sequence[Spoken],
    words: dict[str, list[Word]],
    config: Config,
    quick: bool,
    progress: Progress,
) -> tuple[int, dict[str, Figure]]:
    """How many lags, and all metrics of `asr_long`."""
    minutes, part = (_QUICK_MINUTES, _QUICK_PART_MINUTES) if quick else (_MINUTES, _PART_MINUTES)
    speech, true = concatenate(clips, words, minutes * 60)
    ends = [n * part * 60 for n in range(1, minutes // part + 1)]
    memory, busy = list[float](), list[float]()
    with Live(endless(config), Clock(live=False)) as live:

        def watch(seconds: float) -> None:
            if len(memory) < len(ends) and seconds >= ends[len(memory)]:
                progress(f"minute {seconds / 60:.0f} of {minutes}")
                memory.append(usage.memory_mib(os.getpid(), usage.OWN))
                busy.append(live.asr_ns / 1e9)

        (hearing,) = live.hear(speech, watch=watch)
        reader = Reader.of(live.asr.bridge, config)
        heard = reader.words(held(hearing.slots))
    wrong, said = word_errors(speech.text, " ".join(word for word, _ in heard))
    lags = pair_lags(true, heard)
    parts = [[1000 * lag for at, lag in lags if end - part * 60 < at <= end] for end in ends]
    cost = [float(c) / (part * 60) for c in np.diff([0.0, *busy])]
    names = [f"to_minute_{end // 60:02d}" for end in ends]
    every = [lag for part in parts for lag in part]
    found: dict[str, Figure] = {
        "minutes": minutes,
        "wer": wrong / said,
        "real_time_factor": float(np.mean(cost)),
        **_parts("real_time_factor", names, cost),
        "real_time_factor_growth": cost[-1] / cost[0] - 1,
        "commit_lag_p50_ms": median(every),
        **_parts("commit_lag_p50_ms", names, [median(part) for part in parts]),
        "commit_lag_p50_growth": (median(parts[-1]) or 0) / (median(parts[0]) or 1) - 1,
        "commit_lag_p90_ms": percentile(every, 90),
        **_parts("commit_lag_p90_ms", names, [percentile(part, 90) for part in parts]),
        "memory_mib": memory[-1],
        **_parts("memory_mib", names, memory),
        "memory_growth_mib": memory[-1] - memory[0],
    }
    return len(every), found


def endless(config: Config) -> Config:
    """A configuration in which a turn has no limit, which the model of it would refuse."""
    never = {"max_turn_s": float(_NEVER), "release_ms": _NEVER}
    return config.model_copy(update={"turn": config.turn.model_copy(update=never)})


def concatenate(
    clips: Sequence[Spoken], words: dict[str, list[Word]], seconds: float
) -> tuple[Spoken, list[Word]]:
    """Clips one after the other, again and again, and when each word ends in it."""
    parts, texts, true, samples = [], [], list[Word](), 0
    for clip in cycle(clips):
        if samples >= seconds * INPUT_RATE:
            break
        offset = samples / INPUT_RATE
        room = RoomTone(clip.noise_dbfs).take(int(_BETWEEN_S * INPUT_RATE))
        parts += [clip.samples, room]
        texts.append(clip.text)
        true += [Word(word.text, word.end_s + offset) for word in words[clip.name]]
        samples += len(clip.samples) + len(room)
    whole = np.concatenate(parts)
    text = " ".join(texts)
    return Spoken("long", whole, text, samples / INPUT_RATE, clips[0].noise_dbfs), true


def _parts(metric: str, names: Sequence[str], values: Sequence[float | None]) -> dict[str, Figure]:
    return {f"{metric}.{name}": value for name, value in zip(names, values, strict=True)}
