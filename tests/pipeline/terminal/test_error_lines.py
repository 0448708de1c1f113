"""Standard error of this program and of those it starts, line by line."""

import asyncio
import os
import subprocess
import sys

from pipeline.terminal.error_lines import ErrorLines

CHILD = "import os; os.write(2, b'one\\ntwo'); os.write(2, b' and more\\n\\n\\xff\\nrest')"


def test_each_line_is_given_and_the_descriptor_comes_back() -> None:
    lines: list[str] = []
    before = os.fstat(2)

    async def work() -> None:
        with ErrorLines(lines.append):
            assert os.fstat(2) != before
            os.write(2, b"ours\n")
            child = await asyncio.create_subprocess_exec(sys.executable, "-c", CHILD)
            assert await child.wait() == 0
            async with asyncio.timeout(5):
                while "two and more" not in lines:
                    await asyncio.sleep(0.01)
        assert os.fstat(2) == before

    asyncio.run(work())
    assert lines == ["ours", "one", "two and more", "\ufffd", "rest"]


def test_what_is_written_last_is_not_lost_with_an_error() -> None:
    lines: list[str] = []

    async def work() -> None:
        with ErrorLines(lines.append):
            subprocess.run([sys.executable, "-c", "import os; os.write(2, b'why')"], check=True)
            raise KeyError("broken")

    try:
        asyncio.run(work())
    except KeyError:
        assert lines == ["why"]
    else:
        raise AssertionError("the error is the one that is told")
