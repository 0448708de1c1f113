"""What a client is told, event by event, without a pipeline."""

import json

import pytest

from pipeline.endpoint.realtime.actions import Ask, Cut, Feed, Order, Settle
from pipeline.events import Fault, SoundCut, TurnBegan, TurnClosed, UserText
from stages.llm.part import Source
from stages.llm.wishes import Insert, Remove, Style, Truncate
from stages.messages import Command
from stages.outcome import Outcome
from tests.pipeline.endpoint.realtime.bench import WORDS, Bench, find, kinds, message, pcm
from tests.pipeline.endpoint.realtime.shapes import check

ITEM = ["conversation.item.added", "conversation.item.done"]
BEGINNING = ["response.created", "rate_limits.updated"]
OPENING = [
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
]
CLOSING = [
    "response.content_part.done",
    "response.output_item.done",
    "conversation.item.done",
    "response.done",
]


@pytest.fixture
def b() -> Bench:
    return Bench()


def test_a_session_begins_with_its_settings(b: Bench) -> None:
    (created,) = b.told
    session = created["session"]
    assert created["type"] == "session.created"
    assert (session["type"], session["model"]) == ("realtime", "gpt-realtime")
    assert session["audio"]["input"]["format"] == {"type": "audio/pcm", "rate": 24_000}
    assert session["audio"]["input"]["turn_detection"]["type"] == "semantic_vad"
    assert session["output_modalities"] == ["audio"]
    check(b.told)


def test_a_spoken_turn_and_its_answer(b: Bench) -> None:
    spoken = b.speak("What time is it?")
    assert kinds(spoken) == [
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        *ITEM,
        "conversation.item.input_audio_transcription.delta",
        "conversation.item.input_audio_transcription.completed",
    ]
    assert (spoken[0]["audio_start_ms"], spoken[1]["audio_end_ms"]) == (100, 900)
    assert len({event.get("item_id") or event["item"]["id"] for event in spoken}) == 1
    assert spoken[-1]["transcript"] == spoken[-2]["delta"] == "What time is it?"
    began = b.release(voice=True)
    assert kinds(began) == BEGINNING
    answered = b.answer_all()
    assert kinds(answered) == [
        *OPENING,
        "response.output_audio_transcript.delta",
        "response.output_audio_transcript.delta",
        *["response.output_audio.delta"] * 5,
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        *CLOSING,
    ]
    deltas = [e["delta"] for e in answered if e["type"].endswith("transcript.delta")]
    assert "".join(deltas) == b.words
    done = answered[-1]["response"]
    assert (done["status"], done["status_details"]) == ("completed", None)
    assert done["output"][0]["content"] == [{"type": "output_audio", "transcript": b.words}]
    usage = done["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (40, len(b.words))
    assert usage["input_token_details"]["cached_tokens"] == 38
    assert usage["total_tokens"] == 40 + len(b.words)
    check(b.told)


def test_items_are_in_order(b: Bench) -> None:
    b.speak()
    b.release(voice=True)
    b.answer_all()
    b.send("conversation.item.create", item=message("more", id="mine"))
    b.speak()
    added = [e for e in b.told if e["type"] == "conversation.item.added"]
    names = [event["item"]["id"] for event in added]
    assert [event["previous_item_id"] for event in added] == [None, *names[:-1]]
    assert names[2] == "mine"
    committed = [e for e in b.told if e["type"] == "input_audio_buffer.committed"]
    assert committed[-1]["previous_item_id"] == "mine"


def test_only_final_words_are_told(b: Bench) -> None:
    b.happen(TurnBegan(1, 0))
    assert b.happen(UserText(1, "What", False)) == []
    assert b.happen(UserText(1, "What rhyme?", True)) == [], "the speaker may go on"
    assert b.happen(UserText(1, "What time is", False)) == []
    assert not any("transcription" in kind for kind in kinds(b.happen(TurnClosed(1, 900))))
    told = b.happen(UserText(1, "What time is it?", True))
    assert [e.get("delta") or e["transcript"] for e in told] == ["What time is it?"] * 2
    assert b.happen(UserText(1, "What time is it now?", True)) == []


def test_transcription_can_be_turned_off(b: Bench) -> None:
    b.update(audio={"input": {"transcription": None}})
    assert not any("transcription" in kind for kind in kinds(b.speak()))
    b.update(audio={"input": {"transcription": {"model": "whisper-1"}}})
    assert any("transcription" in kind for kind in kinds(b.speak()))


def test_a_turn_whose_words_are_lost_has_a_failed_transcription(b: Bench) -> None:
    b.speak(final=False)
    b.happen(Fault(1, "stage asr was killed"))
    told = b.end(Outcome.FAILED, said="")
    assert kinds(told) == ["conversation.item.input_audio_transcription.failed"]
    check(b.told)


def test_a_turn_that_fails_while_somebody_speaks_stops(b: Bench) -> None:
    b.turn = 1
    b.happen(TurnBegan(1, 0))
    assert kinds(b.end(Outcome.FAILED)) == ["input_audio_buffer.speech_stopped"]


@pytest.mark.parametrize(
    ("outcome", "limited", "status", "reason"),
    [
        (Outcome.ANSWERED, False, "completed", None),
        (Outcome.ANSWERED, True, "incomplete", "max_output_tokens"),
        (Outcome.EMPTY, False, "completed", None),
        (Outcome.NO_SPEECH, False, "completed", None),
        (Outcome.INTERRUPTED, False, "cancelled", "turn_detected"),
        (Outcome.FAILED, False, "failed", None),
        (Outcome.TIMED_OUT, False, "failed", None),
    ],
)
def test_how_a_response_ends(outcome: Outcome, limited: bool, status: str, reason: str) -> None:
    b = Bench()
    b.speak()
    b.release(voice=True)
    if outcome is Outcome.ANSWERED:
        done = b.answer_all(limited=limited)[-1]["response"]
    else:
        done = b.end(outcome)[-1]["response"]
        assert done["output"] == []
    assert done["status"] == status
    assert (done["status_details"] or {}).get("reason") == reason
    assert done["usage"]["total_tokens"] >= 0
    if status == "failed":
        assert done["status_details"]["error"]["type"] == "server_error"
    check(b.told)


def test_an_interrupted_answer_keeps_what_was_heard(b: Bench) -> None:
    b.speak()
    b.release(voice=True)
    b.write(20)
    b.sound(100, 0, 5)
    b.happen(SoundCut(1))
    told = b.end(Outcome.INTERRUPTED, heard="It is")
    assert Cut(1) in b.done
    item = find(told, "response.output_item.done")["item"]
    assert item["status"] == "incomplete"
    assert item["content"] == [{"type": "output_audio", "transcript": "It is"}]
    assert find(told, "response.output_audio_transcript.done")["transcript"] == "It is"
    assert "response.output_audio.done" in kinds(told)
    assert b.item(item["id"]) == item


def test_a_response_is_cancelled(b: Bench) -> None:
    b.send("response.create")
    response = b.release()[0]["response"]
    b.write(5)
    assert b.send("response.cancel", response_id=response["id"]) == []
    assert b.orders()[-1] is Command.CANCEL
    done = b.end(Outcome.INTERRUPTED, heard="")[-1]["response"]
    assert done["status_details"] == {"type": "cancelled", "reason": "client_cancelled"}
    assert b.refused("response.cancel")["code"] == "response_cancel_not_active"
    b.send("response.create")
    b.release()
    refused = b.refused("response.cancel", response_id="resp_other", event_id="e1")
    assert (refused["param"], refused["event_id"]) == ("response_id", "e1")


def test_a_response_that_is_cancelled_before_it_begins(b: Bench) -> None:
    b.send("response.create")
    told = b.send("response.cancel")
    assert kinds(told) == ["response.created", "rate_limits.updated", "response.done"]
    assert told[-1]["response"]["status"] == "cancelled"
    assert b.release() == [], "it was spoken for a moment"
    assert b.end(Outcome.INTERRUPTED) == []
    b.send("response.create")
    assert kinds(b.release()) == BEGINNING


def test_what_was_cancelled_while_the_user_spoke_does_not_silence_the_answer_to_it(
    b: Bench,
) -> None:
    b.turn += 1
    b.happen(TurnBegan(b.turn, 100))
    b.send("response.create")
    b.send("response.cancel")
    b.happen(UserText(b.turn, "Hello?", True))
    b.happen(TurnClosed(b.turn, 900))
    assert kinds(b.release(voice=True)) == BEGINNING
    assert find(b.answer_all(), "response.done")["response"]["status"] == "completed"


@pytest.mark.parametrize("outcome", [Outcome.TIMED_OUT, Outcome.FAILED])
def test_a_response_that_was_asked_for_behind_a_turn_that_failed_is_told(
    b: Bench, outcome: Outcome
) -> None:
    """It was waited for, for ever, and every other one was refused."""
    b.manual()
    b.turn += 1
    b.happen(TurnBegan(b.turn, 100))
    b.send("response.create")
    b.happen(TurnClosed(b.turn, 900))
    told = b.end(outcome)
    assert find(told, "response.done")["response"]["status"] == "failed"
    b.send("response.create")
    assert kinds(b.release()) == BEGINNING


def test_one_response_at_a_time(b: Bench) -> None:
    b.send("response.create")
    code = "conversation_already_has_active_response"
    assert b.refused("response.create", event_id="again")["code"] == code
    b.release()
    assert b.refused("response.create")["code"] == code
    b.end()
    assert b.send("response.create") == []
    assert b.orders() == [Command.RESPOND] * 2


def test_a_response_in_text(b: Bench) -> None:
    b.send("response.create", response={"output_modalities": ["text"], "metadata": {"a": "b"}})
    created = b.release()[0]["response"]
    assert (created["output_modalities"], created["metadata"]) == (["text"], {"a": "b"})
    b.write(5)
    assert b.sound(0, 0, 5) == []
    told = b.write(len(b.words))
    assert kinds(told) == ["response.output_text.delta"]
    ended = b.end()
    assert kinds(ended) == ["response.output_text.done", *CLOSING]
    content = ended[-1]["response"]["output"][0]["content"]
    assert content == [{"type": "output_text", "text": b.words}]
    check(b.told)


def test_a_response_in_a_style_of_its_own(b: Bench) -> None:
    b.send("response.create", response={"instructions": "Rhyme.", "max_output_tokens": 7})
    (style,) = b.wishes()
    assert style == Style(instructions="Rhyme.", voice=True, most=7, once=True)
    b.release()
    b.end()
    b.send("response.create")
    assert b.wishes()[-1] == Style(voice=True, most=60, once=True)


def test_a_typed_message_reaches_the_model_in_its_place(b: Bench) -> None:
    told = b.send("conversation.item.create", item=message("One.", id="one"))
    assert kinds(told) == ITEM
    assert told[0]["item"]["content"] == [{"type": "input_text", "text": "One."}]
    b.send("conversation.item.create", item=message("Two.", "assistant", id="two"))
    b.send("conversation.item.create", item=message("First.", "system"), previous_item_id="root")
    told = b.send("conversation.item.create", item=message("M."), previous_item_id="one")
    assert told[0]["previous_item_id"] == "one"
    typed, opening = Source.TYPED, (int(Source.OPENING), 0)
    assert b.wishes() == [
        Insert(source=typed, number=1, text="One.", behind=0),
        Insert(source=Source.WRITTEN, number=2, text="Two.", behind=0),
        Insert(source=typed, number=3, text="First.", behind=0, after=opening),
        Insert(source=typed, number=4, text="M.", behind=0, after=(int(typed), 1)),
    ]
    assert b.refused("conversation.item.create", item=message("x"), previous_item_id="no")[
        "code"
    ] == ("item_not_found")
    code = b.refused("conversation.item.create", item=message("x", id="one"))["code"]
    assert code == "item_already_exists"
    check(b.told)


def test_what_is_typed_while_somebody_speaks_stands_behind_their_words(b: Bench) -> None:
    b.turn = 7
    b.speak()
    b.happen(TurnBegan(9, 0))
    b.send("conversation.item.create", item=message("x"))
    assert b.wishes()[-1].behind == 9


def test_what_is_typed_behind_a_commit_stands_behind_its_words() -> None:
    b = Bench(turn=3)
    b.manual()
    b.send("input_audio_buffer.append", audio=pcm(200))
    b.send("input_audio_buffer.commit")
    b.send("conversation.item.create", item=message("x"))
    assert b.wishes()[-1].behind == 4


def test_items_are_deleted_and_retrieved(b: Bench) -> None:
    b.speak("Hello?")
    id = find(b.told, "conversation.item.added")["item"]["id"]
    assert b.item(id)["content"] == [{"type": "input_audio", "transcript": "Hello?"}]
    deleted = b.send("conversation.item.delete", item_id=id)
    assert kinds(deleted) == ["conversation.item.deleted"]
    assert b.wishes() == [Remove(source=Source.WORDS, number=1)]
    for kind in ("delete", "retrieve"):
        refused = b.refused(f"conversation.item.{kind}", item_id=id, event_id="e")
        assert (refused["code"], refused["param"]) == ("item_not_found", "item_id")
    check(b.told)


def heard_answer(b: Bench) -> str:
    """An answer that was played to its end: 100 ms for each five letters; its item."""
    b.speak()
    b.release(voice=True)
    return str(b.answer_all()[0]["item"]["id"])


@pytest.mark.parametrize(
    ("ms", "count", "text"),
    [(0, 0, ""), (99, 0, ""), (100, 5, "It is"), (250, 10, "It is time"), (500, 25, WORDS)],
)
def test_truncation_ends_at_the_last_word_that_was_heard(
    b: Bench, ms: int, count: int, text: str
) -> None:
    item = heard_answer(b)
    told = b.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=ms)
    assert kinds(told) == ["conversation.item.truncated"]
    assert told[0]["audio_end_ms"] == ms
    assert b.wishes()[-1] == Truncate(source=Source.REPLY, number=1, count=count)
    shown = b.item(item)["content"][0]["transcript"]
    assert shown == text
    check(b.told)


def test_truncation_that_makes_no_sense(b: Bench) -> None:
    item = heard_answer(b)
    user = find(b.told, "input_audio_buffer.committed")["item_id"]
    place = {"content_index": 0, "audio_end_ms": 0}
    kind = "conversation.item.truncate"
    assert b.refused(kind, item_id=user, **place)["param"] == "item_id"
    assert b.refused(kind, item_id="no", **place)["code"] == "item_not_found"
    for wrong in ({"content_index": 1}, {"audio_end_ms": -1}, {"audio_end_ms": 9000}):
        refused = b.refused(kind, item_id=item, **{**place, **wrong})
        assert refused["param"] == next(iter(wrong))
    assert b.refused(kind, item_id=item, content_index=0)["code"] == "missing_required_parameter"
    assert b.wishes() == []


def test_sound_is_heard_at_the_pipelines_rate(b: Bench) -> None:
    for _ in range(10):
        b.send("input_audio_buffer.append", audio=pcm(100))
    assert abs(b.fed() - 16_000) < 400, "but for what the resampler holds"
    assert b.refused("input_audio_buffer.append", audio="AAAA!")["param"] == "audio"
    assert b.refused("input_audio_buffer.append", audio="AAA")["code"] == "invalid_value"
    assert b.refused("input_audio_buffer.append", audio=7)["code"] == "invalid_value"
    assert b.refused("input_audio_buffer.append")["code"] == "missing_required_parameter"
    assert b.send("input_audio_buffer.append", audio="") == []


def test_the_client_commits(b: Bench) -> None:
    b.manual()
    (settle,) = [a for a in b.done if isinstance(a, Settle)]
    assert (settle.settings.manual, settle.settings.answers) == (True, False)
    code = "input_audio_buffer_commit_empty"
    assert b.refused("input_audio_buffer.commit")["code"] == code
    b.send("input_audio_buffer.append", audio=pcm(60))
    assert b.refused("input_audio_buffer.commit")["code"] == code
    b.send("input_audio_buffer.append", audio=pcm(60))
    assert b.send("input_audio_buffer.commit") == []
    assert b.orders() == [Command.COMMIT]
    assert abs(b.fed() - 1920) <= 2, "with the resampler's rest"
    told = b.speak()
    assert not any("speech" in kind for kind in kinds(told)), "nobody looks for a voice"
    assert kinds(told)[:3] == ["input_audio_buffer.committed", *ITEM]
    assert b.refused("input_audio_buffer.commit")["code"] == code


def test_a_buffer_is_cleared(b: Bench) -> None:
    b.manual()
    b.send("input_audio_buffer.append", audio=pcm(200))
    assert kinds(b.send("input_audio_buffer.clear")) == ["input_audio_buffer.cleared"]
    assert b.orders() == [Command.CLEAR]
    assert b.refused("input_audio_buffer.commit")["code"] == "input_audio_buffer_commit_empty"


def test_where_the_client_commits_its_sound_waits_for_the_end_of_a_response(b: Bench) -> None:
    b.manual()
    b.send("response.create")
    b.release()
    b.send("input_audio_buffer.append", audio=pcm(200))
    b.send("input_audio_buffer.commit")
    b.send("input_audio_buffer.append", audio=pcm(200))
    b.send("input_audio_buffer.clear")
    assert b.fed() == 0
    b.end()
    behind = [a for a in b.done if isinstance(a, Feed | Order)]
    assert [type(a) for a in behind] == [Order, Feed, Feed, Order]
    assert abs(b.fed() - 3200) <= 2
    b.send("response.create")
    for _ in range(60):
        b.send("input_audio_buffer.append", audio=pcm(1000))
    refused = b.refused("input_audio_buffer.append", audio=pcm(1000))
    assert refused["code"] == "input_audio_buffer_full"


def test_what_is_cleared_while_it_waits_makes_room(b: Bench) -> None:
    b.manual()
    b.send("response.create")
    b.release()
    b.send("input_audio_buffer.append", audio=pcm(1000))
    b.send("input_audio_buffer.commit")
    for _ in range(3):
        for _ in range(59):
            assert b.send("input_audio_buffer.append", audio=pcm(1000)) == []
        refused = b.refused("input_audio_buffer.append", audio=pcm(1))
        assert refused["code"] == "input_audio_buffer_full", "what was committed still waits"
        b.send("input_audio_buffer.clear")


def test_while_a_response_is_active_sound_without_samples_does_not_pile_up(b: Bench) -> None:
    b.manual()
    b.send("response.create")
    b.release()
    for _ in range(100):
        assert b.send("input_audio_buffer.append", audio="") == []
    b.end()
    assert not [action for action in b.done if isinstance(action, Feed)]


def test_sound_for_which_there_is_no_room_is_not_even_decoded(b: Bench) -> None:
    b.manual()
    b.send("response.create")
    b.release()
    for _ in range(60):
        b.send("input_audio_buffer.append", audio=pcm(1000))
    refused = b.refused("input_audio_buffer.append", audio="?" * 40_000)
    assert refused["code"] == "input_audio_buffer_full"


def test_with_a_voice_detector_only_speech_can_be_committed(b: Bench) -> None:
    b.send("input_audio_buffer.append", audio=pcm(500))
    assert b.refused("input_audio_buffer.commit")["code"] == "input_audio_buffer_commit_empty"
    b.happen(TurnBegan(1, 0))
    b.send("input_audio_buffer.commit")
    assert b.orders() == [Command.COMMIT]


def test_tools_get_one_error_and_the_rest_is_done(b: Bench) -> None:
    tools = [{"type": "function", "name": "f", "parameters": {}}]
    told = b.update(tools=tools, instructions="Hi.", tool_choice="auto")
    assert kinds(told) == ["session.updated", "error"]
    assert told[0]["session"]["tools"] == []
    assert "not supported yet" in told[1]["error"]["message"]
    assert b.wishes() == [Style(instructions="Hi.")]
    told = b.send("response.create", response={"tools": tools})
    assert kinds(told) == ["error"]
    assert kinds(b.release()) == BEGINNING
    item = {"type": "function_call_output", "call_id": "c", "output": "{}"}
    assert "not supported yet" in b.refused("conversation.item.create", item=item)["message"]
    assert b.update(tools=[])[0]["type"] == "session.updated"


def test_a_stage_that_fails_is_told_and_ends_a_response_that_was_asked_for(b: Bench) -> None:
    b.send("response.create")
    told = b.happen(Fault(0, "stage llm was killed"))
    assert kinds(told) == ["error", "response.created", "rate_limits.updated", "response.done"]
    assert told[0]["error"]["type"] == "server_error"
    error = told[-1]["response"]["status_details"]["error"]
    assert error["message"] == "stage llm was killed"
    check(b.told)
    b.send("response.create")
    assert kinds(b.release()) == BEGINNING


def test_an_answer_whose_end_comes_behind_the_next_ones_beginning_was_interrupted(
    b: Bench,
) -> None:
    b.speak()
    b.release(voice=True)
    b.write(9)
    item = find(b.told, "response.output_item.added")["item"]["id"]
    told = b.release()
    assert kinds(told)[-3:] == ["response.done", *BEGINNING]
    assert told[-3]["response"]["status_details"]["reason"] == "turn_detected"
    b.turn, b.answer = 1, 1
    assert b.end(Outcome.INTERRUPTED, heard="It") == []
    assert b.item(item)["content"][0]["transcript"] == "It"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b'{"type": "response.create"}', "invalid_message"),
        ("", "invalid_json"),
        ("{", "invalid_json"),
        ("[1]", "invalid_json"),
        ("null", "invalid_json"),
        ('{"type": NaN}', "invalid_json"),
        ("[" * 100_000, "invalid_json"),
        ('{"a":' * 100_000, "invalid_json"),
        ("{}", "missing_required_parameter"),
        ('{"type": null}', "missing_required_parameter"),
        ('{"type": 7}', "invalid_value"),
        ('{"type": ["a"]}', "invalid_value"),
        ('{"type": "response.done"}', "invalid_value"),
        ('{"type": "' + "x" * 100_000 + '"}', "invalid_value"),
        ('{"type": "session.update"}', "missing_required_parameter"),
        ('{"type": "session.update", "session": []}', "invalid_value"),
        ('{"type": "session.update", "session": {}}', "missing_required_parameter"),
        ('{"type": "response.create", "response": {"colour": 1}}', "unknown_parameter"),
        ('{"type": "response.create", "colour": 1}', "unknown_parameter"),
    ],
)
def test_a_message_that_is_none_is_told_and_costs_nothing(b: Bench, text: str, code: str) -> None:
    (event,) = b.take(b.core.receive(text))
    assert event["error"]["code"] == code
    assert event["error"]["type"] == "invalid_request_error"
    assert len(json.dumps(event)) < 2000, "what was sent is not sent back"
    check([event])
    assert b.done == []


def test_half_a_surrogate_pair_is_no_character(b: Bench) -> None:
    text = '{"type": "conversation.item.create", "item": {"type": "message", "role": "user", '
    text += '"content": [{"type": "input_text", "text": "a\\ud800b"}]}}'
    told = b.take(b.core.receive(text))
    assert told[0]["item"]["content"][0]["text"] == "a?b"
    (wish,) = b.wishes()
    assert wish.model_dump_json()


def test_sound_is_as_long_as_it_was(b: Bench) -> None:
    b.speak()
    b.release(voice=True)
    (event,) = b.sound(100, 0, 5)[-1:]
    assert len(event["delta"]) == len(pcm(100))


def test_the_beta_protocol_has_its_own_names() -> None:
    b = Bench(is_beta=True)
    assert kinds(b.told) == ["session.created", "conversation.created"]
    b.speak()
    b.release(voice=True)
    b.answer_all()
    b.send("response.create", response={"modalities": ["text"]})
    b.release()
    b.write(4)
    b.end()
    names = set(kinds(b.told))
    assert {
        "response.audio.delta",
        "response.audio_transcript.done",
        "response.text.delta",
    } <= names
    assert "conversation.item.created" in names
    assert not any(
        "output_audio" in name or "item.added" in name
        for name in names - {"response.output_item.added"}
    )
    session = b.told[0]["session"]
    assert session["input_audio_format"] == "pcm16"
    check(b.told, is_beta=True)


def test_a_flat_session_asks_for_the_beta_protocol(b: Bench) -> None:
    session = {
        "modalities": ["text", "audio"],
        "input_audio_format": "g711_ulaw",
        "output_audio_format": "g711_alaw",
        "turn_detection": {"type": "server_vad", "silence_duration_ms": 700},
        "temperature": 0.8,
        "voice": "alloy",
        "max_response_output_tokens": "inf",
    }
    (updated,) = b.send("session.update", session=session)
    assert updated["session"]["output_audio_format"] == "g711_alaw"
    assert updated["session"]["max_response_output_tokens"] == "inf"
    assert "audio" not in updated["session"]
    b.speak()
    b.release(voice=True)
    b.write(3)
    sound = b.sound(300, 0, 5)
    assert kinds(sound) == ["response.audio.delta"]
    asked = [a for a in b.done if isinstance(a, Ask)]
    assert asked[0].wish == Style(most=0, temperature=0.8)
    check(b.told[1:], is_beta=True)
