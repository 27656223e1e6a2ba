"""Agreement is what the libraries say; what cannot be known is null with a reason; ordered labels need an order."""

from __future__ import annotations

from itertools import combinations

import krippendorff
import numpy as np
import pandas as pd
import pingouin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mrb_lib.stats.annotators import votes_of
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import TABLES, analyze
from mrb_lib.stats.coefficients import coefficients, icc, scaled
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import LEVELS
from tests.stats.small_tables import agreement, annotations_of, annotator_pairs, cases_of

COEFFICIENTS = ["percent_agreement", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1"]
CATEGORIES = list("1234")
WEIGHTS = {"cohen_kappa": None, "linear_kappa": "linear", "quadratic_kappa": "quadratic"}
ENDS = ("", "_low", "_high")


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


def values_of(labels: np.ndarray, categories: list[str], level: str, used: int | None = None) -> dict[str, float]:
    """The estimates of one dimension, from labels of shape (cases, annotators)."""
    mask = np.arange(len(categories)) < (len(categories) if used is None else used)
    made = coefficients(labels[:, None], scaled(tuple(categories), level), level, mask)
    return {name: float(each.statistic(each.adds.sum(axis=0))[0]) for name, each in made.items()}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_alpha_is_krippendorffs_and_fleiss_that_of_statsmodels(level: str, missing: float) -> None:
    generator, names = np.random.default_rng(1), ["0", "1", "2.5", "7"]
    labels = generator.choice(4, (60, 4), p=[0.4, 0.3, 0.2, 0.1])
    labels[generator.random(labels.shape) < missing] = -1
    votes, numbers = votes_of(labels[:, None], 4)[:, 0], np.array([float(name) for name in names])
    found = values_of(labels, names, level)
    expected = krippendorff.alpha(value_counts=votes, value_domain=numbers, level_of_measurement=level)
    assert found["krippendorff_alpha"] == pytest.approx(expected, abs=1e-12)
    if not missing:
        assert found["fleiss_kappa"] == pytest.approx(fleiss_kappa(votes), abs=1e-12)


@pytest.mark.parametrize(
    ("level", "expected"),
    [("nominal", [0.81818, 0.76117, 0.74342, 0.77544]), ("interval", [0.81818, 0.76117, 0.84911, 0.77544, 0.91400])],
)
def test_missing_annotators_as_in_irrcac(level: str, expected: list[float]) -> None:
    """The data `cac.raw4raters` of the R package irrCAC, and its published coefficients; AC2 with quadratic weights."""
    raters = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ]
    )
    found = values_of(raters.T - 1, list("12345"), level)
    names = ["percent_agreement", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1", "gwet_ac2"]
    assert [found[name] for name in names[: len(expected)]] == pytest.approx(expected, abs=5e-6)


def test_one_category_is_undefined_but_for_ac1_with_others_in_use() -> None:
    found = values_of(np.zeros((2, 3), dtype=np.int64), list("ab"), "ordinal")
    assert (found["percent_agreement"], found["gwet_ac1"], found["gwet_ac2"]) == (1, 1, 1)
    assert np.isnan([found["fleiss_kappa"], found["krippendorff_alpha"]]).all()
    assert "gwet_ac1" not in values_of(np.zeros((2, 3), dtype=np.int64), list("ab"), "nominal", used=1)
    third = values_of(np.ones((1000, 3), dtype=np.int64), list("1234"), "interval")
    assert np.isnan(third["krippendorff_alpha"]), "a third cannot be written as a binary fraction"


def test_labels_that_are_numbers_count_as_numbers() -> None:
    assert scaled(("1", "2", "5"), "interval").tolist() == [0, 0.25, 1]
    assert scaled(("1", "2", "5"), "ordinal").tolist() == [0, 0.5, 1]
    assert scaled(("A", "tie", "B"), "interval").tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_kappas_of_pairs_equal_scikit_learn_and_their_mean_is_that_of_all(missing: float) -> None:
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
        assert row[name] == pytest.approx(1 - observed / (np.abs(first[:, None] - second) ** power).mean())


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # pingouin with pandas 3.1
@pytest.mark.parametrize(("n", "annotators"), [(6, 2), (40, 3), (25, 7)])
def test_intraclass_correlations_are_pingouins(n: int, annotators: int) -> None:
    labels = np.random.default_rng(n).integers(0, 5, (n, 1, annotators))
    long = pd.DataFrame(labels[:, 0].astype(float)).reset_index().melt("index")
    expected = pingouin.intraclass_corr(long, "index", "variable", "value").set_index("Type")["ICC"]
    for several, name in ((False, "ICC(A,1)"), (True, "ICC(A,k)")):
        made = icc(labels, np.arange(5.0), several)
        assert made.statistic(made.adds.sum(axis=0))[0] == pytest.approx(expected[name], abs=1e-9)


def test_the_mean_of_one_pair_has_the_interval_of_the_pair() -> None:
    annotations, options = scored(60, 2, seed=4), {"categories": CATEGORIES, "level": "interval", "resamples": 200}
    pair = annotator_pairs(annotations, cases_of(60), **options).iloc[0]
    overall = agreement(annotations, cases_of(60), **options).iloc[0]
    for name in (*COEFFICIENTS, "linear_kappa", "quadratic_kappa", "gwet_ac2", "icc_2_1", "icc_2_k"):
        for end in ENDS:
            assert overall[name + end] == pytest.approx(pair[name + end], abs=1e-9), name + end


def test_categories_of_ac1_are_those_in_use_anywhere_in_the_benchmark() -> None:
    annotations = annotations_of({"a": "AABBAATT", "b": "AABBABTT"})
    cases = cases_of(8, organ=["eye"] * 6 + ["lung"] * 2)
    rows = agreement(annotations, cases, by="organ", resamples=0).set_index(pd.Index(["all", "eye", "lung"]))
    assert (rows["n_categories"] == 3).all()
    chance = (7 / 12 * 5 / 12) * 2 / 2
    assert rows.loc["eye", "gwet_ac1"] == pytest.approx((5 / 6 - chance) / (1 - chance))
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


def test_a_dimension_without_annotations_is_one_row() -> None:
    annotations = annotations_of({"a": "AB", "b": "AA"})
    rows = agreement(annotations, cases_of(2), dimensions=["overall", "accuracy"], resamples=0)
    assert rows["dimension"].tolist() == ["overall", "accuracy"]
    assert rows["reason"].tolist()[1] == "there are no annotations"
    assert agreement(annotations.iloc[:0], cases_of(2), resamples=0).empty
    assert annotator_pairs(annotations.iloc[:0], cases_of(2)).empty


def test_consensus_beside_annotators_is_nobodys_vote() -> None:
    people = {"a": "AABTA", "b": "AABBB"}
    first = agreement(annotations_of(people), cases_of(5), resamples=50)
    second = agreement(annotations_of({**people, "consensus": "AABAA"}), cases_of(5), resamples=50)
    pd.testing.assert_frame_equal(first, second)


def test_pairs_that_cannot_be_compared_are_counted_and_left_out_of_the_mean() -> None:
    annotations = annotations_of({"a": "AABBAB", "b": "AABBBA", "c": "A-----", "d": "----AA", "e": "----AA"})
    pairs = annotator_pairs(annotations, cases_of(6), resamples=100).set_index(["annotator_1", "annotator_2"])
    assert pairs.loc[("a", "c"), "n_cases"] == 1
    assert pairs.loc[("a", "c"), ["percent_agreement", "cohen_kappa"]].isna().all()
    assert "fewer than two" in pairs.loc[("a", "c"), "reason"]
    assert pairs.loc[("d", "e"), "percent_agreement"] == 1
    assert "one category" in pairs.loc[("d", "e"), "reason"]
    row = agreement(annotations, cases_of(6), resamples=100).iloc[0]
    assert row["n_pairs"] == pairs["cohen_kappa"].notna().sum()
    assert row["n_pairs_undefined"] == pairs["cohen_kappa"].isna().sum()
    assert row["cohen_kappa"] == pytest.approx(pairs["cohen_kappa"].mean())


def test_subfields_have_their_own_pairs() -> None:
    annotations = annotations_of({"a": "AABB--", "b": "AAB---", "c": "---BAB", "d": "----AA"})
    cases = cases_of(6, organ=["eye"] * 3 + ["lung"] * 3)
    shown = annotator_pairs(annotations, cases, by="organ", resamples=0).groupby("subfield")
    names = {name: list(zip(of["annotator_1"], of["annotator_2"], strict=True)) for name, of in shown}
    assert names == {"eye": [("a", "b")], "lung": [("a", "c"), ("c", "d")]}


@pytest.mark.parametrize(("n", "said"), [(18, "share fewer than 20"), (40, "approximate intervals"), (60, None)])
def test_two_who_share_few_cases_have_no_interval_or_a_remark(n: int, said: str | None) -> None:
    words = {"a": "AB" * (n // 2), "b": "AB" * (n // 2 - 2) + "BABB"}
    for table in (annotator_pairs, agreement):
        row = table(annotations_of(words), cases_of(n), resamples=100).iloc[0]
        assert np.isnan(row["cohen_kappa_low"]) == (n < 20)
        assert said in row["reason"] if said else pd.isna(row["reason"])


def test_one_cluster_gives_no_interval_and_clusters_widen_it() -> None:
    generator = np.random.default_rng(1)
    truth = np.repeat(generator.choice(list("AB"), 20), 10)
    easy = np.repeat(generator.random(20) < 0.5, 10)
    letters = ["".join(np.where(easy, truth, generator.choice(list("AB"), 200))) for _ in range(3)]
    annotations = annotations_of(dict(zip("abc", letters, strict=True)))
    cases = cases_of(200, cluster=list(np.repeat(np.arange(20), 10)), site=["x"] * 200)
    rows = {name: agreement(annotations, cases, cluster=name).iloc[0] for name in ("case_id", "cluster", "site")}
    for name in COEFFICIENTS:
        width = {key: row[f"{name}_high"] - row[f"{name}_low"] for key, row in rows.items()}
        assert width["cluster"] > 1.3 * width["case_id"]
        assert np.isnan(width["site"])
        assert rows["cluster"][name] == rows["case_id"][name]
    assert "fewer than two clusters" in rows["site"]["reason"]


def test_agreement_on_every_case_is_not_certainty() -> None:
    """Thirty of thirty: the percent agreement has Wilson's interval, the coefficients have none and say why."""
    row = agreement(annotations_of(dict.fromkeys("ab", "AB" * 15)), cases_of(30), resamples=100).iloc[0]
    assert 0.8 < row["percent_agreement_low"] < 0.9
    assert row["krippendorff_alpha"] == 1
    assert np.isnan(row["krippendorff_alpha_low"])
    assert "the cases do not differ" in row["reason"]


letters = st.sampled_from("ABT-")
units = st.lists(st.tuples(letters, letters, letters, letters), min_size=3, max_size=9)


def of_units(units: list[str]) -> pd.DataFrame:
    """Annotations from one word a case, one letter an annotator."""
    return annotations_of({f"r{i}": "".join(column) for i, column in enumerate(zip(*units, strict=True))})


@given(units, st.permutations(range(4)), st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_who_annotated_in_which_order_and_which_answer_was_a_means_nothing(
    table: list[tuple[str, ...]], annotators: list[int], random: object
) -> None:
    words = ["".join(unit) for unit in table]
    first = agreement(of_units(words), cases_of(len(table)), resamples=0)
    mixed = ["".join(unit[i] for i in annotators).translate(str.maketrans("AB", "BA")) for unit in table]
    random.shuffle(mixed)
    pd.testing.assert_frame_equal(first, agreement(of_units(mixed), cases_of(len(table)), resamples=0), rtol=1e-9)


def labelled(categories: tuple[str, ...], **meta: object) -> Benchmark:
    """Three annotators near a score from 1 to 10, of which the labels are the given names."""
    generator, lowest_first = np.random.default_rng(3), sorted(categories, key=lambda name: (len(name), name))
    truth = generator.integers(1, 11, 60)
    rows = [
        (f"c{i}", who, "overall", lowest_first[int(np.clip(score + generator.integers(-1, 2), 1, 10)) - 1])
        for i, score in enumerate(truth)
        for who in "xyz"
    ]
    annotations = pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"])
    return Benchmark(BenchmarkMeta("t", "general", ("overall",), categories, **meta), cases_of(60), annotations)


def test_numbers_order_as_numbers_whatever_order_is_stated() -> None:
    """Sorted as text, 10 stands beside 1, and the ordinal alpha was .56."""
    numbers = tuple(map(str, range(1, 11)))
    alphas = [
        analyze(labelled(names), None, "agreement", level="ordinal", resamples=0)["krippendorff_alpha"].iloc[0]
        for names in (numbers, tuple(sorted(numbers)))
    ]
    assert alphas[0] == alphas[1] > 0.9


def test_ordinal_statistics_need_a_known_order() -> None:
    words = tuple("k" * length for length in range(1, 11))
    with pytest.raises(InputError, match=r"the order of the labels .* is not known; in benchmark.toml list them"):
        analyze(labelled(words), None, "agreement", level="ordinal")
    stated = labelled(words, level="ordinal")
    assert analyze(stated, None, "agreement", resamples=0)["krippendorff_alpha"].iloc[0] > 0.9
    assert analyze(labelled(words), None, "agreement", resamples=0)["linear_kappa"].isna().all()


def test_bad_input_is_refused() -> None:
    annotations = annotations_of({"a": "AB", "b": "AA"})
    with pytest.raises(InputError, match="column choice: 'B' is not one of"):
        agreement(annotations, cases_of(2), categories=["A", "C"])
    with pytest.raises(InputError, match="column case_id: 'c1' is not one of"):
        agreement(annotations, cases_of(1))


def test_the_sentence_says_which_agreement_it_is_and_where_others_are() -> None:
    rows = agreement(annotations_of({"a": "AABBTA" * 10, "b": "AABBTB" * 10}), cases_of(60))
    said = TABLES["agreement"].says(rows)
    assert said.startswith("Overall, two annotators give a case the same label 83% of the time (60 cases, 2 annotators")
    assert "the table ceiling compares one person with the majority of the others" in said
    nothing = agreement(annotations_of({"consensus": "AB"}), cases_of(2))
    assert "cannot be measured" in TABLES["agreement"].says(nothing)
