"""What a client asks of one response: pure."""

from pipeline.endpoint.realtime import fields
from pipeline.endpoint.realtime import settings as sessions
from pipeline.endpoint.realtime.answer import Wanted
from pipeline.endpoint.realtime.fields import Object
from pipeline.endpoint.realtime.problem import Json, invalid, unsupported
from pipeline.endpoint.realtime.settings import Settings
from pipeline.endpoint.realtime.sound import Encoding
from stages.llm.wishes import Style

MOST_METADATA = 16
LONGEST_KEY, LONGEST_VALUE = 64, 512
_KEYS = (
    *("audio", "conversation", "input", "instructions", "max_output_tokens", "metadata"),
    *("output_modalities", "tools", "tool_choice", "prompt", "reasoning", "parallel_tool_calls"),
    *("modalities", "max_response_output_tokens", "output_audio_format", "temperature", "voice"),
)


def parse_answer(asked: Object, settings: Settings) -> tuple[Wanted, Style]:
    """What one response is to be, and what the language model is told of it.

    Args:
        asked: `response` of the client's event.
        settings: of the session, for what it leaves out.

    Raises:
        RefusedError: it cannot be.
    """
    prefix = "response."
    fields.only(asked, _KEYS, prefix)
    if asked.get("conversation") not in (None, "auto"):
        raise unsupported("response.conversation", "Responses outside the conversation are")
    if asked.get("input") is not None:
        raise unsupported("response.input", "Responses with an input of their own are")
    spoken = sessions.parse_spoken(asked, "output_modalities", prefix, settings.spoken)
    spoken = sessions.parse_spoken(asked, "modalities", prefix, spoken)
    most = sessions.parse_limit(asked, "max_output_tokens", prefix, settings.most)
    most = sessions.parse_limit(asked, "max_response_output_tokens", prefix, most)
    instructions = None
    if asked.get("instructions") is not None:
        instructions = fields.text(asked, "instructions", prefix)
    wanted = Wanted(spoken, _parse_output(asked, settings), most, _parse_metadata(asked))
    warmth = sessions.parse_temperature(asked, prefix, settings.temperature)
    style = Style(instructions=instructions, voice=spoken, most=most, temperature=warmth, once=True)
    return wanted, style


def _parse_output(asked: Object, settings: Settings) -> Encoding:
    output = fields.table(fields.table(asked, "audio", "response."), "output", "response.audio.")
    prefix = "response.audio.output."
    fields.only(output, ("format", "voice", "speed"), prefix)
    encoding = sessions.parse_encoding(output, "format", prefix, settings.output)
    if asked.get("output_audio_format") is None:
        return encoding
    known = sessions.BETA_ENCODINGS
    return known[fields.choice(asked, "output_audio_format", "response.", list(known))]


def _parse_metadata(asked: Object) -> Json | None:
    metadata = asked.get("metadata")
    if metadata is None:
        return None
    name, expected = "response.metadata", f"at most {MOST_METADATA} short strings by short names"
    is_small = isinstance(metadata, dict) and len(metadata) <= MOST_METADATA
    if not is_small or not all(_is_short(key, value) for key, value in metadata.items()):
        raise invalid(name, metadata, expected)
    return dict(metadata)


def _is_short(key: str, value: object) -> bool:
    return len(key) <= LONGEST_KEY and isinstance(value, str) and len(value) <= LONGEST_VALUE
