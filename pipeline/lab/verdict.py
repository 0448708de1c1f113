"""What a suite expected, and what it got: pure."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from statistics import median

from pipeline.lab.run import Check, Run, Turn, samples
from pipeline.lab.steps import STAGES, describe, longest
from pipeline.lab.suite import ANY, Conversation, Saying, Suite
from pipeline.lab.words import has, rate

INTERRUPTED, ANSWERED = "interrupted", "answered"
Why = Callable[[Sequence[Turn]], str]


def judge(suite: Suite, run: Run, baseline: Run | None = None) -> list[Check]:
    """Every expectation, in the order of the suite.

    Args:
        baseline: an earlier run, to tell which step has grown.
    """
    checks: list[Check] = []
    for conversation in suite.conversations:
        says = zip(conversation.keys, conversation.turn, strict=True)
        for number, (key, say) in enumerate(says):
            outcome = expected_outcome(conversation, number)
            before = baseline.of(key, warm=True) if baseline else []
            for warm in (False, True):
                if turns := run.of(key, warm=warm):
                    checks += _Judge(say, key, turns, before, suite.percentile, warm).of(outcome)
    return checks


def expected_outcome(conversation: Conversation, number: int) -> str:
    """How a turn ends if the suite does not tell; "": it begins none."""
    say = conversation.turn[number]
    if say.goes_on:
        return ""
    if say.outcome:
        return say.outcome
    for after in conversation.turn[number + 1 :]:
        if not after.goes_on:
            return ANSWERED if after.over_answer_ms is None else INTERRUPTED
    return ANSWERED


def nearest_rank(values: Iterable[float], percent: float) -> float:
    """The smallest value that so many percent of all are not above; inf of nothing."""
    ordered = sorted(values)
    if not ordered:
        return math.inf
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def blame(late: Sequence[Turn], before: Sequence[Turn]) -> tuple[str, str]:
    """The milestone whose step took the time of turns that were late, and how to say so.

    With an earlier run it is the step that has grown most, else the longest.
    """
    took, usual = step_medians(late), step_medians(before)
    if not took:
        return "", ""
    if usual:
        grown = {name: ms - usual.get(name, 0.0) for name, ms in took.items()}
        name = max(grown, key=lambda each: grown[each])
        return name, f"{describe(name, took[name])}, {grown[name]:.0f} ms more than in the baseline"
    names = [step.name for turn in late if (step := longest(turn.steps))]
    name = max(names, key=lambda each: (names.count(each), took[each]))
    return name, f"{describe(name, took[name])} of it"


def blame_gaps(turns: Iterable[Turn]) -> str:
    """The milestone of the stage that left gaps in answers; "" where nobody knows, or none were."""
    late = [is_late for turn in turns if (is_late := _is_voice_late(turn)) is not None]
    return "" if not late else "first_sound" if 2 * sum(late) >= len(late) else "first_words"


def _is_voice_late(turn: Turn) -> bool | None:
    """For most of its gaps the voice had known what to say; else words were missing.

    None: it has none that count, or an endpoint does not tell.
    """
    if turn.cut_off or not turn.underruns_ms or turn.voice_late_ms is None:
        return None
    return 2 * sum(turn.voice_late_ms) >= sum(turn.underruns_ms)


def step_medians(turns: Sequence[Turn]) -> dict[str, float]:
    """What each step took, ms: the median of the turns, a step that nothing waited for being 0."""
    paths = [{step.name: step.took_ms for step in turn.steps} for turn in turns]
    paths = [path for path in paths if path]
    names = [name for name in STAGES if any(name in path for path in paths)]
    return {name: median(path.get(name, 0.0) for path in paths) for name in names}


class _Judge:
    """Of the warm or the cold repeats of one turn.

    Args:
        turns: at least one.
        before: of an earlier run.
        percent: which of the repeats a bound in ms is held against.
    """

    def __init__(
        self,
        say: Saying,
        key: str,
        turns: Sequence[Turn],
        before: Sequence[Turn],
        percent: float,
        warm: bool,
    ) -> None:
        self.say, self.key, self.turns, self.before = say, key, turns, before
        self.percent, self.warm = percent, warm

    def of(self, outcome: str) -> Iterator[Check]:
        """Every check; `outcome` is how the turn is to end, "" if it is none."""
        yield self._each("errors", lambda turn: not turn.errors, lambda missed: missed[0].errors[0])
        if outcome:
            yield self._each("outcome", partial(_ends, outcome), _outcomes(outcome))
            yield from self._reply()
            yield from self._time()
            if self.say.max_wer is not None:
                yield self._wer(self.say.max_wer)
        yield from self._interruption()

    def _reply(self) -> Iterator[Check]:
        for wanted in self.say.expect:
            yield self._each("expect", partial(_has, wanted), _reply(f'"{wanted}" is not in'))
        for unwanted in self.say.forbid:
            yield self._each("forbid", partial(_lacks, unwanted), _reply(f'"{unwanted}" is in'))
        if self.say.match:
            found = re.compile(self.say.match)
            yield self._each(
                "match",
                lambda turn: found.search(turn.reply) is not None,
                _reply(f"{self.say.match!r} is not in"),
            )

    def _time(self) -> Iterator[Check]:
        """A turn without a first audio that counts is one that did not come in time."""
        bound = self.say.within_ms if self.warm else self.say.cold_within_ms
        if bound is None:
            return
        kind = "within_ms" if self.warm else "cold_within_ms"
        unheard = [turn for turn in self.turns if turn.first_audio_ms is None]
        if unheard:
            why = ", ".join(sorted({_why_unheard(turn) for turn in unheard}))
            text = f"first audio does not count in {len(unheard)} of {len(self.turns)}: {why}"
            yield self._check(kind, False, text, blame_gaps(unheard))
            return
        passed, text = self._percentile("first audio", samples(self.turns), bound)
        late = [turn for turn in self.turns if (turn.first_audio_ms or 0.0) > bound]
        phase, took = ("", "") if passed else blame(late, self.before)
        yield self._check(kind, passed, f"{text}; {took}" if took else text, phase)

    def _interruption(self) -> Iterator[Check]:
        if self.say.over_answer_ms is None:
            return
        yield self._each(
            "over_answer_ms",
            lambda turn: turn.over_answer_ms is not None,
            lambda missed: "it came behind the end of the answer that it was to come over",
        )
        if self.say.goes_on:
            yield self._each(
                "goes_on",
                lambda turn: bool(turn.goes_on),
                lambda missed: "the answer did not go on, or something was answered",
            )
        if self.say.silent_within_ms is not None and self.warm:
            yield self._silent(self.say.silent_within_ms)

    def _silent(self, bound: float) -> Check:
        """Answers that were silent when the voice came kept nobody waiting."""
        spoken_on = sum(not turn.interrupted for turn in self.turns)
        if spoken_on:
            text = f"the answer was not interrupted in {spoken_on} of {len(self.turns)}"
            return self._check("silent_within_ms", False, text)
        values = samples(self.turns, "silent_ms")
        if not values:
            return self._check("silent_within_ms", True, "the answer was silent already")
        passed, text = self._percentile("silent after the voice", values, bound)
        return self._check("silent_within_ms", passed, text)

    def _wer(self, bound: float) -> Check:
        counts = [(t.word_errors or 0, t.words) for t in self.turns if t.words is not None]
        seen, wrong = rate(counts), sum(wrong for wrong, _ in counts)
        if not counts:
            text = "nobody tells what is said in the clip: give it a text"
            return self._check("max_wer", False, text)
        if seen is None:  # nothing is said, so that every word is an invented one
            return self._check("max_wer", wrong == 0, f"{wrong} words were heard in a clip of none")
        word = "within" if seen <= bound else "expected at most"
        text = f"word error rate {seen:.3f}, {word} {bound:g}"
        return self._check("max_wer", seen <= bound, text)

    def _percentile(self, what: str, values: Sequence[float], bound: float) -> tuple[bool, str]:
        seen = nearest_rank(values, self.percent)
        word = "within" if seen <= bound else "expected within"
        text = f"{what}: p{self.percent:g} of {len(values)} is {seen:.0f} ms, {word} {bound:g}"
        return seen <= bound, text

    def _each(self, kind: str, holds: Callable[[Turn], bool], why: Why) -> Check:
        """Something holds of every turn; else of how many it does not, and why."""
        missed = [turn for turn in self.turns if not holds(turn)]
        count = len(self.turns)
        text = f"{len(missed)} of {count}: {why(missed)}" if missed else f"{count} of {count}"
        return self._check(kind, not missed, text)

    def _check(self, kind: str, passed: bool, text: str, phase: str = "") -> Check:
        return Check(key=self.key, kind=kind, warm=self.warm, passed=passed, text=text, phase=phase)


def _ends(expected: str, turn: Turn) -> bool:
    return not turn.is_broken if expected == ANY else turn.outcome == expected


def _has(wanted: str, turn: Turn) -> bool:
    return has(turn.reply, wanted)


def _lacks(unwanted: str, turn: Turn) -> bool:
    return not has(turn.reply, unwanted)


def _outcomes(expected: str) -> Why:
    def why(missed: Sequence[Turn]) -> str:
        return f"{', '.join(sorted({turn.outcome for turn in missed}))}, expected {expected}"

    return why


def _reply(what: str) -> Why:
    def why(missed: Sequence[Turn]) -> str:
        return f"{what} {missed[0].reply!r}" if missed[0].reply else f"{what} an empty reply"

    return why


def _why_unheard(turn: Turn) -> str:
    if turn.cut_off:
        return "released before the user had finished"
    if "first_audio" not in turn.phases:
        return turn.outcome
    gap = "a gap followed within a second"
    is_late = _is_voice_late(turn)
    if is_late is None:
        return gap
    return f"{gap} ({'tts: the voice was late' if is_late else 'llm: words were missing'})"
