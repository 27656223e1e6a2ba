"""Accuracy on cases from before and from after a judge's training cut-off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.stats.contamination import reading
from mrb_lib.stats.contamination.sides import Sides, gap, sides
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.multiplicity import CORRECTIONS, FAMILIES, adjust_families
from mrb_lib.stats.options import (
    FloatArray,
    IntArray,
    check_choice,
    join_reasons,
    mean_of_defined,
    typed,
    with_ends,
)
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.resampling.robust import share_interval, t_interval, t_test
from mrb_lib.stats.subfields import By, Group, groups

NO_CUTOFF: Final = "the roster states no training cut-off of this judge"
OF_BASE: Final = "the cut-off is that of {}, which the judge was trained further from: its own may be later"
NO_DATES: Final = "no scored case has a date (column date of the cases)"
NONE_THERE: Final = "no scored case is dated {} the cut-off"
NO_SPREAD: Final = "no interval or test of the difference: on one side fewer than two clusters count, or all are alike"
IMPRECISE: Final = "{} dated cases are too imprecise to tell the side and count as undated"
COLUMNS = [
    "judge", "dimension", "subfield", "by", "policy", "cutoff", "cutoff_of", "n", "n_excluded", "n_seen",
    "n_unassigned", "n_clusters", "coverage", "n_undated", "n_imprecise", "n_before", *with_ends("accuracy_before"),
    "n_after", *with_ends("accuracy_after"), "difference", "low", "high", "standard_error", "df", "p_value",
    "p_adjusted", "correction", "family", "family_scope", "reason",
]  # fmt: skip


@register_table(
    "contamination",
    question="is a judge more accurate on cases that were public before its training data end",
    columns=COLUMNS,
    meanings=reading.MEANINGS,
    headline=("cutoff", "difference", "low", "high", "p_adjusted", "n_before", "n_after", "n_undated"),
    sentence=reading.sentence,
    why_no_ratings="",
)
def contamination(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    judge_groups: pd.DataFrame,
    *,
    policy: str = "balanced",
    correction: str = "holm",
    family: str = "dimension",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
) -> pd.DataFrame:
    """Compare each judge's accuracy on cases from before its training cut-off with that on later ones.

    Parameters
    ----------
    verdicts, gold, policy, correction, family, by, dimensions, cluster : as in
        `mrb_lib.stats.significance.significance`; a family is of the judges on one dimension and subfield
    cases : with `date`, when a case became public: a year, a month or a day. Without it every case is undated
    judge_groups : `judge`, `cutoff`, `cutoff_of`, `entry`, as of `mrb_lib.judges.roster.groups.judge_groups`

    Returns
    -------
    DataFrame
        One row a judge, dimension and subfield (null: overall), also of a judge without a cut-off, with the reason.
        `n_before` and `n_after` cases scored on either side (see `mrb_lib.stats.contamination.sides.sides`) and the
        accuracy over them; `n` their sum, `n_undated` scored cases on no side, of which `n_imprecise` have a date that
        does not tell, `n_excluded` cases that are not scored, `n_seen` among them: together all cases of the row.
        `coverage`: the share of the verdicts that have a choice, as in the table `accuracy`. `difference`, before less
        after, unpaired, with the 95% interval, `standard_error` and test by Student's t over clusters (see
        `mrb_lib.stats.contamination.sides.gap`). `reason` says why a value is null.

    Raises
    ------
    InputError
        An option is unknown, or `by` or `cluster` cannot be used.

    Notes
    -----
    A fall in accuracy after the cut-off is what memory of public cases does (Roberts et al. 2023, arXiv 2310.10628),
    and what harder later cases do as well: compare judges with other cut-offs on the same cases. A cut-off is what the
    publisher states; data from before it need not have been trained on. Size of the test and coverage of the interval
    are checked in `tests/simulation/test_contamination.py`, the rest in `tests/stats/contamination/`.
    """
    check_choice("correction", correction, CORRECTIONS)
    check_choice("family", family, FAMILIES)
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    scores = score(panel, encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories), policy)
    parts, codes = groups(cases, by), cluster_codes(cases, cluster)
    stated = judge_groups.drop_duplicates("judge").set_index("judge").reindex(panel.judges)
    known = {name: _texts(stated, name) for name in ("cutoff", "cutoff_of", "entry")}
    frames, saw = [pd.DataFrame(columns=COLUMNS)], panel.saw()
    for i in range(len(panel.judges)):
        cutoff = known["cutoff"][i]
        side, on = sides(cases, cutoff), np.flatnonzero(panel.takes_part()[i])
        named = {name: known[name][i] for name in ("cutoff", "cutoff_of")}
        further = OF_BASE.format(named["cutoff_of"]) if cutoff and named["cutoff_of"] != known["entry"][i] else ""
        for part in parts:
            rows = _rows(scores.score[i, on], side, part, codes, why=NO_CUTOFF if cutoff is None else further)
            coverage = mean_of_defined(scores.answered[i, on][:, part.cases])[:, 0]
            seen = saw[i, on][:, part.cases].sum(axis=1)
            names = {"judge": panel.judges[i], "dimension": np.array(panel.dimensions)[on]}
            frames.append(
                pd.DataFrame({**rows, **names, "n_seen": seen, "coverage": coverage, **named, **part.label()})
            )
    out = pd.concat([frame for frame in frames if len(frame)] or frames, ignore_index=True)
    families: IntArray = np.zeros(len(out), dtype=np.int64)
    if family == "dimension":
        families = np.asarray(out.groupby(["by", "subfield", "dimension"], dropna=False).ngroup(), dtype=np.int64)
    adjusted, size = adjust_families(out["p_value"].to_numpy(np.float64), families, correction)
    out = out.assign(
        p_adjusted=adjusted, family=size, policy=policy, correction=correction, family_scope=family
    ).reindex(columns=COLUMNS)
    texts = dict.fromkeys(("cutoff", "cutoff_of", "family_scope"), "str")
    return typed(out, COLUMNS, **texts)


def _texts(stated: pd.DataFrame, name: str) -> list[str | None]:
    values = stated[name] if name in stated else pd.Series(None, index=stated.index, dtype=object)
    return [value if isinstance(value, str) else None for value in values]


def _rows(value: FloatArray, side: Sides, part: Group, codes: IntArray, *, why: str) -> dict[str, object]:
    """What one judge's scores, of shape (dimensions, cases), say in a group of cases: columns by dimension."""
    value, unit = value[:, part.cases], codes[part.cases]
    scored = np.isfinite(value)
    before, after, imprecise = (scored & each[part.cases] for each in side)
    made = gap(value, before, after, unit)
    n_before, n_after, n_imprecise = (each.sum(axis=1) for each in (before, after, imprecise))
    n = n_before + n_after
    undated = scored.sum(axis=1) - n
    low, high = t_interval(made.difference, -1.0, 1.0)
    columns: dict[str, object] = {
        "n": n, "n_excluded": len(part.cases) - scored.sum(axis=1), "n_undated": undated, "n_imprecise": n_imprecise,
        "n_clusters": [len(np.unique(unit[row])) for row in before | after], "n_before": n_before, "n_after": n_after,
        "difference": made.difference.value, "low": low, "high": high, "standard_error": made.difference.error,
        "df": made.difference.clusters - 1, "p_value": t_test(made.difference),
    }  # fmt: skip
    for name, mean in (("accuracy_before", made.first), ("accuracy_after", made.second)):
        columns |= dict(zip(with_ends(name), (mean.value, *share_interval(mean)), strict=True))
    columns["reason"] = [
        join_reasons(why, "" if why == NO_CUTOFF else _reason(*counts, unknown=np.isnan(low[i])))
        for i, counts in enumerate(zip(n_before.tolist(), n_after.tolist(), n_imprecise.tolist(), strict=True))
    ]
    return columns


def _reason(n_before: int, n_after: int, n_imprecise: int, *, unknown: bool) -> str:
    vague = IMPRECISE.format(f"{n_imprecise:,}") if n_imprecise else ""
    if not n_before and not n_after:
        return vague or NO_DATES
    missing = [NONE_THERE.format(name) for name, n in (("before", n_before), ("after", n_after)) if not n]
    return join_reasons(*(missing or [NO_SPREAD if unknown else ""]), vague) or ""
