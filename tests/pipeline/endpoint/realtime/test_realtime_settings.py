"""What a session may ask for, how it is shown, and what the stages are told of it."""

from typing import Any

import pytest

from pipeline.config import Config, TurnConfig
from pipeline.endpoint.realtime import taking
from pipeline.endpoint.realtime.actions import Settle
from stages.llm.wishes import Style
from tests.pipeline.endpoint.realtime.bench import Bench, kinds

CONFIG = TurnConfig()


def settings(value: dict[str, Any] | None) -> dict[str, Any]:
    return taking.parse(value, "p.").settings(CONFIG).model_dump(exclude_none=True)


def test_what_is_not_said_is_what_is_configured() -> None:
    told = settings({"type": "semantic_vad"})
    same = ("threshold", "pre_roll_ms", "release_ms", "early_release_ms", "late_release_ms")
    assert {key: told[key] for key in same} == {key: getattr(CONFIG, key) for key in same}
    assert (told["answers"], told["manual"], told["barge_in"]) == (True, False, "words")


def test_a_silence_that_ends_every_turn() -> None:
    told = settings(
        {
            "type": "server_vad",
            "threshold": 0.7,
            "prefix_padding_ms": 100,
            "silence_duration_ms": 700,
            "create_response": False,
            "interrupt_response": False,
        }
    )
    assert {told[f"{kind}release_ms"] for kind in ("", "early_", "late_")} == {700}
    assert (told["threshold"], told["pre_roll_ms"]) == (0.7, 100)
    assert (told["answers"], told["barge_in"]) == (False, "off")


def test_eagerness_orders_the_silences() -> None:
    low, medium, high = (
        settings({"type": "semantic_vad", "eagerness": word}) for word in ("low", "medium", "high")
    )
    for key in ("release_ms", "late_release_ms"):
        assert low[key] > medium[key] or key == "late_release_ms"
        assert high[key] < low[key]
    assert (high["late_release_ms"], low["late_release_ms"]) == (2000, 8000)
    assert high["release_ms"] < medium["release_ms"] < low["release_ms"]
    assert settings({"type": "semantic_vad", "eagerness": "auto"}) == medium


@pytest.mark.parametrize(
    ("session", "param"),
    [
        ({"type": "transcription"}, "session.type"),
        ({"type": "other"}, "session.type"),
        ({"colour": 1}, "session.colour"),
        ({"instructions": 7}, "session.instructions"),
        ({"instructions": "x" * 40_000}, "session.instructions"),
        ({"max_output_tokens": 0}, "session.max_output_tokens"),
        ({"max_output_tokens": 5000}, "session.max_output_tokens"),
        ({"max_output_tokens": True}, "session.max_output_tokens"),
        ({"max_output_tokens": "many"}, "session.max_output_tokens"),
        ({"output_modalities": ["smell"]}, "session.output_modalities"),
        ({"output_modalities": []}, "session.output_modalities"),
        ({"audio": {"other": {}}}, "session.audio.other"),
        ({"audio": []}, "session.audio"),
        ({"audio": {"output": {"speed": 1.2}}}, "session.audio.output.speed"),
        (
            {"audio": {"input": {"format": {"type": "audio/mp3"}}}},
            "session.audio.input.format.type",
        ),
        ({"audio": {"input": {"format": {"type": "audio/pcm", "rate": 16000}}}}, "rate"),
        ({"audio": {"input": {"format": "pcm16"}}}, "session.audio.input.format"),
        ({"audio": {"input": {"transcription": "on"}}}, "session.audio.input.transcription"),
        ({"audio": {"input": {"turn_detection": {}}}}, "turn_detection.type"),
        ({"audio": {"input": {"turn_detection": {"type": "x"}}}}, "turn_detection.type"),
        (
            {"audio": {"input": {"turn_detection": {"type": "server_vad", "threshold": 2}}}},
            "turn_detection.threshold",
        ),
        (
            {"audio": {"input": {"turn_detection": {"type": "semantic_vad", "eagerness": "x"}}}},
            "turn_detection.eagerness",
        ),
        (
            {"audio": {"input": {"turn_detection": {"type": "server_vad", "create_response": 1}}}},
            "turn_detection.create_response",
        ),
        ({"tools": "all"}, "session.tools"),
    ],
)
def test_a_value_that_is_not_allowed_changes_nothing(session: dict[str, Any], param: str) -> None:
    b = Bench()
    told = b.update(**{"instructions": "New.", **session})
    assert kinds(told) == ["error"]
    assert told[0]["error"]["param"].endswith(param)
    assert b.done == []
    (updated,) = b.update()
    assert updated["session"] == {**b.told[0]["session"]}


def test_an_update_is_shown_whole_and_passed_on_once() -> None:
    b = Bench()
    audio = {
        "input": {"format": {"type": "audio/pcmu"}, "turn_detection": {"type": "server_vad"}},
        "output": {"format": {"type": "audio/pcma"}, "voice": "marin"},
    }
    update = {
        "instructions": "Be brief.",
        "max_output_tokens": "inf",
        "output_modalities": ["text"],
        "audio": audio,
    }
    (told,) = b.update(**update)
    session = told["session"]
    assert session["audio"]["input"]["format"] == {"type": "audio/pcmu"}
    assert session["audio"]["output"]["format"] == {"type": "audio/pcma"}
    assert session["audio"]["output"]["voice"] == "piper-joe-medium", "the one that is heard"
    assert (session["max_output_tokens"], session["output_modalities"]) == ("inf", ["text"])
    assert b.wishes() == [Style(instructions="Be brief.", voice=False, most=0)]
    assert sum(isinstance(action, Settle) for action in b.done) == 1
    (again,) = b.send("session.update", session=session)
    assert again["session"] == session, "what is told can be sent back"
    assert len(b.wishes()) == 1
    assert sum(isinstance(action, Settle) for action in b.done) == 1


def test_what_a_client_leaves_out_stays() -> None:
    b = Bench()
    b.update(instructions="A.", audio={"input": {"turn_detection": {"type": "server_vad"}}})
    (told,) = b.update(max_output_tokens=9)
    assert told["session"]["instructions"] == "A."
    assert told["session"]["audio"]["input"]["turn_detection"]["type"] == "server_vad"
    (told,) = b.update(instructions="")
    assert told["session"]["instructions"] == ""
    assert b.wishes()[-1] == Style(instructions="")


def test_the_answers_of_a_session_are_as_long_as_configured() -> None:
    (created,) = Bench().told
    assert created["session"]["max_output_tokens"] == Config().llm.max_new_tokens
