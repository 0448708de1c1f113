"""Whether events are what the official client's own types say."""

from typing import Any, get_args

from openai.types.beta.realtime import realtime_server_event as beta
from openai.types.realtime import realtime_server_event as today
from pydantic import BaseModel


def _models(union: Any) -> dict[str, type[BaseModel]]:
    members = get_args(get_args(union)[0])
    return {get_args(model.model_fields["type"].annotation)[0]: model for model in members}


TODAY = _models(today.RealtimeServerEvent)
BETA = _models(beta.RealtimeServerEvent)


def check(events: list[dict[str, Any]], *, is_beta: bool = False) -> None:
    """Each has a type that the client knows, and every key as that type has it."""
    models = BETA if is_beta else TODAY
    for event in events:
        assert event["type"] in models, event["type"]
        models[event["type"]].model_validate(event)
        assert event["event_id"].startswith("event_")
