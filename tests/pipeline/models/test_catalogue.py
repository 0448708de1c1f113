import re
from pathlib import Path

import pytest

from pipeline.models import State, catalogue, resolve, state, verify


def test_everything_is_pinned() -> None:
    for bundle in catalogue():
        assert bundle.about
        assert bundle.licence
        assert bundle.source
        for wheel in bundle.wheels:
            assert re.fullmatch(r"\d+(\.\d+)+", wheel.version)
            assert re.fullmatch(r"[0-9a-f]{64}", wheel.sha256)
        for file in bundle.files:
            assert file.parts
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)


def test_names_are_unique_and_folders_flat() -> None:
    names = [bundle.name for bundle in catalogue()]
    assert len(set(names)) == len(names)
    assert all("/" not in file.name for bundle in catalogue() for file in bundle.files)


@pytest.mark.models
@pytest.mark.parametrize("bundle", catalogue(), ids=lambda bundle: bundle.name)
def test_the_real_bundle_is_there_and_right(bundle: object) -> None:
    known = next(b for b in catalogue() if b == bundle)
    folder = resolve(f"bundle:{known.name}")
    assert isinstance(folder, Path)
    verify(known.name)
    assert state(known) is State.READY
