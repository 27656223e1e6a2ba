"""What was one benchmark's stays one benchmark's: cases, clusters, annotators and images are kept apart in a merge."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.case_digests import case_digests
from mrb_lib.benchmarks.merge import merge
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.cli.app import app
from mrb_lib.tables.errors import InputError

from .near_copies import bench


def _benchmark(
    name: str, kind: str = "clinical", dimensions: tuple[str, ...] = ("overall",), **more: object
) -> Benchmark:
    made = bench(
        [{"case_id": "1", "images": ["x.png"]}, {"case_id": "2", "images": []}],
        {"x.png": f"picture of {name}".encode()},
    )
    annotations = pd.DataFrame(
        [(case, who, dimension, "A") for case in "12" for who in ("Dr A", "consensus") for dimension in dimensions],
        columns=["case_id", "annotator", "dimension", "choice"],
    )
    meta = BenchmarkMeta(name, kind, dimensions, licence=f"licence of {name}")
    return replace(made, meta=meta, cases=made.cases.assign(**more), annotations=annotations)


def test_ids_annotators_clusters_and_images_are_kept_apart() -> None:
    one, two = _benchmark("one", cluster=["c", "d"]), _benchmark("two", cluster=["c", "c"])
    merged = merge({"one": one, "two": two})
    assert list(merged.cases["case_id"]) == ["one-1", "one-2", "two-1", "two-2"]
    assert merged.cases["cluster"].nunique() == 3
    assert set(merged.annotations["annotator"]) == {"one-Dr A", "two-Dr A", "consensus"}
    assert [merged.images[name] for names in merged.cases["images"] for name in names] == [
        b"picture of one",
        b"picture of two",
    ]
    assert len(merged.images) == 2 and set(merged.images) == {"one/x.png", "two/x.png"}
    assert len(gold(merged)) == len(gold(one)) + len(gold(two))


def test_the_content_of_a_case_is_the_same_as_before() -> None:
    one, two = _benchmark("one"), _benchmark("two")
    before = [*case_digests(one), *case_digests(two)]
    assert list(case_digests(merge({"one": one, "two": two}))) == before


def test_a_dataset_is_filled_where_none_is_stated_and_columns_of_one_are_null_in_the_other() -> None:
    one = _benchmark("one", dataset=["atlas", None], organ="eye")
    merged = merge({"one": one, "two": _benchmark("two")})
    assert list(merged.cases["dataset"]) == ["atlas", "one", "two", "two"]
    assert list(merged.cases["organ"].isna()) == [False, False, True, True]


def test_dimensions_are_joined_and_sources_listed() -> None:
    merged = merge({"one": _benchmark("one"), "two": _benchmark("two", dimensions=("accuracy", "overall"))})
    assert merged.meta.dimensions == ("overall", "accuracy")
    assert merged.meta.licence == "licence of one; licence of two"
    sources = merged.meta.extra["merged"]
    assert isinstance(sources, list) and [source["cases"] for source in sources] == [2, 2]


@pytest.mark.parametrize(
    ("kinds", "kind"),
    [
        (("clinical", "simulated"), "simulated"),
        (("general", "clinical"), "clinical"),
        (("general", "general"), "general"),
    ],
)
def test_what_is_partly_simulated_is_simulated(kinds: tuple[str, str], kind: str) -> None:
    assert merge({name: _benchmark(name, kinds[i]) for i, name in enumerate(("one", "two"))}).meta.kind == kind


def test_labels_of_several_kinds_are_refused() -> None:
    rating = _benchmark("two")
    annotations = rating.annotations.assign(choice="good")
    rating = replace(rating, meta=replace(rating.meta, categories=("poor", "good")), annotations=annotations)
    with pytest.raises(InputError, match="are not of one kind"):
        merge({"one": _benchmark("one"), "two": rating})
    with pytest.raises(InputError, match="at least two"):
        merge({"one": _benchmark("one")})


def test_by_the_command_and_back_from_disk(tmp_path: Path) -> None:
    for name in ("one", "two"):
        save(_benchmark(name, "simulated"), tmp_path / name)
    result = CliRunner().invoke(app, ["merge", str(tmp_path / "one"), str(tmp_path / "two"), str(tmp_path / "both")])
    assert result.exit_code == 0 and "4 SIMULATED cases of one, two" in result.output
    merged = load(tmp_path / "both")
    assert len(merged.cases) == 4 and merged.images["two/x.png"] == b"picture of two"
    again = CliRunner().invoke(app, ["merge", str(tmp_path / "one"), str(tmp_path / "one"), str(tmp_path / "twice")])
    assert isinstance(again.exception, InputError) and not (tmp_path / "twice").exists()
