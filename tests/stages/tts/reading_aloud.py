"""What the front says of a text."""

from pipeline.tokenizer import ByteVocabulary
from stages.tts.front import Front
from stages.tts.words import Stop, Word


def parts(ids: bytes | str, **options: bool) -> list[Word | Stop]:
    """Its words and sentence ends, byte by byte."""
    front, found = Front(ByteVocabulary(), **options), list[Word | Stop]()
    for position, id in enumerate(ids.encode() if isinstance(ids, str) else ids):
        found += front.feed(id, position)
    return found + front.flush()


def said(ids: bytes | str, **options: bool) -> str:
    """The same as text, with a stroke where sentences end."""
    return joined(parts(ids, **options))


def joined(found: list[Word | Stop]) -> str:
    return "".join(part.text if isinstance(part, Word) else " |" for part in found).strip()
