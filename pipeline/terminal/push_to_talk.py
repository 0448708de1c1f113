"""Push to talk with a key that a terminal only tells presses of: pure."""

NEVER = float("-inf")
FIRST_S = 0.75  # within which a key that is held down repeats for the first time
REPEAT_S = 0.25  # and then again


class PushToTalk:
    """A press begins, another one ends; or the key is held down, and letting go ends.

    A terminal tells no releases, but a key that is held down comes again and again. So a press soon
    after the first may be such a repetition, or a second press by hand: in both cases it is over
    when none has followed for REPEAT_S. A later one is a second press.

    Attributes:
        is_open: the user talks.
        is_held: because the key is held down.
    """

    def __init__(self) -> None:
        self.is_open = False
        self.is_held = False
        self._opened = NEVER
        self._last = NEVER  # press

    @property
    def deadline(self) -> float | None:
        """When `tick` is to be called, s; None: not before the next press."""
        return self._last + REPEAT_S if self.is_held else None

    def press(self, now: float) -> bool:
        """The key was pressed, or repeated itself; whether that begins or ends something."""
        since, self._last = now - self._last, now
        if self.is_held:
            return False
        if not self.is_open:
            self.is_open = since >= REPEAT_S  # else it is still held down from before
            self._opened = now
            return self.is_open
        if now - self._opened < FIRST_S:
            self.is_held = True
            return False
        self.stop()
        return True

    def tick(self, now: float) -> bool:
        """Time passes; whether the key was let go."""
        if self.deadline is None or now < self.deadline:
            return False
        self.stop()
        return True

    def stop(self) -> None:
        """It is over."""
        self.is_open = self.is_held = False
