"""The door of a running endpoint: refusals before the upgrade, documents, tickets, places."""

import asyncio
import json
import socket as sockets

import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.exceptions import InvalidStatus

from pipeline.endpoint.connection import Connection, Lobby
from tests.pipeline.endpoint.conftest import House
from tests.pipeline.endpoint.running import Client, ask, closing, dial

TOKEN = "0123456789abcdef"
SETTINGS = (
    "pipeline.lanes=3",
    "serve.sessions_per_token=2",
    "serve.retry_after_s=7",
    "serve.session_s=4",
    "serve.max_load=0",
)
BEARER = {"Authorization": f"Bearer {TOKEN}"}
OTHER = {"Authorization": "Bearer fedcba9876543210"}


@pytest.fixture(scope="module", autouse=True)
def tokens() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VOXRING_TOKENS", f"desk {TOKEN}, phone fedcba9876543210")
        yield


@pytest.fixture
def get(house: House):
    """One plain HTTP request, while the server runs."""

    def request(path: str, method: str = "GET", **headers: str):
        async def work(_: object):
            return await asyncio.to_thread(ask, house.server.url, path, method, **headers)

        return house.run(work)

    return request


async def refusal(house: House, path: str = "/v1/voice", **options: object) -> tuple[int, str]:
    """The status that a client gets instead of an upgrade, and when to come again."""
    with pytest.raises(InvalidStatus) as refused:
        async with dial(house.server, path, **options):
            pass
    response = refused.value.response
    return response.status_code, response.headers.get("Retry-After", "")


def test_without_a_token_nobody_comes_in(house: House) -> None:
    async def work(_: object) -> None:
        assert await refusal(house) == (401, "")
        assert await refusal(house, additional_headers={"Authorization": "Bearer x"}) == (401, "")
        assert await refusal(house, "/v1/voice?ticket=a.b.c.d") == (401, "")
        assert await refusal(house, "/v1/voice?token=" + TOKEN) == (401, "")

    house.run(work)


def test_a_page_of_somebody_else_is_refused(house: House) -> None:
    async def work(_: object) -> None:
        strange = "https://elsewhere.example"
        assert await refusal(house, additional_headers=BEARER, origin=strange) == (403, "")
        async with dial(house.server, additional_headers=BEARER, origin=house.server.url):
            pass
        await house.idle()

    house.run(work)


def test_a_subprotocol_with_a_token_is_not_repeated(house: House) -> None:
    async def work(_: object) -> None:
        offered = ["voxring", f"voxring-token.{TOKEN}"]
        async with dial(house.server, subprotocols=offered) as socket:
            assert socket.subprotocol == "voxring"
            await Client(socket).start()
        await house.idle()

    house.run(work)


def test_a_ticket_opens_one_connection(house: House, get) -> None:
    assert get("/ticket", "POST")[0] == 401
    assert get("/ticket", **BEARER)[0] == 405
    status, headers, body = get("/ticket", "POST", **BEARER)
    assert (status, headers["Cache-Control"]) == (200, "no-store")
    path = f"/v1/voice?ticket={json.loads(body)['ticket']}"

    async def work(_: object) -> None:
        async with dial(house.server, path) as socket:
            await Client(socket).start()
        assert await refusal(house, path) == (401, "")
        await house.idle()

    house.run(work)


def test_full_is_told_before_the_upgrade_and_a_place_comes_back(house: House, get) -> None:
    async def work(_: object) -> None:
        async with (
            dial(house.server, additional_headers=BEARER) as one,
            dial(house.server, additional_headers=BEARER) as two,
        ):
            assert await refusal(house, additional_headers=BEARER) == (429, "7")
            async with dial(house.server, additional_headers=OTHER) as three:
                for socket in (one, two, three):
                    await Client(socket).start()
                assert await refusal(house, additional_headers=OTHER) == (503, "7")
                ticket = (house.server.url, "/ticket", "POST")
                status, headers, _ = await asyncio.to_thread(ask, *ticket, **BEARER)
                assert (status, headers["Retry-After"]) == (429, "7"), "a browser can read this"
                assert (await asyncio.to_thread(ask, *ticket, **OTHER))[0] == 200
                _, _, body = await asyncio.to_thread(ask, house.server.url, "/health")
                assert json.loads(body)["places"] == 0
        await house.idle()
        async with dial(house.server, additional_headers=BEARER) as socket:
            await Client(socket).start()
        await house.idle()

    house.run(work)
    assert json.loads(get("/health")[2])["places"] == 3


UPGRADE = (
    "GET /v1/voice HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + TOKEN + "\r\n"
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: {version}\r\n"
    "Sec-WebSocket-Key: {key}\r\n\r\n"
)
KEY = "dGhlIHNhbXBsZSBub25jZQ=="


@pytest.mark.parametrize(("version", "key"), [("13", "short"), ("8", KEY), ("13", "")])
def test_a_failed_upgrade_leaks_no_place(house: House, version: str, key: str) -> None:
    async def work(_: object) -> None:
        for _ in range(5):
            reader, writer = await asyncio.open_connection(*house.address)
            writer.write(UPGRADE.format(version=version, key=key).encode())
            assert b" 4" in await reader.readline()
            writer.close()
            await writer.wait_closed()
        await house.idle()

    house.run(work)


def test_a_peer_that_leaves_in_the_handshake_leaks_no_place(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is gone before anybody can answer it."""
    admitted = []
    lost = Connection.connection_lost

    def watched(self: Connection, exc: Exception | None) -> None:
        admitted.append(self.place is not None)
        lost(self, exc)

    monkeypatch.setattr(Connection, "connection_lost", watched)

    async def work(_: object) -> None:
        for _ in range(20):
            _, writer = await asyncio.open_connection(*house.address)
            writer.write(UPGRADE.format(version=13, key=KEY).encode())
            peer = writer.get_extra_info("socket")
            peer.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            writer.close()
        async with asyncio.timeout(5):
            while len(admitted) < 20:
                await asyncio.sleep(0.01)
        await house.idle()

    house.run(work)


def test_who_connects_and_says_nothing_keeps_nobody_out(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    lobby = house.server._connection.keywords["lobby"]
    monkeypatch.setattr(lobby, "_most", 5)

    async def work(_: object) -> None:
        silent = [await asyncio.open_connection(*house.address) for _ in range(20)]
        async with dial(house.server, additional_headers=BEARER) as socket:
            await Client(socket).start()
            async with asyncio.timeout(5):  # the first ones have made room
                assert await silent[0][0].read() == b""
        for _, writer in silent:
            writer.close()
        await house.idle()
        async with asyncio.timeout(5):
            while lobby._waiting:
                await asyncio.sleep(0.01)

    house.run(work)


def test_many_that_say_nothing_come_at_once_and_are_no_more_than_they_may_be() -> None:
    class Silent:
        aborted = False

        @property
        def transport(self) -> "Silent":
            return self

        def abort(self) -> None:
            assert not self.aborted
            self.aborted = True

    lobby, came = Lobby(5), [Silent() for _ in range(300)]
    for connection in came:  # the loop does not get to close any of them meanwhile
        lobby.enter(connection)  # type: ignore[arg-type]
    assert [connection.aborted for connection in came] == [True] * 295 + [False] * 5


@pytest.mark.parametrize("path", ["//[x]/", "//[::1]:port/health"])
def test_a_path_that_is_no_address_is_refused(get, path: str) -> None:
    assert get(path)[0] == 400


def test_a_conversation_lasts_as_long_as_it_may(house: House) -> None:
    async def work(_: object) -> None:
        async with dial(house.server, additional_headers=BEARER) as socket:
            client = Client(socket)
            assert (await client.start())["session_s"] == 4
            assert (await closing(socket)).code == 4002
        await house.idle()

    house.run(work)


def test_the_page_may_connect_to_its_own_server_alone(get) -> None:
    _, headers, _ = get("/")
    rules = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
    assert rules["connect-src"] == "'self'"
    assert rules["default-src"] == "'self'"


def test_health_tells_what_a_browser_must_know(house: House, get) -> None:
    for path in ("/health", "/health/live", "/health/ready"):
        status, headers, body = get(path)
        assert (status, headers["Content-Type"]) == (200, "application/json")
        health = json.loads(body)
        assert (health["live"], health["ready"], health["token_required"]) == (True, True, True)
        assert health["places"] == 3


def test_metrics_need_the_token_and_can_be_read(house: House, get) -> None:
    assert get("/metrics")[0] == 401

    async def work(_: object) -> None:
        async with dial(house.server, additional_headers=BEARER) as socket:
            client = Client(socket)
            await client.start()
            await client.ask()
            _, _, body = await asyncio.to_thread(ask, house.server.url, "/metrics", **BEARER)
            values = {
                (sample.name, *sample.labels.values()): sample.value
                for family in text_string_to_metric_families(body.decode())
                for sample in family.samples
            }
            assert values["voxring_turns_total", "answered"] == 1
            assert values["voxring_turns_total", "interrupted"] == 0
            assert values["voxring_first_audio_seconds_count",] == 1
            assert values["voxring_phase_seconds_count", "first_audio"] == 1
            assert values["voxring_tokens_total", "reply"] == len("It is time to speak.")
            assert values["voxring_tokens_total", "heard"] == len("What time is it?")
            assert (values["voxring_lanes", "used"], values["voxring_lanes", "free"]) == (1, 2)
            assert 0 <= values["voxring_ring_fill_ratio", "mic"] <= 1
            assert values["voxring_underruns_total",] >= 0
            assert values["voxring_refused_total", "401"] >= 1
        await house.idle()

    house.run(work)


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/nothing", "GET", 404),
        ("/../pyproject.toml", "GET", 404),
        ("/page/../server.py", "GET", 404),
        ("/%2e%2e/server.py", "GET", 404),
        ("/health", "POST", 405),
        ("/v1/voice", "GET", 426),
    ],
)
def test_nothing_else_is_served(house: House, get, path: str, method: str, status: int) -> None:
    headers = BEARER if path.startswith("/v1") else {}
    assert get(path, method, **headers)[0] == status
    house.run(lambda _: house.idle())


def test_a_busy_machine_lets_nobody_more_in(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those inside are not sent away, and the page is told by /health."""

    async def work(_: object) -> None:
        load = house.server.state.load
        async with dial(house.server, additional_headers=BEARER) as socket:
            client = Client(socket)
            await client.start()
            monkeypatch.setattr(load, "has_room", lambda now_s, conversations: not conversations)
            assert await refusal(house, additional_headers=OTHER) == (503, "7")
            _, _, body = await asyncio.to_thread(ask, house.server.url, "/health")
            assert json.loads(body)["places"] == 0
            assert (await client.ask())["outcome"] == "answered"
            monkeypatch.undo()
            async with dial(house.server, additional_headers=OTHER) as other:
                await Client(other).start()
        await house.idle()

    house.run(work)
