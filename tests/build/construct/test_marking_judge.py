"""A judge's mark of an answer is read strictly, and asked for once."""

from __future__ import annotations

import pandas as pd

from mrb_lib.build.construct.answers.marking_judge import marks_of, read_mark, to_mark


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
