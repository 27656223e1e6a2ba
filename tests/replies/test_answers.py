"""A reply is an answer, a refusal, or nothing."""

from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.replies.answers import read_answer

FINDINGS = "The lungs are clear and the heart is of normal size. " * 12


def test_what_was_thought_aloud_is_not_the_answer() -> None:
    assert read_answer("<think>\nB? no\n</think>\n\nC") == ("C", "ok")
    assert read_answer("<think>\nstill thinking") == ("", "unparsed")
    assert read_answer(" \n") == ("", "unparsed")


def test_a_refusal_is_short_and_begins_as_one() -> None:
    for text in ("I'm sorry, but I can't help with that.", "As an AI, I can not diagnose from images.", "抱歉"):
        assert read_answer(text).status == "refused"
    caveat = f"As an AI I cannot replace a physician, but: {FINDINGS}"
    assert read_answer(caveat) == (caveat.strip(), "ok")
    assert read_answer(f"{FINDINGS[:200]} I am unable to provide more.").status == "ok"
    assert read_answer("Sorry state of the bone: osteopenia").status == "ok"


@given(st.text())
def test_no_text_is_too_strange(reply: str) -> None:
    text, status = read_answer(reply)
    assert (status == "unparsed") == (not text)
