"""The papers of a trained judge: `training.json`, by which tables leave out what it has seen, and a model card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from mrb_lib.build.training.loop import CurvePoint
from mrb_lib.build.training.plan import Plan
from mrb_lib.build.training.trainee import Trainee
from mrb_lib.judges.local.reward import HEAD_FILE
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
