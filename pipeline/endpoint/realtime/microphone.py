"""The input buffer of a session: sound on its way to the pipeline, and what ends it: pure."""

from collections.abc import Callable

from pipeline.endpoint.realtime.actions import Feed, Order
from pipeline.endpoint.realtime.problem import RefusedError, invalid, missing
from pipeline.endpoint.realtime.sound import BadSoundError, Ear, Encoding
from stages.messages import Command

LEAST_COMMIT_MS = 100  # as the protocol has it
MOST_HELD_MS = 60_000  # sound that waits for the end of a response


class Microphone:
    """What a client appends, commits and clears.

    Where the client commits, nothing it says interrupts a response: sound and commits wait for its
    end.

    Args:
        encoding: of the sound.
        act: passes something on to the pipeline.

    Attributes:
        is_manual: the client commits.
        is_committing: a commit was passed on, and its turn is not over yet.
    """

    def __init__(self, encoding: Encoding, act: Callable[[Feed | Order], None]) -> None:
        self._act = act
        self._ear = Ear(encoding)
        self._buffered_ms = 0.0  # since the last commit, where the client commits
        self._held: list[tuple[Feed | Order, float]] = []  # until the response is over; ms of it
        self._held_ms = 0.0
        self.is_manual = False
        self.is_committing = False

    def adopt(self, encoding: Encoding, *, is_manual: bool) -> None:
        """Follow the settings of the session."""
        if encoding is not self._ear.encoding:
            self._ear = Ear(encoding)
        if is_manual != self.is_manual:
            self._buffered_ms = 0.0
        self.is_manual = is_manual

    def append(self, audio: object, *, is_busy: bool) -> None:
        """More sound.

        Args:
            audio: base64.
            is_busy: a response is active.

        Raises:
            RefusedError: it is none, or too much waits.
        """
        if not isinstance(audio, str):
            raise missing("audio") if audio is None else invalid("audio", audio, "base64")
        if self._must_hold(is_busy) and self._held_ms + self._ear.ms(audio) > MOST_HELD_MS:
            raise RefusedError(
                f"While a response is active at most {MOST_HELD_MS / 1000:.0f} s of sound wait.",
                "input_audio_buffer_full",
            )
        try:
            samples, ms = self._ear.hear(audio)
        except BadSoundError:
            raise invalid("audio", audio, "base64 of whole groups of four characters") from None
        self._pass_on(Feed(samples), is_busy, ms)
        self._buffered_ms += ms

    def commit(self, *, is_speaking: bool, is_busy: bool) -> None:
        """The utterance is complete.

        Args:
            is_speaking: a voice was heard, where voices are looked for.
            is_busy: a response is active.

        Raises:
            RefusedError: there is none.
        """
        if self.is_manual and self._buffered_ms < LEAST_COMMIT_MS:
            raise RefusedError(
                f"The buffer has {self._buffered_ms:.0f} ms of sound, expected at least "
                f"{LEAST_COMMIT_MS} ms.",
                "input_audio_buffer_commit_empty",
            )
        if not self.is_manual and not is_speaking:
            raise RefusedError(
                "Nobody has begun to speak: there is nothing to commit.",
                "input_audio_buffer_commit_empty",
            )
        self._pass_on(Feed(self._ear.rest()), is_busy)
        self._pass_on(Order(Command.COMMIT), is_busy)
        self._buffered_ms = 0.0
        self.is_committing = True

    def clear(self, *, is_busy: bool) -> None:
        """Forget what came since the last commit."""
        self._ear.clear()
        self._buffered_ms = 0.0
        if not self._must_hold(is_busy):
            self._act(Order(Command.CLEAR))
        while self._held and isinstance(self._held[-1][0], Feed):
            self._held.pop()
        self._held_ms = sum(ms for _, ms in self._held)

    def let_go(self, *, is_busy: bool) -> None:
        """A response is over: what waited for that goes on."""
        if self._must_hold(is_busy):
            return
        for what, _ in self._held:
            self._act(what)
        self._held.clear()
        self._held_ms = 0.0

    def _must_hold(self, is_busy: bool) -> bool:
        return self.is_manual and is_busy

    def _pass_on(self, what: Feed | Order, is_busy: bool, ms: float = 0.0) -> None:
        """Now, or behind the response."""
        if not self._must_hold(is_busy):
            self._act(what)
            return
        self._held_ms += ms
        if not isinstance(what, Feed) or what.samples.size:  # of empty ones any number may come
            self._held.append((what, ms))
