"""Somebody asks something else while an answer is heard: how soon it is silent, what comes next."""

from collections.abc import Callable, Iterator, Sequence

from benchmarks.asr_clips import word_errors
from benchmarks.judge import Judge
from benchmarks.result import Figure
from benchmarks.sample import median, percentile
from benchmarks.turns_heard import is_within_a_word
from benchmarks.turns_talk import Exchange, Interruption, Manner, last_audible, read_wav
from stages.event import Event
from stages.outcome import Outcome

SETTINGS = (
    "llm.max_new_tokens=40",
    "llm.system=You tell long stories. Answer with a story of many long sentences.",
    "llm.repetition_penalty=1.3",  # a small model repeats its own answers that were cut
)
MANNER = Manner(chain=8, earliest_s=0.1, latest_s=3.0)
MOST_WRONG = 1  # words of a question that the recogniser may get wrong
COMPLETE = (Outcome.ANSWERED, Outcome.INTERRUPTED)  # by the next try


def figures(tries: Sequence[Interruption]) -> dict[str, Figure]:
    """All metrics but those of the judge."""
    silences = [ms for each in tries if (ms := silence_ms(each)) is not None]
    sounding = [ms for ms in silences if ms >= 0]
    decisions = [ms for each in tries if (ms := decision_ms(each)) is not None]
    cut = [each for each in tries if each.answer]
    return {
        "barge_in_p50_ms": median(sounding),
        "barge_in_p95_ms": percentile(sounding, 95),
        "barge_in_max_ms": max(sounding, default=None),
        "decision_to_silence_p95_ms": percentile(decisions, 95),
        "decision_to_silence_max_ms": max(decisions, default=None),
        "next_turn_correct_share": sum(map(is_correct, cut)) / len(cut) if cut else None,
        "tries": len(tries),
        "tries_too_late": len(tries) - len(cut),
        "tries_in_a_pause": len(silences) - len(sounding),
        "tries_gone_on": sum(Event.GO_ON in each.answer.timeline.at for each in cut if each.answer),
    }


def silence_ms(each: Interruption) -> float | None:
    """From the first voiced sample to the last audible one of the answer; below 0: it paused."""
    if each.answer is None or each.over.onset is None:
        return None
    start = each.answer.timeline.at.get(Event.PLAY_START)
    samples, rate = read_wav(each.cut.wav)
    if start is None or not (last := last_audible(samples, rate)):
        return None
    return (start + last * 1e9 / rate - each.over.onset) / 1e6


def decision_ms(each: Interruption) -> float | None:
    """From the decision to hold the answer to its last sample; of one that did not go on."""
    at = each.answer.timeline.at if each.answer else {}
    if Event.GO_ON in at or Event.HOLD not in at or Event.PLAY_END not in at:
        return None
    return (at[Event.PLAY_END] - at[Event.HOLD]) / 1e6


def is_correct(each: Interruption) -> bool:
    """Whether what came over the answer was one turn, understood, and answered without a gap."""
    return not list(faults(each.over))


def faults(over: Exchange) -> Iterator[str]:
    """What is wrong with the turn that came over an answer."""
    turn = over.turn
    if turn is None:
        yield "no turn"
        return
    if len(over.turns) > 1:
        yield f"taken for {len(over.turns)} turns"
    wrong, _ = word_errors(over.said.text, turn.transcript)
    if wrong > MOST_WRONG:
        yield f"understood as {turn.transcript!r}"
    if turn.timeline.outcome not in COMPLETE:
        yield turn.timeline.outcome.label
    if turn.timeline.first_audio_ms is None:
        yield "not heard, or with a gap"


def judged(tries: Sequence[Interruption], judge: Judge) -> dict[str, Figure]:
    """What an independent listener makes of what was kept of the answers."""
    heard = [
        is_within_a_word(each.answer.reply, each.answer.heard, judge.hear(*read_wav(each.cut.wav)))
        for each in tries
        if each.answer and each.cut.wav.exists()
    ]
    return {
        "heard_within_one_word_share": sum(heard) / len(heard) if heard else None,
        "heard_within_one_word_tries": len(heard),
    }


def tell_faults(tries: Sequence[Interruption], tell: Callable[[str], None]) -> None:
    """One line for each turn that is not as it should be."""
    for number, each in enumerate(tries):
        for fault in faults(each.over) if each.answer else ["the answer was over before"]:
            tell(f"try {number}, {each.over.said.path.stem}: {fault}")
