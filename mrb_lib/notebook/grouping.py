"""Which kind each judge is of, and whose time says nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pandas as pd

from mrb_lib.judges.roster.roster import roster
from mrb_lib.notebook.publish import SIMULATED
from mrb_lib.verdicts.manifest import Manifest

IMPORTED, OTHER = "imported", "other"
_TIMES: Final = ("seconds", "pareto_seconds")


def judge_groups(judges: Iterable[str], manifests: Iterable[Manifest]) -> pd.DataFrame:
    """The group each judge belongs to, from its run's manifest and the roster.

    Returns
    -------
    DataFrame
        `judge`, `group`: "imported" where the verdicts were made elsewhere, otherwise how the judge is accessed, or
        its family where it is built in; one row a judge.
    """
    entries = roster().set_index("name")
    groups: dict[str, str] = {}
    for manifest in manifests:
        name = manifest.judge.split(":")[0]
        group = OTHER
        if manifest.source:
            group = SIMULATED if manifest.kind == "simulated" and manifest.source == SIMULATED else IMPORTED
        elif name in entries.index:
            access, family = str(entries.loc[name, "access"]), str(entries.loc[name, "family"])
            group = family if access == "built in" else access
        # A judge with several runs is named judge@run in the verdicts, one with a single run by its name.
        groups[f"{manifest.judge}@{manifest.run_id}"] = groups[manifest.judge] = group
    names = sorted(judges)
    return pd.DataFrame({"judge": names, "group": [groups.get(name, OTHER) for name in names]}, dtype="str")


def untimed(judges: Iterable[str]) -> list[str]:
    """The columns of time in the table `jury` that are not to be published: all where a judge is built in.

    The seconds of such a judge are those of this machine's Python; they differ from run to run and compare with no
    model's.
    """
    built_in = set(roster().query("access == 'built in'")["name"])
    return list(_TIMES) if built_in & {name.split(":")[0].split("@")[0] for name in judges} else []
