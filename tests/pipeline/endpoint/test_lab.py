"""A suite that is played to a running endpoint."""

import asyncio
import json
from pathlib import Path

import pytest

from pipeline.errors import SessionError
from pipeline.lab.endpoint import EndpointTarget
from pipeline.lab.laboratory import Laboratory
from pipeline.lab.run import About, Run
from pipeline.lab.suite import Suite, read_suite
from tests.pipeline.cli_running import voxring
from tests.pipeline.endpoint.conftest import House
from tests.pipeline.running import tone

SETTINGS = (
    'asr.options={lines = ["What time is it?", "Stop."]}',
    'llm.options={replies = ["It is time to speak, I think.", "Yes."], ids_per_s = 200}',
    "serve.max_load=0",
)
SUITE = """
cold = 0
repeats = 1
[defaults]
file = "clip.wav"
speech_end_s = 0.4
[[conversation]]
name = "talk"
[[conversation.turn]]
name = "one"
text = "What time is it?"
max_wer = 0.0
within_ms = 20_000
[[conversation.turn]]
name = "two"
text = "Stop."
max_wer = 0.0
over_answer_ms = 300
silent_within_ms = 5_000
expect = ["Yes"]
"""


def suite(folder: Path) -> Suite:
    tone(folder / "clip.wav", 0.5)
    path = folder / "suite.toml"
    path.write_text(SUITE)
    return read_suite(path)


def test_a_conversation_with_an_endpoint(house: House, tmp_path: Path) -> None:
    lab = Laboratory(suite(tmp_path), tmp_path, EndpointTarget(house.server.url), tmp_path, About())

    async def work(server: object) -> None:
        await lab.run()
        await house.idle()

    house.run(work)
    run: Run = lab.result()
    assert [check.text for check in run.checks if not check.passed] == []
    one, two = run.turns
    assert (one.outcome, two.outcome) == ("interrupted", "answered")
    assert one.speech_end_source == "manifest", "counted from where the suite knows it to be"
    assert one.first_audio_ms is not None
    assert one.phases["first_audio"] >= one.phases["release"], "heard here, once it was let go"
    assert {"silence", "transcript", "first_id", "first_words", "first_sound"} <= one.phases.keys()
    assert one.voice_late_ms is None, "only the server knows whose a gap is"
    assert two.over_answer_ms == pytest.approx(300, abs=250)
    assert two.silent_ms is not None
    (talk,) = run.conversations
    assert talk.wave
    assert talk.wave.voice
    assert run.usage.cpu_percent.keys() <= {"voxring"}, "the server's programs are its own"


def test_a_server_that_is_not_there() -> None:
    async def work(server: object) -> None:
        await EndpointTarget("ws://127.0.0.1:9").start()

    with pytest.raises(SessionError, match="there is no server of voxring"):
        asyncio.run(work(None))


def test_the_command_says_what_an_endpoint_cannot_be_asked(tmp_path: Path) -> None:
    suite(tmp_path)
    arguments = ("replay", "suite.toml", "--endpoint", "ws://127.0.0.1:9")
    finished = voxring(*arguments, "--set", "turn.release_ms=400", cwd=tmp_path)
    assert finished.code == 2
    assert "Start `voxring serve` with them" in finished.complaint
    finished = voxring(*arguments, "--json", "run.json", cwd=tmp_path)
    assert finished.code == 1
    assert "there is no server of voxring" in finished.err
    assert json.loads((tmp_path / "run.json").read_text())["interrupted"]
