"""Is a judge more accurate on cases that were public before its training data end?"""

from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, t_test
from mrb_lib.stats.estimation import mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.methods.welch import unpaired
from mrb_lib.stats.multiplicity import adjust_rows
from mrb_lib.stats.phrases import main_dimension, main_rows, of_judges, on, points
from mrb_lib.tables.validation import day_span

NO_CUTOFF: Final = "the roster states no training cut-off"
OF_BASE: Final = "the cut-off is that of the model that the judge was trained from: its own may be later"
NO_DATES: Final = "no scored case has a date that tells its side (column date of the cases)"
NONE_THERE: Final = "no scored case is dated {} the cut-off"
NO_CONTROL: Final = "no test: no judge with a later cut-off was scored on cases of both sides"
NO_SPREAD: Final = "on one side fewer than two clusters count, or all are alike"


def days(dates: pd.Series) -> NDArray[np.datetime64]:
    """Return the first and the last day that each date may mean, such as a month, shape (n, 2); NaT without a date."""
    spans = [day_span(str(text)) or ("NaT", "NaT") for text in dates]
    return np.array(spans, dtype="datetime64[D]").reshape(-1, 2)


def better_before(rows: pd.DataFrame) -> str:
    """Say how many judges lose more accuracy after their cut-off than judges whose training data end later."""
    tested, where = main_rows(rows).dropna(subset="p_adjusted"), on(main_dimension(rows))
    if tested.empty:
        return f"Cannot tell {where} whether training data contain cases, without judges of a later cut-off to compare."
    worse = tested[(tested["p_adjusted"] <= ALPHA) & (tested["excess"] > 0)].sort_values("excess", ascending=False)
    most = [f". {row['judge']} loses most: {points(row, 'excess')}." for _, row in worse.head(1).iterrows()]
    lose = f"significantly less accurate {where} after the training cut-off, compared with judges of a later cut-off"
    return of_judges(len(worse), len(tested), lose) + ("".join(most) or "; cannot tell.")


@table(
    "contamination",
    question="is a judge more accurate on cases that were public before its training data end",
    columns=[
        shared("judge", "dimension", "subfields", "policy"),
        Column("cutoff", "end of the judge's training data, a month or a day", "text"),
        Column("cutoff_of", "roster entry that states the cut-off: the judge's or its base's", "text"),
        shared("n", "n_excluded", "clusters"),
        Column("coverage", "share of the verdicts with a choice, mean over labelled cases", "share 0-1"),
        Column("n_undated", "scored cases without a date that tells their side", "cases"),
        Column("n_before", "scored cases that were public by the cut-off", "cases"),
        estimated("accuracy_before", "mean score over cases from before the cut-off", null=NONE_THERE.format("before")),
        Column("n_after", "scored cases that became public after the cut-off", "cases"),
        estimated("accuracy_after", "mean score over cases from after the cut-off", null=NONE_THERE.format("after")),
        Column("difference", "accuracy_before minus accuracy_after", "difference", "Welch 1947", ("low", "high")),
        Column("controls", "judges with the latest cut-off of all, which is later", "text"),
        Column("n_controlled", "cases dated before the controls' cut-off, scored for the judge and them", "cases"),
        estimated("excess", "difference minus that of the controls, same cases", "difference", null=NO_CONTROL),
        shared("tests"),
    ],
    sentence=better_before,
    headline=("cutoff", "difference", "low", "high", "excess", "p_adjusted", "n_before", "n_after", "n_undated"),
    uses=(*(name for name in TESTED if name not in ("resamples", "seed")), "groups"),
    why_no_ratings="",
)
def contamination(analysis: Analysis) -> pd.DataFrame:
    """Compare each judge's accuracy before and after its training cut-off, and that gap with the gap of controls.

    A cut-off may be a month, which can end on any of its days. A case is before it where the last day that its date may
    mean is not after the first of the cut-off, and after it where its first day is after the last.

    Notes
    -----
    A fall after the cut-off is what memory of public cases does (Roberts et al. 2023, arXiv 2310.10628), and what
    harder later cases do as well. The controls are therefore the judges with the latest cut-off of all: cases from
    before it are new to none of them. `excess` compares both gaps on these cases, and the test is of `excess`. A case
    from before a cut-off need not have been trained on. Errors and degrees of freedom are Welch's
    (`stats.methods.welch.unpaired`).
    """
    cells, score = analysis.verdicts.cells, analysis.scores.score
    stated = analysis.judge_groups.drop_duplicates("judge").set_index("judge")
    known = stated.reindex(index=cells["judge"], columns=["cutoff", "cutoff_of", "entry"]).reset_index(drop=True)
    day, cutoff = days(analysis.cases.reindex(columns=["date"])["date"]), days(known["cutoff"])
    if np.isnat(day).all() or np.isnat(cutoff).all():
        return pd.DataFrame([{"n": 0, "reason": NO_CUTOFF if np.isnat(cutoff).all() else NO_DATES}])
    scored = np.isfinite(score)
    before, after = scored & (day[:, 1:] <= cutoff[:, 0]), scored & (day[:, :1] > cutoff[:, 1])
    last = pd.Series(cutoff[:, 0]).max()
    control = np.full_like(score, np.nan)
    controls = pd.Series(None, cells.index, dtype=object)
    for members in cells.groupby("dimension").indices.values():
        others, compared = (members[each[members, 0]] for each in (cutoff == last, cutoff < last))
        if len(others):
            control[:, compared] = score[:, others].mean(axis=1, keepdims=True)
            controls[compared] = ", ".join(cells["judge"][others])
    control[~(day[:, 1] <= last)] = np.nan
    less = score - control
    measures = {
        "dated": Measure(mean(np.where(before | after, score, np.nan))),
        "accuracy_before": Measure(mean(np.where(before, score, np.nan)), intervals.proportion),
        "accuracy_after": Measure(mean(np.where(after, score, np.nan)), intervals.proportion),
        "coverage": Measure(mean(analysis.scores.answered)),
    }
    tallies = {"n_before": before, "n_after": after, "n_undated": scored & ~before & ~after}
    tallies |= {"n_excluded": ~scored, "n_controlled": np.isfinite(less) & (before | after)}
    names = cells[["judge", "dimension"]].join(known).assign(controls=controls)
    rows, _ = grid(analysis, names, measures, tallies=tallies)
    for name, values in {"difference": score, "excess": less}.items():
        first, second = np.where(before, values, np.nan), np.where(after, values, np.nan)
        parts = [(part.cases, analysis.sampling.take(part.cases)) for part in analysis.parts]
        gaps = [unpaired(first[kept], second[kept], sampling) for kept, sampling in parts]
        rows[name] = np.concatenate([gap.value for gap in gaps])
        rows[f"{name}_low"], rows[f"{name}_high"] = np.hstack([intervals.t(gap)[:2] for gap in gaps])
        rows["p_value"] = np.concatenate([t_test(gap) for gap in gaps])  # of the excess, which is the last
    rows = adjust_rows(rows, analysis)
    of_base = rows["cutoff"].notna() & (rows["cutoff_of"] != rows["entry"])
    why = np.select([rows["cutoff"].isna(), rows["n"] == 0, of_base], [NO_CUTOFF, NO_DATES, OF_BASE], "")
    ends = {"difference_low": "low", "difference_high": "high"}
    return rows.assign(reason=why, lacks=NO_SPREAD).rename(columns=ends)
