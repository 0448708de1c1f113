"""Who may come in: host, origin, token or ticket, a free place. Decided before the upgrade."""

import ipaddress
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from websockets.datastructures import Headers, MultipleValuesError

from pipeline.endpoint.tokens import Tokens
from pipeline.errors import ConfigError
from pipeline.serve_config import ServeConfig

SUBPROTOCOLS = ("voxring", "realtime")  # that a client may name; the server chooses one of them
_WITH_TOKEN = ("voxring-token.", "openai-insecure-api-key.")
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Refusal(Exception):
    """A request that is not let in.

    Attributes:
        status: HTTP's number for it.
        reason: one line for the client.
        headers: that go with it.
    """

    status: int
    reason: str
    headers: Mapping[str, str] | None = None


class Doorman:
    """Checks requests of one server.

    Args:
        config: where it listens, and whom it trusts.
        tokens: that open the door.

    Raises:
        ConfigError: it would listen to the network and let everybody in.
    """

    def __init__(self, config: ServeConfig, tokens: Tokens) -> None:
        is_open = not is_loopback(config.host) or config.proxied
        if is_open and not tokens:
            where = "behind a proxy" if config.proxied else f"on {config.host}"
            raise ConfigError(
                f"listening {where} needs a token: anybody there could talk",
                "Name a file with serve.token_file, set VOXRING_TOKENS, or listen on 127.0.0.1",
            )
        self._config = config
        self._tokens = tokens

    @property
    def needs_token(self) -> bool:
        """Whether one must be shown."""
        return bool(self._tokens)

    def check_origin(self, headers: Headers) -> None:
        """Let no page of somebody else use a visitor's browser to talk to this server.

        Raises:
            Refusal: 403.
        """
        host = self._host(headers)
        if not self.needs_token and _name(host) not in _LOOPBACK_NAMES:
            # A name of somebody else that leads here: a page of theirs would count as our own.
            raise Refusal(403, "this server is reached as localhost only")
        origin = _one(headers, "Origin")
        if not origin or origin in self._config.origins:
            return
        if split_address(origin).netloc.lower() != host.lower():
            raise Refusal(403, "pages of this origin may not connect; see serve.origins")

    def identify(self, headers: Headers, query: Mapping[str, str]) -> str:
        """Whose token or ticket comes with a request; "" where none is needed.

        Raises:
            Refusal: 401.
        """
        if not self.needs_token:
            return ""
        if ticket := query.get("ticket"):
            owner = self._tokens.redeem(ticket, time.time())
        else:
            owner = self._tokens.owner(_shown(headers))
        if owner is None:
            raise Refusal(401, "a valid token is needed", {"WWW-Authenticate": "Bearer"})
        return owner

    def ticket(self, owner: str) -> str:
        """A ticket for somebody who was identified; "" where that is nobody."""
        return self._tokens.ticket(owner, time.time()) if owner else ""

    def _host(self, headers: Headers) -> str:
        forwarded = _one(headers, "X-Forwarded-Host") if self._config.proxied else ""
        return forwarded or _one(headers, "Host")


def split_address(address: str) -> SplitResult:
    """The parts of what a client sent as an address.

    Raises:
        Refusal: 400.
    """
    try:
        parts = urlsplit(address)
        _ = parts.hostname, parts.port
    except ValueError:
        raise Refusal(400, "not a valid address") from None
    return parts


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def choose_subprotocol(offered: Sequence[str]) -> str | None:
    """Of the subprotocols that a client offers, the one to answer with: never its token."""
    return next((name for name in SUBPROTOCOLS if name in offered), None)


def _shown(headers: Headers) -> str:
    """The token that a request shows."""
    scheme, _, token = _one(headers, "Authorization").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    for value in headers.get_all("Sec-WebSocket-Protocol"):
        for offered in map(str.strip, value.split(",")):
            for prefix in _WITH_TOKEN:
                if offered.startswith(prefix):
                    return offered.removeprefix(prefix)
    return ""


def _one(headers: Headers, name: str) -> str:
    """A header's value; one that comes twice is not to be trusted."""
    try:
        return headers.get(name, "")
    except MultipleValuesError:
        raise Refusal(400, f"more than one {name}") from None


def _name(host: str) -> str:
    """The name or address in HOST:PORT."""
    return split_address(f"//{host}").hostname or ""
