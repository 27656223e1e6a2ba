"""A rule in words keeps what it says; each item that it leaves out has the first part of the rule that it fails."""

import numpy as np
import pandas as pd

from mrb_lib.build.construct.answers.keep_rules import kept_by, rule_table, why_left_out
from mrb_lib.build.construct.tables import ABOUT

ITEMS = pd.DataFrame(
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
TABLE = rule_table(ITEMS, MEASURES)


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
