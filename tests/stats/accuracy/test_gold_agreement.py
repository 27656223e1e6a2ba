"""The interval of Cohen's kappa, against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student
from statsmodels.stats.inter_rater import cohens_kappa

from mrb_lib.stats.accuracy.confusion import influence
from tests.stats.small_tables import accuracy, cases_of, gold_of, verdicts_of


def tables(n: int = 90, seed: int = 0):
    generator = np.random.default_rng(seed)
    gold = generator.choice(list("AABT"), n)
    choice = np.where(generator.random(n) < 0.5, gold, generator.choice(list("ABT"), n))
    return "".join(choice), "".join(gold)


def test_as_statsmodels_with_one_verdict_a_case() -> None:
    choice, gold = tables()
    row = accuracy(verdicts_of({("j", "AB"): choice}), gold_of(gold), cases_of(90), resamples=0).iloc[0]
    both = list(zip(gold, choice, strict=True))
    counts = np.array([[both.count((label, given)) for given in "ABT"] for label in "ABT"])
    wanted = cohens_kappa(counts)
    assert row["cohen_kappa"] == pytest.approx(wanted.kappa)
    half = student.ppf(0.975, 89) * np.sqrt(wanted.var_kappa * 90 / 89)
    assert row["cohen_kappa_low"] == pytest.approx(wanted.kappa - half, abs=1e-9)
    assert row["cohen_kappa_high"] == pytest.approx(wanted.kappa + half, abs=1e-9)


def test_a_second_order_with_the_same_answers_adds_nothing() -> None:
    choice, gold = tables()
    once = accuracy(verdicts_of({("j", "AB"): choice}), gold_of(gold), cases_of(90), resamples=0).iloc[0]
    both = verdicts_of({("j", "AB"): choice, ("j", "BA"): choice})
    twice = accuracy(both, gold_of(gold), cases_of(90), resamples=0).iloc[0]
    names = ["cohen_kappa", "cohen_kappa_low", "cohen_kappa_high"]
    assert twice[names].tolist() == pytest.approx(once[names].tolist())


def test_cases_that_are_copies_of_each_other_add_nothing_where_they_are_one_cluster() -> None:
    choice, gold = tables(40)
    once = accuracy(verdicts_of({("j", "AB"): choice}), gold_of(gold), cases_of(40), resamples=0).iloc[0]
    copied = cases_of(120, cluster=list(range(40)) * 3)
    thrice = accuracy(verdicts_of({("j", "AB"): choice * 3}), gold_of(gold * 3), copied, resamples=0).iloc[0]
    names = ["cohen_kappa", "cohen_kappa_low", "cohen_kappa_high"]
    assert thrice[names].tolist() == pytest.approx(once[names].tolist())


def test_subfields_have_their_own() -> None:
    choice, gold = tables(80)
    cases = cases_of(80, organ=["eye"] * 50 + ["lung"] * 30)
    rows = accuracy(verdicts_of({("j", "AB"): choice}), gold_of(gold), cases, by="organ", resamples=0)
    alone = accuracy(verdicts_of({("j", "AB"): choice[:50]}), gold_of(gold[:50]), cases_of(50), resamples=0)
    eye = rows[rows["subfield"] == "eye"].iloc[0]
    for name in ("cohen_kappa", "cohen_kappa_low", "cohen_kappa_high"):
        assert eye[name] == pytest.approx(alone.iloc[0][name])


def test_influences_sum_to_zero_and_are_the_derivative() -> None:
    counts = np.array([[20.0, 4, 3], [5, 11, 2], [1, 2, 9]])
    found = influence(counts)
    assert (counts * found).sum() == pytest.approx(0, abs=1e-9)
    for a, b in np.ndindex(3, 3):
        more = counts.copy()
        more[a, b] += 1e-6
        change = (cohens_kappa(more).kappa - cohens_kappa(counts).kappa) / 1e-6 * counts.sum()
        assert found[a, b] == pytest.approx(change, abs=1e-5)


@pytest.mark.parametrize(("choice", "words"), [("AABB", "clusters do not differ"), ("AAAA", "undefined")])
def test_no_interval_says_why(choice: str, words: str) -> None:
    gold = "AABB" if choice == "AABB" else "AAAA"
    row = accuracy(verdicts_of({("j", "AB"): choice}), gold_of(gold), cases_of(4), resamples=50).iloc[0]
    assert np.isnan(row["cohen_kappa_low"])
    assert words in row["reason"]
