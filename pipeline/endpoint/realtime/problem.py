"""What is told when a client's message cannot be done; the connection stays open."""

from typing import Any

Json = dict[str, Any]
LONGEST_QUOTE = 80


class RefusedError(Exception):
    """A client's message is refused.

    Args:
        message: for people.
        code: for programs.
        param: the key that it is about.
    """

    def __init__(self, message: str, code: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.param = param


def refused(error: RefusedError, event_id: str | None) -> Json:
    """The event that tells it."""
    return problem(str(error), error.code, error.param, event_id)


def problem(
    message: str,
    code: str,
    param: str | None = None,
    event_id: str | None = None,
    kind: str = "invalid_request_error",
) -> Json:
    """An `error` event.

    Args:
        event_id: of the client's message that it answers.
        kind: whose fault it is.
    """
    error = {"type": kind, "code": code, "message": message, "param": param, "event_id": event_id}
    return {"type": "error", "error": error}


def quote(value: object) -> str:
    """A client's value, short enough to be told back."""
    text = repr(value)
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}..."


def missing(param: str) -> RefusedError:
    """A key that must be there is not."""
    return RefusedError(
        f"Missing required parameter: '{param}'.", "missing_required_parameter", param
    )


def invalid(param: str, value: object, expected: str) -> RefusedError:
    """A value that is not allowed."""
    message = f"Invalid value for '{param}': {quote(value)}. Expected {expected}."
    return RefusedError(message, "invalid_value", param)


def unsupported(param: str, what: str) -> RefusedError:
    """Something that the protocol has and this server does not."""
    return RefusedError(f"{what} not supported yet.", "unsupported_value", param)
