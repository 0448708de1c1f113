"""A client's message as an object: pure."""

import json

from pipeline.endpoint.realtime.fields import Object
from pipeline.endpoint.realtime.problem import RefusedError


def parse(message: str | bytes) -> Object:
    """The object that a message is.

    Raises:
        RefusedError: it is none.
    """
    if isinstance(message, bytes):
        raise RefusedError("Events are text messages, this one is binary.", "invalid_message")
    try:
        event = json.loads(message, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0][:200]
        raise RefusedError(f"The message is no JSON: {reason}", "invalid_json") from None
    if not isinstance(event, dict):
        raise RefusedError("The message is no JSON object.", "invalid_json")
    return event


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
