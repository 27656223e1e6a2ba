"""Reviewers' corrections of the gold labels, worked out by hand on six cases."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import TABLES, analyze
from mrb_lib.stats.annotators import adjudicated_gold
from mrb_lib.stats.tables.adjudication import NO_REASON, NOT_REVIEWED, reviewer_agreement
from tests.stats import small_tables as small

SMALL = small.tables_of({("j1", "AB"): "AABBBA", ("j2", "AB"): "BBBBTA"}, "AABBT?")
GOLD = SMALL[1]


def adjudication(said: pd.DataFrame, tables: small.Tables = SMALL, **options: object) -> pd.DataFrame:
    verdicts, gold, cases = tables
    given = {"policy": "official", "resamples": 50, **options}
    return small.rows_of("adjudication", cases, verdicts, gold, adjudications=said, **given)


def leaderboard(said: pd.DataFrame, tables: small.Tables = SMALL, **options: object) -> pd.DataFrame:
    """The rows of the table `gold_rules` by the corrected labels."""
    verdicts, gold, cases = tables
    given = {"policy": "official", "resamples": 50, **options}
    rows = small.rows_of("gold_rules", cases, verdicts, gold, part="rule", adjudications=said, **given)
    return rows[rows["rule"] == "adjudicated"].reset_index(drop=True)


def letters_of(frame: pd.DataFrame) -> str:
    return "".join({"A": "A", "B": "B", "tie": "T"}.get(label, "?") for label in frame["choice"])


def test_each_verdict_does_what_it_says() -> None:
    said = small.adjudications_of(
        ("c0", "r1", "gold_right"),
        ("c1", "r1", "gold_wrong", "tie"),
        ("c2", "r1", "ambiguous"),
        ("c3", "r1", "image_unusable"),
        ("c5", "r1", "gold_wrong", "A"),
        ("c9", "r1", "gold_wrong", "A"),
    )
    found = adjudicated_gold(GOLD, said)
    assert letters_of(found) == "AT??TA"
    assert found["n_reviewers"].tolist() == [1, 1, 1, 1, 0, 1]
    assert letters_of(found.assign(choice=found["annotated_choice"])) == "AABBT?"


@pytest.mark.parametrize(
    ("votes", "label"),
    [
        ([("gold_wrong", "B"), ("gold_wrong", "B"), ("gold_right", None)], "B"),
        ([("gold_wrong", "B"), ("gold_right", None)], "?"),
        ([("gold_wrong", "A"), ("gold_right", None), ("ambiguous", None)], "A"),
        ([("ambiguous", None), ("ambiguous", None), ("gold_right", None)], "?"),
        ([("gold_wrong", "B"), ("gold_wrong", "tie"), ("gold_right", None)], "?"),
    ],
)
def test_reviewers_decide_by_majority(votes: list[tuple[str, str | None]], label: str) -> None:
    found = adjudicated_gold(GOLD, small.adjudications_of(*(("c0", f"r{i}", *vote) for i, vote in enumerate(votes))))
    assert found["n_reviewers"].tolist() == [len(votes), 0, 0, 0, 0, 0]
    assert letters_of(found) == f"{label}ABBT?"


def test_the_last_word_on_the_dimension_counts_before_one_on_all() -> None:
    said = small.adjudications_of(
        ("c0", "r1", "gold_wrong", "B", None, "j1"),
        ("c0", "r1", "gold_wrong", "tie", None, "j2"),
        ("c1", "r1", "gold_wrong", "B", "overall"),
        ("c1", "r1", "gold_right"),
        ("c2", "r1", "gold_wrong", "A", "another"),
        ("c3", "r1", "gold_wrong", "A"),
        ("c3", "r1", "withdrawn"),
    )
    assert letters_of(adjudicated_gold(GOLD, said.iloc[:5])) == "TBBBT?"
    assert letters_of(adjudicated_gold(GOLD, said.iloc[5:6])) == "AABAT?"


def test_agreement_of_reviewers_by_hand() -> None:
    said = small.adjudications_of(
        *((f"c{i}", "r1", "ambiguous" if i < 2 else "gold_right") for i in range(4)),
        *((f"c{i}", "consensus", "ambiguous" if i < 1 else "gold_right") for i in range(4)),
        ("elsewhere", "r3", "ambiguous"),
    )
    found = reviewer_agreement(said, small.cases_of(6), resamples=0).iloc[0]
    assert (found["dimension"], found["n_annotators"], found["n_cases"]) == ("all", 2, 4)
    assert found["percent_agreement"] == pytest.approx(3 / 4)
    # Krippendorff's alpha of two raters: 1 - (n - 1) * disagreeing / (2 * n_ambiguous * n_right), 8 values, 3 and 5.
    assert found["krippendorff_alpha"] == pytest.approx(1 - 7 * 2 / (2 * 3 * 5))
    assert reviewer_agreement(small.adjudications_of(), small.cases_of(6), resamples=0).empty


def test_reasons_go_to_the_judges_they_are_about() -> None:
    said = small.adjudications_of(
        ("c0", "r1", "gold_right", None, None, "j2", ["order effect", "missed finding"]),
        ("c0", "r2", "gold_right", None, None, "j2", ["order effect"]),
        ("c1", "r1", "gold_right", None, None, None, ["order effect"]),
        ("c2", "r1", "gold_right", None, None, None, ["missed finding"]),
        ("c3", "r1", "gold_right", None, None, "j1"),
        ("c3", "r2", "ambiguous", None, None, "j1"),
    )
    found = adjudication(said, part="reasons", resamples=200)
    rows = list(found[["judge", "reason_given", "n", "n_cases"]].itertuples(index=False, name=None))
    assert rows == [
        ("j1", "case ambiguous", 1, 1),
        ("j1", NO_REASON, 1, 1),
        ("j2", "order effect", 2, 2),
        ("j2", "missed finding", 1, 2),
    ]
    # Wilson's interval of 1 in 2: its centre is 1/2, its half-width z sqrt(1/8 + z^2/16) / (1 + z^2/2).
    z = 1.959963984540054
    half = z * np.sqrt(1 / 8 + z**2 / 16) / (1 + z**2 / 2)
    assert found["share"].tolist() == [1, 1, 1, 0.5]
    assert found.iloc[3][["share_low", "share_high"]].tolist() == pytest.approx([0.5 - half, 0.5 + half])
    assert found["share_low"].isna().tolist() == found["reason"].notna().tolist() == [True, True, False, False]


def test_the_leaderboard_moves_as_the_labels_do() -> None:
    said = small.adjudications_of(
        ("c0", "r1", "gold_wrong", "B"), ("c1", "r1", "gold_wrong", "B"), ("c4", "r1", "ambiguous")
    )
    rows = leaderboard(said, resamples=200).set_index("judge")
    assert rows["majority_accuracy"].tolist() == pytest.approx([4 / 5, 3 / 5])
    assert rows["accuracy"].tolist() == pytest.approx([2 / 4, 4 / 4])
    assert rows["difference"].tolist() == pytest.approx([-3 / 10, 4 / 10])
    assert rows["majority_rank"].tolist() == [1, 2]
    assert rows["rank"].isna().all()
    assert rows["reason"].str.contains("gold names one side only").all()
    assert rows[["n_adjudicated", "n_changed", "n_removed", "n"]].to_numpy().tolist() == [[3, 2, 1, 4]] * 2


def test_the_leaderboard_agrees_with_accuracy() -> None:
    generator = np.random.default_rng(5)
    gold = small.gold_of("".join(generator.choice(list("ABT?"), 60)))
    verdicts, cases = (
        small.random_verdicts(generator, 60, 3),
        small.cases_of(60, cluster=[f"k{i // 2}" for i in range(60)]),
    )
    marks = small.adjudications_of(*((f"c{i}", "r1", "gold_wrong", "A") for i in range(30)))
    rows = leaderboard(marks, (verdicts, gold, cases), policy="balanced")
    for before, labels in (("majority_", gold), ("", adjudicated_gold(gold, marks))):
        expected = small.accuracy(verdicts, labels, cases, resamples=0).set_index("judge").loc[rows["judge"]]
        assert rows[f"{before}accuracy"].tolist() == pytest.approx(expected["accuracy"].tolist())
        assert rows[f"{before}rank"].tolist() == expected["rank"].tolist()


def test_where_nothing_was_reviewed_there_is_one_line_and_no_leaderboard() -> None:
    table = adjudication(small.adjudications_of())
    assert table["reason"].tolist() == [NOT_REVIEWED]
    assert TABLES["adjudication"].says(table) == "There is nothing to show: no label was reviewed."
    assert leaderboard(small.adjudications_of()).empty
    assert leaderboard(small.adjudications_of(("elsewhere", "r1", "gold_wrong", "A"))).empty


def test_one_reviewer_alone_agrees_with_nobody_and_the_reason_speaks_of_reviewers() -> None:
    row = adjudication(small.adjudications_of(("c0", "r1", "gold_right")), part="reviewers").iloc[0]
    assert row[["percent_agreement", "krippendorff_alpha"]].isna().all()
    assert "two reviewers" in row["reason"]
    assert "annotator" not in row["reason"]


def test_the_interval_of_a_move_covers_it() -> None:
    """400 judges of 100 cases, right on a case with probability 0.6; reviewers turn the labels of 30 cases round."""
    right = np.random.default_rng(7).random((400, 100)) < 0.6
    said = pd.concat([small.adjudications_of((f"c{i}", "r1", "gold_wrong", "B")) for i in range(30)], ignore_index=True)
    found = leaderboard(said, small.judged({f"j{j:03}": row for j, row in enumerate(right)}), resamples=400)
    expected = 0.3 * (0.4 - 0.6)
    covered = ((found["difference_low"] <= expected) & (expected <= found["difference_high"])).mean()
    assert abs(covered - 0.95) <= 3 * np.sqrt(0.95 * 0.05 / 400)


def test_consensus_labels_can_be_reviewed() -> None:
    """Gold of published consensus labels: there are no votes, yet reviewers correct them."""
    verdicts, gold, cases = small.tables_of({("j", "AB"): "BABB"}, "AABB")
    benchmark = Benchmark(BenchmarkMeta("demo", "general", ("overall",)), cases, gold.assign(annotator="consensus"))
    said = small.adjudications_of(("c0", "r1", "gold_wrong", "B"))
    rows = analyze(benchmark, verdicts, "gold_rules", adjudications=said, policy="official")
    [row] = rows[(rows["part"] == "rule") & (rows["rule"] == "adjudicated")].to_dict("records")
    assert (row["majority_accuracy"], row["accuracy"]) == (0.75, 1.0)
