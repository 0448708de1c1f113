"""One conversation, as a stage sees it: rings and words of the voice pipeline, with their types."""

import numpy as np
from numpy.typing import NDArray

import ringbuf
from ringbuf import EventRecord, EventRing
from stages.event import Event
from stages.messages import Caption, CaptionKind, DeviceState, End, Levels, Played


class Lane:
    """Rings and control words of one lane; `topology.py` says who may write which.

    Args:
        lane: the lane in shared memory.
        process: which process this is.
        events: that process's event ring.
    """

    def __init__(self, lane: ringbuf.Lane, process: str, events: EventRing) -> None:
        self.number = lane.number
        self.process = process
        self.mic = lane.audio("mic")
        self.speech = lane.audio("speech")
        self.heard = lane.token("heard")
        self.reply = lane.token("reply")
        self.voice = lane.audio("voice")
        self.commands = lane.command("commands")
        self.settings = lane.command("settings")
        self.words = lane.command("words")
        self.orders = lane.command("orders")
        self.history = lane.command("history")
        self.is_reopened = False  # this process died and is back: the conversation goes on
        self._lane = lane
        self._events = events

    @property
    def session(self) -> int:
        """Number of the conversation: odd while it is open, even while the lane is free."""
        return self._lane.get("session")

    @property
    def opened(self) -> int:
        """When the conversation was opened, wall-clock ns."""
        return self._lane.get("opened")

    @property
    def turn(self) -> int:
        """Number of the user's utterance, uint32."""
        return self._lane.get("turn")

    @turn.setter
    def turn(self, value: int) -> None:
        self._lane.set("turn", value & 0xFFFF_FFFF)

    @property
    def answer(self) -> int:
        """Number of the attempt to answer that counts; others are stale. uint32."""
        return self._lane.get("answer")

    @answer.setter
    def answer(self, value: int) -> None:
        self._lane.set("answer", value & 0xFFFF_FFFF)

    @property
    def released(self) -> int:
        """The answer that may be heard, uint32."""
        return self._lane.get("released")

    @released.setter
    def released(self, value: int) -> None:
        self._lane.set("released", value & 0xFFFF_FFFF)

    @property
    def hold(self) -> bool:
        """The voice is paused."""
        return bool(self._lane.get("hold"))

    @hold.setter
    def hold(self, value: bool) -> None:
        self._lane.set("hold", int(value))

    @property
    def reply_end(self) -> End:
        """Where the answer's ids end."""
        return End.unpack(self._lane.get("reply_end"))

    @reply_end.setter
    def reply_end(self, value: End) -> None:
        self._lane.set("reply_end", value.pack())

    @property
    def voice_end(self) -> End:
        """Where the answer's sound ends."""
        return End.unpack(self._lane.get("voice_end"))

    @voice_end.setter
    def voice_end(self, value: End) -> None:
        self._lane.set("voice_end", value.pack())

    @property
    def played(self) -> Played:
        """How much of the answer was heard."""
        return Played.unpack(self._lane.get("played"))

    @played.setter
    def played(self, value: Played) -> None:
        self._lane.set("played", value.pack())

    @property
    def levels(self) -> Levels:
        """How loud both sides are."""
        return Levels.unpack(self._lane.get("levels"))

    @levels.setter
    def levels(self, value: Levels) -> None:
        self._lane.set("levels", value.pack())

    @property
    def device(self) -> DeviceState:
        """How the sound device does."""
        return DeviceState.unpack(self._lane.get("device"))

    @device.setter
    def device(self, value: DeviceState) -> None:
        self._lane.set("device", value.pack())

    @property
    def faults(self) -> int:
        """How many stages have died under this conversation."""
        return self._lane.get("faults")

    @property
    def ended(self) -> int:
        """The last turn whose end was told, uint32."""
        return self._lane.get("ended")

    @ended.setter
    def ended(self, value: int) -> None:
        self._lane.set("ended", value)

    def skip_unread(self) -> None:
        """Forget what lies unread for this process, which then begins at the newest.

        What it keeps for itself is forgotten with the conversation, not with the process.
        """
        self.is_reopened = self._lane.get(f"ack_{self.process}") == self.session
        self._lane.skip(self.process, keep_own=self.is_reopened)

    @property
    def is_attended(self) -> bool:
        """Whoever opened this conversation follows it; what is said before that may be lost."""
        return self._lane.get("attended") == self.session

    def acknowledge(self, session: int) -> None:
        """Say that this process has followed `session`."""
        self._lane.set(f"ack_{self.process}", session)

    def emit(
        self, event: Event, *, turn: int = 0, answer: int = 0, value: int = 0, at: int
    ) -> None:
        """Record something in the timeline.

        Args:
            at: monotonic ns at which it happened (or will be heard).
        """
        self._events.put(EventRecord(self.number, turn, answer, event, at, value))

    def caption(
        self,
        kind: CaptionKind,
        *,
        turn: int = 0,
        answer: int = 0,
        position: int = 0,
        ids: NDArray[np.int32] | None = None,
        text: str = "",
    ) -> None:
        """Tell the client; counted as dropped if it does not read, cut if it can never fit.

        Args:
            ids: int32 [n], for HEARD and REPLY.
            text: for ERROR, CLIP and DEVICE.
        """
        ring = self._lane.command(f"captions_{self.process}")
        most = ring.longest - Caption.HEADER
        payload = cut_text(text, most) if ids is None else ids[: most // 4].astype("<i4").tobytes()
        ring.put_or_drop(Caption(kind, turn, answer, position, payload).pack())


def cut_text(text: str, most: int) -> bytes:
    """The text as UTF-8, as many whole characters as fit in `most` bytes."""
    whole = text.encode(errors="replace")
    return whole[:most].decode(errors="ignore").encode()


def is_newer(one: int, other: int) -> bool:
    """Whether a uint32 turn or answer number comes after another, across the wrap-around."""
    return 0 < (one - other & 0xFFFF_FFFF) < 0x8000_0000
