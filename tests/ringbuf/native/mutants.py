"""Weakens one order at a time and expects that ThreadSanitizer or Spin notices.

`python -m tests.ringbuf.native.mutants` prints the table and fails if a mutant survives.

An order that hands plain memory over is a data race without it: race.c under ThreadSanitizer. A
store that must be seen before the next load is a lost wake-up without it: doorbell.pml, where
stores wait in buffers. Orders that do both have a mutant for each.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

HERE = Path(__file__).parent
HEADER = HERE.parents[2] / "ringbuf" / "_ring.h"
RACE, MODEL = HERE / "race.c", HERE / "doorbell.pml"
SCENES = ("ring", "want", "bell", "word", "life", "park")
RACY, LOST = 66, 1
COMPILERS = ("gcc", "clang", "cc")
TIMEOUT_S = 100


class Tool(StrEnum):
    TSAN = "ThreadSanitizer"
    SPIN = "Spin"


@dataclass(frozen=True)
class Mutant:
    """One change that must be noticed.

    Attributes:
        name: the order, without ORDER_; or what is changed in the protocol.
        change: for people.
        tool: which one must notice.
        flag: how it is compiled.
    """

    name: str
    change: str
    tool: Tool
    flag: str


def relaxed(name: str, was: str) -> Mutant:
    return Mutant(name, f"{was} → relaxed", Tool.TSAN, f"-DORDER_{name}=memory_order_relaxed")


def weak(name: str, to: str) -> Mutant:
    return Mutant(name, f"seq_cst → {to}", Tool.SPIN, f"-DWEAK_{name}")


MUTANTS = (
    relaxed("HEAD_STORE", "release"),
    relaxed("HEAD_LOAD", "acquire"),
    relaxed("TAIL_STORE", "seq_cst"),
    relaxed("TAIL_LOAD", "acquire"),
    relaxed("WANT_TAIL", "seq_cst"),
    relaxed("WORK_SET", "seq_cst"),
    relaxed("WORK_TAKE", "acquire"),
    relaxed("WORD_STORE", "release"),
    relaxed("WORD_LOAD", "acquire"),
    relaxed("LIFE_STORE", "release"),
    relaxed("LIFE_LOAD", "acquire"),
    weak("WORK_SET", "release"),
    weak("ASLEEP_LOAD", "acquire"),
    weak("ASLEEP_STORE", "release"),
    weak("WORK_LOAD", "acquire"),
    weak("TAIL_STORE", "release"),
    weak("WANT_LOAD", "acquire"),
    weak("WANT_STORE", "release"),
    weak("WANT_TAIL", "acquire"),
    Mutant("re-check", "asleep = 1, then sleep without a look", Tool.SPIN, "-DNO_RECHECK"),
    Mutant("exchange", "the byte first, then asleep = 0", Tool.SPIN, "-DLATE_EXCHANGE"),
    Mutant("drain", "the pipe is emptied after the look at life", Tool.SPIN, "-DLATE_DRAIN"),
    Mutant("nudge", "the supervisor rings like anyone else", Tool.SPIN, "-DNO_NUDGE"),
    Mutant("life", "the byte first, then the word", Tool.SPIN, "-DLATE_LIFE"),
)


def orders() -> set[str]:
    """The names of all orders in _ring.h that something depends on."""
    return set(re.findall(r"^#define ORDER_(\w+)", HEADER.read_text(encoding="utf-8"), re.M))


def has_tsan(compiler: str) -> bool:
    """Whether a compiler can build and run a program with ThreadSanitizer."""
    if not shutil.which(compiler):
        return False
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "empty.c"
        source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
        built = _run([compiler, "-fsanitize=thread", str(source), "-o", f"{folder}/empty"])
        return built.returncode == 0 and _run([f"{folder}/empty"]).returncode == 0


def find_compiler() -> str | None:
    """A C compiler with ThreadSanitizer, or None."""
    return next(filter(has_tsan, COMPILERS), None)


def find_spin() -> str | None:
    """Spin, or None; it needs a C compiler too."""
    return shutil.which("spin") if any(map(shutil.which, COMPILERS)) else None


def race(compiler: str, flags: list[str]) -> str:
    """What ThreadSanitizer says of race.c; empty if it has nothing to say.

    Raises:
        RuntimeError: it could not be built or ran into something else.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/race"
        options = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-fsanitize=thread"]
        _checked([compiler, *options, *flags, str(RACE), "-o", program, "-lpthread"])
        done = _run([program, *SCENES], TSAN_OPTIONS=f"exitcode={RACY} halt_on_error=1")
        if done.returncode == RACY:
            return "data race"
        if done.returncode == LOST:
            return done.stderr.splitlines()[0]
        if done.returncode:
            raise RuntimeError(done.stderr)
        return ""


def model(spin: str, flags: list[str]) -> str:
    """What Spin says of doorbell.pml; empty if it has nothing to say.

    Raises:
        RuntimeError: it could not be built, or the search was not complete.
    """
    compiler = next(filter(shutil.which, COMPILERS))
    with tempfile.TemporaryDirectory() as folder:
        _checked([spin, *flags, "-a", str(MODEL)], folder)
        _checked([compiler, "-O2", "-w", "-DSAFETY", "pan.c", "-o", "pan"], folder)
        output = _checked(["./pan", "-m100000"], folder)
        if not re.search(r"errors: \d+", output) or "max search depth too small" in output:
            raise RuntimeError(output)
        found = re.search(r"^pan:1: (.*?) \(at depth", output, re.M)
        return found[1].replace("invalid end state", "asleep for ever") if found else ""


def verdicts(compiler: str | None, spin: str | None) -> Iterator[tuple[Mutant, str | None]]:
    """Each mutant and what its tool says; None where the tool is missing."""
    for mutant in MUTANTS:
        if mutant.tool is Tool.TSAN:
            yield mutant, race(compiler, [mutant.flag]) if compiler else None
        else:
            yield mutant, model(spin, [mutant.flag]) if spin else None


def _run(
    command: list[str], folder: str | None = None, **env: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )


def _checked(command: list[str], folder: str | None = None) -> str:
    done = _run(command, folder)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def main() -> int:
    compiler, spin = find_compiler(), find_spin()
    unchanged = {Tool.TSAN: compiler and race(compiler, []), Tool.SPIN: spin and model(spin, [])}
    lines = [("order or step", "mutant", "must be noticed by", "verdict")]
    lines += [
        ("(none)", "as it ships", tool, "not installed" if said is None else said or "silent")
        for tool, said in unchanged.items()
    ]
    survivors = 0
    for mutant, said in verdicts(compiler, spin):
        survivors += said == ""
        verdict = "not installed" if said is None else said or "SURVIVES"
        lines.append((mutant.name, mutant.change, mutant.tool, verdict))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        sys.stdout.write(
            "| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |\n"
        )
    return 1 if survivors or any(unchanged.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
