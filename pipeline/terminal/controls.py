"""What keys ask of a conversation: pure, the clock is passed in."""

from pipeline.terminal.keys import Key
from pipeline.terminal.push_to_talk import PushToTalk
from stages.messages import Command

BEGIN = [
    Command.CANCEL,
    Command.UNMUTE,
    Command.OPEN,
]  # who pushes to talk wants to be heard, at once
DONE = [Command.COMMIT, Command.MUTE]
AGAIN_S = 1.0


class Controls:
    """Turns keys into commands of the edge.

    Attributes:
        is_muted: nothing of the microphone is heard.
        talk: push to talk; between two pushes the microphone is off, until it is turned on.
    """

    def __init__(self) -> None:
        self.is_muted = False
        self.talk = PushToTalk()
        self._told = 0.0  # when MUTE was asked last

    def press(self, key: Key, now: float) -> list[Command]:
        """The commands that a key brings, in order; QUIT is not one of them.

        Args:
            now: s.
        """
        match key:
            case Key.TALK:
                if not self.talk.press(now):
                    return []
                return self._begin() if self.talk.is_open else self._done(now)
            case Key.MUTE:
                self.is_muted = not self.is_muted and not self.talk.is_open
                self.talk.stop()
                self._told = now
                return [Command.MUTE if self.is_muted else Command.UNMUTE]
            case Key.INTERRUPT:
                return [Command.CANCEL]
            case Key.QUIT:
                return []

    def tick(self, now: float) -> list[Command]:
        """Time passes: a key that was held down may have been let go.

        While the microphone is off that is asked again and again: a stage that died and is back
        knows nothing of it.
        """
        if self.talk.tick(now):
            return self._done(now)
        if self.is_muted and now - self._told >= AGAIN_S:
            self._told = now
            return [Command.MUTE]
        return []

    def _begin(self) -> list[Command]:
        self.is_muted = False
        return list(BEGIN)

    def _done(self, now: float) -> list[Command]:
        self.is_muted = True
        self._told = now
        return list(DONE)
