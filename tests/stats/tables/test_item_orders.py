"""Orders of the responses to an item against loops."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mrb_lib.stats.columns import ONE_CLUSTER
from mrb_lib.stats.methods.item_orders import item_responses
from mrb_lib.stats.tables.ranking import NO_ORDERS, sentence
from tests.judges.item_cases import item_cases
from tests.stats.small_tables import gold_of, ids, rows_of, verdicts_of


def item_ranking(verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, **options: object) -> pd.DataFrame:
    """The rows of `ranking` that are about items."""
    rows = rows_of("ranking", cases, verdicts, gold, **options)
    return rows[rows["part"] == "items"].reset_index(drop=True)


def items_of(n_items: int, k: int, *, named: bool = True) -> pd.DataFrame:
    cases = item_cases(n_items, k, named=named)
    return cases.assign(case_id=ids(len(cases)))


def order_row(frame: pd.DataFrame, judge: str = "j") -> pd.Series:
    [row] = [row for _, row in frame.iterrows() if row["judge"] == judge]
    return row


def loop(cases: pd.DataFrame, gold: str, judge: dict[str, str]) -> list[float]:
    """Kendall's tau-b of each item, as one reads the docstring."""
    out = []
    for _, own in cases.groupby("item", sort=False):
        wins = [dict[str, list[float]](), dict[str, list[float]]()]
        for position, row in own.iterrows():
            said = [letters[position] for letters in judge.values() if letters[position] in "ABT"]
            if gold[position] not in "ABT" or not said:
                continue
            for side, letters in enumerate(([gold[position]], said)):
                value = np.mean([{"A": 1.0, "B": 0.0, "T": 0.5}[letter] for letter in letters])
                wins[side].setdefault(row["response_a"], []).append(float(value))
                wins[side].setdefault(row["response_b"], []).append(float(1 - value))
        responses = sorted({*own["response_a"], *own["response_b"]})
        if any(text not in wins[0] for text in responses):
            continue
        x, y = ([float(np.mean(side[text])) for text in responses] for side in wins)
        if len(set(x)) == 1 or len(set(y)) == 1:
            continue
        out.append(stats.kendalltau(x, y).statistic)
    return out


@pytest.mark.parametrize("seed", range(4))
def test_it_equals_a_loop_with_ties_missing_labels_and_missing_verdicts(seed: int) -> None:
    generator = np.random.default_rng(seed)
    cases = items_of(30, 4)
    gold = "".join(generator.choice(list("AAABBBT?"), len(cases)))
    said = {order: "".join(generator.choice(list("AABBT?-"), len(cases))) for order in ("AB", "BA")}
    frame = item_ranking(
        verdicts_of({("j", order): letters for order, letters in said.items()}), gold_of(gold), cases, resamples=50
    )
    row, expected = order_row(frame), np.array(loop(cases, gold, said))
    assert row["n_items"] == len(expected)
    assert row["n_items"] + row["n_excluded"] == 30
    assert row["kendall"] == pytest.approx(expected.mean())
    assert row["kendall_low"] < row["kendall"] < row["kendall_high"]


def test_orders_by_hand() -> None:
    """Pairs (01, 02, 12): gold says 0 > 1 > 2; the judge 1 > 0 > 2."""
    cases = items_of(2, 3)
    frame = item_ranking(verdicts_of({("j", "AB"): "BAABAA"}), gold_of("AAAAAA"), cases, resamples=40)
    row = order_row(frame)
    assert row["kendall"] == pytest.approx(1 / 3)
    right = order_row(item_ranking(verdicts_of({("j", "AB"): "AAAAAA"}), gold_of("AAAAAA"), cases, resamples=40))
    assert right["kendall"] == 1
    tied = order_row(item_ranking(verdicts_of({("j", "AB"): "TAATAA"}), gold_of("AAAAAA"), cases, resamples=40))
    assert tied["kendall"] == pytest.approx(2 / np.sqrt(6)), "tau-b"


def test_items_are_those_of_the_column_or_of_question_and_images() -> None:
    named, plain = items_of(3, 3), items_of(3, 3, named=False)
    assert (item_responses(named).item == item_responses(plain).item).all()
    assert item_responses(named).size.tolist() == [3, 3, 3]
    pictured = plain.assign(images=[["x.png"]] * 5 + [["y.png"]] + [["z.png"]] * 3)
    assert item_responses(pictured).size.tolist() == [3, 3, 2, 3]


def test_what_is_undefined_is_null_with_a_reason() -> None:
    cases = items_of(2, 3)
    verdicts = verdicts_of({("j", "AB"): "AAAAAA"})
    for gold in ("TTTTTT", "??A??A"):
        row = order_row(item_ranking(verdicts, gold_of(gold), cases, resamples=40))
        assert np.isnan(row["kendall"])
        assert (row["n_items"], row["n_excluded"]) == (0, 2)
        assert row["reason"] == NO_ORDERS
    alone = pd.DataFrame([("c0", "q", "x", "x")], columns=["case_id", "question", "response_a", "response_b"])
    row = order_row(item_ranking(verdicts_of({("j", "AB"): "A"}), gold_of("A"), alone, resamples=40))
    assert (row["n_items"], row["n_excluded"]) == (0, 0)
    assert pd.isna(row["kendall"])


def test_where_responders_have_no_names_the_sentence_is_about_items() -> None:
    frame = item_ranking(verdicts_of({("j", "AB"): "AAABAA"}), gold_of("AAAAAA"), items_of(2, 3), resamples=40)
    assert "cannot be ranked. j ranks the responses to an item with a Kendall's tau of 0.67" in sentence(frame)


def test_clusters_that_share_an_item_are_one() -> None:
    cases, gold, said = items_of(8, 3), "AABABBAAABBB" * 2, "AABABBBAABBA" * 2
    verdicts = verdicts_of({("j", "AB"): said})

    def row_by(clusters: list[str]) -> pd.Series:
        made = item_ranking(verdicts, gold_of(gold), cases.assign(site=clusters), cluster="site", resamples=100)
        return order_row(made)

    apart = row_by([f"s{i // 3 // 2}" for i in range(24)])
    assert apart["n_clusters"] == 4
    assert apart["kendall_low"] < apart["kendall_high"]
    linked = row_by([f"s{(i + 1) // 3}" for i in range(24)])
    assert linked["n_clusters"] == 1
    assert linked[["kendall_low", "kendall_high"]].isna().all()
    assert linked["reason"].endswith(ONE_CLUSTER)
    assert linked["kendall"] == apart["kendall"]
