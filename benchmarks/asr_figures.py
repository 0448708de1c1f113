"""When the words of a clip were on the ring, from what its reader saw: pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.asr_clips import Spoken, Word, align, word_errors
from benchmarks.result import Figure
from benchmarks.sample import median, percentile
from pipeline.config import Config
from pipeline.models import prepare_llm
from ringbuf import Kind
from stages.asr.bridge import Bridge
from stages.event import Event

Spell = Callable[[list[int]], str]
Count = Callable[[str], int]
_LONG_S = 3.0  # of speech: shorter questions are over before much can be known
_SHORT_UTTERANCE_S = 8.0


@dataclass(frozen=True, slots=True)
class Slot:
    """One slot of `heard`; `at`: seconds since the clip's first sample was due."""

    at: float
    kind: Kind
    turn: int
    answer: int
    position: int
    id: int


@dataclass(frozen=True, slots=True)
class Heard:
    """A mark of `turn`; `at`: when the last sample of its window was due, seconds as above."""

    at: float
    event: Event
    turn: int
    answer: int


@dataclass(frozen=True, slots=True)
class Held:
    """An id that counts in the end, and since when the reader has had it for good, seconds."""

    id: int
    turn: int
    at: float


@dataclass
class Hearing:
    """All that became of one clip."""

    slots: list[Slot] = field(default_factory=list)
    marks: list[Heard] = field(default_factory=list)

    @property
    def written(self) -> int:
        """Ids that were put."""
        return sum(slot.kind is Kind.ID for slot in self.slots)


@dataclass(frozen=True)
class Ending:
    """The last soft end of one turn; seconds.

    Attributes:
        speech: from the turn's first voiced window to its last pause.
        soft_end_to_final: from the window that made the soft end until END was on the ring.
        silence_to_final: the same from the first silent window.
    """

    speech: float
    soft_end_to_final: float
    silence_to_final: float


@dataclass(frozen=True)
class Heed:
    """What one clip adds to the figures.

    Attributes:
        long: speech of more than 3 s; shorter questions are over before much can be known.
        before_end: ids that the reader has for good before the end of speech.
        changed: ids that were written and are not what stands at their position in the end.
        after_end: ids that were written behind an END, though the voice had not come back.
        wrong, said: words.
        lags: seconds, of each word.
    """

    name: str
    long: bool
    ids: int
    before_end: int
    written: int
    changed: int
    after_end: int
    wrong: int
    said: int
    lags: tuple[float, ...]
    endings: tuple[Ending, ...]


class Reader:
    """Reads ids as a language model's tokenizer does.

    Args:
        spell: text of ids.
        count: how many ids a text has.
    """

    def __init__(self, spell: Spell, count: Count) -> None:
        self._spell = spell
        self._count = count

    @classmethod
    def of(cls, bridge: Bridge, config: Config) -> "Reader":
        """The reader of a configuration's language model.

        Raises:
            ModelError: its tokenizer cannot be read.
        """
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(prepare_llm(config.llm.model) / "tokenizer.json"))
        return cls(lambda ids: str(tokenizer.decode(ids)), lambda text: len(bridge.encode(text)))

    def heed(self, clip: Spoken, true: Sequence[Word], hearing: Hearing) -> Heed:
        """Judge what became of a clip.

        Args:
            true: its words, and when each ends.
        """
        ids = held(hearing.slots)
        words = self.words(ids)
        wrong, said = word_errors(clip.text, " ".join(word for word, _ in words))
        return Heed(
            clip.name,
            clip.speech_end_s > _LONG_S,
            len(ids),
            sum(id.at <= clip.speech_end_s for id in ids),
            hearing.written,
            changed(hearing.slots, ids),
            after_end(hearing.slots),
            wrong,
            said,
            tuple(lag for _, lag in pair_lags(true, words)),
            tuple(endings(hearing)),
        )

    def words(self, ids: Iterable[Held]) -> list[tuple[str, float]]:
        """Words of the ids that count, and since when all ids of each are there, seconds."""
        words: list[tuple[str, float]] = []
        for turn in by_turn(ids).values():
            said = self._spell([id.id for id in turn]).split()
            for n, word in enumerate(said):
                last = min(self._count(" ".join(said[: n + 1])), len(turn)) - 1
                words.append((word, turn[last].at))
        return words


def held(slots: Iterable[Slot]) -> list[Held]:
    """The ids that count in the end, in order.

    An id that is written again with what comes before it counts from the last time.

    Raises:
        ValueError: ids are missing between two slots.
    """
    turns: dict[int, list[Held]] = {}
    for slot in slots:
        ids = turns.setdefault(slot.turn, [])
        if slot.position > len(ids):
            raise ValueError(f"position {slot.position} of turn {slot.turn} after {len(ids)} ids")
        del ids[slot.position :]
        if slot.kind is Kind.ID:
            ids.append(Held(slot.id, slot.turn, slot.at))
    return [id for ids in turns.values() for id in ids]


def by_turn(ids: Iterable[Held]) -> dict[int, list[Held]]:
    """Ids apart by their turn, in order."""
    turns: dict[int, list[Held]] = {}
    for id in ids:
        turns.setdefault(id.turn, []).append(id)
    return turns


def changed(slots: Iterable[Slot], ids: Iterable[Held]) -> int:
    """How many ids were written that are not what stands at their position in the end."""
    last = {(turn, n): id.id for turn, ids in by_turn(ids).items() for n, id in enumerate(ids)}
    return sum(
        slot.kind is Kind.ID and last.get((slot.turn, slot.position)) != slot.id for slot in slots
    )


def after_end(slots: Iterable[Slot]) -> int:
    """How many ids came behind an END of the same answer."""
    ended = set[tuple[int, int]]()
    late = 0
    for slot in slots:
        if slot.kind is Kind.END:
            ended.add((slot.turn, slot.answer))
        elif slot.kind is Kind.ID:
            late += (slot.turn, slot.answer) in ended
    return late


def pair_lags(
    true: Sequence[Word], words: Sequence[tuple[str, float]]
) -> list[tuple[float, float]]:
    """The end of each word that both know, and how long after it was on the ring for good, s."""
    pairs = align([word.text for word in true], [word for word, _ in words])
    ends = ((true[here].end_s, words[there][1]) for here, there in pairs)
    return [(end, at - end) for end, at in ends]


def endings(hearing: Hearing) -> list[Ending]:
    """The last soft end of each turn that was answered by a complete transcript."""
    found: dict[int, Ending] = {}
    starts = {mark.turn: mark.at for mark in hearing.marks if mark.event is Event.SPEECH_START}
    silence = 0.0
    for mark in hearing.marks:
        if mark.event is Event.SILENCE:
            silence = mark.at
        elif mark.event is Event.SOFT_END:
            end = next((slot.at for slot in hearing.slots if _ends(slot, mark)), None)
            if end is None:
                found.pop(mark.turn, None)  # the speaker went on
            else:
                speech = silence - starts[mark.turn]
                found[mark.turn] = Ending(speech, end - mark.at, end - silence)
    return list(found.values())


def _ends(slot: Slot, mark: Heard) -> bool:
    return slot.kind is Kind.END and (slot.turn, slot.answer) == (mark.turn, mark.answer)


def figures(heeds: Sequence[Heed]) -> dict[str, Figure]:
    """All metrics of words on the ring."""
    ms = [1000 * lag for heed in heeds for lag in heed.lags]
    long = [heed for heed in heeds if heed.long]
    short = [heed for heed in heeds if not heed.long]
    written = sum(heed.written for heed in heeds)
    ends = [e for heed in heeds for e in heed.endings if e.speech < _SHORT_UTTERANCE_S]
    soft = [1000 * end.soft_end_to_final for end in ends]
    silence = [1000 * end.silence_to_final for end in ends]
    return {
        "wer_streamed": share(sum(h.wrong for h in heeds), sum(h.said for h in heeds)),
        "commit_lag_p50_ms": median(ms),
        "commit_lag_p90_ms": percentile(ms, 90),
        "commit_lag_max_ms": max(ms, default=None),
        "committed_before_end": share(sum(h.before_end for h in long), sum(h.ids for h in long)),
        "committed_before_end.short": share(
            sum(h.before_end for h in short), sum(h.ids for h in short)
        ),
        "revised_share": share(sum(h.changed for h in heeds), written),
        "rewritten_share": share(written - sum(h.ids for h in heeds), written),
        "ids_after_end": sum(h.after_end for h in heeds),
        "soft_end_to_final_p50_ms": median(soft),
        "soft_end_to_final_p95_ms": percentile(soft, 95),
        "soft_end_to_final_max_ms": max(soft, default=None),
        "silence_to_final_p50_ms": median(silence),
        "silence_to_final_p95_ms": percentile(silence, 95),
        "silence_to_final_max_ms": max(silence, default=None),
    }


def share(part: int, whole: int) -> float | None:
    """A part of a whole; None of nothing."""
    return part / whole if whole else None
