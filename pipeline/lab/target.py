"""What a suite is played to: a pipeline of our own, or a running endpoint."""

import os
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import ConfigError
from pipeline.events import TurnEnded
from pipeline.lab.mix import Said
from ringbuf import EventRecord


@dataclass(frozen=True)
class Told:
    """All that became of one conversation.

    Attributes:
        began: monotonic ns at which it was opened; `sound` begins with it.
        clips: monotonic ns at which each clip began, in the order in which they were said.
        turns: every one that has ended.
        faults: what went wrong, in words.
        records: what the stages have recorded; empty where they do not tell.
        sound: both sides, int16 [n, 2] at 16 kHz: the user, and what was played.
    """

    began: int
    clips: tuple[int, ...]
    turns: tuple[TurnEnded, ...]
    faults: tuple[str, ...]
    records: tuple[EventRecord, ...]
    sound: NDArray[np.int16]


class Talk(Protocol):
    """One conversation with a target."""

    @property
    def is_saying(self) -> bool:
        """A clip has not come to its end yet."""

    @property
    def is_answering(self) -> bool:
        """An answer sounds just now: to the last clip that was to be answered."""

    @property
    def turns_begun(self) -> int:
        """Utterances that were noticed so far."""

    @property
    def turns_ended(self) -> int:
        """Turns whose end was told."""

    def say(self, said: Said) -> None:
        """Begin a clip at once."""

    async def wait(self, seconds: float) -> None:
        """Let things happen: until the next one does, for at most so long.

        Raises:
            SessionError, StageError: it is over.
        """

    async def close(self) -> Told:
        """End it, and tell what became of it.

        Raises:
            SessionError, StageError: it could not be ended.
        """


class Target(Protocol):
    """Where conversations are opened."""

    @property
    def pids(self) -> dict[str, int]:
        """Programs whose CPU and memory belong to it, by name; none where they are not ours."""

    async def start(self) -> None:
        """Make it ready, from cold. Raises VoxringError if it cannot be."""

    async def stop(self) -> None:
        """End it; safe to call twice."""

    async def open(self) -> Talk:
        """Begin a conversation. Raises SessionError or StageError if that cannot be."""


TOKEN = "VOXRING_TOKEN"  # in the environment: for an endpoint that asks for one


def endpoint_target(url: str) -> Target:
    """A running endpoint.

    Raises:
        ConfigError: the package for it is not installed.
    """
    try:
        from pipeline.lab.endpoint import EndpointTarget
    except ImportError as error:
        raise ConfigError(
            f"an endpoint needs the package {error.name}, which is not installed",
            "Run: pip install 'voxring[serve]'",
        ) from None
    return EndpointTarget(url, os.environ.get(TOKEN, ""))
