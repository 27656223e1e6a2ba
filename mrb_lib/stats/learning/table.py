"""Trained judges whose recipes differ in one entry, and the curve by which accuracy grows with training cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.table import Option, register_table
from mrb_lib.stats.gains.quantities import ACCURACY, case_quantities, why_none
from mrb_lib.stats.learning import reading
from mrb_lib.stats.learning.fit import FARTHEST, FEWEST_SIZES, fit_power_law
from mrb_lib.stats.learning.recipes import Contrast, SizeSeries, contrasts, size_series
from mrb_lib.stats.options import FloatArray, IntArray, join_reasons, typed, with_ends
from mrb_lib.stats.resampling.quantiles import interval
from mrb_lib.stats.resampling.resample import (
    block,
    cluster_codes,
    interval_reason,
    n_clusters,
    resampled,
)
from mrb_lib.stats.significance.paired import NO_CASES, PairOptions, pair_rows
from mrb_lib.stats.subfields import groups

FEW_SIZES: Final = "no curve: it has three unknowns and takes {} different numbers of training cases; there are {}"
NO_COMMON: Final = "no case is scored for all judges of the series that none of them was trained on"
NO_GROWTH: Final = "accuracy does not grow with the number of training cases, so that the curve has no exponent"
BEYOND: Final = "no number of cases gives the wanted accuracy: the curve's limit is {:.3f}"
TOO_FAR: Final = (
    f"the wanted accuracy takes more than {FARTHEST:g} times the largest training set, where no curve can be read"
)
OPEN_END: Final = f"cases_needed may be more than {FARTHEST:g} times the largest training set, or not be reached at all"
TWICE: Final = 2.0
_POINTS: Final = 25
_ENDS: Final = ("limit", "exponent", "cases_needed")
COLUMNS = [
    "part", "recipe", "ingredient", "value_1", "value_2", "judge_1", "judge_2", "judge", "dimension", "policy",
    "quantity", "n", "n_clusters", "n_training", "n_sizes", "difference", "accuracy", "low", "high", "standard_error",
    "interval", "test", "p_value", "p_adjusted", "correction", "family", "family_scope",
    *with_ends("limit", "exponent"), "residual", "target", *with_ends("cases_needed"), "reason",
]  # fmt: skip


@register_table(
    "learning",
    question="what does each ingredient of training contribute, and how many cases does a wanted accuracy take",
    columns=COLUMNS,
    reads=("p_a",),
    options={"target": Option("the accuracy whose number of training cases is wanted", least=0, below=1)},
    meanings=reading.MEANINGS,
    headline=("difference", "accuracy", "low", "high", "p_adjusted", "n_training", "cases_needed"),
    sentence=reading.sentence,
    why_no_ratings="",
)
def learning(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    records: pd.DataFrame | None = None,
    training: pd.DataFrame | None = None,
    target: float | None = None,
    policy: str = "balanced",
    correction: str = "holm",
    family: str = "dimension",
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare trained judges of one base by what their recipes differ in.

    Parameters
    ----------
    verdicts, gold, cases, policy, dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`
    records : see `mrb_lib.verdicts.training.training_records`; without it there are no rows
    training : `judge`, `case_id`: the cases that judges were trained on, which are left out
    target : a wanted accuracy
    correction, family : as in `mrb_lib.stats.significance.significance`, over the pairs of one quantity

    Returns
    -------
    DataFrame
        `ingredient`, one row a quantity, dimension and pair of judges of the same base, trained on the same benchmark,
        whose recipes (`method`, `warm_up`, `n_cases` and the entries of `recipe`) differ in exactly one entry, seeds
        and settings of the trainer apart (see `mrb_lib.stats.learning.recipes.contrasts`), which is `ingredient`:
        `difference` of the `quantity` (accuracy, and those of `mrb_lib.stats.gains.quantities.case_quantities`) with
        interval and test exactly as the table `significance` has them, on the `n` cases that neither was trained on.
        `reason` says where settings differ, too.

        Of judges that differ in the number of training cases alone, a series: `size`, one row a judge, its `accuracy`
        over the `n` cases that are scored for all of the series and that none of them has seen; `curve`, one row a
        dimension: of accuracy = `limit` - amplitude * cases^-`exponent` the limit and the exponent, `accuracy` at twice
        the largest training set (`n_training`), and with a `target` the `cases_needed` for it, each with its interval;
        `fit`, the curve at 25 numbers of cases up to there. Intervals are percentiles of the cluster bootstrap over
        cases. `reason` says why a value is null: fewer than four different sizes, a curve that does not grow, a target
        beyond the limit or beyond ten times the largest training set.

    Raises
    ------
    InputError
        An option is unknown, or a verdict is about an unknown case.

    Notes
    -----
    The curve is an inverse power law with an asymptote (`mrb_lib.stats.learning.fit`), fitted by least squares to the
    accuracies of the series. Its intervals are over test cases: they are of these judges, each trained once, and hold
    nothing of what another draw of training cases, or another seed, would have made of them; `residual` beside the
    intervals of the accuracies shows how much that is. Over test cases, with 200 to 1,000 of them and four to six
    sizes, intervals of the curve hold the truth in 92 to 95 of 100 benchmarks, those of the limit and the exponent in
    93 to 94, and those of `cases_needed`, where it is not null, in 93 to 99 (`tests/simulation/test_learning.py`).
    """
    options = PairOptions(policy, correction, family, None, resamples, seed)
    options.check()
    panel = as_panel(verdicts, cases["case_id"], dimensions).without_seen(training, cases["case_id"])
    if records is None:
        return _typed(pd.DataFrame(columns=COLUMNS))
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
    codes = cluster_codes(cases, cluster)
    scores = score(panel, labels, policy).score
    frames = []
    if pairs := contrasts(records, panel.judges):
        frames.append(_ingredients(ACCURACY, scores, panel, pairs, codes, options))
        plain = options._replace(policy="balanced")  # whose test is of graded values
        for quantity, value in case_quantities(panel, labels, cases, policy).items():
            frames.append(_ingredients(quantity, value, panel, pairs, codes, plain))
    for series in size_series(records, panel.judges):
        position = [panel.judges.index(judge) for judge in series.judges]
        for d, dimension in enumerate(panel.dimensions):
            curve = _Curve(series, scores[position, d], codes, target, resamples, seed)
            frames.append(pd.DataFrame(_series_rows(curve)).assign(dimension=dimension, policy=policy))
    return _typed(pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS))


def _ingredients(
    quantity: str, value: FloatArray, panel: Panel, pairs: list[Contrast], codes: IntArray, options: PairOptions
) -> pd.DataFrame:
    """The rows of one quantity, a pair and dimension each."""
    order = [panel.judges.index(name) for pair in pairs for name in (pair.judge_1, pair.judge_2)]
    only = [(2 * i, 2 * i + 1) for i in range(len(pairs))]
    whole = groups(pd.DataFrame(index=range(value.shape[2])), None)
    judges = [f"{i} {panel.judges[j]}" for i, j in enumerate(order)]  # a judge may be in several pairs
    rows = pair_rows(value[order], panel.takes_part()[order], judges, panel.dimensions, whole, codes, options, only)
    pair = rows["judge_1"].str.split(" ", n=1).str[0].astype(int) // 2
    named = pd.DataFrame(pairs).loc[pair].reset_index(drop=True)
    none = NO_CASES if quantity == ACCURACY else why_none(panel, quantity)
    reasons = [
        join_reasons(text.replace(NO_CASES, none) if isinstance(text, str) else "", note)
        for text, note in zip(rows["reason"], named["note"], strict=True)
    ]
    return rows.drop(columns=["judge_1", "judge_2"]).assign(
        part="ingredient", quantity=quantity, reason=pd.Series(reasons, dtype="str"), **named.drop(columns="note"),
        policy=options.policy if quantity in (ACCURACY, "longer_rate") else None,
    )  # fmt: skip


class _Curve(NamedTuple):
    """A series on one dimension: `value` of shape (judges, cases)."""

    series: SizeSeries
    value: FloatArray
    codes: IntArray
    target: float | None
    resamples: int
    seed: int


_Row = dict[str, Any]


def _series_rows(curve: _Curve) -> list[_Row]:
    """The rows `size`, `curve` and `fit` of a series."""
    sizes = np.array(curve.series.sizes, dtype=np.float64)
    common = np.isfinite(curve.value).all(axis=0)
    n, codes, n_sizes = int(common.sum()), curve.codes[common], len(np.unique(sizes))
    shared: _Row = {
        "recipe": curve.series.recipe, "quantity": ACCURACY, "n": n, "n_clusters": len(np.unique(codes)),
        "n_sizes": n_sizes,
    }  # fmt: skip
    grid = np.geomspace(sizes.min(), TWICE * sizes.max(), _POINTS)
    is_fitted = n > 0 and n_sizes >= FEWEST_SIZES

    def estimates(sums: FloatArray) -> FloatArray:
        """Accuracies of the judges, and of the fitted curve its limit, exponent, cases needed and values."""
        accuracy = sums[:, :-1] / np.where(sums[:, -1:] > 0, sums[:, -1:], np.nan)
        if not is_fitted:
            return accuracy
        law = fit_power_law(sizes, 1 - np.nan_to_num(accuracy, nan=0.5))
        needed = np.full(len(accuracy), np.nan) if curve.target is None else law.cases_needed(1 - curve.target)
        columns = (1 - law.asymptote, law.exponent, needed, law.residual)
        return np.column_stack([accuracy, *columns, 1 - law.error(grid)])

    if not n:
        none: list[_Row] = [
            {"part": "size", "judge": judge, "n_training": size} for judge, size in _points(curve.series)
        ]
        return [{**shared, **row, "reason": NO_COMMON} for row in [*none, {"part": "curve", "target": curve.target}]]
    item = block(codes, np.vstack([curve.value[:, common], np.ones(n)]).T, estimates)
    found = estimates(item.total)[0]
    drawn = next(iter(resampled([item], n_clusters(curve.codes), resamples=curve.resamples, seed=curve.seed)))
    low, high = _ends(drawn.replicates, len(found))
    told = interval_reason(n, shared["n_clusters"], curve.resamples, 0.0, 1.0)
    k = len(sizes)
    rows: list[_Row] = [
        {**shared, "part": "size", "judge": judge, "n_training": size, "accuracy": found[i], "low": low[i],
         "high": high[i], "reason": told or None}
        for i, (judge, size) in enumerate(_points(curve.series))
    ]  # fmt: skip
    if not is_fitted:
        few = FEW_SIZES.format(FEWEST_SIZES, n_sizes)
        return [*rows, {**shared, "part": "curve", "target": curve.target, "reason": few}]
    last = len(found) - 1
    law: _Row = {
        "part": "curve", "n_training": round(TWICE * sizes.max()), "accuracy": found[last], "low": low[last],
        "high": high[last], "target": curve.target, "residual": found[k + 3],
    }  # fmt: skip
    for i, name in enumerate(_ENDS, start=k):
        law |= dict(zip(with_ends(name), (found[i], low[i], high[i]), strict=True))
    rows.append({**shared, **_readable(law, FARTHEST * sizes.max(), told)})
    fit = [
        {**shared, "part": "fit", "n_training": round(size), "accuracy": found[k + 4 + i], "low": low[k + 4 + i],
         "high": high[k + 4 + i], "reason": told or None}
        for i, size in enumerate(grid)
    ]  # fmt: skip
    return [*rows, *fit]


def _points(series: SizeSeries) -> list[tuple[str, int]]:
    return list(zip(series.judges, series.sizes, strict=True))


def _ends(replicates: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
    """The percentile interval of each estimate; of what may be infinite the end may be, too."""
    if not len(replicates):
        return np.full(m, np.nan), np.full(m, np.nan)
    largest = np.where(np.isinf(replicates), np.finfo(np.float64).max, replicates)
    low, high = interval(largest)
    return low, high


def _readable(law: _Row, farthest: float, told: str) -> _Row:
    """The row `curve`, without what it cannot tell, and why."""
    needed, high, limit = (float(law[name]) for name in ("cases_needed", "cases_needed_high", "limit"))
    reasons = [told]
    if np.isnan(law["exponent"]):
        reasons.append(NO_GROWTH)
        law |= dict.fromkeys(with_ends("exponent", "cases_needed"), np.nan)
    elif law["target"] is not None and needed > farthest:
        reasons.append(BEYOND.format(limit) if np.isinf(needed) else TOO_FAR)
        law |= dict.fromkeys(with_ends("cases_needed"), np.nan)
    elif law["target"] is not None and high > farthest:
        reasons.append(OPEN_END)
        law["cases_needed_high"] = np.nan
    return {**law, "reason": join_reasons(*reasons)}


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    counts = dict.fromkeys(("n_clusters", "n_training", "n_sizes", "family"), "Int64")
    texts = dict.fromkeys(("recipe", "ingredient", "value_1", "value_2", "family_scope"), "str")
    return typed(frame.reindex(columns=COLUMNS), COLUMNS, counts="Int64", **counts, **texts)
