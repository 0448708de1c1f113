"""What each metric means, and which value we hold ourselves to."""

from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.waterfall import EXPLAINED


@dataclass(frozen=True)
class Bar:
    """A limit: what is not within it is a defect."""

    limit: float
    upward: bool = False  # larger is better

    def holds(self, value: float) -> bool:
        """Whether a figure is within the limit."""
        return value >= self.limit if self.upward else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.upward else '≤'} {self.limit:,g}"


@dataclass(frozen=True)
class Metric:
    """One figure of a benchmark; `name.part` is the same of one part."""

    name: str
    meaning: str
    bar: Bar | None = None


@dataclass(frozen=True)
class Benchmark:
    """A program of this folder.

    Attributes:
        question: what it asks, one line.
        n: what `n` counts.
        metrics: in the order in which they are shown.
    """

    name: str
    question: str
    n: str
    metrics: tuple[Metric, ...]

    def find(self, name: str) -> Metric:
        """The metric of that name, or the one that it is a part of.

        Raises:
            KeyError: there is none.
        """
        return {metric.name: metric for metric in self.metrics}[name.partition(".")[0]]

    def ordered(self, names: Iterable[str]) -> list[str]:
        """Names in the order of `metrics`, each followed by its parts.

        Raises:
            KeyError: one is unknown.
        """
        order = [metric.name for metric in self.metrics]
        return sorted(names, key=lambda name: (order.index(self.find(name).name), "." in name))


RING = Benchmark(
    "ring",
    "How long does one token take from one sleeping program to another?",
    "messages of each transport",
    (
        Metric("token_p50_us", "our TokenRing: from before `put` until its reader holds the id"),
        Metric("token_p99_us", "the same, 99th percentile"),
        Metric("simplequeue_p50_us", "multiprocessing.SimpleQueue, a bare int"),
        Metric("simplequeue_p99_us", "the same, 99th percentile"),
        Metric("token_ratio_p50", "token_p50_us / simplequeue_p50_us of this run", Bar(0.7)),
        Metric("token_ratio_p99", "the same of the 99th percentiles", Bar(1)),
        Metric("lanes_p50_us", "our TokenRing with 1,000 open lanes on one doorbell"),
        Metric("lanes_ratio_p50", "the same / one open lane, in turns, on one core", Bar(1.3)),
        Metric("scattered_p50_us", "the same, each id on another lane, whose memory is cold"),
        Metric("scattered_ratio_p50", "the same / one open lane, in turns, on one core"),
        Metric("queue_p50_us", "multiprocessing.Queue, a bare int"),
        Metric("queue_p99_us", "the same, 99th percentile"),
        Metric("websocket_json_p50_us", "a JSON object over a local websocket"),
        Metric("websocket_json_p99_us", "the same, 99th percentile"),
        Metric(
            "batch_mtokens_per_s",
            "million ids a second from program to program, in batches of 256 (median of the runs)",
            Bar(10, upward=True),
        ),
        Metric("audio_put_copies", "time to put a 2 MiB block / to copy it once", Bar(1.3)),
        Metric("audio_read_copies", "time to read it into an array / to copy it once", Bar(1.3)),
        Metric("audio_put_us", "time to put a block of 10 ms, 48 kHz: once copied, not yet rung"),
        Metric("audio_read_us", "time to read it into an array: once copied"),
        Metric(
            "idle_cpu_percent", "of one core, by the reader of 1,000 lanes, nothing comes", Bar(0.1)
        ),
        Metric("recoveries", "wake-ups that were missed and found by the safety timer", Bar(0)),
    ),
)

IDLE = Benchmark(
    "idle",
    "What do the programs cost while nobody speaks?",
    "measured starts",
    (
        Metric("ready_s", "from start to ready, models in the cache (median)", Bar(12)),
        Metric("idle_cpu_percent", "of one core, all programs, no lane open", Bar(1)),
        Metric("listening_cpu_percent", "the same while one lane hears room tone", Bar(5)),
        Metric("idle_wakeups_per_s", "voluntary context switches, all threads, no lane open"),
        Metric("listening_wakeups_per_s", "the same while one lane hears room tone"),
        Metric("memory_mib", "sum of PSS after one turn, one lane open", Bar(2560)),
        Metric(
            "memory_growth_mib",
            "what that grew by while the lane heard room tone, files aside",
            Bar(4),
        ),
    ),
)

FIRST_AUDIO = Benchmark(
    "first_audio",
    "How long after the end of a question is the answer heard?",
    "turns with a first-audio latency",
    (
        Metric("first_audio_p50_ms", "end of speech to first sound at -50 dBFS", Bar(1200)),
        Metric("first_audio_p95_ms", "the same, 95th percentile"),
        Metric("first_audio_max_ms", "the longest"),
        Metric("reply_words_p50", "words of a reply, median", Bar(6, upward=True)),
        Metric("turns", "turns that were played"),
        Metric("unanswered", "of these, with another outcome than answered", Bar(0)),
        Metric("cut_offs", "answers released before the end of speech: no latency", Bar(0)),
        Metric("underruns", "gaps inside an answer; one within its first second: no latency"),
        *(
            Metric(f"phase_{name}_p50_ms", f"{meaning}, after the end of speech")
            for name, meaning in EXPLAINED.items()
        ),
    ),
)

TTS = Benchmark(
    "tts",
    "How soon and how well does a voice speak text that is still being written?",
    "sentences",
    (
        Metric(
            "first_sound_p50_ms",
            "from the id that closes the third word to the first audible piece, at 20 ids/s "
            "(and at each pace)",
            Bar(90),
        ),
        Metric("first_sound_p95_ms", "the same, 95th percentile"),
        Metric("first_id_to_sound_ms", "15 words at 20 ids/s: from the first id, by way"),
        Metric("first_sound_ratio", "of these, streaming / sentence by sentence", Bar(0.35)),
        Metric(
            "underruns", "pieces that came too late for one who listens at once, 20 ids/s", Bar(0)
        ),
        Metric("real_time_factor", "processor time / sound, one core, 20 ids/s", Bar(0.25)),
        Metric(
            "max_sample_difference",
            "windows against the whole, same noise, whole text known",
            Bar(1e-5),
        ),
        Metric(
            "length_ratio",
            "each word said as soon as may be / whole sentences (and by words of lookahead)",
            Bar(1.05),
        ),
        Metric("length_ratio_min", "the shortest of a sentence", Bar(0.95, upward=True)),
        Metric("length_ratio_max", "the longest of a sentence"),
        Metric("wer_delta_points", "Whisper's word errors: streaming - sentences", Bar(2)),
        Metric("wer_percent", "word errors of whole sentences, and by words of lookahead"),
        Metric("seam_step_ratio", "largest step between pieces / inside whole sentences", Bar(1)),
        Metric("memory_growth_mib", "over nine tenths of the replies", Bar(4)),
    ),
)

BENCHMARKS = (RING, IDLE, FIRST_AUDIO, TTS)
