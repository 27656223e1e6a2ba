"""Changes in the accuracy of judges between two reports, releases or prompts.

A function of two sets of frames, so no table of `mrb analyze`.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, reasons
from mrb_lib.stats.contrasts import contrasts, corrected, pairs_of_cells
from mrb_lib.tables.schema import NO_PROBE

_PAIR: Final = ["judge", "judge_then", "judge_now"]
NO_CASES: Final = "no case that stayed the same is scored both then and now"


def accuracy_changes(
    then: pd.DataFrame,
    now: pd.DataFrame,
    pairs: pd.DataFrame,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    dimensions: Sequence[str],
    **options: Any,
) -> pd.DataFrame:
    """Compare the accuracy of each judge now with that then, over the cases that have not changed.

    Parameters
    ----------
    then, now : the verdicts tables
    pairs : `judge` to show, `judge_then`, `judge_now`; judges of one side alone, where one is null, are left out
    gold : the gold labels of the cases that have not changed, nor their label
    cases : of now
    options : see `mrb_lib.analyze`: `policy`, `correction`, `by`, `cluster`, `resamples`, `seed`

    Returns
    -------
    DataFrame
        One row per pair, dimension and subfield. `n` unchanged cases scored then and now; `n_unscored_then` and
        `n_unscored_now` have a label and lack a score. `accuracy_now` and `accuracy_then` have their ends as in the
        table `accuracy`. `difference` is `accuracy_now` minus `accuracy_then`, with
        interval, test and correction as in the table `significance`; `gained` and `lost` count the cases whose score
        is higher or lower now; `reason` says why a value is null.

    Notes
    -----
    The interval is over cases, not over repetitions of a run: a judge that draws its replies at random changes anyway.
    """
    shared = pairs.dropna(subset=["judge_then", "judge_now"])
    sides = []
    for side, verdicts in (("now", now), ("then", then)):
        kept = verdicts["judge"].isin(shared[f"judge_{side}"]) & verdicts["case_id"].isin(cases["case_id"])
        kept &= verdicts["probe"].eq(NO_PROBE) & verdicts["dimension"].isin(list(dimensions))
        own = verdicts[kept]
        sides.append(own.assign(judge=f"{side} " + own["judge"]))
    labels = gold[gold["dimension"].isin(list(dimensions))]
    verdicts = pd.concat(sides, ignore_index=True)
    analysis = Analysis.from_frames(cases, verdicts, labels, dimensions=dimensions, **options)
    cells = analysis.verdicts.cells.reset_index(names="cell")[["judge", "dimension", "cell"]]
    known = shared[_PAIR].assign(now="now " + shared["judge_now"], then="then " + shared["judge_then"])
    for side in ("now", "then"):
        known = known.merge(cells.rename(columns={"judge": side, "cell": f"cell_{side}"}))
    pairs_of_sides = list(zip(known["cell_now"], known["cell_then"], strict=True))
    contrast = pairs_of_cells(analysis, analysis.scores.score, pairs_of_sides)
    of_sides = contrast._replace(names=known[[*_PAIR, "dimension"]])
    rows = corrected(contrasts(analysis, of_sides, intervals.share), analysis).drop(columns="group_number")
    is_labelled = analysis.labels[:, analysis.verdicts.dimension[known["cell_now"]]] >= 0
    for side, values in (("now", contrast.first), ("then", contrast.second)):
        lacks = is_labelled & np.isnan(values)
        rows[f"n_unscored_{side}"] = np.concatenate([lacks[part.cases].sum(axis=0) for part in analysis.parts])
    renamed = {"only_1": "gained", "only_2": "lost"}
    rows.columns = rows.columns.str.replace("value_1", "accuracy_now").str.replace("value_2", "accuracy_then")
    rows = rows.rename(columns=renamed).assign(policy=analysis.policy)
    is_alike = (rows["gained"] + rows["lost"]).eq(0) & rows["n"].gt(0)
    tested = ["low", "high", "interval", "p_value", "p_adjusted"]
    rows[tested] = rows[tested].mask(is_alike)
    why = rows.assign(reason=np.where(rows["n"] == 0, NO_CASES, ""), lacks=is_alike.map({True: "no score changed"}))
    rows["reason"] = reasons(why, [Column("difference", "", ends=("low", "high"))], analysis.resamples)
    return rows.astype(dict.fromkeys(("by", "subfield", "interval"), "str"))
