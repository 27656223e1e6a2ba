"""The papers of a trained judge: `training.json`, by which tables leave out what it has seen, and a model card."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mrb_lib.build.training.loop import CurvePoint
from mrb_lib.build.training.plan import Plan
from mrb_lib.build.training.trainee import Trainee
from mrb_lib.judges.local.reward import HEAD_FILE
from mrb_lib.tables.schema import SIMULATED
from mrb_lib.verdicts.manifest import library_versions
from mrb_lib.verdicts.training import cases_digest


def training_record(plan: Plan, trainee: Trainee, model: str, curve: Sequence[CurvePoint]) -> dict[str, object]:
    """Return the content of `training.json`, in JSON values.

    Parameters
    ----------
    model : what was trained further, as the user named it

    Notes
    -----
    `related` are the cases that those trained on were drawn from, without these: they may share a cluster.
    """
    recipe, meta, case_ids, judge = plan.recipe, plan.benchmark.meta, trainee.case_ids, trainee.judge
    seen, validation = plan.digests[case_ids].tolist(), plan.validated
    related = sorted(set(plan.training_part) - set(case_ids))
    return {
        "base": model.rstrip("/").rpartition("/")[2] if model.startswith("path:") else model,
        "base_revision": plan.source.revision,
        "method": recipe.method,
        "engine": judge.engine,
        **({"head": HEAD_FILE} if judge.engine == "reward" else {}),
        "prompt": judge.prompt_id,
        "benchmark": {"name": meta.name, "kind": meta.kind, "split": meta.extra.get("split")},
        "left_out": dict([recipe.left_out]) if recipe.left_out else None,
        "cases": list(case_ids),
        "digests": seen,
        "cases_digest": cases_digest(seen),
        "validation": list(validation),
        "validation_digests": plan.digests[validation].tolist(),
        "related": related,
        "related_digests": plan.digests[related].tolist(),
        "recipe": {**recipe.stated(), "prompt": judge.prompt_id or None, "n_cases": len(case_ids)},
        "left_out_labels": dict(trainee.left_out),
        "max_pixels": plan.settings.max_pixels,
        "versions": library_versions(),
        "curve": [asdict(point) for point in curve],
        "plan": plan.digest,
        "started_from": dict(plan.started_from) if plan.started_from is not None else None,
    }


def model_card(name: str, record: Mapping[str, Any], licence: str) -> str:
    """Return a model card in Markdown: what the judge was made of, how it did, and what it is not for."""
    bench, recipe = record["benchmark"], record["recipe"]
    rows = {
        "method": f"{record['method']}{', LoRA' if recipe['lora'] else ''}; engine `{record['engine']}`",
        "trained on": f"{len(record['cases'])} cases of {bench['name']}",
        "validated on": f"{len(record['validation'])} cases, which chose among the evaluations",
        **{key.replace("_", " "): value for key, value in recipe.items() if value not in (None, {}, [])},
    }
    points = [
        [
            point["step"],
            *("-" if point[of] is None else f"{point[of]:.3f}" for of in ("loss", "accuracy", "consistency")),
        ]
        for point in record["curve"]
    ]
    blocks = [
        f"# {name}",
        f"**Trained on {SIMULATED} data: it knows nothing of medicine.**" if bench["kind"] == "simulated" else "",
        f"A judge of pairs of responses to questions about medical images, trained from {record['base']} "
        f"({record['base_revision']}; licence: {licence}) by `mrb train`.",
        _table(["", ""], rows.items()),
        f"The reward head is in `{record['head']}`, with a row per dimension. `transformers` loads this folder as a "
        "language model without that head and without a warning; judge with `mrb judge --judge path:FOLDER`."
        if "head" in record
        else "",
        "## On the validation cases, in both orders",
        _table(["step", "loss", "accuracy", "same choice in both orders"], points),
        "These cases chose the weights, so the best of these numbers flatters. `mrb analyze --table gains` compares "
        "the judge with its base on cases that neither has seen.",
        "## Limits",
        "It was shown to agree with these annotators on cases like these, if at all; nothing here says that it may "
        "judge alone, for other institutions, other questions, or patients. Its training cases are listed in "
        "`training.json`, and every table of the workbench leaves them out.",
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    cells = [
        [str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in (head, ["---"] * len(head), *rows)
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
