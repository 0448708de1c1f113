"""Versions of libraries, whatever variant of them is installed."""

from importlib import metadata

import pytest

from pipeline import packages
from pipeline.packages import version_of


def test_a_variant_for_a_device_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {"some-runtime-genai-cuda": "0.9", "some-runtime-gpu": "1.2", "numpy": "2.0"}

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    modules = {
        "some_runtime_genai": ["some-runtime-genai-cuda"],
        "some_runtime": ["some-runtime-gpu"],
    }
    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "packages_distributions", lambda: modules)
    packages._packages.cache_clear()
    try:
        assert version_of("numpy") == "2.0"
        assert version_of("some-runtime-genai") == "0.9"
        assert version_of("some-runtime") == "1.2"
        assert version_of("another") is None
    finally:
        packages._packages.cache_clear()


def test_what_is_installed_here_is_found() -> None:
    assert version_of("numpy") == metadata.version("numpy")
