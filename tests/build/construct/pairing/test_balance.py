"""Responders meet evenly whatever the seed; pairs that tell nothing are left out and counted."""

from itertools import combinations

import numpy as np
import pandas as pd

from mrb_lib.build.construct.pair import design, meetings
from mrb_lib.build.construct.pairing.balance import NONE, balanced_pairs, length_band
from mrb_lib.build.construct.pairing.candidates import candidates

R = 6
PAIRS = np.array(list(combinations(range(R), 2)))
P = len(PAIRS)


def _met(chosen: np.ndarray) -> np.ndarray:
    return np.bincount(chosen[chosen != NONE], minlength=P)


def test_meetings_are_within_one_of_equal_in_every_seed_overall_and_by_organ() -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n, organ = 100, rng.integers(0, 4, 100)
        per_item = 1 + seed % 2
        chosen = balanced_pairs(np.ones((n, P), bool), per_item, organ, rng.integers(0, 3, (n, P)), rng)
        assert np.ptp(_met(chosen)) <= 1
        for one in range(4):
            assert np.ptp(_met(chosen[organ == one])) <= per_item
        assert (chosen[:, 0] != chosen[:, -1]).all() or per_item == 1


def test_missing_responses_are_evened_out_where_they_can_be() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        has = rng.random((150, R)) > 0.2
        allowed = has[:, PAIRS[:, 0]] & has[:, PAIRS[:, 1]]
        chosen = balanced_pairs(allowed, 1, np.zeros(150, int), np.ones((150, P), int), rng)
        given = chosen[:, 0] != NONE
        assert given.tolist() == allowed.any(axis=1).tolist()
        assert allowed[given, chosen[given, 0]].all()
        assert np.ptp(_met(chosen)) <= 1


def test_a_responder_that_answers_a_few_items_meets_the_others_there() -> None:
    allowed = np.ones((90, P), bool)
    allowed[10:, (PAIRS == R - 1).any(axis=1)] = False
    rng = np.random.default_rng(1)
    met = _met(balanced_pairs(allowed, 1, rng.integers(0, 3, 90), np.ones((90, P), int), rng))
    rare = (PAIRS == R - 1).any(axis=1)
    assert met[rare].tolist() == [2] * 5, "all ten items of the rare one, evenly"
    assert met[~rare].tolist() == [8] * 10


def test_lengths_compare_alike_for_every_two_responders() -> None:
    length = np.array([[10.0, 100.0, 14.0, np.nan]])
    assert length_band(length, np.array([(0, 1), (1, 2), (0, 2), (0, 3)])).tolist() == [[2, 0, 1, 1]]
    rng = np.random.default_rng(2)
    band = rng.integers(0, 3, (900, P))
    chosen = balanced_pairs(np.ones((900, P), bool), 1, np.zeros(900, int), band, rng)[:, 0]
    met = np.zeros((P, 3))
    np.add.at(met, (chosen, band[np.arange(900), chosen]), 1)
    assert np.ptp(met, axis=1).max() <= 4, "20 of each are expected; by chance they would differ by some 8"


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


NAMES = ["a", "b", "c", "d"]


def _pairs(each: int, names: list[str] = NAMES) -> pd.DataFrame:
    rows = [(one, other) for one, other in combinations(names, 2) for _ in range(each)]
    frame = pd.DataFrame(rows, columns=["model_a", "model_b"]).assign(item_id=[f"i{i}" for i in range(len(rows))])
    return frame.assign(length_a=[(10, 30)[i % 2] for i in range(len(rows))], length_b=20)


def test_meetings_lengths_and_responders_that_never_meet_the_others_are_counted() -> None:
    found = design(_pairs(50)).set_index("quantity")["value"]
    assert found[["n_cases", "n_items", "n_responders", "fewest_meetings", "most_meetings", "n_parts"]].tolist() == (
        [300, 300, 4, 50, 50, 1]
    )
    assert found["longer_first"] == 0.5
    assert np.isnan(design(_pairs(1).assign(length_a=20)).set_index("quantity")["value"]["longer_first"])
    apart = pd.concat([_pairs(9), _pairs(9, ["x", "y"])], ignore_index=True)
    assert design(apart).set_index("quantity")["value"]["n_parts"] == 2
    assert meetings(apart).set_index(["model_1", "model_2"])["n"]["a", "x"] == 0
