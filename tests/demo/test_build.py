"""What the folder holds: the published shape, the same bytes from the same seed, larger from smaller."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.demo import write_demo
from mrb_lib.demo.responders import RESPONDERS
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CASES, DEPARTMENTS, DIMENSIONS, ORGAN_DEPARTMENT, ORGANS
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


@pytest.mark.parametrize("n", [1, 13])
def test_small_sizes_show_as_many_organs_as_they_can(written: Write, n: int) -> None:
    benchmark = load(written("few", cases=n))
    assert benchmark.cases["organ"].nunique() == len(benchmark.cases) == len(benchmark.images) == n


@pytest.mark.parametrize(("options", "word"), [({"cases": 0}, "--cases 0"), ({"seed": -1}, "--seed -1")])
def test_impossible_sizes_and_seeds_are_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, int], word: str
) -> None:
    with pytest.raises(InputError, match=word):
        write_demo(tmp_path, **options)
    assert not any(tmp_path.iterdir())


def test_everything_says_simulated(published: Benchmark) -> None:
    meta = published.meta
    assert meta.kind == "simulated"
    assert "SIMULATED" in meta.name
    assert "SIMULATED" in meta.description
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
