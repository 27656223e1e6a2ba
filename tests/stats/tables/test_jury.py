"""Juries: by hand, against the judges' own juries, and as properties."""

import itertools

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.columns import TABLES
from mrb_lib.stats.panel import as_panel
from mrb_lib.stats.tables.jury import (
    Members,
    best_jury,
    error_of_orders,
    folds,
    joined,
    orders_of,
    weights,
)
from mrb_lib.stats.verdicts import Verdicts
from mrb_lib.tables.schema import POLICIES
from tests.stats.small_tables import Tables, accuracy, cases_of, gold_of, jury, random_verdicts, verdicts_of


def part(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    return rows[rows["part"] == name]


def members_of(verdicts: pd.DataFrame, n: int) -> Members:
    return Members.of(Verdicts.of(as_panel(verdicts, cases_of(n)["case_id"])), 0)


def three() -> Tables:
    said = {("j", "AB"): "AAABBB?A", ("k", "AB"): "AABABT?B", ("l", "AB"): "ABBBAA?T"}
    return verdicts_of(said), gold_of("AABBABAA"), cases_of(8)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_jury_is_scored_as_the_judge_with_its_verdicts_would_be(policy: str) -> None:
    """The majority, counted row by row in the plainest way, given to `accuracy` as one more judge."""
    verdicts = random_verdicts(np.random.default_rng(0), 60, 3)
    gold, cases = gold_of("ABTAB-" * 10), cases_of(60)
    keys = ["case_id", "dimension", "order", "repeat"]
    said = []
    for key, votes in verdicts.groupby(keys)["choice"]:
        counts = votes.value_counts()
        top = counts[counts == counts.max()] if len(counts) else counts
        said.append((*key, None if not len(top) else top.index[0] if len(top) == 1 else "tie"))
    alone = pd.DataFrame(said, columns=[*keys, "choice"]).assign(judge="m", probe="none").astype({"choice": "str"})
    expected = accuracy(alone, gold, cases, policy=policy, resamples=0).iloc[0]
    found = part(jury(verdicts, gold, cases, policy=policy, resamples=0), "jury").iloc[0]
    assert found["kind"] == "majority"
    assert (found["n"], found["n_excluded"]) == (expected["n"], expected["n_excluded"])
    assert found["accuracy"] == pytest.approx(expected["accuracy"], nan_ok=True)


def of_majority(verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, policy: str = "balanced") -> float:
    """The accuracy of the majority of the judges; of one judge, its own."""
    if verdicts["judge"].nunique() == 1:
        return float(accuracy(verdicts, gold, cases, policy=policy, resamples=0)["accuracy"].iloc[0])
    return float(part(jury(verdicts, gold, cases, policy=policy, resamples=0), "jury")["accuracy"].iloc[0])


def coin(verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, policy: str = "balanced") -> float:
    """What a coin earns that answers wherever a judge does: the mean over all it can say in the two orders."""
    keys = ["case_id", "dimension", "order", "repeat", "probe"]
    shown = verdicts.drop_duplicates(keys)
    choices = sorted({"A", "B", *gold["choice"].dropna()})
    answers = [
        shown.assign(judge=f"{first}, {second}", choice=shown["order"].map({"AB": first, "BA": second}))
        for first, second in itertools.product(choices, repeat=2)
    ]
    rows = accuracy(pd.concat(answers), gold, cases, policy=policy, references=0, resamples=0)
    return float(rows["accuracy"].mean())


@pytest.mark.parametrize("judges", [6, 13])
def test_shapley_sums_to_the_accuracy_of_the_majority_less_that_of_a_coin(judges: int) -> None:
    verdicts, gold, cases = random_verdicts(np.random.default_rng(1), 40, judges), gold_of("ABTAA" * 8), cases_of(40)
    rows = jury(verdicts, gold, cases, resamples=50)
    members = part(rows, "member")
    labels = np.array([{"A": 0, "B": 1, "T": 2}[letter] for letter in "ABTAA" * 8])[:, None]
    sampling = 2 * 1.96 * joined(members_of(verdicts, 40), labels, "balanced", 0)[2]
    assert ((members["shapley_high"] - members["shapley_low"]).to_numpy() >= sampling).all()
    assert (sampling.max() == 0) == (judges <= 8)
    expected = part(rows, "jury").iloc[0]["accuracy"] - coin(verdicts, gold, cases)
    assert members["shapley"].sum() == pytest.approx(expected)


def test_a_judge_that_always_says_first_earns_what_a_coin_does_and_adds_less_than_nothing() -> None:
    """Issue 12, point 8: an empty jury worth 0 gave it the value of a coin, .081, while leaving it out gained .078."""
    generator = np.random.default_rng(12)
    label = generator.integers(0, 2, 400)
    said = {}
    for name, skill in (("j", 0.8), ("k", 0.7), ("l", 0.7)):
        for order in ("AB", "BA"):
            right = generator.random(400) < skill
            said[name, order] = "".join("AB"[value] for value in np.where(right, label, 1 - label))
    said["first", "AB"], said["first", "BA"] = "A" * 400, "B" * 400
    gold, cases = gold_of("".join("AB"[value] for value in label)), cases_of(400)
    members = part(jury(verdicts_of(said), gold, cases, resamples=0), "member").set_index("judge")
    single = part(jury(verdicts_of(said), gold, cases, resamples=0), "single").set_index("judge")
    assert single.loc["first", "accuracy"] == 0.5
    assert members.loc["first", "shapley"] < 0 < members.drop(index="first")["shapley"].min()
    # Valued from 0 up, as before, each of the four members gets a quarter of the .5 that a coin earns more.
    assert members.loc["first", "shapley"] + 0.5 / 4 > 0.05


def coins_where_half_of_gold_is_a_tie(n: int = 300) -> Tables:
    generator = np.random.default_rng(0)
    said = {(f"j{i}", "AB"): "".join(generator.choice(["A", "B"], n)) for i in range(4)}
    return verdicts_of(said), gold_of("".join(generator.choice(["A", "B"], n // 2)) + "T" * (n // 2)), cases_of(n)


@pytest.mark.parametrize("policy", ["balanced", "official"])
def test_a_jury_of_judges_that_guess_does_not_collapse_to_a_tie_and_is_not_named_the_best(policy: str) -> None:
    """Fault 13: for want of weights it tied everywhere and had .75 by `balanced`, .5 by `official`, the highest."""
    rows = jury(*coins_where_half_of_gold_is_a_tie(), policy=policy, resamples=50)
    juries = part(rows, "jury").set_index("kind")
    assert juries.loc["weighted", "accuracy"] <= juries.loc["majority", "accuracy"] + 0.05
    said = best_jury(rows)
    assert "constant" in said
    assert "better than the one judge" not in said


def test_a_judge_that_always_ties_has_no_weight() -> None:
    """Fault 13: where most gold labels are ties it had the largest weight, and the weighted jury said what it says."""
    generator = np.random.default_rng(1)
    letters = "".join(generator.choice(["A", "B"], 60)) + "T" * 140
    gold, cases = gold_of(letters), cases_of(200)
    said = {("tie", "AB"): "T" * 200}
    for name in "jk":
        wrong = {"A": "B", "B": "A", "T": "A"}
        right = generator.random(200) < 0.85
        said[name, "AB"] = "".join(c if ok else wrong[c] for c, ok in zip(letters, right, strict=True))
    members = members_of(verdicts_of(said), 200)
    labels = np.array([{"A": 0, "B": 1, "T": 2}[c] for c in letters])
    weight = weights(members, labels, folds(np.arange(200), 0))
    assert (weight[:, members.names.index("tie")] == 0).all()
    assert (np.delete(weight, members.names.index("tie"), axis=1) > 0.5).all()
    found = part(jury(verdicts_of(said), gold, cases, resamples=0), "jury").set_index("kind")
    assert found.loc["weighted", "decisive_accuracy"] > 0.75
    assert found.loc["weighted", "best_judge"] != "tie"


def test_no_jury_is_better_than_a_judge_that_decides_as_well() -> None:
    """Fault 13: a jury that only ties more than the best judge earns more by `balanced`, and is not called better."""
    generator = np.random.default_rng(2)
    letters = "".join(generator.choice(["A", "B"], 100)) + "T" * 300
    label = np.array([{"A": 0, "B": 1, "T": 2}[c] for c in letters])
    said = {}
    for name in "jk":
        guess = generator.integers(0, 2, 400)
        right = (generator.random(400) < 0.8) & (label < 2)
        said[name, "AB"] = "".join("AB"[v] for v in np.where(right, label, np.where(label < 2, 1 - label, guess)))
    rows = jury(verdicts_of(said), gold_of(letters), cases_of(400), resamples=200)
    majority = part(rows, "jury").set_index("kind").loc["majority"]
    one = part(rows, "jury").set_index("kind").loc["best_single"]
    assert majority["crossfit_difference_low"] > 0
    assert abs(majority["decisive_accuracy"] - one["decisive_accuracy"]) < 0.05
    decided = majority["decisive_accuracy"] > one["decisive_accuracy"]
    assert ("is better than" in best_jury(rows)) == decided


def test_a_judge_of_the_easiest_cases_is_not_the_best() -> None:
    """Fault 11: it is right on all of the 40 cases that it judged, where both others are right as well."""
    letters = "AB" * 100
    turned = letters.translate(str.maketrans("AB", "BA"))
    good = "".join(c if i < 160 else t for i, (c, t) in enumerate(zip(letters, turned, strict=True)))
    fair = "".join(c if i < 150 else t for i, (c, t) in enumerate(zip(letters, turned, strict=True)))
    said = {("easy", "AB"): letters[:40] + "-" * 160, ("good", "AB"): good, ("fair", "AB"): fair}
    rows = jury(verdicts_of(said), gold_of(letters), cases_of(200), resamples=50)
    assert set(part(rows, "jury")["best_judge"]) == {"good"}
    single = part(rows, "single").set_index("judge")
    assert single["accuracy"].idxmax() == "easy"
    assert pd.isna(single.loc["easy", "rank"])
    assert part(rows, "jury").set_index("kind").loc["best_single", "n"] == 200


def test_a_jury_better_than_a_constant_is_named() -> None:
    verdicts, gold, cases = coins_where_half_of_gold_is_a_tie()
    right = verdicts.merge(gold, on=["case_id", "dimension"], suffixes=("", "_gold"))["choice_gold"]
    knowing = verdicts.assign(choice=right.where(verdicts["judge"].isin(["j0", "j1", "j2"]).to_numpy(), "A").to_numpy())
    rows = jury(knowing, gold, cases, resamples=50)
    assert "constant" not in best_jury(rows)
    assert "100%" in best_jury(rows)


def test_decisive_accuracy_is_that_of_the_table_accuracy() -> None:
    verdicts, cases = random_verdicts(np.random.default_rng(3), 60, 3), cases_of(60)
    gold = gold_of("ABTAB-" * 10)
    names = ["decisive_accuracy", "decisive_accuracy_low", "decisive_accuracy_high"]
    found = part(jury(verdicts, gold, cases, resamples=0), "single").set_index("judge")
    expected = accuracy(verdicts, gold, cases, resamples=0).set_index("judge")
    pd.testing.assert_frame_equal(found[names], expected.loc[found.index, names])
    of_juries = part(jury(verdicts, gold, cases, resamples=0), "jury")
    assert of_juries[names].notna().all(axis=None)


@pytest.mark.parametrize(("letters", "known"), [("T" * 40, False), ("AT" * 20, False), ("AAAAAAAB" * 5, True)])
def test_a_decisive_accuracy_that_is_undefined_says_why(letters: str, known: bool) -> None:
    verdicts = random_verdicts(np.random.default_rng(3), 40, 3)
    rows = jury(verdicts, gold_of(letters), cases_of(40), resamples=0)
    for name in ("jury", "single"):
        said = part(rows, name)
        assert said["decisive_accuracy"].notna().eq(known).all()
        assert said["reason"].str.contains("gold names one side only", regex=False).eq(not known).all()
    assert ("constant" in best_jury(rows)) or known


def accuracy_of_all(members: Members, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The accuracy of every jury, by the number that its members make in binary, and these numbers' powers."""
    m = len(members.said)
    who = np.array(list(itertools.product([False, True], repeat=m)))[1:]
    value = members.score(members.majority(who), label[:, None], "official").mean(axis=0)
    powers = 2 ** np.arange(m)[::-1]
    return np.append(0.5, value[np.argsort(who @ powers)]), powers


def sampled(value: np.ndarray, powers: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Shapley's values by sampled orders, and their Monte-Carlo errors."""
    who, gain, orders = orders_of(len(powers), seed, exact_up_to=0)
    assert orders is not None
    own = value[who @ powers]
    return gain.T @ own, error_of_orders(own, orders)


def test_all_juries_say_what_sampled_orders_do_not() -> None:
    """Issue 12, point 8: a few orders put two judges in the wrong order; their error says that they may."""
    generator = np.random.default_rng(5)
    label, hard = generator.integers(0, 2, 300), generator.random(300)
    said = {}
    for i in range(6):
        right = generator.random(300) < np.clip(0.9 - 0.1 * i * hard, 0.4, 0.9)
        said[f"j{i}", "AB"] = "".join("AB"[value] for value in np.where(right, label, 1 - label))
    members = members_of(verdicts_of(said), 300)
    shapley, _, error = joined(members, label[:, None], "official", 0)
    value, powers = accuracy_of_all(members, label)
    expected = np.zeros(6)
    for order in itertools.permutations(range(6)):
        for place, member in enumerate(order):
            before, after = (int(powers[list(order[:end])].sum()) for end in (place, place + 1))
            expected[member] += value[after] - value[before]
    np.testing.assert_allclose(shapley.mean(axis=0), expected / 720, atol=1e-12)
    assert error.max() == 0.0
    drawn = [sampled(value, powers, seed) for seed in range(200)]
    shapley, _, error = joined(members, label[:, None], "official", 7, exact_up_to=0)
    np.testing.assert_allclose(shapley.mean(axis=0), drawn[7][0], atol=1e-12)
    np.testing.assert_allclose(error, drawn[7][1], atol=1e-12)
    estimates = np.array([each for each, _ in drawn])
    wrong = (estimates.argsort(axis=1) != expected.argsort()).any(axis=1)
    assert wrong.mean() > 0.1
    z = (estimates - expected / 720) / np.array([error for _, error in drawn])
    assert 0.8 < z.std() < 1.1
    assert (np.abs(z) < 1.96).mean() > 0.93


def test_no_case_judges_its_own_weights() -> None:
    """Turning round the gold labels of one fold leaves the weights that this fold uses as they are."""
    generator = np.random.default_rng(3)
    labels = generator.integers(0, 2, (1, 50))
    said = {
        (name, "AB"): "".join("AB"[label if generator.random() < 0.8 else 1 - label] for label in labels[0])
        for name in "jkl"
    }
    members = members_of(verdicts_of(said), 50)
    fold = folds(np.arange(50), 0)
    turned = np.where(fold == 2, 1 - labels, labels)
    before, after = weights(members, labels[0], fold), weights(members, turned[0], fold)
    assert after[2] == pytest.approx(before[2])
    assert not np.allclose(after[1], before[1])
    together = folds(np.repeat(np.arange(10), 5), 0).reshape(10, 5)
    assert (together == together[:, :1]).all() and len(np.unique(together)) == 5


def test_the_weight_is_the_log_odds() -> None:
    """j is right on 36 of 40 cases outside each fold, with 2 labels: log of 37/42 over 5/42; k is at chance."""
    gold = "AB" * 25
    fold = np.arange(50) % 5
    wrong = {5 * i + i % 5 for i in range(5)}
    j = "".join({"A": "B", "B": "A"}[c] if i in wrong else c for i, c in enumerate(gold))
    members = members_of(verdicts_of({("j", "AB"): j, ("k", "AB"): "A" * 50}), 50)
    found = weights(members, np.array([0, 1] * 25), fold)
    assert found[:, 0] == pytest.approx(np.log(37 / 5))
    assert found[:, 1] == pytest.approx(0.0)


def test_the_costs_of_a_jury_are_those_of_its_members() -> None:
    verdicts, gold, cases = three()
    costly = verdicts.assign(latency_s=verdicts["judge"].map({"j": 1.0, "k": 2.0, "l": 4.0}), prompt_tokens=100)
    rows = jury(costly, gold, cases, resamples=0)
    assert part(rows, "single")["seconds"].tolist() == [1.0, 2.0, 4.0]
    majority_row = part(rows, "jury").iloc[0]
    assert majority_row["seconds"] == pytest.approx(7.0)
    compared = rows[rows["part"].isin(["jury", "single"])]
    assert compared["tokens"].isna().all() and compared["reason"].str.contains("tokens are not recorded").all()


def test_one_judge_two_judges_and_none() -> None:
    verdicts, gold, cases = three()
    for few in (verdicts[verdicts["judge"] == "j"], verdicts.iloc[:0]):
        nothing = jury(few, gold, cases, resamples=20)
        assert len(nothing) == 0 and list(nothing.columns) == list(TABLES["jury"].columns)
        assert TABLES["jury"].says(nothing) == (
            "There is nothing to show: a jury takes two judges with verdicts on the same dimension."
        )
    two = part(jury(verdicts[verdicts["judge"] != "j"], gold, cases, resamples=20), "jury").set_index("kind")
    assert np.isnan(two.loc["dawid_skene", "accuracy"]) and "three judges" in two.loc["dawid_skene", "reason"]
    assert np.isfinite(two.loc["majority", "accuracy"])


def test_intervals_are_paired_and_a_copy_adds_nothing() -> None:
    generator = np.random.default_rng(5)
    letters = "".join(
        "BA"[int(right)] if i % 2 == 0 else "AB"[int(right)] for i, right in enumerate(generator.random(80) < 0.8)
    )
    said = {(name, order): letters for name in "jkl" for order in ("AB", "BA")}
    rows = jury(verdicts_of(said), gold_of("AB" * 40), cases_of(80), resamples=100)
    juries = part(rows, "jury")
    compared = juries[juries["kind"] != "best_single"]
    names = ["crossfit_difference", "crossfit_difference_low", "crossfit_difference_high"]
    assert (compared[names].to_numpy() == 0).all()
    assert part(rows, "curve")["accuracy"].nunique() == 1


def test_an_order_that_one_judge_lacks_is_read_of_none() -> None:
    """k has order AB alone: all are compared there, and a random jury of one is the mean of the two judges."""
    said = {("j", "AB"): "AAAAABBB", ("j", "BA"): "BBBBBBBB", ("k", "AB"): "AAAABBBB"}
    rows = jury(verdicts_of(said), gold_of("A" * 8), cases_of(8), resamples=0)
    assert part(rows, "single")["accuracy"].tolist() == [5 / 8, 4 / 8]
    curve = part(rows, "curve").set_index("size")["accuracy"]
    assert curve[1] == pytest.approx(9 / 16)


def costs_of(rows: pd.DataFrame, dimension: str = "overall") -> dict[str, float]:
    kept = rows[(rows["part"] == "single") & (rows["dimension"] == dimension)]
    return dict(zip(kept["judge"], kept["seconds"], strict=True))


def test_costs_are_those_of_the_dimension() -> None:
    """k judged another dimension, too, which makes it no dearer in this one."""
    said = {("j", "AB"): "AABB", ("k", "AB"): "ABBB"}
    more = verdicts_of({("k", "AB"): "AAAA"}, "accuracy").assign(latency_s=10.0)
    verdicts = pd.concat([verdicts_of(said).assign(latency_s=1.0), more], ignore_index=True)
    gold, cases = pd.concat([gold_of("AABB"), gold_of("AABB", "accuracy")]), cases_of(4)
    whole = jury(verdicts, gold, cases, resamples=0)
    one = jury(verdicts, gold, cases, dimensions=["overall"], resamples=0)
    assert costs_of(whole) == costs_of(one) == {"j": 1.0, "k": 1.0}
    assert costs_of(whole, "accuracy") == {}, "one judge is no jury"


def test_costs_are_those_of_the_orders_that_are_compared() -> None:
    """Both are read in AB alone, where they cost the same."""
    said = {("j", "AB"): "AABA", ("j", "BA"): "BBBB", ("k", "AB"): "AABA"}
    verdicts = verdicts_of(said).assign(latency_s=1.0)
    rows = jury(verdicts, gold_of("AAAA"), cases_of(4), resamples=0)
    assert costs_of(rows) == {"j": 1.0, "k": 1.0}
    both = verdicts_of({(name, order): "AABA" for name in "jk" for order in ("AB", "BA")}).assign(latency_s=1.0)
    assert costs_of(jury(both, gold_of("AAAA"), cases_of(4), resamples=0)) == {"j": 2.0, "k": 2.0}
    first = jury(both, gold_of("AAAA"), cases_of(4), policy="official", resamples=0)
    assert costs_of(first) == {"j": 1.0, "k": 1.0}, "the order that the policy does not read costs nothing"


def test_verdicts_that_do_not_count_their_cost_cost_what_the_others_do() -> None:
    verdicts = verdicts_of({("j", "AB"): "AABA", ("k", "AB"): "AABA"})
    verdicts["latency_s"] = [1.0, 3.0, np.nan, np.nan, *[np.nan] * 4]
    rows = jury(verdicts, gold_of("AAAA"), cases_of(4), resamples=0)
    found = costs_of(rows)
    assert found["j"] == 2.0 and np.isnan(found["k"])


def test_a_reply_about_several_cases_is_counted_once() -> None:
    """Two prompts of 100 tokens about two cases each; another judge asks of each case alone and counts half of them."""
    verdicts = verdicts_of({("j+batch@run", "AB"): "AABA", ("k", "AB"): "AABA", ("l+batch", "AB"): "AABA"})
    verdicts["latency_s"] = [1.0, np.nan, 3.0, np.nan] * 2 + [np.nan] * 4
    tokens = [100.0, np.nan, 100.0, np.nan] * 2 + [np.nan] * 4
    verdicts = verdicts.assign(prompt_tokens=tokens, completion_tokens=np.array(tokens) / 10)
    kept = part(jury(verdicts, gold_of("AAAA"), cases_of(4), resamples=0), "single").set_index("judge")
    assert kept["seconds"].drop("l+batch").to_dict() == {"j+batch@run": 1.0, "k": 2.0}
    assert kept["tokens"].drop("l+batch").to_dict() == {"j+batch@run": 55.0, "k": 110.0}
    assert kept.loc["l+batch", ["seconds", "tokens"]].isna().all()


def test_the_best_single_judge_costs_what_those_cost_that_were_chosen() -> None:
    """Two judges, each right on one half of the cases; the folds choose now one, now the other."""
    letters = {"j": "A" * 10 + "B" * 10, "k": "B" * 10 + "A" * 10}
    verdicts = verdicts_of({(name, "AB"): text for name, text in letters.items()})
    verdicts["latency_s"] = verdicts["judge"].map({"j": 1.0, "k": 3.0})
    gold, cases = gold_of("A" * 20), cases_of(20)
    rows = jury(verdicts, gold, cases, resamples=0, seed=3)
    fold = folds(np.arange(20), 3)
    chosen = []
    for number in range(5):
        right = {name: sum(np.array(list(text))[fold != number] == "A") for name, text in letters.items()}
        chosen += [3.0 if right["k"] > right["j"] else 1.0] * int((fold == number).sum())
    assert set(chosen) == {1.0, 3.0}
    assert part(rows, "jury").set_index("kind").loc["best_single", "seconds"] == pytest.approx(np.mean(chosen))


def test_under_answered_a_silent_judge_is_not_a_wrong_one() -> None:
    """Three judges who are right wherever they answer, and silent on half of the cases."""
    said = {("j", "AB"): "AAAA????", ("k", "AB"): "??AAAA??", ("l", "AB"): "????AAAA"}
    rows = jury(verdicts_of(said), gold_of("A" * 8), cases_of(8), policy="answered", resamples=50)
    assert part(rows, "single")["accuracy"].tolist() == [1, 1, 1]
    assert (part(rows, "curve")["accuracy"] == 1).all()
    members = part(rows, "member")
    assert members["shapley"].to_numpy() == pytest.approx(np.full(3, 0.5 / 3))


@pytest.mark.parametrize("policy", POLICIES)
def test_parts_agree_with_the_juries_formed_one_by_one(policy: str) -> None:
    """Random juries, and what joining changes, from tables of the juries themselves."""
    verdicts, gold, cases = random_verdicts(np.random.default_rng(8), 60, 3), gold_of("ABTAB-" * 10), cases_of(60)
    names = sorted(verdicts["judge"].unique())
    value: dict[tuple[str, ...], float] = {(): coin(verdicts, gold, cases, policy)}
    for size in (1, 2, 3):
        for some in itertools.combinations(names, size):
            value[some] = of_majority(verdicts[verdicts["judge"].isin(some)], gold, cases, policy)
    rows = jury(verdicts, gold, cases, policy=policy, resamples=0)
    curve = part(rows, "curve").set_index("size")["accuracy"]
    members = part(rows, "member").set_index("judge")
    for size in (1, 2, 3):
        assert curve[size] == pytest.approx(np.mean([v for some, v in value.items() if len(some) == size]))
    added = {
        name: np.mean([value[tuple(sorted(o[: o.index(name) + 1]))] - value[tuple(sorted(o[: o.index(name)]))]
                       for o in itertools.permutations(names)])
        for name in names
    }  # fmt: skip
    assert members["shapley"].to_dict() == pytest.approx(added)


def test_differences_say_over_how_many_cases_they_are() -> None:
    said = {("j", "AB"): "AAAA????", ("k", "AB"): "??AABA??", ("l", "AB"): "??AAABAB"}
    rows = part(jury(verdicts_of(said), gold_of("A" * 8), cases_of(8), policy="answered", resamples=0), "jury")
    found = rows.set_index("kind").loc["majority"]
    one = rows.set_index("kind").loc["best_single"]
    assert (found["n"], found["best_judge"]) == (8, "j")
    assert one["n"] < 8
