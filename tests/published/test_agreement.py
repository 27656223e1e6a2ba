"""Agreement of real annotators: K-QA's physicians, PandaLM's and LLMFAO's people, and Krippendorff's examples.

Manes et al. (2024), a label set that is not a preference; Wang et al. (ICLR 2024); D. Ustalov, 124 annotators in an
incomplete design; K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C, with missing values:
.743 nominal, .815 ordinal, .849 interval. `gcl.csv` is 3 coders x nominal codes. Literals are recomputed values of the
reference folder's truths, which agree with the published ones to the digits that were published.
"""

from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.formats.base import Imported
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.analyze import analyze

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
