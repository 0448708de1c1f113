"""`voxring config`: what would run."""

import sys

import tomli_w

from pipeline.commands.app import ConfigPath, Overrides, app, load, plainly


@app.command("config")
@plainly
def config_command(config: ConfigPath = None, overrides: Overrides = None) -> None:
    """Print the effective configuration, as TOML.

    For example:

    * `voxring config`

    * `voxring config --config laptop --set tts.speed=1.2 > mine.toml`
    """
    sys.stdout.write(tomli_w.dumps(load(config, overrides).model_dump()))
