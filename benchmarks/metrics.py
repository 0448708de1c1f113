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
        known = {metric.name: metric for metric in self.metrics}
        return known[name] if name in known else known[name.partition(".")[0]]

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

OVERHEAD = Benchmark(
    "overhead",
    "What does the framework itself cost, and what do its rings buy?",
    "turns of one lane on our rings",
    (
        Metric(
            "end_to_first_block_p50_ms",
            "soft end on `speech` to the first block taken from `voice`, five programs, one lane",
            Bar(3),
        ),
        Metric("end_to_first_block_p99_ms", "the same, 99th percentile", Bar(15)),
        Metric("mpqueue_p50_ms", "the same stages with a multiprocessing.Queue into each program"),
        Metric("mpqueue_p99_ms", "the same, 99th percentile"),
        Metric("asyncio_p50_ms", "the same stages as tasks of one program: nobody is woken"),
        Metric("asyncio_p99_ms", "the same, 99th percentile"),
        Metric("mpqueue_ratio_p50", "end_to_first_block_p50_ms / mpqueue_p50_ms", Bar(1)),
        Metric("mpqueue_ratio_p99", "the same of the 99th percentiles", Bar(1)),
        Metric("busy_p50_ms", "on our rings, 4 lanes, 50 ms of work in each stage on each turn"),
        Metric("busy_p99_ms", "the same, 99th percentile"),
        Metric("busy_mpqueue_p99_ms", "the same with multiprocessing.Queue"),
        Metric("busy_asyncio_p50_ms", "the same as one asyncio program"),
        Metric("busy_asyncio_p99_ms", "the same, 99th percentile"),
        Metric("busy_ratio_p99", "busy_p99_ms / busy_asyncio_p99_ms", Bar(1)),
        Metric(
            "transit_p50_ms",
            "on our rings, one lane: messages put until their reader takes them, all four arrows "
            "(and each arrow of each graph, also at 16 and 64 lanes)",
        ),
        Metric(
            "stage_p50_ms",
            "the rest: messages taken until the next is put (and each stage of each graph)",
        ),
        Metric(
            "lanes_p50_ms",
            "on our rings, 64 lanes that talk as people do (and each graph at each number)",
        ),
        Metric("lanes_p99_ms", "the same, 99th percentile"),
        Metric("cpu_percent", "of one core, all programs with the client's, likewise"),
        Metric("unanswered", "turns without an answer, all parts (and of the others)", Bar(0)),
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
        Metric("top_cpu_percent", "of one core, `voxring top` that looks at it", Bar(2)),
        Metric("memory_mib", "sum of PSS after one turn, one lane open", Bar(2560)),
        Metric(
            "memory_growth_mib",
            "what that grew by while the lane heard room tone, files aside",
            Bar(4),
        ),
    ),
)

PHASES = tuple(
    Metric(f"phase_{name}_p50_ms", f"{meaning}, after the end of speech")
    for name, meaning in EXPLAINED.items()
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
        *PHASES,
    ),
)

TURNS = Benchmark(
    "turns",
    "How soon does it answer, how soon is it silent, and what does it remember?",
    "samples of the first part: turns, interruptions, sounds, pauses, or seconds",
    (
        Metric("first_audio_p50_ms", "end of speech to first sound at -50 dBFS", Bar(400)),
        Metric("first_audio_p95_ms", "the same, 95th percentile", Bar(550)),
        Metric("first_audio_max_ms", "the longest"),
        Metric("first_audio_off_p50_ms", "the same if nothing is prepared before the end"),
        Metric("first_audio_off_max_ms", "the longest of these"),
        Metric("reply_words_p50", "words of a reply, which this benchmark cuts short, median"),
        Metric("turns", "turns that were played"),
        Metric("turns_off", "of these without speculation, besides"),
        Metric("unanswered", "turns with another outcome than answered", Bar(0)),
        Metric("cut_offs", "answers released before the end of speech: no latency", Bar(0)),
        Metric("underruns", "gaps inside answers", Bar(0)),
        *PHASES,
        Metric("barge_in_p50_ms", "a voice over an answer to its last audible 10 ms", Bar(250)),
        Metric("barge_in_p95_ms", "the same, 95th percentile", Bar(350)),
        Metric("barge_in_max_ms", "the longest"),
        Metric("decision_to_silence_p95_ms", "decision to hold, to the last sample", Bar(20)),
        Metric("decision_to_silence_max_ms", "the longest"),
        Metric(
            "next_turn_correct_share",
            "what was said over it: one turn, at most one word wrong, answered without a gap",
            Bar(1, upward=True),
        ),
        Metric("tries", "questions said over answers"),
        Metric("tries_too_late", "of these, behind the end of the answer: not counted"),
        Metric("tries_in_a_pause", "the answer was silent before the voice: no latency"),
        Metric("tries_gone_on", "the answer went on before it was cut"),
        Metric(
            "heard_within_one_word_share",
            "kept texts that end within a word of what another Whisper hears of the answer",
            Bar(1, upward=True),
        ),
        Metric("heard_within_one_word_tries", "of how many"),
        Metric(
            "heard_exact_share",
            "answers in tones, cut anywhere: the kept text is what can be read in the recording",
            Bar(1, upward=True),
        ),
        Metric("heard_tries", "questions said over answers in tones"),
        Metric("heard_too_late", "of these, behind the end of the answer: not counted"),
        Metric("backchannel_goes_on_share", '"uh-huh" and the like end no answer', Bar(1, True)),
        Metric("noise_goes_on_share", "nor do bursts of noise", Bar(1, True)),
        Metric("murmurs", "sounds over answers"),
        Metric("false_cut_share", "pauses of at least 200 ms that end a turn, by setting"),
        Metric("false_cut_share.default", "", Bar(0.05)),
        Metric("release_delay_p50_ms", "end of speech to the end of the turn, by setting"),
        Metric("release_delay_p95_ms", "the same, 95th percentile"),
        Metric("missed_end_share", "ends that end no turn within 2 s, by setting"),
        Metric(
            "false_cuts_elsewhere", "turns that end inside speech, where no pause was annotated"
        ),
        Metric("pauses", "pauses that were heard at each setting"),
        Metric("ends", "ends that were heard at each setting"),
        Metric(
            "self_interruptions",
            "answers cut by their own echo (-20 dB, 120 ms), `barge_in` off; and by mode",
            Bar(0),
        ),
        Metric("self_turns", "turns that nobody but the echo began", Bar(0)),
        Metric("echo_s", "seconds of answers in the microphone"),
    ),
)

ASR = Benchmark(
    "asr",
    "When are spoken words in the language model's ring, and are they right?",
    "words with a commit lag",
    (
        Metric("wer_final", "word error rate of the decode of whole clips"),
        Metric("wer_reference", "the same of faster-whisper's own `transcribe` (30 s, beam 1)"),
        Metric(
            "words_more_wrong", "words that ours has wrong, less those of faster-whisper", Bar(1)
        ),
        Metric("time_ratio_final", "our time / faster-whisper's (median of clips)", Bar(0.45)),
        Metric("wer_streamed", "word error rate of what is on the ring in the end"),
        Metric("commit_lag_p50_ms", "end of a word to its ids on the ring, for good", Bar(600)),
        Metric("commit_lag_p90_ms", "the same, 90th percentile", Bar(1200)),
        Metric("commit_lag_max_ms", "the longest"),
        Metric(
            "committed_before_end",
            "share of ids that are there before the end of speech (speech over 3 s)",
            Bar(0.85, upward=True),
        ),
        Metric("revised_share", "ids that were written and later changed or dropped", Bar(0.03)),
        Metric("rewritten_share", "ids that were written again, changed or behind a changed one"),
        Metric("ids_after_end", "ids written behind an END before the voice came back", Bar(0)),
        Metric(
            "soft_end_to_final_p50_ms",
            "soft end to the complete words on the ring, utterances under 8 s",
            Bar(60),
        ),
        Metric("soft_end_to_final_p95_ms", "the same, 95th percentile"),
        Metric("soft_end_to_final_max_ms", "the longest"),
        Metric(
            "silence_to_final_p50_ms",
            "first silent window to the complete words on the ring, utterances under 8 s",
            Bar(110),
        ),
        Metric("silence_to_final_p95_ms", "the same, 95th percentile"),
        Metric("silence_to_final_max_ms", "the longest"),
        Metric(
            "three_words_more_wrong",
            "three speakers at once: words wrong in all, less those of one at a time",
            Bar(1),
        ),
        Metric("three_commit_lag_p50_ms", "their commit lag"),
        Metric("three_commit_lag_p90_ms", "the same, 90th percentile"),
    ),
)

ASR_LONG = Benchmark(
    "asr_long",
    "Does speech without an end cost more, the longer it lasts?",
    "words with a commit lag",
    (
        Metric("minutes", "of speech, one turn"),
        Metric("wer", "word error rate against the clips' texts"),
        Metric("real_time_factor", "time spent in `asr` / time of the sound; a part: 5 minutes"),
        Metric("real_time_factor_growth", "of the last part over the first", Bar(0.1)),
        Metric("commit_lag_p50_ms", "end of a word to its ids on the ring"),
        Metric("commit_lag_p50_growth", "of the last part over the first", Bar(0.1)),
        Metric("commit_lag_p90_ms", "the same, 90th percentile"),
        Metric("memory_mib", "PSS of the benchmark at the end of each part, files aside"),
        Metric("memory_growth_mib", "from the end of the first part to the end", Bar(16)),
    ),
)

ASR_SWEEP = Benchmark(
    "asr_sweep",
    "What do step, agreement and window of the recogniser cost and bring?",
    "words with a commit lag at each setting",
    (
        Metric("wer", "word error rate of what is on the ring in the end"),
        Metric("lag_p50_ms", "end of a word to its ids on the ring, for good"),
        Metric("lag_p90_ms", "the same, 90th percentile"),
        Metric("committed_before_end", "share of ids there before the end of speech"),
        Metric("revised_share", "ids that were written and later changed or dropped"),
        Metric("busy_share", "time spent in `asr` / time of the sound"),
    ),
)

END_OF_TURN = Benchmark(
    "end_of_turn",
    "Can the end-of-turn model tell an end from a pause?",
    "answers of the model",
    (
        Metric("ends_recognised", "share called an end after 100 ms of silence, at 0.9 or more"),
        Metric("pauses_called_ends", "the same of pauses of 200 ms and more inside speech"),
        Metric("cuts_called_ends", "the same of speech cut off in mid-sentence"),
        Metric("ends", "how many these are (and by the silence before the model is asked)"),
        Metric("pauses", "the same of pauses"),
        Metric("cuts", "the same of cuts"),
        Metric("end_probability", "what the model says at ends, median (and percentiles)"),
        Metric("pause_probability", "the same in pauses"),
        Metric("cut_probability", "the same at cuts"),
        Metric("features_ms", "to compute the spectrogram, one thread, median"),
        Metric("call_p50_ms", "the same and to run the model"),
        Metric("call_p95_ms", "the same, 95th percentile"),
        Metric("load_ms", "to load the file, in the page cache"),
        Metric("memory_mib", "what memory grows by with the model and a call, files aside"),
    ),
)

MURMURS = Benchmark(
    "murmurs",
    "Is a short sound over an answer a hum or a command?",
    "sounds",
    (
        Metric("murmurs", 'how often "uh-huh" and the like were said'),
        Metric(
            "murmurs_go_on_share", "share that lets the answer go on (and by their words alone)"
        ),
        Metric("invented", "of them that were taken for words"),
        Metric("invented_unsure_share", "share of these that the recogniser is unsure of"),
        Metric("commands", "how often a short command or question was said"),
        Metric("commands_go_on_share", "share that wrongly lets the answer go on (and of each)"),
    ),
)

LLM = Benchmark(
    "llm",
    "How soon after the end of speech does the language model answer?",
    "rounds",
    (
        Metric("first_ms", "from the ids of the last word to the first id of the reply, median"),
        Metric("fifth_ms", "the same to the fifth, where speech begins"),
        Metric("first_ratio", "first_ms / that of stock with as many threads (or of `all`)"),
        Metric("first_ratio.onnx-fp32", "", Bar(0.04)),
        Metric("first_ratio.onnx-fp32-1t", "", Bar(0.045)),
        Metric("first_ratio.onnx-int4", "", Bar(0.025)),
        Metric("first_ratio.transformers", "", Bar(0.10)),
        Metric("fifth_ratio", "the same of fifth_ms"),
        Metric("fifth_ratio.onnx-fp32", "", Bar(0.13)),
        Metric("fifth_ratio.onnx-fp32-1t", "", Bar(0.16)),
        Metric("fifth_ratio.onnx-int4", "", Bar(0.06)),
        Metric("fifth_ratio.transformers", "", Bar(0.27)),
        Metric("cached_ratio_first", "first_ms of onnx-fp32 / of cached", Bar(0.45)),
        Metric("cached_ratio_fifth", "the same of fifth_ms"),
        Metric("cpu_ms", "processor time of all cores, to the fifth id"),
        Metric("same_ids", "1: the five ids are those of the first column's"),
    ),
)

EXACT = Benchmark(
    "exact",
    "Does each engine say what transformers' `generate` says?",
    "prompts",
    (
        Metric("unexplained", "float32 replies that differ with scores over 1e-4 apart", Bar(0)),
        Metric("same_share", "replies with the ids of `generate`"),
        Metric("ids_before", "ids before a reply parts from that of `generate`, mean"),
        Metric("best_share", "positions of that reply where the best id is the same"),
        Metric("kl_mean_nats", "divergence of the chances from the exact ones, mean"),
        Metric("kl_p99_nats", "the same, 99th percentile"),
    ),
)

LLM_LOAD = Benchmark(
    "llm_load",
    "How long does the language model's program take to be ready, and what does it hold?",
    "starts, cold and warm",
    (
        Metric("warm_ready_s", "from the start of the program, files in the page cache, median"),
        Metric("cold_ready_s", "the same, files on the disk"),
        Metric("memory_mib", "PSS after one turn"),
        Metric("own_mib", "of this, what no file backs"),
        Metric("disk_mib", "the model's folder in the cache"),
        Metric("build_s", "to make that folder, once"),
    ),
)

_FIRST_BARS = {
    ("8b", 400): (0.23, 0.28),
    ("8b", 8000): (0.05, 0.06),
    ("1b", 400): (0.12, 0.15),
    ("1b", 8000): (0.04, 0.05),
    ("135m", 400): (0.15, 0.19),
}


def _first_metrics() -> Iterable[Metric]:
    for (shape, history), bars in _FIRST_BARS.items():
        for count, bar in zip((1, 8), bars, strict=True):
            yield Metric(f"first_ratio.{shape}-{history}-{count}", "", Bar(bar))


LLM_CUDA = Benchmark(
    "llm_cuda",
    "How soon does a language model on an NVIDIA GPU answer?",
    "first ids of each kind",
    (
        Metric("first_ratio", "first_ms / stock_first_ms, by shape, history and last ids"),
        *_first_metrics(),
        Metric("flat_ratio", "first id at 8,000 ids of history / at 400"),
        *(Metric(f"flat_ratio.{shape}", "", Bar(1.25)) for shape in ("8b", "1b", "135m")),
        Metric("decode_bandwidth_share", "bytes of weights / time of an id / that of a copy"),
        Metric("decode_bandwidth_share.8b-400", "", Bar(0.8, upward=True)),
        Metric("decode_bandwidth_share.1b-400", "", Bar(0.6, upward=True)),
        Metric("first_ms", "first id, median, by shape, history and ids that arrive last"),
        Metric("first_p95_ms", "the same, 95th percentile"),
        Metric("stock_first_ms", "generate with the whole prompt and one new id, median"),
        Metric("next_ms", "from id to id, one lane"),
        Metric("stock_next_ms", "the same of generate"),
        Metric("unequal_steps", "of 256, in which graph and eager differ in any bit", Bar(0)),
        Metric(
            "unequal_strict_steps",
            "of 128 in strict mode, in which a lane differs if another speaks in between",
            Bar(0),
        ),
        Metric("traces", "lives with portions and rollbacks that are not one shot", Bar(0)),
        Metric("error_ratio", "error against float32 / that of transformers in bf16", Bar(1)),
        Metric("error_ours", "relative error of the scores against float32"),
        Metric("error_stock", "the same of transformers"),
        Metric("greedy_agreement", "prompts whose 32 greedy ids are those of generate, bf16"),
        Metric("first_divergence_p50", "where the others part, median"),
        Metric("gap_at_divergence_max", "between the two best scores there, largest"),
        Metric("allocations", "on the device while first ids were measured", Bar(0)),
        Metric("lanes_within_60_ms", "1b: most lanes with a first id within 60 ms (95 %)"),
        Metric("lanes_turns", "1b: turns measured, by lanes"),
        Metric("lanes_first_p50_ms", "1b: end of an utterance to the first id, by lanes"),
        Metric("lanes_first_p95_ms", "the same, 95th percentile"),
        Metric("lanes_next_p99_ms", "from id to id, 99th percentile"),
        Metric("ablation_first_ms", "1b, 400 ids, the last 8 arrive: first id, one thing changed"),
        Metric("ablation_next_ms", "the same, next id"),
        Metric("narrow_next_ms", "next id with weights of eight bits"),
        Metric("round_trip_us", "one id to the GPU and one back, by way"),
        Metric("ready_cold_s", "1b: model made, engine ready; nothing compiled before"),
        Metric("ready_warm_s", "the same, everything compiled", Bar(20)),
        Metric("copy_tb_per_s", "a large copy on the device, bytes read and written"),
        Metric("duration_s", "of this benchmark", Bar(480)),
    ),
)

LLM_NARROW = Benchmark(
    "llm_narrow",
    "How far off are replies whose later ids come from weights of eight bits?",
    "prompts",
    (
        Metric("same_share", "replies with the ids of `generate`"),
        Metric("ids_before", "ids before a reply parts from that of `generate`, mean"),
        Metric("best_share", "positions of that reply where the best id is the same"),
        Metric("kl_mean_nats", "divergence of the chances from the exact ones, mean"),
        Metric("kl_p99_nats", "the same, 99th percentile"),
    ),
)


LLM_NEIGHBOUR = Benchmark(
    "llm_neighbour",
    "How does a recogniser on the same GPU delay the language model?",
    "answers",
    (
        Metric("encode_ms", "the neighbour's work, alone, median"),
        Metric("first_p50_ms", "8 ids arrive to the first id, by neighbour"),
        Metric("first_p95_ms", "the same, 95th percentile"),
        Metric("first_max_ms", "the same, longest"),
        Metric("next_p50_ms", "from id to id, likewise"),
        Metric("next_p99_ms", "the same, 99th percentile"),
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
        Metric("length_ratio_max", "the longest of a sentence; the bar above is for all"),
        Metric("wer_delta_points", "Whisper's word errors: streaming - sentences", Bar(2)),
        Metric("wer_percent", "word errors of whole sentences, and by words of lookahead"),
        Metric("seam_step_ratio", "largest step between pieces / inside whole sentences", Bar(1)),
        Metric("memory_growth_mib", "over nine tenths of the replies", Bar(4)),
        Metric(
            "lanes_first_sound_p50_ms",
            "likewise, of one of 4 lanes while the others listen to long replies (and of each "
            "number)",
        ),
        Metric("lanes_first_sound_p95_ms", "the same, 95th percentile"),
        Metric("lanes_real_time_factor", "processor time / sound of all lanes, one core, likewise"),
        Metric("lanes_late", "gaps that the voice reports (VOICE_LATE) in that time, likewise"),
    ),
)

DEVICE = Benchmark(
    "device",
    "A microphone and a loudspeaker through PortAudio: which words arrive, and how soon?",
    "questions",
    (
        Metric(
            "question_words_wrong_share",
            "words of the questions that were not understood",
            Bar(0.1),
        ),
        Metric(
            "answer_words_wrong_share",
            "words of the answers that another Whisper does not hear in their recording",
            Bar(0.1),
        ),
        Metric(
            "latency_p50_ms", "end of speech to first sound at -50 dBFS, both as recorded", Bar(600)
        ),
        Metric("latency_max_ms", "the longest", Bar(2000)),
        Metric("stamp_error_p50_ms", "first sound as recorded, later than the device's stamp"),
        Metric("unanswered", "questions with another outcome than answered", Bar(0)),
        Metric("xruns", "over- and underflows that the system told of"),
        Metric(
            "open_erle_db",
            "echo return loss enhancement, both devices in one room",
            Bar(15, upward=True),
        ),
        Metric("open_self_turns", "turns there that nobody but the echo began", Bar(0)),
        Metric("open_unanswered", "questions there with another outcome than answered", Bar(0)),
        Metric(
            "without_card_s",
            "until `voxring talk` says that there is no card, slowest of 3",
            Bar(2),
        ),
    ),
)

DEVICE_LONG = Benchmark(
    "device_long",
    "Ten minutes through PortAudio: what does it cost, what does it lose?",
    "questions",
    (
        Metric("listening_cpu_percent", "of one core, all programs, room tone", Bar(5)),
        Metric("memory_growth_mib", "of the second half of the time, files aside", Bar(4)),
        Metric("xruns", "over- and underflows that the system told of", Bar(0)),
        Metric("lost_samples", "of the microphone that found no room", Bar(0)),
        Metric("gaps", "inside answers", Bar(0)),
        Metric("corrections", "of drift above 20 ms"),
        Metric("questions", "in all"),
        Metric("unanswered", "of these, with another outcome than answered", Bar(0)),
    ),
)

DEVICE_ECHO = Benchmark(
    "device_echo",
    "Open speakers: does it interrupt itself, and can it be interrupted?",
    "rooms: level and delay of the echo",
    (
        Metric("self_interruptions", "answers cut by their own echo, in all rooms", Bar(0)),
        Metric("self_turns", "turns that nobody but the echo began", Bar(0)),
        Metric("self_holds", "answers that their echo made pause, and that went on"),
        Metric("echo_s", "seconds of answers in the microphone, all rooms"),
        Metric(
            "echo_least_share",
            "of the time that was to be heard, in the room with the least",
            Bar(1, upward=True),
        ),
        Metric("erle_db", "echo return loss enhancement, the lowest of all rooms"),
        Metric("barge_in_p50_ms", "a voice over an answer to the answer's last sample"),
        Metric("barge_in_max_ms", "the longest", Bar(400)),
        Metric("tries", "questions said over answers"),
        Metric("tries_too_late", "of these, after which the answer was not cut", Bar(0)),
        Metric("tries_gone_on", "the answer was held, and went on before it was cut", Bar(0)),
    ),
)


def _growth(name: str, what: str, bar: float) -> tuple[Metric, Metric]:
    """What must not grow in a soak, and how surely it does."""
    return (
        Metric(name, f"growth of {what}, over the run (and its 95 % interval)"),
        Metric(f"sure_{name}", "of that, what is sure: the interval's lower end", Bar(bar)),
    )


SOAK = Benchmark(
    "soak",
    "Does anything grow in a thousand conversations, beside half an hour of speech?",
    "conversations",
    (
        Metric("memory_p50_mib", "memory of all programs, files aside"),
        *_growth("memory_mib", "memory of all programs, files aside, MiB", 16),
        *_growth("late_memory_mib", "the same in the second half, MiB", 8),
        *_growth("descriptors", "open descriptors of all programs", 0.5),
        Metric("talk_latency_p50_ms", "first-audio latency of the conversations"),
        *_growth("talk_latency_ms", "first-audio latency of the conversations", 20),
        Metric("speech_latency_p50_ms", "soft end to the last id of a turn of the speech"),
        *_growth("speech_latency_ms", "soft end to the last id of a turn of the speech", 20),
        Metric("minutes", "that it took"),
        Metric("speech_turns", "turns in the speech without a pause"),
        Metric("unanswered", "conversations whose question was not answered", Bar(0)),
        Metric("failed", "turns that failed or timed out", Bar(0)),
        Metric("restarts", "of stages", Bar(0)),
        Metric("recoveries", "wake-ups that were missed and found by the safety timer", Bar(0)),
    ),
)

GATE = Benchmark(
    "gate",
    "Does a latency suite fail when a stage is slowed, and only then?",
    "unslowed runs",
    (
        Metric("passed_share", "unslowed runs that pass against their baseline", Bar(1, True)),
        Metric("runs", "unslowed runs, each on a fresh start of all programs"),
        Metric(
            "named_share",
            "slowed runs that fail and name a step of the stage that was slowed (and of each)",
            Bar(1, True),
        ),
    ),
)

ENDPOINT = Benchmark(
    "endpoint",
    "How many people can talk at once, and what do they cost?",
    "answers of the first part",
    (
        Metric(
            "connections",
            "that hold at once: latency within the bar, nothing lost; 240, the most tried: or more",
        ),
        Metric(
            "added_latency_p95_ms",
            "soft end to first sound, at the client, less the p95 of a bare echo server",
            Bar(30),
        ),
        Metric("latency_p50_ms", "soft end to first sound, at the client"),
        Metric("latency_p95_ms", "the same, 95th percentile"),
        Metric("echo_p50_ms", "a frame there and back, bare server, same frames"),
        Metric("echo_p95_ms", "the same, 95th percentile"),
        Metric("dropped", "gaps in sound, errors and refusals that clients saw", Bar(0)),
        Metric("unanswered", "turns with another outcome than answered", Bar(0)),
        Metric("memory_per_connection_kib", "PSS of all programs, less that with nobody there"),
        Metric("server_cpu_percent", "of one core, all programs of the server"),
        Metric("clients_cpu_percent", "of one core, the program that plays the people"),
        Metric("clients_behind_ms", "latest frame of the clients: how far they are to be trusted"),
        Metric("real_first_audio_p50_ms", "real models, by people who ask one after the other"),
        Metric("real_first_audio_p95_ms", "the same, 95th percentile"),
        Metric("real_right_share", "questions understood to the word"),
        Metric("real_answered_share", "turns that were answered"),
        Metric("real_underruns", "gaps inside answers"),
        Metric("real_knocked", "further people that wanted to come in while so many talked"),
        Metric("real_refused", "of these, refused"),
        Metric("crowd_inside", "people that are let in, of 16 that come one after the other"),
        Metric("crowd_refused", "of the 16, because the machine carries no more", Bar(1, True)),
        Metric("crowd_first_audio_p50_ms", "of those inside, once it is full"),
        Metric("crowd_first_audio_p95_ms", "the same, 95th percentile"),
        Metric("crowd_answered_share", "of their turns", Bar(1, True)),
        Metric("crowd_right_share", "of their turns, understood word for word"),
        Metric("crowd_underruns", "gaps inside answers", Bar(0)),
        Metric("sessions", "short conversations, one after the other and some at once"),
        Metric("sessions_reset", "of these, closed by RST in mid-turn"),
        Metric(
            "left_descriptors",
            "of the server's program, more than after the first tenth of the sessions",
            Bar(0),
        ),
        Metric("left_lanes", "places that did not come back, likewise", Bar(0)),
        Metric("left_threads", "of the server's program, likewise", Bar(0)),
        Metric("left_tasks", "of the server's program, likewise", Bar(0)),
        Metric("left_memory_mib", "PSS of all programs, likewise"),
        Metric("fuzz_messages", "random messages, by protocol"),
        Metric("fuzz_connections", "on so many connections"),
        Metric("fuzz_untold", "wrong messages without an error event or a close code", Bar(0)),
        Metric("fuzz_dead", "connections with neither an answer nor a close in 20 s", Bar(0)),
        Metric("fuzz_odd_closes", "closes with a code that is not documented", Bar(0)),
        Metric("fuzz_hurt", "turns of a neighbour that were not answered meanwhile", Bar(0)),
        Metric("kill_recovery_s", "kill -9 to the next answered turn of every client", Bar(10)),
        Metric("kill_untold", "clients that got no error for a turn that was lost", Bar(0)),
    ),
)

BENCHMARKS = (
    RING,
    OVERHEAD,
    IDLE,
    FIRST_AUDIO,
    TURNS,
    DEVICE,
    DEVICE_LONG,
    DEVICE_ECHO,
    ASR,
    ASR_LONG,
    ASR_SWEEP,
    END_OF_TURN,
    MURMURS,
    LLM,
    EXACT,
    LLM_LOAD,
    LLM_CUDA,
    LLM_NARROW,
    LLM_NEIGHBOUR,
    TTS,
    SOAK,
    GATE,
    ENDPOINT,
)
