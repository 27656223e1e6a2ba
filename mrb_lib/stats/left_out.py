"""Judges that were trained without a domain, on that domain, and judges trained on another benchmark, on this one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.contrasts import Contrast, contrasts
from mrb_lib.stats.estimation import BoolArray, FloatArray, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.subfields import subfield_values

TRAINED, OUT_OF_DOMAIN, BENCHMARK = "trained", "out_of_domain", "benchmark"
NAMES: Final = {"difference": "gain", "judge_1": "tuned", "judge_2": "base"} | {
    f"value_{i}{end}": f"value_{side}{end}" for i, side in ((1, "tuned"), (2, "base")) for end in ("", "_low", "_high")
}
"""What the table `gains` calls the columns of a contrast."""
NO_CASES: Final = "no case can be scored that the judge was not trained on"
NO_PAIR: Final = "no case is scored for a judge trained without its domain and for one trained with it"


def trained_rows(analysis: Analysis, records: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of parts "trained" and "out_of_domain" of the table `gains`.

    Parameters
    ----------
    records : see `mrb_lib.verdicts.training.training_records`
    """
    frames = []
    for column, left_out in _families(records, analysis.verdicts.cells["judge"].unique().tolist()):
        domain = _domain_column(analysis.cases, column, set(left_out.values()) - {None})
        if domain is not None:
            inside = replace(analysis, by=domain)
            rows = _accuracies(inside, list(left_out)).dropna(subset="subfield")
            without = rows["tuned"].map(left_out)
            trained_on = ["all" if pd.isna(value) else f"all but {value}" for value in without]
            stated: dict[str, Any] = {"trained_on": trained_on, "tested_on": rows["subfield"], "by": column}
            frames.append(rows.assign(part=TRAINED, in_training=rows["subfield"].ne(without), **stated))
            frames.append(_losses(inside, left_out, domain).assign(by=column))
    return frames


def benchmark_rows(analysis: Analysis, records: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of part "benchmark": the accuracy here of each trained judge, wherever it was trained."""
    cells, here = analysis.verdicts.cells, analysis.benchmark_name
    known = records[records["judge"].isin(cells["judge"])].set_index("judge")["benchmark"]
    if known.empty or not here:
        return []
    rows = _accuracies(replace(analysis, by=None), known.index.tolist())
    saw = cells["judge"].to_numpy()[np.asarray(analysis.verdicts.seen.any(axis=0), dtype=bool)]
    trained_on = rows["tuned"].map(known)
    in_training = trained_on.eq(here) | rows["tuned"].isin(saw)
    return [rows.assign(part=BENCHMARK, in_training=in_training, trained_on=trained_on, tested_on=here)]


def _domain_column(cases: pd.DataFrame, column: str, values: set[str | None]) -> str | None:
    """Return the column that names the domains: the folds where judges were trained without one of these."""
    if "fold" in cases and values <= set(cases["fold"].dropna().astype("str")):
        return "fold"
    return column if column in cases and cases[column].notna().any() else None


def _families(records: pd.DataFrame, judges: list[str]) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield judges of one base, benchmark and recipe: the column, and the value that each was trained without.

    Judges that were trained on all, whose value is None, belong to each family of their recipe.
    """
    known = records[records["judge"].isin(judges)].sort_values("judge")
    differs = ("n_cases", "left_out", "seed")
    recipes = [{name: value for name, value in recipe.items() if name not in differs} for recipe in known["recipe"]]
    known["of_recipe"] = [json.dumps(recipe, sort_keys=True, default=str) for recipe in recipes]
    keys = ["base_revision", "benchmark", "method", "engine", "warm_up", "of_recipe"]
    for _, rows in known.groupby(keys, dropna=False):
        whole: dict[str, str | None] = dict.fromkeys(rows.loc[rows["left_out"].isna(), "judge"])
        for column, without in rows.dropna(subset=["left_out", "left_out_column"]).groupby("left_out_column"):
            yield str(column), dict(zip(without["judge"], without["left_out"], strict=True)) | whole


def _accuracies(analysis: Analysis, judges: list[str]) -> pd.DataFrame:
    """Return the accuracy of some judges on what they were not trained on, over all cases and in each subfield."""
    cells = analysis.verdicts.cells
    own = np.flatnonzero(cells["judge"].isin(judges))
    measures = {"value_tuned": Measure(mean(analysis.scores.score[:, own]), intervals.proportion)}
    names = cells.loc[own, ["judge", "dimension"]].rename(columns={"judge": "tuned"})
    rows, _ = grid(analysis, names, measures, analysis.verdicts.seen[:, own])
    return rows.drop(columns=["low", "high"]).assign(reason=np.where(rows["n"] == 0, NO_CASES, ""))


def _losses(analysis: Analysis, left_out: dict[str, str | None], column: str) -> pd.DataFrame:
    """Compare judges on the domain that they were trained without with those trained with it, on the same cases."""
    cells, score = analysis.verdicts.cells, analysis.scores.score
    domain = subfield_values(analysis.cases, column)
    is_member, of_cell = cells["judge"].isin(list(left_out)).to_numpy(), cells["judge"].map(left_out).to_numpy()
    without = is_member & (domain.to_numpy()[:, None] == of_cell)

    def means(kept: BoolArray) -> FloatArray:
        by_dimension = pd.DataFrame(np.where(kept, score, np.nan).T).groupby(cells["dimension"].to_numpy()).mean()
        return np.asarray(by_dimension.reindex(analysis.names).to_numpy().T)

    out, inside = means(without), means(is_member & domain.notna().to_numpy()[:, None] & ~without)
    none: BoolArray = np.zeros(out.shape, dtype=bool)
    pair = Contrast(pd.DataFrame({"dimension": analysis.names}), out, inside, none)
    rows = contrasts(replace(analysis, policy="balanced"), pair, of_values=intervals.proportion)
    values = set(left_out.values())
    judges_of = {value: ", ".join(name for name in left_out if left_out[name] == value) for value in values - {None}}
    judges_of = judges_of if len(values) > 1 else {}
    rows = rows[rows["subfield"].isna() | rows["subfield"].isin(list(judges_of))]
    why = np.where(rows["n"] == 0, NO_PAIR, "")
    rows = rows.rename(columns=NAMES).drop(columns="n_seen")
    return rows.assign(part=OUT_OF_DOMAIN, tuned=rows["subfield"].map(judges_of), reason=why)
