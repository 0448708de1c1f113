"""What the endpoint writes to its log: a line for each thing, with session, lane and turn.

What people say, type or hear is no part of it: `SessionLog.texts` is the one place where a text
gets into a record, and it lets nothing through unless `serve.log_input` is set.
"""

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

FIELDS = "fields"  # of a record: what the line is about


class JsonLines(logging.Formatter):
    """A record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, whatever the texts in it hold."""
        line: dict[str, Any] = {
            "at": _iso(record.created),
            "level": record.levelname.lower(),
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


def configure(style: str, level: str, stream: TextIO = sys.stderr) -> None:
    """Send all records of this program to standard error, in one form.

    Args:
        style: "text" or "json".
        level: the least that is written; the endpoint's own lines begin at "info".
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines() if style == "json" else TextLines())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    own = logging.getLogger("voxring.endpoint")
    own.setLevel(min(logging.INFO, logging.getLogger().level))


class SessionLog:
    """The log of one connection.

    Args:
        session: its name.
        keeps_input: what people say may be written.
    """

    def __init__(self, session: str, *, keeps_input: bool = False) -> None:
        self._log = logging.getLogger("voxring.endpoint.session")
        self._base: dict[str, Any] = {"session": session}
        self._keeps_input = keeps_input

    def bind(self, **fields: Any) -> None:
        """Add something to every line from here on."""
        self._base |= fields

    def info(self, event: str, **fields: Any) -> None:
        """Something usual."""
        self._write(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Something that somebody may want to look at."""
        self._write(logging.WARNING, event, fields)

    def exception(self, event: str, **fields: Any) -> None:
        """A fault of the program, with its traceback."""
        self._write(logging.ERROR, event, fields, exc_info=True)

    def texts(self, **texts: str) -> dict[str, Any]:
        """What people said and heard, as fields: their lengths, or themselves if that is asked."""
        if self._keeps_input:
            return texts
        return {f"{name}_chars": len(text) for name, text in texts.items()}

    def _write(
        self, level: int, event: str, fields: dict[str, Any], *, exc_info: bool = False
    ) -> None:
        if self._log.isEnabledFor(level):
            extra = {FIELDS: {**self._base, **fields}}
            self._log.log(level, event, extra=extra, exc_info=exc_info)


def _iso(seconds: float) -> str:
    whole, fraction = divmod(seconds, 1)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{int(fraction * 1000):03d}Z"


def _plain(value: Any) -> str:
    """As a word; quoted where it is none, and escaped where it would not stay on its line."""
    text = f"{value:.1f}" if isinstance(value, float) else str(value)
    if text.isprintable() and not set(text) & set(' "='):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())
