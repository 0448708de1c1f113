"""What the endpoint writes to its log: a line for each thing, with session, lane and turn.

What people say, type or hear is no part of it: `SessionLog.texts` is the one place where a text
gets into a record, and it lets nothing through unless `serve.log_input` is set.
"""

import logging
from typing import Any

from pipeline.log_lines import FIELDS


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
