import hashlib
import os
from pathlib import Path

import pytest

from pipeline.errors import ModelError
from pipeline.models import checksum
from pipeline.models.bundle import ModelFile
from pipeline.models.checksum import check, is_from, read_stamp, seal
from pipeline.models.progress import silent

CONTENT = {"a": b"alpha", "b": b"beta" * 1_000_000}
FILES = tuple(
    ModelFile(name, len(data), hashlib.sha256(data).hexdigest()) for name, data in CONTENT.items()
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "model"
    place.mkdir()
    for name, data in CONTENT.items():
        (place / name).write_bytes(data)
    return place


def inspect(folder: Path, *, full: bool = False) -> list[float | None]:
    """Check the folder; returns the reported fractions, empty when nothing was hashed."""
    seen: list[float | None] = []
    check(folder, FILES, remedy="Fetch.", progress=lambda _, share: seen.append(share), full=full)
    return seen


def flip(path: Path) -> None:
    """Change one byte and nothing else, the size least of all."""
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)


def test_files_are_hashed_once_and_then_vouched_for(folder: Path) -> None:
    first = inspect(folder)
    assert first[-1] == 1.0
    assert first == sorted(share for share in first if share is not None)
    assert inspect(folder) == []
    assert inspect(folder, full=True)[-1] == 1.0


def test_a_changed_byte_is_found_at_the_next_start(folder: Path) -> None:
    inspect(folder)
    flip(folder / "a")
    with pytest.raises(ModelError, match="a has a wrong checksum") as caught:
        inspect(folder)
    assert FILES[0].sha256 in caught.value.message
    assert checksum.sha256_of(folder / "a") in caught.value.message
    assert caught.value.remedy == "Fetch."


def test_a_byte_that_a_disk_changed_behind_the_times_is_found_by_the_full_check(
    folder: Path,
) -> None:
    inspect(folder)
    before = (folder / "a").stat()
    flip(folder / "a")
    os.utime(folder / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert inspect(folder) == []
    with pytest.raises(ModelError, match="wrong checksum"):
        inspect(folder, full=True)


def test_a_copied_folder_is_hashed_again_and_then_vouched_for(folder: Path) -> None:
    inspect(folder)
    os.utime(folder / "a")
    assert len(inspect(folder)) == 1  # only the file whose time changed
    assert inspect(folder) == []


def test_a_missing_and_a_short_file_are_named(folder: Path) -> None:
    inspect(folder)
    with (folder / "b").open("r+b") as file:
        file.truncate(3)
    with pytest.raises(ModelError, match=r"b has 3 bytes, expected 4,000,000"):
        inspect(folder)
    (folder / "b").unlink()
    with pytest.raises(ModelError, match="b is missing"):
        inspect(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": 1}', '{"files": {"a": {}}}', "\xff"])
def test_a_broken_stamp_is_no_stamp(folder: Path, text: str) -> None:
    inspect(folder)
    stamp = next(folder.glob(".*"))
    stamp.write_text(text, encoding="latin-1")
    assert read_stamp(folder) == checksum.Stamp()
    assert inspect(folder)[-1] == 1.0


def test_a_stamp_of_other_pins_does_not_vouch(folder: Path) -> None:
    inspect(folder)
    other = (ModelFile("a", 5, "0" * 64),)
    with pytest.raises(ModelError, match=f"expected {'0' * 64}"):
        check(folder, other, remedy="", progress=silent)


def test_a_cache_that_cannot_be_stamped_is_hashed_each_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(checksum, "write_stamp", refuse)
    assert inspect(folder)
    assert inspect(folder)


def test_a_sealed_folder_knows_its_source_and_recipe(folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"weights")
    assert not is_from(folder, [source], "1")
    seal(folder, [source], "1")
    seal(folder, [source], "1")  # does not take its own stamp for a model file
    assert {file.name for file in read_stamp(folder).model_files} == {"a", "b"}
    assert is_from(folder, [source], "1")
    assert not is_from(folder, [source], "2")
    os.utime(source, ns=(1, 1))
    assert is_from(folder, [source], "1")
    source.write_bytes(b"WEIGHTS")
    assert not is_from(folder, [source], "1")


def test_a_source_that_came_or_went_is_noticed(folder: Path, tmp_path: Path) -> None:
    sources = [tmp_path / "1.safetensors", tmp_path / "2.safetensors"]
    for source in sources:
        source.write_bytes(b"weights")
    seal(folder, sources, "1")
    assert is_from(folder, sources, "1")
    assert not is_from(folder, sources[:1], "1")
