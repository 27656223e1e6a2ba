"""Steps in the table `ratings` against a plain loop, and against planted rates of hits and false alarms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import analyze
from mrb_lib.stats.tables.ratings import NO_F1, NO_PRECISION, NO_RECALL
from mrb_lib.tables.errors import InputError

META = BenchmarkMeta(
    "steps", "simulated", ("correctness",), ("wrong", "poor", "right"), "ordinal", "rating", ("right",)
)
KEY = {"judge": "j", "dimension": "correctness", "order": "AB", "probe": "none"}


def made(
    labels: list[str | None], items: list[str], said: dict[int, list[str | None]]
) -> tuple[Benchmark, pd.DataFrame]:
    """A benchmark with one annotator; said are the verdicts by repeat, "-" where there is none."""
    cases = pd.DataFrame({"case_id": [f"c{i}" for i in range(len(labels))], "item": items})
    cases["step"] = cases.groupby("item").cumcount() + 1
    cases = cases.assign(question=cases["item"], response_a="a step", response_b="", images=[[] for _ in items])
    annotations = pd.DataFrame({"case_id": cases["case_id"], "annotator": "a", "dimension": "correctness"})
    annotations = annotations.assign(choice=pd.Series(labels, dtype="str")).dropna()
    frames = [
        pd.DataFrame({**KEY, "case_id": cases["case_id"], "repeat": repeat, "choice": choices})
        for repeat, choices in said.items()
    ]
    verdicts = pd.concat(frames, ignore_index=True).query("choice != '-'")
    status = np.where(verdicts["choice"].isna(), "unparsed", "ok")
    return Benchmark(META, cases, annotations), verdicts.astype({"choice": "str"}).assign(status=status)


def row_of(benchmark: Benchmark, verdicts: pd.DataFrame, **options: object) -> pd.Series:
    given = {"resamples": 200, **options}
    rows = analyze(benchmark, verdicts, "ratings", **given)
    return rows[rows["part"] == "step"].iloc[0]


def drawn(n_items: int, hit: float, alarm: float, seed: int, **shares: float) -> tuple[list[str], list[str], list[str]]:
    """Items of 3 to 8 steps of which 20% are wrong, and what a judge with these rates says."""
    rng = np.random.default_rng(seed)
    items = [f"i{i}" for i in range(n_items) for _ in range(rng.integers(3, 9))]
    wrong = rng.random(len(items)) < 0.2
    flagged = rng.random(len(items)) < np.where(wrong, hit, alarm)
    names = np.array(["right", "wrong", "poor"])
    kind = rng.integers(1, 3, size=(2, len(items)))
    return list(names[wrong * kind[0]]), items, list(names[flagged * kind[1]])


def test_the_table_equals_a_plain_loop() -> None:
    labels, items, one = drawn(60, 0.7, 0.1, 1)
    rng = np.random.default_rng(2)
    gold: list[str | None] = [None if rng.random() < 0.03 else label for label in labels]
    said: dict[int, list[str | None]] = {
        repeat: [
            str(rng.choice([choice, "poor"])) if (u := rng.random()) > 0.08 else None if u > 0.03 else "-"
            for choice in one
        ]
        for repeat in range(2)
    }
    row = row_of(*made(gold, items, said))
    sums: dict[str, list[list[float]]] = {}
    for place in range(len(items)):
        for choices in said.values():
            if gold[place] is None or choices[place] == "-":
                continue
            wrong, flagged = gold[place] != "right", choices[place] in ("wrong", "poor")
            hit = wrong and flagged
            add(sums, "coverage", place, choices[place] is not None, 1)
            add(sums, "step_accuracy", place, choices[place] is not None and wrong == flagged, 1)
            add(sums, "precision", place, hit, flagged)
            add(sums, "recall", place, hit, wrong)
            add(sums, "f1", place, 2 * hit, wrong + flagged)
    loops = {name: ratio(sums[name]) for name in sums} | items_by_loop(gold, items, said)
    for name, value in loops.items():
        assert row[name] == pytest.approx(value, abs=1e-12), name
    assert row["n"] == len({place for place, *_ in sums["coverage"]})
    assert row["n"] + row["n_excluded"] == len(items)


def items_by_loop(gold: list[str | None], items: list[str], said: dict[int, list[str | None]]) -> dict[str, float]:
    sums: dict[str, list[list[float]]] = {}
    for item in dict.fromkeys(items):
        places = [i for i, name in enumerate(items) if name == item]
        first = next((k for k, i in enumerate(places) if gold[i] in ("wrong", "poor")), None)
        until = places if first is None else places[: first + 1]
        for choices in said.values():
            if any(gold[i] is None or choices[i] == "-" for i in until):
                continue
            own = next((k for k, i in enumerate(places) if choices[i] in ("wrong", "poor")), None)
            right = own == first and all(choices[i] is not None for i in until)
            add(sums, "first_error_accuracy", places[0], right, 1)
    return {name: ratio(each) for name, each in sums.items()}


def add(sums: dict[str, list[list[float]]], name: str, place: int, numerator: float, denominator: float) -> None:
    sums.setdefault(name, []).append([place, float(numerator), float(denominator)])


def ratio(rows: list[list[float]]) -> float:
    """The ratio of sums of the means over the repeats of each place."""
    mean = pd.DataFrame(rows, columns=["place", "top", "bottom"]).groupby("place").mean().sum()
    return float(mean["top"] / mean["bottom"])


def test_planted_rates_are_recovered_within_their_intervals() -> None:
    """Of 40 draws, the truth lies within the 95% interval in 33 at least; fewer happen once in a thousand."""
    held = dict.fromkeys(("recall", "precision", "step_accuracy", "first_error_accuracy", "f1"), 0)
    hit, alarm, n_draws, lengths = 0.5, 0.3, 40, np.arange(3, 9)
    before = [(0.8 * (1 - alarm)) ** np.arange(length) for length in lengths]  # the steps before a first error
    first = np.mean([(each * 0.2 * hit).sum() + each[-1] * 0.8 * (1 - alarm) for each in before])
    precision = 0.2 * hit / (0.2 * hit + 0.8 * alarm)
    truth = {
        "recall": hit,
        "precision": precision,
        "step_accuracy": 0.2 * hit + 0.8 * (1 - alarm),
        "first_error_accuracy": first,
        "f1": 2 * precision * hit / (precision + hit),
    }
    for seed in range(n_draws):
        labels, items, said = drawn(80, hit, alarm, seed)
        row = row_of(*made(labels, items, {0: said}), resamples=100)
        for name, value in truth.items():
            held[name] += row[f"{name}_low"] <= value <= row[f"{name}_high"]
    assert min(held.values()) >= 33, held


def test_a_judge_without_errors_to_find_has_nulls_and_reasons() -> None:
    benchmark, verdicts = made(["right"] * 6, ["a", "a", "a", "b", "b", "b"], {0: ["right"] * 6})
    row = row_of(benchmark, verdicts)
    assert row[["recall", "precision", "f1"]].isna().all()
    assert (row["step_accuracy"], row["first_error_accuracy"], row["n_items"]) == (1, 1, 2)
    assert row["step_accuracy_low"] < 1
    for text in (NO_RECALL, NO_PRECISION, NO_F1):
        assert text in row["reason"]


def test_a_judge_trained_on_every_step_keeps_its_row() -> None:
    benchmark, verdicts = made(*(drawn(5, 0.8, 0.1, 4)[:2]), {0: drawn(5, 0.8, 0.1, 4)[2]})
    seen = pd.DataFrame({"judge": "j", "case_id": benchmark.cases["case_id"]})
    row = row_of(benchmark, verdicts, training=seen)
    assert (row["n"], row["n_seen"], row["n_excluded"]) == (0, len(verdicts), len(verdicts))
    assert "was trained on every case that it judged" in row["reason"]
    assert row_of(benchmark, verdicts, training=seen.head(3))["n_seen"] == 3


def test_the_first_error_must_be_theirs_and_nothing_before_it_unanswered() -> None:
    labels = ["right", "wrong", "right"] * 4
    items = [name for name in "abcd" for _ in range(3)]
    said = ["right", "poor", "wrong", "wrong", "wrong", "right", None, "wrong", "right", "right", "wrong", None]
    row = row_of(*made(labels, items, {0: said}), resamples=100)
    assert row["first_error_accuracy"] == 0.5  # a and d; b is too early, c does not say what step 1 is
    assert row["n_items"] == 4


def test_without_acceptable_categories_the_lowest_is_erroneous() -> None:
    labels = ["right", "poor", "wrong", "right"]
    benchmark, verdicts = made(labels, list("aabb"), {0: labels})
    plain = Benchmark(BenchmarkMeta(**{**vars(META), "acceptable": ()}), benchmark.cases, benchmark.annotations)
    row = row_of(plain, verdicts)
    assert (row["n_positive"], row["n_flagged"]) == (1, 1)


def test_without_acceptable_categories_nominal_ones_are_refused() -> None:
    labels = ["right", "poor", "wrong", "right"]
    benchmark, verdicts = made(labels, list("aabb"), {0: labels})
    meta = BenchmarkMeta(**{**vars(META), "acceptable": (), "level": "nominal"})
    plain = Benchmark(meta, benchmark.cases, benchmark.annotations)
    with pytest.raises(
        InputError, match=r"categories are nominal.*of steps without error as acceptable in benchmark.toml"
    ):
        row_of(plain, verdicts)
    assert row_of(plain, verdicts, level="ordinal")["n_positive"] == 1
    named = Benchmark(BenchmarkMeta(**{**vars(META), "level": "nominal"}), benchmark.cases, benchmark.annotations)
    assert row_of(named, verdicts)["n_positive"] == 2


def test_intervals_rest_on_items_even_where_they_are_few() -> None:
    labels, items, said = drawn(6, 0.8, 0.1, 3)
    assert row_of(*made(labels, items, {0: said}))["cluster"] == "item"
    assert row_of(*made(labels, items, {0: said}))["n_clusters"] == 6


def test_rows_of_steps_are_there_where_cases_are_steps() -> None:
    benchmark, verdicts = made(["right"] * 2, ["a", "a"], {0: ["right"] * 2})
    without = Benchmark(META, benchmark.cases.drop(columns="step"), benchmark.annotations)
    assert analyze(without, verdicts, "ratings", resamples=50)["part"].tolist() == ["rating"]
    assert analyze(benchmark, verdicts, "ratings", resamples=50)["part"].tolist() == ["rating", "step"]
    pairs = Benchmark(BenchmarkMeta("pairs", "general", ("correctness",)), benchmark.cases, benchmark.annotations)
    with pytest.raises(InputError, match="table ratings: it is about single responses"):
        row_of(pairs, verdicts.assign(choice="A"))
