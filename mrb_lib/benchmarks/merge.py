"""Several benchmarks as one: nothing of one is taken for something of another, and each is named as a source."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, LazyImages
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES, CONSENSUS, Kind

_OWN = ("case_id", "cluster", "item")


def merge(benchmarks: Mapping[str, Benchmark]) -> Benchmark:
    """One benchmark of the cases of several.

    Parameters
    ----------
    benchmarks : by short names, which keep their cases, clusters, items, annotators and images apart

    Returns
    -------
    Benchmark
        Ids are `NAME-ID`, annotators `NAME-ANNOTATOR` ("consensus" stays). The column `benchmark` tells the sources
        apart and is the domain of the table `transfer`; `dataset` is NAME where a case states none.
        `original_id` is the id in the first benchmark that had the case: probes draw by it.
        A column that only some have is null in the others. It is SIMULATED if one of them is, else clinical if one is.
        `merged` in `benchmark.toml` lists the sources; a rule of a split is not carried along, the splits are.

    Raises
    ------
    InputError
        There are fewer than two, or their labels are not of one kind.

    Notes
    -----
    Validated by tests/benchmarks/test_merge.py.
    """
    if len(benchmarks) < 2:
        raise InputError(
            "merge: name at least two benchmarks, each by a folder name of its own, and the folder to write."
        )
    metas = [benchmark.meta for benchmark in benchmarks.values()]
    _check_alike(metas)
    cases = pd.concat([_cases(name, each.cases) for name, each in benchmarks.items()], ignore_index=True)
    annotations = [_annotations(name, each.annotations) for name, each in benchmarks.items()]
    images = {f"{name}/{image}": (name, image) for name, each in benchmarks.items() for image in each.images}
    merged = LazyImages(images, lambda name: benchmarks[images[name][0]].images[images[name][1]])
    return Benchmark(_meta(benchmarks), cases, pd.concat(annotations, ignore_index=True), merged)


def _check_alike(metas: Sequence[BenchmarkMeta]) -> None:
    """Refuse benchmarks whose labels are not of one kind: all preferences, or ratings alike in all that tells them."""
    for meta in metas:
        if _kind(meta) != _kind(metas[0]):
            raise InputError(
                f"merge: the labels of {metas[0].name} ({metas[0].task}: {', '.join(metas[0].categories)}) and of "
                f"{meta.name} ({meta.task}: {', '.join(meta.categories)}) are not of one kind; merge those that are."
            )


def _kind(meta: BenchmarkMeta) -> object:
    return meta.is_preference or (meta.task, meta.categories, meta.level, meta.acceptable, dict(meta.labels))


def _cases(name: str, cases: pd.DataFrame) -> pd.DataFrame:
    own = {column: name + "-" + cases[column] for column in _OWN if column in cases}
    dataset = cases["dataset"].fillna(name) if "dataset" in cases else name
    images = cases["images"].map(lambda names: [f"{name}/{image}" for image in names])
    ids = cases["original_id"].fillna(cases["case_id"]) if "original_id" in cases else cases["case_id"]
    source = cases["benchmark"].fillna(name) if "benchmark" in cases else name
    return cases.assign(**own, benchmark=source, dataset=dataset, images=images, original_id=ids)


def _annotations(name: str, annotations: pd.DataFrame) -> pd.DataFrame:
    people = annotations["annotator"]
    kept_apart = (name + "-" + people).where(people != CONSENSUS, CONSENSUS)
    return annotations.assign(case_id=name + "-" + annotations["case_id"], annotator=kept_apart)


def _meta(benchmarks: Mapping[str, Benchmark]) -> BenchmarkMeta:
    metas = [benchmark.meta for benchmark in benchmarks.values()]
    kinds = {meta.kind for meta in metas}
    kind: Kind = "simulated" if "simulated" in kinds else "clinical" if "clinical" in kinds else "general"
    categories = metas[0].categories
    if metas[0].is_preference:
        categories = tuple(choice for choice in CHOICES if any(choice in meta.categories for meta in metas))
    sources = [
        {
            "name": name,
            "title": benchmark.meta.name,
            "kind": benchmark.meta.kind,
            "cases": len(benchmark.cases),
            **{key: getattr(benchmark.meta, key) for key in ("source", "licence", "revision")},
            **({"fingerprint": benchmark.fingerprint()} if benchmark.path is not None else {}),
        }
        for name, benchmark in benchmarks.items()
    ]
    texts: dict[str, Any] = {name: _joined(metas, name) for name in ("description", "source", "licence", "citation")}
    return replace(
        metas[0],
        name=" + ".join(meta.name for meta in metas),
        kind=kind,
        dimensions=tuple(dict.fromkeys(name for meta in metas for name in meta.dimensions)),
        categories=categories,
        revision="",
        extra={"merged": sources},
        **texts,
    )


def _joined(metas: Sequence[BenchmarkMeta], name: str) -> str:
    """What benchmarks say under a name, each text once."""
    return "; ".join(dict.fromkeys(text for meta in metas if (text := str(getattr(meta, name)))))
