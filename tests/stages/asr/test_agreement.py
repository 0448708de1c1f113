from hypothesis import given
from hypothesis import strategies as st

from stages.asr.agreement import Agreement, agree
from stages.asr.transcript import Words, bare, split_words

WORDS = st.lists(st.sampled_from([" a", " b", " A,", " b."]), max_size=6).map(tuple)


def offered(*lines: str, decodes: int = 2) -> list[str]:
    agreement = Agreement(decodes)
    return ["".join(agreement.offer(split_words(line))) for line in lines]


def test_two_decodes_must_agree_and_the_newest_word_is_held_back() -> None:
    assert offered("Is it", "Is it safe", "Is it safe to swim", "Is it safe to swim in") == [
        "",
        "Is it",
        "Is it safe",
        "Is it safe to swim",
    ]


def test_a_word_that_only_one_decode_heard_is_not_believed() -> None:
    assert offered("I saw a cat", "I saw the cat here", "I saw the cat here now")[1:] == [
        "I saw",
        "I saw the cat here",
    ]


def test_more_decodes_are_more_careful() -> None:
    lines = ["one two three"] * 4
    assert offered(*lines, decodes=3) == ["", "", "one two", "one two"]
    assert offered(*lines, decodes=1) == ["one two"] * 4


def test_case_and_punctuation_are_no_disagreement_and_no_reason_to_write_again() -> None:
    agreement = Agreement()
    agreement.offer(split_words("well I think so"))
    assert agreement.offer(split_words("Well, I think so")) == split_words("Well, I think")
    agreement.offer(split_words("well I think so too"))
    assert agreement.committed == split_words("Well, I think so")


def test_a_word_that_was_wrong_is_left_to_the_whole_utterance() -> None:
    lines = ["a b c d", "a b c d", *["a x c d e"] * 3]
    assert offered(*lines)[1:] == ["a b c", "a b c d", "a b c d", "a b c d"]
    agreement = Agreement()
    for line in lines:
        agreement.offer(split_words(line))
    assert agreement.settle(split_words("a x c d e")) == split_words("a x c d e")


def test_a_word_in_doubt_does_not_hold_up_those_behind_it() -> None:
    assert offered(
        "my antecedents nor",
        "my antecedents nor of",
        "my antecedence nor of the",
        "my antecedents nor of the way",
        "my antecedence nor of the way we",
    ) == [
        "",
        "my antecedents nor",
        "my antecedents nor of",
        "my antecedents nor of the",
        "my antecedents nor of the way",
    ]


def test_a_decode_that_broke_off_does_not_count() -> None:
    assert offered("a b c d", "a b c d e", "a b.", "a b c d e f")[1:] == [
        "a b c d",
        "a b c d",
        "a b c d e",
    ]


def test_a_decode_that_lost_its_place_commits_nothing() -> None:
    assert offered("I like ice cream", "I like ice cream", "I like the icecream a lot")[2] == (
        "I like ice"
    )
    lost = ("a b c d", "a b c d", "a d e f", "a d e f g", "a d e f g h")
    assert offered(*lost)[2:] == ["a b c", "a b c", "a d e f g"]


def test_the_whole_utterance_has_the_last_word() -> None:
    agreement = Agreement()
    for _ in range(2):
        agreement.offer(split_words("is it safe to"))
    assert agreement.settle(split_words("Is it safe?")) == split_words("is it safe?")
    assert agreement.settle(()) == ()


def test_an_end_that_was_none_is_written_again() -> None:
    agreement = Agreement()
    agreement.settle(split_words("Is it?"))
    assert agreement.settle(split_words("Is it safe?")) == split_words("Is it safe?")
    agreement.offer(split_words("Is it safe, or not?"))
    assert agreement.offer(split_words("Is it safe, or not?")) == split_words("Is it safe, or")
    agreement.offer(split_words("Is it safe. Or not?"))
    assert agreement.offer(split_words("Is it safe. Or not? I")) == split_words(
        "Is it safe, or not?"
    )


def test_a_new_turn_remembers_nothing() -> None:
    agreement = Agreement()
    agreement.settle(split_words("one two"))
    agreement.clear()
    assert agreement.offer(split_words("one two three")) == ()


@given(st.lists(st.tuples(WORDS, st.booleans()), max_size=12), st.integers(1, 3))
def test_what_is_committed_follows_the_rules(decodes: list[tuple[Words, bool]], count: int) -> None:
    agreement = Agreement(count)
    history: list[Words] = []
    for words, is_whole in decodes:
        before = agreement.committed
        now = agreement.settle(words) if is_whole else agreement.offer(words)
        if not is_whole and len(words) < len(before):
            assert now == before  # it broke off, and does not count
            continue
        history.append(words)
        if is_whole:
            assert list(map(bare, now)) == list(map(bare, words))
            continue
        assert len(now) >= len(before)  # decodes of growing speech never take words back
        if now != before:
            assert len(now) < len(words)
            new = (
                len(before) if list(map(bare, before)) == list(map(bare, now[: len(before)])) else 0
            )
            assert all(
                agree(now[new:], other[new:]) == len(now) - new for other in history[-count:]
            )
