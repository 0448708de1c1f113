"""`voxring replay`: recorded questions at real-time pace, with their timelines."""

import asyncio
import signal
from pathlib import Path
from typing import Annotated

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
from pipeline.errors import OutputError
from pipeline.live_turn import LiveTurn
from pipeline.output import check_writable
from pipeline.pipeline import Pipeline
from pipeline.progress import StartProgress
from pipeline.replay import Answer, Question, answer_files, read_question, replay
from pipeline.report import BAD, check_json, print_turn, render_summary, write_json


@app.command("replay")
@plainly
def replay_command(
    clips: Annotated[
        list[Path], typer.Argument(metavar="CLIP", help="WAV, FLAC or MP3 files with speech.")
    ],
    config: ConfigPath = None,
    overrides: Overrides = None,
    repeat: Annotated[
        int, typer.Option(min=1, metavar="N", help="How often each clip is played.")
    ] = 1,
    warmup: Annotated[
        int, typer.Option(min=0, metavar="N", help="Turns before that, not reported.")
    ] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the answers, as WAV.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File for the figures, as JSON.")
    ] = None,
) -> None:
    """Play recorded questions at real-time pace and show where each millisecond went.

    For example:

    * `voxring replay demos/question.wav --out answers`

    * `voxring replay a.wav b.mp3 --repeat 10 --json result.json`

    * `voxring replay a.wav --set turn.release_ms=400`
    """
    settings = load(config, overrides)
    questions = [read_question(clip) for clip in clips]
    if out:
        answer_files(questions, repeat, out)
        check_writable(out, "--out")
    if json:
        check_json(json)
    answers: list[Answer] = []
    try:
        asyncio.run(_replay(settings, questions, repeat, warmup, out, answers))
    finally:
        written = _conclude(answers, json)
    if not written or any(answer.outcome in BAD or answer.faults for answer in answers):
        raise typer.Exit(FAILED)


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
