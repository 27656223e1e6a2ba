"""Training records as `mrb train` writes them, for tests of what is made of them."""

import hashlib
from collections.abc import Iterable

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.case_digests import case_digests
from mrb_lib.verdicts.manifest import Manifest

BASE_REVISION = "sha256:base"


def record_of(
    benchmark: Benchmark,
    cases: Iterable[str],
    *,
    validation: Iterable[str] = (),
    related: Iterable[str] = (),
    **more: object,
) -> dict[str, object]:
    """The record of a judge that was trained on some cases of a benchmark."""
    digests = case_digests(benchmark)
    trained, stopped_by, others = list(cases), list(validation), list(related)
    of_trained = [str(digests[case]) for case in trained]
    return {
        "base": "path:base",
        "base_revision": BASE_REVISION,
        "method": "sft",
        "engine": "packed",
        "benchmark": {"name": benchmark.meta.name, "kind": benchmark.meta.kind, "split": None},
        "left_out": None,
        "cases": trained,
        "digests": of_trained,
        "validation": stopped_by,
        "validation_digests": [str(digests[case]) for case in stopped_by],
        "related": others,
        "related_digests": [str(digests[case]) for case in others],
        "cases_digest": hashlib.sha256("\n".join(sorted(of_trained)).encode()).hexdigest(),
        "recipe": {"swap": True, "reference": "keep", "n_cases": len(trained)},
        "settings": {},
        "curve": [],
        "started_from": None,
        **more,
    }


def manifest_of(judge: str, record: object = None, *, run_id: str = "", **spec: object) -> Manifest:
    """The manifest of a judge's run; without a record, of a judge that nobody trained."""
    provenance = {} if record is None else {"training": record}
    return Manifest(run_id or f"run-{judge}", judge, spec={"engine": "packed", **spec}, provenance=provenance)


def recipes_of(recipes: dict[str, dict[str, object]], **more: object) -> pd.DataFrame:
    """A row a judge, as `training_records` gives it; `n_cases` of the recipe is the number of training cases."""
    shared = {
        "bases": (), "base_revision": "sha256:base", "benchmark": "b", "benchmark_kind": "general", "method": "sft",
        "engine": "packed", "warm_up": None, "left_out_column": None, "left_out": None, "settings": {}, **more,
    }  # fmt: skip
    rows = [
        {**shared, "judge": judge, "n_cases": recipe.get("n_cases", 100), "recipe": recipe}
        for judge, recipe in recipes.items()
    ]
    texts = ("judge", "base_revision", "benchmark", "benchmark_kind", "method", "engine", "warm_up", "left_out_column",
             "left_out")  # fmt: skip
    return pd.DataFrame(rows).astype({**dict.fromkeys(texts, "str"), "n_cases": "Int64"})
