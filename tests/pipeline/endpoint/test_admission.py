"""Who may come in."""

import pytest
from websockets.datastructures import Headers

from pipeline.endpoint.admission import Doorman, Refusal, choose_subprotocol
from pipeline.endpoint.tokens import Tokens
from pipeline.errors import ConfigError
from pipeline.serve_config import ServeConfig

TOKEN = "0123456789abcdef"
KNOWN = Tokens({"desk": TOKEN})
NOBODY = Tokens({})


def headers(**values: str) -> Headers:
    return Headers({name.replace("_", "-"): value for name, value in values.items()})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_on_loopback_no_token_is_needed(host: str) -> None:
    doorman = Doorman(ServeConfig(host=host), NOBODY)
    assert not doorman.needs_token
    assert doorman.identify(headers(), {}) == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "", "example.org"])
def test_anywhere_else_it_does_not_start_without_one(host: str) -> None:
    with pytest.raises(ConfigError, match="needs a token"):
        Doorman(ServeConfig(host=host), NOBODY)
    assert Doorman(ServeConfig(host=host), KNOWN).needs_token


def test_behind_a_proxy_loopback_is_everybody() -> None:
    with pytest.raises(ConfigError, match="behind a proxy needs a token"):
        Doorman(ServeConfig(proxied=True), NOBODY)


@pytest.mark.parametrize(
    "shown",
    [
        {"Authorization": f"Bearer {TOKEN}"},
        {"Authorization": f"bearer  {TOKEN} "},
        {"Sec_WebSocket_Protocol": f"voxring, voxring-token.{TOKEN}"},
        {"Sec_WebSocket_Protocol": f"realtime, openai-insecure-api-key.{TOKEN}, other"},
    ],
)
def test_a_token_is_shown_in_a_header_or_a_subprotocol(shown: dict[str, str]) -> None:
    doorman = Doorman(ServeConfig(host="0.0.0.0"), KNOWN)
    assert doorman.identify(headers(**shown), {}) == "desk"


@pytest.mark.parametrize(
    "shown",
    [
        {},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Sec_WebSocket_Protocol": f"voxring, {TOKEN}"},
    ],
)
def test_anything_else_is_401(shown: dict[str, str]) -> None:
    doorman = Doorman(ServeConfig(host="0.0.0.0"), KNOWN)
    with pytest.raises(Refusal) as refused:
        doorman.identify(headers(**shown), {"token": TOKEN})
    assert refused.value.status == 401


def test_a_ticket_is_for_the_query_of_a_browser() -> None:
    doorman = Doorman(ServeConfig(host="0.0.0.0"), KNOWN)
    ticket = doorman.ticket(doorman.identify(headers(Authorization=f"Bearer {TOKEN}"), {}))
    assert doorman.identify(headers(), {"ticket": ticket}) == "desk"
    with pytest.raises(Refusal):
        doorman.identify(headers(Authorization=f"Bearer {TOKEN}"), {"ticket": ticket})


def test_the_answer_never_repeats_a_token() -> None:
    assert choose_subprotocol(["voxring-token.x", "voxring"]) == "voxring"
    assert choose_subprotocol(["openai-insecure-api-key.x", "realtime"]) == "realtime"
    assert choose_subprotocol(["voxring-token.x"]) is None


@pytest.mark.parametrize(
    ("host", "origin", "is_let_in"),
    [
        ("localhost:8765", None, True),
        ("localhost:8765", "http://localhost:8765", True),
        ("localhost:8765", "http://LOCALHOST:8765", True),
        ("[::1]:8765", "http://[::1]:8765", True),
        ("localhost:8765", "http://localhost:3000", False),
        ("localhost:8765", "https://elsewhere.example", False),
        ("localhost:8765", "null", False),
        ("localhost:8765", "https://friend.example", True),
        (
            "elsewhere.example:8765",
            "http://elsewhere.example:8765",
            False,
        ),  # a name that leads here
        ("elsewhere.example:8765", None, False),
        ("", None, False),
    ],
)
def test_pages_of_others_may_not_use_a_visitor_s_browser(
    host: str, origin: str | None, is_let_in: bool
) -> None:
    doorman = Doorman(ServeConfig(origins=["https://friend.example"]), NOBODY)
    shown = headers(Host=host, **({} if origin is None else {"Origin": origin}))
    if is_let_in:
        doorman.check_origin(shown)
        return
    with pytest.raises(Refusal) as refused:
        doorman.check_origin(shown)
    assert refused.value.status == 403


@pytest.mark.parametrize("address", ["[x]", "[x", "[::1]:port", "[::1]:99999"])
@pytest.mark.parametrize("name", ["Host", "Origin"])
def test_what_is_no_address_is_refused_and_not_an_error_of_ours(address: str, name: str) -> None:
    doorman = Doorman(ServeConfig(), NOBODY)
    shown = {"Host": "localhost:8765"}
    shown[name] = address if name == "Host" else f"http://{address}"
    with pytest.raises(Refusal) as refused:
        doorman.check_origin(headers(**shown))
    assert (refused.value.status, refused.value.reason) == (400, "not a valid address")


def test_a_proxy_says_which_host_was_asked_for() -> None:
    shown = headers(
        Host="127.0.0.1:8765",
        X_Forwarded_Host="talk.example.org",
        Origin="https://talk.example.org",
    )
    Doorman(ServeConfig(proxied=True), KNOWN).check_origin(shown)
    with pytest.raises(Refusal):
        Doorman(ServeConfig(), KNOWN).check_origin(shown)


def test_a_header_that_comes_twice_is_not_trusted() -> None:
    shown = headers(Host="localhost")
    shown["Origin"] = "http://localhost"
    shown["Origin"] = "https://elsewhere.example"
    with pytest.raises(Refusal) as refused:
        Doorman(ServeConfig(), NOBODY).check_origin(shown)
    assert refused.value.status == 400
