"""`voxring serve`: conversations for browsers, phones and programs on the network."""

from importlib.util import find_spec
from typing import Annotated

import typer

from pipeline.commands.app import ConfigPath, Overrides, app, complain, load, plainly
from pipeline.errors import ConfigError

NEEDED = ("websockets", "prometheus_client")


@app.command("serve")
@plainly
def serve_command(
    config: ConfigPath = None,
    overrides: Overrides = None,
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="To listen on; the same as serve.host.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="0: a free one; the same as serve.port.")
    ] = None,
) -> None:
    """Serve conversations over websockets, and a web page to have one.

    SIGTERM lets the turns that run come to their end; Ctrl-C does not.

    For example:

    * `voxring serve` and open http://127.0.0.1:8765

    * `voxring serve --config server --set serve.token_file=tokens.txt --host 0.0.0.0`

    * `VOXRING_TOKENS="desk 0123456789abcdef" voxring serve --host 0.0.0.0`
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise ConfigError(
            f"serving needs {', '.join(missing)}, which is not installed",
            "Run: pip install 'voxring[serve]'",
        )
    from pipeline.endpoint.guardian import Guardian

    asked = [f'serve.host="{host}"'] if host is not None else []
    asked += [f"serve.port={port}"] if port is not None else []
    settings = load(config, [*(overrides or ()), 'audio.stage="client"', *asked])
    with Guardian(settings, complain) as guardian:
        code = guardian.run()
    raise typer.Exit(code)
