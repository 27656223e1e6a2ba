"""Answers are right or wrong by stated rules, else unmarked with the reason; a rule in words keeps what it says."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.build.construct.answers.difficulty import chance_of, item_measures, model_measures
from mrb_lib.build.construct.answers.keep_rules import kept_by, rule_table, why_left_out
from mrb_lib.build.construct.answers.marking import (
    NO_OPTION,
    NO_REFERENCE,
    RULES,
    MarkOptions,
    asks_judge,
    chosen_option,
    mark,
    mark_one,
    marks_of,
    overlap_f1,
    read_mark,
    to_mark,
    why_unmarked,
    with_judged,
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


def test_marks_are_null_only_where_there_is_nothing_to_mark() -> None:
    items = pd.DataFrame({"reference": ["B", None, "liver"], "choices": [["x", "y"], None, None]})
    rows = [(0, "B", "ok"), (0, None, "refused"), (0, None, "unparsed"), (0, None, "error"), (1, "any", "ok"),
            (2, "the Liver", "ok"), (2, "hepar", "ok")]  # fmt: skip
    answers = pd.DataFrame(rows, columns=["position", "answer", "status"]).assign(item_id="i")
    marks = mark(answers, items, MarkOptions())
    np.testing.assert_array_equal(marks["correct"], [1, 0, 0, np.nan, np.nan, 1, 0])
    assert marks["marked_by"].fillna("").tolist() == ["letter", "refused", "unparsed", "", "", "exact", "exact"]
    unsure = answers[asks_judge(marks, MarkOptions())]
    judged = with_judged(marks, unsure, lambda item, answer: 1.0)
    assert judged["marked_by"].fillna("").tolist() == ["letter", "refused", "unparsed", "", "", "exact", "judge"]
    assert judged["correct"].iloc[-1] == 1
    every = with_judged(marks, answers[asks_judge(marks, MarkOptions("judge"))], lambda item, answer: None)
    assert every["correct"].notna().sum() == 2, "a judge's mark that cannot be read is no mark"


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


def test_the_same_answer_to_an_item_is_marked_once() -> None:
    items = pd.DataFrame({"images": [[], []], "question": ["q1", "q2"], "choices": [None, None],
                          "reference": ["r1", "r2"]})  # fmt: skip
    pairs = pd.DataFrame({"position": [0, 0, 1], "item_id": ["a", "a", "b"], "answer": ["x", "x", "x"]})
    asked = to_mark(pairs, items)
    assert asked[["question", "reference", "response_a"]].to_numpy().tolist() == [["q1", "r1", "x"], ["q2", "r2", "x"]]
    judged = marks_of(pd.DataFrame({"item_id": asked["item_id"], "answer": ["correct", "no idea"]}))
    assert (judged("a", "x"), judged("b", "x"), judged("a", "y")) == (1.0, None, None)


ITEMS = pd.DataFrame(
    {
        "item_id": ["i0", "i1", "i2", "i3"],
        "choices": [["a", "b", "c", "d"], None, None, None],
        "reference": ["a", "Yes.", "liver", None],
    }
)


def answered(n_right: dict[str, dict[str, int]], of: int) -> pd.DataFrame:
    rows = [
        (item, model, float(i < n))
        for item, counts in n_right.items()
        for model, n in counts.items()
        for i in range(of)
    ]
    return pd.DataFrame(rows, columns=["item_id", "model", "correct"])


def test_counts_are_those_one_gets_by_hand() -> None:
    answers = answered({"i0": {"m": 3, "n": 4}, "i1": {"m": 2, "n": 4}, "i2": {"m": 0, "n": 0}}, of=4)
    unmarked = answers.head(2).assign(item_id="i3", correct=np.nan)
    other = answers.head(4).assign(model="another")
    measures = item_measures(pd.concat([answers, unmarked, other]), ITEMS, ["m", "n"])
    assert measures["item_id"].tolist() == ITEMS["item_id"].tolist()
    assert measures["correct"].tolist()[:3] == [2, 1, 0], "half of a model's answers is not more than half"
    assert measures["share_correct"].tolist()[:3] == [7 / 8, 3 / 4, 0]
    assert measures["n_answers"].tolist() == [8, 8, 8, 0] and measures["n_models"].tolist() == [2, 2, 2, 0]
    assert measures.loc[3, ["correct", "share_correct"]].isna().all()


def test_chance_is_one_of_the_options() -> None:
    np.testing.assert_array_equal(chance_of(ITEMS), [0.25, 0.5, np.nan, np.nan])


def test_models_have_their_accuracy_beside_chance() -> None:
    rng = np.random.default_rng(3)
    skills = {"m": 0.2, "n": 0.5, "o": 0.8}
    drawn = {f"i{i}": {model: int(rng.binomial(8, p)) for model, p in skills.items()} for i in range(200)}
    items = pd.DataFrame({"item_id": list(drawn), "choices": None, "reference": "liver"})
    models = model_measures(answered(drawn, of=8), items, list(skills))
    assert models["accuracy"].is_monotonic_increasing and (models["low"] < models["accuracy"]).all()
    assert models["chance"].isna().all() and (models["n_chance"] == 0).all()


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
