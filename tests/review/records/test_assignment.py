"""Cases are dealt out evenly, and by the seed alone."""

from itertools import combinations

import pandas as pd
import pytest

from mrb_lib.review.records.assignment import assign, choose_cases
from mrb_lib.tables.errors import InputError

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
    of = assign(CASES, list("abcd"), overlap=2, seed=0).groupby("annotator")["case_id"].agg(set)
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


def test_what_was_dealt_stays_and_a_newcomer_catches_up() -> None:
    before = assign(CASES, ["a", "b"], overlap=2, seed=5)
    more = assign(CASES, ["a", "b", "c"], overlap=3, seed=5, assigned=before)
    assert set(more["annotator"]) == {"c"}
    assert set(more["case_id"]) == set(CASES)
    half = (more["order"] == "AB").sum()
    assert abs(2 * half - len(CASES)) <= 1
    assert assign(CASES, ["a", "b", "c"], overlap=2, seed=5, assigned=before).empty


def test_new_cases_go_to_whoever_has_least() -> None:
    before = assign(CASES[:40], ["a", "b"], overlap=1, seed=5)
    more = assign(CASES, ["a", "b", "c"], overlap=1, seed=6, assigned=before)
    assert set(more["case_id"]) == set(CASES[40:])
    both = pd.concat([before, more])
    load = both.groupby("annotator").size()
    assert load.max() - load.min() <= 1
    assert load.sum() == len(CASES)
    for _, mine in both.groupby("annotator"):
        assert abs((mine["order"] == "AB").sum() - (mine["order"] == "BA").sum()) <= 1, "orders stay balanced"


def test_only_who_is_named_gets_more() -> None:
    before = assign(CASES, ["a", "b"], overlap=1, seed=1)
    more = assign(CASES, ["c"], overlap=2, seed=1, assigned=before)
    assert set(more["annotator"]) == {"c"}
    assert len(more) == len(CASES)
    with pytest.raises(InputError, match="overlap of 4 is not possible with 3 annotators"):
        assign(CASES, ["c"], overlap=4, seed=1, assigned=before)


def test_a_larger_choice_of_cases_holds_the_smaller() -> None:
    few, many = (choose_cases(CASES, n, seed=3) for n in (10, 30))
    assert many[:10] == few
    assert len(set(many)) == 30
    assert few != choose_cases(CASES, 10, seed=4)
    assert choose_cases(CASES, 3, seed=3, first=["c7", "gone", "c9"])[:2] == ["c7", "c9"]
    assert len(choose_cases(CASES, 1000, seed=3)) == len(CASES)


def test_blocks_come_one_after_the_other_and_at_random_within() -> None:
    blocks = {case: i // 20 for i, case in enumerate(CASES)}
    frame = assign(CASES, ["a", "b"], overlap=2, seed=1, blocks=blocks)
    first, second = (mine["case_id"].tolist() for _, mine in frame.groupby("annotator"))
    for mine in (first, second):
        assert [blocks[case] for case in mine] == sorted(blocks.values())
        assert mine[:20] != CASES[:20]
    assert first[:20] != second[:20]
    assert set(choose_cases(CASES, 40, seed=1, blocks=blocks)) == set(CASES[:40])
    shared = assign(CASES, ["a", "b"], overlap=1, seed=1, blocks=blocks)
    of = shared[shared["case_id"].isin(CASES[:40])].groupby("annotator").size()
    assert of.tolist() == [20, 20]
