"""A run against an earlier one, by paired statistics: pure.

A repeat of a turn is paired with the same repeat of the same turn in the earlier run. The figure is
the ratio of the pair, and their geometric mean, in which what lies far from the median is pulled
in: one hiccup of the machine neither makes a regression nor hides one. How sure that is tells a
bootstrap over the pairs, within each turn.
Sources: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13 (percentiles);
Hampel, "The influence curve and its role in robust estimation", 1974 (median and its deviation).
"""

from collections.abc import Mapping, Sequence
from math import comb
from statistics import median

import numpy as np
from numpy.typing import NDArray

from pipeline.lab.run import Comparison, Run, Turn
from pipeline.lab.verdict import blame_gaps, step_medians

RATIO = 1.10  # what a regression surely exceeds
LEAST_MS = 10.0  # and it is at least so much
CONFIDENCE = 0.999  # one-sided
FEWEST = 10  # pairs on which anything is said: with fewer, noise of 10 % is called one in 500 times
FAR = 3.0  # deviations from the median, beyond which a pair counts as if it were there
DEVIATION = 1.4826  # of a normal distribution, from the median of the distances to its median
LEAST_DEVIATION = 0.02  # of a logarithm: pairs that agree by chance do not make the others outliers
RESAMPLES = 20_000
SEED = 20_011  # the same pairs give the same verdict
METRICS = ("first_audio_ms", "silent_ms")
Pairs = Sequence[tuple[float, float]]


def compare(before: Run, after: Run) -> list[Comparison]:
    """Each turn that either run has, warm repeats only, and then those with enough pairs together.

    Where there is nothing to compare with, there is a comparison of no pairs, so that it is told.
    """
    found: list[Comparison] = []
    lost = {key: each for key in after.keys if (each := _lost(key, before, after))}
    for metric in METRICS:
        keys = [key for key in _keys(before, after) if _has(key, metric, before, after)]
        by_key = {key: pair(before.of(key), after.of(key), metric) for key in keys}
        by_key = {key: pairs for key, pairs in by_key.items() if pairs or key not in lost}
        found += [
            _compare(key, metric, {key: pairs}, before.of(key, warm=True), after.of(key, warm=True))
            for key, pairs in by_key.items()
        ]
        # Of fewer a bootstrap within each turn does not know how much they vary.
        enough = {key: pairs for key, pairs in by_key.items() if len(pairs) >= FEWEST}
        if len(enough) > 1:
            mine = [
                [t for t in run.turns if t.warm and t.name in enough] for run in (before, after)
            ]
            found.append(_compare("", metric, enough, *mine))
    found += lost.values()
    return found or [Comparison(key="", metric=METRICS[0], pairs=0)]


def fewer_by_chance(then: tuple[int, int], now: tuple[int, int]) -> float:
    """How likely as few successes as now, or fewer, would be if nothing had changed.

    Fisher's exact test, one-sided ("The Design of Experiments", 1935).

    Args:
        then: successes, of how many.
        now: the same.
    """
    good, drawn, every = then[0] + now[0], now[1], then[1] + now[1]
    ways = range(max(0, drawn - (every - good)), min(now[0], drawn) + 1)
    return sum(comb(good, k) * comb(every - good, drawn - k) for k in ways) / comb(every, drawn)


def pair(before: Sequence[Turn], after: Sequence[Turn], metric: str) -> list[tuple[float, float]]:
    """Values of the repeats that have one in both runs, and warm ones only."""
    earlier, later = (
        {t.repeat: value for t in turns if t.warm and (value := getattr(t, metric)) is not None}
        for turns in (before, after)
    )
    both = sorted(earlier.keys() & later.keys())
    return [(earlier[n], later[n]) for n in both if earlier[n] > 0 and later[n] > 0]


def bounds(groups: Sequence[Pairs]) -> tuple[float, float, float]:
    """The ratio, and its one-sided bounds below and above.

    Args:
        groups: pairs (then, now), above zero; each group is resampled within itself.
    """
    logs = [pulled_in(np.log([now / then for then, now in pairs])) for pairs in groups]
    random = np.random.default_rng(SEED)
    drawn = [values[random.integers(0, len(values), (RESAMPLES, len(values)))] for values in logs]
    centres = np.concatenate(drawn, axis=1).mean(axis=1)
    low, high = np.quantile(centres, [1 - CONFIDENCE, CONFIDENCE])
    return float(np.exp(np.concatenate(logs).mean())), float(np.exp(low)), float(np.exp(high))


def pulled_in(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64 [n], none of them further from the median than FAR deviations."""
    centre = np.median(values)
    deviation = DEVIATION * float(np.median(np.abs(values - centre)))
    reach = FAR * max(deviation, LEAST_DEVIATION)
    return values.clip(centre - reach, centre + reach)


def is_regression(lower: float, delta_ms: float) -> bool:
    """Surely slower by more than a tenth, and by an amount that somebody could notice."""
    return lower > RATIO and delta_ms >= LEAST_MS


def another_machine(before: Run, after: Run) -> str:
    """What differs between the machines of two runs; "" if nothing that is known does."""
    names = ("processor", "cores")
    differs = [
        f"{name} {before.machine.get(name)} then, {after.machine.get(name)} now"
        for name in names
        if before.machine.get(name) != after.machine.get(name)
    ]
    return "; ".join(differs)


def _keys(before: Run, after: Run) -> list[str]:
    return list(dict.fromkeys([*after.keys, *before.keys]))


def _has(key: str, metric: str, *runs: Run) -> bool:
    """Whether a warm repeat of a turn has such a value in any of the runs."""
    turns = (turn for run in runs for turn in run.of(key, warm=True))
    return any(getattr(turn, metric) is not None for turn in turns)


def _compare(
    key: str,
    metric: str,
    groups: Mapping[str, Pairs],
    before: Sequence[Turn],
    after: Sequence[Turn],
) -> Comparison:
    pairs = [each for group in groups.values() for each in group]
    told = Comparison(key=key, metric=metric, pairs=len(pairs))
    if len(pairs) < FEWEST:
        return told
    ratio, lower, upper = bounds(list(groups.values()))
    delta = median(now - then for then, now in pairs)
    phase, grown = _grown(before, after) if metric == "first_audio_ms" else ("", None)
    return told.model_copy(
        update={
            "ratio": round(ratio, 4),
            "lower": round(lower, 4),
            "upper": round(upper, 4),
            "delta_ms": round(delta, 1),
            "regression": is_regression(lower, delta),
            "phase": phase,
            "phase_delta_ms": grown,
        }
    )


def _lost(key: str, before: Run, after: Run) -> Comparison | None:
    """Turns whose first audio no longer counts are in no pair, and worse than slower ones.

    None: there are not more of them than chance may bring.
    """
    turns = after.of(key, warm=True)
    then, now = _counted(before.of(key, warm=True)), _counted(turns)
    if not then[0] or not now[1] or fewer_by_chance(then, now) > 1 - CONFIDENCE:
        return None
    return Comparison(
        key=key,
        metric="counted",
        pairs=now[1],
        ratio=round(now[0] / now[1] / (then[0] / then[1]), 4),
        regression=True,
        phase=blame_gaps(turn for turn in turns if turn.first_audio_ms is None),
    )


def _counted(turns: Sequence[Turn]) -> tuple[int, int]:
    return sum(turn.first_audio_ms is not None for turn in turns), len(turns)


def _grown(before: Sequence[Turn], after: Sequence[Turn]) -> tuple[str, float | None]:
    """The step that has grown most, and by how much."""
    then, now = step_medians(before), step_medians(after)
    grown = {name: now.get(name, 0.0) - then.get(name, 0.0) for name in {**then, **now}}
    if not grown:
        return "", None
    name = max(grown, key=lambda each: grown[each])
    return name, round(grown[name], 1)
