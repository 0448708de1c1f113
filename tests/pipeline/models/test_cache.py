import errno
from collections import namedtuple
from pathlib import Path

import pytest

from pipeline.errors import ModelError
from pipeline.models.cache import cache_root, need_room, storing


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("VOXRING_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_root() == Path("/home/me/.cache/voxring")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_root() == Path("/xdg/voxring")
    monkeypatch.setenv("VOXRING_CACHE", "~/models")
    assert cache_root() == Path("/home/me/models")
    monkeypatch.setenv("VOXRING_CACHE", "")
    assert cache_root() == Path("/xdg/voxring")


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EACCES, "no permission for /c/x"),
        (errno.EROFS, "no permission for /c/x"),
        (errno.ENOSPC, "the disk of the model cache /c is full"),
        (errno.EDQUOT, "the disk of the model cache /c is full"),
        (errno.ENOTDIR, "a file is where /c/x needs a folder"),
        (errno.EIO, "cannot be used: broken"),
    ],
)
def test_what_the_file_system_refuses_is_one_line_with_a_remedy(number: int, says: str) -> None:
    with pytest.raises(ModelError) as caught, storing(Path("/c")):
        raise OSError(number, "broken", "/c/x")
    assert says in caught.value.message
    assert "VOXRING_CACHE" in caught.value.remedy
    assert "\n" not in str(caught.value)


def test_too_little_room_is_found_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(9, 0, 5_000_000))
    need_room(tmp_path, 5_000_000, "it")
    with pytest.raises(ModelError, match=r"it needs 7 MB in .* which has 5 MB left"):
        need_room(tmp_path, 7_000_000, "it")
