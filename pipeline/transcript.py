"""What was said in a conversation, one JSON object for each turn: pure."""

import json
from datetime import UTC, datetime

from pipeline.events import Event, Fault, TurnEnded
from stages.event import Event as Milestone
from stages.outcome import Outcome


class Transcript:
    """Makes lines of events.

    Args:
        opened: wall-clock ns at which the conversation was opened.
        ahead: the wall clock less the monotonic one, ns.
    """

    def __init__(self, opened: int, ahead: int) -> None:
        self._opened = opened
        self._ahead = ahead
        self._faults: list[str] = []

    def take(self, event: Event, now: int) -> str | None:
        """The line of a turn that has ended; docs/transcripts.md lists its fields.

        Args:
            now: wall-clock ns.
        """
        match event:
            case Fault(_, message):
                self._faults.append(message)
            case TurnEnded():
                faults, self._faults = self._faults, []
                return self._line(event, faults, now)
        return None

    def _line(self, ended: TurnEnded, faults: list[str], now: int) -> str:
        timeline = ended.timeline
        latency = timeline.first_audio_ms
        turn = {
            "session": _iso(self._opened),
            "time": _iso(now),
            "turn": timeline.turn,
            "began_s": self._seconds(timeline.at.get(Milestone.SPEECH_START)),
            "user": ended.transcript,
            "reply": ended.reply,
            "heard": ended.heard,
            "interrupted": timeline.outcome is Outcome.INTERRUPTED,
            "outcome": timeline.outcome.label,
            "first_audio_ms": None if latency is None else round(latency, 1),
            "faults": faults,
        }
        return json.dumps(turn, ensure_ascii=False)

    def _seconds(self, at: int | None) -> float | None:
        """Since the conversation was opened; `at` is monotonic ns."""
        return None if at is None else round((at + self._ahead - self._opened) / 1e9, 3)


def _iso(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9, UTC).isoformat(timespec="milliseconds")
