"""A run in words: pure."""

from collections.abc import Iterator

from pipeline.lab.baseline import CONFIDENCE, FEWEST, LEAST_MS, RATIO
from pipeline.lab.run import Check, Comparison, Run
from pipeline.lab.steps import NAMES, STAGES

METRIC_NAMES = {
    "first_audio_ms": "first audio",
    "silent_ms": "silence after an interruption",
    "counted": "share of first audios that count",
}


def failures(run: Run) -> Iterator[str]:
    """Why a run has not passed, one line each."""
    if run.interrupted:
        yield f"the run is not complete: {run.interrupted}"
    for check in run.checks:
        if not check.passed:
            yield check_text(check)
    for each in run.comparisons:
        if each.regression:
            yield comparison_text(each)


def check_text(check: Check) -> str:
    """An expectation and what was seen."""
    state = "" if check.warm else " (cold)"
    return f"{check.key}{state}: {check.kind}: {check.text}"


def comparison_text(each: Comparison) -> str:
    """How a turn compares with the baseline."""
    name = f"{each.key or 'all turns'}: {METRIC_NAMES.get(each.metric, each.metric)}"
    if each.metric == "counted":
        who = f", for want of {each.phase} ({STAGES[each.phase]})" if each.phase else ""
        return f"{name} is {each.ratio:.2f} times the baseline's{who}"
    if each.ratio is None or each.lower is None or each.delta_ms is None:
        return f"{name}: {each.pairs} pairs with the baseline, {FEWEST} are needed for a verdict"
    share = f"{each.ratio:.2f} times the baseline ({each.delta_ms:+.0f} ms, {each.pairs} pairs)"
    if not each.regression:
        return f"{name} is {share}"
    sure = f"surely above {each.lower:.2f} times ({100 * CONFIDENCE:g} % sure)"
    limit = f"a regression is above {RATIO:g} and at least {LEAST_MS:g} ms"
    return f"{name} is {share}, {sure}; {limit}{_grown(each)}"


def unjudged(run: Run) -> str:
    """That there were too few pairs for a verdict; "" where there were enough of them."""
    few = sum(each.ratio is None for each in run.comparisons)
    if not few:
        return ""
    of = f"{few} of {len(run.comparisons)} comparisons with the baseline have no verdict"
    return f"{of}: {FEWEST} pairs are needed, so play both with --repeat {FEWEST} or more"


def _grown(each: Comparison) -> str:
    if not each.phase or each.phase_delta_ms is None:
        return ""
    who = f"{STAGES[each.phase]}: {NAMES[each.phase]}"
    return f"; most of it is {each.phase} ({who}), {each.phase_delta_ms:+.0f} ms"
