"""What a judge says of an answer is read strictly, and compared with what a person says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from mrb_lib.build.construct.answers.marking_judge import (
    marking_agreement,
    marking_sheet,
    marks_of,
    read_human_marks,
    read_mark,
    to_mark,
)
from mrb_lib.tables.errors import InputError


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


def test_a_sheet_that_a_person_fills_in_gives_the_agreement(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    answers = pd.DataFrame({"item_id": [f"i{i}" for i in range(60)], "model": "m", "sample": 0, "answer": "a,\n'b'",
                            "correct": rng.integers(0, 2, 60).astype(float),
                            "marked_by": ["exact", "judge"] * 30})  # fmt: skip
    answers.loc[59, "correct"] = np.nan
    items = answers[["item_id"]].assign(question="q", reference="r")
    sheet = marking_sheet(answers, items, 40, seed=1)
    assert len(sheet) == 40 and sheet.equals(marking_sheet(answers, items, 40, seed=1))
    own = sheet.merge(answers[["item_id", "correct"]], on="item_id")["correct_y"]
    person = np.where(rng.random(40) < 0.2, 1 - own, own).astype(int)
    path = tmp_path / "sheet.csv"
    sheet.assign(correct=person.astype(str)).to_csv(path, index=False)
    table = marking_agreement(answers, read_human_marks(path)).set_index("marked_by")
    assert table.loc["all", "n"] == 40 == table.loc[["exact", "judge"], "n"].sum()
    assert table.loc["all", "agreement"] == (own == person).mean()
    assert table.loc["all", "low"] < table.loc["all", "agreement"] < table.loc["all", "high"]
    assert table.loc["all", "cohen_kappa"] == pytest.approx(cohen_kappa_score(own, person))
    assert table.loc["all", ["too_lenient", "too_strict"]].sum() == (own != person).sum()


def test_what_a_person_marks_and_no_rule_does_is_counted() -> None:
    answers = pd.DataFrame({"item_id": ["a"], "model": "m", "sample": 0, "correct": np.nan, "marked_by": None})
    human = pd.DataFrame({"item_id": ["a", "z"], "model": "m", "sample": 0, "human": 1.0})
    [row] = marking_agreement(answers, human).to_dict("records")
    assert (row["n"], row["n_excluded"]) == (0, 2) and np.isnan(
        [row["agreement"], row["low"], row["cohen_kappa"]]
    ).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item_id,model,correct\na,m,1\n", "no column 'sample'"),
        ("item_id,model,sample,correct\na,m,0,maybe\n", "row 1, column correct: 'maybe'"),
        ("item_id,model,sample,correct\na,m,0,1\na,m,0,0\n", "twice"),
        ("item_id,model,sample,correct\na,m,first,1\n", "column sample"),
        ("item_id,model,sample,correct\na,m,0,\n", "marks nothing"),
        ("", "cannot be read"),
    ],
)
def test_a_bad_sheet_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=said) as error:
        read_human_marks(path)
    assert "\n" not in str(error.value)
