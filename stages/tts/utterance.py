"""What differs between voices: how the ids of one answer become sound."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Sound:
    """The next stretch of an answer's sound.

    Attributes:
        samples: int16 [n]; n is 0 where ids are told and not spoken.
        position: of the last reply id that is voiced to its end by the end of the stretch.
    """

    samples: NDArray[np.int16]
    position: int


class Utterance(Protocol):
    """One answer being spoken. It is made anew for each, so nothing of one reaches the next.

    Attributes:
        rate: samples a second.
        due: monotonic ns at which `more` is to be asked again though no id came; None: never.
    """

    rate: int
    due: int | None

    @property
    def is_ready(self) -> bool:
        """Whether `more` has enough to go on, as far as can be told without synthesis; quick."""

    def feed(self, id: int, position: int) -> None:
        """The next id of the reply; quick, no synthesis."""

    def end(self, *, complete: bool) -> None:
        """No id follows. If the reply is not complete, say only what is whole."""

    def more(self) -> Sound | None:
        """Synthesise one stretch; None: nothing can be said until more ids are known."""
