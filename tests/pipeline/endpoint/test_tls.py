"""TLS by configuration, and spans that reach a collector."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from pipeline.endpoint.server import Server, tls_context
from pipeline.errors import ConfigError
from pipeline.pipeline import Pipeline
from tests.pipeline.endpoint.running import Client, config_for, dial


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost, and its key."""
    if not shutil.which("openssl"):
        pytest.skip("needs openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
        timeout=20,
    )
    return cert, key


@pytest.fixture
def collector() -> Iterator[tuple[int, list[bytes]]]:
    """A port that takes spans, and what it was sent."""
    sent: list[bytes] = []

    class Take(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Take)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port, sent
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_conversation_over_tls_whose_spans_are_collected(
    pair: tuple[Path, Path], collector: tuple[int, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otel")
    cert, key = pair
    port, sent = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    config = config_for(
        f"serve.tls_cert={cert}", f"serve.tls_key={key}", "serve.traces=true", "serve.max_load=0"
    )
    trusting = ssl.create_default_context(cafile=cert)

    async def main() -> None:
        async with Server(config) as server, Pipeline(config) as pipeline:
            server.open_doors(pipeline)
            assert server.url.startswith("https://")
            async with dial(server, ssl=trusting) as socket:
                client = Client(socket)
                await client.start()
                assert (await client.ask())["outcome"] == "answered"
            with pytest.raises(ssl.SSLError):
                await dial(server, ssl=ssl.create_default_context())
            await server.close()

    asyncio.run(main())
    spans = b"".join(sent)
    for name in (b"turn", b"listen", b"asr", b"llm", b"tts", b"play", b"voxring.outcome"):
        assert name in spans
    assert b"What time" not in spans


def test_what_is_wrong_with_a_certificate_is_told(pair: tuple[Path, Path], tmp_path: Path) -> None:
    cert, key = pair
    other = tmp_path / "other.pem"
    other.write_text("no key")
    for one, two in ((cert, other), (tmp_path / "none.pem", key), (other, key)):
        with pytest.raises(ConfigError, match=r"tls_cert or serve\.tls_key cannot be used"):
            tls_context(str(one), str(two))
    with pytest.raises(ConfigError, match="needs both"):
        tls_context(str(cert), "")
    assert tls_context("", "") is None
