"""Whose answer may be heard, and how every turn ends."""

from ringbuf import Mark
from stages.messages import End, Played, Status, Words
from stages.outcome import Outcome
from stages.turn.turns import Ending, Manners, Phase, State, Step, Turns

PATIENCE = 1000


def spoken(turn: int = 0, answer: int = 0) -> Turns:
    turns = Turns(turn, answer, 0, Manners(PATIENCE))
    turns.start(0, 0)
    turns.mark(Mark.SOFT_END, 0)
    return turns


def end(status: Status, answer: int = 1) -> End:
    return End(answer, 9, status)


def released() -> Turns:
    turns = spoken()
    turns.mark(Mark.RELEASE, 0)
    return turns


def test_nothing_is_released_before_the_turn_is_over() -> None:
    turns = spoken()
    assert (turns.turn, turns.answer, turns.released) == (1, 1, 0)
    turns.mark(Mark.RELEASE, 0)
    assert turns.released == 1


def test_going_on_makes_the_prepared_answer_stale() -> None:
    turns = spoken()
    turns.mark(Mark.RESUME, 0)
    assert (turns.turn, turns.answer, turns.endings) == (1, 2, [])


def test_an_answer_played_to_its_end() -> None:
    turns = released()
    turns.played(Played(1, 5, final=False), end(Status.OK), 10)
    assert turns.endings == []
    turns.played(Played(1, 9, final=True), end(Status.OK), 20)
    assert turns.endings == [Ending(1, 1, Outcome.ANSWERED, heard=9)]
    assert turns.deadline is None


def test_an_empty_reply_ends_its_turn() -> None:
    turns = released()
    turns.played(Played(1, 0, final=True), end(Status.EMPTY), 10)
    assert turns.endings == [Ending(1, 1, Outcome.EMPTY)]


def test_a_failed_answer() -> None:
    turns = released()
    turns.played(Played(1, 3, final=True), end(Status.FAILED), 10)
    assert turns.endings == [Ending(1, 1, Outcome.FAILED, heard=3)]


def test_an_answer_that_the_edge_gave_up_has_failed() -> None:
    for last in (end(Status.OK), end(Status.OK, answer=0)):
        turns = released()
        turns.played(Played(1, 3, final=True, failed=True), last, 10)
        assert turns.endings == [Ending(1, 1, Outcome.FAILED, heard=3)]


def test_the_end_of_another_answer_says_nothing_of_this_one() -> None:
    turns = released()
    turns.played(Played(1, 3, final=True), end(Status.OK, answer=0), 10)
    assert turns.endings == [Ending(1, 1, Outcome.FAILED, heard=3)]


def test_failing_ends_the_turn_and_makes_its_answer_stale() -> None:
    for begun in (spoken, released):
        turns = begun()
        turns.fail(0)
        assert turns.endings == [Ending(1, 1, Outcome.FAILED)]
        assert turns.answer == 2
        assert turns.deadline is None
        turns.fail(0)
        assert len(turns.endings) == 1


def test_no_words_before_and_after_release() -> None:
    for late in (False, True):
        turns = spoken()
        words = Words(1, 1, 0, Status.EMPTY)
        if not late:
            turns.words(words, 0)
            assert turns.endings == []
        turns.mark(Mark.RELEASE, 0)
        if late:
            turns.words(words, 0)
        assert turns.endings == [Ending(1, 1, Outcome.NO_SPEECH)]


def test_words_of_a_stale_answer_mean_nothing() -> None:
    turns = spoken()
    turns.mark(Mark.RESUME, 0)
    turns.words(Words(1, 1, 0, Status.EMPTY), 0)
    turns.mark(Mark.SOFT_END, 0)
    turns.mark(Mark.RELEASE, 0)
    assert turns.endings == []


def test_cancel_makes_the_answer_stale() -> None:
    turns = released()
    turns.cancel(0)
    assert turns.endings == [Ending(1, 1, Outcome.INTERRUPTED)]
    assert turns.answer == 2


def test_an_answer_that_makes_no_progress_times_out_and_a_slow_one_does_not() -> None:
    turns = released()
    turns.tick(PATIENCE - 1)
    turns.played(Played(1, 1, final=False), end(Status.OK), PATIENCE - 1)
    turns.tick(PATIENCE + 1)
    assert turns.endings == []
    turns.tick(2 * PATIENCE)
    assert turns.endings == [Ending(1, 1, Outcome.TIMED_OUT, heard=1)]
    assert turns.answer == 2


def test_numbers_wrap_around() -> None:
    turns = spoken(2**32 - 1, 2**32 - 1)
    assert (turns.turn, turns.answer) == (0, 0)


def unanswered(*, known: bool) -> Turns:
    """A turn that nobody is to answer, whose words are known before it is over or after."""
    turns = Turns(0, 0, 0, Manners(PATIENCE, answers=False))
    turns.start(0, 0)
    turns.mark(Mark.SOFT_END, 0)
    words = Words(1, 1, 2, Status.OK)
    if known:
        turns.words(words, 0)
    turns.mark(Mark.RELEASE, 0)
    if not known:
        assert turns.state is State.NOTING
        turns.words(words, 0)
    return turns


def test_a_turn_that_is_not_to_be_answered_ends_when_its_words_are_known() -> None:
    for known in (True, False):
        turns = unanswered(known=known)
        assert turns.endings == [Ending(1, 1, Outcome.NOTED)]
        assert (turns.state, turns.released, turns.answer) == (State.LISTENING, 0, 2)
        phases = [Phase.BEGAN, Phase.CLOSED]
        assert turns.steps == [Step(phase, 1, 1) for phase in phases]


def test_words_that_never_come_do_not_keep_it_open() -> None:
    turns = Turns(0, 0, 0, Manners(PATIENCE, answers=False))
    turns.start(0, 0)
    turns.mark(Mark.RELEASE, 0)
    turns.tick(PATIENCE)
    assert turns.endings == [Ending(1, 1, Outcome.TIMED_OUT)]


def test_whoever_goes_on_speaking_before_they_are_known_begins_another_turn() -> None:
    turns = Turns(0, 0, 0, Manners(PATIENCE, answers=False))
    turns.start(0, 0)
    turns.mark(Mark.RELEASE, 0)
    turns.start(5, 5)
    assert turns.endings == [Ending(1, 1, Outcome.NOTED)]
    assert (turns.turn, turns.state) == (2, State.HEARING)


def test_an_answer_that_is_asked_for_comes_at_once_or_behind_the_words() -> None:
    turns = unanswered(known=True)
    turns.want()
    assert turns.wanted
    turns.speak(0)
    assert (turns.turn, turns.answer, turns.released) == (2, 3, 3)
    assert turns.steps[-1] == Step(Phase.RELEASED, 2, 3)
    turns.want()
    assert not turns.wanted, "it is there already"

    waiting = Turns(0, 0, 0, Manners(PATIENCE, answers=False))
    waiting.start(0, 0)
    waiting.want()
    waiting.mark(Mark.RELEASE, 0)
    assert (waiting.wanted, waiting.state) == (True, State.NOTING)
    waiting.words(Words(1, 1, 0, Status.EMPTY), 0)
    assert (waiting.wanted, waiting.state) == (True, State.LISTENING)


def test_a_turn_that_is_answered_anyhow_is_the_answer_that_was_asked_for() -> None:
    turns = spoken()
    turns.want()
    turns.mark(Mark.RELEASE, 0)
    turns.played(Played(1, 9, final=True), end(Status.OK), 20)
    assert not turns.wanted


def test_an_answer_that_was_interrupted_is_not_asked_for_again() -> None:
    turns = spoken()
    turns.want()
    turns.mark(Mark.RELEASE, 0)
    assert turns.wanted, "should there be no words"
    turns.played(Played(1, 3, final=False), end(Status.OK), 10)
    turns.start(20, 20)
    turns.words(Words(*turns.utterance, 1, Status.OK, final=False), 20)
    assert (turns.state, turns.wanted) == (State.HEARING, False)


def test_what_is_dropped_was_never_said() -> None:
    turns = spoken()
    turns.drop(0)
    assert turns.endings == [Ending(1, 1, Outcome.NO_SPEECH)]
    assert (turns.answer, turns.state) == (2, State.LISTENING)
    turns.drop(0)
    assert len(turns.endings) == 1
