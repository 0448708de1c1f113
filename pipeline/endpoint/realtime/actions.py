"""What the core asks its shell to do."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.endpoint.realtime.problem import Json
from stages.llm.wishes import Wish
from stages.messages import Command
from stages.turn.settings import TurnSettings


@dataclass(frozen=True)
class Tell:
    """Send an event."""

    event: Json


@dataclass(frozen=True)
class Say:
    """Send sound: an event that may be dropped where the reader is too slow."""

    event: Json
    answer: int
    ms: float


@dataclass(frozen=True)
class Cut:
    """Do not send what still waits of an answer's sound."""

    answer: int


@dataclass(frozen=True, eq=False)
class Feed:
    """Sound for the microphone, int16 [n] at 16 kHz."""

    samples: NDArray[np.int16]


@dataclass(frozen=True)
class Order:
    """A command to `turn`, behind the sound so far."""

    command: Command


@dataclass(frozen=True)
class Settle:
    """How turns are taken from here on."""

    settings: TurnSettings


@dataclass(frozen=True)
class Ask:
    """A wish to the language model."""

    wish: Wish


Action = Tell | Say | Cut | Feed | Order | Settle | Ask
