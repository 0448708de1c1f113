"""A run as JSON lines and as CSV, with the field's names for what is counted: pure."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from pipeline.lab.run import Run, Turn

COLUMNS = (
    "suite",
    "started",
    "turn",
    "clip",
    "repeat",
    "warm",
    "outcome",
    "end_to_end_latency_ms",
    "time_to_first_token_ms",
    "time_to_first_audio_ms",
    "end_of_utterance_delay_ms",
    "transcription_delay_ms",
    "llm_time_to_first_token_ms",
    "llm_first_words_ms",
    "tts_time_to_first_byte_ms",
    "time_per_output_token_ms",
    "output_tokens",
    "input_tokens",
    "input_tokens_early",
    "discarded_output_tokens",
    "interruption_latency_ms",
    "false_cut_offs",
    "word_errors",
    "words",
    "underruns",
    "transcript",
    "reply",
    "heard",
)
"""Names in the order of the CSV file; docs/lab.md explains each."""


def to_jsonl(run: Run) -> str:
    """One object a line, one line a turn."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(run))


def to_csv(run: Run) -> str:
    """A header, then one row a turn; empty where there is no value."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(run))
    return out.getvalue()


def rows(run: Run) -> Iterator[dict[str, Any]]:
    """Each turn by name of column. What was not reached, cancelled or cut off is None."""
    for turn in run.turns:
        row = {"suite": run.suite.name, "started": run.suite.started, **_row(turn)}
        yield {name: row[name] for name in COLUMNS}


def _row(turn: Turn) -> dict[str, Any]:
    phases = turn.phases
    counts = turn.first_audio_ms is not None
    answered = phases if counts else {}
    ids = turn.ids_out
    return {
        "turn": turn.name,
        "clip": turn.clip,
        "repeat": turn.repeat,
        "warm": turn.warm,
        "outcome": turn.outcome,
        "end_to_end_latency_ms": turn.first_audio_ms,
        "time_to_first_token_ms": answered.get("first_id"),
        "time_to_first_audio_ms": answered.get("first_sound"),
        "end_of_utterance_delay_ms": None if turn.cut_off else phases.get("release"),
        "transcription_delay_ms": answered.get("transcript"),
        "llm_time_to_first_token_ms": _between(answered, "transcript", "first_id"),
        "llm_first_words_ms": _between(answered, "first_id", "first_words"),
        "tts_time_to_first_byte_ms": _between(answered, "first_words", "first_sound"),
        "time_per_output_token_ms": _pace(answered, ids),
        "output_tokens": ids,
        "input_tokens": turn.ids_heard,
        "input_tokens_early": turn.ids_early,
        "discarded_output_tokens": sum(turn.ids_dropped),
        "interruption_latency_ms": turn.silent_ms,
        "false_cut_offs": turn.false_cut_offs,
        "word_errors": turn.word_errors,
        "words": turn.words,
        "underruns": len(turn.underruns_ms),
        "transcript": turn.transcript,
        "reply": turn.reply,
        "heard": turn.heard,
    }


def _between(phases: dict[str, float], start: str, stop: str) -> float | None:
    if start not in phases or stop not in phases:
        return None
    return max(0.0, round(phases[stop] - phases[start], 1))  # see `steps._in_order`


def _pace(phases: dict[str, float], ids: int | None) -> float | None:
    took = _between(phases, "first_id", "last_id")
    return None if took is None or ids is None or ids < 2 else round(took / (ids - 1), 2)
