"""What a trained judge says of itself: `training.json`, by which tables know what it has seen, and a model card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.build.training.loop import CurvePoint
from mrb_lib.build.training.recipe import Recipe
from mrb_lib.judges.local.reward import HEAD_FILE
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import WeightsSource
from mrb_lib.tables.schema import SIMULATED
from mrb_lib.verdicts.manifest import library_versions
from mrb_lib.verdicts.training import cases_digest


def training_record(
    *,
    base: str,
    source: WeightsSource,
    recipe: Recipe,
    benchmark: Benchmark,
    engine: str,
    prompt: str,
    case_ids: Sequence[str],
    validation_ids: Sequence[str],
    training_part: Sequence[str],
    digests: pd.Series,
    curve: Sequence[CurvePoint],
    plan: str,
    started_from: Mapping[str, object] | None,
    max_pixels: int | None,
    left_out: Mapping[str, int],
) -> dict[str, object]:
    """The content of `training.json`, in JSON values.

    Parameters
    ----------
    base, source : the model that was trained further
    engine, prompt : how the judge is asked
    case_ids, validation_ids : trained on, and used to choose among evaluations
    training_part : what the cases trained on were drawn from; the others may share a cluster with them
    digests : of all cases of the benchmark, by id
    plan : digest of everything that shapes the weights
    started_from : the record of the judge that was trained further, where it is one
    left_out : labels that were not learnt from, by the reason
    """
    seen = digests[list(case_ids)].tolist()
    related = sorted(set(training_part) - set(case_ids))
    return {
        "base": base.rstrip("/").rpartition("/")[2] if base.startswith("path:") else base,
        "base_revision": source.revision,
        "method": recipe.method,
        "engine": engine,
        **({"head": HEAD_FILE} if engine == "reward" else {}),
        "prompt": prompt,
        "benchmark": {
            "name": benchmark.meta.name,
            "kind": benchmark.meta.kind,
            "split": benchmark.meta.extra.get("split"),
        },
        "left_out": dict([recipe.left_out]) if recipe.left_out else None,
        "cases": list(case_ids),
        "digests": seen,
        "cases_digest": cases_digest(seen),
        "validation": list(validation_ids),
        "validation_digests": digests[list(validation_ids)].tolist(),
        "related": related,
        "related_digests": digests[related].tolist(),
        "recipe": {**recipe.stated(), "prompt": prompt or None, "n_cases": len(case_ids)},
        "left_out_labels": dict(left_out),
        "max_pixels": max_pixels,
        "versions": library_versions(),
        "curve": [asdict(point) for point in curve],
        "plan": plan,
        "started_from": dict(started_from) if started_from is not None else None,
    }


def model_card(name: str, record: Mapping[str, object], entry: Entry) -> str:
    """A model card in Markdown: what the judge was made of, how it did on validation cases, and what it is not for."""
    simulated = isinstance(bench := record["benchmark"], Mapping) and bench.get("kind") == "simulated"
    recipe = record["recipe"] if isinstance(record["recipe"], Mapping) else {}
    lines = [
        f"# {name}",
        "",
        *([f"**Trained on {SIMULATED} data: it knows nothing of medicine.**", ""] if simulated else []),
        f"A judge of pairs of responses to questions about medical images, trained from {record['base']} "
        f"({record['base_revision']}; licence: {entry.licence or 'see there'}) by `mrb train`.",
        "",
        "| | |",
        "|---|---|",
        f"| method | {record['method']}{', LoRA' if recipe.get('lora') else ''}; engine `{record['engine']}` |",
        f"| trained on | {len(_list(record['cases']))} cases of {_cell(bench)} |",
        f"| validated on | {len(_list(record['validation']))} cases, which chose among the evaluations |",
        *(f"| {key.replace('_', ' ')} | {value} |" for key, value in recipe.items() if value not in (None, {}, [])),
        "",
        *_head(record),
        "## On the validation cases, in both orders",
        "",
        "| step | loss | accuracy | same choice in both orders |",
        "|---|---|---|---|",
        *(_point(point) for point in _list(record["curve"]) if isinstance(point, Mapping)),
        "",
        "These cases chose the weights, so the best of these numbers flatters. `mrb analyze --table gains` compares",
        "the judge with its base on cases that neither has seen.",
        "",
        "## Limits",
        "",
        "It was shown to agree with these annotators on cases like these, if at all; nothing here says that it may",
        "judge alone, for other institutions, other questions, or patients. Its training cases are listed in",
        "`training.json`, and every table of the workbench leaves them out.",
        "",
    ]
    return "\n".join(lines)


def _head(record: Mapping[str, object]) -> list[str]:
    if "head" not in record:
        return []
    return [
        "## The reward head",
        "",
        f"The head is in `{record['head']}`, with a row per dimension. `transformers` loads this folder as a language",
        "model without that head and without a warning; judge with `mrb judge --judge path:FOLDER`.",
        "",
    ]


def _point(point: Mapping[str, object]) -> str:
    numbers = (_number(point.get(name)) for name in ("loss", "accuracy", "consistency"))
    return f"| {point.get('step')} | {' | '.join(numbers)} |"


def _number(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "-"


def _cell(bench: object) -> str:
    name = str(bench.get("name", "")) if isinstance(bench, Mapping) else ""
    return name.replace("|", "\\|").replace("\n", " ")


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []
