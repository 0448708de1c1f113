"""What was said, as words, and the doubts that came with it."""

import re
from dataclasses import dataclass

_ANNOTATION = re.compile(
    r"\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|[♩♪♫♬]"
    r"|\uff08[^\uff09]*\uff09|【[^】]*】"  # wide parentheses, and Japanese brackets
)
_SPOKEN = re.compile(r"\w")
# Scripts that are written without spaces: kana, CJK ideographs, Thai, Lao, Khmer, Burmese.
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"\s*(?:[{_SPACELESS}][^\w\s]*|[^\s{_SPACELESS}]+)")

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Transcript:
    """The words of one utterance; none means that nothing was said."""

    words: Words = ()
    """as `split_words` gives them"""
    avg_logprob: float = 0.0
    """mean log probability of an id; the least sure attempt's, where there are several"""
    no_speech_prob: float = 0.0
    """Whisper's own guess that nobody speaks, 0 to 1"""
    language: str = ""
    """code such as `en`; empty if nothing was decoded"""
    window_s: float = 0.0
    """longest encoder window used, seconds"""

    @property
    def text(self) -> str:
        """The words as one line."""
        return "".join(self.words).strip()

    @property
    def empty(self) -> bool:
        """Tell whether nothing was said."""
        return not self.words


def spoken(text: str) -> str:
    """Drop what a subtitle says but a person does not: `[BLANK_AUDIO]`, `(music)`, `*laughs*`.

    Text without a letter or digit is no speech either. Broken UTF-8, which a decode that was cut
    inside a character leaves, goes too.
    """
    kept = _ANNOTATION.sub("", text.replace("\ufffd", ""))
    return kept if _SPOKEN.search(kept) else ""


def split_words(text: str) -> Words:
    """Cut text into words that joined give it again, each run of white space as one space.

    A word carries the space before it and the punctuation behind it; where a script has no spaces,
    each character is a word.
    """
    found = _WORD.findall(text)
    return tuple(f" {word.lstrip()}" if word[0].isspace() else word for word in found)


def bare(word: str) -> str:
    """The word without case and punctuation: two decodes that differ in these heard the same."""
    return "".join(re.findall(r"\w", word.casefold()))
