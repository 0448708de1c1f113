"""The official JavaScript client from npm, unmodified: over TLS, which it insists on."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.endpoint.realtime.serving import serving
from tests.pipeline.endpoint.realtime.shapes import check
from tests.pipeline.endpoint.running import loud, quiet

PACKAGES = ("openai@6.49.0", "ws@8.23.0")
SCRIPT = Path(__file__).with_name("client.mjs")
INSTALL_S, TALK_S = 100, 60
RATE = 24_000
REPLY = "It is time to speak."


def need(program: str) -> str:
    """Where a program is, or skip."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"needs {program}")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the client is installed."""
    npm, made = need("npm"), tmp_path_factory.mktemp("npm")
    need("node")
    try:
        subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", "--prefix", str(made), *PACKAGES],
            check=True,
            capture_output=True,
            timeout=INSTALL_S,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"npm cannot install the client: {error}")
    shutil.copy(SCRIPT, made)
    return made


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for this machine, and its key."""
    openssl, made = need("openssl"), tmp_path_factory.mktemp("tls")
    cert, key = made / "cert.pem", made / "key.pem"
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", names),
            *("-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
        timeout=30,
    )
    return cert, key


@pytest.fixture(scope="module")
def url(certificate: tuple[Path, Path]) -> Iterator[str]:
    cert, key = certificate
    with serving(f"serve.tls_cert={cert}", f"serve.tls_key={key}") as where:
        yield f"{where}/v1"


def test_the_javascript_client(
    folder: Path, certificate: tuple[Path, Path], url: str, tmp_path: Path
) -> None:
    speech = tmp_path / "speech.pcm"
    speech.write_bytes(quiet(0.1, RATE) + loud(0.5, RATE) + quiet(0.5, RATE))
    finished = subprocess.run(
        [need("node"), SCRIPT.name, url, str(speech)],
        cwd=folder,
        env={**os.environ, "NODE_EXTRA_CA_CERTS": str(certificate[0])},
        capture_output=True,
        text=True,
        timeout=TALK_S,
    )
    assert finished.returncode == 0, finished.stderr
    told: list[dict[str, Any]] = [json.loads(line) for line in finished.stdout.splitlines()]
    by_type = {event["type"]: event for event in told}
    assert by_type["caught"]["code"] == "invalid_value"
    assert by_type["heard"]["bytes"] == len(REPLY) * 60 * RATE // 1000 * 2
    done = [e["response"] for e in told if e["type"] == "response.done"]
    contents = [response["output"][0]["content"] for response in done]
    assert contents == [
        [{"type": "output_audio", "transcript": REPLY}],
        [{"type": "output_text", "text": REPLY}],
    ]
    check([event for event in told if event["type"] not in ("caught", "heard")])
