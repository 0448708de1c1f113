"""What the gate's own benchmark makes of runs."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from benchmarks.gate import STOPPED_S, Verdict, figures, is_right, throttling, verdict
from pipeline.lab.run import Check, Comparison
from tests.pipeline.lab.making import run_of, turn
from tests.pipeline.running import wait_until

PASSED = Verdict(True, frozenset(), ())
ASR = Verdict(False, frozenset({"asr"}), ("late",))
BOTH = Verdict(False, frozenset({"asr", "tts"}), ("late", "late"))


def test_a_run_says_which_stages_it_blames() -> None:
    late = Check(key="q", kind="within_ms", warm=True, passed=False, text="", phase="transcript")
    wrong = Check(key="q", kind="expect", warm=True, passed=False, text="")
    slower = Comparison(key="q", metric="first_audio_ms", pairs=12, ratio=2.0, lower=1.9, upper=2.1,
                        delta_ms=300, regression=True, phase="first_sound")  # fmt: skip
    run = run_of(turn()).model_copy(update={"checks": [late, wrong], "comparisons": [slower]})
    assert verdict(run).stages == {"asr", "tts"}
    assert not verdict(run).passed
    assert verdict(run_of(turn())) == PASSED


@pytest.mark.parametrize(
    ("said", "right"),
    [(ASR, True), (PASSED, False), (BOTH, False), (Verdict(False, frozenset(), ()), False)],
)
def test_a_slowed_run_fails_and_names_its_stage_alone(said: Verdict, right: bool) -> None:
    assert is_right("asr", said) is right


def test_figures() -> None:
    assert figures([PASSED, ASR], {"asr": ASR, "tts": BOTH}) == {
        "passed_share": 0.5,
        "runs": 2,
        "named_share": 0.5,
        "named_share.asr": 1,
        "named_share.tts": 0,
    }


class OneProgram:
    """A target of one program."""

    def __init__(self, pid: int) -> None:
        self.pids = {"asr": pid}


def test_a_throttled_program_is_stopped_again_and_again_and_then_runs() -> None:
    def state(pid: int) -> str:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0]

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as program:
        seen = set()

        async def main() -> None:
            async with throttling(OneProgram(program.pid), "asr"):  # type: ignore[arg-type]
                for _ in range(40):
                    await asyncio.sleep(STOPPED_S / 4)
                    seen.add(state(program.pid))

        asyncio.run(main())
        assert "T" in seen
        assert wait_until(lambda: state(program.pid) != "T", 5)
        os.kill(program.pid, signal.SIGKILL)
