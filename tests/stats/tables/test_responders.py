"""Rankings of responders from small tables: what counts as a comparison, and what is said where it fails."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.columns import NO_CASES
from mrb_lib.stats.methods.comparisons import from_verdicts
from mrb_lib.stats.panel import as_panel
from mrb_lib.stats.tables.ranking import NO_AGREEMENT, NO_ERRORS, NO_STRENGTHS
from mrb_lib.stats.verdicts import Verdicts
from tests.stats.small_tables import annotations_of, cases_of, gold_of, rows_of, verdicts_of


def ranking(
    verdicts: pd.DataFrame | None,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    annotations: pd.DataFrame | None = None,
    **options: object,
) -> pd.DataFrame:
    return rows_of("ranking", cases, verdicts, gold, annotations, **options)


def small(a: str, b: str, letters: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cases between responders of one letter each, and their gold labels."""
    return cases_of(len(a), model_a=list(a), model_b=list(b)), gold_of(letters)


def strengths(frame: pd.DataFrame, source: str = "gold", judge: str | None = None) -> pd.DataFrame:
    rows = frame[(frame["part"] == "strength") & (frame["source"] == source)]
    rows = rows[rows["judge"].isna()] if judge is None else rows[rows["judge"] == judge]
    return rows.set_index("responder")


CIRCLE = ("xyzxyzxy", "yzxyzxxx", "AAAABATB")


def test_a_small_table_by_hand() -> None:
    """Against y: x won 2 and lost 1 of 4."""
    cases, gold = small("xxxx", "yyyy", "AABT")
    rows = strengths(ranking(None, gold, cases, resamples=100))
    assert rows[["n", "n_excluded"]].to_numpy().tolist() == [[4, 0], [4, 0]]
    assert rows["win_rate"].tolist() == [0.625, 0.375]
    np.testing.assert_allclose(rows["strength"], [0.625, 0.375])
    assert rows.loc["x", "log_strength"] == pytest.approx(np.log(0.625 / 0.375) / 2)
    assert rows["rank"].tolist() == [1, 2]


def test_every_annotation_is_a_comparison() -> None:
    cases, gold = small("xxxx", "yyyy", "AABB")
    annotations = annotations_of({"p": "AAAA", "q": "ABT-", "consensus": "BBBB"})
    rows = strengths(ranking(None, gold, cases, annotations, resamples=0), "annotations")
    assert rows.loc["x", ["n", "n_excluded", "win_rate"]].tolist() == pytest.approx([7, 0, 5.5 / 7])


@pytest.mark.parametrize(
    ("policy", "comparisons"),
    [
        ("balanced", [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0, 0, 1], [0, 0, 0]]),
        ("answered", [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0, 0, 1], [0, 0, 0]]),
        ("official", [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]),
        ("strict", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]),
        ("net", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]),
    ],
)
def test_policies_make_one_comparison_of_the_verdicts_on_a_case(policy: str, comparisons: list[list[float]]) -> None:
    """Cases: A in both orders; B in both; A then B; a tie, once; nothing readable; A once, the other order missing."""
    cases, gold = small("xxxxx", "yyyyy", "AABBA")
    verdicts = verdicts_of({("j", "AB"): "ABAT?", ("j", "BA"): "ABB-?"})
    assert from_verdicts(Verdicts.of(as_panel(verdicts, cases["case_id"])), policy)[0].tolist() == comparisons
    rows = strengths(ranking(verdicts, gold, cases, policy=policy, resamples=0), "judge", "j")
    decided = int(np.sum(comparisons))
    assert rows.loc["x", ["n", "n_excluded"]].tolist() == [decided, 5 - decided]


def test_a_judge_that_repeats_the_gold_labels_ranks_as_they_do() -> None:
    cases, gold = small(*CIRCLE)
    frame = ranking(verdicts_of({("j", "AB"): CIRCLE[2], ("j", "BA"): CIRCLE[2]}), gold, cases, resamples=100)
    for name in ("strength", "low", "high", "rank_low", "rank_high"):
        np.testing.assert_allclose(strengths(frame)[name], strengths(frame, "judge", "j")[name], rtol=1e-9)
    row = frame[(frame["part"] == "agreement") & (frame["source"] == "gold")].iloc[0]
    assert row[["kendall", "spearman", "pearson_of_ranks"]].tolist() == [1, 1, 1]
    assert row["n_responders"] == 3


def test_one_who_won_everything_leaves_no_strength() -> None:
    cases, gold = small("xyzwww", "yzxxyz", "AAAAAA")
    frame = ranking(verdicts_of({("j", "AB"): "AAABBB"}), gold, cases, resamples=50)
    rows = strengths(frame)
    assert rows[["strength", "low", "rank", "rank_low", "log_strength"]].isna().all(axis=None)
    assert set(rows["reason"]) == {NO_STRENGTHS}
    assert rows["win_rate"].tolist() == [1.0, 1 / 3, 1 / 3, 1 / 3]
    row = frame[(frame["part"] == "agreement") & (frame["source"] == "gold")].iloc[0]
    assert np.isnan(row["kendall"])
    assert row["reason"] == NO_AGREEMENT


def test_a_responder_without_a_label_is_named_and_the_others_are_ranked() -> None:
    cases, gold = small(CIRCLE[0] + "ww", CIRCLE[1] + "xy", CIRCLE[2] + "?-")
    rows = strengths(ranking(None, gold, cases, resamples=50))
    assert (rows.loc["w", "n"], rows.loc["w", "n_excluded"]) == (0, 2)
    assert rows.loc["w", "reason"] == NO_CASES
    assert np.isnan(rows.loc["w", "strength"])
    assert rows.drop("w")["strength"].sum() == pytest.approx(1)


def test_cases_with_one_responder_twice_or_unknown_compare_nothing() -> None:
    cases, gold = small(*CIRCLE)
    more = pd.concat([cases, cases.assign(case_id=[f"d{i}" for i in range(8)], model_b=cases["model_a"])])
    more = pd.concat([more, cases.assign(case_id=[f"e{i}" for i in range(8)], model_a=None)], ignore_index=True)
    labels = pd.concat([gold, *(gold.assign(case_id=[f"{c}{i}" for i in range(8)]) for c in "de")])
    first, second = ranking(None, gold, cases, resamples=0), ranking(None, labels, more, resamples=0)
    pd.testing.assert_frame_equal(first.drop(columns="n_unpaired"), second.drop(columns="n_unpaired"))
    assert first["n_unpaired"].eq(1).all()
    assert second["n_unpaired"].eq(17).all()


def test_cases_that_do_not_name_their_responders_are_said_to() -> None:
    table = ranking(verdicts_of({("j", "AB"): "AB"}), gold_of("AB"), cases_of(2))
    frame = table[table["part"] == "strength"]
    assert table["part"].tolist() == ["strength", "items"]
    assert frame["reason"].str.contains("model_a and model_b").all()
    assert frame["strength"].isna().all()


def test_clusters_that_all_say_the_same_leave_ranks_open() -> None:
    """Four clusters, each with two wins of x and one of y: the robust variance is 0, and nothing is certain."""
    cases, gold = small("x" * 12, "y" * 12, "AAB" * 4)
    verdicts = verdicts_of({("j", "AB"): "AAB" * 4})
    frame = ranking(verdicts, gold, cases.assign(cluster=np.arange(12) // 3), resamples=200)
    rows = strengths(frame)
    assert rows["strength"].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert rows[["low", "high"]].isna().all(axis=None)
    assert (rows["rank_low"].tolist(), rows["rank_high"].tolist()) == ([1, 1], [2, 2])
    assert rows["reason"].str.contains("no interval of strength").all()
    row = frame[frame["part"] == "agreement"].iloc[0]
    assert row["kendall"] == 1
    assert row[["kendall_low", "kendall_high"]].isna().all()
    assert NO_ERRORS in row["reason"]
