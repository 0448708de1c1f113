"""The pytest plugin: latency tests in a repository of one's own. docs/lab.md has an example.

It is loaded with every run of pytest in an environment that has voxring: it imports nothing more
before a test asks for `voxring`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pipeline.lab.fixture import Players, Voxring


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which configuration tests run with."""
    group = parser.getgroup("voxring", "latency tests of voice pipelines")
    group.addoption(
        "--voxring-config", metavar="FILE", help="a TOML file, or a built-in one: laptop, scripted"
    )
    group.addoption(
        "--voxring-set",
        metavar="KEY=VALUE",
        action="append",
        help="change a value, such as turn.release_ms=400; may be repeated",
    )
    group.addoption(
        "--voxring-endpoint",
        metavar="URL",
        default="",
        help="a running `voxring serve` to test; its token is VOXRING_TOKEN in the environment",
    )
    parser.addini("voxring_config", "configuration for tests with the fixture `voxring`")


@pytest.fixture(scope="session")
def voxring_players(request: pytest.FixtureRequest) -> Iterator["Players"]:
    """Pipelines of this session, each started when it is first asked for."""
    from pipeline.lab.fixture import Players

    config = request.config
    chosen = config.getoption("--voxring-config") or config.getini("voxring_config")
    players = Players(
        str(chosen),
        tuple(config.getoption("--voxring-set") or ()),
        str(config.getoption("--voxring-endpoint")),
    )
    try:
        yield players
    finally:
        players.close()


@pytest.fixture
def voxring(request: pytest.FixtureRequest, voxring_players: "Players") -> "Voxring":
    """Ask a pipeline something, or play a suite; files are relative to the test's own."""
    from pipeline.lab.fixture import Voxring

    return Voxring(voxring_players, request.path.parent)
