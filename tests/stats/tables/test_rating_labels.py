"""Labels in the table `ratings` against scikit-learn, and dimensions of several labels wherever a benchmark is read."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import precision_recall_fscore_support

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.merge import merge
from mrb_lib.benchmarks.meta import meta_from
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.analysis import read_panels
from mrb_lib.stats.analyze import TABLES, analyze
from mrb_lib.stats.columns import ALIKE, NO_CASES, ONE_CLUSTER
from mrb_lib.stats.tables.ratings import NO_F1
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import joined_labels
from mrb_lib.verdicts.store import load_verdicts, save_imported
from tests.stats.small_tables import annotations_of, cases_of, part_of, verdicts_of

LABELS = ('fabricated, "finding"', "<b>omission</b>", "wrong side: {{ x }}", "None of it | 1,5", "Ω\u202e")
RAW = {
    "name": "errors", "kind": "simulated", "dimensions": ["risk", "errors"], "categories": ["low", "high"],
    "level": "ordinal", "task": "rating", "labels": {"errors": list(LABELS)},
}  # fmt: skip
META = meta_from(RAW, "benchmark.toml")
IMPORTED = {
    "benchmark": "errors", "kind": "simulated", "source": "s", "ratings": META.categories, "labels": META.labels,
}  # fmt: skip
MEASURES = ("precision", "recall", "f1")


def label_rows(benchmark: Benchmark, verdicts: Any, **options: Any) -> pd.DataFrame:
    return part_of(analyze(benchmark, verdicts, "ratings", **options), "label")


def text(applies: np.ndarray | str | None) -> str | None:
    """A choice of labels by whether each applies, or by their places: 0, 1, ..."""
    if applies is None:
        return None
    places = map(int, applies) if isinstance(applies, str) else np.flatnonzero(applies)
    return joined_labels([LABELS[i] for i in places], LABELS)


def drawn(n: int = 120, seed: int = 0) -> tuple[Benchmark, pd.DataFrame]:
    """Cases with three annotators, of whom some leave a case out, and a judge."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, len(LABELS))) < 0.3

    def noisy(flip: float) -> list[str]:
        return [text(row) for row in truth ^ (rng.random(truth.shape) < flip)]

    def votes(choices: Callable[[], list[str]]) -> dict[str, list[str]]:
        return {name: [each if rng.random() < 0.9 else "-" for each in choices()] for name in "xyz"}

    risk = annotations_of(votes(lambda: list(rng.choice(["low", "high"], n))), "risk")
    annotations = pd.concat([risk, annotations_of(votes(lambda: noisy(0.1)), "errors")], ignore_index=True)
    said = [verdicts_of({("j", "AB"): each}, name) for each, name in ((["low"] * n, "risk"), (noisy(0.2), "errors"))]
    cases = cases_of(n, organ=np.where(np.arange(n) % 2, "eye", "lung"), images=[[] for _ in range(n)])
    verdicts = pd.concat(said, ignore_index=True).assign(status="ok")
    return Benchmark(META, cases.assign(response_b=""), annotations), verdicts


def matrices(benchmark: Benchmark, verdicts: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """By a plain loop: what applies to each annotated case, NaN where half say so, and what the judge says."""
    of_errors = (each[each["dimension"] == "errors"] for each in (benchmark.annotations, verdicts))
    votes, given = (each.groupby("case_id")["choice"].agg(list) for each in of_errors)
    known = [case for case in benchmark.cases["case_id"] if case in votes]

    def share(texts: list[str | None], name: str) -> float:
        return float(np.mean([isinstance(each, str) and name in each.split("; ") for each in texts]))

    truth = [[decided(share(votes[case], name)) for name in LABELS] for case in known]
    return np.array(truth), np.array([[share(given[case], name) for name in LABELS] for case in known]) > 0


def decided(share: float) -> float:
    return float("nan") if share == 0.5 else float(share > 0.5)


def test_the_table_equals_scikit_learn() -> None:
    benchmark, verdicts = drawn()
    verdicts.loc[verdicts.index[121::40], ["choice", "status"]] = [None, "unparsed"]
    rows = label_rows(benchmark, verdicts, resamples=100)
    truth, said = matrices(benchmark, verdicts)
    known = np.isfinite(truth)
    assert 0 < (~known).sum() < known.sum()

    def scores(own: np.ndarray | tuple[np.ndarray, int]) -> tuple[float, ...]:
        return precision_recall_fscore_support(truth[own], said[own], average="binary", zero_division=np.nan)[:3]

    expected = [*(scores((own, i)) for i, own in enumerate(known.T)), scores(known)]
    assert rows["label"].tolist()[:-1] == list(LABELS)
    assert rows["label"].isna().tolist() == [False] * len(LABELS) + [True]
    np.testing.assert_allclose(rows[list(MEASURES)].to_numpy(), expected, atol=1e-12)
    assert rows["n"].tolist() == [*known.sum(axis=0), known.any(axis=1).sum()]
    assert (rows["n"] + rows["n_excluded"] == 120).all()
    assert rows["n_undecided"].tolist() == [*(~known).sum(axis=0), (~known).sum()]
    assert rows["n_positive"].tolist() == [*np.nansum(truth, axis=0), np.nansum(truth)]
    assert rows["n_flagged"].tolist() == [*(said & known).sum(axis=0), (said & known).sum()]
    assert (rows["coverage"] < 1).all()
    for name in MEASURES:
        assert (rows[f"{name}_low"] < rows[name]).all()
        assert (rows[name] < rows[f"{name}_high"]).all()


def test_undefined_measures_are_null_with_a_reason() -> None:
    row = label_rows(*small([["0"], ["1"]] * 15, ["0", ""] * 15), resamples=100).iloc[4]
    assert row["label"] == LABELS[4]
    assert row[list(MEASURES)].isna().all()
    assert NO_F1 in row["reason"]


def test_planted_rates_are_recovered_within_their_intervals() -> None:
    """A judge that flips each of the annotators' labels with probability .2: recall .8, and precision by Bayes."""
    held = {"recall": 0, "precision": 0}
    for seed in range(20):
        rng = np.random.default_rng(1000 + seed)
        benchmark, verdicts = drawn(80, seed)
        truth, _ = matrices(benchmark, verdicts)
        said = (truth == 1) ^ (rng.random(truth.shape) < 0.2)
        annotated = set(benchmark.annotations.loc[benchmark.annotations["dimension"] == "errors", "case_id"])
        errors = verdicts["dimension"].eq("errors") & verdicts["case_id"].isin(annotated)
        verdicts.loc[errors, "choice"] = [text(row) for row in said]
        rows = label_rows(benchmark, verdicts, resamples=100)
        row = rows[rows["label"].isna()].iloc[0]
        share = np.nanmean(truth)
        known = {"recall": 0.8, "precision": 0.8 * share / (0.8 * share + 0.2 * (1 - share))}
        for name, value in known.items():
            held[name] += row[f"{name}_low"] <= value <= row[f"{name}_high"]
    assert min(held.values()) >= 16, held


def small(votes: list[list[str]], said: list[str | None], **cases: object) -> tuple[Benchmark, pd.DataFrame]:
    """Cases by their annotators' choices, and what a judge says, by the places of labels."""
    benchmark, verdicts = drawn(len(said))
    people = {f"r{k}": [text(each[k]) if k < len(each) else "-" for each in votes] for k in range(max(map(len, votes)))}
    verdicts = verdicts[verdicts["dimension"] == "errors"].assign(choice=[text(each) for each in said])
    return Benchmark(META, benchmark.cases.assign(**cases), annotations_of(people, "errors")), verdicts


def together(benchmark: Benchmark, verdicts: pd.DataFrame) -> pd.Series:
    """The row of all labels together."""
    rows = label_rows(benchmark, verdicts, resamples=400)
    return rows[rows["label"].isna()].iloc[0]


def test_intervals_of_all_labels_count_every_decision_and_clusters() -> None:
    """Sixty times a label applies, of which 45 are found: Wilson's interval is [.628, .842] where no case has two."""
    found = np.arange(60) % 4 > 0
    votes = [[str(i % 3)] for i in range(60)]
    said = [str(i % 3) if found[i] else "" for i in range(60)]
    row = together(*small(votes, said))
    assert row["recall"] == 0.75
    assert row[["recall_low", "recall_high"]].tolist() == pytest.approx([0.628, 0.842], abs=0.025)
    copies = together(*small(votes * 4, said * 4, cluster=[f"s{i}" for i in range(60)] * 4))
    assert copies[["recall_low", "recall_high"]].tolist() == pytest.approx([0.628, 0.842], abs=0.03)
    assert copies["n_clusters"] == 60


def test_a_null_interval_has_its_reason() -> None:
    row = together(*small([["0"]] * 10, ["0", ""] * 5, cluster=["same"] * 10))
    assert row["recall"] == 0.5
    assert row[["recall_low", "recall_high"]].isna().all()
    assert f"no interval of precision, recall, f1: {ONE_CLUSTER}" in row["reason"]
    rows = label_rows(*small([["0"]] + [[""]] * 9, ["0"] * 9 + [""]), resamples=100)
    assert rows[["recall", "recall_low"]].iloc[0].isna().tolist() == [False, True]
    assert f"no interval of recall: {ALIKE}" in rows["reason"].iloc[0]


def test_the_best_judge_of_labels_is_named_where_another_differs_significantly() -> None:
    benchmark, verdicts = drawn()
    own = verdicts[verdicts["dimension"] == "errors"]
    shuffled = own.assign(judge="k", choice=np.random.default_rng(0).permutation(own["choice"]))
    rows = label_rows(benchmark, pd.concat([verdicts, shuffled]), resamples=100)
    assert rows[rows["label"].isna()].set_index("judge")["with_best"].to_dict() == {"j": True, "k": False}
    assert "j has the highest F1 of labels" in TABLES["ratings"].says(rows)


def test_an_even_split_is_undecided() -> None:
    rows = label_rows(*small([["0", "0"], ["0", ""], ["01", "0"], ["", ""]], ["0", "0", "0", "0"]))
    first, second = rows.iloc[0], rows.iloc[1]
    assert (first["n"], first["n_undecided"], first["n_excluded"], first["n_positive"]) == (3, 1, 1, 2)
    assert first["precision"] == pytest.approx(2 / 3)
    assert (second["n"], second["n_undecided"], second["n_positive"]) == (3, 1, 0)
    assert rows.loc[rows["label"].isna(), ["n", "n_undecided"]].to_numpy().tolist() == [[4, 2]]


def test_without_annotations_rows_are_null_with_a_reason() -> None:
    benchmark, verdicts = drawn(20)
    rows = analyze(replace(benchmark, annotations=benchmark.annotations.head(0)), verdicts, "ratings", resamples=40)
    assert rows["part"].tolist() == ["rating", *["label"] * (len(LABELS) + 1)]
    assert (rows["n"] == 0).all()
    assert rows[["mean_difference", "weighted_kappa", *MEASURES]].isna().all(axis=None)
    assert rows["reason"].eq(NO_CASES).all()


def test_a_judge_trained_on_every_case_keeps_its_rows() -> None:
    benchmark, verdicts = drawn(20)
    both = pd.concat([verdicts, verdicts.assign(judge="k")])
    seen = pd.DataFrame({"judge": "j", "case_id": benchmark.cases["case_id"]})
    rows = label_rows(benchmark, both, resamples=40, training=seen).groupby("judge")
    own, other = rows.get_group("j"), rows.get_group("k")
    assert len(own) == len(other) == len(LABELS) + 1
    assert (own["n_seen"] == 20).all()
    assert (own["n_excluded"] == 20).all()
    assert (other["n_seen"] == 0).all()
    assert own[list(MEASURES)].isna().all(axis=None)
    assert own["reason"].str.contains("was trained on every case that it judged").all()


def test_other_tables_leave_these_dimensions_out() -> None:
    benchmark, verdicts = drawn()
    assert set(gold(benchmark)["dimension"]) == {"risk"}
    for given in (verdicts, read_panels(benchmark, [verdicts])):
        for table in ("accuracy", "agreement"):
            rows = analyze(benchmark, given, table, resamples=40)
            assert set(rows["dimension"].dropna()) == {"risk"}, table
    panel = read_panels(benchmark, [verdicts])["none"]
    assert panel.dimensions == ["risk"]
    rows = (label_rows(benchmark, given, resamples=40) for given in (verdicts, {"none": panel}))
    pd.testing.assert_frame_equal(*rows)


def test_other_tables_say_where_several_labels_are() -> None:
    message = "dimension 'errors' has several labels a case; choose another, or the table ratings."
    with pytest.raises(InputError, match=message):
        analyze(*drawn(20), "accuracy", dimension="errors", resamples=40)


def test_each_dimension_has_rows_of_its_own_kind() -> None:
    benchmark, verdicts = drawn(20)
    for dimension, part in (("risk", "rating"), ("errors", "label")):
        rows = analyze(benchmark, verdicts, "ratings", dimension=dimension, resamples=40)
        assert (set(rows["dimension"]), set(rows["part"])) == ({dimension}, {part})
    without = analyze(benchmark.of_one_choice, verdicts.query("dimension == 'risk'"), "ratings", resamples=40)
    assert set(without["part"]) == {"rating"}


def test_the_folder_and_the_runs_hold_what_was_put_in(tmp_path: Path) -> None:
    benchmark, verdicts = drawn(20)
    save(benchmark, tmp_path / "bench")
    read = load(tmp_path / "bench")
    assert read.meta == META
    assert meta_from(RAW, "x").labels == {"errors": LABELS}
    assert "errors = [" in (tmp_path / "bench" / "benchmark.toml").read_text()
    pd.testing.assert_frame_equal(read.annotations, benchmark.annotations)
    assert not [finding for finding in audit(tmp_path / "bench") if finding.severity == "error"]
    save_imported(verdicts, tmp_path / "runs", **IMPORTED)
    again = load_verdicts(tmp_path / "runs", read.cases)
    pd.testing.assert_frame_equal(label_rows(read, again), label_rows(benchmark, verdicts))
    assert merge({"a": read, "b": read}).meta.labels == META.labels


@pytest.mark.parametrize(
    "choice",
    ["", "none; <b>omission</b>", "omission", "<b>omission</b>;Ω\u202e", "<b>omission</b>; <b>omission</b>", "high",
     f"{LABELS[1]}; {LABELS[0]}", "x" * 10**6, "; " * 10**5],
)  # fmt: skip
def test_an_unknown_or_disordered_choice_is_refused_in_one_line(tmp_path: Path, choice: str) -> None:
    benchmark, verdicts = drawn(5)
    row = int(np.flatnonzero(benchmark.annotations["dimension"] == "errors")[0])
    benchmark.annotations.loc[row, "choice"] = choice
    case = benchmark.annotations["case_id"][row]
    where = rf"row {row + 1}, column choice \(case {case}\): .* is not a choice of labels"
    with pytest.raises(InputError, match=where) as caught:
        save(benchmark, tmp_path / "bench")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700
    verdicts.loc[5, "choice"] = choice
    with pytest.raises(InputError, match="is not a choice of labels of errors"):
        save_imported(verdicts, tmp_path / "runs", **IMPORTED)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"labels": ["a"]}, "key labels: ['a'] must be a table"),
        ({"labels": {"errors": "a"}}, "key errors: 'a' must be a list"),
        ({"labels": {"errors": []}}, "key errors: a list of names is needed"),
        ({"labels": {"errors": ["a", "a"]}}, "none of them empty or there twice"),
        ({"labels": {"taste": ["a"]}}, "key labels: 'taste' are not some of risk, errors"),
        ({"labels": {"errors": ["a;b"]}}, "key errors: 'a;b' is not one line"),
        ({"labels": {"errors": ["None"]}}, "key errors: 'None' is not one line"),
        ({"labels": {"errors": [" a"]}}, "key errors: ' a' is not one line"),
        ({"labels": {"errors": ["a\rb"]}}, "is not one line"),
        ({"labels": {"errors": [f"l{i}" for i in range(27)]}}, "27 are too many"),
        ({"labels": {"errors": ["a"], "risk": ["b"]}}, "not all"),
        ({"dimensions": ["risk\n", "errors"]}, "a name is not one short line"),
        ({"task": "preference", "categories": ["A", "B"]}, "acceptable and labels: only a rating has some"),
    ],
)  # fmt: skip
def test_labels_that_cannot_be_are_refused_in_one_line(changed: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        meta_from({**RAW, **changed}, "benchmark.toml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_merging_benchmarks_of_other_labels_is_refused() -> None:
    one, _ = drawn(5)
    other = replace(one, meta=replace(META, labels={"errors": LABELS[:2]}), annotations=one.annotations.iloc[:0])
    with pytest.raises(InputError, match="are not of one kind"):
        merge({"a": one, "b": other})
