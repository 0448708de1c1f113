"""When a decode is not to be believed: it loops, runs to its cap, or starts the sentence again."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from stages.asr.window import FULL, RATE

Spell = Callable[[Sequence[int]], str]

_IDS_AT_LEAST = 16
_IDS_A_SECOND = 8  # the fastest speech measured needs 6
_LOOP_SHORTEST = 8  # ids that must repeat before it is a loop and not "no, no, no"
_UNSURE = -1.0  # mean log probability
_NO_SPEECH = 0.6
_SURELY_NO_SPEECH = 0.8  # "Thank you." and "I'm..." in breath and silence; speech measured 0.75
SECOND_OPINIONS = (16 * RATE, FULL)  # the first takes a third of the second's time
_REPEAT_SHORTEST = 6  # letters; "No. No." is said, not invented
_FASTEST_SPEECH = 18.0  # letters a second; real speech is 10 to 16
_SLOWEST_SPEECH = 5.0  # letters a second, as bytes of UTF-8: Chinese has fewer and longer ones
_SPARSE_FROM_S = 3.0  # a shorter voice may be a cough
# \u3002, \uff1f and \uff01 are the full stop, question and exclamation mark of Chinese and Japanese
_SENTENCE_END = re.compile(r"[.?!]+[\"'\u201d\u2019]?(?=\s|$)|[\u3002\uff1f\uff01]+")


@dataclass(frozen=True, slots=True)
class Decode:
    """One answer of the decoder to one piece of sound."""

    ids: tuple[int, ...]
    """text ids only"""
    text: str
    """with the space that Whisper writes before a word"""
    avg_logprob: float
    no_speech_prob: float
    language: str
    window: int
    """encoder window, samples"""
    capped: bool = False
    """it did not end by itself"""
    sparse: bool = False
    """it has far fewer words than were spoken: the decoder left out a sentence"""
    attempts_logprob: float = 0.0
    """the lowest `avg_logprob` of all attempts, if there was another"""

    @property
    def silent(self) -> bool:
        """Tell whether the decoder itself thinks that nobody spoke: surely, or with both doubts."""
        both = self.no_speech_prob > _NO_SPEECH and self.avg_logprob < _UNSURE
        return both or self.no_speech_prob > _SURELY_NO_SPEECH

    @property
    def doubtful(self) -> bool:
        """Tell whether a longer window should be asked."""
        unsure = self.avg_logprob < _UNSURE
        return self.capped or self.sparse or unsure or loop(self.ids) is not None


def most_ids(samples: int) -> int:
    """Give how many ids a sound of `samples` at 16 kHz can hold: 16, and 8 a second."""
    return _IDS_AT_LEAST + _IDS_A_SECOND * samples // RATE


def guarded(decode: Callable[[int], Decode], spell: Spell, window: int, voiced_s: float) -> Decode:
    """Decode in `window` samples; where the answer is doubtful, again in 16 s, and then in 30.

    Args:
        decode: decodes the same sound in the window of that many samples.
        spell: turns Whisper's ids into text.
        window: samples of the first, cheap attempt.
        voiced_s: seconds that were spoken, to tell a repeated sentence from an invented one.
    """
    decodes: list[Decode] = []
    for size in (window, *(longer for longer in SECOND_OPINIONS if longer > window)):
        decodes.append(checked(decode(size), spell, voiced_s))
        if decodes[-1].silent or not decodes[-1].doubtful:
            break
    best = max(decodes, key=lambda d: (d.silent, not d.doubtful, d.avg_logprob))
    lowest = min(decode.avg_logprob for decode in decodes)
    return replace(without_loop(best, spell), attempts_logprob=lowest)


def loop(ids: Sequence[int]) -> int | None:
    """Find ids that end in one n-gram said three times or more; give where its first ends."""
    for period in range(1, len(ids) // 3 + 1):
        same = 0
        while same < len(ids) - period and ids[-1 - same] == ids[-1 - same - period]:
            same += 1
        if same >= max(2 * period, _LOOP_SHORTEST):
            return len(ids) - same
    return None


def restart(text: str, voiced_s: float) -> int | None:
    """Find where the decoder began a sentence again that was said once; give the cut in `text`.

    It happens after . ? or ! when sound is over and the window is not. What follows must repeat
    what stands before, and either break off or be too fast to have been said.
    """
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    for cut in ends:
        tail = _letters(text[cut:])
        starts = [0, *(end for end in ends if end < cut)]
        if len(tail) < _REPEAT_SHORTEST or not any(
            _repeats(tail, _letters(text[start:cut])) for start in starts
        ):
            continue
        too_fast = len(_letters(text)) > _FASTEST_SPEECH * voiced_s
        broken_off = ends[-1] < len(text.rstrip())
        return cut if too_fast or broken_off else None
    return None


def checked(decode: Decode, spell: Spell, voiced_s: float) -> Decode:
    """Cut a sentence that was begun again, and notice one that was left out."""
    kept = without_restart(decode, spell, voiced_s)
    written = len(_letters(kept.text).encode())
    return replace(kept, sparse=voiced_s > _SPARSE_FROM_S and written < _SLOWEST_SPEECH * voiced_s)


def without_restart(decode: Decode, spell: Spell, voiced_s: float) -> Decode:
    """Cut a sentence that the decoder began again; running into the cap is then forgiven."""
    cut = restart(decode.text, voiced_s)
    if cut is None:
        return decode
    kept = next(n for n in range(len(decode.ids) + 1) if len(spell(decode.ids[:n])) >= cut)
    return _shortened(decode, spell, kept)


def without_loop(decode: Decode, spell: Spell) -> Decode:
    """Keep one round of a loop, if the decoder was lost; what ended by itself was said."""
    kept = loop(decode.ids)
    if kept is None or not (decode.capped or decode.avg_logprob < _UNSURE):
        return decode
    return _shortened(decode, spell, kept)


def _shortened(decode: Decode, spell: Spell, kept: int) -> Decode:
    ids = decode.ids[:kept]
    return replace(decode, ids=ids, text=spell(ids), capped=False)


def _repeats(tail: str, head: str) -> bool:
    """Tell whether `tail` is `head` again, once or more, perhaps broken off."""
    return bool(head) and (head * (len(tail) // len(head) + 1)).startswith(tail)


def _letters(text: str) -> str:
    return "".join(re.findall(r"\w", text.casefold()))
