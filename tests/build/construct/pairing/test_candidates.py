"""No pair holds a response that answers nothing, or two that nobody could tell apart; every one left out is counted."""

import pandas as pd
import pytest

from mrb_lib.build.construct.pairing.candidates import candidates
from mrb_lib.tables.errors import InputError

LONG = "the left lung shows a nodule of eight millimetres"


def _responses(rows: list[tuple[str, str, int, str | None, str | None]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["item_id", "model", "sample", "answer", "flag"])
    return frame.assign(alike=[0.0 if "left" in str(text).lower() else None for text in frame["answer"]])


ROWS = [
    ("i1", "a", 0, "Left lung.", None),
    ("i1", "b", 0, "left  LUNG.", None),
    ("i1", "c", 0, "Right lung.", None),
    ("i2", "a", 0, LONG, None),
    ("i2", "b", 0, LONG.replace("eight", "nine"), None),
    ("i2", "c", 0, "I cannot say.", "refused"),
    ("i3", "a", 0, "Cut of", "truncated"),
    ("i3", "b", 0, " ", None),
    ("i3", "c", 0, None, "error"),
    ("other", "a", 0, "Not asked for.", None),
]


def test_each_rule_leaves_out_what_it_says_and_counts_it() -> None:
    made, counts = candidates(_responses(ROWS), ["i1", "i2", "i3"])
    assert (made.models, made.items) == (["a", "b", "c"], ["i1", "i2"])
    assert made.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert made.allowed.tolist() == [[False, True, True], [False, False, False]]
    assert made.sample.tolist() == [[0, 0, 0], [0, 0, -1]]
    assert dict(zip(counts["reason"], counts["n"], strict=True)) == {
        "error": 1, "empty": 1, "refused": 1, "truncated": 1, "near-identical pair": 2,
    }  # fmt: skip
    kept, _ = candidates(_responses(ROWS), ["i1", "i2", "i3"], exclude=())
    assert kept.allowed.tolist() == [[True, True, True], [True, True, True], [False, False, False]]


def test_a_sample_is_drawn_among_the_usable_ones_by_the_seed() -> None:
    rows = [("i", model, k, f"{model} says {k}", None) for model in "ab" for k in range(8)]
    rows += [("i", "a", 8, "no", "refused")]
    drawn = {tuple(candidates(_responses(rows), ["i"], seed=seed)[0].sample[0]) for seed in range(40)}
    assert len(drawn) > 20
    assert not any(8 in both for both in drawn)
    assert candidates(_responses(rows), ["i"], seed=3)[0].sample.tolist() == (
        candidates(_responses(rows), ["i"], seed=3)[0].sample.tolist()
    )


def test_one_responder_is_no_pool() -> None:
    with pytest.raises(InputError, match="only a has a usable response"):
        candidates(_responses(ROWS[:1] + ROWS[5:6]), ["i1", "i2"])
    with pytest.raises(InputError, match="no responder has"):
        candidates(_responses(ROWS[5:6]), ["i2"])
    with pytest.raises(InputError, match="'same': is unknown"):
        candidates(_responses(ROWS), ["i1"], exclude=["same"])
