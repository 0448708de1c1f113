"""Turn-taking on Silero's voice activity model."""

from typing import TYPE_CHECKING

import numpy as np

from stages.lane import Lane
from stages.stage import Stage
from stages.topology import INPUT_BLOCK
from stages.turn.session import TurnSession, Window

if TYPE_CHECKING:
    from stages.turn.vad import SileroVad


class SileroTurn(Stage):
    """Shares one model between all conversations; each keeps its own state."""

    name = "turn"

    def load(self) -> None:
        """Load the model and run it once."""
        from pipeline.models import silero_vad_path
        from stages.turn.vad import SileroVad, VadState

        self.host.progress("loading voice activity detection", None)
        self.model = SileroVad(silero_vad_path(), self.host.threads)
        self.model.probability(VadState(), np.zeros(INPUT_BLOCK, np.int16))

    def open(self, lane: Lane) -> TurnSession:
        """A new conversation."""
        detector = _SileroDetector(self.model)
        return TurnSession(lane, detector, self.config, self.host.now, self.judge)


class _SileroDetector:
    """One conversation's view of the shared model."""

    def __init__(self, model: "SileroVad") -> None:
        from stages.turn.vad import VadState

        self._model = model
        self._state = VadState()

    def probability(self, window: Window) -> float:
        """Of speech in int16 [512]."""
        return self._model.probability(self._state, window)
