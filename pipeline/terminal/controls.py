"""What keys ask of a conversation: pure, the clock is passed in."""

from pipeline.terminal.keys import Key
from pipeline.terminal.push_to_talk import PushToTalk
from stages.messages import Command

# Who pushes to talk wants to be heard at once, and to end the turn.
BEGIN = [Command.CANCEL, Command.UNMUTE, Command.OPEN]
DONE = [Command.COMMIT, Command.MUTE]


class Controls:
    """Turns keys into commands of the edge.

    Attributes:
        is_muted: nothing of the microphone is heard.
        talk: push to talk; between two pushes the microphone is off, until it is turned on.
    """

    def __init__(self) -> None:
        self.is_muted = False
        self.talk = PushToTalk()

    def press(self, key: Key, now: float) -> list[Command]:
        """The commands that a key brings, in order; QUIT is not one of them.

        Args:
            now: s.
        """
        match key:
            case Key.TALK:
                if not self.talk.press(now):
                    return []
                return self._begin() if self.talk.is_open else self._done()
            case Key.MUTE:
                self.is_muted = not self.is_muted and not self.talk.is_open
                self.talk.stop()
                return [Command.MUTE if self.is_muted else Command.UNMUTE]
            case Key.INTERRUPT:
                return [Command.CANCEL]
            case Key.QUIT:
                return []

    def tick(self, now: float) -> list[Command]:
        """Time passes: a key that was held down may have been let go."""
        return self._done() if self.talk.tick(now) else []

    def _begin(self) -> list[Command]:
        self.is_muted = False
        return list(BEGIN)

    def _done(self) -> list[Command]:
        self.is_muted = True
        return list(DONE)
