"""The regression table: what its rows mean, what is left out, and that nothing infinite is reported as a number."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.api import Logit
from statsmodels.stats.multitest import multipletests

from mrb_lib.stats.models import mixed
from mrb_lib.stats.models.effects import logistic, logistic_normal
from mrb_lib.stats.models.model_rows import ALWAYS_RIGHT, FEW_CLUSTERS, NOT_CONVERGED, SEPARATED
from mrb_lib.stats.models.observations import Design, Observations, log_length_ratio
from mrb_lib.stats.models.table import NO_VERDICTS, models
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import cases_of, gold_of, verdicts_of

N = 90


def verdicts(choices: dict[str, np.ndarray]) -> pd.DataFrame:
    """Choices of each judge, shape (2 orders, cases)."""
    parts = [
        pd.DataFrame(
            {
                "judge": judge,
                "case_id": [f"c{i}" for i in range(N)],
                "dimension": "overall",
                "order": order,
                "choice": row,
            }
        )
        for judge, both in choices.items()
        for order, row in zip(("AB", "BA"), both, strict=True)
    ]
    return pd.concat(parts, ignore_index=True).assign(repeat=0, probe="none")


@pytest.fixture
def world():
    rng = np.random.default_rng(2)
    label = np.where(rng.random(N) < 0.5, "A", "B")
    cases = pd.DataFrame(
        {
            "case_id": [f"c{i}" for i in range(N)],
            "organ": np.array(["eye", "lung", "heart"])[np.arange(N) % 3],
            "response_a": ["x" * k for k in rng.integers(10, 90, N)],
            "response_b": ["x" * k for k in rng.integers(10, 90, N)],
        }
    )
    gold = pd.DataFrame({"case_id": cases["case_id"], "dimension": "overall", "choice": label})
    other = np.where(label == "A", "B", "A")
    choices = {
        name: np.where(rng.random((2, N)) < skill, label, other) for name, skill in (("fair", 0.65), ("good", 0.8))
    }
    return choices, gold, cases


def only(frame: pd.DataFrame, **values: str) -> pd.DataFrame:
    for name, value in values.items():
        frame = frame[frame[name] == value]
    return frame


def test_one_judge_is_the_logistic_regression_of_its_verdicts(world) -> None:
    choices, gold, cases = world
    frame = only(models(verdicts(choices), gold, cases, by="organ"), part="one judge", judge="fair").set_index("term")
    sign = np.where(gold["choice"] == "A", 1.0, -1.0)
    rows = []
    for ba, chosen in zip((0.0, 1.0), choices["fair"], strict=True):
        kind = [(cases["organ"] == name).astype(float) for name in ("eye", "heart", "lung")]
        covariates = [*kind, np.full(N, ba), -(ba - 0.5) * sign, sign * log_length_ratio(cases)]
        rows.append((np.column_stack(covariates), chosen == gold["choice"].to_numpy()))
    other = Logit(np.concatenate([y for _, y in rows]).astype(float), np.vstack([x for x, _ in rows])).fit(
        disp=0, tol=1e-12
    )
    b = other.params.to_numpy() if hasattr(other.params, "to_numpy") else other.params
    assert frame.loc["order", "estimate"] == pytest.approx(b[3], abs=1e-6)
    assert frame.loc["gold_first", "estimate"] == pytest.approx(b[4], abs=1e-6)
    assert frame.loc["length_difference", "estimate"] == pytest.approx(b[5], abs=1e-6)
    by_organ = frame.loc["subfield"].set_index("level")["estimate"]
    np.testing.assert_allclose(by_organ[["eye", "heart", "lung"]], b[:3] - b[:3].mean(), atol=1e-6)
    margins = other.get_margeff().margeff
    assert frame.loc["length_difference", "marginal_effect"] == pytest.approx(margins[5], abs=1e-6)


def test_levels_are_compared_with_their_mean(world) -> None:
    choices, gold, cases = world
    frame = only(models(verdicts(choices), gold, cases, by="organ"), part="all judges")
    for model in ("gee", "mixed"):
        for term in ("judge", "subfield"):
            rows = only(frame, model=model, term=term)
            assert rows["estimate"].sum() == pytest.approx(0, abs=1e-9)
            assert rows["marginal_effect"].sum() == pytest.approx(0, abs=1e-9)
            assert (rows["low"] < rows["estimate"]).all()
            assert (rows["estimate"] < rows["high"]).all()


def test_swapping_the_responses_changes_nothing_but_the_sign_of_order(world) -> None:
    choices, gold, cases = world
    swap = {"A": "B", "B": "A"}
    turned = {name: np.vectorize(swap.get)(rows)[::-1] for name, rows in choices.items()}
    first = models(verdicts(choices), gold, cases, by="organ").set_index(["part", "model", "judge", "term", "level"])
    second = models(
        verdicts(turned),
        gold.assign(choice=gold["choice"].map(swap)),
        cases.rename(columns={"response_a": "response_b", "response_b": "response_a"}),
        by="organ",
    ).set_index(["part", "model", "judge", "term", "level"])
    sign = np.where(first.index.get_level_values("term") == "order", -1.0, 1.0)
    np.testing.assert_allclose(second["estimate"], sign * first["estimate"], atol=1e-5)
    np.testing.assert_allclose(second["p_value"], first["p_value"], atol=1e-5)


def test_a_judge_that_is_always_right_has_no_number(world) -> None:
    choices, gold, cases = world
    perfect = np.vstack([gold["choice"], gold["choice"]])
    frame = models(verdicts({**choices, "perfect": perfect}), gold, cases, by="organ")
    row = only(frame, part="all judges", term="judge", level="perfect")
    assert row["estimate"].isna().all()
    assert row["reason"].tolist() == [ALWAYS_RIGHT] * 2
    assert only(frame, part="all judges", term="judge", level="good")["estimate"].notna().all()
    assert only(frame, part="one judge", judge="perfect")["estimate"].isna().all()


def test_a_judge_that_always_takes_the_first_is_separated_by_itself_and_not_together(world) -> None:
    choices, gold, cases = world
    first = np.array([["A"] * N, ["B"] * N])
    frame = models(verdicts({**choices, "first": first}), gold, cases, by="organ")
    alone = only(frame, part="one judge", judge="first")
    assert alone["estimate"].isna().all()
    assert set(alone["reason"]) == {SEPARATED}
    together = only(frame, part="all judges", term="gold_first")
    assert (together["estimate"] > 0.5).all()


def test_ties_nulls_and_gold_ties(world) -> None:
    """A tie and a null are wrong; a gold tie and a case without gold are excluded and counted."""
    choices, gold, cases = world
    wrong = {name: np.where(rows == gold["choice"].to_numpy(), rows, "tie") for name, rows in choices.items()}
    null = {name: np.where(rows == gold["choice"].to_numpy(), rows, None) for name, rows in choices.items()}
    plain, ties, nulls = (models(verdicts(made), gold, cases, by="organ") for made in (choices, wrong, null))
    np.testing.assert_allclose(ties["estimate"], plain["estimate"])
    np.testing.assert_allclose(nulls["estimate"], plain["estimate"])
    changed = gold.copy()
    changed.loc[0, "choice"] = "tie"
    changed.loc[1, "choice"] = None
    found = models(verdicts(choices), changed, cases, by="organ")
    assert (found["n_excluded"] == 2).all()
    assert (found["n_gold_tie"] == 1).all()
    assert only(found, part="all judges", model="gee", term="order")["n"].tolist() == [4 * (N - 2)]


def test_without_subfields_lengths_or_a_second_order(world) -> None:
    choices, gold, cases = world
    bare = cases[["case_id"]]
    one_order = verdicts(choices).query("order == 'AB'")
    frame = only(models(one_order, gold, bare), part="all judges")
    assert set(frame["term"]) == {
        "intercept",
        "judge",
        "order",
        "gold_first",
        "working_correlation",
        "case_sd",
        "judge_case_sd",
    }
    assert only(frame, term="order")["estimate"].isna().all()
    assert only(frame, term="order")["reason"].str.startswith("not identified").all()
    assert only(frame, term="gold_first")["estimate"].notna().all()


def test_without_gold_there_is_a_reason(world) -> None:
    choices, gold, cases = world
    frame = models(verdicts(choices), gold.iloc[:0], cases)
    assert frame["reason"].tolist() == [NO_VERDICTS] * 2
    assert (frame["n_excluded"] == N).all()


def test_a_level_with_few_cases_has_an_estimate_and_no_interval(world) -> None:
    choices, gold, cases = world
    rare = cases.assign(organ=np.where(np.arange(N) < 4, "rare", cases["organ"]))
    row = only(models(verdicts(choices), gold, rare, by="organ"), part="all judges", term="subfield", level="rare")
    assert row["n_clusters"].tolist() == [4, 4]
    assert row["estimate"].notna().all()
    assert row[["se", "low", "p_value", "marginal_effect_low"]].isna().all(axis=None)
    assert row["reason"].tolist() == [FEW_CLUSTERS] * 2


def test_repeating_every_case_in_one_cluster_adds_no_certainty(world) -> None:
    choices, gold, cases = world
    one = only(models(verdicts(choices), gold, cases), part="all judges", model="gee", term="gold_first")
    ids = [f"again{i}" for i in range(N)]
    again = verdicts(choices).assign(case_id=lambda f: "again" + f["case_id"].str[1:])
    two = models(
        pd.concat([verdicts(choices), again]),
        pd.concat([gold, gold.assign(case_id=ids)]),
        pd.concat([cases, cases.assign(case_id=ids)]).assign(cluster=[*range(N), *range(N)]),
    )
    row = only(two, part="all judges", model="gee", term="gold_first")
    assert row["estimate"].item() == pytest.approx(one["estimate"].item(), abs=0.01)
    assert row["se"].item() == pytest.approx(one["se"].item(), rel=0.03)
    assert row["n_clusters"].item() == N


def test_an_unknown_column_is_refused(world) -> None:
    choices, gold, cases = world
    with pytest.raises(InputError, match="no such column"):
        models(verdicts(choices), gold, cases, by="nothing")


@pytest.mark.parametrize("sigma", [0.0, 0.7, 2.5, 6.0, 20.0])
def test_the_tabulated_probability_is_the_integral(sigma: float) -> None:
    """Against a trapezoid sum on 20,001 points, on the table and between its points."""
    eta = np.append(np.linspace(-6, 6, 41), np.random.default_rng(8).uniform(-6, 6, 200))
    z = np.linspace(-10, 10, 20001)
    weight = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    for derivative in (0, 1):
        exact = logistic(eta[:, None] + sigma * z, derivative)
        found = logistic_normal(sigma)(eta, derivative)
        np.testing.assert_allclose(found.value, exact.value @ weight, atol=2e-7)
        np.testing.assert_allclose(found.slope, exact.slope @ weight, atol=2e-7)
        np.testing.assert_allclose(found.by_sigma, exact.slope @ (weight * z), atol=2e-7)


def test_two_judges_that_are_the_same_break_nothing(world) -> None:
    """A jury and its only member, or two copies of a run."""
    choices, gold, cases = world
    frame = models(verdicts({**choices, "copy": choices["good"]}), gold, cases, by="organ")
    tests = only(frame, part="interaction")
    assert tests["p_value"].between(0, 1).all()
    one = only(frame, part="all judges", model="gee", term="judge").set_index("level")
    assert one.loc["copy", "estimate"] == pytest.approx(one.loc["good", "estimate"], abs=1e-8)


def test_a_judge_that_always_fails_in_one_subfield_is_the_strongest_interaction(world) -> None:
    choices, gold, cases = world
    wrong = np.where(gold["choice"] == "A", "B", "A")
    blind = np.where(cases["organ"] == "eye", wrong, choices["good"])
    frame = models(verdicts({**choices, "blind": blind}), gold, cases, by="organ")
    row = only(frame, part="interaction", term="judge:subfield").iloc[0]
    assert row["p_value"] < 1e-4
    assert row["n"] == 6 * N
    assert row["df"] == 4
    assert pd.isna(row["reason"])


def test_what_tells_nothing_of_an_interaction_is_counted(world) -> None:
    """A judge that always takes the first shown fits its own position and leaves nothing to compare elsewhere."""
    choices, gold, cases = world
    first = np.array([["A"] * N, ["B"] * N])
    frame = models(verdicts({**choices, "first": first}), gold, cases, by="organ")
    tests = only(frame, part="interaction").set_index("term")
    assert tests.loc["judge:subfield", "reason"].startswith(f"{2 * N} verdicts are uninformative")
    assert tests.loc["judge:subfield", "n"] == 4 * N
    assert tests.loc["judge:gold_first", "n"] == 6 * N
    assert tests.loc["judge:gold_first", "p_value"] < 1e-6


def test_levels_with_few_clusters_are_no_reference_for_the_others(world) -> None:
    """A subfield of one cluster has no variance that can be seen: no interval may rest on it."""
    choices, gold, cases = world
    sources = np.where(cases["organ"] == "eye", "one source", cases["case_id"])
    frame = only(models(verdicts(choices), gold, cases.assign(cluster=sources), by="organ"), part="all judges")
    rows = only(frame, model="gee", term="subfield").set_index("level")
    assert rows.loc["eye", "reason"] == FEW_CLUSTERS
    assert rows.loc["heart", "estimate"] == pytest.approx(-rows.loc["lung", "estimate"], abs=1e-9)
    assert rows.loc["lung", "se"] > 0
    fewer = cases.assign(cluster=np.where(cases["organ"] == "lung", cases["case_id"], cases["organ"]))
    frame = only(models(verdicts(choices), gold, fewer, by="organ"), part="all judges")
    alone = only(frame, model="gee", term="subfield").set_index("level")
    assert alone[["se", "low", "p_value"]].isna().all(axis=None)


def test_a_fit_that_does_not_converge_says_that_and_nothing_else(world, monkeypatch: pytest.MonkeyPatch) -> None:
    choices, gold, cases = world
    monkeypatch.setattr("mrb_lib.stats.models.mixed._STEPS", 1)
    frame = only(models(verdicts(choices), gold, cases, by="organ"), part="all judges", model="mixed")
    assert frame["estimate"].isna().all()
    assert frame["reason"].tolist() == [NOT_CONVERGED] * len(frame)


def test_judges_that_nearly_always_agree_have_a_mixed_model() -> None:
    """Four judges with 3% of errors of their own: the random intercept is wide, and nothing is separated."""
    rng = np.random.default_rng(1)
    together = rng.random((1, 1, 300)) < 0.7
    right = np.where(rng.random((4, 2, 300)) < 0.03, ~together, together).reshape(1, 8, 300).astype(float)
    design = Design(np.repeat(np.eye(4), 2, axis=0), np.ones((300, 4)))
    data = Observations(right, np.ones_like(right), np.arange(300))
    found, fine = mixed.fit(design, data), mixed.fit(design, data, nodes=201)
    assert found.converged
    assert found.case_sd > 5
    assert found.log_likelihood >= fine.log_likelihood - 0.2


def test_what_is_fitted_is_logged_and_nothing_is_printed(
    world, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    choices, gold, cases = world
    with caplog.at_level("INFO", logger="mrb_lib.stats"):
        models(verdicts(choices), gold, cases, by="organ")
    assert [record.getMessage() for record in caplog.records] == ["models: overall by organ, 2 judges"]
    assert capsys.readouterr() == ("", "")


def test_p_values_are_adjusted_among_the_tests_of_a_model(world) -> None:
    """Issue 12, point 14: the table had the p values of dozens of tests as if each were the only one."""
    choices, gold, cases = world
    frame = models(verdicts(choices), gold, cases, by="organ")
    for _, rows in frame.groupby(["part", "model"]):
        tested = rows[rows["p_value"].notna()]
        assert (rows["family"] == len(tested)).all()
        expected = multipletests(tested["p_value"].astype(float), method="holm")[1]
        np.testing.assert_allclose(tested["p_adjusted"].astype(float), expected, atol=1e-12)
        assert rows.loc[rows["p_value"].isna(), "p_adjusted"].isna().all()
    assert frame["correction"].eq("holm").all() and frame["family_scope"].eq("dimension").all()
    plain = models(verdicts(choices), gold, cases, by="organ", correction="none")
    pd.testing.assert_series_equal(plain["p_adjusted"], plain["p_value"], check_names=False)
    with pytest.raises(InputError, match="correction"):
        models(verdicts(choices), gold, cases, correction="best")


def steady(judges: dict[str, np.ndarray], orders: tuple[str, ...] = ("AB", "BA")) -> pd.DataFrame:
    """The table of judges that are right or wrong about a case in either order; gold is A in every other case."""
    n = len(next(iter(judges.values())))
    label, wrong = (np.where(np.arange(n) % 2 == k, "A", "B") for k in (0, 1))
    cases = cases_of(n, response_a=["x" * 9] * n, response_b=["x" * 3] * n)
    shown = {
        (name, order): "".join(np.where(right, label, wrong)) for name, right in judges.items() for order in orders
    }
    return models(verdicts_of(shown), gold_of("".join(label)), cases)


@pytest.mark.parametrize("seed", range(3))
def test_separated_data_have_reasons_and_no_estimates(seed: int) -> None:
    """Always right where gold is A, which is the longer response: numpy's solver said that a matrix is singular."""
    generator = np.random.default_rng(seed)
    rows = steady({name: (np.arange(100) % 2 == 0) | (generator.random(100) < 0.8) for name in "ab"})
    within = only(rows, part="all judges", model="mixed")
    assert within["estimate"].isna().all()
    assert within["reason"].str.contains("no finite estimate|nothing to compare|not identified").all()


def test_judges_that_never_contradict_themselves_have_no_interval_of_the_order() -> None:
    generator = np.random.default_rng(0)
    rows = steady({name: generator.random(120) < 0.7 for name in "abc"})
    order = rows[(rows["term"] == "order") & rows["estimate"].notna()]
    assert len(order)
    assert order[["se", "low", "high", "marginal_effect_low", "marginal_effect_high", "p_value"]].isna().all(axis=None)
    assert order["reason"].str.contains("clusters do not differ in it").all()


def test_one_verdict_a_case_says_nothing_of_how_verdicts_on_a_case_depend() -> None:
    generator = np.random.default_rng(0)
    rows = only(steady({"a": generator.random(200) < 0.7}, orders=("AB",)), part="all judges")
    for term in ("working_correlation", "case_sd", "judge_case_sd"):
        row = only(rows, term=term).iloc[0]
        assert np.isnan(row["estimate"])
        assert "too few cases have several verdicts" in row["reason"]
    assert only(rows, model="mixed")["estimate"].isna().all()
    assert np.isfinite(only(rows, model="gee", term="intercept")["estimate"]).all()


@pytest.mark.parametrize(
    ("judges", "orders", "reason"),
    [
        ("a", ("AB", "BA"), "the verdicts on a case never differ"),
        ("ab", ("AB",), "no judge has two verdicts on a case"),
        ("abc", ("AB", "BA"), "contradict themselves too seldom"),
    ],
)
def test_why_a_judges_effect_on_a_case_is_not_in_the_model(judges: str, orders: tuple[str, ...], reason: str) -> None:
    generator = np.random.default_rng(1)
    right = {name: generator.random(150) < 0.7 for name in judges}
    row = only(steady(right, orders), part="all judges", model="mixed", term="judge_case_sd").iloc[0]
    assert np.isnan(row["estimate"])
    assert reason in row["reason"]


def test_one_judge_has_one_random_intercept(world) -> None:
    choices, gold, cases = world
    row = only(models(verdicts({"fair": choices["fair"]}), gold, cases), model="mixed", term="judge_case_sd").iloc[0]
    assert np.isnan(row["estimate"])
    assert "one judge's effect on a case is that of the case" in row["reason"]
