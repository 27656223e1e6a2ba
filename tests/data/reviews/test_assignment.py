"""Cases are dealt out evenly, and by the seed alone."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest

from mrb_lib.data.reviews.assignment import assign
from mrb_lib.errors import InputError

CASES = [f"c{i}" for i in range(101)]


@pytest.mark.parametrize(("annotators", "overlap"), [(1, 1), (3, 1), (4, 2), (5, 3), (3, 3)])
def test_everyone_has_as_many_and_every_case_its_overlap(annotators: int, overlap: int) -> None:
    people = [f"r{i}" for i in range(annotators)]
    frame = assign(CASES, people, overlap=overlap, seed=3)
    assert not frame.duplicated(["case_id", "annotator"]).any()
    assert (frame.groupby("case_id").size().reindex(CASES) == overlap).all()
    load = frame.groupby("annotator").size()
    assert len(load) == annotators
    assert load.max() - load.min() <= 1
    for _, mine in frame.groupby("annotator"):
        assert mine["position"].tolist() == list(range(len(mine)))
        assert abs((mine["order"] == "AB").sum() - (mine["order"] == "BA").sum()) <= 1
        assert mine["case_id"].tolist() != sorted(mine["case_id"], key=CASES.index)


def test_all_pairs_of_annotators_share_cases() -> None:
    frame = assign(CASES, list("abcd"), overlap=2, seed=0)
    of = frame.groupby("annotator")["case_id"].agg(set)
    shared = [len(of[one] & of[other]) for one, other in combinations("abcd", 2)]
    assert sum(shared) == len(CASES)
    assert max(shared) - min(shared) <= 2


def test_the_seed_decides() -> None:
    first = assign(CASES, ["a", "b"], overlap=1, seed=1)
    pd.testing.assert_frame_equal(first, assign(CASES, ["a", "b"], overlap=1, seed=1))
    assert not first.equals(assign(CASES, ["a", "b"], overlap=1, seed=2))


def test_what_cannot_be_dealt_is_refused() -> None:
    with pytest.raises(InputError, match="overlap of 3"):
        assign(CASES, ["a", "b"], overlap=3, seed=0)
    with pytest.raises(InputError, match="annotator 'a' occurs twice"):
        assign(CASES, ["a", "a"], overlap=1, seed=0)
    with pytest.raises(InputError, match="case 'x' occurs twice"):
        assign(["x", "x"], ["a"], overlap=1, seed=0)
    assert assign([], ["a"], overlap=1, seed=0).empty
