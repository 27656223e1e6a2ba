"""Judges that were trained without a domain, on that domain, and judges trained on another benchmark, on this one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.contrasts import Contrast, contrasts
from mrb_lib.stats.estimation import BoolArray, FloatArray, divide, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.subfields import subfield_values

TRAINED, OUT_OF_DOMAIN, BENCHMARK = "trained", "out_of_domain", "benchmark"
WHOLE: Final = "all"
_FOLD: Final = "fold"
_VALUES: Final = {
    f"value_{i}{end}": f"value_{side}{end}" for i, side in ((1, "tuned"), (2, "base")) for end in ("", "_low", "_high")
}
NO_CASES: Final = "no case can be scored that the judge was not trained on"
NO_PAIR: Final = "no case is scored for a judge trained without its domain and for one trained with it"


class _Family(NamedTuple):
    """Judges of one base, benchmark and recipe, each trained without another value of a column, or without none.

    Attributes
    ----------
    column : of the cases
    left_out : by judge, the value that it was trained without; None for what was trained on all
    """

    column: str
    method: str
    left_out: dict[str, str | None]


def trained_rows(analysis: Analysis, records: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of parts "trained" and "out_of_domain" of the table `gains`.

    Parameters
    ----------
    records : see `mrb_lib.verdicts.training.training_records`
    """
    frames = []
    for family in _families(records, analysis.verdicts.cells["judge"].unique().tolist()):
        column = _domain_column(analysis.cases, family)
        if column is None:
            continue
        inside = replace(analysis, by=column)
        rows = _accuracies(inside, list(family.left_out)).dropna(subset="subfield")
        without = rows["tuned"].map(family.left_out)
        stated: dict[str, Any] = {"by": family.column, "method": family.method, "tested_on": rows["subfield"]}
        stated["trained_on"] = [WHOLE if pd.isna(value) else f"all but {value}" for value in without]
        in_training = pd.Series(rows["subfield"].to_numpy() != without.to_numpy(), rows.index)
        frames += [rows.assign(part=TRAINED, in_training=in_training, **stated), _losses(inside, family, column)]
    return frames


def benchmark_rows(analysis: Analysis, records: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of part "benchmark": the accuracy here of each trained judge, wherever it was trained."""
    cells, here = analysis.verdicts.cells, analysis.benchmark_name
    known = records[records["judge"].isin(cells["judge"])].set_index("judge")
    if known.empty or not here:
        return []
    rows = _accuracies(replace(analysis, by=None), known.index.tolist())
    saw = cells["judge"].to_numpy()[np.asarray(analysis.verdicts.seen.any(axis=0), dtype=bool)]
    trained_on = rows["tuned"].map(known["benchmark"])
    stated: dict[str, Any] = {"trained_on": trained_on, "tested_on": here, "method": rows["tuned"].map(known["method"])}
    return [rows.assign(part=BENCHMARK, in_training=trained_on.eq(here) | rows["tuned"].isin(saw), **stated)]


def _domain_column(cases: pd.DataFrame, family: _Family) -> str | None:
    """Return the column that names the domains: the folds where judges were trained without one of these."""
    values = {value for value in family.left_out.values() if value is not None}
    for column in (_FOLD, family.column):
        if column in cases and values <= set(cases[column].dropna().astype("str")):
            return column
    return family.column if family.column in cases and cases[family.column].notna().any() else None


def _families(records: pd.DataFrame, judges: list[str]) -> Iterator[_Family]:
    """Yield the families of judges with verdicts; judges that were trained on all belong to each of their recipe."""
    known = records[records["judge"].isin(judges)].sort_values("judge")
    recipes = [json.dumps(_without_size(recipe), sort_keys=True, default=str) for recipe in known["recipe"]]
    keys = ["base_revision", "benchmark", "method", "engine", "warm_up", "of_recipe"]
    for _, rows in known.assign(of_recipe=recipes).groupby(keys, dropna=False):
        whole: dict[str, str | None] = dict.fromkeys(rows.loc[rows["left_out"].isna(), "judge"].tolist())
        method = next(iter(rows["method"].dropna()), "")
        for column, without in rows.dropna(subset=["left_out", "left_out_column"]).groupby("left_out_column"):
            left_out = dict(zip(without["judge"], without["left_out"], strict=True))
            yield _Family(str(column), method, {**left_out, **whole})


def _without_size(recipe: dict[str, Any]) -> dict[str, Any]:
    """Return the recipe but for what was left out, and for how many cases there were, which differs by that."""
    return {name: value for name, value in recipe.items() if name not in ("n_cases", "left_out", "seed")}


def _accuracies(analysis: Analysis, judges: list[str]) -> pd.DataFrame:
    """Return the accuracy of some judges on what they were not trained on, over all cases and in each subfield."""
    cells = analysis.verdicts.cells
    own = np.flatnonzero(cells["judge"].isin(judges))
    measures = {"value_tuned": Measure(mean(analysis.scores.score[:, own]), intervals.proportion)}
    names = cells.loc[own, ["judge", "dimension"]].rename(columns={"judge": "tuned"})
    rows, _ = grid(analysis, names, measures, analysis.verdicts.seen[:, own])
    return rows.drop(columns=["low", "high"]).assign(reason=np.where(rows["n"] == 0, NO_CASES, ""))


def _losses(analysis: Analysis, family: _Family, column: str) -> pd.DataFrame:
    """Compare judges on the domain that they were trained without with those trained with it, on the same cases."""
    cells, score = analysis.verdicts.cells, analysis.scores.score
    domain = subfield_values(analysis.cases, column)
    out, inside = np.full((2, len(score), len(analysis.names)), np.nan)
    judges_of: dict[str, str] = {}
    for value in sorted(domain.dropna().unique()):
        here = np.asarray(domain == value, dtype=bool)
        without = [name for name, left in family.left_out.items() if left == value]
        others = [name for name, left in family.left_out.items() if left != value]
        if without and others:
            judges_of[str(value)] = ", ".join(without)
            for d, name in enumerate(analysis.names):
                for side, judges in ((out, without), (inside, others)):
                    of = np.flatnonzero(cells["judge"].isin(judges) & cells["dimension"].eq(name))
                    side[here, d] = _mean_of(score[here][:, of])
    names = pd.DataFrame({"dimension": analysis.names})
    none: BoolArray = np.zeros(out.shape, dtype=bool)
    graded = replace(analysis, policy="balanced")
    rows = contrasts(graded, Contrast(names, out, inside, none), of_values=intervals.proportion)
    rows = rows[rows["subfield"].isna() | rows["subfield"].isin(list(judges_of))]
    rows = rows.rename(columns={"difference": "gain", **_VALUES}).drop(columns=["only_1", "only_2", "n_seen"])
    return rows.assign(
        part=OUT_OF_DOMAIN,
        tuned=rows["subfield"].map(judges_of),
        by=family.column,
        method=family.method,
        reason=np.where(rows["n"] == 0, NO_PAIR, ""),
    )


def _mean_of(score: FloatArray) -> FloatArray:
    """Return the mean over judges that are scored, from shape (cases, judges); NaN where none is."""
    scored = np.isfinite(score)
    return np.asarray(divide(np.where(scored, score, 0.0).sum(axis=1), scored.sum(axis=1)))
