"""Judges that were trained without a domain, on that domain: what leaving it out of training costs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, join_reasons
from mrb_lib.stats.resampling.resample import indicator
from mrb_lib.stats.resampling.robust import Estimate, layout, ratio_of_sums, share_interval
from mrb_lib.stats.significance.paired import PairOptions, pair_rows
from mrb_lib.stats.subfields import groups, subfield_values

TRAINED, OUT_OF_DOMAIN, BENCHMARK = "trained", "out_of_domain", "benchmark"
WHOLE: Final = "all"
_FOLD: Final = "fold"
NO_CASES: Final = "no case can be scored that the judge was not trained on"
NO_PAIR: Final = "no case is scored for a judge trained without its domain and for one trained with it"
COLUMNS: Final = [
    "method", "trained_on", "tested_on", "in_training", "n_seen", "in_domain_accuracy", "difference", "difference_low",
    "difference_high",
]  # fmt: skip


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


def trained_rows(
    panel: Panel, score: FloatArray, cases: pd.DataFrame, records: pd.DataFrame, codes: IntArray, options: PairOptions
) -> list[pd.DataFrame]:
    """The rows of parts "trained" and "out_of_domain", see the table `transfer`.

    Parameters
    ----------
    score : shape (judges, dimensions, cases)
    records : see `mrb_lib.verdicts.training.training_records`
    codes : the cluster of each case
    """
    frames = []
    for family in _families(records, panel.judges):
        column = _domain_column(cases, family)
        if column is None:
            continue
        domain = subfield_values(cases, column)
        for judge, without in family.left_out.items():
            stated = {"trained_on": WHOLE if without is None else f"all but {without}", "method": family.method}
            rows = _cells(panel, score, judge, domain, codes).assign(by=family.column, **stated)
            frames.append(rows.assign(tested_on=rows["subfield"], in_training=rows["subfield"].ne(without or "")))
        frames.append(_losses(panel, score, family, cases, column, codes, options))
    return frames


def _domain_column(cases: pd.DataFrame, family: _Family) -> str | None:
    """The column of the cases that names the domains: the folds where the judges were trained without one of these."""
    values = {value for value in family.left_out.values() if value is not None}
    for column in (_FOLD, family.column):
        if column in cases and values <= set(cases[column].dropna().astype("str")):
            return column
    return family.column if family.column in cases and cases[family.column].notna().any() else None


def benchmark_rows(
    panel: Panel, score: FloatArray, records: pd.DataFrame, codes: IntArray, tested_on: str
) -> list[pd.DataFrame]:
    """The rows of part "benchmark": each trained judge's accuracy on this one, whichever it was trained on."""
    here = pd.Series(tested_on, index=range(score.shape[2]), dtype="str")
    saw: BoolArray = np.asarray(panel.saw().any(axis=(1, 2)))
    frames = []
    for row in records[records["judge"].isin(panel.judges)].to_dict("records"):
        named = row["benchmark"] if isinstance(row["benchmark"], str) else None
        in_training = bool(named == tested_on or saw[panel.judges.index(row["judge"])])
        stated = {"trained_on": named, "tested_on": tested_on, "method": row["method"], "in_training": in_training}
        frames.append(_cells(panel, score, row["judge"], here, codes).assign(part=BENCHMARK, subfield=None, **stated))
    return frames


def _families(records: pd.DataFrame, judges: list[str]) -> Iterator[_Family]:
    """The families of judges with verdicts; those that were trained on all belong to each of their recipe."""
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
    """The recipe but for what was left out, and for how many cases there were, which differs by that."""
    return {name: value for name, value in recipe.items() if name not in ("n_cases", "left_out", "seed")}


def _cells(panel: Panel, score: FloatArray, judge: str, domain: pd.Series, codes: IntArray) -> pd.DataFrame:
    """The accuracy of a judge in each domain, on each dimension it takes part in."""
    i = panel.judges.index(judge)
    member, names = pd.factorize(domain, sort=True)
    value, saw = score[i], panel.saw()[i]
    frames = []
    for number, name in enumerate(names):
        inside = np.flatnonzero(member == number)
        scored = np.isfinite(value[:, inside])
        mean = _mean(np.where(scored, value[:, inside], 0.0), scored, codes[inside])
        low, high = share_interval(mean)
        frames.append(
            pd.DataFrame(
                {
                    "part": TRAINED, "judge": judge, "dimension": panel.dimensions, "subfield": str(name),
                    "n": scored.sum(axis=1), "n_excluded": len(inside) - scored.sum(axis=1),
                    "n_seen": saw[:, inside].sum(axis=1), "accuracy": mean.value[:, 0], "low": low[:, 0],
                    "high": high[:, 0], "standard_error": mean.error[:, 0],
                    "reason": [None if some else NO_CASES for some in scored.any(axis=1)],
                }
            )[panel.takes_part()[i]]
        )  # fmt: skip
    rows: pd.DataFrame = pd.concat(frames, ignore_index=True).astype({"reason": "str"})
    return rows


def _mean(value: FloatArray, scored: BoolArray, codes: IntArray) -> Estimate:
    """The mean of the scores of some cases on each dimension, robust to clusters."""
    whole = groups(pd.DataFrame(index=range(len(codes))), None)
    grouping = layout(whole, codes)
    member = indicator(grouping.unit, grouping.shape[1])
    return ratio_of_sums(np.asarray(value @ member), np.asarray(scored.astype(np.float64) @ member), grouping)


def _losses(
    panel: Panel, score: FloatArray, family: _Family, cases: pd.DataFrame, column: str, codes: IntArray,
    options: PairOptions,
) -> pd.DataFrame:  # fmt: skip
    """What judges lose on the domain they were trained without, against those trained with it, on the same cases."""
    out, inside = np.full(score.shape[1:], np.nan), np.full(score.shape[1:], np.nan)
    judges_of: dict[str, str] = {}
    domain = subfield_values(cases, column)
    for value in sorted(domain.dropna().unique()):
        here = (domain == value).to_numpy(dtype=bool)
        without = [panel.judges.index(name) for name, left in family.left_out.items() if left == value]
        others = [panel.judges.index(name) for name, left in family.left_out.items() if left != value]
        if without and others:
            judges_of[str(value)] = ", ".join(panel.judges[i] for i in without)
            out[:, here], inside[:, here] = _mean_of(score[without][:, :, here]), _mean_of(score[others][:, :, here])
    both = np.stack([out, inside])
    takes_part = np.ones(both.shape[:2], dtype=bool)
    parts = [part for part in groups(cases, column) if part.subfield is None or part.subfield in judges_of]
    rows = pair_rows(both, takes_part, ["out", "in"], panel.dimensions, parts, codes, options)
    scored = np.isfinite(both).all(axis=0)
    means = {
        (part.subfield, dimension): both[:, d, part.cases][:, scored[d, part.cases]].mean(axis=1)
        if scored[d, part.cases].any()
        else (np.nan, np.nan)
        for part in parts
        for d, dimension in enumerate(panel.dimensions)
    }
    subfields = [name if isinstance(name, str) else None for name in rows["subfield"]]
    found = [means[key] for key in zip(subfields, rows["dimension"], strict=True)]
    return pd.DataFrame(
        {
            "part": OUT_OF_DOMAIN,
            "judge": pd.Series([judges_of.get(name or "") for name in subfields], dtype="str"),
            "dimension": rows["dimension"],
            "by": family.column,
            "subfield": pd.Series(subfields, dtype="str"),
            "method": family.method,
            "n": rows["n"],
            "n_excluded": rows["n_excluded"],
            "accuracy": [out for out, _ in found],
            "in_domain_accuracy": [inside for _, inside in found],
            "difference": rows["difference"],
            "difference_low": rows["low"],
            "difference_high": rows["high"],
            "standard_error": rows["standard_error"],
            "p_value": rows["p_value"],
            "reason": pd.Series(
                [
                    join_reasons(NO_PAIR if n == 0 else text if isinstance(text, str) else "")
                    for n, text in zip(rows["n"], rows["reason"], strict=True)
                ],
                dtype="str",
            ),
        }
    )


def _mean_of(score: FloatArray) -> FloatArray:
    """The mean over judges, shape (judges, dimensions, cases), of those that are scored; NaN where none is."""
    scored = np.isfinite(score)
    total = np.where(scored, score, 0.0).sum(axis=0)
    return np.where(scored.any(axis=0), total / np.maximum(scored.sum(axis=0), 1), np.nan)
