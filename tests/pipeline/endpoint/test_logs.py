"""Lines of the log: one for each thing, whole whatever stands in it."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from pipeline.endpoint.logs import SessionLog
from pipeline.log_lines import JsonLines, TextLines, configure


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    before = logging.root.handlers[:], logging.root.level
    yield io.StringIO()
    logging.root.handlers[:], level = before
    logging.root.setLevel(level)
    logging.getLogger("voxring.endpoint").setLevel(logging.NOTSET)


def test_a_line_for_a_machine_is_one_json_object(stream: io.StringIO) -> None:
    configure(JsonLines("serve"), "info", stream)
    log = SessionLog("abc")
    log.bind(lane=3)
    log.info("turn ended", turn=2, outcome="answered", odd='a\nb"c\u2028')
    try:
        raise ValueError("broken\nin two")
    except ValueError:
        log.exception("failed")
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert first["event"] == "turn ended"
    assert (first["level"], first["program"]) == ("info", "serve")
    assert (first["session"], first["lane"], first["turn"]) == ("abc", 3, 2)
    assert first["odd"] == 'a\nb"c\u2028'
    assert first["at"].endswith("Z")
    assert "ValueError: broken" in second["traceback"]


def test_a_line_for_people_is_one_line(stream: io.StringIO) -> None:
    configure(TextLines(), "info", stream)
    SessionLog("abc").info("connected", peer="a b", note='x"\ny', ms=1.25)
    (line,) = stream.getvalue().splitlines()
    assert line.endswith('info connected session=abc peer="a b" note="x\\"\\ny" ms=1.2')


def test_less_is_written_where_less_is_asked_for(stream: io.StringIO) -> None:
    configure(TextLines(), "error", stream)
    logging.getLogger("pipeline.supervisor").warning("not this")
    logging.getLogger("pipeline.supervisor").error("but this")
    assert stream.getvalue().count("\n") == 1


def test_what_people_say_is_kept_only_where_that_is_asked_for() -> None:
    texts = {"user": "my secret", "reply": ""}
    assert SessionLog("a").texts(**texts) == {"user_chars": 9, "reply_chars": 0}
    assert SessionLog("a", keeps_input=True).texts(**texts) == texts
