"""Bias: associations and pulls equal to statsmodels, null with a reason; families of models, and what texts hold."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.linalg import block_diag
from scipy.stats import t as student
from scipy.stats import ttest_1samp, ttest_ind

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.methods.response_traits import (
    MARKERS,
    family_of,
    kinship,
    length_difference,
    marker_differences,
    standardised,
)
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
)
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ORDERS
from tests.stats import small_tables as small

N, JUDGE = 300, "gpt-4o"
RESPONDERS = (JUDGE, "gpt-5", "Other-1B", "Other-2B")
WORDS = ["word", "may", "12", "really?", "**so**", "\n- item", "\n# head\n"]
LIKES_A = {"A": 1.0, "B": 0.0, "tie": 0.5}
TEST = ["low", "high", "p_value", "p_adjusted"]


@cache
def drawn(*noise: float) -> tuple[small.Tables, pd.DataFrame]:
    """A judge on responses of many lengths and markers, and annotators by their noise; some ties, nulls and gaps."""
    rng = np.random.default_rng(4)
    texts = [" ".join(rng.choice(WORDS, size)) for size in rng.integers(5, 60, 2 * N)]
    models = np.array([rng.choice(RESPONDERS, 2, replace=False) for _ in range(N)])
    cases = small.cases_of(
        N, organ=rng.choice(["eye", "lung"], N), cluster=rng.integers(0, 150, N), response_a=texts[:N],
        response_b=texts[N:], model_a=models[:, 0], model_b=models[:, 1],
    )  # fmt: skip
    quality = 0.4 * standardised(length_difference(cases)) + rng.normal(size=N)

    def letters(spread: float, absent: str) -> str:
        felt = quality + spread * rng.normal(size=N)
        choice = np.where(np.abs(felt) < 0.15, "T", np.where(felt > 0, "A", "B"))
        return "".join(np.where(rng.random(N) < 0.04, absent, choice))

    people = {f"a{i}": letters(spread, "-") for i, spread in enumerate(noise)}
    verdicts = small.verdicts_of({(JUDGE, order): letters(0.8, "?") for order in ORDERS})
    return (verdicts, small.gold_of(people["a0"]), cases), small.annotations_of(people)


TABLES, _ = drawn(0.7)


def wide() -> pd.DataFrame:
    """One row a labelled case: share choosing A, gold and the differences, computed with pandas alone."""
    verdicts, gold, cases = TABLES
    out = cases.set_index("case_id")
    out["y"] = verdicts["choice"].map(LIKES_A).groupby(verdicts["case_id"]).mean()
    out["gold"] = gold.set_index("case_id")["choice"].map(LIKES_A) * 2 - 1
    out["longer"] = standardised(length_difference(cases))
    out[[*MARKERS]] = standardised(marker_differences(cases)).T
    out["own"], related = (
        (out["model_a"] == name).astype(float) - (out["model_b"] == name) for name in (JUDGE, "gpt-5")
    )
    return out.assign(family=related.where(out["own"] == 0, 0.0)).dropna(subset=["y", "gold"])


def pick(table: pd.DataFrame, bias_of: str, marker: str | None = None) -> pd.Series:
    rows = table[(table["bias"] == bias_of) & table["subfield"].isna()]
    [index] = rows.index[rows["marker"].isna() if marker is None else rows["marker"] == marker]
    return rows.loc[index]


def binomial(y: np.ndarray, x: np.ndarray, groups: np.ndarray, **options: object):
    """A logistic regression of shares, with errors robust to clusters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.GLM(y, x, family=sm.families.Binomial())
        return model.fit(cov_type="cluster", cov_kwds={"groups": groups, **options}, tol=1e-12)


@pytest.mark.parametrize(
    ("name", "marker", "predictors"),
    [
        ("length", None, ["longer"]),
        ("self_preference", None, ["longer", "own"]),
        ("family_preference", None, ["longer", "family"]),
        *(("style", marker, ["longer", marker]) for marker in MARKERS),
    ],
)
def test_associations_equal_statsmodels(name: str, marker: str | None, predictors: list[str]) -> None:
    data = wide()
    if name == "family_preference":
        data = data[data["own"] == 0]
    expected = binomial(data["y"], sm.add_constant(data[["gold", *predictors]]), np.arange(len(data)))
    row = pick(small.bias(*TABLES, cluster="case_id"), name, marker)
    assert (row["n_labelled"], row["n"], row["n_excluded"]) == (len(data), len(data), N - len(data))
    assert row["association"] == pytest.approx(expected.params.iloc[-1], abs=1e-7)
    reach = student.ppf(0.975, len(data) - 1) * expected.bse.iloc[-1]
    assert (row["association_high"] - row["association_low"]) / 2 == pytest.approx(reach, abs=1e-7)
    assert (row["claim"], np.isnan(row["p_value"])) == ("association", True)


def test_excess_choice_is_a_paired_t_test_where_cases_are_the_clusters() -> None:
    row, data = pick(small.bias(*TABLES, cluster="case_id"), "length"), wide()
    excess = ((data["y"] - (data["gold"] + 1) / 2) * np.sign(data["longer"]))[data["longer"] != 0]
    ends = ttest_1samp(excess, 0).confidence_interval(0.95)
    found = row[["excess_choice", "excess_choice_low", "excess_choice_high"]].tolist()
    assert found == pytest.approx([excess.mean(), *ends])


@pytest.mark.parametrize(("name", "side"), [("length", "longer"), ("self_preference", "own")])
def test_error_asymmetry_is_the_difference_of_two_error_rates(name: str, side: str) -> None:
    row, data = pick(small.bias(*TABLES, cluster="case_id"), name), wide()
    data = data[(data[side] != 0) & (data["gold"] != 0)]
    towards = data["y"].where(data[side] > 0, 1 - data["y"])
    wrongly = towards[data["gold"] * data[side] < 0]
    missed = 1 - towards[data["gold"] * data[side] > 0]
    assert row["n_decisive"] == len(data)
    assert row["error_asymmetry"] == pytest.approx(wrongly.mean() - missed.mean())
    ends = ttest_ind(wrongly, missed, equal_var=False).confidence_interval(0.95)
    assert row[["error_asymmetry_low", "error_asymmetry_high"]].tolist() == pytest.approx([*ends])


def test_accuracy_at_equal_length_equals_statsmodels() -> None:
    verdicts, gold, cases = TABLES
    null = verdicts.loc[verdicts["choice"].isna(), "case_id"]
    row = pick(small.bias(verdicts[~verdicts["case_id"].isin(null)], gold, cases), "length")
    data = wide().query("gold != 0")
    data = data[~data.index.isin(null)]
    right = data["y"].where(data["gold"] > 0, 1 - data["y"])
    expected = binomial(right, sm.add_constant(data["longer"] * data["gold"]), data["cluster"])
    assert row["n_scored"] == len(right)
    assert row["accuracy"] == pytest.approx(right.mean())
    assert row["equal_length_accuracy"] == pytest.approx(1 / (1 + np.exp(-expected.params.iloc[0])), abs=1e-8)


def test_a_row_per_property_that_a_response_has() -> None:
    verdicts, gold, cases = TABLES
    table = small.bias(*TABLES, by="organ")
    whole = table[table["subfield"].isna()]
    assert list(dict.fromkeys(whole["bias"])) == ["length", "self_preference", "family_preference", "style"]
    assert whole["marker"].dropna().tolist() == [*MARKERS]
    assert (whole["n"] + whole["n_excluded"]).eq(N).all()
    plain = cases.assign(response_a="x", response_b="y" * 3, model_a="Other-1B", model_b="Other-2B")
    assert small.bias(verdicts, gold, plain)["bias"].tolist() == ["length"]


def test_official_reads_one_order_only() -> None:
    verdicts, gold, cases = TABLES
    first = small.bias(verdicts[verdicts["order"] == "AB"], gold, cases, policy="balanced")
    official = small.bias(verdicts, gold, cases, policy="official")
    scored = [name for name in official if "accuracy" in name or name == "policy"]
    pd.testing.assert_frame_equal(official.drop(columns=scored), first.drop(columns=scored))


def test_what_cannot_be_told_is_null_with_its_reason() -> None:
    verdicts, gold, cases = small.tables_of({"j": "AB" * 20}, "AB" * 20)
    found = small.bias(verdicts, gold, cases.drop(columns=["response_a", "response_b"]))
    assert found["bias"].tolist() == ["length"]
    assert found["reason"].str.contains("the cases lack the texts of the responses").all()
    assert found[["estimate", "low", "high", "p_value", "association"]].isna().all(axis=None)


def test_a_judge_that_wrote_few_of_the_responses_is_not_said_to_have_written_none() -> None:
    rng, n = np.random.default_rng(2), 80
    letters, said = ("".join(rng.choice(list("AB"), n)) for _ in range(2))
    verdicts, gold, cases = small.tables_of(
        {(JUDGE, "AB"): said}, letters, response_a=["a" * k for k in rng.integers(1, 50, n)],
        response_b=["b" * k for k in rng.integers(1, 50, n)],
        model_a=[JUDGE] * 9 + ["gpt-5"] * 3 + ["Other-1B"] * (n - 12), model_b="Other-2B",
    )  # fmt: skip
    table = small.bias(verdicts, gold, cases)
    for name, count in (("self_preference", 9), ("family_preference", 3)):
        row = pick(table, name)
        assert row[["estimate", "association"]].isna().all()
        assert "undefined: fewer than ten cases with a verdict show it" in row["reason"]
        assert row["n_decisive"] == count
    assert "error_asymmetry is undefined" in pick(small.bias(verdicts, gold[12:], cases), "self_preference")["reason"]
    assert "self_preference" not in set(small.bias(verdicts.assign(judge="Other-3B"), gold, cases)["bias"])
    alike = cases.assign(response_a="x" * 5, response_b=["y" * 5] * (n - 4) + ["y" * 9] * 4)
    assert "fewer than ten" in pick(small.bias(verdicts, gold, alike), "length")["reason"]


@pytest.mark.parametrize("name", ["length", "self_preference"])
@pytest.mark.parametrize("people", [2, 3, 4])
def test_estimate_and_interval_are_those_of_one_large_regression(name: str, people: int) -> None:
    """statsmodels 0.14 GLM, one block an annotator and outcome, covariance over clusters, and the delta method."""
    tables, annotations = drawn(*(0.7 + 0.2 * i for i in range(people)))
    verdicts, _, cases = tables
    row = pick(small.bias(*tables, annotations=annotations, cluster="case_id"), name)
    votes = annotations.pivot(index="case_id", columns="annotator", values="choice").map(LIKES_A.get)
    votes = votes.astype(float).reindex(cases["case_id"])
    y = verdicts["choice"].map(LIKES_A).groupby(verdicts["case_id"]).mean().reindex(cases["case_id"]).to_numpy()
    own = (cases["model_a"] == JUDGE).to_numpy(dtype=float) - (cases["model_b"] == JUDGE)
    predictors = [np.ones(N), standardised(length_difference(cases)), *([own] if name == "self_preference" else [])]
    blocks, outcome, groups = [], [], []
    for annotator in votes:
        others = 2 * votes.drop(columns=annotator).mean(axis=1).to_numpy() - 1
        used = np.isfinite(others) & votes[annotator].notna().to_numpy() & np.isfinite(y)
        for values in (y, votes[annotator].to_numpy()):
            blocks.append(np.column_stack([others, *predictors])[used])
            outcome.append(values[used])
            groups.append(np.arange(N)[used])
    cluster = np.concatenate(groups)
    result = binomial(np.concatenate(outcome), block_diag(*blocks), cluster, use_correction=False)
    p = result.params.reshape(people, 2, -1)  # of the judge and of the annotator
    a, b, a_human, b_human = p[:, 0, 0], p[:, 0, -1], p[:, 1, 0], p[:, 1, -1]
    gradient = np.zeros(p.shape)
    gradient[:, 0, -1], gradient[:, 0, 0] = 1, -b_human / a_human
    gradient[:, 1, -1], gradient[:, 1, 0] = -a / a_human, a * b_human / a_human**2
    estimate, slope, clusters = np.mean(b - a * b_human / a_human), gradient.ravel() / people, len(np.unique(cluster))
    error = np.sqrt(slope @ result.cov_params() @ slope * clusters / (clusters - 1))
    assert row["estimate"] == pytest.approx(estimate, abs=1e-7)
    assert (row["high"] - row["low"]) / 2 == pytest.approx(student.ppf(0.975, clusters - 1) * error, abs=1e-7)
    assert row["p_value"] == pytest.approx(2 * student.sf(abs(estimate / error), clusters - 1), abs=1e-7)


def test_one_annotator_gives_an_association_and_no_test() -> None:
    tables, annotations = drawn(0.8)
    for known in (annotations, None, annotations.assign(annotator="consensus")):
        table = small.bias(*tables, annotations=known)
        row = pick(table, "length")
        assert np.isnan(row["estimate"])
        assert ONE_ANNOTATOR in row["reason"]
        assert table["p_value"].isna().all()
        assert (table["family"] == 0).all()
        assert row["claim"] == "association"
        assert np.isfinite(row["association_low"])


def test_annotators_that_never_disagree_or_never_agree_do_not_identify_quality() -> None:
    (verdicts, gold, cases), annotations = drawn(0.8, 0.8)
    same = pd.concat([annotations[annotations["annotator"] == "a0"].assign(annotator=name) for name in "abc"])
    assert pick(small.bias(verdicts, gold, cases, annotations=same), "length")["reason"].startswith(UNANIMOUS)
    coins = annotations.assign(choice=np.random.default_rng(1).choice(["A", "B"], len(annotations)))
    for each in (cases, cases.assign(cluster=np.arange(N) % 13)):  # few clusters do not hide it
        row = pick(small.bias(verdicts, gold, each, annotations=coins), "length")
        assert row["reason"].startswith(WEAK)
        assert np.isnan(row["estimate"])


def test_p_values_are_adjusted_over_the_whole_table() -> None:
    tables, annotations = drawn(0.7, 0.9, 1.1)
    table = small.bias(*tables, annotations=annotations, by="organ")
    tested = table["p_value"].notna()
    assert set(table.loc[tested, "claim"]) == {"bias"}
    assert set(table.loc[tested, "subfield"].fillna("")) == {"", "eye", "lung"}
    for of_cases in (table["subfield"].isna(), table["subfield"].notna()):
        assert (table.loc[of_cases, "family"] == (tested & of_cases).sum()).all()
        expected = adjust(table.loc[of_cases, "p_value"].to_numpy(), "holm")
        np.testing.assert_allclose(table.loc[of_cases, "p_adjusted"], expected)


def test_few_clusters_leave_the_estimate_and_take_the_interval_and_the_test() -> None:
    (verdicts, gold, cases), annotations = drawn(0.7, 0.9)
    many, few = (
        pick(small.bias(verdicts, gold, each, annotations=annotations), "length")
        for each in (cases, cases.assign(cluster=np.arange(N) % 13))
    )
    assert FEW in few["reason"]
    assert few["estimate"] == pytest.approx(many["estimate"])
    assert (few["n"], few["claim"]) == (many["n"], "bias")
    assert few[TEST].isna().all()
    assert many[TEST].notna().all()


def test_a_row_without_an_estimate_claims_nothing() -> None:
    (verdicts, gold, cases), annotations = drawn(0.7, 0.9)
    for known in (annotations, None):
        table = small.bias(verdicts, gold, cases.assign(response_a=cases["response_b"]), annotations=known)
        assert table["estimate"].isna().any()
        assert table["claim"].isna().equals(table[["estimate", "association"]].isna().all(axis=1))


def test_a_category_that_is_not_a_preference_is_refused() -> None:
    tables, annotations = drawn(0.7, 0.9)
    with pytest.raises(InputError, match="neither"):
        categories = BenchmarkMeta("tables", "general", categories=("A", "B", "tie", "neither"))
        small.bias(*tables, annotations=annotations, meta=categories)


def test_what_has_no_estimate_says_why() -> None:
    rng = np.random.default_rng(2)
    x = np.stack([np.ones(240), rng.choice([-1, 0, 1], 240), rng.normal(size=240)])[:, None]
    y = rng.binomial(1, 1 / (1 + np.exp(-(np.array([0.2, 0.8, -0.4]) @ x[:, 0]))), (4, 240)).astype(float)
    y[0], y[1], y[2] = 1.0, x[2, 0] > 0, np.nan
    found = fit(list(x), y)
    assert found.flaw.tolist() == [ONE_CHOICE, SEPARATED, ONE_CHOICE, ""]
    assert np.isnan(found.value[:3]).all()
    assert not found.moves[:3].any()
    assert fit([*x, x[0]], y[3:]).flaw.tolist() == [COLLINEAR]


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("GPT", ["gpt-4o", "GPT 4", "GPT 3.5 Turbo (16k)", "openai/gpt-35-turbo", "gpt-10"]),
        ("Qwen2.5-VL", ["Qwen2.5-VL-7B-Instruct"]),
        ("Qwen2-VL", ["Qwen/Qwen2-VL-7B-Instruct"]),
        ("LLaVA-Med", ["LLaVA-Med-v1.5"]),
        ("Llama-3.2-Vision", ["meta-llama/Llama-3.2-11B-Vision-Instruct"]),
        ("Claude", ["Claude Instant v1"]),
        ("Gemma 3", ["gemma-3-1b"]),
        ("InternVL3.5", ["InternVL3_5-38B"]),
        ("InternVL3", ["InternVL3-14B"]),
        ("MedGemma", ["medgemma-1.5-4b"]),
        (
            None,
            ["GPT-NeoXT-Chat-Base (20B)", "gpt-neox-20b", "EleutherAI/gpt-j-6b", "gpt2-xl", "GPT4All-J", "gpt-4-all"],
        ),
        (None, ["Claudette-7B", "Gemma 31B", "InternVL3.7-2B", "random", "consensus-of", "Placebo-Chat-9B", ""]),
    ],
)
def test_family(family: str | None, names: list[str]) -> None:
    assert {name: family_of(name) for name in names} == dict.fromkeys(names, family)


def is_own_or_family(judge: str, responder: str) -> tuple[bool, bool]:
    own, family = kinship([judge], pd.DataFrame({"model_a": [responder], "model_b": ["a stranger"]}))
    return bool(own[0, 0]), bool(family[0, 0])


def test_names_are_compared_without_their_spelling() -> None:
    assert is_own_or_family("qwen2.5-vl-7b+packed", "Qwen/Qwen2.5-VL-7B-Instruct") == (True, False)
    assert is_own_or_family("My Model", "my_model") == (True, False)
    assert is_own_or_family("", "") == (False, False)
    assert is_own_or_family("qwen2.5-vl-7b", "Qwen2.5-VL-3B-Instruct") == (False, True)
    assert is_own_or_family("random", "first") == (False, False)


def test_a_judge_is_on_no_side_of_its_own_against_itself_or_where_nobody_is_named() -> None:
    """On one side or the other: test_associations_equal_statsmodels."""
    cases = pd.DataFrame({"model_a": ["gpt-4o", "GPT-4o", None], "model_b": ["gpt-5", "gpt-4o", "gpt-4o"]})
    own, family = kinship(["gpt-4o", "random"], cases)
    assert own.tolist() == [[1, 0, -1], [0] * 3]
    assert family.tolist() == [[0] * 3] * 2
    assert not kinship(["gpt-4o"], pd.DataFrame({"case_id": ["c"]}))[0].any()


TEXT = """# Findings

- opacity of 12.5 mm
- no effusion
2) follow-up

It **may** be benign; possibly infection. Maybe not? Is it?"""


@pytest.mark.parametrize(
    ("marker", "count"),
    [("headings", 1), ("lists", 3), ("bold", 1), ("hedges", 2), ("numbers", 2), ("questions", 2)],
)
def test_markers_are_counted(marker: str, count: int) -> None:
    texts = {"response_a": [TEXT], "response_b": ["A mass in the left lobe * of the liver, rated c# and a__b"]}
    found = marker_differences(pd.DataFrame(texts))[list(MARKERS).index(marker)]
    assert found.tolist() == [np.log1p(count)], "the other text has none"


def test_differences_change_sign_with_the_sides_and_are_unknown_without_a_text() -> None:
    cases = pd.DataFrame({"response_a": [TEXT, "one", None], "response_b": ["one", TEXT, TEXT]})
    found = marker_differences(cases)
    row = list(MARKERS).index("lists")
    assert found[row, :2].tolist() == [np.log(4), -np.log(4)]
    assert np.isnan(found[:, 2]).all()
    assert length_difference(cases)[0] == pytest.approx(np.log((len(TEXT) + 1) / 4))
    assert np.isnan(length_difference(pd.DataFrame({"case_id": ["c"]}))).all()


def test_standardising_keeps_zero_and_gives_a_root_mean_square_of_one() -> None:
    found = standardised(np.array([[3.0, 0.0, -4.0, np.nan], [0.0, 0.0, 0.0, 0.0]]))
    assert found[0, 1] == 0
    assert np.nanmean(found[0] ** 2) == pytest.approx(1)
    assert (found[1] == 0).all()
