"""The page: a run put into the template."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from pipeline.lab.report.distribution import paths, spread
from pipeline.lab.report.scale import percentile, scale_of
from pipeline.lab.report.waterfall import CloseUp, Overview, close_up, overview
from pipeline.lab.report.waves import curve
from pipeline.lab.run import Conversation, Run, Turn, samples
from pipeline.lab.steps import STAGES
from pipeline.lab.tell import METRIC_NAMES, failures, unjudged
from pipeline.lab.words import rate
from stages.topology import STAGES as PROGRAMS

NONE = "\N{EN DASH}"
OPENED = 3  # of them, when the page is opened
PICTURES = 24  # conversations that are drawn; the rest is in the figures
CLOSE_UPS = 48  # turns of these
PROGRAM_ORDER = (*PROGRAMS, "voxring")


@dataclass(frozen=True)
class Scene:
    """A conversation with its pictures."""

    conversation: Conversation
    index: int
    turns: list[tuple[Turn, CloseUp | None]]
    overview: Overview | None
    bad: bool
    opened: bool


def render(run: Run) -> str:
    """One HTML file.

    Args:
        run: of a suite, or of clips that were played alone.
    """
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["ms"] = lambda value: NONE if value is None else f"{value:,.0f}"
    template = environment.from_string(_read("page.html"))
    ways, ticks = paths(run)
    scenes = choose(run)
    return template.render(
        run=run,
        style=Markup(_read("style.css")),
        failures=list(failures(run)),
        unjudged=unjudged(run),
        tiles=tiles(run),
        spread=spread(run),
        paths=ways,
        path_ticks=ticks,
        scenes=scenes,
        left_out=len(run.conversations) - len(scenes) if run.conversations else 0,
        ledger=ledger(run),
        charts=charts(run),
        stages=list(dict.fromkeys(STAGES.values())),
        metric_names=METRIC_NAMES,
    )


def tiles(run: Run) -> list[tuple[str, str, str]]:
    """What one wants to know first: (what, figure, unit or note)."""
    warm = [turn for turn in run.turns if turn.warm]
    heard = samples(warm)
    found = []
    for percent in (50, 95, 99):
        figure = f"{percentile(heard, percent):,.0f}" if heard else NONE
        found.append((f"first audio p{percent}", figure, f"ms · {len(heard)} warm"))
    if cold := samples(turn for turn in run.turns if not turn.warm):
        found.append(("first audio, cold", f"{max(cold):,.0f}", f"ms · slowest of {len(cold)}"))
    if silent := samples(warm, "silent_ms"):
        note = f"ms p50 · {len(silent)} interruptions"
        found.append(("silent after", f"{percentile(silent, 50):,.0f}", note))
    wer = rate((t.word_errors or 0, t.words) for t in run.turns if t.words is not None)
    if wer is not None:
        words = sum(t.words or 0 for t in run.turns)
        found.append(("word error rate", f"{100 * wer:.1f}", f"% of {words} words"))
    cuts = sum(max(t.false_cut_offs, int(t.cut_off)) for t in run.turns)
    found.append(("false cut-offs", str(cuts), f"in {len(run.turns)} clips"))
    early = [(t.ids_early or 0, t.ids_heard) for t in run.turns if t.ids_heard]
    if early:
        share = sum(e for e, _ in early) / sum(h for _, h in early)
        found.append(("words read early", f"{100 * share:.0f}", "% of ids, while spoken"))
    return found


def choose(run: Run) -> list[Scene]:
    """Conversations that are worth a picture: the first of each, bad ones, then the slowest.

    Open are those in which something went wrong, else the slowest of what was missed.
    """
    by_index: dict[int, list[Turn]] = {}
    for turn in run.turns:
        by_index.setdefault(turn.conversation, []).append(turn)
    if not run.conversations:  # clips that were played alone
        return [_alone(turn, number) for number, turn in enumerate(run.turns[:PICTURES])]
    warm = [n for n in sorted(by_index) if run.conversations[n].warm]
    firsts = list({run.conversations[n].name: n for n in reversed(warm)}.values())
    bad = [n for n in sorted(by_index) if run.conversations[n].strays or _is_bad(by_index[n])]
    missed = {check.key for check in run.checks if not check.passed}
    slowest = sorted(by_index, key=lambda n: -_slowest(by_index[n], missed))
    kept = sorted(_as_many(dict.fromkeys([*firsts, *bad, *slowest]), by_index))
    late = [n for n in slowest if missed & {turn.name for turn in by_index[n]}]
    opened = bad[:OPENED] or late[:OPENED] or firsts[:OPENED]
    return [_scene(run, n, by_index[n], opened=n in opened) for n in kept]


def _as_many(order: Iterable[int], by_index: Mapping[int, Sequence[Turn]]) -> list[int]:
    """Those that come first, as many as a page can hold."""
    kept: list[int] = []
    drawn = 0
    for number in order:
        drawn += len(by_index[number])
        if kept and (len(kept) == PICTURES or drawn > CLOSE_UPS):
            break
        kept.append(number)
    return kept


def ledger(run: Run) -> list[dict[str, Any]]:
    """What was done before it was known to be needed, and what of it was in vain."""
    rows = []
    for key in run.keys:
        turns = [turn for turn in run.of(key) if turn.ids_heard is not None]
        if not turns:  # or an endpoint, which does not tell
            continue
        vain = [ids for turn in turns for ids in turn.ids_dropped]
        rows.append(
            {
                "name": key,
                "turns": len(turns),
                "early": sum(t.ids_early or 0 for t in turns),
                "heard": sum(t.ids_heard or 0 for t in turns),
                "out": sum(t.ids_out or 0 for t in turns),
                "vain": len(vain),
                "vain_ids": sum(vain),
                "resumes": sum(t.resumes for t in turns),
                "ahead": _ahead(turns),
            }
        )
    return rows


def charts(run: Run) -> list[dict[str, Any]]:
    """CPU and memory of each program over the run, on common axes."""
    usage = run.usage
    if len(usage.at_s) < 2:
        return []
    last = usage.at_s[-1]
    cpu_top = scale_of(_known(usage.cpu_percent.values()), most=3).high
    memory_top = scale_of(_known(usage.memory_mib.values()), most=3).high
    names = [name for name in PROGRAM_ORDER if name in usage.cpu_percent]
    names += [name for name in usage.cpu_percent if name not in names]
    return [
        {
            "name": name,
            "cpu": curve(usage.at_s, usage.cpu_percent[name], last, cpu_top),
            "memory": curve(usage.at_s, usage.memory_mib.get(name, []), last, memory_top),
            "cpu_top": cpu_top,
            "memory_top": memory_top,
            "cpu_mean": _mean(usage.cpu_percent[name]),
            "cpu_max": max(_known([usage.cpu_percent[name]]), default=0.0),
            "memory_last": next(
                (v for v in reversed(usage.memory_mib.get(name, [])) if v is not None), None
            ),
            "seconds": last,
        }
        for name in names
    ]


def _alone(turn: Turn, number: int) -> Scene:
    """A clip that was played without a suite: there is no picture of its sound."""
    talk = Conversation(name=turn.name, repeat=turn.repeat, warm=turn.warm)
    bad = _is_bad([turn])
    return Scene(talk, number, [(turn, close_up(turn))], None, bad, opened=bad or number == 0)


def _scene(run: Run, index: int, turns: list[Turn], *, opened: bool) -> Scene:
    conversation = run.conversations[index]
    return Scene(
        conversation,
        index,
        [(turn, close_up(turn)) for turn in turns],
        overview(conversation, turns),
        _is_bad(turns),
        opened,
    )


def _is_bad(turns: Sequence[Turn]) -> bool:
    return any(
        turn.errors
        or turn.cut_off
        or turn.false_cut_offs
        or turn.is_broken
        or ("first_audio" in turn.phases and turn.first_audio_ms is None)
        for turn in turns
    )


def _slowest(turns: Sequence[Turn], missed: Collection[str]) -> float:
    """The latest first audio; an answer that is missing, and was expected, is later than any."""

    def late(turn: Turn) -> float:
        if turn.first_audio_ms is None:
            return math.inf if turn.name in missed else 0.0
        return turn.first_audio_ms

    return max(map(late, turns), default=0.0)


def _ahead(turns: Sequence[Turn]) -> float | None:
    """By how much the sound was ready before the turn was over, median ms."""
    leads = [
        t.phases["release"] - t.phases["first_sound"]
        for t in turns
        if {"release", "first_sound"} <= t.phases.keys()
    ]
    return percentile(leads, 50) if leads else None


def _known(columns: Any) -> list[float]:
    return [value for column in columns for value in column if value is not None]


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0


def _read(name: str) -> str:
    return resources.files("pipeline.lab.report").joinpath(name).read_text(encoding="utf-8")
