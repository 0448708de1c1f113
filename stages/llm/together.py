"""One round of a language model over many lanes: hear all, speak together, compute a little."""

from collections.abc import Callable, Sequence

from stages.llm.engine import Engine
from stages.llm.schedule import Need, Schedule
from stages.llm.session import LlmSession

Failed = Callable[[LlmSession, Exception], None]


class Together:
    """Steps over lanes whose ids are computed in one batch.

    Args:
        engine: one that gains from a batch.
        chunk: ids that it computes at once.
        schedule: who is served.
    """

    def __init__(self, engine: Engine, chunk: int, schedule: Schedule) -> None:
        self._engine = engine
        self._chunk = chunk
        self._schedule = schedule

    def step(self, sessions: Sequence[LlmSession], failed: Failed) -> None:
        """One round; an error in one lane is told and leaves the others alone."""
        needs: dict[int, Need] = {}
        by_lane: dict[int, LlmSession] = {}

        def hear(session: LlmSession) -> None:
            session.listen(at_once=False)
            need = session.need
            if need is None or (need is Need.SPEAK and not session.may_speak()):
                return
            needs[session.conversation.lane] = need

        for session in sessions:
            by_lane[session.conversation.lane] = session
            guard(session, failed, hear)
        self._speak([by_lane[lane] for lane in self._schedule.speaking(needs)], failed)
        served = self._schedule.prefill(needs)
        for lane in served:
            guard(by_lane[lane], failed, lambda session: session.compute(self._chunk))
        for lane in needs:
            if needs[lane] is not Need.SPEAK and lane not in served:
                by_lane[lane].due = 0
        for session in sessions:
            guard(session, failed, lambda session: session.save())

    def _speak(self, sessions: Sequence[LlmSession], failed: Failed) -> None:
        """Everybody's next id in one step, or one by one to find whose fault an error is."""
        if not sessions:
            return
        try:
            ids = self._engine.step([session.conversation.lane for session in sessions])
        except Exception as error:
            if len(sessions) == 1:
                failed(sessions[0], error)
                return
            for session in sessions:
                self._speak([session], failed)
            return
        chosen = dict(zip(sessions, ids, strict=True))
        for session in sessions:
            guard(session, failed, lambda s: s.say(s.conversation.accept(chosen[s])))


def guard(session: LlmSession, failed: Failed, work: Callable[[LlmSession], None]) -> None:
    """Do something with a lane; what it raises is that lane's matter."""
    try:
        work(session)
    except Exception as error:
        failed(session, error)
