"""Ways of querying one judge, compared: what the order does to its probabilities, who agrees, what it costs."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, estimated, reasons
from mrb_lib.stats.estimation import FloatArray, divide, mean
from mrb_lib.stats.grid import Measure, grid

NO_PROBABILITIES = "no case has a probability in both orders"
NEVER_BOTH = "no case was answered by both"
_UNIT: Final = ["judge", "case_id", "dimension", "repeat"]
_PAIR: Final = ["judge_1", "judge_2", "dimension"]


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
    One row per judge and dimension: `n` cases with a probability in both orders; `shift`, the mean of the probability
    of A when A is shown first minus that when B is; `shift_low` and `shift_high`, its 95% interval; `reason`
    """
    analysis = Analysis.from_frames(cases, verdicts, **options)
    both = both_orders(verdicts[verdicts["probe"] == analysis.probe])
    moved = (both["p_ab"] - both["p_ba"]).groupby([both[name] for name in ("case_id", "judge", "dimension")]).mean()
    names = analysis.verdicts.cells[["judge", "dimension"]]
    measure = Measure(mean(_dense(moved, cases, names)), intervals.t)
    return _rows(analysis, names, "shift", measure, NO_PROBABILITIES)


def agreement_between(verdicts: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Return how often two judges, or one judge queried in two ways, make the same choice.

    Two that agree may both be wrong.

    Parameters
    ----------
    options : as in `order_shift`

    Returns
    -------
    One row per pair of judges and dimension: `n` cases that both answered in the same order and repeat; `coverage`,
    their share of the cases that both were asked; `agreement`, the share of equal choices, ties included, with its
    interval; `cohen_kappa` over the same presentations; `reason`
    """
    analysis = Analysis.from_frames(cases, verdicts, **options)
    cells = analysis.verdicts.cells.reset_index(names="cell")[["judge", "dimension", "cell"]]
    names = cells.merge(cells, on="dimension", suffixes=("_1", "_2")).query("cell_1 < cell_2")[_PAIR]
    said = verdicts.loc[verdicts["probe"] == analysis.probe, [*_UNIT, "order", "choice"]]
    both = said.merge(said, on=["case_id", "dimension", "order", "repeat"], suffixes=("_1", "_2"))
    asked = names.merge(both, on=_PAIR).assign(is_known=lambda rows: rows[["choice_1", "choice_2"]].notna().all(axis=1))
    known = asked[asked["is_known"]]
    same = known["choice_1"].eq(known["choice_2"]).groupby([known[name] for name in ("case_id", *_PAIR)]).mean()
    kappa = {pair: _kappa(own["choice_1"], own["choice_2"]) for pair, own in known.groupby(_PAIR)}
    n_asked = asked.groupby(_PAIR)["case_id"].nunique().to_dict()
    pairs = list(names.itertuples(index=False, name=None))
    columns = names.assign(cohen_kappa=[kappa.get(pair, np.nan) for pair in pairs])
    rows = _rows(analysis, columns, "agreement", Measure(mean(_dense(same, cases, names)), intervals.share), NEVER_BOTH)
    return rows.assign(coverage=divide(rows["n"].to_numpy(), np.array([n_asked.get(pair, 0) for pair in pairs])))


def _kappa(first: pd.Series, second: pd.Series) -> float:
    """Cohen's kappa; NaN where all choices are the same."""
    from sklearn.metrics import cohen_kappa_score  # takes a second to import

    return cohen_kappa_score(first, second) if pd.concat([first, second]).nunique() > 1 else np.nan


def _dense(values: pd.Series, cases: pd.DataFrame, names: pd.DataFrame) -> FloatArray:
    """Values by case and the columns of `names`, as an array of shape (cases, names); NaN where there is none."""
    wide = values.unstack(list(names.columns))
    return wide.reindex(index=cases["case_id"], columns=pd.MultiIndex.from_frame(names)).to_numpy(np.float64)


def _rows(analysis: Analysis, names: pd.DataFrame, name: str, measure: Measure, nothing: str) -> pd.DataFrame:
    """The rows of a measure, with the reasons why something is null."""
    rows, _ = grid(analysis, names, {name: measure})
    rows["reason"] = np.where(rows["n"] == 0, nothing, "")
    column = estimated(name, "")
    kappa = Column("cohen_kappa", "", null="cohen_kappa: one category only")
    rows["reason"] = reasons(rows, [column, kappa], analysis.resamples)
    return rows[[*names.columns, "n", *column.names, "reason"]]


def tokens_per_case(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return what each judge read and wrote per case, over all its dimensions, orders and repeats.

    Returns
    -------
    One row per judge: `n_cases` with a verdict; `prompt_tokens` and `completion_tokens` per case, null where no verdict
    counts them
    """
    by_judge = verdicts.groupby("judge", sort=True)
    n_cases = by_judge["case_id"].nunique()
    out = by_judge[["prompt_tokens", "completion_tokens"]].sum(min_count=1).astype("float64").div(n_cases, axis=0)
    out.insert(0, "n_cases", n_cases)
    return out.reset_index()
