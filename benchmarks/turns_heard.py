"""Whether what is kept of an answer that was cut is what was heard of it."""

from collections.abc import Callable, Sequence

from benchmarks.judge import plain
from benchmarks.result import Figure
from benchmarks.turns_talk import Interruption, Manner, read_wav
from pipeline.tokenizer import Vocabulary
from stages.tts.tones import read_whole_tones

TONE_MS = 100
SETTINGS = (
    "tts.stage=scripted",
    f"tts.options={{tone_ms = {TONE_MS}}}",
    "llm.max_new_tokens=60",
    "llm.system=You tell long stories. Answer with a story of many long sentences.",
    "llm.repetition_penalty=1.3",
)
MANNER = Manner(chain=10, earliest_s=0.1, latest_s=2.5, to_the_end=False)


def figures(tries: Sequence[Interruption], vocabulary: Vocabulary) -> dict[str, Figure]:
    """How many texts are what sounded, to the last id."""
    cut = [each for each in tries if each.answer]
    same = [each for each in cut if each.answer and each.answer.heard == sounded(each, vocabulary)]
    return {
        "heard_exact_share": len(same) / len(cut) if cut else None,
        "heard_tries": len(tries),
        "heard_too_late": len(tries) - len(cut),
    }


def tell_faults(
    tries: Sequence[Interruption], vocabulary: Vocabulary, tell: Callable[[str], None]
) -> None:
    """One line for each text that is not what sounded."""
    for each in tries:
        if each.answer and (read := sounded(each, vocabulary)) != each.answer.heard:
            tell(f"{each.cut.wav.name}: kept {each.answer.heard!r}, sounded {read!r}")


def sounded(each: Interruption, vocabulary: Vocabulary) -> str:
    """What can be read in the recording of an answer in tones."""
    return vocabulary.decode(read_whole_tones(*read_wav(each.cut.wav), TONE_MS / 1000))


def is_within_a_word(reply: str, kept: str, heard: str) -> bool:
    """Whether what was heard ends within one word of where the kept part of the reply ends."""
    count = len(plain(kept).split())
    return any(abs(count - end) <= 1 for end in ends_of(plain(reply).split(), plain(heard).split()))


def ends_of(reply: Sequence[str], heard: Sequence[str]) -> list[int]:
    """How many words of the reply explain best what was heard; several counts may do as well.

    The beginnings of the reply are compared by their edit distance to what was heard.
    """
    row = list(range(len(heard) + 1))  # distances from no words to each beginning of `heard`
    distances = [row[-1]]
    for number, word in enumerate(reply, 1):
        above, row = row, [number]
        for index, other in enumerate(heard):
            row.append(min(above[index + 1] + 1, row[index] + 1, above[index] + (word != other)))
        distances.append(row[-1])
    least = min(distances)
    return [count for count, distance in enumerate(distances) if distance == least]
