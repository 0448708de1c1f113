"""The configuration of `voxring serve`."""

from typing import Literal

from pydantic import Field

from pipeline.frozen import Frozen


class ServeConfig(Frozen):
    """The websocket endpoint.

    Secrets have no key here: the configuration is printed and handed to every stage.

    Attributes:
        host: the address to listen on; any other than loopback requires a token.
        port: 0 takes a free one.
        token_file: a file of tokens, a line each, `NAME TOKEN` or `TOKEN`; the environment variable
            VOXRING_TOKENS has the same form, with commas or lines. Without any, everybody on this
            machine may connect.
        origins: of browsers that may connect besides the server's own pages, such as
            "https://example.org".
        tls_cert, tls_key: PEM files; empty: no TLS.
        proxied: a reverse proxy stands in front: a token is required, and an origin is compared
            with the host that it forwards (X-Forwarded-Host).
        max_message_kib: a longer message closes its connection with 1009.
        messages_per_s: of one connection, on average; a faster one is read more slowly. Each 8 KiB
            of a long message count as one.
        session_s: how long a conversation may last; 0: any time.
        sessions_per_token: conversations at once that one token may have; 0: any number.
        max_speakers: conversations at once at most, whatever `pipeline.lanes` says; 0: as many.
        max_load: share of the cores from which nobody more is let in (see docs/serve.md); 0: it
            does not matter.
        retry_after_s: what a refused client is told to wait.
        lead_ms: sound that is sent before it is to be heard, at most.
        send_queue_ms: sound that waits for a slow reader, at most; the oldest is dropped.
        send_queue_events: events that wait for a slow reader, at most; then it is closed.
        ping_interval_s: between two pings of a connection.
        ping_timeout_s: a peer that does not answer one for so long is gone.
        open_timeout_s: for a handshake, and again for the first message.
        drain_s: how long conversations may go on after SIGTERM.
        log: "text" for people, "json" for machines.
        log_input: what people say and type may stand in the log.
        metrics: `/metrics` is served; where a token is required it needs one too.
        traces: each turn is written as OpenTelemetry spans, to where the OTEL_ variables say.
    """

    host: str = "127.0.0.1"
    port: int = Field(8765, ge=0, le=65_535)
    token_file: str = ""
    origins: list[str] = Field(default_factory=list)
    tls_cert: str = ""
    tls_key: str = ""
    proxied: bool = False
    max_message_kib: int = Field(1024, ge=1, le=65_536)
    messages_per_s: float = Field(250.0, gt=0)
    session_s: float = Field(3600.0, ge=0)
    sessions_per_token: int = Field(0, ge=0)
    max_speakers: int = Field(0, ge=0)
    max_load: float = Field(0.7, ge=0)
    retry_after_s: int = Field(5, ge=1, le=3600)
    lead_ms: int = Field(300, ge=0, le=2000)
    send_queue_ms: int = Field(1000, ge=100, le=60_000)
    send_queue_events: int = Field(256, ge=16, le=65_536)
    ping_interval_s: float = Field(20.0, gt=0)
    ping_timeout_s: float = Field(20.0, gt=0)
    open_timeout_s: float = Field(10.0, gt=0)
    drain_s: float = Field(30.0, ge=0)
    log: Literal["text", "json"] = "text"
    log_input: bool = False
    metrics: bool = True
    traces: bool = False
