"""docs/realtime.md lists what is there."""

import re
from pathlib import Path

from pipeline.endpoint.realtime import core, fields, microphone, problem, taking
from pipeline.endpoint.realtime.settings import IGNORED
from tests.pipeline.endpoint.realtime.bench import Bench
from tests.pipeline.endpoint.realtime.shapes import TODAY

FOLDER = Path(core.__file__).parent
PAGE = (Path(__file__).parents[4] / "docs" / "realtime.md").read_text(encoding="utf-8")


def test_every_event_of_a_client_is_in_the_table() -> None:
    for kind in Bench().core._clients:
        assert f"| `{kind}` | served |" in PAGE


def test_every_event_of_the_protocol_is_told_or_said_to_be_missing() -> None:
    families = tuple(re.findall(r"`([a-z_.]+)\*`", PAGE))
    for kind in TODAY:
        family, _, last = kind.rpartition(".")
        is_named = f"`{kind}`" in PAGE or (f".{last}`" in PAGE and f"`{family}." in PAGE)
        assert is_named or kind.startswith(families), kind


def test_every_error_is_there() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py"))
    raised = set(re.findall(r'RefusedError\(\s*[^()]*?"([a-z_]+)"', text))
    raised |= {"invalid_value", "unsupported_value", "missing_required_parameter"}
    assert len(raised) > 8
    for code in raised:
        assert f"`{code}`" in PAGE, code
    assert problem.LONGEST_QUOTE < 200


def test_limits_are_there() -> None:
    for number in (microphone.LEAST_COMMIT_MS, taking.LONGEST_SILENCE_MS, fields.LONGEST_TEXT):
        assert f"{number:,}" in PAGE
    for key in IGNORED:
        assert f"`{key}`" in PAGE
