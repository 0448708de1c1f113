"""`voxring talk`: a conversation by microphone and loudspeaker."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import tomli_w
import typer

from pipeline.client_lane import ClientLane
from pipeline.commands.app import (
    FAILED,
    ConfigPath,
    Overrides,
    app,
    load,
    plainly,
    stderr,
    stdout,
)
from pipeline.config import Config
from pipeline.errors import ConfigError
from pipeline.pipeline import Pipeline
from pipeline.progress import StartProgress
from pipeline.replay import Question, read_question
from pipeline.session_name import session_file
from pipeline.terminal.entry import Note
from pipeline.terminal.keys import Key
from pipeline.terminal.talk import Talk
from pipeline.terminal.terminal import Terminal

NOT_LIVE = ("file", "client")  # edges that hear no microphone by themselves
PERSONA, DEVICES, KEPT = "Who answers", "Microphone and loudspeaker", "What is kept"


@app.command("talk")
@plainly
def talk_command(
    system: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="System prompt, or @FILE with it.", rich_help_panel=PERSONA
        ),
    ] = None,
    voice: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Bundle or path of a voice.", rich_help_panel=PERSONA),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            metavar="CODES",
            help="Spoken languages, such as en or en,de; any: all.",
            rich_help_panel=PERSONA,
        ),
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option(metavar="X", help="Of the voice; 1 is its own.", rich_help_panel=PERSONA),
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Language model.", rich_help_panel=PERSONA),
    ] = None,
    asr: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Speech recogniser.", rich_help_panel=PERSONA),
    ] = None,
    input: Annotated[
        str | None,
        typer.Option(
            metavar="DEVICE",
            help="Microphone: number or part of a name, see `voxring devices`.",
            rich_help_panel=DEVICES,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(metavar="DEVICE", help="Loudspeaker, named alike.", rich_help_panel=DEVICES),
    ] = None,
    echo: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="headphones, cancel (open speakers) or half-duplex.",
            rich_help_panel=DEVICES,
        ),
    ] = None,
    clip: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Recorded speech instead of the microphone; may be repeated.",
            rich_help_panel=DEVICES,
        ),
    ] = None,
    transcript: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Folder for what was said, as JSON lines.", rich_help_panel=KEPT
        ),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Folder for both sides, as stereo WAV.", rich_help_panel=KEPT
        ),
    ] = None,
    config: ConfigPath = None,
    overrides: Overrides = None,
) -> None:
    """Talk with it: you speak, and it answers by voice.

    Keys: m mute, space push to talk, i or Esc interrupt, q quit. docs/talk.md has the rest.

    For example:

    * `voxring talk`

    * `voxring talk --system "You are a pirate." --speed 1.1 --echo cancel`

    * `voxring talk --input "USB" --transcript kept --record kept`

    * `voxring talk --clip demos/question.wav`, without a sound card
    """
    flags = {
        "llm.system": None if system is None else _text(system),
        "tts.model": voice,
        "asr.languages": None if language is None else _languages(language),
        "tts.speed": speed,
        "llm.model": llm,
        "asr.model": asr,
        "audio.input": None if input is None else _device(input),
        "audio.output": None if output is None else _device(output),
        "audio.echo": echo,
        "pipeline.transcripts": transcript,
        "audio.record": record,
    }
    settings = _live(
        load(config, [*(overrides or ()), *_as_overrides(flags)]), has_clips=bool(clip)
    )
    questions = [read_question(path) for path in clip or ()]
    if asyncio.run(_talk(settings, questions)):
        raise typer.Exit(FAILED)


def _as_overrides(flags: dict[str, Any]) -> list[str]:
    """What was given, as --set takes it: a flag is a short name of a key."""
    given = {key: value for key, value in flags.items() if value is not None}
    return [
        f"{key}={tomli_w.dumps({'value': value}).removeprefix('value = ').strip()}"
        for key, value in given.items()
    ]


def _text(text: str) -> str:
    """Itself, or what stands in the file behind an @."""
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(
            f"--system {text}: {error.strerror}", "Name a text file behind the @"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"--system {text}: no UTF-8", "Name a text file behind the @") from None


def _languages(codes: str) -> list[str]:
    return [] if codes == "any" else [code.strip() for code in codes.split(",")]


def _device(name: str) -> int | str:
    return int(name) if name.isdecimal() else name


def _live(config: Config, *, has_clips: bool) -> Config:
    """With an edge that hears somebody; one of your own is left alone."""
    stage = config.audio.stage
    wanted = "file" if has_clips else "device" if stage in NOT_LIVE else stage
    return config.model_copy(update={"audio": config.audio.model_copy(update={"stage": wanted})})


async def _talk(config: Config, clips: list[Question]) -> bool:
    """Hold the conversation; whether something failed. SIGTERM cancels it, as Ctrl-C does."""
    task = asyncio.current_task()
    assert task
    end = _End(task)
    with Terminal(
        stdout, lambda key: end.quit() if key is Key.QUIT else talk.press(key), end.terminate
    ) as tty:
        talk = Talk(tty.display, has_keys=tty.has_keys)
        try:
            await _run(config, clips, tty, talk)
        except asyncio.CancelledError:
            if not end.is_wanted:
                raise
    return talk.failed and bool(clips)


async def _run(config: Config, clips: list[Question], tty: Terminal, talk: Talk) -> None:
    with StartProgress(stdout if tty.display.is_live else stderr) as progress:
        pipeline = Pipeline(config, progress)
        await pipeline.__aenter__()
    kept: list[Path] = []
    try:
        lane = await pipeline.open()
        kept = _kept(config, lane)
        if config.audio.stage == "device" and config.audio.echo == "headphones":
            tty.display.show(Note("wear headphones; for open speakers there is --echo cancel"))
        await talk.hold(lane, clips)
    finally:
        await pipeline.__aexit__(None, None, None)
        for path in kept:
            if path.exists():
                tty.display.show(Note(f"kept {path}"))


def _kept(config: Config, lane: ClientLane) -> list[Path]:
    """Where to find what is kept of a conversation, if there was anything."""
    opened = lane.lane.get("opened")
    folders = {".jsonl": config.pipeline.transcripts, ".wav": config.audio.record}
    return [session_file(f, opened, lane.number, suffix) for suffix, f in folders.items() if f]


class _End:
    """Ends the conversation, once: who asks again while everything is ending changes nothing.

    Args:
        task: what holds it.

    Attributes:
        is_wanted: by the person, with a key.
    """

    def __init__(self, task: "asyncio.Task[Any]") -> None:
        self.is_wanted = False
        self._task: asyncio.Task[Any] | None = task

    def quit(self) -> None:
        """The person wants to go."""
        self.is_wanted |= self._task is not None
        self.terminate()

    def terminate(self) -> None:
        """The system or the terminal wants that."""
        task, self._task = self._task, None
        if task:
            task.cancel()
