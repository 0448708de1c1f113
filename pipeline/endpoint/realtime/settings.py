"""The settings of a session: what a client asked for, and how they are shown: pure."""

from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.config import Config
from pipeline.endpoint.realtime import fields, taking
from pipeline.endpoint.realtime.fields import Object
from pipeline.endpoint.realtime.problem import Json, invalid, missing, unsupported
from pipeline.endpoint.realtime.sound import Encoding
from pipeline.endpoint.realtime.taking import TurnDetection

MOST_TOKENS = 4096
# Asked for by some clients, and without meaning here: shown as null whatever was sent.
IGNORED = ("include", "prompt", "reasoning", "tracing", "truncation", "parallel_tool_calls")
_TODAY = ("type", "model", "instructions", "audio", "output_modalities", "max_output_tokens")
_TOOLS = ("tools", "tool_choice")
_SHOWN = ("id", "object", "expires_at")  # in what the server tells; clients send it back
BETA_ONLY = (
    "modalities",
    "voice",
    "input_audio_format",
    "output_audio_format",
    "input_audio_transcription",
    "input_audio_noise_reduction",
    "turn_detection",
    "temperature",
    "max_response_output_tokens",
    "speed",
    "client_secret",
)
BETA_ENCODINGS = {
    "pcm16": Encoding.PCM,
    "g711_ulaw": Encoding.MU_LAW,
    "g711_alaw": Encoding.A_LAW,
}
BETA_NAMES = {encoding: name for name, encoding in BETA_ENCODINGS.items()}


@dataclass(frozen=True)
class Settings:
    """Of one session.

    Attributes:
        transcribes: the client is told what the user said.
        transcription: how the client asked for that; it has no effect.
        most: ids of an answer; 0: as many as fit.
        temperature: of the beta protocol; None: the configured one.
    """

    instructions: str
    model: str
    voice: str
    most: int = 0
    spoken: bool = True
    input: Encoding = Encoding.PCM
    output: Encoding = Encoding.PCM
    turns: TurnDetection = field(default_factory=TurnDetection)
    transcribes: bool = True
    transcription: Json = field(default_factory=dict)
    temperature: float | None = None

    def described(self, *, is_beta: bool) -> Json:
        """As `session` shows it."""
        return self._beta() if is_beta else self._today()

    def _today(self) -> Json:
        return {
            "type": "realtime",
            "object": "realtime.session",
            "model": self.model,
            "output_modalities": modalities(self.spoken),
            "instructions": self.instructions,
            "tools": [],
            "tool_choice": "none",
            "max_output_tokens": limit(self.most),
            "audio": {
                "input": {
                    "format": self.input.described(),
                    "transcription": self.transcription if self.transcribes else None,
                    "noise_reduction": None,
                    "turn_detection": self.turns.described(),
                },
                "output": {"format": self.output.described(), "voice": self.voice, "speed": 1.0},
            },
            **dict.fromkeys(IGNORED),
        }

    def _beta(self) -> Json:
        return {
            "object": "realtime.session",
            "model": self.model,
            "modalities": ["audio", "text"] if self.spoken else ["text"],
            "instructions": self.instructions,
            "voice": self.voice,
            "input_audio_format": BETA_NAMES[self.input],
            "output_audio_format": BETA_NAMES[self.output],
            "input_audio_transcription": self.transcription if self.transcribes else None,
            "input_audio_noise_reduction": None,
            "turn_detection": self.turns.described(),
            "tools": [],
            "tool_choice": "none",
            "max_response_output_tokens": limit(self.most),
            "temperature": self.temperature,
            "speed": 1.0,
            "tracing": None,
        }


def first_settings(config: Config, model: str) -> Settings:
    """What is configured.

    Args:
        model: that the client named; the configured one answers, whatever its name.
    """
    voice = config.tts.model.removeprefix("bundle:").rpartition("/")[2] or config.tts.stage
    transcription = {"model": config.asr.model.removeprefix("bundle:").rpartition("/")[2]}
    return Settings(
        config.llm.system,
        model,
        voice,
        config.llm.max_new_tokens,
        transcription=transcription,
    )


def is_beta(session: Object) -> bool:
    """Whether a `session.update` has the flat form of the beta protocol."""
    return "type" not in session and any(key in session for key in BETA_ONLY)


def updated(settings: Settings, session: Object, *, beta: bool) -> Settings:
    """The settings with what a client changes.

    Raises:
        RefusedError: a value is not allowed; then nothing changes.
    """
    return _updated_beta(settings, session) if beta else _updated_today(settings, session)


def has_tools(source: Object, prefix: str) -> bool:
    """Whether a client wants tools to be called."""
    return bool(fields.sequence(source, "tools", prefix))


def modalities(spoken: bool) -> list[str]:
    """What an answer is made of."""
    return ["audio"] if spoken else ["text"]


def limit(most: int) -> int | str:
    """How long an answer may be, as the protocol writes it."""
    return most or "inf"


def parse_limit(source: Object, key: str, prefix: str, default: int) -> int:
    """The inverse."""
    value = source.get(key)
    if value == "inf":
        return 0
    if value is None:
        return default
    if isinstance(value, str):
        raise invalid(prefix + key, value, f"1 to {MOST_TOKENS}, or 'inf'")
    return fields.whole(source, key, prefix, 1, MOST_TOKENS, default)


def parse_temperature(source: Object, prefix: str, default: float | None) -> float | None:
    """How much chance there is in an answer; only the beta protocol asks for it."""
    if source.get("temperature") is None:
        return default
    return fields.number(source, "temperature", prefix, 0, 2, 0)


def parse_spoken(source: Object, key: str, prefix: str, default: bool) -> bool:
    """Whether answers are spoken."""
    if source.get(key) is None:
        return default
    wanted = fields.sequence(source, key, prefix)
    if not wanted or any(word not in ("text", "audio") for word in wanted):
        raise invalid(prefix + key, wanted, "['audio'] or ['text']")
    return "audio" in wanted


def parse_encoding(source: Object, key: str, prefix: str, default: Encoding) -> Encoding:
    """`format` of a direction."""
    value = fields.table(source, key, prefix)
    if not value:
        return default
    inside = f"{prefix}{key}."
    fields.only(value, ("type", "rate"), inside)
    encoding = Encoding(fields.choice(value, "type", inside, [str(e) for e in Encoding]))
    fields.whole(value, "rate", inside, encoding.rate, encoding.rate, encoding.rate)
    return encoding


def _updated_today(settings: Settings, session: Object) -> Settings:
    prefix = "session."
    if session.get("type") is None:
        raise missing("session.type")
    if session["type"] == "transcription":
        raise unsupported("session.type", "Transcription sessions are")
    fields.choice(session, "type", prefix, ("realtime",))
    fields.only(session, (*_TODAY, *_TOOLS, *IGNORED, *_SHOWN), prefix)
    audio = fields.table(session, "audio", prefix)
    fields.only(audio, ("input", "output"), "session.audio.")
    new = replace(
        settings,
        instructions=_instructions(settings, session),
        most=parse_limit(session, "max_output_tokens", prefix, settings.most),
        spoken=parse_spoken(session, "output_modalities", prefix, settings.spoken),
    )
    new = _updated_input(new, fields.table(audio, "input", "session.audio."))
    output, prefix = fields.table(audio, "output", "session.audio."), "session.audio.output."
    fields.only(output, ("format", "voice", "speed"), prefix)
    _require_speed(output, prefix)
    return replace(new, output=parse_encoding(output, "format", prefix, settings.output))


def _updated_input(settings: Settings, source: Object) -> Settings:
    prefix = "session.audio.input."
    fields.only(source, ("format", "transcription", "noise_reduction", "turn_detection"), prefix)
    fields.table(source, "noise_reduction", prefix)
    new = replace(settings, input=parse_encoding(source, "format", prefix, settings.input))
    return _heard(new, source, "transcription", "turn_detection", prefix)


def _updated_beta(settings: Settings, session: Object) -> Settings:
    prefix = "session."
    fields.only(session, (*_TODAY, *_TOOLS, *IGNORED, *_SHOWN, *BETA_ONLY), prefix)
    _require_speed(session, prefix)
    new = replace(
        settings,
        instructions=_instructions(settings, session),
        most=parse_limit(session, "max_response_output_tokens", prefix, settings.most),
        spoken=parse_spoken(session, "modalities", prefix, settings.spoken),
        input=_beta_encoding(session, "input_audio_format", settings.input),
        output=_beta_encoding(session, "output_audio_format", settings.output),
        temperature=parse_temperature(session, prefix, settings.temperature),
    )
    return _heard(new, session, "input_audio_transcription", "turn_detection", prefix)


def _heard(
    settings: Settings, source: Object, transcription: str, turns: str, prefix: str
) -> Settings:
    """What both forms say of what is heard; null turns something off."""
    if transcription in source:
        wanted = fields.table(source, transcription, prefix)
        is_on = source[transcription] is not None
        shown = {**settings.transcription, **_short(wanted)} if is_on else settings.transcription
        settings = replace(settings, transcribes=is_on, transcription=shown)
    if turns in source:
        value = None if source[turns] is None else fields.table(source, turns, prefix)
        settings = replace(settings, turns=taking.parse(value, f"{prefix}{turns}."))
    return settings


def _short(wanted: Object) -> dict[str, Any]:
    """What is shown back of it: bounded, whatever was sent."""
    known = ("model", "language", "prompt")
    return {key: fields.maybe_text(wanted, key, longest=1000) for key in known if wanted.get(key)}


def _instructions(settings: Settings, session: Object) -> str:
    if session.get("instructions") is None:
        return settings.instructions
    return fields.text(session, "instructions", "session.")


def _beta_encoding(session: Object, key: str, default: Encoding) -> Encoding:
    if session.get(key) is None:
        return default
    return BETA_ENCODINGS[fields.choice(session, key, "session.", list(BETA_ENCODINGS))]


def _require_speed(source: Object, prefix: str) -> None:
    if fields.number(source, "speed", prefix, 0.25, 1.5, 1.0) != 1.0:
        raise unsupported(f"{prefix}speed", "A speed other than 1.0 is")
