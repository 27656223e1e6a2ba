"""Agreement of annotators, of every two and with weights: equal to other packages, null with a reason."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
import pingouin
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import cohen_kappa_score

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.formats.table import read
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import analyze
from mrb_lib.stats.coefficients import bias_index, coefficients, prevalence_index, scaled
from mrb_lib.stats.estimation import Quantity
from mrb_lib.stats.intervals import wilson
from mrb_lib.stats.tables.agreement import NAMES
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import LEVELS
from tests.stats.small_tables import agreement, annotations_of, annotator_pairs, cases_of

COEFFICIENTS = ["percent_agreement", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1"]


def test_categories_of_ac1_are_those_in_use_anywhere_in_the_benchmark() -> None:
    annotations = annotations_of({"a": "AABBAATT", "b": "AABBABTT"})
    cases = cases_of(8, organ=["eye"] * 6 + ["lung"] * 2)
    rows = agreement(annotations, cases, by="organ", resamples=0).set_index(pd.Index(["all", "eye", "lung"]))
    eye = rows.loc["eye"]
    chance = (7 / 12 * 5 / 12) * 2 / 2
    assert eye["gwet_ac1"] == pytest.approx((5 / 6 - chance) / (1 - chance))
    assert rows.loc["lung", "gwet_ac1"] == 1
    assert rows.loc["lung", ["cohen_kappa", "fleiss_kappa", "krippendorff_alpha"]].isna().all()
    assert "one category" in rows.loc["lung", "reason"]


@pytest.mark.parametrize(
    ("by_annotator", "defined", "reason"),
    [
        ({"a": "AAA", "b": "AAA"}, ["percent_agreement"], "one category"),
        ({"a": "A--", "b": "B--"}, [], "fewer than two cases"),
        ({"a": "AB-", "b": "--A"}, [], "no case has two annotators"),
        ({"consensus": "AAB"}, [], "only consensus labels"),
    ],
)
def test_what_is_undefined_is_null_with_a_reason(by_annotator: dict[str, str], defined: list[str], reason: str) -> None:
    row = agreement(annotations_of(by_annotator), cases_of(3), resamples=100).iloc[0]
    assert [name for name in COEFFICIENTS if not np.isnan(row[name])] == defined
    assert reason in row["reason"]


def test_consensus_beside_annotators_is_nobodys_vote() -> None:
    people = {"a": "AABTA", "b": "AABBB"}
    first = agreement(annotations_of(people), cases_of(5), resamples=50)
    second = agreement(annotations_of({**people, "consensus": "AABAA"}), cases_of(5), resamples=50)
    pd.testing.assert_frame_equal(first, second)


def test_bad_input_is_refused() -> None:
    annotations = annotations_of({"a": "AB", "b": "AA"})
    with pytest.raises(InputError, match="column choice: 'B' is not one of"):
        agreement(annotations, cases_of(2), categories=["A", "C"])
    with pytest.raises(InputError, match="column case_id: 'c1' is not one of"):
        agreement(annotations, cases_of(1))


def test_where_all_agree_percent_agreement_alone_has_an_interval() -> None:
    """A coefficient of 1 has no error, which is not certainty; a share has Wilson's interval."""
    row = agreement(annotations_of(dict.fromkeys("abc", "AABBT" * 8)), cases_of(40)).iloc[0]
    low, high = wilson(np.array([1.0]), np.array([40.0]))
    assert row[["percent_agreement", "percent_agreement_low"]].tolist() == pytest.approx([1, low[0]])
    assert row["percent_agreement_high"] == high[0] == 1
    for name in COEFFICIENTS[1:]:
        assert row[name] == 1
        assert row[[f"{name}_low", f"{name}_high"]].isna().all()
    assert f"no interval of {', '.join(COEFFICIENTS[1:])}: the cases do not differ" in row["reason"]


def test_numbers_are_imported_only_with_their_categories(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("case_id,question,response_a,response_b\nc0,Q?,a,b\n")
    (tmp_path / "annotations.csv").write_text("case_id,annotator,dimension,choice\nc0,x,quality,10\n")
    with pytest.raises(InputError, match="name all categories with --categories"):
        read(tmp_path)


def labelled(labels: dict[str, list[str]], categories: Sequence[str], level: str = "nominal") -> Benchmark:
    meta = BenchmarkMeta("pain", "general", ("overall",), tuple(categories), level)
    return Benchmark(meta, cases_of(len(labels["x"])), annotations_of(labels))


def test_labels_that_are_numbers_are_in_the_order_of_numbers() -> None:
    """As text, "10" came before "2", and the ordinal alpha of such scores was .56."""
    generator = np.random.default_rng(3)
    scores = np.clip(generator.integers(1, 11, 60) + generator.integers(-1, 2, (3, 60)), 1, 10)
    rising = [str(i) for i in range(1, 11)]
    listed, text = (
        labelled(dict(zip("xyz", scores.astype(str).tolist(), strict=True)), names)
        for names in (rising, sorted(rising))
    )
    row = analyze(listed, None, "agreement", level="ordinal", resamples=0).iloc[0]
    assert row["krippendorff_alpha"] == pytest.approx(krippendorff.alpha(scores, level_of_measurement="ordinal"))
    with pytest.raises(InputError, match="categor"):
        analyze(text, None, "agreement", level="ordinal", resamples=0)


def test_an_order_that_nobody_stated_is_refused_with_the_cure() -> None:
    labels = {"x": ["mild", "none", "severe"] * 4, "y": ["mild", "none", "mild"] * 4}
    unordered = labelled(labels, ("mild", "none", "severe"))
    assert analyze(unordered, None, "agreement", resamples=0)["percent_agreement"].iloc[0] == pytest.approx(2 / 3)
    with pytest.raises(InputError, match=r"labels of pain \(mild, none, severe\) is not known; write them"):
        analyze(unordered, None, "agreement", level="ordinal", resamples=0)
    stated = labelled(labels, ("none", "mild", "severe"), "ordinal")
    assert np.isfinite(analyze(stated, None, "agreement", resamples=0)["quadratic_kappa"].iloc[0])


def test_pairs_that_cannot_be_compared_are_counted_and_left_out_of_the_mean() -> None:
    annotations = annotations_of({"a": "AABBAB", "b": "AABBBA", "c": "A-----", "d": "----AA", "e": "----AA"})
    pairs = annotator_pairs(annotations, cases_of(6), resamples=100).set_index(["annotator_1", "annotator_2"])
    assert pairs.loc[("a", "c"), "n_cases"] == 1
    assert pairs.loc[("a", "c"), ["percent_agreement", "cohen_kappa"]].isna().all()
    assert "fewer than two" in pairs.loc[("a", "c"), "reason"]
    assert pairs.loc[("d", "e"), "percent_agreement"] == 1
    assert np.isnan(pairs.loc[("d", "e"), "cohen_kappa"])
    assert "one category" in pairs.loc[("d", "e"), "reason"]
    row = agreement(annotations, cases_of(6), resamples=100).iloc[0]
    assert row["n_pairs_undefined"] == pairs["cohen_kappa"].isna().sum()
    assert row["cohen_kappa"] == pytest.approx(pairs["cohen_kappa"].mean())


CATEGORIES = list("1234")
WEIGHTS = {"cohen_kappa": None, "linear_kappa": "linear", "quadratic_kappa": "quadratic"}


def scored(n: int = 80, annotators: int = 3, missing: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """Annotators who are near a case's score, and a little harsher one by one."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(1, 5, n)
    words = {}
    for i in range(annotators):
        given = np.clip(truth + generator.integers(-1, 2, n) - (generator.random(n) < 0.2 * i), 1, 4)
        words[f"a{i}"] = "".join(np.where(generator.random(n) < missing, "-", given.astype(str)))
    return annotations_of(words)


def wide(annotations: pd.DataFrame) -> pd.DataFrame:
    return annotations.pivot_table(index="case_id", columns="annotator", values="choice", aggfunc="first")


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_weighted_kappas_equal_scikit_learn(missing: float) -> None:
    annotations = scored(missing=missing)
    rows = annotator_pairs(annotations, cases_of(80), categories=CATEGORIES, level="ordinal", resamples=0)
    table = wide(annotations)
    assert list(zip(rows["annotator_1"], rows["annotator_2"], strict=True)) == list(combinations(table.columns, 2))
    for _, row in rows.iterrows():
        both = table[[row["annotator_1"], row["annotator_2"]]].dropna()
        assert row["n_cases"] == len(both)
        assert row["percent_agreement"] == pytest.approx((both.iloc[:, 0] == both.iloc[:, 1]).mean())
        for name, weights in WEIGHTS.items():
            expected = cohen_kappa_score(*(both[column] for column in both), labels=CATEGORIES, weights=weights)
            assert row[name] == pytest.approx(expected, abs=1e-12)
    overall = agreement(annotations, cases_of(80), categories=CATEGORIES, level="ordinal", resamples=0).iloc[0]
    for name in WEIGHTS:
        assert overall[name] == pytest.approx(rows[name].mean(), abs=1e-12)


def test_the_interval_level_weighs_by_the_numbers_themselves() -> None:
    annotations = annotations_of({"a": "1224", "b": "1242"})
    row = annotator_pairs(annotations, cases_of(4), categories=list("124"), level="interval", resamples=0).iloc[0]
    first, second = np.array([1, 2, 2, 4]), np.array([1, 2, 4, 2])
    for name, power in (("linear_kappa", 1), ("quadratic_kappa", 2)):
        observed = (np.abs(first - second) ** power).mean()
        expected = (np.abs(first[:, None] - second) ** power).mean()
        assert row[name] == pytest.approx(1 - observed / expected)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_alpha_ac2_and_iccs_of_a_pair_are_those_of_a_table_of_two(level: str, missing: float) -> None:
    """The kernel of many annotators, which other tests tie to krippendorff, irrCAC and pingouin."""
    annotations = scored(missing=missing, seed=5)
    rows = annotator_pairs(annotations, cases_of(80), categories=CATEGORIES, level=level, resamples=0)
    table = wide(annotations)
    for _, row in rows.iterrows():
        both = table[[row["annotator_1"], row["annotator_2"]]].dropna().index
        kept = annotations["case_id"].isin(both) & annotations["annotator"].isin(row[["annotator_1", "annotator_2"]])
        two = agreement(annotations[kept], cases_of(80), categories=CATEGORIES, level=level, resamples=0).iloc[0]
        for name in NAMES:
            assert row[name] == pytest.approx(two[name], abs=1e-8, nan_ok=True), name
        assert np.isfinite(row["krippendorff_alpha"])


tables = arrays(np.int64, st.tuples(st.shared(st.integers(2, 4), key="q"), st.shared(st.integers(2, 4), key="q")),
                elements=st.integers(0, 9))  # fmt: skip


@given(tables)
def test_kappa_is_made_of_pabak_prevalence_and_bias(table: np.ndarray) -> None:
    """The decomposition of Byrt et al. (1993), for any number of categories."""
    n, q = table.sum(), len(table)
    assume(n)
    first, second = table.sum(axis=1) / n, table.sum(axis=0) / n
    chance = first @ second
    assume(chance <= 1 - 1e-9)
    percent = np.trace(table) / n
    pabak = (q * percent - 1) / (q - 1)
    prevalence, bias = prevalence_index((first + second) / 2, q), bias_index(first, second, q)
    expected = (pabak - prevalence**2 + bias**2) / (1 - prevalence**2 + bias**2)
    assert (percent - chance) / (1 - chance) == pytest.approx(expected, abs=1e-9)
    if q == 2:
        assert prevalence == pytest.approx(abs(table[0, 0] - table[1, 1]) / n, abs=1e-7)
        assert bias == pytest.approx(abs(table[0, 1] - table[1, 0]) / n, abs=1e-9)


def test_of_an_order_without_numbers_there_is_no_icc_and_the_row_says_so() -> None:
    row = annotator_pairs(scored(), cases_of(80), categories=CATEGORIES, level="ordinal", resamples=0).iloc[0]
    assert row[["linear_kappa", "quadratic_kappa"]].notna().all()
    assert np.isnan(row["icc_2_1"])
    assert "no ICC" in row["reason"]


def test_intervals_of_two_who_share_some_cases_are_called_approximate() -> None:
    for n, said in ((40, True), (60, False)):
        words = {"a": "AB" * (n // 2), "b": "AB" * (n // 2 - 2) + "BABB"}
        pair = annotator_pairs(annotations_of(words), cases_of(n), resamples=100).iloc[0]
        assert np.isfinite(pair["cohen_kappa_low"])
        assert ("approximate intervals" in pair["reason"]) is said
        row = agreement(annotations_of(words), cases_of(n), resamples=100).iloc[0]
        assert ("approximate intervals of kappas" in row["reason"]) is said


def random_labels(n: int, k: int, annotators: int, fewest: int) -> np.ndarray:
    """Codes of labels, shape (n, 1, annotators); -1 where an annotator is missing."""
    generator = np.random.default_rng(n * k)
    share = generator.dirichlet(np.full(k, 0.4), n)
    labels = np.stack([generator.choice(k, annotators, p=p) for p in share])
    number = generator.integers(fewest, annotators, n, endpoint=True)
    return np.where(np.arange(annotators) < number[:, None], labels, -1)[:, None]


def votes_of(labels: np.ndarray, k: int) -> np.ndarray:
    return (labels[:, 0, :, None] == np.arange(k)).sum(axis=1)


def made(labels: np.ndarray, level: str, categories: list[str], used: int | None = None) -> dict[str, Quantity]:
    k = len(categories)
    found = coefficients(labels, scaled(categories, level), level, np.arange(k) < (k if used is None else used))
    every = np.arange(len(labels))
    return {name: each if isinstance(each, Quantity) else each(every) for name, each in found.items()}


def value(quantity: Quantity, weight: np.ndarray | float = 1.0) -> float:
    return float(quantity.statistic((quantity.adds.T * weight).T.sum(axis=0))[0])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("annotators", "fewest"), [(3, 3), (5, 0)])
def test_alpha_equals_krippendorff(level: str, annotators: int, fewest: int) -> None:
    labels = random_labels(40, 4, annotators, fewest)
    found = value(made(labels, level, ["0", "1", "2.5", "7"])["krippendorff_alpha"])
    table, domain = votes_of(labels, 4), np.array([0.0, 1.0, 2.5, 7.0])
    expected = krippendorff.alpha(value_counts=table, value_domain=domain, level_of_measurement=level)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("nominal", [0.81818, 0.76117, 0.74342, 0.77544]),
        ("interval", [0.81818, 0.76117, 0.84911, 0.77544, 0.91400]),
    ],
)
def test_missing_annotators_as_in_irrcac(level: str, expected: list[float]) -> None:
    """The data `cac.raw4raters` of the R package irrCAC, and its published coefficients; AC2 with quadratic weights."""
    raters = np.array(
        [[*map(int, given)] for given in ("123321412000", "123322412503", "033323422510", "123324412510")]
    )
    found = made(raters.T[:, None] - 1, level, list("12345"))
    names = ["percent_agreement", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1", "gwet_ac2"][: len(expected)]
    assert [value(found[name]) for name in names] == pytest.approx(expected, abs=5e-6)


def test_one_score_between_others_is_one_category_whatever_rounding_does() -> None:
    """A third cannot be written as a binary fraction."""
    for n in (10, 1000, 100_000):
        found = made(np.ones((n, 1, 3), dtype=np.int64), "interval", list("1234"))
        assert np.isnan(value(found["krippendorff_alpha"]))


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # pingouin with pandas 3.1
@pytest.mark.parametrize(("n", "annotators"), [(8, 2), (40, 3), (25, 7)])
def test_complete_scores_as_in_pingouin(n: int, annotators: int) -> None:
    generator = np.random.default_rng(n)
    labels = np.clip(generator.integers(0, 9, (n, 1)) + generator.integers(-2, 3, (n, annotators)), 0, 8)
    long = pd.DataFrame(labels).reset_index().melt("index")
    expected = pingouin.intraclass_corr(long, "index", "variable", "value").set_index("Type")
    found = made(labels[:, None], "interval", [str(i) for i in range(9)])
    for name, kind in (("icc_2_1", "ICC(A,1)"), ("icc_2_k", "ICC(A,k)")):
        assert value(found[name]) == pytest.approx(expected.loc[kind, "ICC"], abs=1e-9)


def test_missing_scores_leave_the_icc_unbiased() -> None:
    """Variances: 1 of cases, .36 of annotators, 1 of the rest; a third of the scores is missing."""
    generator = np.random.default_rng(0)
    found = []
    for _ in range(60):
        score = generator.normal(size=(80, 1)) + 0.6 * generator.normal(size=(1, 6)) + generator.normal(size=(80, 6))
        codes = np.clip(np.rint(score * 10).astype(np.int64) + 60, 0, 120)
        labels = np.where(generator.random((80, 6)) < 1 / 3, -1, codes)
        found.append(value(made(labels[:, None], "interval", [str(i) for i in range(121)])["icc_2_1"]))
    assert np.mean(found) == pytest.approx(1 / 2.36, abs=0.03)
