"""How soon, how smoothly and how well a Piper voice speaks text that is still being written.

Ids of the default language model's tokenizer come at a fixed pace; the voice has one core. Quality
is compared with the same voice saying whole sentences with the same noise, and heard by Whisper.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import metrics, tts_lanes
from benchmarks.command import (
    Progress,
    add_config_options,
    make_parser,
    read_config,
    run,
)
from benchmarks.judge import Judge
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sample import median, percentile
from benchmarks.sentences import SENTENCES
from benchmarks.usage import memory_mib
from pipeline.config import Config
from pipeline.models import prepare_llm, resolve
from pipeline.models.progress import silent
from pipeline.tokenizer import load_vocabulary
from stages.tts.boundaries import Ending
from stages.tts.clauses import ClauseRules
from stages.tts.clausewise import ClausewiseUtterance
from stages.tts.front import Front
from stages.tts.piper_model import PiperModel, VoiceSettings, find_voice
from stages.tts.piper_voice import PiperVoice
from stages.tts.sentence import Sentence
from stages.tts.sound import FLOOR, Rests
from stages.tts.split_voice import SplitVoice
from stages.tts.streaming import StreamingUtterance, StreamRules
from stages.tts.utterance import Sound, Utterance
from stages.tts.words import Word

Samples = NDArray[np.int16]
PACES = (5, 20, 100)  # ids a second
PACE = 20
CLOSING = 3  # words until the voice may begin
FIFTEEN = "You can walk along the river every morning and visit the old museum after lunch."
WHOLE_SENTENCES = ClauseRules(first_words=0, first_minimum=10**6, minimum=10**6, maximum=10**6)
LOOKAHEADS = (1, 2, 3)
REPLIES, QUICK_REPLIES = 1000, 100
QUICK = 3  # every so-manieth sentence
LANES, QUICK_LANES = (1, 2, 4, 8), (tts_lanes.LANES,)
QUESTIONS, QUICK_QUESTIONS = 12, 3


@dataclass(frozen=True)
class Heard:
    """One sentence as it was spoken.

    Attributes:
        at: seconds after its first id at which each piece was ready.
        closed: seconds after its first id at which its third word was known to have ended.
        cpu: seconds of processor time.
    """

    sounds: tuple[Sound, ...]
    at: tuple[float, ...]
    closed: float
    cpu: float
    rate: int

    @property
    def samples(self) -> Samples:
        """All of it."""
        return np.concatenate([sound.samples for sound in self.sounds])

    @property
    def first(self) -> float:
        """Seconds after the first id at which the first audible piece was ready."""
        return next(
            at for at, sound in zip(self.at, self.sounds, strict=True) if audible(sound, self.rate)
        )

    @property
    def underruns(self) -> int:
        """How many pieces came after the listener had run out, if he began with the first."""
        dry, count = self.at[0], 0
        for at, sound in zip(self.at, self.sounds, strict=True):
            count += at > dry
            dry = max(dry, at) + len(sound.samples) / self.rate
        return count


def audible(sound: Sound, rate: int) -> bool:
    """Whether any 10 ms of a piece are loud enough to be heard."""
    size = rate // 100
    whole = sound.samples[: len(sound.samples) // size * size].reshape(-1, size) / 32768
    return bool(len(whole)) and bool(np.sqrt(np.mean(whole**2, axis=1)).max() >= FLOOR)


class Bench:
    """The voices, and the ids of what they say."""

    def __init__(self, config: Config) -> None:
        from tokenizers import Tokenizer

        path = find_voice(resolve(config.tts.model))
        self.model = PiperModel.load(path, VoiceSettings(threads=1))
        self.split = SplitVoice.load(self.model, silent)
        self.piper = PiperVoice.load(self.model)
        self.rules = StreamRules(lookahead=config.tts.lookahead)
        self.vocabulary = load_vocabulary(config.llm.model)
        tokenizer = prepare_llm(config.llm.model) / "tokenizer.json"
        self._tokenizer: Any = Tokenizer.from_file(str(tokenizer))

    def ids(self, text: str) -> list[int]:
        """Ids as the language model would write them."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def streaming(self) -> Utterance:
        """The voice as it speaks by default."""
        front = Front(self.vocabulary)
        return StreamingUtterance(front, self.split, self.rules, Rests(), time.monotonic_ns)

    def clausewise(self, rules: ClauseRules) -> Utterance:
        """The same voice, one clause at a time."""
        return ClausewiseUtterance(Front(self.vocabulary), self.piper, rules, Rests())

    def warm_up(self) -> None:
        """Everything once."""
        for utterance in (self.streaming(), self.clausewise(WHOLE_SENTENCES)):
            self.hear(utterance, FIFTEEN, 1000)

    def hear(self, utterance: Utterance, text: str, pace: float) -> Heard:
        """Speak a sentence whose ids come at a pace."""
        ids = self.ids(text)
        sounds, at, start, cpu = [], [], time.perf_counter(), time.thread_time()

        def run(until: float) -> None:
            while (now := time.perf_counter() - start) < until or until == 0:
                if sound := utterance.more():
                    sounds.append(sound)
                    at.append(time.perf_counter() - start)
                elif until == 0:
                    return
                else:
                    due = utterance.due
                    wake = (due - time.monotonic_ns()) / 1e9 if due is not None else until - now
                    time.sleep(max(0.0, min(wake, until - now)))

        for position, id in enumerate(ids):
            run(position / pace)
            utterance.feed(id, position)
        run(len(ids) / pace)
        utterance.end(complete=True)
        run(0)
        cpu = time.thread_time() - cpu
        return Heard(tuple(sounds), tuple(at), self.closed(ids) / pace, cpu, utterance.rate)

    def closed(self, ids: list[int]) -> int:
        """Which id shows that the third word has ended: the next word's, punctuation, the end."""
        for position in range(len(ids)):
            words = self.vocabulary.decode(ids[: position + 1]).split()
            is_next = len(words) > CLOSING
            if is_next or (len(words) == CLOSING and not words[-1][-1].isalnum()):
                return position
        return len(ids)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.TTS, __doc__, "--set tts.lookahead=1")
    add_config_options(parser)
    parser.add_argument(
        "--judge", default="bundle:whisper-base", help="the Whisper model that listens"
    )
    run(
        metrics.TTS,
        parser,
        arguments,
        lambda options, progress: measure(options, read_config(options), progress),
    )
    return 0


def measure(options: argparse.Namespace, config: Config, progress: Progress) -> Result:
    """The whole benchmark.

    Raises:
        VoxringError: a model cannot be had.
    """
    before = load_now()
    progress("loading the voice")
    bench = Bench(config)
    use_one_core()
    bench.warm_up()
    sentences = SENTENCES[::QUICK] if options.quick else SENTENCES
    figures: dict[str, Figure] = {}
    for pace in PACES:
        chosen = sentences[:: 3 if pace == min(PACES) else 1]
        figures |= paced(bench, chosen, pace, progress)
    progress("sentence by sentence")
    figures |= against_sentences(bench)
    progress("replies in a row")
    replies = QUICK_REPLIES if options.quick else REPLIES
    figures["memory_growth_mib"] = memory_growth(bench, replies)
    figures["max_sample_difference"] = max(map(difference_of(bench), sentences[:5]))
    progress("lanes")
    figures |= with_lanes(bench, config, quick=options.quick)
    figures |= quality(bench, sentences, Judge(options.judge), progress)
    return make_result(
        metrics.TTS.name,
        before=before,
        n=len(sentences),
        metrics=figures,
        settings={
            "quick": options.quick,
            "config": Path(options.config).name,
            "set": options.overrides,
            "judge": options.judge,
            "replies": replies,
        },
        packages=("faster-whisper",),
    )


def use_one_core() -> None:
    """The voice's own; where the system allows."""
    if hasattr(os, "sched_setaffinity"):  # not on macOS
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def paced(
    bench: Bench, sentences: Sequence[str], pace: int, progress: Progress
) -> dict[str, Figure]:
    """Latency, gaps and cost at one pace."""
    heard = []
    for number, text in enumerate(sentences, 1):
        progress(f"{pace} ids/s: sentence {number} of {len(sentences)}")
        heard.append(bench.hear(bench.streaming(), text, pace))
    waits = [(one.first - one.closed) * 1000 for one in heard]
    sound = sum(len(one.samples) / one.rate for one in heard)
    found: dict[str, Figure] = {
        f"first_sound_p50_ms.{pace}": median(waits),
        f"first_sound_p95_ms.{pace}": percentile(waits, 95),
        f"underruns.{pace}": sum(one.underruns for one in heard),
        f"real_time_factor.{pace}": sum(one.cpu for one in heard) / sound,
    }
    if pace == PACE:
        found |= {name.partition(".")[0]: value for name, value in found.items()}
    return found


def against_sentences(bench: Bench) -> dict[str, Figure]:
    """First sound of a 15-word sentence, from its first id, three times each."""
    ways: dict[str, Callable[[], Utterance]] = {
        "streaming": bench.streaming,
        "clauses": lambda: bench.clausewise(ClauseRules(first_words=4)),
        "sentences": lambda: bench.clausewise(WHOLE_SENTENCES),
    }
    first = {
        name: median(bench.hear(make(), FIFTEEN, PACE).first * 1000 for _ in range(3))
        for name, make in ways.items()
    }
    found: dict[str, Figure] = {f"first_id_to_sound_ms.{name}": ms for name, ms in first.items()}
    assert first["streaming"] is not None
    assert first["sentences"] is not None
    return found | {"first_sound_ratio": first["streaming"] / first["sentences"]}


def memory_growth(bench: Bench, replies: int) -> float:
    """MiB that the process has grown by between a tenth of the replies and all of them."""
    ids = bench.ids("Yes, it is.")
    early = 0.0
    for number in range(replies):
        utterance = bench.streaming()
        for position, id in enumerate(ids):
            utterance.feed(id, position)
        utterance.end(complete=True)
        while utterance.more():
            pass
        if number == replies // 10:
            early = memory_mib(os.getpid())
    return memory_mib(os.getpid()) - early


def with_lanes(bench: Bench, config: Config, *, quick: bool) -> dict[str, Figure]:
    """First sound of short answers while other lanes listen to long ones."""
    question = tts_lanes.Question(ids := bench.ids(FIFTEEN), bench.closed(ids))
    replies = [
        bench.ids(" ".join(SENTENCES[first:] + SENTENCES[:first])) for first in range(max(LANES))
    ]
    lanes, n = (QUICK_LANES, QUICK_QUESTIONS) if quick else (LANES, QUESTIONS)
    return tts_lanes.figures(tts_lanes.loaded(config), question, replies, lanes, n)


def difference_of(bench: Bench) -> Callable[[str], float]:
    """Largest difference between windows and the whole, of samples in -1..1."""

    def difference(text: str) -> float:
        ids, _ = bench.split.encode([bench.split.phonemes(text)])
        pieces = []
        stream = bench.split.begin(0)
        stream.look(ids)
        stream.promise(len(ids), whole=True)
        while not stream.is_over:
            pieces.append(stream.decode(16))
        return float(np.abs(np.concatenate(pieces) - bench.split.say(text)).max())

    return difference


def quality(
    bench: Bench, sentences: Sequence[str], judge: Judge, progress: Progress
) -> dict[str, Figure]:
    """What lookahead changes, against whole sentences with the same noise."""
    progress("quality: whole sentences")
    rate, chosen = bench.split.rate, bench.rules.lookahead
    wholes = [joining(list(grow(bench, text, None))) for text in sentences]
    errors = judge.errors(sentences, wholes, rate)
    inside = max(int(np.abs(np.diff(one.astype(np.int32))).max()) for one in wholes)
    found: dict[str, Figure] = {"wer_percent.whole": errors}
    for lookahead in sorted({*LOOKAHEADS, chosen}):
        progress(f"quality: lookahead {lookahead}")
        sounds = [list(grow(bench, text, lookahead)) for text in sentences]
        joined = list(map(joining, sounds))
        lengths = [len(one) / len(other) for one, other in zip(joined, wholes, strict=True)]
        ratio = sum(map(len, joined)) / sum(map(len, wholes))
        wrong = judge.errors(sentences, joined, rate)
        found |= {f"length_ratio.{lookahead}": ratio, f"wer_percent.{lookahead}": wrong}
        if lookahead == chosen:
            found |= {
                "length_ratio": ratio,
                "length_ratio_min": min(lengths),
                "length_ratio_max": max(lengths),
                "wer_delta_points": wrong - errors,
                "seam_step_ratio": max(map(seam_step, sounds)) / inside,
            }
    return found


def grow(bench: Bench, text: str, lookahead: int | None) -> Iterator[Sound]:
    """A sentence whose words come one by one, each said as soon as it may be: the hardest case.

    Args:
        lookahead: words; None: the sentence is known as a whole.
    """
    words = text.split(" ")
    sentence = Sentence(bench.split, 0, -1)
    for number, word in enumerate(words):
        sentence.add(Word(f" {word}" if number else word, number))
        is_last = number == len(words) - 1
        if is_last:
            sentence.end(Ending.SENTENCE)
        if is_last or (lookahead is not None and sentence.fresh(lookahead)):
            least = bench.rules.least_frames if number == lookahead else 0
            sentence.grow(lookahead or 0, least)
            while sentence.ready:
                yield from sentence.decode(bench.rules.first_frames)


def joining(sounds: Sequence[Sound]) -> Samples:
    """Pieces as one."""
    return np.concatenate([sound.samples for sound in sounds])


def seam_step(sounds: Sequence[Sound]) -> int:
    """The largest step from one piece to the next."""
    steps = (abs(int(b.samples[0]) - int(a.samples[-1])) for a, b in pairwise(sounds))
    return max(steps, default=0)


if __name__ == "__main__":
    sys.exit(main())
