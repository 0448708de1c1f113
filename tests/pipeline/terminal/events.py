"""Events of a conversation as the pipeline would tell them."""

from pipeline.events import TurnEnded
from pipeline.timeline import Timeline
from stages.event import Event as Milestone
from stages.outcome import Outcome

MS = 1_000_000
AT = {
    Milestone.SPEECH_START: 0,
    Milestone.SILENCE: 1060 * MS,
    Milestone.FINAL: 1169 * MS,
    Milestone.FIRST_ID: 1210 * MS,
    Milestone.FIRST_WORDS: 1240 * MS,
    Milestone.RELEASE: 1252 * MS,
    Milestone.FIRST_SOUND: 1295 * MS,
    Milestone.FIRST_AUDIO: 1304 * MS,
}


def ended(
    turn: int,
    user: str = "",
    heard: str = "",
    outcome: Outcome = Outcome.ANSWERED,
    *,
    sounded: bool = True,
    source: str = "clip",
    underruns: tuple[tuple[int, int], ...] = (),
) -> TurnEnded:
    """A turn that took 304 ms."""
    at = AT if sounded else {k: v for k, v in AT.items() if k is not Milestone.FIRST_AUDIO}
    timeline = Timeline(
        lane=0,
        turn=turn,
        answer=turn,
        outcome=outcome,
        at=at,
        values={},
        speech_end=1000 * MS,
        speech_end_source=source,
        underruns=underruns,
    )
    return TurnEnded(timeline, user, heard, heard)
