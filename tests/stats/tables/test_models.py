"""The regression table: what its rows mean, what is left out, and that nothing infinite is reported as a number."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.api import Logit

from mrb_lib.stats.methods.marginal import SAME_EVERYWHERE, SEPARATED
from mrb_lib.stats.methods.response_traits import length_difference, standardised
from mrb_lib.stats.tables.models import CROSSED, FEW_CLUSTERS, UNSEEN
from tests.stats.small_tables import cases_of, gold_of, table_of, verdicts_of

N = 90


LETTER = {"A": "A", "B": "B", "tie": "T", None: "?"}


def verdicts(choices: dict[str, np.ndarray]) -> pd.DataFrame:
    """Choices of each judge, shape (2 orders, cases)."""
    return verdicts_of(
        {
            (judge, order): "".join(LETTER[each] for each in row)
            for judge, both in choices.items()
            for order, row in zip(("AB", "BA"), both, strict=True)
        }
    )


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


models = table_of("models")


def width(row: pd.Series) -> float:
    return float(row["high"] - row["low"])


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
        covariates = [*kind, np.full(N, ba), -(ba - 0.5) * sign, sign * standardised(length_difference(cases))]
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
    for term in ("judge", "subfield"):
        rows = only(frame, term=term)
        assert rows["estimate"].sum() == pytest.approx(0, abs=1e-9)
        assert rows["marginal_effect"].sum() == pytest.approx(0, abs=1e-9)
        assert (rows["low"] < rows["estimate"]).all()
        assert (rows["estimate"] < rows["high"]).all()


def test_a_subfield_that_only_such_judges_judged_has_a_row_with_the_reason(world) -> None:
    choices, gold, cases = world
    right = np.vstack([gold["choice"], gold["choice"]])
    made = verdicts({**choices, "right": right, "wrong": np.where(right == "A", "B", "A")})
    foot = cases.assign(organ=np.where(np.arange(N) < 9, "foot", cases["organ"]))
    alone = made["judge"].isin(["right", "wrong"]) | ~made["case_id"].isin(cases["case_id"][:9])
    row = only(models(made[alone], gold, foot, by="organ"), part="all judges", term="subfield", level="foot")
    assert (row["n"].tolist(), row["reason"].tolist()) == ([0], [UNSEEN])


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
    assert only(found, part="all judges", term="order")["n"].tolist() == [4 * (N - 2)]


def test_without_subfields_lengths_or_a_second_order(world) -> None:
    choices, gold, cases = world
    bare = cases[["case_id"]]
    one_order = verdicts(choices).query("order == 'AB'")
    frame = only(models(one_order, gold, bare), part="all judges")
    assert set(frame["term"]) == {"judge", "order", "gold_first"}
    assert only(frame, term="order")["estimate"].isna().all()
    assert only(frame, term="order")["reason"].str.startswith("not identified").all()
    assert only(frame, term="gold_first")["estimate"].notna().all()


def test_two_judges_that_are_the_same_break_nothing(world) -> None:
    """A jury and its only member, or two copies of a run."""
    choices, gold, cases = world
    frame = models(verdicts({**choices, "copy": choices["good"]}), gold, cases, by="organ")
    tests = only(frame, part="interaction")
    assert tests["p_value"].between(0, 1).all()
    one = only(frame, part="all judges", term="judge").set_index("level")
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
    rows = only(frame, term="subfield").set_index("level")
    assert rows.loc["eye", "reason"].endswith(FEW_CLUSTERS)
    assert rows.loc["heart", "estimate"] == pytest.approx(-rows.loc["lung", "estimate"], abs=1e-9)
    assert width(rows.loc["lung"]) > 0
    fewer = cases.assign(cluster=np.where(cases["organ"] == "lung", cases["case_id"], cases["organ"]))
    frame = only(models(verdicts(choices), gold, fewer, by="organ"), part="all judges")
    alone = only(frame, term="subfield").set_index("level")
    assert alone[["low", "p_value"]].isna().all(axis=None)


def steady(judges: dict[str, np.ndarray], orders: tuple[str, ...] = ("AB", "BA")) -> pd.DataFrame:
    """The table of judges that are right or wrong about a case in either order; gold is A in every other case."""
    n = len(next(iter(judges.values())))
    label, wrong = (np.where(np.arange(n) % 2 == k, "A", "B") for k in (0, 1))
    cases = cases_of(n, response_a=["x" * 9] * n, response_b=["x" * 3] * n)
    shown = {
        (name, order): "".join(np.where(right, label, wrong)) for name, right in judges.items() for order in orders
    }
    return models(verdicts_of(shown), gold_of("".join(label)), cases)


def test_judges_that_never_contradict_themselves_have_no_interval_of_the_order() -> None:
    generator = np.random.default_rng(0)
    rows = steady({name: generator.random(120) < 0.7 for name in "abc"})
    order = rows[(rows["term"] == "order") & rows["estimate"].notna()]
    assert len(order)
    assert order[["low", "high", "marginal_effect_low", "marginal_effect_high", "p_value"]].isna().all(axis=None)
    assert order["reason"].str.contains("clusters do not differ in it").all()


def test_two_columns_of_clusters_that_cross_widen_the_intervals() -> None:
    """Images and questions that both repeat: the error is no smaller than that by either, and there are no flips."""
    rng, n = np.random.default_rng(3), 240
    cases = cases_of(n, item=[f"i{i % 40}" for i in range(n)])
    cases["question"] = [f"q{i // 20}" for i in range(n)]
    label = rng.choice(list("AB"), n)
    hard = rng.normal(size=40)[np.arange(n) % 40] + rng.normal(size=12)[np.arange(n) // 20]
    wrong, chance = np.where(label == "A", "B", "A"), 1 / (1 + np.exp(-hard))
    shown = {
        (judge, order): "".join(np.where(rng.random(n) < chance, label, wrong))
        for judge in "ab"
        for order in ("AB", "BA")
    }
    both, *one = (
        models(verdicts_of(shown), gold_of("".join(label)), cases, cluster=cluster)
        for cluster in (None, "item", "question", "case_id")
    )
    rows = [only(frame, part="all judges", term="gold_first").iloc[0] for frame in (both, *one)]
    assert all(width(rows[0]) >= width(row) - 1e-9 for row in rows[1:])
    assert {row["estimate"] for row in rows} == {rows[0]["estimate"]}
    tests = only(both, part="interaction")
    assert tests["p_value"].isna().all()
    assert tests["reason"].str.startswith(CROSSED).all()
    assert only(one[0], part="interaction")["p_value"].notna().any()


def test_a_term_that_is_the_same_for_every_verdict_has_no_test_of_differences(world) -> None:
    """With one order shown, rounding errors had a p value of .88 on PandaLM."""
    choices, gold, cases = world
    one_order = verdicts(choices).query("order == 'AB'")
    tests = only(models(one_order, gold, cases, by="organ"), part="interaction").set_index("term")
    assert pd.isna(tests.loc["judge:order", "p_value"])
    assert tests.loc["judge:order", "reason"] == SAME_EVERYWHERE
    assert tests.loc["judge:gold_first", "p_value"] <= 1
