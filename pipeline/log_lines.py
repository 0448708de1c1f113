"""Lines of a log, for machines and for people: one for each thing, whatever stands in it."""

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

FIELDS = "fields"  # of a record: what the line is about


class JsonLines(logging.Formatter):
    """A record as one JSON object.

    Args:
        program: that writes it.
    """

    def __init__(self, program: str) -> None:
        super().__init__()
        self._program = program

    def format(self, record: logging.LogRecord) -> str:
        """One line, whatever the texts in it hold."""
        line: dict[str, Any] = {
            "at": _iso(record.created),
            "level": record.levelname.lower(),
            "program": self._program,
            "logger": record.name,
            "event": record.getMessage(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TextLines(logging.Formatter):
    """A record for people: `time level event key=value …`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback if there is one."""
        fields: Mapping[str, Any] = getattr(record, FIELDS, {})
        pairs = [f"{key}={_plain(value)}" for key, value in fields.items()]
        words = [_iso(record.created), record.levelname.lower(), record.getMessage(), *pairs]
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return " ".join(words) + trace


def configure(form: logging.Formatter, level: str, stream: TextIO = sys.stderr) -> None:
    """Send all records of this program to standard error, in one form.

    Args:
        level: the least that is written.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(form)
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)


def _iso(seconds: float) -> str:
    whole, fraction = divmod(seconds, 1)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{int(fraction * 1000):03d}Z"


def _plain(value: Any) -> str:
    """As a word; quoted where it is none, and escaped where it would not stay on its line."""
    text = f"{value:.1f}" if isinstance(value, float) else str(value)
    if text.isprintable() and not set(text) & set(' "='):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())
