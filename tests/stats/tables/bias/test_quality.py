"""The pull beyond quality: equal to statsmodels, and null with its reason where annotators do not identify quality."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import t as student

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.methods.response_traits import length_difference, standardised
from mrb_lib.stats.multiplicity import adjust
from mrb_lib.stats.tables.bias import FEW, ONE_ANNOTATOR, UNANIMOUS, WEAK, votes_of
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ORDERS
from tests.stats.small_tables import annotations_of, bias, cases_of, gold_of, verdicts_of

N = 300
SHARE = {"A": 1.0, "B": 0.0, "T": 0.5}


def drawn(noise: Mapping[str, float], seed: int = 0) -> tuple[pd.DataFrame, ...]:
    """Verdicts, gold, cases and annotations, and the annotators' letters; some annotations and verdicts are missing."""
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.normal(4, 0.5, (2, N))).astype(int)
    models = np.array([rng.choice(["j", "other", "third"], 2, replace=False) for _ in range(N)])
    cases = cases_of(N).assign(
        response_a=["x" * k for k in sizes[0]], response_b=["y" * k for k in sizes[1]],
        model_a=models[:, 0], model_b=models[:, 1], cluster=rng.integers(0, 150, N),
    )  # fmt: skip
    quality = 0.4 * standardised(length_difference(cases)) + rng.normal(size=N)

    def letters(spread: float, absent: str) -> str:
        felt = quality + spread * rng.normal(size=N)
        choice = np.where(np.abs(felt) < 0.15, "T", np.where(felt > 0, "A", "B"))
        return "".join(np.where(rng.random(N) < 0.04, absent, choice))

    votes = {name: letters(spread, "-") for name, spread in noise.items()}
    verdicts = verdicts_of({("j", order): letters(0.8, "?") for order in ORDERS})
    return (
        verdicts,
        gold_of(votes[next(iter(votes))]),
        cases,
        annotations_of(votes),
        pd.DataFrame({name: [SHARE.get(letter, np.nan) for letter in of] for name, of in votes.items()}),
    )


def row_of(table: pd.DataFrame, name: str) -> pd.Series:
    rows = table[table["bias"] == name]
    assert len(rows) == 1
    return rows.iloc[0]


@pytest.mark.parametrize("name", ["length", "self_preference"])
@pytest.mark.parametrize("people", [2, 3, 4])
def test_estimate_and_interval_are_those_of_one_large_regression(name: str, people: int) -> None:
    """statsmodels 0.14 GLM, one block an annotator and outcome, covariance over clusters, and the delta method."""
    verdicts, gold, cases, annotations, votes = drawn({f"a{i}": 0.7 + 0.2 * i for i in range(people)})
    row = row_of(bias(verdicts, gold, cases, annotations=annotations, cluster="case_id"), name)
    y = verdicts["choice"].map({"A": 1.0, "B": 0.0, "tie": 0.5}).groupby(verdicts["case_id"]).mean()
    y = y.reindex(cases["case_id"]).to_numpy()
    own = (cases["model_a"] == "j").to_numpy(dtype=float) - (cases["model_b"] == "j")
    predictors = [np.ones(N), standardised(length_difference(cases)), *([own] if name == "self_preference" else [])]
    blocks, outcome, groups = [], [], []
    for annotator in votes:
        others = 2 * votes.drop(columns=annotator).mean(axis=1).to_numpy() - 1
        used = np.isfinite(others) & votes[annotator].notna().to_numpy() & np.isfinite(y)
        for values in (y, votes[annotator].to_numpy()):
            blocks.append(np.column_stack([others, *predictors])[used])
            outcome.append(values[used])
            groups.append(np.arange(N)[used])
    k = blocks[0].shape[1]
    x = np.zeros((sum(map(len, blocks)), k * len(blocks)))
    start = 0
    for i, block in enumerate(blocks):
        x[start : start + len(block), k * i : k * (i + 1)] = block
        start += len(block)
    cluster = np.concatenate(groups)
    fit = sm.GLM(np.concatenate(outcome), x, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": cluster, "use_correction": False}, tol=1e-12
    )
    estimate, gradient = 0.0, np.zeros(len(fit.params))
    for i in range(people):
        a, b, a_human, b_human = (2 * k * i + at for at in (0, k - 1, k, 2 * k - 1))
        p = fit.params
        estimate += (p[b] - p[a] * p[b_human] / p[a_human]) / people
        gradient[b] = 1 / people
        gradient[a] = -p[b_human] / p[a_human] / people
        gradient[b_human] = -p[a] / p[a_human] / people
        gradient[a_human] = p[a] * p[b_human] / p[a_human] ** 2 / people
    clusters = len(np.unique(cluster))
    error = np.sqrt(gradient @ fit.cov_params() @ gradient * clusters / (clusters - 1))
    assert row["estimate"] == pytest.approx(estimate, abs=1e-7)
    assert (row["high"] - row["low"]) / 2 == pytest.approx(student.ppf(0.975, clusters - 1) * error, abs=1e-7)
    assert row["p_value"] == pytest.approx(2 * student.sf(abs(estimate / error), clusters - 1), abs=1e-7)


def test_one_annotator_gives_an_association_and_no_test() -> None:
    verdicts, gold, cases, annotations, _ = drawn({"a": 0.8})
    for known in (annotations, None, annotations.assign(annotator="consensus")):
        table = bias(verdicts, gold, cases, annotations=known)
        row = row_of(table, "length")
        assert np.isnan(row["estimate"])
        assert ONE_ANNOTATOR in row["reason"]
        assert table["p_value"].isna().all()
        assert (table["family"] == 0).all()
        assert row["claim"] == "association"
        assert np.isfinite(row["association_low"])


def test_annotators_that_never_disagree_or_never_agree_do_not_identify_quality() -> None:
    verdicts, gold, cases, annotations, _ = drawn({"a": 0.8, "b": 0.8})
    same = pd.concat([annotations[annotations["annotator"] == "a"].assign(annotator=name) for name in "abc"])
    assert row_of(bias(verdicts, gold, cases, annotations=same), "length")["reason"].startswith(UNANIMOUS)
    rng = np.random.default_rng(1)
    coins = annotations.assign(choice=rng.choice(["A", "B"], len(annotations)))
    assert row_of(bias(verdicts, gold, cases, annotations=coins), "length")["reason"].startswith(WEAK)


def test_p_values_are_adjusted_over_the_whole_table() -> None:
    verdicts, gold, cases, annotations, _ = drawn({"a": 0.7, "b": 0.9, "c": 1.1})
    cases["organ"] = np.where(np.arange(N) % 2, "eye", "lung")
    table = bias(verdicts, gold, cases, annotations=annotations, by="organ")
    tested = table["p_value"].notna()
    assert set(table.loc[tested, "claim"]) == {"bias"}
    assert set(table.loc[tested, "subfield"].fillna("")) == {"", "eye", "lung"}
    for of_cases in (table["subfield"].isna(), table["subfield"].notna()):
        assert (table.loc[of_cases, "family"] == (tested & of_cases).sum()).all()
        expected = adjust(table.loc[of_cases, "p_value"].to_numpy(), "holm")
        np.testing.assert_allclose(table.loc[of_cases, "p_adjusted"], expected)


def test_few_clusters_leave_the_estimate_and_take_the_interval_and_the_test() -> None:
    verdicts, gold, cases, annotations, _ = drawn({"a": 0.7, "b": 0.9})
    thirteen = cases.assign(cluster=np.arange(N) % 13)
    many, few = (row_of(bias(verdicts, gold, each, annotations=annotations), "length") for each in (cases, thirteen))
    assert FEW in few["reason"]
    assert few["estimate"] == pytest.approx(many["estimate"])
    assert few["n"] == many["n"]
    assert few["claim"] == "bias"
    assert few[["low", "high", "p_value", "p_adjusted"]].isna().all()
    assert many[["low", "high", "p_value", "p_adjusted"]].notna().all()


def test_few_clusters_do_not_hide_that_annotators_agree_by_chance() -> None:
    verdicts, gold, cases, annotations, _ = drawn({"a": 0.8, "b": 0.8})
    coins = annotations.assign(choice=np.random.default_rng(1).choice(["A", "B"], len(annotations)))
    row = row_of(bias(verdicts, gold, cases.assign(cluster=np.arange(N) % 13), annotations=coins), "length")
    assert row["reason"].startswith(WEAK)
    assert np.isnan(row["estimate"])


def test_a_row_without_an_estimate_claims_nothing() -> None:
    verdicts, gold, cases, annotations, _ = drawn({"a": 0.7, "b": 0.9})
    few = cases.assign(response_a=cases["response_b"])
    for known in (annotations, None):
        table = bias(verdicts, gold, few, annotations=known)
        assert table["estimate"].isna().any()
        assert table["claim"].isna().equals(table[["estimate", "association"]].isna().all(axis=1))


def test_a_category_that_is_not_a_preference_is_refused() -> None:
    verdicts, gold, cases, annotations, _ = drawn({"a": 0.7, "b": 0.9})
    with pytest.raises(InputError, match="neither"):
        categories = BenchmarkMeta("tables", "general", categories=("A", "B", "tie", "neither"))
        bias(verdicts, gold, cases, annotations=annotations, meta=categories)


def test_a_changing_crowd_shares_its_seats() -> None:
    """Twelve people, three a case: seats are anyone's and are regressed together; a panel of three has its own."""
    rng = np.random.default_rng(2)
    cases = cases_of(60)
    rows = [
        (case, f"a{who}", "overall", str(rng.choice(["A", "B"])))
        for case in cases["case_id"]
        for who in rng.choice(12, 3, replace=False)
    ]
    crowd = pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"])
    votes = votes_of(Analysis.from_frames(cases, annotations=crowd))
    assert votes.tables == [[0, 1, 2]]
    assert np.isfinite(votes.share).all()
    three = votes_of(Analysis.from_frames(cases, annotations=annotations_of(dict.fromkeys("abc", "AB" * 30))))
    assert three.tables == [[0], [1], [2]]
    np.testing.assert_array_equal(three.others[0, :, :2], [[1, -1]] * 3)
