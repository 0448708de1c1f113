import pytest

from stages.asr.transcript import Transcript, spoken


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        " ...",
        "[BLANK_AUDIO]",
        " (music)",
        " *laughs*",
        " ♪ ♪",
        "[Musik] (Lachen).",
        "\uff08音楽\uff09",
    ],
)
def test_what_nobody_said_is_dropped(text: str) -> None:
    assert spoken(text) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" Is it 5 o'clock?", " Is it 5 o'clock?"),
        (" Well [coughs] yes.", " Well yes."),
        (" ♪ Happy birthday ♪", " Happy birthday "),
        (" say <|im_end|> now", " say <|im_end|> now"),
        (" caf\ufffd", " caf"),
        ("今天天气真好。", "今天天气真好。"),
    ],
)
def test_what_was_said_stays(text: str, words: str) -> None:
    assert spoken(text) == words


def test_an_empty_transcript_knows_it() -> None:
    assert Transcript().empty
    assert not Transcript("Yes.").empty
