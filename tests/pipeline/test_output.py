"""Folders that results go to."""

import os
import stat
from pathlib import Path

import pytest

from pipeline.errors import OutputError
from pipeline.output import check_writable


def test_a_folder_is_made_and_left_empty(tmp_path: Path) -> None:
    check_writable(tmp_path / "a" / "b", "--out", mode=0o700)
    assert not list((tmp_path / "a" / "b").iterdir())
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    for folder in (tmp_path / "out", tmp_path / "out" / "below"):
        with pytest.raises(
            OutputError, match=r"cannot be written.*another place with audio\.record"
        ):
            check_writable(folder, "audio.record")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="Permission denied"):
        check_writable(tmp_path, "--out")
