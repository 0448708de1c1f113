"""A replay as people and programs read it."""

import json
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipeline.config import usable_cores
from pipeline.output import write_text
from pipeline.packages import version_of
from pipeline.replay import Answer
from pipeline.terminal.words import clean
from pipeline.timeline import Timeline
from pipeline.version import VERSION
from pipeline.waterfall import Waterfall
from stages.outcome import BROKEN, EXPLANATIONS, Outcome

LABEL = 10  # characters before a text, its blanks included
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
    """Write `as_json` to a file; a file appears whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    text = json.dumps(as_json(answers), indent=2, ensure_ascii=False) + "\n"
    write_text(path, text, "--json")


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
        lines.append(labelled("note", question.truncated, "yellow"))
    lines += [labelled("error", fault, "red") for fault in answer.faults]
    if answer.turn:
        lines.append(labelled("heard", answer.turn.transcript or "(no words)"))
        lines.append(labelled("answer", answer.turn.reply or "(nothing)"))
        lines += _latency(answer, answer.turn.timeline)
    if answer.wav:
        lines.append(labelled("written", str(answer.wav), "dim"))
    return Group(*lines, Text())


def labelled(label: str, text: str, style: str = "") -> RenderableType:
    """A text that stands clear of its label, however many lines it takes."""
    grid = Table.grid()
    grid.add_column(width=LABEL)
    grid.add_column(overflow="fold")
    grid.add_row(Text(f"  {label}", "dim"), Text(clean(text), style))
    return grid


def render_summary(answers: Sequence[Answer]) -> RenderableType:
    """First-audio latency by clip and over all."""
    table = Table()
    table.add_column("clip", overflow="fold")
    for column in ("p50", "p95", "max", "n"):
        table.add_column(column, justify="right", no_wrap=True)
    clips = list(dict.fromkeys(answer.question.path for answer in answers))
    names = [clip.name for clip in clips]
    for clip in clips:
        name = clip.name if names.count(clip.name) == 1 else str(clip)
        _summary_row(table, name, [a for a in answers if a.question.path == clip])
    if len(clips) > 1:
        table.add_section()
        _summary_row(table, "all", answers)
    return Group(Text("first audio, ms after the end of speech", "italic"), table)


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    versions = {name: version for name in PACKAGES if (version := version_of(name))}
    return {
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": usable_cores(),
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
        "heard": turn.heard if turn else "",
        "first_audio_ms": None if first_audio is None else round(first_audio, 1),
        "phases": {k: round(v, 1) for k, v in timeline.phases.items()} if timeline else {},
        "speech_end_source": _source(answer),
        "ids_early": timeline.early[0] if timeline and timeline.early else None,
        "ids_heard": timeline.early[1] if timeline and timeline.early else None,
        "ids_dropped": list(timeline.dropped) if timeline else [],
        "cut_off": timeline.cut_off if timeline else False,
        "underruns_ms": [round(ns / 1e6, 1) for _, ns in timeline.underruns] if timeline else [],
        "voice_late_ms": timeline.voice_late_ms if timeline else [],
        "events_lost": timeline.lost if timeline else 0,
        "errors": list(answer.faults),
        "note": answer.question.truncated,
        "wav": str(answer.wav) if answer.wav else None,
    }


def _source(answer: Answer) -> str:
    """Who says where the speech ended."""
    if answer.turn and answer.turn.timeline.speech_end_source == "vad":
        return "vad"
    return answer.question.speech_end_source


def _outcome(outcome: Outcome) -> Text:
    style = "green" if outcome is Outcome.ANSWERED else "red" if outcome in BROKEN else "yellow"
    return Text.assemble((outcome.label, style), (f" ({EXPLANATIONS[outcome]})", "dim"))


def _latency(answer: Answer, timeline: Timeline) -> list[RenderableType]:
    rows: list[RenderableType] = []
    if timeline.phases:
        rows.append(Waterfall(timeline.phases, _source(answer)))
    if timeline.early:
        early, words = timeline.early
        rows.append(labelled("early", f"{early} of {words} ids came while they were spoken", "dim"))
    if timeline.dropped:
        times, ids = len(timeline.dropped), sum(timeline.dropped)
        vain = f"{times} answer{'s' * (times > 1)} prepared in vain, {ids} ids"
        rows.append(labelled("dropped", vain, "dim"))
    for at, length in timeline.underruns:
        gap = f"a gap of {length / 1e6:.0f} ms at {_after(at, timeline):.0f} ms"
        rows.append(labelled("note", gap, "yellow"))
    for at, length in timeline.voice_late or ():
        late = f"the voice was {length / 1e6:.0f} ms late at {_after(at, timeline):.0f} ms"
        rows.append(labelled("note", late, "yellow"))
    if timeline.cut_off:
        rows.append(labelled("note", "released before the user had finished", "yellow"))
    if "first_audio" in timeline.phases and timeline.first_audio_ms is None:
        rows.append(labelled("note", f"first audio does not count: {_why(timeline)}", "yellow"))
    if timeline.lost:
        rows.append(labelled("note", f"{timeline.lost} events were lost: times may lack", "yellow"))
    return rows


def _after(at: int, timeline: Timeline) -> float:
    """Ms after the end of speech."""
    return (at - (timeline.speech_end or at)) / 1e6


def _why(timeline: Timeline) -> str:
    """Why a first audio is no sample of latency."""
    return "too early" if timeline.cut_off else "a gap followed within a second"


def _summary_row(table: Table, name: str, answers: Sequence[Answer]) -> None:
    summary = summarize(latencies(answers))
    cells = [
        "-" if summary[key] is None else f"{summary[key]:.0f}" for key in ("p50", "p95", "max")
    ]
    table.add_row(Text(name), *cells, str(summary["n"]))


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()
