"""LLMBar's case studies: the authors' statistics of every judge and prompt, in both orders (Zeng et al., ICLR 2024).

`kappa_False`, `kappa_True` and `kappa_average` of the published files are wrong
(verdict 2 was recoded to 0 while the label stayed 2) and are not compared;
`kappa_agreement` is compared where every verdict was parsed. The authors count two
null verdicts as equal and every item as presented, which the test adds back.
"""

import json
from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats.base import Imported
from mrb_lib.benchmarks.formats.published import read_llmbar
from mrb_lib.stats.analyze import analyze
from tests.stats.small_tables import annotator_pairs

SUBSETS = ("Negation", "Normal")
N_EVALUATORS = 24


@pytest.fixture(scope="module", params=SUBSETS)
def subset(request: pytest.FixtureRequest, reference_data: Path) -> Path:
    return reference_data / "llmbar_casestudy" / "Dataset" / "CaseStudy" / request.param


@pytest.fixture(scope="module")
def imported(subset: Path) -> Imported:
    return read_llmbar(subset)


@pytest.fixture(scope="module")
def published(subset: Path) -> dict[str, dict[str, float]]:
    files = sorted(subset.glob("evaluators/*/*/statistics.json"))
    assert len(files) == N_EVALUATORS
    return {
        f"{path.parts[-3]}/{path.parts[-2]}": {
            name: number(value) for name, value in json.loads(path.read_text()).items()
        }
        for path in files
    }


def number(value: str | float) -> float:
    """Read "58 / 59 = 98.30508474576271%" as 58 / 59, with all its digits."""
    return float(value.split("=")[-1].rstrip("%")) / 100 if isinstance(value, str) else value


def accuracies(imported: Imported, policy: str) -> dict[str, float]:
    rows = analyze(imported.benchmark, imported.verdicts, "accuracy", policy=policy, resamples=0, references=0)
    assert (rows["n_excluded"] == 0).all()
    return dict(zip(rows["judge"], rows["accuracy"], strict=True))


@pytest.mark.parametrize(
    ("policy", "name"),
    [("official", "correct_False"), ("balanced", "correct_average"), ("strict", "correct_both")],
)
def test_accuracy(imported: Imported, published: dict[str, dict[str, float]], policy: str, name: str) -> None:
    found = accuracies(imported, policy)
    assert found == pytest.approx({judge: values[name] for judge, values in published.items()}, abs=1e-6)


def test_accuracy_of_the_swapped_order(imported: Imported, published: dict[str, dict[str, float]]) -> None:
    swapped = imported.verdicts[imported.verdicts["order"] == "BA"]
    rows = analyze(imported.benchmark, swapped, "accuracy", resamples=0, references=0)
    found = dict(zip(rows["judge"], rows["accuracy"], strict=True))
    assert found == pytest.approx({judge: values["correct_True"] for judge, values in published.items()}, abs=1e-6)


def test_consistency(imported: Imported, published: dict[str, dict[str, float]]) -> None:
    rows = analyze(imported.benchmark, imported.verdicts, "consistency", resamples=0).set_index("judge")
    total = len(imported.benchmark.cases)
    null = imported.verdicts[imported.verdicts["choice"].isna()]
    both_null = null.groupby(["judge", "case_id"]).size().eq(2).groupby("judge").sum()
    compared = 0
    for judge, values in published.items():
        row = rows.loc[judge]
        equal = (row["consistency"] * row["n"] + both_null.get(judge, 0)) / total
        assert equal == pytest.approx(values["equal"], abs=1e-6), judge
        assert row["coverage"] == pytest.approx(row["n"] / total)
        assert row["tie_rate"] == 0, "nobody may answer tie"
        assert row["consistency_decisive"] == row["consistency"]
        if judge not in set(null["judge"]):
            own = imported.verdicts[imported.verdicts["judge"] == judge]
            orders = own.assign(annotator=own["order"])[["case_id", "annotator", "dimension", "choice"]]
            kappa = annotator_pairs(orders, imported.benchmark.cases, resamples=0)["cohen_kappa"].item()
            assert kappa == pytest.approx(values["kappa_agreement"], abs=1e-6), judge
            compared += 1
    assert compared > N_EVALUATORS / 2
