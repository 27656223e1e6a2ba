"""The folder: the published shape, the same bytes from a seed, votes and texts that follow the planted quality."""

import re
from collections.abc import Callable
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.benchmarks.audit.splits import check_split
from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.demo import scenes
from mrb_lib.demo.annotators import ANNOTATORS
from mrb_lib.demo.responders import RESPONDERS
from mrb_lib.tables.schema import CASES, CHOICES, DEPARTMENTS, DIMENSIONS, ORGAN_DEPARTMENT, ORGANS
from mrb_lib.verdicts.orders import to_shown_frame

Write = Callable[..., Path]


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_published_shape(published: Benchmark) -> None:
    cases = published.cases
    assert len(cases) == 1026
    assert set(cases["organ"]) == set(ORGANS)
    assert set(cases["department"]) == set(DEPARTMENTS)
    assert (cases["department"] == cases["organ"].map(ORGAN_DEPARTMENT)).all()
    assert cases["organ"].value_counts().min() >= 30
    assert published.meta.dimensions == DIMENSIONS
    assert set(published.annotations["dimension"]) == set(DIMENSIONS)
    assert published.annotations["annotator"].nunique() == 3
    assert set(cases["model_a"]) == set(cases["model_b"]) == {responder.name for responder in RESPONDERS}
    assert len(RESPONDERS) == 12
    assert cases["dataset"].nunique() == 4
    assert cases["question_type"].nunique() == 7


def test_same_seed_gives_the_same_bytes_and_another_seed_does_not(written: Write) -> None:
    first, again, other = written("a", cases=15, seed=3), written("b", cases=15, seed=3), written("c", cases=15, seed=4)
    assert _contents(first) == _contents(again)
    assert load(first).fingerprint() != load(other).fingerprint()


def test_larger_benchmark_begins_with_the_smaller_one(small: Path, written: Write) -> None:
    part = written("part", cases=20, seed=7)
    whole, begin = load(small), load(part)
    pd.testing.assert_frame_equal(whole.cases.head(20), begin.cases)
    kept = whole.annotations[whole.annotations["case_id"].isin(begin.cases["case_id"])]
    pd.testing.assert_frame_equal(kept.reset_index(drop=True), begin.annotations)
    truth = pd.read_parquet(small / "truth.parquet").head(20 * len(DIMENSIONS))
    pd.testing.assert_frame_equal(truth, pd.read_parquet(part / "truth.parquet"))
    assert all(whole.images[name] == begin.images[name] for name in begin.images)


def test_its_split_has_no_leak(small: Path) -> None:
    check_split(load(small))
    assert not [finding for finding in audit(small) if finding.column in ("split", "fold")]


@pytest.mark.parametrize("n", [1, 13])
def test_small_sizes_show_as_many_organs_as_they_can(written: Write, n: int) -> None:
    benchmark = load(written("few", cases=n))
    assert benchmark.cases["organ"].nunique() == len(benchmark.cases) == len(benchmark.images) == n


def test_everything_says_simulated(published: Benchmark) -> None:
    meta = published.meta
    assert meta.kind == "simulated" and "SIMULATED" in meta.name and "SIMULATED" in meta.description
    assert meta.extra == {"seed": 0, "cases": 1026}
    assert published.cases["dataset"].str.startswith("simulated-").all()
    assert published.cases["case_id"].str.startswith("sim-").all()


def test_truth_is_kept_apart_from_the_cases(published: Benchmark, truth: pd.DataFrame) -> None:
    # The box of the lesion is for the probe that hides it: it travels with the cases, and no judge is shown it.
    assert set(published.cases.columns) - {"box"} <= {column.name for column in CASES}
    assert "box" not in to_shown_frame(published.cases.assign(order="AB", dimension="overall"))
    assert len(truth) == len(published.cases) * len(DIMENSIONS)
    assert not truth.duplicated(["case_id", "dimension"]).any()
    assert truth[["quality_a", "quality_b", "size", "count", "shape", "finding"]].notna().all(axis=None)


@pytest.fixture(scope="module")
def labels(published: Benchmark) -> pd.DataFrame:
    return gold(published)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_votes_follow_the_planted_quality(labels: pd.DataFrame, truth: pd.DataFrame, dimension: str) -> None:
    planted = truth[truth["dimension"] == dimension].set_index("case_id")
    votes = labels[labels["dimension"] == dimension].set_index("case_id")
    lead = votes["votes_a"] - votes["votes_b"]
    gap = (planted["quality_a"] - planted["quality_b"]).reindex(lead.index)
    assert np.corrcoef(lead, gap)[0, 1] > 0.7
    clear = gap.abs() > 1.5
    assert ((lead[clear] > 0) == (gap[clear] > 0)).mean() > 0.97


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_agreement_is_in_the_band_of_clinical_raters(published: Benchmark, dimension: str) -> None:
    votes = published.annotations.query("dimension == @dimension")
    codes = votes.assign(code=votes["choice"].map({c: float(k) for k, c in enumerate(CHOICES)}))
    units = codes.pivot(index="annotator", columns="case_id", values="code").to_numpy()
    alpha = krippendorff.alpha(reliability_data=units, level_of_measurement="nominal")
    assert 0.45 < alpha < 0.75


def test_ties_occur_and_are_the_minority_and_few_labels_are_missing(published: Benchmark) -> None:
    share = 1 - len(published.annotations) / (len(published.cases) * len(ANNOTATORS) * len(DIMENSIONS))
    assert 0.002 < share < 0.01
    ties = published.annotations["choice"].eq("tie").groupby(published.annotations["annotator"]).mean()
    assert ties.between(0.03, 0.35).all()
    assert ties.nunique() == len(ANNOTATORS)


def _difference(truth: pd.DataFrame, dimension: str) -> pd.Series:
    rows = truth[truth["dimension"] == dimension].set_index("case_id")
    return rows["quality_a"] - rows["quality_b"]


def test_no_question_names_the_finding_its_place_or_its_size(published: Benchmark, truth: pd.DataFrame) -> None:
    facts = truth.drop_duplicates("case_id").set_index("case_id")
    for case_id, question, kind in published.cases[["case_id", "question", "question_type"]].itertuples(index=False):
        row, text = facts.loc[case_id], question.lower()
        assert row["finding"] not in text
        assert row["site"].lower() not in text
        assert f"{row['size']} {row['unit']}" not in text
        if kind != "closed":
            assert not re.search(r"\b(left|right)\b(?! upper abdomen)", text)


def test_closed_questions_are_true_about_as_often_as_false(published: Benchmark, truth: pd.DataFrame) -> None:
    facts = truth.drop_duplicates("case_id").set_index("case_id")
    sided = published.cases[published.cases["question"].str.contains(r"patient's (?:left|right) side\?")]
    asked = sided["question"].str.extract(r"patient's (left|right) side\?")[0]
    agrees = asked.to_numpy() == facts.loc[sided["case_id"], "side"].to_numpy()
    assert 0.2 < agrees.mean() < 0.8


def test_responses_are_never_the_same_and_no_slot_of_a_text_is_left_open(published: Benchmark) -> None:
    cases = published.cases
    assert (cases["response_a"] != cases["response_b"]).all()
    both = pd.concat([cases["response_a"], cases["response_b"]])
    assert both.duplicated().mean() < 0.01
    assert (cases["model_a"] != cases["model_b"]).all()
    texts = pd.concat([both, cases["question"], cases["reference"].dropna()])
    assert not texts.str.contains(r"[{}]|\bNone\b|  |\b(?:a|an) (?:a|an)\b").any()


@pytest.mark.parametrize("fact", ["site", "size", "shape"])
def test_facts_in_the_text_of_the_more_accurate_response_match_the_truth(
    published: Benchmark, truth: pd.DataFrame, fact: str
) -> None:
    """Read from the text alone: where a fact is stated, the more accurate responses state the true one more often."""
    cases = published.cases.set_index("case_id")
    facts = truth.drop_duplicates("case_id").set_index("case_id")
    every_site = {site.name for view in scenes.views().values() for site in view.sites}
    sites = {name.format(side=side) for name in every_site for side in ("left", "right")}
    difference = _difference(truth, "accuracy")
    hits: dict[bool, list[bool]] = {True: [], False: []}
    for case_id, gap in difference.items():
        row = facts.loc[case_id]
        true = {"site": row["site"], "size": f" {row['size']} {row['unit']}", "shape": row["shape"]}[fact]
        for side, better in (("response_a", gap > 0), ("response_b", gap < 0)):
            main = re.split(r"second|Besides|In addition|Not to be missed|A further", cases.loc[case_id, side])[0]
            stated = {
                "site": lambda text: any(site in text for site in sites),
                "size": lambda text: re.search(r"\d+ (mm|micrometres)", text) is not None,
                "shape": lambda text: any(shape in text for shape in scenes.SHAPES),
            }[fact](main)
            if stated:
                hits[bool(better)].append(true in main)
    assert np.mean(hits[True]) > np.mean(hits[False]) + 0.15


def test_neither_side_nor_length_is_a_guide_to_quality(published: Benchmark, truth: pd.DataFrame) -> None:
    for dimension in truth["dimension"].unique():
        gap = _difference(truth, dimension)
        assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(len(gap))
    length = np.log(np.divide(*(published.cases[f"response_{side}"].str.split().str.len() for side in "ab")))
    assert abs(np.corrcoef(length, _difference(truth, "overall"))[0, 1]) < 0.25


def test_reference_states_the_truth(published: Benchmark, truth: pd.DataFrame) -> None:
    facts = truth.drop_duplicates("case_id").set_index("case_id")
    given = published.cases.dropna(subset=["reference"])
    assert 0.6 < len(given) / len(published.cases) < 0.8
    for case_id, text in given[["case_id", "reference"]].itertuples(index=False):
        row = facts.loc[case_id]
        assert row["site"] in text
        assert f"{row['size']} {row['unit']}" in text
        assert row["shape"] in text.lower()
