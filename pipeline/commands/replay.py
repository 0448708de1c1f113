"""`voxring replay`: recorded questions, or a suite of them, at real-time pace."""

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.commands.app import (
    FAILED,
    ConfigPath,
    Overrides,
    app,
    complain,
    load,
    plainly,
    stderr,
    stdout,
)
from pipeline.config import Config
from pipeline.errors import ConfigError, OutputError
from pipeline.live_turn import LiveTurn
from pipeline.output import check_file, check_writable
from pipeline.pipeline import Pipeline
from pipeline.progress import StartProgress
from pipeline.replay import Answer, Question, answer_files, read_question, replay
from pipeline.report import print_turn, render_summary, write_json
from stages.outcome import BROKEN

PANEL = "Suites, reports, exports"


def _file(text: str) -> Any:
    """An option that names a file, in a panel of its own in --help."""
    return typer.Option(metavar="FILE", help=text, rich_help_panel=PANEL)


@app.command("replay")
@plainly
def replay_command(
    clips: Annotated[
        list[Path],
        typer.Argument(
            metavar="CLIP", help="WAV, FLAC or MP3 files with speech; or one suite, TOML."
        ),
    ],
    config: ConfigPath = None,
    overrides: Overrides = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How often each clip is played.")
    ] = None,
    warmup: Annotated[
        int, typer.Option(min=0, metavar="N", help="Turns before that, not reported.")
    ] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the answers, as WAV.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File for the figures, as JSON.")
    ] = None,
    endpoint: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Play to a running `voxring serve`, such as ws://127.0.0.1:8765; "
            "its token is VOXRING_TOKEN in the environment.",
            rich_help_panel=PANEL,
        ),
    ] = "",
    report: Annotated[Path | None, _file("A report to look at: one HTML file.")] = None,
    baseline: Annotated[Path | None, _file("An earlier run; being slower is a failure.")] = None,
    save_baseline: Annotated[Path | None, _file("Keep this run, to compare later ones.")] = None,
    junit: Annotated[Path | None, _file("The verdict for CI services: JUnit XML.")] = None,
    jsonl: Annotated[Path | None, _file("Each turn as a line of JSON.")] = None,
    csv: Annotated[Path | None, _file("Each turn as a row of CSV.")] = None,
) -> None:
    """Play recorded questions at real-time pace and show where each millisecond went.

    A suite (TOML) also tells what is expected: words, milliseconds, interruptions. What is missed
    ends the command with 1, a line for each, which names the phase that took the time.

    For example:

    * `voxring replay demos/question.wav --out answers`

    * `voxring replay a.wav b.mp3 --repeat 10 --json result.json`

    * `voxring replay a.wav --set turn.release_ms=400 --report a.html`

    * `voxring replay demos/suite.toml --repeat 10 --save-baseline then.json`

    * `voxring replay demos/suite.toml --repeat 10 --baseline then.json --junit verdict.xml`
    """
    suite = suite_among(clips)
    others = (report, baseline, save_baseline, junit, jsonl, csv)
    if suite or endpoint or any(others):
        if out or warmup:
            option = "--out" if out else "--warmup"
            raise ConfigError(
                f"{option} is for clips alone", "A suite has cold rounds, and reports"
            )
        from pipeline.commands.suite import Files, played  # it takes a while to import

        files = Files(json, jsonl, csv, junit, report, save_baseline)
        played(suite, clips, repeat, config, overrides or (), files, baseline, endpoint)
        return
    settings = load(config, overrides)
    questions = [read_question(clip) for clip in clips]
    repeat = repeat or 1
    if out:
        answer_files(questions, repeat, out)
        check_writable(out, "--out")
    if json:
        check_file(json, "--json")
    answers: list[Answer] = []
    try:
        asyncio.run(_replay(settings, questions, repeat, warmup, out, answers))
    finally:
        written = _conclude(answers, json)
    if not written or any(answer.outcome in BROKEN or answer.faults for answer in answers):
        raise typer.Exit(FAILED)


def suite_among(clips: Sequence[Path]) -> Path | None:
    """The suite that was named in place of clips.

    Raises:
        ConfigError: it was named beside something else.
    """
    suites = [clip for clip in clips if clip.suffix == ".toml"]
    if suites and len(clips) > 1:
        raise ConfigError(f"{suites[0]} is a suite, and was named beside others", "Name it alone")
    return suites[0] if suites else None


async def _replay(
    config: Config,
    questions: list[Question],
    repeat: int,
    warmup: int,
    out: Path | None,
    answers: list[Answer],
) -> None:
    """Fill `answers`; a SIGTERM cancels it, as Ctrl-C does."""
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with StartProgress(stderr) as progress:
        pipeline = Pipeline(config, progress)
        await pipeline.__aenter__()
    try:
        with LiveTurn(stderr, repeat) as live:

            def tell(answer: Answer) -> None:
                live.end()
                answers.append(answer)
                print_turn(stdout, answer)

            if warmup:
                await replay(
                    pipeline,
                    questions[:1],
                    repeat=warmup,
                    on_question=live.begin,
                    on_event=live.take,
                )
            await replay(
                pipeline,
                questions,
                repeat=repeat,
                out=out,
                on_question=live.begin,
                on_event=live.take,
                on_answer=tell,
            )
    finally:
        await pipeline.__aexit__(None, None, None)


def _conclude(answers: list[Answer], json: Path | None) -> bool:
    """Show the summary of what there is and write it; False if it could not be written."""
    if answers:
        stdout.print(render_summary(answers))
    try:
        if json and answers:
            write_json(json, answers)
    except OutputError as error:
        complain(str(error))
        return False
    return True
