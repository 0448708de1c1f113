import pytest

from pipeline.errors import AudioError
from stages.audio.manifest import ClipNote, find_note


def note(folder, text, name="a.wav"):
    (folder / "manifest.toml").write_text(text)
    return find_note(folder / name)


def test_no_manifest(tmp_path):
    assert find_note(tmp_path / "a.wav") is None


def test_an_entry_is_found_by_the_name_of_the_file(tmp_path):
    text = """
        [[clip]]
        file = "b.wav"
        [[clip]]
        file = "a.wav"
        text = "Hello."
        speech_end_s = 2
        unknown = "is left alone"
    """
    assert note(tmp_path, text) == ClipNote("a.wav", "Hello.", 2.0)
    assert find_note(tmp_path / "b.wav") == ClipNote("b.wav")
    assert find_note(tmp_path / "c.wav") is None


@pytest.mark.parametrize("text", ["", "[other]\nx = 1", "clip = []", "clip = [1]"])
def test_a_manifest_of_something_else(tmp_path, text):
    assert note(tmp_path, text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[clip", "is not valid TOML"),
        ("clip = 3", "clip is of type int"),
        ('[[clip]]\nfile = "a.wav"\ntext = 3', "text is of type int, expected a string"),
        ('[[clip]]\nfile = "a.wav"\nspeech_end_s = "1"', "speech_end_s is '1', expected"),
        ('[[clip]]\nfile = "a.wav"\nspeech_end_s = true', "speech_end_s is True"),
        ('[[clip]]\nfile = "a.wav"\nspeech_end_s = -1', "speech_end_s is -1"),
        ('[[clip]]\nfile = "a.wav"\nspeech_end_s = nan', "speech_end_s is nan"),
        ('[[clip]]\nfile = "a.wav"\nspeech_end_s = inf', "speech_end_s is inf"),
    ],
)
def test_a_broken_manifest_names_itself(tmp_path, text, message):
    with pytest.raises(AudioError, match=rf"manifest\.toml.*{message}") as caught:
        note(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_manifest_that_is_not_text(tmp_path):
    (tmp_path / "manifest.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(AudioError, match="is not valid TOML"):
        find_note(tmp_path / "a.wav")


def test_a_manifest_that_is_a_folder(tmp_path):
    (tmp_path / "manifest.toml").mkdir()
    with pytest.raises(AudioError, match="cannot be read"):
        find_note(tmp_path / "a.wav")
