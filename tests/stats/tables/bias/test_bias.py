"""Bias: associations and pulls equal to statsmodels, and null with a reason where they cannot be told."""

import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import t as student
from scipy.stats import ttest_1samp, ttest_ind

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.methods.response_traits import MARKERS, length_difference, marker_differences, standardised
from mrb_lib.stats.multiplicity import adjust
from mrb_lib.stats.tables.bias import (
    COLLINEAR,
    FEW,
    ONE_ANNOTATOR,
    ONE_CHOICE,
    SEPARATED,
    UNANIMOUS,
    WEAK,
    fit,
    votes_of,
)
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ORDERS
from tests.stats.small_tables import Tables, annotations_of, bias, cases_of, gold_of, verdicts_of

N = 300


RESPONDERS = ("gpt-4o", "gpt-5", "Other-1B", "Other-2B")


@pytest.fixture(scope="module")
def tables() -> Tables:
    """Judge gpt-4o, in both orders, on responses of many lengths and markers; some ties and nulls."""
    generator = np.random.default_rng(4)
    texts = [
        " ".join(generator.choice(["word", "may", "12", "really?", "**so**", "\n- item", "\n# head\n"], size))
        for size in generator.integers(5, 60, 2 * N)
    ]
    models = np.array([generator.choice(RESPONDERS, 2, replace=False) for _ in range(N)])
    cases = cases_of(N, organ=list(generator.choice(["eye", "lung"], N))).assign(
        response_a=texts[:N], response_b=texts[N:], model_a=models[:, 0], model_b=models[:, 1]
    )
    cases["cluster"] = generator.integers(0, 120, N)
    label = generator.choice(list("AABBT-"), N)
    longer = np.where(cases["response_a"].str.len() > cases["response_b"].str.len(), "A", "B")
    shown = {}
    for order in ORDERS:
        choice = np.where(generator.random(N) < 0.6, np.where(label == "-", "A", label), longer)
        choice = np.where(generator.random(N) < 0.15, generator.choice(list("ABT?"), N), choice)
        shown["gpt-4o", order] = "".join(choice)
    return verdicts_of(shown), gold_of("".join(label)), cases


@pytest.fixture(scope="module")
def table(tables: Tables) -> pd.DataFrame:
    return bias(*tables, by="organ")


def wide(tables: Tables) -> pd.DataFrame:
    """One row a case: share choosing A, gold and the differences, computed with pandas alone."""
    verdicts, gold, cases = tables
    share = verdicts["choice"].map({"A": 1.0, "B": 0.0, "tie": 0.5}).groupby(verdicts["case_id"]).mean()
    out = cases.set_index("case_id")
    out["y"] = share
    out["gold"] = gold.set_index("case_id")["choice"].map({"A": 1.0, "B": -1.0, "tie": 0.0})
    out["longer"] = standardised(length_difference(cases))
    for name, values in zip(MARKERS, standardised(marker_differences(cases)), strict=True):
        out[name] = values
    out["own"] = (out["model_a"] == "gpt-4o").astype(float) - (out["model_b"] == "gpt-4o")
    related = (out["model_a"] == "gpt-5").astype(float) - (out["model_b"] == "gpt-5")
    out["family"] = related.where(out["own"] == 0, 0.0)
    return out


def pick(table: pd.DataFrame, bias_of: str, marker: str | None = None) -> pd.Series:
    rows = table[(table["bias"] == bias_of) & table["subfield"].isna()]
    rows = rows[rows["marker"].isna() if marker is None else rows["marker"] == marker]
    assert len(rows) == 1
    return rows.iloc[0]


@pytest.mark.parametrize(
    ("name", "marker", "predictors"),
    [
        ("length", None, ["longer"]),
        ("self_preference", None, ["longer", "own"]),
        ("family_preference", None, ["longer", "family"]),
        *(("style", marker, ["longer", marker]) for marker in MARKERS),
    ],
)
def test_associations_equal_statsmodels(tables, name: str, marker: str | None, predictors) -> None:
    data = wide(tables).dropna(subset=["y", "gold"])
    if name == "family_preference":
        data = data[data["own"] == 0]
    x = sm.add_constant(data[["gold", *predictors]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.GLM(data["y"], x, family=sm.families.Binomial())
        expected = model.fit(cov_type="cluster", cov_kwds={"groups": np.arange(len(data))}, tol=1e-12)
    row = pick(bias(*tables, cluster="case_id"), name, marker)
    assert (row["n_labelled"], row["n"], row["n_excluded"]) == (len(data), len(data), N - len(data))
    assert row["association"] == pytest.approx(expected.params.iloc[-1], abs=1e-7)
    reach = student.ppf(0.975, len(data) - 1) * expected.bse.iloc[-1]
    assert (row["association_high"] - row["association_low"]) / 2 == pytest.approx(reach, abs=1e-7)
    assert (row["claim"], np.isnan(row["p_value"])) == ("association", True)


def test_excess_choice_is_a_paired_t_test_where_cases_are_the_clusters(tables) -> None:
    verdicts, gold, cases = tables
    row = pick(bias(verdicts, gold, cases, cluster="case_id"), "length")
    data = wide(tables).dropna(subset=["y", "gold"])
    data = data[data["longer"] != 0]
    is_a = data["longer"] > 0
    judge = data["y"].where(is_a, 1 - data["y"])
    clinicians = ((data["gold"] + 1) / 2).where(is_a, (1 - data["gold"]) / 2)
    expected = ttest_1samp(judge - clinicians, 0)
    assert row["excess_choice"] == pytest.approx((judge - clinicians).mean())
    ends = tuple(row[f"excess_choice_{end}"] for end in ("low", "high"))
    assert ends == pytest.approx(tuple(expected.confidence_interval(0.95)))


@pytest.mark.parametrize(("name", "side"), [("length", "longer"), ("self_preference", "own")])
def test_error_asymmetry_is_the_difference_of_two_error_rates(tables, name: str, side: str) -> None:
    verdicts, gold, cases = tables
    row = pick(bias(verdicts, gold, cases, cluster="case_id"), name)
    data = wide(tables).dropna(subset=["y", "gold"])
    data = data[(data[side] != 0) & (data["gold"] != 0)]
    towards = data["y"].where(data[side] > 0, 1 - data["y"])
    wrongly = towards[data["gold"] * data[side] < 0]
    missed = 1 - towards[data["gold"] * data[side] > 0]
    assert row["n_decisive"] == len(data)
    assert row["error_asymmetry"] == pytest.approx(wrongly.mean() - missed.mean())
    low, high = ttest_ind(wrongly, missed, equal_var=False).confidence_interval(0.95)
    assert (row["error_asymmetry_low"], row["error_asymmetry_high"]) == pytest.approx((low, high))


def test_accuracy_at_equal_length_equals_statsmodels(tables) -> None:
    data = wide(tables).dropna(subset=["y", "gold"])
    data = data[data["gold"] != 0]
    right = data["y"].where(data["gold"] > 0, 1 - data["y"])
    answered = tables[0].assign(null=tables[0]["choice"].isna()).groupby("case_id")["null"].any()
    right, data = right[~answered[right.index]], data[~answered[data.index]]
    full = tables[0][~tables[0]["case_id"].isin(answered[answered].index)]
    row = pick(bias(full, tables[1], tables[2]), "length")
    x = sm.add_constant(data["longer"] * data["gold"])
    expected = sm.GLM(right, x, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": data["cluster"]}, tol=1e-12
    )
    assert row["accuracy"] == pytest.approx(right.mean())
    assert row["equal_length_accuracy"] == pytest.approx(1 / (1 + np.exp(-expected.params.iloc[0])), abs=1e-8)
    assert row["n_scored"] == len(right)
    assert row["equal_length_accuracy_low"] < row["equal_length_accuracy"] < row["equal_length_accuracy_high"]


def test_a_row_per_property_that_a_response_has(tables, table: pd.DataFrame) -> None:
    whole = table[table["subfield"].isna()]
    assert list(dict.fromkeys(whole["bias"])) == ["length", "self_preference", "family_preference", "style"]
    assert whole["marker"].dropna().tolist() == [*MARKERS]
    assert (whole["n"] + whole["n_excluded"]).eq(N).all()
    plain = tables[2].assign(response_a="x", response_b="y" * 3, model_a="Other-1B", model_b="Other-2B")
    assert bias(*tables[:2], plain)["bias"].tolist() == ["length"]


def test_official_reads_one_order_only(tables) -> None:
    verdicts, gold, cases = tables
    first = bias(verdicts[verdicts["order"] == "AB"], gold, cases, policy="balanced")
    official = bias(verdicts, gold, cases, policy="official")
    scored = [name for name in official if "accuracy" in name or name == "policy"]
    pd.testing.assert_frame_equal(official.drop(columns=scored), first.drop(columns=scored))


def test_what_cannot_be_told_is_null_with_its_reason() -> None:
    letters = "ABAB" * 10
    judged = verdicts_of({("j", "AB"): letters, ("j", "BA"): letters})
    cases = cases_of(40)
    found = bias(judged, gold_of(letters), cases.drop(columns=["response_a", "response_b"]))
    assert found["bias"].tolist() == ["length"]
    assert found["reason"].str.contains("the cases lack the texts of the responses").all()
    assert found[["estimate", "low", "high", "p_value", "association"]].isna().all(axis=None)
    nobody = bias(judged, gold_of("-" * 40), cases)
    assert nobody["reason"].str.startswith("no case with a verdict has a gold label").all()
    assert (nobody["n"] == 0).all()


def test_a_judge_that_wrote_few_of_the_responses_is_not_said_to_have_written_none() -> None:
    generator = np.random.default_rng(2)
    n = 80
    letters = "".join(generator.choice(list("AB"), n))
    cases = cases_of(n).assign(
        response_a=["a" * k for k in generator.integers(1, 50, n)],
        response_b=["b" * k for k in generator.integers(1, 50, n)],
        model_a=["gpt-4o"] * 9 + ["gpt-5"] * 3 + ["Other-1B"] * (n - 12),
        model_b="Other-2B",
    )
    judged = verdicts_of({("gpt-4o", "AB"): "".join(generator.choice(list("AB"), n))})
    table = bias(judged, gold_of(letters), cases)
    for name, count in (("self_preference", 9), ("family_preference", 3)):
        row = pick(table, name)
        assert np.isnan(row["estimate"])
        assert np.isnan(row["association"])
        assert "undefined: fewer than ten cases with a verdict show it" in row["reason"]
        assert row["n_decisive"] == count
    unlabelled = bias(judged, gold_of("-" * 12 + letters[12:]), cases)
    assert "error_asymmetry is undefined" in pick(unlabelled, "self_preference")["reason"]
    stranger = bias(judged.assign(judge="Other-3B"), gold_of(letters), cases)
    assert "self_preference" not in set(stranger["bias"])
    alike = cases.assign(response_a="x" * 5, response_b=["y" * 5] * (n - 4) + ["y" * 9] * 4)
    assert "fewer than ten" in pick(bias(judged, gold_of(letters), alike), "length")["reason"]


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


JUDGES = 4


def simulated(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    x = np.stack([np.ones(240), generator.choice([-1, 0, 1], 240), generator.normal(size=240)], axis=1)[None]
    mean = 1 / (1 + np.exp(-(x @ np.array([0.2, 0.8, -0.4]))[0]))
    y = generator.binomial(2, mean, (JUDGES, 240)) / 2
    y[generator.random(y.shape) < 0.1] = np.nan
    return x, y, generator.integers(0, 60, 240)


def columns_of(x: np.ndarray) -> list[np.ndarray]:
    return [x[:, :, i] for i in range(x.shape[2])]


def test_what_has_no_estimate_says_why() -> None:
    x, y, _ = simulated(2)
    y = np.where(np.isfinite(y), np.round(y), 0.0)
    y[0] = 1.0
    y[1] = x[0, :, 2] > 0
    y[2] = np.nan
    found = fit(columns_of(x), y)
    assert found.flaw.tolist() == [ONE_CHOICE, SEPARATED, ONE_CHOICE, ""]
    assert np.isnan(found.value[:3]).all()
    assert not found.moves[:3].any()
    assert fit([*columns_of(x), x[:, :, 0]], y[3:]).flaw.tolist() == [COLLINEAR]
