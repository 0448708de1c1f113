"""Voice activity without a model: by level, or at times that a script sets."""

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from stages.lane import Lane
from stages.stage import Stage
from stages.turn.endpointer import WINDOW_MS
from stages.turn.session import TurnSession, Window


class ScriptedTurnOptions(BaseModel):
    """Options of the scripted turn.

    Attributes:
        speech: [from, to] in ms since the lane opened; empty: speech is what is loud.
        level_dbfs: what is loud.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    speech: list[tuple[int, int]] = Field(default_factory=list)
    level_dbfs: float = -35.0  # above the loudest room tone that a replay goes on with


class ScriptedDetector:
    """Says 1 inside the script's times (or above its level) and 0 elsewhere."""

    def __init__(self, options: ScriptedTurnOptions) -> None:
        self.options = options
        self._ms = 0

    def probability(self, window: Window) -> float:
        """1 or 0 for int16 [512]."""
        start, self._ms = self._ms, self._ms + WINDOW_MS
        if self.options.speech:
            return float(any(begin <= start < end for begin, end in self.options.speech))
        rms = float(np.sqrt(np.mean(np.square(window, dtype=np.float64)))) / 32768
        return float(20 * np.log10(max(rms, 1e-9)) >= self.options.level_dbfs)


class ScriptedTurn(Stage):
    """Turn-taking on a script."""

    name = "turn"

    def load(self) -> None:
        """Check the script."""
        self.options = self.host.options(ScriptedTurnOptions)

    def open(self, lane: Lane) -> TurnSession:
        """A new conversation."""
        return TurnSession(lane, ScriptedDetector(self.options), self.config, self.host.now)
