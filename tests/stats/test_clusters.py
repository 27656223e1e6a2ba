"""What cases are resampled by, and that every table and output says so."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import analyze
from mrb_lib.stats.clusters import n_clusters, resampling_unit
from tests.stats.small_tables import annotations_of, cases_of, verdicts_of

N = 60


def cycling(prefix: str, count: int, n: int = N) -> list[str]:
    return [f"{prefix}{i % count}" for i in range(n)]


IMAGES = [[f"{i % 15}.png"] for i in range(N)]


@pytest.mark.parametrize(
    ("columns", "cluster", "name", "units", "said"),
    [
        ({}, None, "case_id", N, "not clustered: 60 cases"),
        ({"question": cycling("q", 12)}, None, "question", 12,
         "clustered by question: 60 cases ask 12 different questions"),
        ({"question": cycling("q", 12)}, "question", "question", 12,
         "clustered by question: 60 cases ask 12 different questions"),
        ({"question": cycling("q", 12)}, "case_id", "case_id", N, "not clustered: 60 cases"),
        ({"question": cycling("q", 20), "item": cycling("i", 40)}, None, "question", 20, ""),
        ({"question": cycling("q", 20), "item": cycling("i", 30)}, None, "question x item", 20,
         "clustered by question: 60 cases ask 20 different questions, and by item: they hold 30 different items"),
        ({"question": cycling("q", 20), "item": cycling("i", 11)}, None, "item x question", 11, ""),
        ({"question": cycling("q", 20), "images": IMAGES}, None, "images x question", 15, ""),
        ({"question": cycling("q", 12), "images": IMAGES}, "images", "images", 15, ""),
        ({"question": cycling("q", 20), "dataset": cycling("s", 10)}, None, "question", 20, ""),
        ({"question": cycling("q", 60), "item": cycling("i", 3)}, None, "case_id", N,
         "not clustered: 60 cases; the column item has only 3 values, too few to cluster by"),
        ({"question": [*cycling("q", 12, 12), *["q0"] * 48]}, None, "case_id", N,
         "not clustered: 60 cases; one value of the column question holds 82% of the cases, too many to cluster by"),
        ({"question": cycling("q", 12), "cluster": cycling("p", 4)}, None, "cluster", 4,
         "clustered by cluster: 60 cases have 4 different values of cluster"),
        ({"question": cycling("q", 12), "cluster": [None] * N}, None, "question", 12, ""),
        ({"organ": cycling("o", 12)}, None, "case_id", N, ""),
        ({"organ": cycling("o", 6)}, "organ", "organ", 6,
         "clustered by organ: 60 cases have 6 different values of organ"),
    ],
)  # fmt: skip
def test_the_unit_is_the_coarsest_that_repeats_and_has_ten_members_and_says_so(
    columns: dict[str, list[object]], cluster: str | None, name: str, units: int, said: str
) -> None:
    unit = resampling_unit(cases_of(N, **{"question": cycling("q", N), **columns}), cluster)
    assert (unit.name, n_clusters(unit.codes), len(unit.codes)) == (name, units, N)
    assert said in ("", unit.statement)


def test_what_is_missing_is_alone_and_space_around_a_text_is_nothing() -> None:
    question = [*cycling("q", 12, 40), *[None] * 10, *[" "] * 5, *[" q0\n"] * 5]
    unit = resampling_unit(cases_of(N, question=question))
    assert n_clusters(unit.codes) == 12 + 15
    assert len(set(unit.codes[40:55])) == 15
    assert set(unit.codes[55:]) == {unit.codes[0]}
    no_images = resampling_unit(cases_of(N, images=[[] for _ in range(N)]))
    assert no_images.name == "case_id"


def asked_often() -> tuple[Benchmark, pd.DataFrame]:
    """Twelve questions of ten cases each, and two judges that are right or wrong by question."""
    n, rng = 120, np.random.default_rng(0)
    cases = cases_of(n, question=cycling("q", 12, n), organ=cycling("o", 2, n))
    by_question = {name: rng.random(12)[np.arange(n) % 12] for name in ("j1", "j2")}
    letters = {
        (j, o): "".join(np.where(rng.random(n) < by_question[j], "A", "B")) for j in by_question for o in ("AB", "BA")
    }
    annotations = annotations_of({name: "".join(np.where(rng.random(n) < 0.9, "A", "B")) for name in "abc"})
    return Benchmark(BenchmarkMeta("often", "general", ("overall",)), cases, annotations), verdicts_of(letters)


@pytest.mark.parametrize("table", ["accuracy", "significance", "agreement", "consistency", "bias", "power"])
def test_every_row_of_a_table_names_the_unit_and_is_made_by_it(table: str) -> None:
    made, by = asked_often(), {"by": "organ"} if table == "accuracy" else {}
    rows, named, apart = (
        analyze(*made, table, resamples=50, cluster=name, **by) for name in (None, "question", "case_id")
    )
    pd.testing.assert_frame_equal(rows, named)
    for frame, unit, count in ((rows, "question", 12), (apart, "case_id", 120)):
        assert set(frame["cluster"]) == {unit}
        assert "n_clusters" not in frame or frame["n_clusters"].max() == count


def test_images_are_the_same_where_their_bytes_are() -> None:
    """Each case has a file of its own name, of which there are only twelve different ones."""
    bench, verdicts = asked_often()
    named = [[f"{i}.png"] for i in range(len(bench.cases))]
    files = {f"{i}.png": f"{i % 12}".encode() for i in range(len(bench.cases))}
    bench = replace(bench, cases=bench.cases.drop(columns="question").assign(images=named), images=files)
    rows = analyze(bench, verdicts, "accuracy", resamples=50)
    assert set(rows["cluster"]) == {"images"}
    assert rows["n_clusters"].max() == 12
