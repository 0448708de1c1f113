"""The contract of a stage: a class that loads a model, then steps over lanes with work.

To write your own, subclass `Stage` and `Session` and name it in the configuration:

    [asr]
    stage = "my_package:MyAsr"

A stage is one program and serves every lane from one thread, so nothing here needs a lock.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import BaseModel

from stages.lane import Lane

if TYPE_CHECKING:
    from pipeline.config import Config, Section

O = TypeVar("O", bound=BaseModel)  # noqa: E741


class Host:
    """What a stage may ask of the program it runs in.

    Args:
        config: the whole configuration.
        section: the stage's own part of it.
        now: the clock, monotonic ns.
        progress: called with what is being done, and how far it is (0 to 1) if that is known.
    """

    def __init__(
        self,
        config: "Config",
        section: "Section",
        now: Callable[[], int],
        progress: Callable[[str, float | None], None],
    ) -> None:
        self.config = config
        self.section = section
        self.now = now
        self.progress = progress

    @property
    def threads(self) -> int:
        """How many threads this stage's model may use."""
        return self.section.threads

    def options(self, model: type[O]) -> O:
        """The section's `options` table, validated.

        Raises:
            ConfigError: an unknown key or a wrong type, with the nearest valid key.
        """
        from pipeline.config import validate

        return validate(model, self.section.options, "the options of this stage")


class Session:
    """What one stage keeps for one conversation.

    Attributes:
        due: monotonic ns at which `step` must run though nothing has arrived; 0: again at once;
            None: only when something arrives.
    """

    due: int | None = None

    def __init__(self, lane: Lane) -> None:
        self.lane = lane

    def step(self) -> None:
        """Do a bounded piece of work: read what is there, write what fits, return.

        It runs when a ring that this stage reads has something new, when a full ring that it
        writes has room again, when a control word that it watches was set, and when `due` comes.
        It never blocks and never sleeps.
        """
        raise NotImplementedError

    def fail(self, error: Exception) -> None:
        """`step` raised: end this lane's turn as failed, and be ready for the next one.

        The client has been told of the error. By default nothing more is done: `step` runs again
        when something comes, and a turn that gets no answer for it ends as timed out. If this
        raises too, the session is closed and another one opened in its place.
        """
        self.due = None

    def close(self) -> None:
        """The conversation is over: let go of everything."""


class Stage:
    """A program's part of the pipeline.

    Args:
        host: configuration, clock and progress.
    """

    name: ClassVar[str]

    def __init__(self, host: Host) -> None:
        self.host = host
        self.config: Any = host.section

    def load(self) -> None:
        """Load the model and warm it up, so that the first turn is as fast as the second.

        Raises:
            VoxringError: it cannot, with the remedy.
        """

    def open(self, lane: Lane) -> Session:
        """A new conversation on a lane."""
        raise NotImplementedError

    def step(
        self, sessions: Sequence[Session], failed: Callable[[Session, Exception], None]
    ) -> None:
        """Work on the lanes that have something. Override it to batch over lanes.

        Args:
            failed: to be told of a lane that raised; the other lanes go on.
        """
        for session in sessions:
            try:
                session.step()
            except Exception as error:
                failed(session, error)
