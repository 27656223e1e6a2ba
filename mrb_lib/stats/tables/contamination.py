"""Is a judge more accurate on cases that were public before its training data end?"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, t_test
from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, IntArray, Sampling, estimate, mean
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, points
from mrb_lib.stats.welch import Unpaired, unpaired
from mrb_lib.tables.dates import day_span

NO_CUTOFF: Final = "the roster states no training cut-off of this judge"
OF_BASE: Final = "the cut-off is that of {}, which the judge was trained further from: its own may be later"
NO_DATES: Final = "no scored case has a date (column date of the cases)"
NO_CUTOFFS: Final = "the roster states no training cut-off of any judge"
NONE_THERE: Final = "no scored case is dated {} the cut-off"
NO_CONTROL: Final = "no test: no judge with a later cut-off was scored on the same cases"
NO_SPREAD: Final = "no interval or test of the difference: on one side fewer than two clusters count, or all are alike"
IMPRECISE: Final = "{} dated cases are too imprecise to tell the side and count as undated"


class Sides(NamedTuple):
    """Where each case lies, shape (cases,): public by a cut-off, after it, or dated too imprecisely to tell."""

    before: BoolArray
    after: BoolArray
    imprecise: BoolArray


def sides(cases: pd.DataFrame, cutoff: str | None) -> Sides:
    """Divide the cases by their `date`; cases without a date are on no side.

    A cut-off may be a month, which can end on any of its days. A case is before it where the last day that its date may
    mean is not after the first of the cut-off, and after it where its first day is after the last.
    """
    end = None if cutoff is None else day_span(cutoff)
    if "date" not in cases or end is None:
        nowhere = np.zeros(len(cases), dtype=bool)
        return Sides(nowhere, nowhere, nowhere)
    spans = cases["date"].map(lambda text: day_span(str(text)), na_action="ignore")
    before = np.array([isinstance(span, tuple) and span[1] <= end[0] for span in spans])
    after = np.array([isinstance(span, tuple) and span[0] > end[1] for span in spans])
    return Sides(before, after, cases["date"].notna().to_numpy() & ~before & ~after)


def better_before(rows: pd.DataFrame) -> str:
    """Say how many judges lose more accuracy after their cut-off than judges whose training data end later."""
    known, where = main_rows(rows), opening(main_dimension(rows))
    tested = known.dropna(subset="p_adjusted")
    if tested.empty:
        return (
            f"{where}, cannot tell whether training data contain cases: no judge can be compared with one of a later "
            "training cut-off. That needs cut-offs in the roster, and dated cases before and after them."
        )
    worse = tested[(tested["p_adjusted"] <= ALPHA) & (tested["excess"] > 0)]
    compared = f"{len(tested):,} judge{'s' if len(tested) > 1 else ''} compared with judges of a later cut-off"
    if worse.empty:
        return (
            f"{where}, no judge loses significantly more accuracy after its training cut-off ({compared}); cannot tell."
        )
    most = worse.nlargest(1, "excess").iloc[0]
    return (
        f"{where}, {len(worse):,} of {compared} lose{'s' if len(worse) == 1 else ''} significantly more accuracy after "
        f"the training cut-off. {most['judge']} loses most: {points(most, 'excess')} more than its controls."
    )


@table(
    "contamination",
    question="is a judge more accurate on cases that were public before its training data end",
    columns=[
        shared("judge", "dimension", "subfields", "policy"),
        Column("cutoff", "end of the judge's training data, a month or a day", "text"),
        Column("cutoff_of", "roster entry that states the cut-off: the judge's or its base's", "text"),
        shared("n", "n_excluded", "n_seen", "clusters"),
        Column("coverage", "share of the verdicts with a choice, mean over labelled cases", "share 0-1"),
        Column("n_undated", "scored cases without a date that tells their side", "cases"),
        Column("n_imprecise", "cases of n_undated that have a date, such as the year", "cases"),
        Column("n_before", "scored cases that were public by the cut-off", "cases"),
        estimated("accuracy_before", "mean score over the cases from before the cut-off"),
        Column("n_after", "scored cases that became public after the cut-off", "cases"),
        estimated("accuracy_after", "mean score over the cases from after the cut-off"),
        Column(
            "difference", "accuracy_before minus accuracy_after, over other cases", "difference", ends=("low", "high")
        ),
        Column("standard_error", "standard error of the difference, robust to clusters"),
        Column("df", "degrees of freedom of the error", source="Welch 1947, doi:10.1093/biomet/34.1-2.28"),
        Column("controls", "judges with the latest cut-off of all, which is later", "text"),
        Column("n_controlled", "cases dated before the controls' cut-off, scored for the judge and them", "cases"),
        Column("control_difference", "mean accuracy of the controls before minus after, same cases", "difference"),
        estimated("excess", "difference of the judge minus that of the controls, same cases", "difference"),
        shared("tests"),
    ],
    sentence=better_before,
    headline=("cutoff", "difference", "low", "high", "excess", "p_adjusted", "n_before", "n_after", "n_undated"),
    uses=(*(name for name in TESTED if name not in ("resamples", "seed")), "groups"),
    why_no_ratings="",
)
def contamination(analysis: Analysis) -> pd.DataFrame:
    """Compare each judge's accuracy before and after its training cut-off, and that gap with the gap of controls.

    Notes
    -----
    A fall after the cut-off is what memory of public cases does (Roberts et al. 2023, arXiv 2310.10628), and what
    harder later cases do as well. The controls are therefore the judges with the latest cut-off of all: cases from
    before it are new to none of them. `excess` compares both gaps on these cases, and the test is of `excess`. A case
    from before a cut-off need not have been trained on.
    """
    verdicts, scores = analysis.verdicts, analysis.scores
    cells, score = verdicts.cells, scores.score
    stated = analysis.judge_groups.drop_duplicates("judge").set_index("judge")
    known = stated.reindex(index=cells["judge"], columns=["cutoff", "cutoff_of", "entry"]).reset_index(drop=True)
    cutoffs = [text if isinstance(text, str) else None for text in known["cutoff"]]
    spans = [day_span(text or "") for text in cutoffs]
    ends = pd.to_datetime(pd.Series([span[0] if span else None for span in spans], dtype=object))
    if ends.isna().all() or "date" not in analysis.cases or analysis.cases["date"].isna().all():
        return pd.DataFrame([{"n": 0, "reason": NO_CUTOFFS if ends.isna().all() else NO_DATES}])
    latest = ends.eq(ends.max()).to_numpy()
    before, after, imprecise = (
        np.stack(each, axis=1) & np.isfinite(score)
        for each in zip(*(sides(analysis.cases, text) for text in cutoffs), strict=True)
    )
    control = np.full_like(score, np.nan)
    names = pd.Series(None, cells.index, dtype=object)
    for members in cells.groupby("dimension").indices.values():
        own = np.asarray(members)
        others, compared = own[latest[own]], own[~latest[own] & ends.notna().to_numpy()[own]]
        if len(others):
            control[:, compared] = score[:, others].mean(axis=1, keepdims=True)
            names[compared] = ", ".join(cells["judge"][others])
    control[~sides(analysis.cases, cutoffs[int(np.argmax(latest))]).before] = np.nan
    less = score - control
    frames = []
    for part in analysis.parts:
        kept, sampling = part.cases, analysis.sampling.take(part.cases)

        def gap(values: FloatArray, kept: IntArray = kept, sampling: Sampling = sampling) -> Unpaired:
            first, second = (np.where(side, values, np.nan)[kept] for side in (before, after))
            return unpaired(first, second, sampling)

        scored = np.isfinite(score[kept])
        e, excess = gap(score), gap(less)
        n_before, n_after, n_imprecise = (side[kept].sum(axis=0) for side in (before, after, imprecise))
        columns: dict[str, Any] = {
            **part.label(),
            "n": n_before + n_after,
            "n_before": n_before,
            "n_after": n_after,
            "n_undated": scored.sum(axis=0) - n_before - n_after,
            "n_imprecise": n_imprecise,
            "n_excluded": (~scored).sum(axis=0),
            "n_seen": verdicts.seen[kept].sum(axis=0),
            "n_clusters": e.difference.clusters,
            "coverage": estimate(mean(scores.answered[kept]), sampling).value,
            "standard_error": e.difference.error,
            "df": e.difference.df,
            "n_controlled": (np.isfinite(less[kept]) & (before | after)[kept]).sum(axis=0),
            "control_difference": gap(np.where(np.isnan(less), np.nan, control)).difference.value,
            "p_value": t_test(excess.difference),
        }
        made = {"accuracy_before": e.first, "accuracy_after": e.second}
        for name, each in made.items():
            columns |= _with_ends(name, each, intervals.proportion(each))
        columns |= _with_ends("excess", excess.difference, intervals.t(excess.difference))
        ends_of_gap = intervals.t(e.difference)
        columns |= {"difference": e.difference.value, "low": ends_of_gap.low, "high": ends_of_gap.high}
        frames.append(cells[["judge", "dimension"]].join(known).assign(controls=names, **columns))
    rows = pd.concat(frames, ignore_index=True)
    numbers = np.asarray(rows.groupby(["by", "subfield", "dimension"], dropna=False).ngroup(), dtype=np.int64)
    family = numbers if analysis.family == "dimension" else np.zeros_like(numbers)
    p = rows["p_value"].to_numpy(np.float64)
    adjusted, size = adjust_families(p, family, analysis.correction or "holm")
    return rows.assign(p_adjusted=adjusted, family=size, reason=[_reason(row) for _, row in rows.iterrows()])


def _with_ends(name: str, e: Estimate, ends: intervals.Interval) -> dict[str, FloatArray]:
    return {name: e.value, f"{name}_low": ends.low, f"{name}_high": ends.high}


def _reason(row: pd.Series) -> str:
    if not isinstance(row["cutoff"], str):
        return NO_CUTOFF
    said = [OF_BASE.format(row["cutoff_of"])] if row["cutoff_of"] != row["entry"] else []
    if not row["n"] and not row["n_imprecise"]:
        return "; ".join([*said, NO_DATES])
    missing = [NONE_THERE.format(side) for side in ("before", "after") if not row[f"n_{side}"]]
    said += missing or ([NO_SPREAD] if pd.isna(row["low"]) else [])
    said += [NO_CONTROL] if not missing and pd.isna(row["p_value"]) else []
    return "; ".join(said + ([IMPRECISE.format(f"{row['n_imprecise']:,}")] if row["n_imprecise"] else []))
