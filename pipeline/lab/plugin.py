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
    players = Players(
        chosen_config(config),
        tuple(config.getoption("--voxring-set") or ()),
        str(config.getoption("--voxring-endpoint")),
    )
    try:
        yield players
    finally:
        players.close()


def chosen_config(config: pytest.Config) -> str:
    """A built-in one by its name, or a file's path; "": none was chosen.

    A file on the command line is relative to where pytest was started, one in a configuration of
    pytest to that file's folder, as pytest has it.
    """
    from pipeline.config import builtin_configs

    given, written = config.getoption("--voxring-config"), config.getini("voxring_config")
    chosen = str(given or written)
    if not chosen or chosen in builtin_configs():
        return chosen
    return str((config.invocation_params.dir if given else config.rootpath) / chosen)


@pytest.fixture
def voxring(request: pytest.FixtureRequest, voxring_players: "Players") -> "Voxring":
    """Ask a pipeline something, or play a suite; files are relative to the test's own."""
    from pipeline.lab.fixture import Voxring

    return Voxring(voxring_players, request.path.parent)
