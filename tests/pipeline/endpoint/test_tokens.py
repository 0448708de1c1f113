"""Tokens and tickets, on a clock of our own."""

from pathlib import Path

import pytest

from pipeline.endpoint.tokens import ENVIRONMENT, TICKET_S, Tokens, load_tokens
from pipeline.errors import ConfigError

DESK, PHONE = "0123456789abcdef", "fedcba9876543210~-._"
NOW = 1_800_000_000.0


@pytest.fixture
def tokens() -> Tokens:
    return Tokens({"desk": DESK, "phone": PHONE})


def test_a_token_is_known_by_its_owner(tokens: Tokens) -> None:
    assert (tokens.owner(DESK), tokens.owner(PHONE)) == ("desk", "phone")
    for other in ("", "desk", DESK[:-1], DESK + "0", DESK.upper(), "ключ", "\udcff"):
        assert tokens.owner(other) is None


def test_a_ticket_opens_once_and_not_for_long(tokens: Tokens) -> None:
    ticket = tokens.ticket("desk", NOW)
    assert tokens.redeem(ticket, NOW + TICKET_S) == "desk"
    assert tokens.redeem(ticket, NOW + 1) is None
    assert tokens.redeem(tokens.ticket("desk", NOW), NOW + TICKET_S + 1) is None


def test_every_replica_knows_a_ticket_by_the_token_alone(tokens: Tokens) -> None:
    assert Tokens({"desk": DESK}).redeem(tokens.ticket("desk", NOW), NOW) == "desk"
    other = Tokens({"desk": DESK[::-1]})
    assert other.redeem(tokens.ticket("desk", NOW), NOW) is None


def test_a_ticket_that_was_touched_opens_nothing(tokens: Tokens) -> None:
    ticket = tokens.ticket("desk", NOW)
    name, expiry, nonce, mac = ticket.split(".")
    touched = [
        f"phone.{expiry}.{nonce}.{mac}",
        f"{name}.{int(expiry) + 9}.{nonce}.{mac}",
        f"{name}.{expiry}.x{nonce}.{mac}",
        f"{name}.{expiry}.{nonce}.{mac[:-1]}",
        f"{name}.{expiry}.{nonce}",
        "",
        "...",
        "desk..x.é",
    ]
    assert [tokens.redeem(text, NOW) for text in touched] == [None] * len(touched)
    assert tokens.redeem(ticket, NOW) == "desk"


def test_tokens_come_from_a_file_and_from_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# who may talk\n\ndesk {DESK}  # the one in the hall\n{PHONE}\n")
    tokens = load_tokens(str(file), {ENVIRONMENT: f"door {DESK[::-1]}"})
    assert tokens.owner(DESK) == "desk"
    assert tokens.owner(PHONE) == "token-4"
    assert tokens.owner(DESK[::-1]) == "door"
    assert not load_tokens("", {})


@pytest.mark.parametrize(
    "text",
    [
        "short",
        "two words here",
        f"bad/name {DESK}",
        f"desk {DESK}\ndesk {PHONE}",
        "desk 0123456789abcde ü",
    ],
)
def test_what_is_no_token_is_refused_without_being_shown(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tokens"
    file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_tokens(str(file), {})
    assert str(file) in str(refused.value)
    assert text.split()[-1] not in str(refused.value)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r"serve\.token_file .*nowhere"):
        load_tokens("nowhere", {})
