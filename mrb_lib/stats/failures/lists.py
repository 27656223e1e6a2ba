"""The cases behind numbers other than accuracy: turned by the order, surely wrong, unsure, missed by juries, disputed.

Every function lists, for each number of a table, the ids of its cases in the order of the cases table, with what the
table counts beside it. Validated by tests/report/notebook/test_case_lists.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from mrb_lib.stats.confidence.forecasts import forecasts
from mrb_lib.stats.confidence.summary import HIGH_CONFIDENCE
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.failures.failure_kinds import CLEAR_MAJORITY
from mrb_lib.stats.options import BoolArray
from mrb_lib.stats.selective.answers import answers, references
from mrb_lib.tables.schema import CONSENSUS

_ROUNDING = 1e-12


def turned_cases(
    verdicts: pd.DataFrame | Panel, cases: pd.DataFrame, *, dimensions: Sequence[str] | None = None
) -> pd.DataFrame:
    """The cases on which a judge chooses something else when the responses change places.

    Returns
    -------
    DataFrame
        `judge`, `dimension`; `n` cases answered in both orders, as in the table `consistency`; `listed`, those of
        which some repeat has another choice in the other order. With one repeat they are n (1 - `consistency`).
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    ab, ba = panel.choice[:, :, :, 0], panel.choice[:, :, :, 1]
    answered = (ab >= 0) & (ba >= 0)
    return _rows(panel, answered.any(axis=-1).sum(axis=2), (answered & (ab != ba)).any(axis=-1), cases)


def surely_wrong(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    dimensions: Sequence[str] | None = None,
) -> pd.DataFrame:
    """The cases on which a judge holds the other label for at least .9 probable.

    Returns
    -------
    DataFrame
        `judge`, `dimension`; `n` forecasts of that confidence, `n_high_confidence` of the table `calibration`;
        `n_verdicts` of them that are wrong, a share `wrong_at_high_confidence`; `listed`, the cases these are about.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    made = forecasts(panel, encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories))
    high = made.take(made.confidence >= HIGH_CONFIDENCE - _ROUNDING)
    wrong = high.take(high.correct == 0)
    shape, columns = panel.shape[:2], int(np.prod(panel.shape[:2]))
    n, n_wrong = (np.bincount(each.column, minlength=columns).reshape(shape) for each in (high, wrong))
    listed = np.zeros((columns, len(cases)), dtype=bool)
    listed[wrong.column, wrong.case] = True
    rows = _rows(panel, n, listed.reshape(*shape, len(cases)), cases)
    return rows.assign(n_verdicts=n_wrong[n > 0])


def unsure_cases(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    thresholds: Mapping[str, float],
    *,
    dimension: str,
    rule: str = "majority",
) -> pd.DataFrame:
    """The cases of which a judge is not sure enough to answer alone.

    Parameters
    ----------
    thresholds : the confidence from which on each judge may answer, `threshold` of the table `selective`

    Returns
    -------
    DataFrame
        `judge`, `dimension`; `n` cases that it could answer; `listed`, those of a confidence below its threshold: all
        but those that the curve of the table has answered there.
    """
    panel = as_panel(verdicts, cases["case_id"], [dimension])
    made = answers(panel, references(gold, annotations, cases, panel.dimensions, rule)[0])
    least = np.array([thresholds.get(judge, np.nan) for judge in panel.judges])
    answered, listed = np.zeros((2, len(panel.judges), 1, len(cases)), dtype=bool)
    answered[made.column, 0, made.case] = True
    listed[made.column, 0, made.case] = made.confidence < least[made.column] - _ROUNDING
    n = np.where(np.isnan(least), 0, answered.sum(axis=(1, 2)))[:, None]
    return _rows(panel, n, listed, cases)


def disputed_cases(
    annotations: pd.DataFrame, cases: pd.DataFrame, *, dimensions: Sequence[str] | None = None
) -> pd.DataFrame:
    """The cases on which annotators do not all choose the same.

    Returns
    -------
    DataFrame
        `dimension`; `n` cases with two annotators or more; `listed`, those with several choices; `split`, whether they
        are just those that `mrb review` calls split, whose most frequent choice has less than 3/4 of the votes.
    """
    rows = []
    for dimension, votes in _votes(annotations, dimensions):
        counts = votes.groupby(["case_id", "choice"]).size().groupby("case_id").agg(["sum", "max"])
        several = counts[counts["sum"] > 1]
        listed = several.index[several["max"] < several["sum"]]
        split = several.index[several["max"] < CLEAR_MAJORITY * several["sum"]]
        rows.append((dimension, len(several), in_order(listed, cases), set(listed) == set(split)))
    return pd.DataFrame(rows, columns=["dimension", "n", "listed", "split"])


def disputed_pairs(
    annotations: pd.DataFrame, cases: pd.DataFrame, *, dimensions: Sequence[str] | None = None
) -> pd.DataFrame:
    """The cases on which two annotators choose differently.

    Returns
    -------
    DataFrame
        `dimension`, `annotator_1`, `annotator_2`; `n` cases that both annotated; `listed`, those with different
        choices, n (1 - `percent_agreement`) of the part "pair" of the table `agreement`.
    """
    rows = []
    for dimension, votes in _votes(annotations, dimensions):
        wide = votes.pivot(index="case_id", columns="annotator", values="choice")
        for one, two in combinations(sorted(wide.columns), 2):
            both = wide[[one, two]].dropna()
            listed = both.index[both[one] != both[two]]
            rows.append((dimension, one, two, len(both), in_order(listed, cases)))
    return pd.DataFrame(rows, columns=["dimension", "annotator_1", "annotator_2", "n", "listed"])


def in_order(ids: Sequence[str] | pd.Index, cases: pd.DataFrame) -> tuple[str, ...]:
    """Ids in the order of the cases table."""
    return tuple(map(str, cases.loc[cases["case_id"].isin(list(ids)), "case_id"]))


def _votes(annotations: pd.DataFrame, dimensions: Sequence[str] | None) -> list[tuple[str, pd.DataFrame]]:
    """The annotators' own labels of each dimension."""
    own = annotations[annotations["annotator"] != CONSENSUS]
    names = list(dict.fromkeys(own["dimension"])) if dimensions is None else dimensions
    return [(name, own[own["dimension"] == name]) for name in names]


def _rows(panel: Panel, n: np.ndarray, listed: BoolArray, cases: pd.DataFrame) -> pd.DataFrame:
    """A row a judge and dimension with an `n` above 0; `n` has shape (J, D), `listed` (J, D, N)."""
    ids = cases["case_id"].to_numpy()
    rows = [
        (panel.judges[j], panel.dimensions[d], int(n[j, d]), tuple(map(str, ids[listed[j, d]])))
        for j, d in np.argwhere(n > 0)
    ]
    return pd.DataFrame(rows, columns=["judge", "dimension", "n", "listed"])
