import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.votes import gold
from mrb_lib.review.explorer.data import explorer_data
from mrb_lib.review.failures.index import build_index, open_index
from mrb_lib.review.failures.kinds import failure_kinds
from mrb_lib.stats.panel import as_panel
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import POLICIES
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.store import load_verdicts, run_folders, save_imported
from tests.review.judged import DIMENSIONS, N, judged
from tests.stats.small_tables import rows_of


@pytest.fixture(scope="module")
def benchmark() -> Benchmark:
    return judged()[0]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    verdicts = judged()[1]
    verdicts["reply"] = "because of " + verdicts["case_id"]
    probed = verdicts.iloc[:8].assign(probe="swapped", choice=verdicts["choice"].replace({"A": "B", "B": "A"}))
    save_imported(pd.concat([verdicts, probed]), tmp_path / "runs", benchmark="b", kind="", source="s")
    return tmp_path / "runs"


def test_an_index_holds_what_the_runs_and_the_statistics_say(benchmark: Benchmark, runs: Path, tmp_path: Path) -> None:
    table = load_verdicts(runs)
    plain, cases, labels = table[table["probe"] == "none"], benchmark.cases, gold(benchmark)
    panel = as_panel(plain, cases["case_id"], DIMENSIONS)
    swapped = as_panel(table[table["probe"] == "swapped"], cases["case_id"], DIMENSIONS)
    for policy in POLICIES:
        index = open_index(build_index(runs, benchmark, tmp_path / "index", policy=policy))
        with pytest.raises(InputError, match=f"the index is of the policy {policy}"):
            explorer_data(benchmark, index, policy=next(name for name in POLICIES if name != policy))
        pd.testing.assert_frame_equal(index.gold, labels)
        hard = rows_of("difficulty", cases, plain, labels, dimensions=list(DIMENSIONS), policy=policy)
        expected = failure_kinds(panel, labels, cases, policy=policy, difficulty=hard, probed={"swapped": swapped})
        found = index.kinds
        assert list(found.grids) == list(expected.grids) and all(
            isinstance(one, np.memmap) for one in found.grids.values()
        )
        for name, grid in expected.grids.items():
            np.testing.assert_array_equal(found.grid(name), grid, err_msg=name)
        np.testing.assert_array_equal(found.changed, expected.changed)
        assert (found.judges, found.dimensions) == (panel.judges, panel.dimensions)
        assert found.probes == expected.probes == ["swapped"]
        assert (expected.changed > 0).any()
    of_case = load_verdicts(runs, replies=True).query("case_id == 'c01'").reset_index(drop=True)
    pd.testing.assert_frame_equal(index.verdicts(1)[list(of_case.columns)], of_case, check_dtype=False)
    assert set(index.verdicts(0)["probe"]) == {"none", "swapped"}


def test_it_is_made_once_and_again_only_when_something_changed(
    benchmark: Benchmark, runs: Path, tmp_path: Path
) -> None:
    told: list[tuple[str, int, int]] = []
    first = build_index(runs, benchmark, tmp_path / "index", lambda *step: told.append(step))
    assert told == [("verdicts", i, 3) for i in (1, 2, 3)] + [("difficulty", i, 1) for i in (0, 1)]
    told.clear()
    assert build_index(runs, benchmark, tmp_path / "index", lambda *step: told.append(step)) == first
    assert not told
    opened = open_index(first)
    part = part_paths(run_folders(runs)[0])[0]
    os.utime(part, ns=(1, 1))
    second = build_index(runs, benchmark, tmp_path / "index")
    changed = replace(benchmark, annotations=benchmark.annotations.assign(choice="A"))
    third = build_index(runs, changed, tmp_path / "index")
    assert len({first, second, third}) == 3
    assert list((tmp_path / "index").iterdir()) == [third]
    assert opened.kinds.grid("judged").any()


def test_a_build_that_fails_leaves_nothing(benchmark: Benchmark, runs: Path, tmp_path: Path) -> None:
    part = part_paths(run_folders(runs)[2])[0]
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(InputError, match="truncated"):
        build_index(runs, benchmark, tmp_path / "index")
    assert list((tmp_path / "index").iterdir()) == []


def test_a_benchmark_without_runs_has_an_index_and_other_labels_are_never_gold(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    index = open_index(build_index(None, benchmark, tmp_path / "index"))
    assert index.verdicts(0).empty
    assert 0 < index.kinds.grid("split")[-1].any(axis=0).sum() < N
    words = benchmark.annotations["choice"].replace({"A": "yes", "B": "no", "tie": "maybe"})
    meta = replace(benchmark.meta, categories=("yes", "no", "maybe"))
    other = replace(benchmark, meta=meta, annotations=benchmark.annotations.assign(choice=words))
    kinds = open_index(build_index(None, other, tmp_path / "other")).kinds
    assert kinds.grid("split").any()
    assert not kinds.grid("labelled").any()
