"""Answers are right or wrong by stated rules, else unmarked with the reason; a rule in words keeps what it says."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.build.construct.answers.keep_rules import kept_by, rule_table, why_left_out
from mrb_lib.build.construct.answers.marking import (
    NO_OPTION,
    NO_REFERENCE,
    RULES,
    MarkOptions,
    chosen_option,
    mark_one,
    overlap_f1,
    read_mark,
    why_unmarked,
)
from mrb_lib.build.construct.tables import ABOUT
from mrb_lib.tables.errors import InputError

CHOICES = ["pneumonia", "viral pneumonia", "cystitis", "No finding"]
STATED = {
    "B": 1, "(b)": 1, "b) viral": 1, "**B**": 1, "B. viral pneumonia": 1, "The answer is C.": 2, "Option D": 3,
    "Answer: (C) cystitis": 2, "\\boxed{C}": 2, "D - No finding": 3, "no finding.": 3, "a": 0,
    "the correct answer is option D because A is wrong": 3, "I think it is viral pneumonia": 1,
    "A patient has cystitis": 2, "Answer: B. On second thought, the answer is C": 2,
}  # fmt: skip
NOT_STATED = (
    "", "E", "it is not pneumonia", "pneumonia or cystitis", "B. cystitis", "A small effusion", "I would say so",
    "A and B",
)  # fmt: skip


def test_the_option_that_an_answer_states_is_read() -> None:
    assert {text: chosen_option(text, CHOICES) for text in STATED} == STATED
    assert {text: chosen_option(text, CHOICES) for text in NOT_STATED} == dict.fromkeys(NOT_STATED)


def test_a_reference_is_an_options_text_or_its_letter() -> None:
    for reference in ("Viral  Pneumonia.", "B", "(b)", "B. viral pneumonia"):
        assert mark_one("B", reference, CHOICES, MarkOptions()) == (True, "letter")
        assert mark_one("C", reference, CHOICES, MarkOptions()) == (False, "letter")
    assert mark_one("A", "B", ["B", "A"], MarkOptions()) == (True, "letter")  # the text counts before the letter
    assert why_unmarked("meningitis", CHOICES) == NO_OPTION
    assert why_unmarked(None, CHOICES) == why_unmarked(" ", None) == why_unmarked(np.nan, None) == NO_REFERENCE


LONG = "a long sentence that says, in many words, what it is"
RIGHT = {
    "number": [("3.5 cm", "35 mm"), ("35", "35 mm"), ("about 3.5cm in segment 6", "3.5 cm"), ("two", "2"), ("-2", "-2"),
               ("1,200", "1200"), ("5%", "5 percent"), ("3.6 cm", "3.5 cm")],
    "exact": [("The liver.", "liver"), ("X-ray", "x ray"), ("Yes, there is.", "yes"), ("No", "no."), ("L4", "L4"),
              (LONG, LONG)],
    "set": [("spleen; liver", "liver, spleen")],
}  # fmt: skip
WRONG = {
    "number": [("2 or 3", "2"), ("L4", "4"), ("3.7 cm", "3.5 cm"), ("no number", "3"), ("35 ml", "35 mm"), ("2", "-2")],
    "exact": [("liver and spleen", "liver"), ("yesterday", "yes"), ("", "liver")],
    "set": [("liver", "liver, spleen, kidney")],
}


def test_an_answer_is_marked_by_the_rule_that_its_reference_suggests() -> None:
    """Numbers with their units within the tolerance, texts without case, articles and punctuation, sets by F1."""
    for is_right, pairs_of in ((True, RIGHT), (False, WRONG)):
        for rule, pairs in pairs_of.items():
            found = {pair: mark_one(*pair, None, MarkOptions(tolerance=0.05)) for pair in pairs}
            assert found == dict.fromkeys(pairs, (is_right, rule))
    assert overlap_f1("liver and the spleen", "spleen, liver, kidney") == pytest.approx(2 * 2 / 5)
    assert mark_one("2", "2", ["1", "2"], MarkOptions()) == (True, "letter")


def test_options_out_of_range_are_refused() -> None:
    for wrong in ({"marking": "guess"}, {"tolerance": 1.0}, {"overlap": 0.0}):
        with pytest.raises(InputError, match=next(iter(wrong)).removesuffix("ing")):
            MarkOptions(**wrong)


@given(st.text(), st.text(min_size=1), st.lists(st.text(), max_size=4))
def test_no_text_is_too_strange(answer: str, reference: str, choices: list[str]) -> None:
    for rule in ("auto", *RULES):
        mark_one(answer, reference, choices, MarkOptions(rule))


def test_the_last_mark_of_a_reply_counts() -> None:
    marks = {"Correct": 1, "incorrect.": 0, "not correct": 0, "It seems correct, but is incorrect": 0, "unclear": None,
             "<think>incorrect</think> correct": 1, "": None}  # fmt: skip
    assert {reply: read_mark(reply) for reply in marks} == marks


RULED = pd.DataFrame(
    {
        "images": [["1.png"], [], ["2.png", "3.png"], []],
        "question": ["short", "longer", "longest of all", "q"],
        "reference": ["a", None, "b", "c"],
        "choices": [["a", "b"], None, None, ["c"]],
        **dict.fromkeys(ABOUT),
        "organ": ["eye", "eye", None, "lung"],
    }
)
MEASURES = pd.DataFrame({"item_id": list("abcd"), "correct": [0, 2, 4, np.nan], "share_correct": [0, 0.5, 0.8, np.nan]})
TABLE = rule_table(RULED, MEASURES)


def kept(rule: str) -> list[int]:
    return np.flatnonzero(kept_by(rule, TABLE)).tolist()


def test_a_rule_speaks_of_measures_models_texts_and_counts() -> None:
    assert kept("correct <= 2") == kept("not correct > 2 and correct is not None") == [0, 1]
    assert kept("correct is None") == [3]
    assert kept("n_images >= 1 or n_options == 1") == [0, 2, 3]
    assert kept("'long' in question and organ == 'eye'") == [1]
    assert kept("organ is None and length_question > 6") == [2]


def test_each_item_left_out_has_the_first_part_that_it_fails() -> None:
    rule = "correct <= 2 and organ == 'eye' and n_images > 0"
    mask = kept_by(rule, TABLE)
    reasons = why_left_out(rule, TABLE, mask)
    assert reasons.tolist() == [None, "not n_images > 0", "not correct <= 2", "not correct <= 2"]
    either = "correct <= 0 or organ == 'lung'"
    reasons = why_left_out(either, TABLE, kept_by(either, TABLE))
    assert reasons.tolist() == [None, f"not {either}", f"not {either}", None]
