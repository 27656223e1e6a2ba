"""What a workspace can and cannot show, and how its judges are grouped."""

from __future__ import annotations

from typing import Literal

import pandas as pd

from mrb_lib.judges.roster.roster import roster
from mrb_lib.notebook.workspace import Workspace
from mrb_lib.schema import CONSENSUS, ORDERS

Need = Literal[
    "preferences",
    "annotations",
    "annotators",
    "verdicts",
    "judges",
    "orders",
    "organ",
    "department",
    "modality",
    "dataset",
]
IMPORTED, SIMULATED, OTHER = "imported", "SIMULATED", "other"


def missing(workspace: Workspace, *needs: Need) -> str:
    """Why something cannot be shown of this workspace; empty where nothing is missing.

    Parameters
    ----------
    needs : what it takes: labels that are preferences, annotations, two annotators at least, verdicts, two judges
        at least, verdicts in both orders, or a column of the cases that is filled in somewhere

    Returns
    -------
    str
        The first thing that is missing, as a sentence without a full stop.
    """
    for need in needs:
        reason = _lacks(workspace, need)
        if reason:
            return reason
    return ""


def _lacks(workspace: Workspace, need: Need) -> str:
    benchmark, verdicts = workspace.benchmark, workspace.verdicts
    name = benchmark.meta.name
    if need == "preferences":
        labels = ", ".join(benchmark.meta.categories)
        return "" if benchmark.meta.is_preference else f"the labels of {name} ({labels}) are no preferences"
    if need == "annotations":
        return f"{name} has no annotations" if benchmark.annotations.empty else ""
    if need == "annotators":
        names = benchmark.annotations["annotator"]
        count = names[names != CONSENSUS].nunique()  # a published consensus is nobody's own
        return "" if count > 1 else f"{name} has {count or 'no'} annotator; agreement takes two"
    if need == "verdicts":
        return "there are no verdicts about it: no run was given" if verdicts.empty else ""
    if need == "judges":
        count = verdicts["judge"].nunique()
        return "" if count > 1 else f"the runs hold {count or 'no'} judge; a comparison takes two"
    if need == "orders":
        return "" if set(verdicts["order"]) >= set(ORDERS) else "no verdict was given with the responses swapped"
    filled = need in benchmark.cases.columns and benchmark.cases[need].notna().any()
    return "" if filled else f"no case of {name} states its {need}"


def judge_groups(workspace: Workspace) -> pd.DataFrame:
    """The group each judge belongs to, from its run's manifest and the roster.

    Returns
    -------
    DataFrame
        `judge` (as in the verdicts), `group`: "imported" where the verdicts were made elsewhere, otherwise how the
        judge is accessed, or its family where it is built in; one row a judge.
    """
    known = roster().set_index("name")
    said: dict[str, str] = {}
    for manifest in workspace.manifests:
        name = manifest.judge.split(":")[0]
        group = OTHER
        if manifest.source:
            group = SIMULATED if manifest.kind == "simulated" and manifest.source == SIMULATED else IMPORTED
        elif name in known.index:
            access, family = str(known.loc[name, "access"]), str(known.loc[name, "family"])
            group = family if access == "built in" else access
        # A judge with several runs is known by judge@run, one with a single run by its name.
        said[f"{manifest.judge}@{manifest.run_id}"] = said[manifest.judge] = group
    judges = sorted(workspace.verdicts["judge"].unique())
    return pd.DataFrame({"judge": judges, "group": [said.get(judge, OTHER) for judge in judges]}, dtype="str")
