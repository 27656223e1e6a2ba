"""Small SIMULATED benchmarks of ratings and rankings, made of the embedded benchmark's images."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.demo.build import write_demo
from mrb_lib.tables.schema import joined_labels
from mrb_lib.verdicts.store import load_verdicts, save_imported

RISK = ("No risk", "Low risk", "Moderate risk", "High risk")
MEANINGS = {
    "overall": "the harm that would follow if somebody acted on the response",
    "No risk": "nothing in it is wrong in a way that matters",
    "Low risk": "a slip that changes nothing for the patient",
    "Moderate risk": "may lead to a test or a delay that was not needed",
    "High risk": "may lead to harm: a finding missed, or a treatment that is wrong",
}


@cache
def _demo(n: int) -> Benchmark:
    """Drawn once, with its images in memory; nobody writes into it."""
    with TemporaryDirectory() as folder:
        write_demo(Path(folder), cases=n, seed=5)
        demo = load(folder)
        return replace(demo, images=dict(demo.images))


def write_rating(
    folder: Path,
    *,
    n: int = 12,
    categories: tuple[str, ...] = RISK,
    definitions: dict[str, str] | None = None,
    acceptable: tuple[str, ...] = RISK[:2],
) -> Path:
    """A rating by four categories of risk, three annotators and two judges: one is near gold, one is always safe."""
    demo, rng = _demo(n), np.random.default_rng(2)
    cases = demo.cases.drop(columns=["model_b"]).assign(response_b="")
    truth = np.arange(n) % len(categories)

    def near(spread: float) -> list[str]:
        drawn = np.clip(np.round(truth + rng.normal(0, spread, n)), 0, len(categories) - 1).astype(int)
        return [categories[place] for place in drawn]

    annotations = pd.concat(
        [
            pd.DataFrame({"case_id": cases["case_id"], "annotator": who, "dimension": "overall", "choice": near(0.5)})
            for who in ("Dr A", "Dr B", "Dr C")
        ]
    )
    meta = BenchmarkMeta(
        "risk of responses", "simulated", ("overall",), categories, "ordinal", "rating", acceptable,
        definitions=MEANINGS if definitions is None else definitions,
    )  # fmt: skip
    save(Benchmark(meta, cases, annotations.reset_index(drop=True), demo.images), folder / "bench")
    rows = []
    for judge, said in (("near", near(0.8)), ("always-safe", [categories[0]] * n)):
        for case, choice in zip(cases["case_id"], said, strict=True):
            shares = np.full(len(categories), 0.1 / max(1, len(categories) - 1))
            shares[categories.index(choice)] = 0.9
            rows.append((judge, case, "overall", "AB", 0, "none", choice, "ok", json.dumps(shares.tolist()),
                         float(shares @ np.arange(1, len(categories) + 1)), f"I say: {choice}"))  # fmt: skip
    names = ["judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "status", "p_categories", "score_a",
             "reply"]  # fmt: skip
    verdicts = pd.DataFrame(rows, columns=names)
    save_imported(
        verdicts, folder / "bench" / "runs", benchmark=meta.name, kind=meta.kind, source="simulated", ratings=categories
    )
    return folder / "bench"


ERRORS = ("wrong side", "omitted finding", "made-up finding", "overconfident")


def write_labels(folder: Path, *, n: int = 6, labels: tuple[str, ...] = ERRORS, annotated: bool = True) -> Path:
    """A rating of risk beside error categories, of which several may apply: annotators, and a judge that adds one."""
    bench = load(write_rating(folder, n=n))
    rng = np.random.default_rng(4)
    truth = rng.random((n, len(labels))) < 0.4
    ids = bench.cases["case_id"].tolist()
    choices = [joined_labels([name for name, one in zip(labels, row, strict=True) if one], labels) for row in truth]
    rows = pd.DataFrame(
        {"case_id": case, "annotator": who, "dimension": "errors", "choice": said}
        for case, said in zip(ids, choices, strict=True)
        for who in ("Dr A", "Dr B", "Dr C")
    )
    meta = replace(
        bench.meta, name="errors of responses", dimensions=("overall", "errors"), labels={"errors": labels},
        definitions={**MEANINGS, "errors": "what is wrong in it", labels[0]: "left where the image shows right"},
    )  # fmt: skip
    annotations = pd.concat([bench.annotations, rows], ignore_index=True)
    save(replace(bench, meta=meta, annotations=annotations if annotated else rows.head(0)), folder / "labels")
    said = truth | (np.arange(len(labels)) == 0)  # the judge gives the first label to every case
    verdicts = pd.concat([
        load_verdicts(folder / "bench" / "runs", bench.cases),
        pd.DataFrame({
            "judge": "near", "case_id": ids, "dimension": "errors", "order": "AB", "repeat": 0, "probe": "none",
            "choice": [joined_labels([name for name, one in zip(labels, row, strict=True) if one], labels)
                       for row in said],
            "status": "ok", "p_categories": [json.dumps(np.where(row, 0.75, 0.125).tolist()) for row in said],
        }),
    ])  # fmt: skip
    save_imported(
        verdicts, folder / "labels" / "runs", benchmark=meta.name, kind=meta.kind, source="simulated",
        ratings=meta.categories, labels=meta.labels,
    )  # fmt: skip
    return folder / "labels"


def _annotated_by_three(labels: Mapping[str, str]) -> pd.DataFrame:
    rows = [(case, who, "overall", choice) for case, choice in labels.items() for who in ("Dr A", "Dr B", "Dr C")]
    return pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"], dtype="str")


def write_ranking(folder: Path, *, ties: bool = False, k: int = 4, labels: Mapping[str, str] | None = None) -> Path:
    """Two items with all pairs of `k` responses each; labels are those of three people."""
    demo = _demo(2)
    rows = []
    for item, (_, case) in enumerate(demo.cases.iterrows()):
        for a, b in combinations(range(k), 2):
            rows.append(
                case.to_dict()
                | {"case_id": f"i{item}-{a}{b}", "item": f"i{item}", "response_a": f"Response number {a} of {item}.",
                   "response_b": f"Response number {b} of {item}.", "model_a": f"model-{a}", "model_b": f"model-{b}"}
            )  # fmt: skip
    meta = BenchmarkMeta("ranked", "simulated", ("overall",), ("A", "B", "tie") if ties else ("A", "B"))
    save(Benchmark(meta, pd.DataFrame(rows), _annotated_by_three(labels or {}), demo.images), folder / "bench")
    return folder / "bench"
