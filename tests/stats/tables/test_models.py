"""The regression table: what its rows mean, what is left out, and that nothing infinite is reported as a number."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from statsmodels.api import Logit

from mrb_lib.stats.methods.marginal import SAME_EVERYWHERE, SEPARATED
from mrb_lib.stats.methods.response_traits import length_difference, standardised
from mrb_lib.stats.tables.models import CROSSED, FEW_CLUSTERS, UNSEEN
from mrb_lib.tables.schema import ORDERS
from tests.stats.small_tables import cases_of, gold_of, judged, rows_of, table_of, verdicts_of

N = 90
RNG = np.random.default_rng(2)
LABEL = np.where(RNG.random(N) < 0.5, "A", "B")
OTHER = np.where(LABEL == "A", "B", "A")
CASES = cases_of(N, organ=np.array(["eye", "lung", "heart"])[np.arange(N) % 3]).assign(
    response_a=["x" * k for k in RNG.integers(10, 90, N)], response_b=["x" * k for k in RNG.integers(10, 90, N)]
)
JUDGES = {name: np.where(RNG.random((2, N)) < skill, LABEL, OTHER) for name, skill in (("fair", 0.65), ("good", 0.8))}
"""The choices of each judge, shape (2 orders, cases)."""
FIRST = np.array([["A"] * N, ["B"] * N])


def shown(judges: Mapping[str, np.ndarray], orders: tuple[str, ...] = ORDERS) -> pd.DataFrame:
    by_order = {name: dict(zip(ORDERS, rows, strict=True)) for name, rows in judges.items()}
    return verdicts_of({(name, order): "".join(by_order[name][order]) for name in judges for order in orders})


def models(
    judges: Mapping[str, np.ndarray] | pd.DataFrame = JUDGES, cases: pd.DataFrame = CASES, gold: str = "".join(LABEL),
    **options: object,
) -> pd.DataFrame:  # fmt: skip
    verdicts = judges if isinstance(judges, pd.DataFrame) else shown(judges)
    return rows_of("models", cases, verdicts, gold_of(gold), **{"by": "organ", **options})


def width(row: pd.Series) -> float:
    return float(row["high"] - row["low"])


def only(frame: pd.DataFrame, **values: str) -> pd.DataFrame:
    for name, value in values.items():
        frame = frame[frame[name] == value]
    return frame


def test_one_judge_is_the_logistic_regression_of_its_verdicts() -> None:
    frame = only(models(), part="one judge", judge="fair").set_index("term")
    sign = np.where(LABEL == "A", 1.0, -1.0)
    kind = [(CASES["organ"] == name).astype(float) for name in ("eye", "heart", "lung")]
    longer = sign * standardised(length_difference(CASES))
    x = [np.column_stack([*kind, np.full(N, ba), -(ba - 0.5) * sign, longer]) for ba in (0.0, 1.0)]
    other = Logit((JUDGES["fair"] == LABEL).ravel().astype(float), np.vstack(x)).fit(disp=0, tol=1e-12)
    b = other.params
    assert frame.loc[["order", "gold_first", "length_difference"], "estimate"].tolist() == pytest.approx(
        b[3:], abs=1e-6
    )
    by_organ = frame.loc["subfield"].set_index("level")["estimate"]
    np.testing.assert_allclose(by_organ[["eye", "heart", "lung"]], b[:3] - b[:3].mean(), atol=1e-6)
    margin = other.get_margeff().margeff[5]
    assert frame.loc["length_difference", "marginal_effect"] == pytest.approx(margin, abs=1e-6)


def test_a_subfield_that_only_such_judges_judged_has_a_row_with_the_reason() -> None:
    made = shown({**JUDGES, "right": np.stack([LABEL, LABEL]), "wrong": np.stack([OTHER, OTHER])})
    foot = CASES.assign(organ=np.where(np.arange(N) < 9, "foot", CASES["organ"]))
    alone = made["judge"].isin(["right", "wrong"]) | ~made["case_id"].isin(CASES["case_id"][:9])
    row = only(models(made[alone], foot), part="all judges", term="subfield", level="foot")
    assert (row["n"].tolist(), row["reason"].tolist()) == ([0], [UNSEEN])


def test_a_judge_that_always_takes_the_first_is_separated_by_itself_and_not_together() -> None:
    frame = models({**JUDGES, "first": FIRST})
    alone = only(frame, part="one judge", judge="first")
    assert alone["estimate"].isna().all()
    assert set(alone["reason"]) == {SEPARATED}
    assert (only(frame, part="all judges", term="gold_first")["estimate"] > 0.5).all()


def test_ties_and_nulls_are_wrong_and_a_gold_tie_and_a_case_without_gold_are_excluded_and_counted() -> None:
    plain = models()
    for wrong in "T?":
        made = models({name: np.where(rows == LABEL, rows, wrong) for name, rows in JUDGES.items()})
        np.testing.assert_allclose(made["estimate"], plain["estimate"])
    found = models(gold="T?" + "".join(LABEL[2:]))
    assert (found["n_excluded"] == 2).all()
    assert only(found, part="all judges", term="order")["n"].tolist() == [4 * (N - 2)]


def test_without_subfields_lengths_or_a_second_order() -> None:
    frame = only(models(shown(JUDGES, ("AB",)), CASES[["case_id"]], by=None), part="all judges").set_index("term")
    assert set(frame.index) == {"judge", "order", "gold_first"}
    assert np.isnan(frame.loc["order", "estimate"])
    assert frame.loc["order", "reason"].startswith("not identified")
    assert np.isfinite(frame.loc["gold_first", "estimate"])


def test_two_judges_that_are_the_same_break_nothing() -> None:
    """A jury and its only member, or two copies of a run."""
    frame = models({**JUDGES, "copy": JUDGES["good"]})
    assert only(frame, part="interaction")["p_value"].between(0, 1).all()
    one = only(frame, part="all judges", term="judge").set_index("level")["estimate"]
    assert one["copy"] == pytest.approx(one["good"], abs=1e-8)


def test_a_judge_that_always_fails_in_one_subfield_is_the_strongest_interaction() -> None:
    blind = np.where(CASES["organ"] == "eye", OTHER, JUDGES["good"])
    row = only(models({**JUDGES, "blind": blind}), part="interaction", term="judge:subfield").iloc[0]
    assert row["p_value"] < 1e-4
    assert (row["n"], row["df"]) == (6 * N, 4)
    assert pd.isna(row["reason"])


def test_what_tells_nothing_of_an_interaction_is_counted() -> None:
    """A judge that always takes the first shown fits its own position and leaves nothing to compare elsewhere."""
    tests = only(models({**JUDGES, "first": FIRST}), part="interaction").set_index("term")
    assert tests.loc["judge:subfield", "reason"].startswith(f"{2 * N} verdicts are uninformative")
    assert tests.loc[["judge:subfield", "judge:gold_first"], "n"].tolist() == [4 * N, 6 * N]
    assert tests.loc["judge:gold_first", "p_value"] < 1e-6


def test_levels_with_few_clusters_are_no_reference_for_the_others() -> None:
    """A subfield of one cluster has no variance that can be seen: no interval may rest on it."""
    organ, own = CASES["organ"], CASES["case_id"]
    one, two = (
        only(models(cases=CASES.assign(cluster=cluster)), part="all judges", term="subfield").set_index("level")
        for cluster in (np.where(organ == "eye", "one source", own), np.where(organ == "lung", own, organ))
    )
    assert one.loc["eye", "reason"].endswith(FEW_CLUSTERS)
    assert one.loc["heart", "estimate"] == pytest.approx(-one.loc["lung", "estimate"], abs=1e-9)
    assert width(one.loc["lung"]) > 0
    assert two[["low", "p_value"]].isna().all(axis=None)


def test_judges_that_never_contradict_themselves_have_no_interval_of_the_order() -> None:
    rng, n = np.random.default_rng(0), 120
    right = {name: rng.random(n) < 0.7 for name in "abc"}
    tables = judged({name: np.stack([own, own]) for name, own in right.items()}, "AB" * (n // 2))
    order = only(table_of("models")(*tables), term="order").dropna(subset="estimate")
    assert len(order)
    assert order[["low", "high", "marginal_effect_low", "marginal_effect_high", "p_value"]].isna().all(axis=None)
    assert order["reason"].str.contains("clusters do not differ in it").all()


def test_two_columns_of_clusters_that_cross_widen_the_intervals() -> None:
    """Images and questions that both repeat: the error is no smaller than that by either, and there are no flips."""
    rng, case = np.random.default_rng(3), np.arange(240)
    hard = rng.normal(size=40)[case % 40] + rng.normal(size=12)[case // 20]
    right = {judge: rng.random((2, 240)) < 1 / (1 + np.exp(-hard)) for judge in "ab"}
    verdicts, gold, cases = judged(right, "ABBA" * 60, item=[f"i{i % 40}" for i in case])
    cases["question"] = [f"q{i // 20}" for i in case]
    both, *one = (
        rows_of("models", cases, verdicts, gold, cluster=name) for name in (None, "item", "question", "case_id")
    )
    rows = [only(frame, part="all judges", term="gold_first").iloc[0] for frame in (both, *one)]
    assert all(width(rows[0]) >= width(row) - 1e-9 for row in rows[1:])
    assert {row["estimate"] for row in rows} == {rows[0]["estimate"]}
    tests = only(both, part="interaction")
    assert tests["p_value"].isna().all()
    assert tests["reason"].str.startswith(CROSSED).all()
    assert only(one[0], part="interaction")["p_value"].notna().any()


def test_a_term_that_is_the_same_for_every_verdict_has_no_test_of_differences() -> None:
    """With one order shown, rounding errors had a p value of .88 on PandaLM."""
    tests = only(models(shown(JUDGES, ("AB",))), part="interaction").set_index("term")
    assert pd.isna(tests.loc["judge:order", "p_value"])
    assert tests.loc["judge:order", "reason"] == SAME_EVERYWHERE
    assert tests.loc["judge:gold_first", "p_value"] <= 1
