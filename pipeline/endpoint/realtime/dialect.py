"""Names of today's protocol, and of its beta: pure."""

from collections.abc import Callable

from pipeline.endpoint.realtime.problem import Json

_BETA = {
    "response.output_audio.delta": "response.audio.delta",
    "response.output_audio.done": "response.audio.done",
    "response.output_audio_transcript.delta": "response.audio_transcript.delta",
    "response.output_audio_transcript.done": "response.audio_transcript.done",
    "response.output_text.delta": "response.text.delta",
    "response.output_text.done": "response.text.done",
    "conversation.item.added": "conversation.item.created",
}
_TODAY_ONLY = ("conversation.item.done",)


class Dialect:
    """How events are written for one client.

    Args:
        name: makes a new name of a kind, such as `event_...`.

    Attributes:
        is_beta: it speaks the beta protocol.
    """

    def __init__(self, name: Callable[[str], str], *, is_beta: bool = False) -> None:
        self.name = name
        self.is_beta = is_beta

    def write(self, event: Json) -> Json | None:
        """An event as this client knows it; None: it does not."""
        kind = event["type"]
        if self.is_beta:
            if kind in _TODAY_ONLY:
                return None
            kind = _BETA.get(kind, kind)
        return {**event, "type": kind, "event_id": self.name("event")}
