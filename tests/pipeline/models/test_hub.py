import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import ModelError
from pipeline.models.hub import cached_hub, fetch_hub, verify_hub
from pipeline.models.progress import silent

constants = pytest.importorskip("huggingface_hub.constants")

NAME = "org/name"
COMMIT = "c" * 40


class Hub:
    """A hub cache made by hand, in the hub's own layout."""

    def __init__(self, folder: Path) -> None:
        self.repo = folder / "models--org--name"
        self.snapshot = self.repo / "snapshots" / COMMIT

    def add(self, name: str, content: bytes, digest: str) -> Path:
        blob = self.repo / "blobs" / digest
        blob.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(content)
        self.snapshot.mkdir(parents=True, exist_ok=True)
        (self.snapshot / name).symlink_to(blob)
        (self.repo / "refs").mkdir(exist_ok=True)
        (self.repo / "refs" / "main").write_text(COMMIT)
        return blob

    @property
    def downloader(self) -> tuple[str, ...]:
        """A program that brings one file, and says how it was called."""
        code = f"""
import sys
from pathlib import Path
folder = Path({str(self.snapshot)!r})
folder.mkdir(parents=True, exist_ok=True)
(folder / "config.json").write_text(sys.argv[1])
refs = Path({str(self.repo)!r}) / "refs"
refs.mkdir(exist_ok=True)
(refs / "main").write_text({COMMIT!r})
"""
        return (sys.executable, "-c", code)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return Hub(tmp_path / "hub")


def test_a_warm_cache_needs_no_network_and_no_program(hub: Hub, root: Path, isolated: None) -> None:
    hub.add("config.json", b"{}", "a" * 64)
    assert cached_hub(NAME, root) == hub.snapshot
    assert not root.exists()


def test_an_empty_cache_has_nothing(hub: Hub, root: Path, isolated: None) -> None:
    assert cached_hub(NAME, root) is None


def test_what_the_hub_calls_no_id_is_our_error(hub: Hub, root: Path) -> None:
    with pytest.raises(ModelError, match="no hub id"):
        cached_hub("org/bad--name", root)


def test_a_model_is_fetched_once_and_forced_again(hub: Hub, root: Path) -> None:
    fetch = {"downloader": hub.downloader}
    assert fetch_hub(NAME, root, silent, force=False, **fetch) == hub.snapshot
    config = hub.snapshot / "config.json"
    assert config.read_text() == "keep"
    config.write_text("mine")
    fetch_hub(NAME, root, silent, force=False, **fetch)
    assert config.read_text() == "mine"
    fetch_hub(NAME, root, silent, force=True, **fetch)
    assert config.read_text() == "force"


def test_a_failed_download_names_repository_and_command_and_does_not_count(
    hub: Hub, root: Path, failing: Callable[[str], tuple[str, ...]]
) -> None:
    hub.add("config.json", b"{}", "a" * 64)  # came before the connection broke
    with pytest.raises(ModelError, match="'org/name' cannot be fetched: ConnectError") as caught:
        fetch_hub(NAME, root, silent, force=True, downloader=failing("x\nConnectError: no"))
    assert "voxring models fetch org/name" in caught.value.remedy
    assert cached_hub(NAME, root) is None
    fetch_hub(NAME, root, silent, force=False, downloader=hub.downloader)
    assert cached_hub(NAME, root) == hub.snapshot


def test_offline_a_missing_model_is_refused_at_once(
    hub: Hub, root: Path, isolated: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE forbids") as caught:
        fetch_hub(NAME, root, silent, force=False)
    assert "voxring models fetch org/name" in caught.value.remedy


def test_the_real_downloader_says_why_it_failed(
    hub: Hub, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # the discard port: nobody listens
    monkeypatch.setenv("HF_HUB_CACHE", str(hub.repo.parent))
    monkeypatch.setenv("NO_PROXY", "*")
    with pytest.raises(ModelError, match="'org/name' cannot be fetched: LocalEntryNotFoundError"):
        fetch_hub(NAME, root, silent, force=False)


def test_files_are_verified_by_the_names_of_their_blobs(hub: Hub) -> None:
    weights = b"weights"
    blob = hub.add("model.safetensors", weights, hashlib.sha256(weights).hexdigest())
    hub.add("config.json", b"{}", hashlib.sha1(b"blob 2\0{}").hexdigest())
    told: list[float | None] = []
    verify_hub(NAME, hub.snapshot, lambda _, share: told.append(share))
    assert told == [0.0, 0.5]
    blob.write_bytes(b"Weights")
    with pytest.raises(ModelError, match=r"model\.safetensors has a wrong checksum") as caught:
        verify_hub(NAME, hub.snapshot, silent)
    assert caught.value.remedy == "Run: voxring models fetch org/name --force"
