"""Turn-taking on two models: Silero's voice activity, and Smart Turn on whether a turn is over."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from pipeline.config import usable_cores
from stages.lane import Lane
from stages.stage import Stage
from stages.topology import INPUT_BLOCK
from stages.turn.session import TurnSession, Window
from stages.turn.speculation import Speculation

if TYPE_CHECKING:
    from stages.turn.smart_turn import SmartTurn
    from stages.turn.vad import SileroVad


class SileroTurn(Stage):
    """Shares both models between all conversations; each keeps its own state of the first."""

    name = "turn"

    def load(self) -> None:
        """Load the models and run each once."""
        from pipeline.models import silero_vad_path, smart_turn_path
        from stages.turn.smart_turn import SmartTurn
        from stages.turn.vad import SileroVad, VadState

        self.host.progress("loading voice activity detection", None)
        self.model = SileroVad(silero_vad_path(), self.host.threads)
        self.model.probability(VadState(), np.zeros(INPUT_BLOCK, np.int16))
        self.speculation = Speculation(usable_cores())
        self.judge: _Judge | None = None
        if reference := self.config.end_model:
            path = smart_turn_path(reference, self.host.progress)
            self.host.progress("loading end-of-turn detection", None)
            self.judge = _Judge(SmartTurn(path, self.host.threads))
            self.judge(np.zeros(INPUT_BLOCK, np.int16)).result()

    def open(self, lane: Lane) -> TurnSession:
        """A new conversation."""
        detector = _SileroDetector(self.model)
        return TurnSession(lane, detector, self.config, self.host.now, self.judge, self.speculation)


class _SileroDetector:
    """One conversation's view of the shared model."""

    def __init__(self, model: "SileroVad") -> None:
        from stages.turn.vad import VadState

        self._model = model
        self._state = VadState()

    def probability(self, window: Window) -> float:
        """Of speech in int16 [512]."""
        return self._model.probability(self._state, window)


class _Judge:
    """Runs the end-of-turn model beside the stage's thread, which goes on hearing everybody."""

    def __init__(self, model: "SmartTurn") -> None:
        self._model = model
        self._thread = ThreadPoolExecutor(1, "end-of-turn")

    def __call__(self, said: Window) -> Future[float]:
        """Begin to judge int16 [n]."""
        return self._thread.submit(self._model.probability, said)
