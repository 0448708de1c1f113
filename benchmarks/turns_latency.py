"""First audio after recorded questions, as a person gets it and without speculation."""

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import first_audio
from benchmarks.result import Figure
from benchmarks.sample import median
from pipeline.config import TurnConfig
from pipeline.pipeline import Pipeline
from pipeline.replay import Answer, read_question, replay
from pipeline.report import latencies

SETTINGS = ("llm.max_new_tokens=16",)  # only the beginning of an answer matters


async def ask(
    pipeline: Pipeline, clips: Sequence[Path], repeat: int, tell: Callable[[str], None]
) -> list[Answer]:
    """Every clip `repeat` times, after one uncounted round.

    Raises:
        VoxringError: a clip cannot be read, or the pipeline fails.
    """
    questions = [read_question(clip) for clip in clips]
    await replay(pipeline, questions)
    return await replay(
        pipeline,
        questions,
        repeat=repeat,
        on_answer=lambda answer: tell(first_audio.describe(answer, repeat)),
    )


def without_speculation(turn: TurnConfig) -> tuple[str, ...]:
    """Settings with which nothing is done for an answer before the turn is over.

    Where the end-of-turn model says that it is not, the answer is prepared all the same.
    """
    over_ms = turn.early_release_ms if turn.end_model else turn.release_ms
    return (f"turn.soft_end_ms={over_ms}", "asr.decode_at_pause=false")


def figures(answers: Sequence[Answer], off: Sequence[Answer]) -> dict[str, Figure]:
    """All metrics."""
    return first_audio.figures(answers) | {
        "first_audio_off_p50_ms": median(latencies(off)),
        "first_audio_off_max_ms": max(latencies(off), default=None),
        "turns_off": len(off),
    }
