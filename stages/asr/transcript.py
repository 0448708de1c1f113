"""What was said, as text, and the doubts that came with it."""

import re
from dataclasses import dataclass

_ANNOTATION = re.compile(
    r"\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|[♩♪♫♬]"
    r"|\uff08[^\uff09]*\uff09|【[^】]*】"  # wide parentheses, and Japanese brackets
)
_SPOKEN = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Transcript:
    """The words of one utterance; empty text means that nothing was said."""

    text: str = ""
    """without the space that Whisper writes before a word"""
    ids: tuple[int, ...] = ()
    """the text in Whisper's own ids, no special ones"""
    avg_logprob: float = 0.0
    """mean log probability of an id; the least sure piece's, where there are several"""
    no_speech_prob: float = 0.0
    """Whisper's own guess that nobody speaks, 0 to 1"""
    language: str = ""
    """code such as `en`; empty if nothing was decoded"""
    window_s: float = 0.0
    """longest encoder window used, seconds"""

    @property
    def empty(self) -> bool:
        """Tell whether nothing was said."""
        return not self.text


def spoken(text: str) -> str:
    """Drop what a subtitle says but a person does not: `[BLANK_AUDIO]`, `(music)`, `*laughs*`.

    Text without a letter or digit is no speech either. Broken UTF-8, which a decode that was cut
    inside a character leaves, goes too.
    """
    kept = _ANNOTATION.sub("", text.replace("\ufffd", ""))
    if kept != text:
        kept = re.sub(r" {2,}", " ", kept)
    return kept if _SPOKEN.search(kept) else ""
