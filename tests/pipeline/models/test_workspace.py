from pathlib import Path

from pipeline.models.workspace import install, workspace


def test_only_the_folders_of_the_dead_are_swept(tmp_path: Path) -> None:
    partial = tmp_path / "partial"
    (partial / "dead").mkdir(parents=True)
    (partial / "dead" / "lock").touch()
    (partial / "died-early").mkdir()
    with workspace(tmp_path, "one") as one, workspace(tmp_path, "two") as two:
        assert set(partial.iterdir()) == {one.folder, two.folder}
    assert list(partial.iterdir()) == []


def test_a_finished_folder_replaces_the_old_one(tmp_path: Path) -> None:
    place = tmp_path / "models" / "m"
    for content in ("first", "second"):
        with workspace(tmp_path, "m") as space:
            made = space.folder / "model"
            made.mkdir()
            (made / "f").write_text(content)
            install(made, place, space)
        assert (place / "f").read_text() == content
    assert list((tmp_path / "partial").iterdir()) == []


def test_a_model_folder_is_as_readable_as_others(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    with workspace(tmp_path, "m") as space:
        made = space.folder / "model"
        made.mkdir()
        install(made, tmp_path / "m", space)
    assert (tmp_path / "m").stat().st_mode == plain.stat().st_mode
