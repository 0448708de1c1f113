"""Who a peer is: tokens from a file or the environment, and tickets made of them. Pure.

A ticket is `NAME.EXPIRY.NONCE.MAC`, signed with the token itself: every replica of a server that
knows the token can check it, and nothing but the nonces of tickets that were used is remembered.
"""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from pipeline.errors import ConfigError

ENVIRONMENT = "VOXRING_TOKENS"
TICKET_S = 30
SHORTEST = 16
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TOKEN = re.compile(rf"[A-Za-z0-9._~-]{{{SHORTEST},512}}")
_FORM = (
    f"A line is `NAME TOKEN` or `TOKEN`; a token has {SHORTEST} to 512 letters, digits and . _ ~ -"
)


class Tokens:
    """The tokens that open the door.

    Args:
        tokens: by the names that logs and limits know them by; none: everybody may come in.
    """

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = {name: token.encode() for name, token in tokens.items()}
        self._used: dict[str, int] = {}  # nonces of tickets, and when they expire

    def __bool__(self) -> bool:
        return bool(self._tokens)

    def owner(self, offered: str) -> str | None:
        """Whose token this is; the time it takes does not tell how much of it is right."""
        found = None
        given = offered.encode(errors="replace")
        for name, token in self._tokens.items():
            if hmac.compare_digest(token, given):
                found = name
        return found

    def ticket(self, name: str, now_s: float) -> str:
        """A ticket for the owner of a token.

        Args:
            now_s: wall-clock time, which replicas share.
        """
        claims = f"{name}.{int(now_s) + TICKET_S}.{secrets.token_urlsafe(12)}"
        return f"{claims}.{self._sign(name, claims)}"

    def redeem(self, ticket: str, now_s: float) -> str | None:
        """Whose ticket this is; None if it is none, has expired or was used."""
        claims, _, mac = ticket.rpartition(".")
        parts = claims.split(".")
        if len(parts) != 3 or parts[0] not in self._tokens or not parts[1].isdecimal():
            return None
        name, expiry, nonce = parts[0], int(parts[1]), parts[2]
        given = mac.encode(errors="replace")
        if not hmac.compare_digest(self._sign(name, claims).encode(), given):
            return None
        self._used = {n: at for n, at in self._used.items() if at >= now_s}
        if not now_s <= expiry or nonce in self._used:
            return None
        self._used[nonce] = expiry
        return name

    def _sign(self, name: str, claims: str) -> str:
        key = self._tokens[name]
        return hmac.new(key, b"voxring ticket " + claims.encode(), hashlib.sha256).hexdigest()


def load_tokens(file: str, environment: Mapping[str, str] = os.environ) -> Tokens:
    """Read the tokens.

    Args:
        file: `serve.token_file`; "": only the environment counts.

    Raises:
        ConfigError: the file cannot be read, or a line is no token; never with the token itself.
    """
    lines = re.split(r"[,\n]", environment.get(ENVIRONMENT, ""))
    tokens = _parse(lines, ENVIRONMENT)
    if file:
        path = Path(file).expanduser()
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            trouble = getattr(error, "strerror", None) or "not UTF-8"
            raise ConfigError(f"serve.token_file {path} cannot be read: {trouble}") from None
        tokens |= _parse(text.splitlines(), str(path))
    return Tokens(tokens)


def _parse(lines: Iterable[str], source: str) -> dict[str, str]:
    tokens: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        name = words[0] if len(words) == 2 else f"token-{number}"
        if len(words) > 2 or not _NAME.fullmatch(name) or not _TOKEN.fullmatch(words[-1]):
            raise ConfigError(f"{source}, entry {number}, is no token", _FORM)
        if name in tokens:
            raise ConfigError(f"{source} has two tokens named {name}", "Give them other names")
        tokens[name] = words[-1]
    return tokens
