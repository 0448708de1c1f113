"""One voice, many listeners: who is about to run out of sound is served first."""

from collections.abc import Callable, Sequence

from stages.stage import Session
from stages.tts.speaker import Speaker


def step_fairly(sessions: Sequence[Session], failed: Callable[[Session, Exception], None]) -> None:
    """Step the lanes of a voice: ids and blocks of all of them, then one stretch of one.

    A stretch is what costs. The lane with the least sound left gets it (earliest deadline first; an
    answer that was not heard yet has none left), the others are asked again at once. So a long
    reply, which is soon seconds ahead of its listener, delays nobody's first sound by more than the
    stretch that has begun.

    Args:
        sessions: speakers that have something to do.
        failed: to be told of one that raised; the others go on.
    """
    ready: list[Speaker] = []
    for session in sessions:
        assert isinstance(session, Speaker)
        try:
            if session.listen():
                ready.append(session)
        except Exception as error:  # of one lane: the runner isolates it
            failed(session, error)
    served = False
    for speaker in sorted(ready, key=lambda speaker: speaker.ahead):
        if served:
            speaker.due = 0
            continue
        try:
            served = speaker.speak()
        except Exception as error:
            failed(speaker, error)
