"""Juries: by hand, against the judges' own juries, and as properties."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.columns import TABLES
from mrb_lib.stats.panel import as_panel
from mrb_lib.stats.tables.jury import Members, best_jury, folds, joined, weights
from mrb_lib.stats.verdicts import Verdicts
from mrb_lib.tables.schema import POLICIES
from tests.stats.small_tables import (
    Tables,
    accuracy,
    cases_of,
    gold_of,
    judged,
    jury,
    part_of,
    random_verdicts,
    tables_of,
    verdicts_of,
)

ENDS = ["decisive_accuracy", "decisive_accuracy_low", "decisive_accuracy_high"]


def part(*tables: pd.DataFrame, of: str, **options: object) -> pd.DataFrame:
    """A part of the table without resamples, by kinds of juries, judges or sizes."""
    index = {"jury": "kind", "curve": "size"}.get(of, "judge")
    return part_of(jury(*tables, **{"resamples": 0, **options}), of).set_index(index)


def members_of(verdicts: pd.DataFrame, cases: pd.DataFrame) -> Members:
    return Members.of(Verdicts.of(as_panel(verdicts, cases["case_id"])), 0)


def drawn(seed: int, n: int = 60, judges: int = 3) -> Tables:
    gold = ("ABTAB-" * n)[:n]
    return random_verdicts(np.random.default_rng(seed), n, judges), gold_of(gold), cases_of(n)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_jury_is_scored_as_the_judge_with_its_verdicts_would_be(policy: str) -> None:
    """The majority, counted row by row in the plainest way, given to `accuracy` as one more judge."""
    verdicts, gold, cases = drawn(0)
    keys = ["case_id", "dimension", "order", "repeat"]
    said = []
    for key, votes in verdicts.groupby(keys)["choice"]:
        top = votes.mode()
        said.append((*key, None if not len(top) else top[0] if len(top) == 1 else "tie"))
    alone = pd.DataFrame(said, columns=[*keys, "choice"]).assign(judge="m", probe="none").astype({"choice": "str"})
    expected = accuracy(alone, gold, cases, policy=policy, resamples=0).iloc[0]
    found = part(verdicts, gold, cases, of="jury", policy=policy).loc["majority"]
    for name in ("n", "n_excluded", "accuracy"):
        assert found[name] == pytest.approx(expected[name], nan_ok=True)


def of_majority(verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, policy: str) -> float:
    """The accuracy of the majority of the judges; of one judge, its own."""
    if verdicts["judge"].nunique() == 1:
        return float(accuracy(verdicts, gold, cases, policy=policy, resamples=0)["accuracy"].iloc[0])
    return float(part(verdicts, gold, cases, of="jury", policy=policy)["accuracy"]["majority"])


def coin(verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, policy: str = "balanced") -> float:
    """What a coin earns that answers wherever a judge does: the mean over all it can say in the two orders."""
    shown = verdicts.drop_duplicates(["case_id", "dimension", "order", "repeat", "probe"])
    choices = sorted({"A", "B", *gold["choice"].dropna()})
    answers = [
        shown.assign(judge=f"{first}, {second}", choice=shown["order"].map({"AB": first, "BA": second}))
        for first, second in itertools.product(choices, repeat=2)
    ]
    return float(accuracy(pd.concat(answers), gold, cases, policy=policy, resamples=0)["accuracy"].mean())


@pytest.mark.parametrize("policy", POLICIES)
def test_parts_agree_with_the_juries_formed_one_by_one(policy: str) -> None:
    """Random juries, and what joining changes, from tables of the juries themselves."""
    verdicts, gold, cases = drawn(8)
    names = sorted(verdicts["judge"].unique())
    value: dict[tuple[str, ...], float] = {(): coin(verdicts, gold, cases, policy)}
    for size in (1, 2, 3):
        for some in itertools.combinations(names, size):
            value[some] = of_majority(verdicts[verdicts["judge"].isin(some)], gold, cases, policy)
    curve = part(verdicts, gold, cases, of="curve", policy=policy)["accuracy"]
    for size in (1, 2, 3):
        assert curve[size] == pytest.approx(np.mean([v for some, v in value.items() if len(some) == size]))
    added: dict[str, list[float]] = {name: [] for name in names}
    for order in itertools.permutations(names):
        for place, name in enumerate(order):
            added[name].append(value[tuple(sorted(order[: place + 1]))] - value[tuple(sorted(order[:place]))])
    members = part(verdicts, gold, cases, of="member", policy=policy)
    assert members["shapley"].to_dict() == pytest.approx({name: np.mean(own) for name, own in added.items()})


@pytest.mark.parametrize("judges", [6, 13])
def test_shapley_sums_to_the_accuracy_of_the_majority_less_that_of_a_coin(judges: int) -> None:
    letters = "ABTAA" * 8
    verdicts, gold, cases = random_verdicts(np.random.default_rng(1), 40, judges), gold_of(letters), cases_of(40)
    members = part(verdicts, gold, cases, of="member", resamples=50)
    labels = np.array(["ABT".index(letter) for letter in letters])[:, None]
    sampling = 2 * 1.96 * joined(members_of(verdicts, cases), labels, "balanced", 0)[2]
    assert ((members["shapley_high"] - members["shapley_low"]).to_numpy() >= sampling).all()
    assert (sampling.max() == 0) == (judges <= 8)
    expected = part(verdicts, gold, cases, of="jury")["accuracy"]["majority"] - coin(verdicts, gold, cases)
    assert members["shapley"].sum() == pytest.approx(expected)


def test_a_judge_that_always_says_first_earns_what_a_coin_does_and_adds_less_than_nothing() -> None:
    """Issue 12, point 8: an empty jury worth 0 gave it the value of a coin, .081, while leaving it out gained .078."""
    rng, is_a = np.random.default_rng(12), np.arange(400) % 2 == 0
    right = {name: rng.random((2, 400)) < skill for name, skill in (("j", 0.8), ("k", 0.7), ("l", 0.7))}
    tables = judged({**right, "first": np.stack([is_a, ~is_a])}, "AB" * 200)
    members = part(*tables, of="member")["shapley"]
    assert part(*tables, of="single")["accuracy"]["first"] == 0.5
    assert members["first"] < 0 < members.drop("first").min()
    # Valued from 0 up, as before, each of the four members gets a quarter of the .5 that a coin earns more.
    assert members["first"] + 0.5 / 4 > 0.05


def coins_where_half_of_gold_is_a_tie() -> Tables:
    rng = np.random.default_rng(0)
    said = {(f"j{i}", "AB"): "".join(rng.choice(["A", "B"], 300)) for i in range(4)}
    return tables_of(said, "".join(rng.choice(["A", "B"], 150)) + "T" * 150)


@pytest.mark.parametrize("policy", ["balanced", "official"])
def test_a_jury_of_judges_that_guess_does_not_collapse_to_a_tie_and_is_not_named_the_best(policy: str) -> None:
    """Fault 13: for want of weights it tied everywhere and had .75 by `balanced`, .5 by `official`, the highest."""
    rows = jury(*coins_where_half_of_gold_is_a_tie(), policy=policy, resamples=50)
    juries = part_of(rows, "jury").set_index("kind")["accuracy"]
    assert juries["weighted"] <= juries["majority"] + 0.05
    said = best_jury(rows)
    assert "constant" in said
    assert "better than the one judge" not in said


def test_a_judge_that_always_ties_has_no_weight() -> None:
    """Fault 13: where most gold labels are ties it had the largest weight, and the weighted jury said what it says."""
    rng = np.random.default_rng(1)
    letters = "".join(rng.choice(["A", "B"], 60)) + "T" * 140
    verdicts, gold, cases = judged({name: rng.random(200) < 0.85 for name in "jk"}, letters)
    verdicts = pd.concat([verdicts, verdicts_of({("tie", "AB"): "T" * 200})], ignore_index=True)
    members = members_of(verdicts, cases)
    weight = weights(members, np.array(["ABT".index(c) for c in letters]), folds(np.arange(200), 0))
    is_tie = np.array(members.names) == "tie"
    assert (weight[:, is_tie] == 0).all()
    assert (weight[:, ~is_tie] > 0.5).all()
    found = part(verdicts, gold, cases, of="jury").loc["weighted"]
    assert found["decisive_accuracy"] > 0.75
    assert found["best_judge"] != "tie"


def test_no_jury_is_better_than_a_judge_that_decides_as_well() -> None:
    """Fault 13: a jury that only ties more than the best judge earns more by `balanced`, and is not called better."""
    rng, letters = np.random.default_rng(2), "AB" * 50 + "T" * 300
    label = np.array(list(letters))
    said = {}
    for name in "jk":
        right = rng.random(400) < 0.8
        decided = np.where(right, label, np.where(label == "A", "B", "A"))
        said[name, "AB"] = "".join(np.where(label == "T", rng.choice(list("AB"), 400), decided))
    rows = jury(*tables_of(said, letters), resamples=200)
    juries = part_of(rows, "jury").set_index("kind")
    assert juries.loc["majority", "crossfit_difference_low"] > 0
    decisive = juries["decisive_accuracy"]
    assert abs(decisive["majority"] - decisive["best_single"]) < 0.05
    assert ("is better than" in best_jury(rows)) == (decisive["majority"] > decisive["best_single"])


def test_a_jury_of_three_that_err_apart_is_called_better_than_its_best_judge() -> None:
    rng = np.random.default_rng(6)
    rows = jury(*judged({name: rng.random(400) < 0.7 for name in "jkl"}, "AB" * 200), resamples=200)
    assert "is better than" in best_jury(rows)


def test_a_judge_of_the_easiest_cases_is_not_the_best() -> None:
    """Fault 11: it is right on all of the 40 cases that it judged, where both others are right as well."""
    case = np.arange(200)
    right = {"easy": np.where(case < 40, 1, -1), "good": case < 160, "fair": case < 150}
    rows = jury(*judged(right, "AB" * 100), resamples=50)
    juries, single = part_of(rows, "jury").set_index("kind"), part_of(rows, "single").set_index("judge")
    assert set(juries["best_judge"]) == {"good"}
    assert single["accuracy"].idxmax() == "easy"
    assert pd.isna(single.loc["easy", "rank"])
    assert juries.loc["best_single", "n"] == 200


def test_decisive_accuracy_is_that_of_the_table_accuracy() -> None:
    tables = drawn(3)
    found = part(*tables, of="single")
    expected = accuracy(*tables, resamples=0).set_index("judge")
    pd.testing.assert_frame_equal(found[ENDS], expected.loc[found.index, ENDS])
    assert part(*tables, of="jury")[ENDS].notna().all(axis=None)


@pytest.mark.parametrize(("letters", "known"), [("T" * 40, False), ("AT" * 20, False), ("AAAAAAAB" * 5, True)])
def test_a_decisive_accuracy_that_is_undefined_says_why(letters: str, known: bool) -> None:
    rows = jury(random_verdicts(np.random.default_rng(3), 40, 3), gold_of(letters), cases_of(40), resamples=0)
    said = rows[rows["part"].isin(["jury", "single"])]
    assert said["decisive_accuracy"].notna().eq(known).all()
    assert said["reason"].str.contains("gold names one side only", regex=False).eq(not known).all()
    assert ("constant" in best_jury(rows)) or known


def test_all_juries_say_what_sampled_orders_do_not() -> None:
    """Issue 12, point 8: a few orders put two judges in the wrong order; their error says that they may."""
    rng = np.random.default_rng(5)
    label, hard = rng.integers(0, 2, 300), rng.random(300)
    right = {f"j{i}": rng.random(300) < np.clip(0.9 - 0.1 * i * hard, 0.4, 0.9) for i in range(6)}
    verdicts, _, cases = judged(right, "".join(np.array(list("AB"))[label]))
    members = members_of(verdicts, cases)
    exact, _, error = joined(members, label[:, None], "official", 0)
    assert error.max() == 0.0
    expected = exact.mean(axis=0)
    sampled = [joined(members, label[:, None], "official", seed, exact_up_to=0) for seed in range(200)]
    estimates, errors = np.array([[shapley.mean(axis=0), error] for shapley, _, error in sampled]).swapaxes(0, 1)
    assert (estimates.argsort(axis=1) != expected.argsort()).any(axis=1).mean() > 0.1
    z = (estimates - expected) / errors
    assert 0.8 < z.std() < 1.1
    assert (np.abs(z) < 1.96).mean() > 0.93


def test_no_case_judges_its_own_weights() -> None:
    """Turning round the gold labels of one fold leaves the weights that this fold uses as they are."""
    rng = np.random.default_rng(3)
    verdicts, _, cases = judged({name: rng.random(50) < 0.8 for name in "jkl"}, "AB" * 25)
    members, fold, labels = members_of(verdicts, cases), folds(np.arange(50), 0), np.array([0, 1] * 25)
    before, after = (weights(members, own, fold) for own in (labels, np.where(fold == 2, 1 - labels, labels)))
    assert after[2] == pytest.approx(before[2])
    assert not np.allclose(after[1], before[1])
    together = folds(np.repeat(np.arange(10), 5), 0).reshape(10, 5)
    assert (together == together[:, :1]).all() and len(np.unique(together)) == 5


def test_one_judge_two_judges_and_none() -> None:
    said = {("j", "AB"): "AAABBB?A", ("k", "AB"): "AABABT?B", ("l", "AB"): "ABBBAA?T"}
    verdicts, gold, cases = tables_of(said, "AABBABAA")
    for few in (verdicts[verdicts["judge"] == "j"], verdicts.iloc[:0]):
        nothing = jury(few, gold, cases, resamples=20)
        assert len(nothing) == 0 and list(nothing.columns) == list(TABLES["jury"].columns)
        assert TABLES["jury"].says(nothing) == (
            "There is nothing to show: a jury takes two judges with verdicts on the same dimension."
        )
    two = part(verdicts[verdicts["judge"] != "j"], gold, cases, of="jury")
    assert np.isnan(two.loc["dawid_skene", "accuracy"]) and "three judges" in two.loc["dawid_skene", "reason"]
    assert np.isfinite(two.loc["majority", "accuracy"])


def test_an_order_that_one_judge_lacks_is_read_of_none() -> None:
    """k has order AB alone: all are compared there, and a random jury of one is the mean of the two judges."""
    tables = tables_of({("j", "AB"): "AAAAABBB", ("j", "BA"): "BBBBBBBB", ("k", "AB"): "AAAABBBB"}, "A" * 8)
    assert part(*tables, of="single")["accuracy"].tolist() == [5 / 8, 4 / 8]
    assert part(*tables, of="curve")["accuracy"][1] == pytest.approx(9 / 16)


def seconds(verdicts: pd.DataFrame, dimension: str = "overall", **options: Any) -> dict[str, float]:
    """What each judge takes where gold is A throughout, where they are compared on the dimension."""
    names = verdicts["dimension"].unique()
    gold = pd.concat([gold_of("AAAA", name) for name in names])
    rows = part(verdicts, gold, cases_of(4), of="single", **options)
    return rows.loc[rows["dimension"] == dimension, "seconds"].to_dict()


def test_the_costs_of_a_jury_are_those_of_its_members() -> None:
    verdicts, gold, cases = tables_of({(name, "AB"): "ABBA" for name in "jkl"}, "AABB")
    costly = verdicts.assign(latency_s=verdicts["judge"].map({"j": 1.0, "k": 2.0, "l": 4.0}), prompt_tokens=100)
    rows = jury(costly, gold, cases, resamples=0)
    compared = rows[rows["part"].isin(["jury", "single"])]
    assert part_of(rows, "single")["seconds"].tolist() == [1.0, 2.0, 4.0]
    assert part_of(rows, "jury").set_index("kind")["seconds"]["majority"] == pytest.approx(7.0)
    assert compared["tokens"].isna().all() and compared["reason"].str.contains("tokens are not recorded").all()


def test_costs_are_those_of_the_dimension() -> None:
    """k judged another dimension, too, which makes it no dearer in this one."""
    said = verdicts_of({("j", "AB"): "AABB", ("k", "AB"): "ABBB"}).assign(latency_s=1.0)
    more = verdicts_of({("k", "AB"): "AAAA"}, "accuracy").assign(latency_s=10.0)
    verdicts = pd.concat([said, more], ignore_index=True)
    assert seconds(verdicts) == seconds(verdicts, dimensions=["overall"]) == {"j": 1.0, "k": 1.0}
    assert seconds(verdicts, "accuracy") == {}, "one judge is no jury"


def test_costs_are_those_of_the_orders_that_are_compared() -> None:
    one = verdicts_of({("j", "AB"): "AABA", ("j", "BA"): "BBBB", ("k", "AB"): "AABA"}).assign(latency_s=1.0)
    both = verdicts_of({"j": "AABA", "k": "AABA"}).assign(latency_s=1.0)
    assert seconds(one) == {"j": 1.0, "k": 1.0}, "both are read in AB alone, where they cost the same"
    assert seconds(both) == {"j": 2.0, "k": 2.0}
    assert seconds(both, policy="official") == {"j": 1.0, "k": 1.0}, "an order that is not read costs nothing"


def test_verdicts_that_do_not_count_their_cost_cost_what_the_others_do() -> None:
    verdicts = verdicts_of({("j", "AB"): "AABA", ("k", "AB"): "AABA"})
    verdicts["latency_s"] = [1.0, 3.0, *[np.nan] * 6]
    assert seconds(verdicts) == pytest.approx({"j": 2.0, "k": np.nan}, nan_ok=True)


def test_a_reply_about_several_cases_is_counted_once() -> None:
    """Two prompts of 100 tokens about two cases each; another judge asks of each case alone and counts half of them."""
    names = ("j+batch@run", "k", "l+batch")
    verdicts, gold, cases = tables_of({(name, "AB"): "AABA" for name in names}, "AAAA")
    tokens = np.array([100.0, np.nan, 100.0, np.nan] * 2 + [np.nan] * 4)
    verdicts = verdicts.assign(prompt_tokens=tokens, completion_tokens=tokens / 10)
    verdicts["latency_s"] = [1.0, np.nan, 3.0, np.nan] * 2 + [np.nan] * 4
    kept = part(verdicts, gold, cases, of="single").loc[list(names)]
    assert kept["seconds"].tolist() == pytest.approx([1.0, 2.0, np.nan], nan_ok=True)
    assert kept["tokens"].tolist() == pytest.approx([55.0, 110.0, np.nan], nan_ok=True)


def test_the_best_single_judge_costs_what_those_cost_that_were_chosen() -> None:
    """Two judges, each right on one half of the cases; the folds choose now one, now the other."""
    right = {"j": np.arange(20) < 10, "k": np.arange(20) >= 10}
    verdicts, gold, cases = judged(right)
    verdicts["latency_s"] = verdicts["judge"].map({"j": 1.0, "k": 3.0})
    fold = folds(np.arange(20), 3)
    chosen = [3.0 if right["k"][fold != own].sum() > right["j"][fold != own].sum() else 1.0 for own in fold]
    assert set(chosen) == {1.0, 3.0}
    found = part(verdicts, gold, cases, of="jury", seed=3)["seconds"]
    assert found["best_single"] == pytest.approx(np.mean(chosen))
