"""Ways of querying one judge, compared: what the order does to its probabilities, who agrees, what it costs."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, estimated, reasons
from mrb_lib.stats.estimation import IntArray, divide, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.verdicts import Verdicts

NO_PROBABILITIES = "no case has a probability in both orders"
NEVER_BOTH = "no case was answered by both"
NO_TOKENS = "no verdict counts its tokens"
_UNIT: Final = ["judge", "case_id", "dimension", "repeat"]
_KAPPA: Final = Column("cohen_kappa", "", null="cohen_kappa: one category only")
_TOKENS: Final = ["prompt_tokens", "completion_tokens"]


def both_orders(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return the probabilities of A that a judge gave in the two orders, side by side.

    Returns
    -------
    `judge`, `case_id`, `dimension`, `repeat`, `p_ab` (A shown first) and `p_ba`: one row per repeat in which both are
    known
    """
    known = verdicts.dropna(subset="p_a")
    ab, ba = (known.loc[known["order"] == order, [*_UNIT, "p_a"]] for order in ("AB", "BA"))
    both: pd.DataFrame = ab.rename(columns={"p_a": "p_ab"}).merge(ba.rename(columns={"p_a": "p_ba"}), on=_UNIT)
    return both


def order_shift(verdicts: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Return how far a judge's probability moves when the responses change places.

    It shows a preference for a position that is too weak to change a choice.

    Parameters
    ----------
    verdicts : with `p_a`, of one probe
    options : `dimensions`, `cluster`, `resamples`, `seed`, see `Analysis.from_frames`

    Returns
    -------
    One row per judge and dimension: `n` cases with a probability in both orders, of `n_presented`; `shift`, the mean of
    the probability of A when A is shown first minus that when B is; `gap`, the mean of the absolute difference, above 0
    as soon as there is any noise; `_low` and `_high`, 95% intervals; `reason`
    """
    analysis = Analysis.from_frames(cases, verdicts, **options)
    v = analysis.verdicts
    p = _dense(v, v.p_a)
    difference = p[:, 0] - p[:, 1]
    repeats = np.isfinite(difference).sum(axis=1)
    measures = {
        name: Measure(mean(divide(np.nansum(each, axis=1), repeats)), intervals.t)
        for name, each in (("shift", difference), ("gap", np.abs(difference)))
    }
    names = v.cells[["judge", "dimension"]]
    return _rows(analysis, names, measures, (v.total() > 0).sum(axis=0), NO_PROBABILITIES)


def agreement_between(verdicts: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Return how often two judges, or one judge queried in two ways, make the same choice.

    Two that agree may both be wrong.

    Parameters
    ----------
    options : as in `order_shift`

    Returns
    -------
    One row per pair of judges and dimension: `n` cases that both answered in the same order and repeat, of
    `n_presented`; `coverage`, their ratio; `agreement`, the share of equal choices, ties included, with its interval;
    `cohen_kappa` over the same presentations; `reason`
    """
    analysis = Analysis.from_frames(cases, verdicts, **options)
    v = analysis.verdicts
    cells = v.cells.reset_index(names="cell")[["judge", "dimension", "cell"]]
    pairs = cells.merge(cells, on="dimension", suffixes=("_1", "_2")).query("cell_1 < cell_2")
    choice = np.concatenate(list(np.moveaxis(_dense(v, v.choice.astype(np.float64)), 1, 0)), axis=1)
    first, second = choice[..., pairs["cell_1"]], choice[..., pairs["cell_2"]]
    both = (first >= 0) & (second >= 0)
    agreeing = divide((both & (first == second)).sum(axis=1), both.sum(axis=1))
    presented = (np.isfinite(first) & np.isfinite(second)).any(axis=1).sum(axis=0)
    rows = pairs[["judge_1", "judge_2", "dimension"]].reset_index(drop=True)
    rows["cohen_kappa"] = [_kappa(*(each[..., i][both[..., i]] for each in (first, second))) for i in range(len(rows))]
    rows = _rows(analysis, rows, {"agreement": Measure(mean(agreeing), intervals.share)}, presented, NEVER_BOTH)
    return rows.assign(coverage=divide(rows["n"].to_numpy(), presented))


def _kappa(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Cohen's kappa; NaN where all choices are the same, or none is made."""
    from sklearn.metrics import cohen_kappa_score  # takes a second to import

    return cohen_kappa_score(first, second) if len(np.unique([first, second])) > 1 else np.nan


def _dense(v: Verdicts, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values of verdicts as an array of shape (cases, orders, repeats, cells); NaN where there is no verdict."""
    repeats, repeat = np.unique(v.repeat, return_inverse=True)
    out = np.full((v.n_cases, 2, len(repeats), len(v.cells)), np.nan)
    out[v.case, v.order, repeat, v.cell] = values
    return out


def _rows(
    analysis: Analysis, names: pd.DataFrame, measures: dict[str, Measure], n_presented: IntArray, nothing: str
) -> pd.DataFrame:
    """The rows of some measures with the reasons why something is null."""
    rows, _ = grid(analysis, names, measures)
    rows = rows.assign(n_presented=n_presented, reason=np.where(rows["n"] == 0, nothing, ""))
    columns = [*(estimated(name, "") for name in measures), _KAPPA]
    ends = [name for column in columns[:-1] for name in column.names]
    rows["reason"] = reasons(rows, columns, analysis.resamples)
    return rows[[*names.columns, "n", "n_presented", *ends, "reason"]]


def tokens_per_case(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return what each judge read and wrote per case, over all its dimensions, orders and repeats.

    Returns
    -------
    One row per judge: `n_cases` with a verdict; `prompt_tokens` and `completion_tokens` per case, null where no verdict
    counts them; `reason` where neither is counted
    """
    by_judge = verdicts.groupby("judge", sort=True)
    n_cases = by_judge["case_id"].nunique()
    out = by_judge[_TOKENS].sum(min_count=1).astype("float64").div(n_cases, axis=0)
    out.insert(0, "n_cases", n_cases)
    out["reason"] = pd.Series(NO_TOKENS, index=out.index, dtype="str").where(out[_TOKENS].isna().all(axis=1))
    return out.reset_index()
