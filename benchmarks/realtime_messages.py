"""Messages of the Realtime protocol, right and wrong, for `endpoint --only fuzz`."""

import base64
import json
from collections.abc import Callable
from random import Random
from typing import Any

Json = dict[str, Any]
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 1e308, 2**70, "", "x", [], {}, [[]], {"": None}, "inf"),
    *("\ud800", "\x00", "<|im_end|>", "\u202e" * 50, "x" * 5000, [None] * 200, {"type": {}}),
)
DEEP = 5_000


def pcm(random: Random, most: int = 4_800) -> str:
    """Sound, or what may pass for it."""
    text = base64.b64encode(random.randbytes(random.randrange(most))).decode()
    match random.randrange(6):
        case 0:
            return text[: random.randrange(len(text) + 1)]  # truncated
        case 1:
            return text[:-1] + random.choice("!=\n \u00e9")
        case _:
            return text


def _session(random: Random) -> Json:
    turns = random.choice(
        [
            None,
            {"type": "server_vad", "silence_duration_ms": random.randrange(900)},
            {"type": "semantic_vad", "eagerness": random.choice(["low", "high", "auto"])},
        ]
    )
    encoding = {"type": random.choice(["audio/pcm", "audio/pcmu", "audio/pcma"])}
    return {
        "type": "realtime",
        "instructions": random.choice(["Be brief.", "", "\u00e9\U0001f525 <|im_start|>system"]),
        "output_modalities": [random.choice(["audio", "text"])],
        "audio": {"input": {"format": encoding, "turn_detection": turns}},
        "tools": random.choice([[], [{"type": "function", "name": "f"}]]),
    }


def _item(random: Random) -> Json:
    role = random.choice(["user", "assistant", "system"])
    kind = "output_text" if role == "assistant" else "input_text"
    text = random.choice(["Hello.", "<|im_end|>", "\u4f60\u597d", " "])
    item: Json = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    if random.randrange(2):
        item["id"] = f"item_{random.randrange(6)}"
    return item


def _event(random: Random) -> Json:
    """One that may be right, in any order."""
    name = random.choice([f"item_{random.randrange(6)}", "root", "no", ""])
    makers: list[Callable[[], Json]] = [
        lambda: {"type": "session.update", "session": _session(random)},
        lambda: {"type": "input_audio_buffer.append", "audio": pcm(random)},
        lambda: {"type": "input_audio_buffer.append", "audio": pcm(random)},
        lambda: {"type": "input_audio_buffer.commit"},
        lambda: {"type": "input_audio_buffer.clear"},
        lambda: {"type": "conversation.item.create", "item": _item(random)},
        lambda: {
            "type": "conversation.item.create",
            "item": _item(random),
            "previous_item_id": name,
        },
        lambda: {
            "type": "conversation.item.truncate",
            "item_id": name,
            "content_index": random.randrange(2),
            "audio_end_ms": random.randrange(-1, 3000),
        },
        lambda: {"type": "conversation.item.delete", "item_id": name},
        lambda: {"type": "conversation.item.retrieve", "item_id": name},
        lambda: {"type": "response.create"},
        lambda: {"type": "response.create", "response": {"output_modalities": ["text"]}},
        lambda: {"type": "response.cancel"},
        lambda: {"type": random.choice(["", "nonsense", "response.done", "start"])},
    ]
    event = random.choice(makers)()
    if random.randrange(3) == 0:
        event["event_id"] = random.choice(["e1", "", "x" * 5000, 7, None])
    return event


def _spoil(random: Random, value: Any) -> Any:
    """The same with something wrong somewhere."""
    if isinstance(value, dict) and value and random.randrange(4):
        key = random.choice(list(value))
        match random.randrange(5):
            case 0:
                return {k: v for k, v in value.items() if k != key}
            case 1:
                return {**value, "colour": random.choice(ODD)}
            case _:
                return {**value, key: _spoil(random, value[key])}
    if isinstance(value, list) and value and random.randrange(2):
        return [*value[:-1], _spoil(random, value[-1])]
    return random.choice(ODD)


def message(random: Random, most: int = 60_000) -> str | bytes:
    """One message.

    Args:
        most: bytes of a huge one.
    """
    event = _event(random)
    match random.randrange(12):
        case 0:
            return random.randbytes(random.randrange(200))
        case 1:
            return json.dumps(event).encode()  # text for binary
        case 2:
            text = json.dumps(event)
            return text[: random.randrange(len(text))]
        case 3:
            depth = random.randrange(1, DEEP)
            return random.choice(["[", '{"type":']) * depth
        case 4:
            return random.choice(
                ["", "null", "[]", '""', "0", "NaN", '{"type":Infinity}', "\ufeff{}"]
            )
        case 5 if random.randrange(8) == 0:
            return json.dumps({**event, "type": "x" * random.randrange(most)})
        case 5 | 6 | 7:
            return json.dumps(_spoil(random, event))
        case _:
            return json.dumps(event)
