"""What every benchmark's command line does with what goes wrong."""

from typing import NoReturn

import pytest

from benchmarks import metrics
from benchmarks.command import FAILED, INTERRUPTED, MISTAKE, make_parser, run
from pipeline.errors import ConfigError, ModelError, OutputError


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ConfigError("wrong key", "Mend it"), MISTAKE, "error: wrong key. Mend it\n"),
        (OutputError("disk full"), MISTAKE, "error: disk full\n"),
        (ModelError("no model"), FAILED, "error: no model\n"),
        (KeyboardInterrupt(), INTERRUPTED, "interrupted\n"),
    ],
)
def test_an_error_is_one_line_and_a_code(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(*_: object) -> NoReturn:
        raise error

    with pytest.raises(SystemExit) as caught:
        run(metrics.LLM, make_parser(metrics.LLM, "about", ""), [], measure)
    assert caught.value.code == code
    assert capsys.readouterr().err == line
