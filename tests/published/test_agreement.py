"""Agreement of real annotators (K-QA's physicians, PandaLM's and LLMFAO's people), and examples of papers and books.

Manes et al. (2024), a label set that is not a preference; Wang et al. (ICLR 2024); D. Ustalov, 124 annotators in an
incomplete design; K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C, with missing values:
.743 nominal, .815 ordinal, .849 interval. `gcl.csv` is 3 coders x nominal codes. Literals are recomputed values of the
reference folder's truths, which agree with the published ones to the digits that were published.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.formats.base import Imported
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats import intervals
from mrb_lib.stats.analyze import analyze
from tests.stats.small_tables import agreement, annotator_pairs, cases_of, estimated

EXACT = 1e-6
COEFFICIENTS = {
    "kqa": {
        "percent_agreement": (0.854637, 0.8279, 0.8814), "cohen_kappa": (0.720836, 0.6697, 0.7714),
        "fleiss_kappa": (0.718868, 0.6663, 0.7703), "krippendorff_alpha": (0.719103, 0.6666, 0.7705),
        "gwet_ac1": (0.803952, 0.7677, 0.8407),
    },
    "pandalm": {
        "percent_agreement": (0.91992, 0.9059, 0.9333), "cohen_kappa": (0.864209, 0.8405, 0.8865),
        "fleiss_kappa": (0.864175, 0.8404, 0.8864), "krippendorff_alpha": (0.864221, 0.8405, 0.8865),
        "gwet_ac1": (0.886445, 0.8664, 0.9057),
    },
}  # fmt: skip
PAIRS = {"kqa": (0.669636, 0.761185, 0.731687), "pandalm": (0.852023, 0.878944, 0.861661)}
"""Cohen's kappa of the first annotator with the second and the third, and of these two."""


@pytest.mark.parametrize(("name", "n_cases"), [("kqa", 399), ("pandalm", 999)])
def test_three_annotators(request: pytest.FixtureRequest, name: str, n_cases: int) -> None:
    rows = analyze(request.getfixturevalue(name).benchmark, None, "agreement", cluster="case_id")
    row = rows.iloc[0]
    assert (row["n_cases"], row["n_annotators"]) == (n_cases, 3)
    for coefficient, (value, low, high) in COEFFICIENTS[name].items():
        assert row[coefficient] == pytest.approx(value, abs=EXACT)
        ends = [row[f"{coefficient}_low"], row[f"{coefficient}_high"]]
        assert ends == pytest.approx([low, high], abs=0.01), coefficient
    pairs = rows.dropna(subset="annotator_2").sort_values(["annotator_1", "annotator_2"])
    assert pairs["cohen_kappa"].tolist() == pytest.approx(PAIRS[name], abs=EXACT)


def test_many_annotators_of_few_cases_each(llmfao: Imported) -> None:
    """Alpha of LLMFAO, where a tie is a label of its own and where it is in the middle."""
    row = analyze(llmfao.benchmark, None, "agreement", pairwise=0, resamples=100).iloc[0]
    assert (row["n_cases"], row["n_unpaired"], row["n_annotators"]) == (2124, 15, 124)
    assert row["percent_agreement"] == pytest.approx(0.528562, abs=EXACT)
    assert row["krippendorff_alpha"] == pytest.approx(0.290595, abs=EXACT)
    assert row["krippendorff_alpha_low"] < 0.290595 < row["krippendorff_alpha_high"]
    ordinal = analyze(llmfao.benchmark, None, "agreement", level="ordinal", pairwise=0, resamples=0).iloc[0]
    assert ordinal["krippendorff_alpha"] == pytest.approx(0.287553, abs=EXACT)


@pytest.mark.parametrize(
    ("name", "counts", "unanimous"),
    [
        ("kqa", {"Neutral": 234, "Entailment": 153, "Contradiction": 12}, 312),
        ("pandalm_as_tie", {"B": 472, "A": 422, "tie": 105}, 879),
        ("llmfao", {"tie": 772, "A": 559, "B": 500}, None),
    ],
)
def test_the_authors_majority(
    request: pytest.FixtureRequest, name: str, counts: dict[str, int], unanimous: int | None
) -> None:
    benchmark = request.getfixturevalue(name).benchmark
    assert gold(benchmark)["choice"].value_counts().to_dict() == counts
    assert unanimous is None or gold(benchmark, "unanimous")["choice"].notna().sum() == unanimous


def read(path: Path) -> Benchmark:
    """A matrix of coders (rows) by units (columns) as a benchmark; blanks are missing."""
    wide = pd.read_csv(path, header=None, dtype="str")
    long = wide.melt(ignore_index=False, var_name="case_id", value_name="choice").reset_index(names="annotator")
    long = long.dropna().astype("str").assign(dimension="overall")
    ids = [str(name) for name in wide.columns]
    cases = pd.DataFrame({"case_id": ids, "question": "", "response_a": "", "response_b": ""})
    meta = BenchmarkMeta(path.stem, "general", ("overall",), tuple(sorted(set(long["choice"]))))
    return Benchmark(meta, cases, long)


@pytest.mark.parametrize(
    ("file", "level", "alpha", "n"),
    [
        ("codings", "nominal", 0.743421, (11, 1)),
        ("codings", "ordinal", 0.815388, (11, 1)),
        ("codings", "interval", 0.849107, (11, 1)),
        ("gcl", "nominal", 0.083333, None),
    ],
)
def test_codings(reference_data: Path, file: str, level: str, alpha: float, n: tuple[int, int] | None) -> None:
    row = analyze(read(reference_data / "evalica" / f"{file}.csv"), None, "agreement", level=level).iloc[0]
    assert row["krippendorff_alpha"] == pytest.approx(alpha, abs=EXACT)
    assert n is None or (row["n_cases"], row["n_unpaired"]) == n


# Fleiss (1971), Psychological Bulletin 76, table 1: the diagnoses of 30 patients by six psychiatrists each; `diagnoses`
# of the R package irr, whose kappa is .4302445.
DIAGNOSES = (
    "444444 222555 233335 555555 222444 113333 333355 113334 114444 555555 144444 124444 222333 144444 224445 "
    "333335 111455 111112 224444 133555 555555 244444 224555 114444 144445 222224 111155 224444 133333 555555"
)
# Shrout & Fleiss (1979), Psychological Bulletin 86, table 2: six targets by four judges.
TARGETS = ((9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7))


def of_cases(rows: Sequence[Sequence[object]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Annotations and cases from one row of labels a case."""
    found = [(f"c{i}", f"a{j}", "overall", str(label)) for i, row in enumerate(rows) for j, label in enumerate(row)]
    return pd.DataFrame(found, columns=["case_id", "annotator", "dimension", "choice"]), cases_of(len(rows))


def of_table(table: Sequence[Sequence[int]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Annotations and cases from a table of two annotators' labels."""
    return of_cases([place for place, count in np.ndenumerate(table) for _ in range(count)])


def error_of(tables: tuple[pd.DataFrame, pd.DataFrame], name: str, categories: Sequence[str], level: str) -> float:
    """The standard error by n; the estimator's (CR2) is by n - 1."""
    n = len(tables[1])
    return float(estimated(*tables, name, categories=categories, level=level).error[0] * np.sqrt((n - 1) / n))


def test_fleiss_1971() -> None:
    tables = of_cases(DIAGNOSES.split())
    row = agreement(*tables, categories=list("12345")).iloc[0]
    assert row["fleiss_kappa"] == pytest.approx(0.430, abs=5e-4)
    assert row["percent_agreement"] == pytest.approx(0.5556, abs=5e-5)


def test_shrout_and_fleiss_1979() -> None:
    """ICC(2,1) .29 and ICC(2,4) .62.

    The interval of the R package psych, .019 to .761, is by the F distribution, of annotators who are a sample. No
    table has it: intervals are about the annotators as they are.
    """
    row = agreement(*of_cases(TARGETS), categories=[str(i) for i in range(1, 11)], level="interval").iloc[0]
    assert row["icc_2_1"] == pytest.approx(0.29, abs=5e-3)
    assert row["icc_2_k"] == pytest.approx(0.62, abs=5e-3)
    assert row["annotators_per_case"] == pytest.approx(4)


@pytest.mark.parametrize(
    ("name", "value", "low", "high"),
    [("cohen_kappa", 0.6765, 0.5046, 0.8484), ("linear_kappa", 0.7222, 0.5570, 0.8874)],
)
def test_kappa_and_weighted_kappa_of_fleiss_levin_and_paik(name: str, value: float, low: float, high: float) -> None:
    """Statistical Methods for Rates and Proportions, 3rd ed., table 18.1 (p. 599): 100 diagnoses by two.

    The book has .68 with standard error .087; the further digits, weighted kappa and limits are statsmodels'.
    """
    table = [[75, 1, 4], [5, 4, 1], [0, 0, 10]]
    row = annotator_pairs(*of_table(table), categories=list("012"), level="ordinal", resamples=0).iloc[0]
    assert row[name] == pytest.approx(value, abs=6e-5)
    error = error_of(of_table(table), name, "012", "ordinal")
    assert error == pytest.approx((high - low) / (2 * 1.959964), abs=3e-5)


def test_gwet_paradox() -> None:
    """Gwet (2002), Kappa statistic is not satisfactory: 118, 5, 2, 0 of 125; kappa -0.023, AC1 0.941."""
    row = annotator_pairs(*of_table([[118, 5], [2, 0]]), categories=["0", "1"], resamples=0).iloc[0]
    assert row["percent_agreement"] == pytest.approx(0.944)
    assert row["cohen_kappa"] == pytest.approx(-0.0234, abs=5e-5)
    assert row["gwet_ac1"] == pytest.approx(0.9408, abs=5e-5)
    assert row["prevalence_index"] == pytest.approx(118 / 125)
    assert row["bias_index"] == pytest.approx(3 / 125)


@pytest.mark.parametrize(
    ("name", "value", "error", "factor"),
    [
        ("cohen_kappa", 0.7964094, 0.05891072, 1),
        ("fleiss_kappa", 0.7962397, 0.05905473, 1),
        ("gwet_ac1", 0.8493305, 0.04321747, 1),
        ("krippendorff_alpha", 0.7972585, 0.05905473, 200 / 199),
        ("percent_agreement", 0.89, 0.03128898, 1),
    ],
)
def test_three_abstractors_as_in_irrcac(name: str, value: float, error: float, factor: float) -> None:
    """`cont3x3abstractors` of the R package irrCAC, as github.com/kgwet/irrCAC prints it in its README.

    Its errors of tables divide by n, those of raw data by n - 1. The error of alpha here is that of the estimate, in
    which 1 - alpha has Krippendorff's correction for small samples, 199 / 200 with 200 labels; irrCAC leaves that out
    of the error.
    """
    table = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
    row = agreement(*of_table(table), categories=list("012"), resamples=0).iloc[0]
    assert row[name] == pytest.approx(value, abs=5e-8)
    found = error_of(of_table(table), name, "012", "nominal")
    assert found * factor == pytest.approx(error, rel=2e-6)


@pytest.mark.parametrize(
    ("table", "percent", "kappa"),
    [
        ([[40, 9], [6, 45]], 0.85, 0.70),
        ([[80, 10], [5, 5]], 0.85, 0.32),
        ([[45, 15], [25, 15]], 0.60, 0.13),
        ([[25, 35], [5, 35]], 0.60, 0.26),
    ],
)
def test_the_paradoxes_of_feinstein_and_cicchetti(table: list[list[int]], percent: float, kappa: float) -> None:
    """J Clin Epidemiol 43 (1990), 543-549: the same agreement with a high and a low kappa."""
    row = annotator_pairs(*of_table(table), categories=["0", "1"], resamples=0).iloc[0]
    assert row["percent_agreement"] == pytest.approx(percent)
    assert row["cohen_kappa"] == pytest.approx(kappa, abs=5e-3)
    pabak = 2 * percent - 1
    prevalence, bias = row["prevalence_index"], row["bias_index"]
    assert prevalence == pytest.approx(abs(table[0][0] - table[1][1]) / 100)
    assert bias == pytest.approx(abs(table[0][1] - table[1][0]) / 100)
    made = (pabak - prevalence**2 + bias**2) / (1 - prevalence**2 + bias**2)
    assert row["cohen_kappa"] == pytest.approx(made)


# The intervals that irrCAC gives, at its four digits.
PANDALM = {"fleiss_kappa": (0.8415, 0.8869), "krippendorff_alpha": (0.8415, 0.8869), "gwet_ac1": (0.8672, 0.9057)}
KQA = {"fleiss_kappa": (0.6666, 0.7711), "krippendorff_alpha": (0.6668, 0.7714), "gwet_ac1": (0.7669, 0.8410)}


@pytest.mark.parametrize(("name", "expected"), [("pandalm", PANDALM), ("kqa", KQA)])
def test_errors_of_real_annotators_give_the_intervals_of_irrcac(
    request: pytest.FixtureRequest, name: str, expected: dict[str, tuple[float, float]]
) -> None:
    """Its intervals are by Student's t; those of the table are percentiles of the bootstrap, and as wide to 10%.

    The error of alpha differs by the correction for small samples, as in `test_three_abstractors_as_in_irrcac`.
    """
    benchmark = request.getfixturevalue(name).benchmark
    people, categories = benchmark.annotations, benchmark.meta.categories
    row = agreement(people, benchmark.cases, categories=categories, cluster="case_id").iloc[0]
    for coefficient, bounds in expected.items():
        e = estimated(people, benchmark.cases, coefficient, categories=categories)
        factor = len(people) / (len(people) - 1) if coefficient == "krippendorff_alpha" else 1
        found = intervals.t(replace(e, error=e.error * factor))
        assert [found.low[0], found.high[0]] == pytest.approx(bounds, abs=5.1e-5), coefficient
        width = row[f"{coefficient}_high"] - row[f"{coefficient}_low"]
        assert width == pytest.approx(bounds[1] - bounds[0], rel=0.1), coefficient
