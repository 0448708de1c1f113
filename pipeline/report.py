"""A replay as people and programs read it."""

import json
import platform
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipeline.errors import OutputError
from pipeline.replay import Answer
from pipeline.timeline import Timeline
from pipeline.version import VERSION
from stages.outcome import EXPLANATIONS, Outcome

BAR = 32  # characters
EXPLAINED = {
    "silence": "first silent window noticed",
    "soft_end": "pause worth an answer: work begins, unheard",
    "decode_start": "final decode of the speech begins",
    "transcript": "words are on the ring as token ids",
    "prefill": "they are in the language model's cache",
    "first_id": "first token id of the answer",
    "first_sound": "first sound is ready",
    "last_id": "last token id of the answer",
    "release": "the turn is over: the answer may be heard",
    "first_audio": "FIRST AUDIO at -50 dBFS or more",
    "play_end": "last sample of the answer",
}
PACKAGES = ("torch", "transformers", "ctranslate2", "onnxruntime", "piper-tts", "numpy")


def summarize(values: Iterable[float]) -> dict[str, float | int | None]:
    """p50, p95, max and n of a sample; None where it is empty."""
    sample = list(values)
    if not sample:
        return {"p50": None, "p95": None, "max": None, "n": 0}
    return {
        "p50": round(float(np.percentile(sample, 50)), 1),
        "p95": round(float(np.percentile(sample, 95)), 1),
        "max": round(max(sample), 1),
        "n": len(sample),
    }


def as_json(answers: Sequence[Answer]) -> dict[str, Any]:
    """A replay by the schema in docs/replay.md."""
    return {
        "voxring": VERSION,
        "machine": machine(),
        "turns": [_turn_json(answer) for answer in answers],
        "summary": {"first_audio_ms": summarize(latencies(answers))},
    }


def write_json(path: Path, answers: Sequence[Answer]) -> None:
    """Write `as_json` to a file.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        path.write_text(json.dumps(as_json(answers), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: {error.strerror}", "Choose another --json"
        ) from error


def latencies(answers: Iterable[Answer]) -> list[float]:
    """First-audio latency of every turn that has one, ms."""
    turns = [answer.turn.timeline.first_audio_ms for answer in answers if answer.turn]
    return [ms for ms in turns if ms is not None]


def render_turn(answer: Answer) -> RenderableType:
    """One turn: what was said, what was answered, where the milliseconds went."""
    question = answer.question
    head = Text.assemble((question.path.name, "bold"), " · ", _outcome(answer.outcome))
    lines: list[RenderableType] = [head]
    if question.truncated:
        lines.append(Text(f"  note     {question.truncated}", "yellow"))
    lines += [Text(f"  error    {fault}", "red") for fault in answer.faults]
    if answer.turn:
        lines.append(Text(f"  heard    {answer.turn.transcript or '(no words)'}"))
        lines.append(Text(f"  answer   {answer.turn.reply or '(nothing)'}"))
        lines += _latency(answer, answer.turn.timeline)
    if answer.wav:
        lines.append(Text(f"  written  {answer.wav}", "dim"))
    return Group(*lines, Text())


def render_summary(answers: Sequence[Answer]) -> RenderableType:
    """First-audio latency by clip and over all."""
    table = Table(title="first audio, ms after the end of speech", title_justify="left")
    for column in ("clip", "p50", "p95", "max", "n"):
        table.add_column(column, justify="left" if column == "clip" else "right")
    names = list(dict.fromkeys(answer.question.path.name for answer in answers))
    for name in names:
        _summary_row(table, name, [a for a in answers if a.question.path.name == name])
    if len(names) > 1:
        table.add_section()
        _summary_row(table, "all", answers)
    return table


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    import os

    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": versions,
    }


def print_turn(console: Console, answer: Answer) -> None:
    """Show one turn."""
    console.print(render_turn(answer))


def _turn_json(answer: Answer) -> dict[str, Any]:
    turn = answer.turn
    timeline = turn.timeline if turn else None
    first_audio = timeline.first_audio_ms if timeline else None
    return {
        "clip": answer.question.path.name,
        "repeat": answer.repeat,
        "outcome": answer.outcome.label,
        "transcript": turn.transcript if turn else "",
        "reply": turn.reply if turn else "",
        "first_audio_ms": None if first_audio is None else round(first_audio, 1),
        "phases": {k: round(v, 1) for k, v in timeline.phases.items()} if timeline else {},
        "speech_end_source": _source(answer),
        "cut_off": timeline.cut_off if timeline else False,
        "underruns_ms": [round(ns / 1e6, 1) for _, ns in timeline.underruns] if timeline else [],
        "events_lost": timeline.lost if timeline else 0,
        "errors": list(answer.faults),
        "wav": str(answer.wav) if answer.wav else None,
    }


def _source(answer: Answer) -> str:
    """Who says where the speech ended."""
    if answer.turn and answer.turn.timeline.speech_end_source == "vad":
        return "vad"
    return answer.question.speech_end_source


def _outcome(outcome: Outcome) -> Text:
    style = "green" if outcome is Outcome.ANSWERED else "yellow"
    return Text.assemble((outcome.label, style), (f" ({EXPLANATIONS[outcome]})", "dim"))


def _latency(answer: Answer, timeline: Timeline) -> list[RenderableType]:
    rows: list[RenderableType] = []
    if timeline.phases:
        rows.append(_waterfall(timeline.phases, _source(answer)))
    if timeline.cut_off:
        rows.append(Text("  the answer was released before the end of speech", "yellow"))
    for at, length in timeline.underruns:
        after = (at - (timeline.speech_end or at)) / 1e6
        rows.append(Text(f"  gap of {length / 1e6:.0f} ms at {after:.0f} ms", "yellow"))
    return rows


def _waterfall(phases: dict[str, float], source: str) -> Table:
    """Each milestone at its time, as a bar from the one before it."""
    table = Table(box=None, padding=(0, 1), show_edge=False, pad_edge=False)
    table.add_column("  phase")
    table.add_column("at ms", justify="right")
    table.add_column("took ms", justify="right")
    table.add_column("", min_width=BAR)
    table.add_column("", style="dim")
    table.add_row("  speech_end", "0", "", "", f"the user's last sound (by {source})")
    shown = {name: at for name, at in phases.items() if name not in ("last_id", "play_end")}
    scale = BAR / max(max(shown.values(), default=1.0), 1.0)
    before = 0.0
    for name, at in phases.items():
        bar = Text()
        if name in shown:
            start, stop = round(max(0.0, before) * scale), round(max(0.0, at) * scale)
            bar = Text(" " * start + "█" * max(1, stop - start), "cyan")
        style = "bold" if name == "first_audio" else ""
        table.add_row(
            f"  {name}", f"{at:.0f}", f"{at - before:.0f}", bar, EXPLAINED[name], style=style
        )
        before = at
    return table


def _summary_row(table: Table, name: str, answers: Sequence[Answer]) -> None:
    summary = summarize(latencies(answers))
    cells = [
        "-" if summary[key] is None else f"{summary[key]:.0f}" for key in ("p50", "p95", "max")
    ]
    table.add_row(name, *cells, str(summary["n"]))


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()
