"""Choosing the best of n: an oracle loses nothing, a coin what chance loses, a reversed judge all there is to lose."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.methods.item_orders import choose
from mrb_lib.stats.tables.best_of_n import SCORE, WINS, estimates
from tests.simulation.panels import covers_as_claimed
from tests.stats.small_tables import cases_of, gold_of, table_of, verdicts_of

SIZES = [2, 3, 4, 5] * 15


best_of_n = table_of("best_of_n")


WORTH = {"A": 1.0, "B": 0.0, "T": 0.5, "?": 0.5}


class Bench:
    """Items with 2 to 5 responses, all pairs of which are cases in a random order; gold has circles and ties."""

    def __init__(self, seed: int = 0, tie: float = 0.1, noise: float = 0.7) -> None:
        rng = np.random.default_rng(seed)
        self.worth = [rng.normal(size=k) for k in SIZES]
        pairs = [(item, *rng.permutation(pair)) for item, k in enumerate(SIZES) for pair in combinations(range(k), 2)]
        self.item, self.a, self.b = np.array(pairs).T
        lead = np.array([self.worth[item][a] - self.worth[item][b] for item, a, b in pairs])
        choice = np.where(lead + noise * rng.normal(size=len(pairs)) > 0, "A", "B")
        self.letters = "".join(np.where(rng.random(len(pairs)) < tie, "T", choice))
        self.gold = gold_of(self.letters)
        texts = {
            f"response_{side}": [f"{i}-{k}" for i, k in zip(self.item, getattr(self, side), strict=True)]
            for side in "ab"
        }
        self.cases = cases_of(
            len(pairs), item=[f"i{i}" for i in self.item], question=[f"q{i}" for i in self.item], **texts
        )

    def wins(self, letters: str) -> list[np.ndarray]:
        """What each response to an item earns against each other one, shape (responses, responses)."""
        out = [np.zeros((k, k)) for k in SIZES]
        for letter, item, a, b in zip(letters, self.item, self.a, self.b, strict=True):
            out[item][a, b], out[item][b, a] = WORTH[letter], 1 - WORTH[letter]
        return out

    def scored(self, scores: list[np.ndarray]) -> pd.DataFrame:
        """Verdicts in both orders with these scores of the responses."""
        a, b = ([scores[i][k] for i, k in zip(self.item, side, strict=True)] for side in (self.a, self.b))
        made = verdicts_of({"s": "".join(np.where(np.array(a) > b, "A", "B"))})
        return made.assign(score_a=a * 2, score_b=b * 2)


def test_oracle_coin_and_reversed_judge() -> None:
    bench = Bench(tie=0.0, noise=0.0)  # gold is an order: the best wins every pair
    said = {"oracle": bench.letters, "reversed": bench.letters.translate(str.maketrans("AB", "BA"))}
    said["coin"] = "T" * len(bench.letters)
    table = best_of_n(verdicts_of({(name, "AB"): text for name, text in said.items()}), bench.gold, bench.cases)
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
    bench, rng = Bench(1), np.random.default_rng(2)
    scores = [np.round(worth + rng.normal(0, 1, len(worth)), 0) for worth in bench.worth]  # with level ones
    letters = "".join(rng.choice(list("AABBT?"), len(bench.item)))
    verdicts = bench.scored(scores) if by_scores else verdicts_of({("s", "AB"): letters})
    rows = best_of_n(verdicts, bench.gold, bench.cases).set_index("best_of")
    assert rows["pick_by"].eq(SCORE if by_scores else WINS).all()
    utility = [won.sum(axis=1) / (len(won) - 1) for won in bench.wins(bench.letters)]
    wins = bench.wins(letters)
    for n in range(2, 6):
        by_item = []
        for item, k in enumerate(SIZES):
            found = []
            for subset in map(list, combinations(range(k), n)):
                value = scores[item][subset] if by_scores else wins[item][np.ix_(subset, subset)].sum(axis=1)
                own, top = utility[item][subset], value > value.max() - 1e-9
                found.append((own.max() - own[top].mean(), (own[top] > own.max() - 1e-9).mean()))
            if found:
                by_item.append(np.mean(found, axis=0))
        assert rows.loc[n, "n_items"] == len(by_item)
        assert rows.loc[n, ["regret", "picked_best"]].tolist() == pytest.approx(np.mean(by_item, axis=0).tolist())


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


def test_without_an_item_the_question_tells() -> None:
    bench = Bench(5)
    verdicts = bench.scored(bench.worth)
    expected = best_of_n(verdicts, bench.gold, bench.cases, cluster="question")
    for cases in (bench.cases.drop(columns="item"), bench.cases.assign(item=None)):
        pd.testing.assert_frame_equal(best_of_n(verdicts, bench.gold, cases, cluster="question"), expected)


def test_an_unanswered_pair_is_a_tie_and_lowers_coverage() -> None:
    bench = Bench(6)
    row = best_of_n(verdicts_of({("j", "AB"): "?" * len(bench.item)}), bench.gold, bench.cases).iloc[0]
    assert row["coverage"] == 0
    assert row["regret"] == pytest.approx(row["regret_random"])


def test_clusters_are_of_items() -> None:
    bench = Bench(7)
    verdicts, patient = bench.scored(bench.worth), bench.cases.assign(patient=(bench.item // 10).astype(str))
    for cluster, n in (("patient", 6), ("case_id", 60)):
        assert best_of_n(verdicts, bench.gold, patient, cluster=cluster)["n_clusters"].iloc[0] == n


RNG = np.random.default_rng(9)


def chosen_of_three(items: int) -> pd.DataFrame:
    utility, scores = drawn(items)
    return choose(utility, np.repeat(scores[:, :, None], 4, axis=2), 3, seed=0)


def drawn(items: int) -> tuple[np.ndarray, np.ndarray]:
    """The utilities of four responses to each item, from a noisy round robin, and a judge's noisy scores."""
    worth = RNG.normal(size=(items, 4))
    wins = worth[:, :, None] - worth[:, None, :] + RNG.normal(size=(items, 4, 4)) > 0
    wins = np.triu(wins, 1) | np.triu(~wins, 1).transpose(0, 2, 1)
    return wins.sum(axis=2) / 3, worth + RNG.normal(size=(items, 4))


def test_the_intervals_hold_what_many_items_would_show() -> None:
    chosen = chosen_of_three(200_000)
    gained, possible = chosen.utility - chosen.random, chosen.best - chosen.random
    truth = {
        "regret": (chosen.best - chosen.utility).mean(), "picked_best": chosen.hit.mean(),
        "gain_share": gained.mean() / possible.mean(),
    }  # fmt: skip
    draws = 600
    rows = [estimates(chosen_of_three(100), np.arange(100)) for _ in range(draws)]
    for name, value in truth.items():
        held = np.mean([row[f"{name}_low"] <= value <= row[f"{name}_high"] for row in rows])
        assert covers_as_claimed(held, trials=draws, least=0.015), name
