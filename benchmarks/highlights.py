"""The few figures that stand in the README, and the lines of a replay, from committed results."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.command import figure
from benchmarks.result import Result

RECORDINGS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Highlight:
    """One line of the README's table.

    Attributes:
        result: name of the result's file.
        metrics: shown one after the other.
        form: how, with a place for each.
        count: the metric that says of how many; empty: the result's own n.
    """

    what: str
    result: str
    metrics: tuple[str, ...]
    form: str
    count: str = ""


HIGHLIGHTS = (
    Highlight(
        "first audio after the end of a spoken question, p50 / p95 / max",
        "turns",
        ("first_audio_p50_ms", "first_audio_p95_ms", "first_audio_max_ms"),
        "{} / {} / {} ms",
    ),
    Highlight(
        "the same if no answer is prepared before the turn is over",
        "turns",
        ("first_audio_off_p50_ms", "first_audio_off_max_ms"),
        "{} / - / {} ms",
        "turns_off",
    ),
    Highlight(
        "the user's voice over an answer to its last audible sample, p50 / p95",
        "turns",
        ("barge_in_p50_ms", "barge_in_p95_ms"),
        "{} / {} ms",
        "tries",
    ),
    Highlight(
        "interruptions after which the kept text is what was heard: tones exactly, voice to a word",
        "turns",
        ("heard_exact_share", "heard_within_one_word_share"),
        "{} / {}",
        "heard_tries",
    ),
    Highlight(
        "pauses inside sentences that were taken for their end: eager, default, patient",
        "turns",
        ("false_cut_share.eager", "false_cut_share.default", "false_cut_share.patient"),
        "{} / {} / {}",
        "pauses",
    ),
    Highlight(
        "the wait for the end of a turn, which that costs, p50 of questions and statements",
        "turns",
        (
            "release_delay_p50_ms.eager",
            "release_delay_p50_ms.default",
            "release_delay_p50_ms.patient",
        ),
        "{} / {} / {} ms",
        "ends",
    ),
    Highlight(
        "end of a spoken word to its ids in the language model's ring, p50 / p90",
        "asr",
        ("commit_lag_p50_ms", "commit_lag_p90_ms"),
        "{} / {} ms",
    ),
    Highlight(
        "first silent window to the whole transcript in that ring, p50 / p95",
        "asr",
        ("silence_to_final_p50_ms", "silence_to_final_p95_ms"),
        "{} / {} ms",
    ),
    Highlight(
        "one token between two sleeping programs, p50 (`multiprocessing.SimpleQueue`)",
        "ring",
        ("token_p50_us", "simplequeue_p50_us"),
        "{} µs ({})",
    ),
    Highlight(
        "language model, last word to first id: float32, 4 bits, `generate` with the whole prompt",
        "llm",
        ("first_ms.onnx-fp32", "first_ms.onnx-int4", "first_ms.stock"),
        "{} / {} / {} ms",
    ),
    Highlight("from start to ready, models in the cache", "idle", ("ready_s",), "{} s"),
    Highlight("memory of all programs together (PSS)", "idle", ("memory_mib",), "{} MiB"),
    Highlight(
        'processor while nobody is connected / one lane hears room tone (edge "file")',
        "idle",
        ("idle_cpu_percent", "listening_cpu_percent"),
        "{} / {} % of one core",
    ),
)


def highlights(results: Mapping[str, Result]) -> str:
    """The README's table, as Markdown; lines without a result are left out."""
    lines = ["| what | measured | n |", "|---|---|---|"]
    for line in HIGHLIGHTS:
        if (result := results.get(line.result)) is not None:
            values = (figure(result.metrics[name]) for name in line.metrics)
            count = figure(result.metrics[line.count]) if line.count else result.n
            lines.append(f"| {line.what} | {line.form.format(*values)} | {count} |")
    return "\n".join([*lines, "", hardware(results)])


def hardware(results: Mapping[str, Result]) -> str:
    """What the figures were taken on."""
    if (result := results.get("turns")) is None:
        return "No result is committed yet."
    machine, load = result.machine, result.load
    return (
        f"{machine['processor']}, {machine['cores']} cores, no GPU; default configuration; "
        f"load average {load['before'][0]} before and {load['after'][0]} after."
    )


def recording(name: str) -> str:
    """What a command printed, kept in results/NAME.txt."""
    text = (RECORDINGS / f"{name}.txt").read_text(encoding="utf-8")
    lines = "\n".join(line.rstrip() for line in text.rstrip().splitlines())
    return f"```text\n{lines}\n```"
