"""What was said, one line for each turn."""

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.client_lane import ClientLane
from pipeline.errors import OutputError
from pipeline.events import Fault, TurnEnded, UserText
from pipeline.session_name import session_file
from pipeline.timeline import Timeline
from pipeline.tokenizer import ByteVocabulary
from pipeline.transcript import Transcript
from pipeline.transcript_file import TranscriptFile
from stages.event import Event
from stages.outcome import Outcome
from tests.lanes import open_lanes

OPENED = 1_769_851_800_123_456_789  # 2026-01-31T09:30:00.123Z
SECOND = 1_000_000_000
AHEAD = OPENED - 50 * SECOND  # the monotonic clock said 50 s


def ended(turn: int = 1, outcome: Outcome = Outcome.ANSWERED, user: str = "Hi?") -> TurnEnded:
    at = {Event.SPEECH_START: 51_500_000_000, Event.FIRST_AUDIO: 54 * SECOND}
    timeline = Timeline(0, turn, turn, outcome, at, {}, 53_600_000_000, "vad")
    return TurnEnded(timeline, user, "Good day.", "Good")


def test_a_line_has_everything() -> None:
    transcript = Transcript(OPENED, AHEAD)
    assert transcript.take(UserText(1, "Hi?"), OPENED) is None
    assert transcript.take(Fault(1, "tts: broken"), OPENED) is None
    line = transcript.take(ended(outcome=Outcome.INTERRUPTED), OPENED + 5 * SECOND)
    assert json.loads(line or "") == {
        "session": "2026-01-31T09:30:00.123+00:00",
        "time": "2026-01-31T09:30:05.123+00:00",
        "turn": 1,
        "began_s": 1.5,
        "user": "Hi?",
        "reply": "Good day.",
        "heard": "Good",
        "interrupted": True,
        "outcome": "interrupted",
        "first_audio_ms": 400.0,
        "faults": ["tts: broken"],
    }
    assert json.loads(transcript.take(ended(), OPENED) or "")["faults"] == []


@settings(max_examples=20)
@given(st.text())
def test_every_text_is_one_line(text: str) -> None:
    line = Transcript(OPENED, AHEAD).take(ended(user=text), OPENED) or ""
    assert "\n" not in line
    assert json.loads(line)["user"] == text


def test_names_tell_when_and_where() -> None:
    path = session_file("kept", OPENED, 3, ".jsonl")
    assert path == Path("kept/2026-01-31T09-30-00.123456Z-lane-3.jsonl")
    assert session_file("~/kept", OPENED, 3, ".wav").is_relative_to(Path.home())


def kept(path: Path) -> TranscriptFile:
    return TranscriptFile(path, Transcript(OPENED, AHEAD), lambda: OPENED)


def test_each_turn_is_on_the_disk_when_it_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    file = kept(path)
    assert not path.exists()
    for turn in (1, 2, 3):
        file.take(ended(turn, user="caf\udcff"))  # half of a character, as file names may have
        lines = path.read_text("utf-8").split("\n")
        assert [json.loads(line)["turn"] for line in lines[:-1]] == list(range(1, turn + 1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(OutputError, match=r"File exists\. .* with pipeline\.transcripts"):
        kept(path).take(ended())


def test_half_a_line_is_never_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = kept(tmp_path / "a.jsonl")
    file.take(ended(1))
    before = file.path.read_bytes()
    data = FullDisk(b"{half a line")
    with pytest.raises(OSError, match="No space"):
        file._append(data)
    assert file.path.read_bytes() == before


class FullDisk(bytes):
    """Data of which a part is written before the disk is full."""

    def __getitem__(self, key):  # type: ignore[no-untyped-def,override]
        raise OSError(28, "No space left on device")


def test_an_error_of_the_disk_is_one_fault(tmp_path: Path) -> None:
    with open_lanes() as make_lane:
        never = lambda *args: pytest.fail("not asked for")  # noqa: E731
        lane = ClientLane(make_lane("control")._lane, ByteVocabulary(), never, never, never)
        lane.transcript = kept(tmp_path / "gone" / "a.jsonl")
        lane.tell(ended(1))
        lane.tell(ended(2))
        told = [lane._events.get_nowait() for _ in range(3)]
    assert told[1:] == [ended(1), ended(2)]
    assert isinstance(told[0], Fault)
    assert "cannot be written: No such file or directory" in told[0].message
