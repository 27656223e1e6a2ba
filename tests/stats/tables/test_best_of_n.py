"""Choosing the best of n: an oracle loses nothing, a coin what chance loses, a reversed judge all there is to lose."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.methods.item_orders import MOST_SUBSETS, subsets
from mrb_lib.stats.tables.best_of_n import NONE_COMPLETE, SCORE, WINS
from tests.stats.small_tables import gold_of, table_of, verdicts_of

SIZES = [2, 3, 4, 5] * 15


best_of_n = table_of("best_of_n")


class Bench:
    """Items with 2 to 5 responses, all pairs of which are cases in a random order; gold has circles and ties."""

    def __init__(self, seed: int = 0, tie: float = 0.1, noise: float = 0.7) -> None:
        rng = np.random.default_rng(seed)
        rows, labels, self.worth = [], [], [rng.normal(size=k) for k in SIZES]
        for item, worth in enumerate(self.worth):
            for pair in combinations(range(len(worth)), 2):
                a, b = rng.permutation(pair).tolist()
                rows.append((f"i{item}", f"q{item}", f"{item}-{a}", f"{item}-{b}", a, b, item))
                felt = worth[a] - worth[b] + noise * rng.normal()
                labels.append("T" if rng.random() < tie else "A" if felt > 0 else "B")
        columns = ["item", "question", "response_a", "response_b", "a", "b", "number"]
        self.rows = pd.DataFrame(rows, columns=columns)
        self.cases = self.rows[columns[:4]].assign(case_id=[f"c{i}" for i in range(len(rows))])
        self.letters = "".join(labels)
        self.gold = gold_of(self.letters)

    def utility(self) -> list[np.ndarray]:
        """The share of its pairs that each response wins, counted one by one."""
        out = [np.zeros(k) for k in SIZES]
        for label, a, b, item in zip(self.letters, *(self.rows[n] for n in ("a", "b", "number")), strict=True):
            out[item][a] += {"A": 1, "T": 0.5, "B": 0}[label] / (SIZES[item] - 1)
            out[item][b] += {"A": 0, "T": 0.5, "B": 1}[label] / (SIZES[item] - 1)
        return out

    def scored(self, scores: list[np.ndarray]) -> pd.DataFrame:
        """Verdicts in both orders with these scores of the responses."""
        both = [
            [scores[item][place] for item, place in zip(self.rows["number"], self.rows[side], strict=True)]
            for side in "ab"
        ]
        letters = "".join(np.where(np.array(both[0]) > both[1], "A", "B"))
        made = verdicts_of({"s": letters})
        return made.assign(score_a=both[0] * 2, score_b=both[1] * 2)


def test_oracle_coin_and_reversed_judge() -> None:
    bench = Bench(tie=0.0, noise=0.0)  # gold is an order: the best wins every pair
    said = {
        "oracle": bench.letters,
        "reversed": bench.letters.translate(str.maketrans("AB", "BA")),
        "coin": "T" * len(bench.letters),
    }
    table = best_of_n(verdicts_of({(name, "AB"): letters for name, letters in said.items()}), bench.gold, bench.cases)
    assert table["best_of"].tolist() == [2, 3, 4, 5] * 3
    assert table.loc[table["judge"] == "oracle", "n_items"].tolist() == [60, 45, 30, 15]
    by = {name: rows.set_index("best_of") for name, rows in table.groupby("judge")}
    np.testing.assert_allclose(by["oracle"]["regret"], 0, atol=1e-12)
    np.testing.assert_allclose(by["oracle"]["gain_share"], 1)
    np.testing.assert_allclose(by["coin"]["regret"], by["coin"]["regret_random"])
    np.testing.assert_allclose(by["reversed"]["gain_share"], -1)
    for n, rows in table.groupby("best_of"):
        sizes = [k for k in SIZES if k >= n]
        # Utilities of k responses in order are 0, 1/(k-1) to 1; the expected maximum of n of the ranks 1 to k is
        # n (k+1) / (n+1), the mean (k+1) / 2.
        best = np.mean([(n * (k + 1) / (n + 1) - 1) / (k - 1) for k in sizes])
        np.testing.assert_allclose(rows["regret_random"], best - 0.5)
    said_of = TABLES["best_of_n"].says(table)
    assert "1 of 3 judges pick the best of 5 significantly better than chance. The pick of oracle (wins)" in said_of
    assert "loses 0.00 of utility over 15 items, a random one 0.50" in said_of
    assert "a perfect judge loses something, too" in said_of
    coins = TABLES["best_of_n"].says(table[table["judge"] != "oracle"])
    assert "cannot tell whether any of 2 judges picks the best response better than chance" in coins


@pytest.mark.parametrize("by_scores", [True, False])
def test_the_regret_is_that_of_a_loop_over_subsets(by_scores: bool) -> None:
    bench = Bench(1)
    rng = np.random.default_rng(2)
    scores = [np.round(worth + rng.normal(0, 1, len(worth)), 0) for worth in bench.worth]  # with level ones
    if by_scores:
        verdicts = bench.scored(scores)
    else:
        letters = "".join(rng.choice(list("AABBT?"), len(bench.rows)))
        verdicts = verdicts_of({("s", "AB"): letters})
        ends = zip(*(bench.rows[name] for name in ("number", "a", "b")), strict=True)
        place = dict(zip(ends, letters, strict=True))
    rows = best_of_n(verdicts, bench.gold, bench.cases).set_index("best_of")
    assert rows["pick_by"].eq(SCORE if by_scores else WINS).all()
    utility = bench.utility()

    def wins(item: int, one: int, other: int) -> float:
        worth = {"A": 1.0, "B": 0.0, "T": 0.5, "?": 0.5}
        return worth[place[item, one, other]] if (item, one, other) in place else 1 - worth[place[item, other, one]]

    for n in range(2, 6):
        regrets, hits = [], []
        for item, k in enumerate(SIZES):
            of_item = []
            for subset in combinations(range(k), n):
                by = [scores[item][i] if by_scores else sum(wins(item, i, j) for j in subset if j != i) for i in subset]
                top = [i for i, value in zip(subset, by, strict=True) if value > max(by) - 1e-9]
                best = max(utility[item][i] for i in subset)
                hit = np.mean([utility[item][i] > best - 1e-9 for i in top])
                of_item.append((best - np.mean([utility[item][i] for i in top]), hit))
            if of_item:
                regrets.append(np.mean([each[0] for each in of_item]))
                hits.append(np.mean([each[1] for each in of_item]))
        assert rows.loc[n, "n_items"] == len(regrets)
        assert rows.loc[n, "regret"] == pytest.approx(np.mean(regrets))
        assert rows.loc[n, "picked_best"] == pytest.approx(np.mean(hits))


def test_items_that_lack_a_label_a_verdict_or_a_score_are_counted() -> None:
    bench = Bench(4)
    verdicts = bench.scored(bench.worth)
    first, second, third = bench.cases.groupby("item")["case_id"].first()[["i0", "i1", "i2"]]  # of 2, 3, 4 responses
    unlabelled = bench.gold[bench.gold["case_id"] != second]
    row = best_of_n(verdicts, unlabelled, bench.cases).set_index("best_of")
    assert row["n_items"].tolist() == [59, 44, 30, 15]
    assert row["n_excluded"].tolist() == [1, 1, 0, 0]
    missing = verdicts[verdicts["case_id"] != third]
    assert best_of_n(missing, bench.gold, bench.cases)["n_excluded"].tolist() == [1, 1, 1, 0]
    unscored = verdicts.assign(score_a=verdicts["score_a"].mask(verdicts["case_id"] == first))
    assert best_of_n(unscored, bench.gold, bench.cases)["n_excluded"].tolist() == [1, 0, 0, 0]
    nothing = best_of_n(verdicts, bench.gold[:0], bench.cases).iloc[0]
    assert (nothing["n_items"], nothing["reason"]) == (0, NONE_COMPLETE)
    assert np.isnan(nothing["regret"])


def test_without_an_item_the_question_tells() -> None:
    bench = Bench(5)
    verdicts = bench.scored(bench.worth)
    expected = best_of_n(verdicts, bench.gold, bench.cases, cluster="question")
    for cases in (bench.cases.drop(columns="item"), bench.cases.assign(item=None)):
        pd.testing.assert_frame_equal(best_of_n(verdicts, bench.gold, cases, cluster="question"), expected)


def test_an_unanswered_pair_is_a_tie_and_lowers_coverage() -> None:
    bench = Bench(6)
    row = best_of_n(verdicts_of({("j", "AB"): "?" * len(bench.rows)}), bench.gold, bench.cases).iloc[0]
    assert row["coverage"] == 0
    assert row["regret"] == pytest.approx(row["regret_random"])


def test_clusters_are_of_items() -> None:
    bench = Bench(7)
    verdicts = bench.scored(bench.worth)
    patient = bench.cases.assign(patient=(bench.rows["number"] // 10).astype("str"))
    assert best_of_n(verdicts, bench.gold, patient, cluster="patient")["n_clusters"].iloc[0] == 6
    assert best_of_n(verdicts, bench.gold, patient, cluster="case_id")["n_clusters"].iloc[0] == 60


def test_many_subsets_are_drawn_by_the_seed() -> None:
    assert len(subsets(12, 6, 0)) == 924
    drawn = subsets(14, 7, 3)
    assert drawn.shape == (MOST_SUBSETS, 7)
    assert all(len(set(members)) == 7 for members in drawn.tolist())
    np.testing.assert_array_equal(drawn, subsets(14, 7, 3))
    assert (drawn != subsets(14, 7, 4)).any()
    assert np.bincount(drawn.ravel()) / MOST_SUBSETS == pytest.approx(np.full(14, 0.5), abs=0.06)
