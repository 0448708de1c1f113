"""What all recognisers share as a stage: who may decode first."""

from collections.abc import Callable, Sequence

from stages.asr.backchannels import Backchannels
from stages.asr.bridge import Bridge
from stages.asr.recogniser import Recogniser
from stages.asr.transcriber import Transcriber
from stages.lane import Lane
from stages.stage import Session, Stage


class AsrStage(Stage):
    """Steps over lanes so that nobody who has finished waits for somebody who goes on.

    In each round every lane listens, utterances that may be complete are decoded to their end, and
    then one phase of one decode of speech that goes on is run: the one that began first.
    """

    name = "asr"

    def transcriber(self, lane: Lane, recogniser: Recogniser, bridge: Bridge) -> Transcriber:
        """A new conversation with an ear of its own."""
        config = self.host.config
        turn = config.turn
        backchannels = Backchannels(turn.backchannels, turn.commands, turn.unsure_below)
        return Transcriber(lane, recogniser, bridge, config.asr, self.host.now, backchannels)

    def step(
        self, sessions: Sequence[Session], failed: Callable[[Session, Exception], None]
    ) -> None:
        """One round."""
        super().step(sessions, failed)
        waiting = [
            (session.waiting_since, session)
            for session in sessions
            if isinstance(session, Transcriber) and session.waiting_since is not None
        ]
        if not waiting:
            return
        _, oldest = min(waiting, key=lambda pair: pair[0])
        try:
            oldest.go_on()
        except Exception as error:
            failed(oldest, error)
