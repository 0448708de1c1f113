"""Turn-taking on two models: Silero's voice activity, and Smart Turn on whether a turn is over."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from pipeline.config import AudioConfig, usable_cores
from stages.lane import Lane
from stages.stage import Session, Stage
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
        if self.host.config.pipeline.lanes > 1:
            self.model.prepare_lanes()
        silence = np.zeros(INPUT_BLOCK, np.int16)
        for lanes in range(1, min(3, self.host.config.pipeline.lanes + 1)):
            self.model.judge([VadState() for _ in range(lanes)], [silence] * lanes)
        self.speculation = Speculation(usable_cores())
        self.judge: _Judge | None = None
        if reference := self.config.end_model:
            path = smart_turn_path(reference, self.host.progress)
            self.host.progress("loading end-of-turn detection", None)
            self.judge = _Judge(SmartTurn(path, self.host.threads))
            self.judge(np.zeros(INPUT_BLOCK, np.int16)).result()

    def open(self, lane: Lane) -> TurnSession:
        """A new conversation."""
        return TurnSession(
            lane,
            _SileroDetector(self.model),
            self.config,
            self.host.now,
            self.judge,
            self.speculation,
            cancels_echo=cancels_echo(self.host.config.audio),
        )

    def step(
        self, sessions: Sequence[Session], failed: Callable[[Session, Exception], None]
    ) -> None:
        """Hear all lanes side by side: their windows are judged in one call."""
        hearing = [_Hearing(s, failed) for s in sessions if isinstance(s, TurnSession)]
        while hearing := [one for one in hearing if one.window is not None]:
            states = [one.detector.state for one in hearing]
            windows = [one.window for one in hearing if one.window is not None]
            for one, probability in zip(hearing, self.model.judge(states, windows), strict=True):
                one.go_on(probability)


def cancels_echo(audio: AudioConfig) -> bool:
    """Whether the edge takes the answer's echo out of the microphone; these two have none."""
    return audio.echo == "cancel" and audio.stage not in ("file", "client")


class _SileroDetector:
    """One conversation's view of the shared model."""

    def __init__(self, model: "SileroVad") -> None:
        from stages.turn.vad import VadState

        self._model = model
        self.state = VadState()

    def probability(self, window: Window) -> float:
        """Of speech in int16 [512]."""
        return self._model.probability(self.state, window)


class _Hearing:
    """One conversation in the middle of its step.

    Attributes:
        window: that it waits for the probability of; None: the step is over.
    """

    def __init__(self, session: TurnSession, failed: Callable[[Session, Exception], None]) -> None:
        assert isinstance(session.detector, _SileroDetector)
        self.detector = session.detector
        self.window: Window | None = None
        self._session = session
        self._failed = failed
        self._steps = session.steps()
        self.go_on(None)

    def go_on(self, probability: float | None) -> None:
        """Up to its next window; an error ends the step, and is of this lane alone."""
        self.window = None
        try:
            self.window = (
                next(self._steps) if probability is None else self._steps.send(probability)
            )
        except StopIteration:
            return
        except Exception as error:
            self._failed(self._session, error)


class _Judge:
    """Runs the end-of-turn model beside the stage's thread, which goes on hearing everybody."""

    def __init__(self, model: "SmartTurn") -> None:
        self._model = model
        self._thread = ThreadPoolExecutor(1, "end-of-turn")

    def __call__(self, said: Window) -> Future[float]:
        """Begin to judge int16 [n]."""
        return self._thread.submit(self._model.probability, said)
