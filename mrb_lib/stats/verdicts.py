"""Verdicts and labels as codes, and sums over the verdicts of each case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.options import code
from mrb_lib.stats.panel import TIE as TIE
from mrb_lib.stats.panel import Panel
from mrb_lib.tables.schema import CHOICES, ORDERS, split_labels

Codes = NDArray[np.integer[Any]]
"""Of few bytes each, since there are millions: 64 bits before they are multiplied."""
JUDGE, REFERENCE = "judge", "reference"
ANSWERS = ("no", "yes")
STATED = ("p_a", "is_bound", "score_a", "score_b")
_PER_VERDICT = ("case", "cell", "order", "repeat", "choice", *STATED)


def labels_of(
    gold: pd.DataFrame, case_ids: pd.Series, dimensions: Sequence[str], categories: Sequence[str]
) -> IntArray:
    """Return the gold labels as codes, shape (cases, dimensions); -1 where there is none."""
    kept = gold[gold["dimension"].isin(list(dimensions))]
    out = np.full((len(case_ids), len(dimensions)), -1, dtype=np.int64)
    place = code(kept["case_id"], case_ids, "case_id"), code(kept["dimension"], dimensions, "dimension")
    out[place] = code(kept["choice"], categories, "gold choice")
    return out


@dataclass(frozen=True)
class Verdicts:
    """Verdicts, one entry each, and the cells (judge x dimension) of which tables have a row.

    Attributes
    ----------
    cells : `judge`, `dimension`, `kind` (judge or reference) and `label` (of a constant): one row per cell
    dimension : shape (cells,), the dimension of each cell among `dimensions`
    categories : what a verdict may choose: A, B and tie, or the categories of a rating from the lowest
    seen : shape (cases, cells), whether verdicts are left out because the judge was trained on the case
    case, cell, order, repeat, choice, p_a, is_bound, score_a, score_b : shape (v,), one entry per verdict. The choice
        is a position in `categories`, -1 where a verdict has none; `order` is 0 for AB and 1 for BA; `p_a` and the
        scores are NaN where unknown, and `is_bound` 1 where `p_a` is only a bound
    """

    cells: pd.DataFrame
    dimensions: list[str]
    n_cases: int
    categories: tuple[str, ...]
    dimension: IntArray
    seen: BoolArray
    case: Codes
    cell: Codes
    order: Codes
    repeat: Codes
    choice: Codes
    p_a: FloatArray
    is_bound: FloatArray
    score_a: FloatArray
    score_b: FloatArray

    @classmethod
    def of(cls, panel: Panel) -> Verdicts:
        """Return the verdicts of a panel, by judge, dimension, case, order and repeat."""
        takes_part, present, choice = panel.takes_part(), panel.present, panel.choice[panel.present]
        of_judge, of_dimension = np.nonzero(takes_part)
        number = np.cumsum(takes_part, dtype=np.int32).reshape(takes_part.shape) - 1

        def among(values: NDArray[Any]) -> NDArray[Any]:
            return np.broadcast_to(values, present.shape)[present]

        arrays = {name: getattr(panel, name) for name in STATED}
        unknown = np.broadcast_to(np.nan, choice.shape)
        judges, dimensions = (np.array(names, dtype=object) for names in (panel.judges, panel.dimensions))
        cells = pd.DataFrame({"judge": judges[of_judge], "dimension": dimensions[of_dimension]})
        return cls(
            cells=cells.assign(kind=JUDGE, label=None),
            dimensions=panel.dimensions,
            n_cases=panel.shape[2],
            categories=panel.categories,
            dimension=of_dimension.astype(np.int64),
            seen=panel.saw()[of_judge, of_dimension].T,
            case=among(np.arange(panel.shape[2], dtype=np.int32)[:, None, None]),
            cell=among(number[:, :, None, None, None]),
            order=among(np.arange(present.shape[3], dtype=np.int8)[:, None]),
            repeat=among(np.array(panel.repeats, dtype=np.int32)),
            choice=choice,
            **{name: unknown if own is None else own[present] for name, own in arrays.items()},
        )

    @property
    def tie(self) -> int:
        """The code of the tie; -1 where the verdicts are ratings, which have none."""
        return TIE if self.categories == CHOICES else -1

    def total(self, of: FloatArray | BoolArray | None = None) -> FloatArray:
        """Sum something over the verdicts on each case in each cell, shape (cases, cells); without it, count them."""
        shape = self.n_cases, len(self.cells)
        place = self.case.astype(np.int64) * shape[1] + self.cell
        return np.bincount(place, of, shape[0] * shape[1]).reshape(shape).astype(np.float64)

    def gold(self, labels: IntArray) -> IntArray:
        """Return the gold label of the case of each verdict, from labels of shape (cases, dimensions)."""
        return np.asarray(labels[self.case, self.dimension[self.cell]])

    def where(self, kept: BoolArray | IntArray) -> Verdicts:
        """Return some of the verdicts; the cells stay."""
        rows: dict[str, Any] = {name: getattr(self, name)[kept] for name in _PER_VERDICT}
        return replace(self, **rows)

    def of_cells(self, kept: BoolArray) -> Verdicts:
        """Return the verdicts of some cells alone."""
        own = self.where(kept[self.cell])
        return replace(
            own,
            cells=self.cells[kept].reset_index(drop=True),
            dimension=self.dimension[kept],
            seen=self.seen[:, kept],
            cell=(np.cumsum(kept, dtype=np.int32) - 1)[own.cell],
        )

    def both_orders(self) -> pd.DataFrame:
        """Return verdicts of one repeat in both orders, side by side: `case`, `cell`, and the choices `ab`, `ba`."""
        rows = pd.DataFrame({"case": self.case, "cell": self.cell, "repeat": self.repeat, "choice": self.choice})
        ab, ba = (rows[self.order == order] for order in range(len(ORDERS)))
        both: pd.DataFrame = ab.merge(ba, on=["case", "cell", "repeat"])
        return both.rename(columns={"choice_x": "ab", "choice_y": "ba"})

    def with_constants(self, picks: Mapping[str, tuple[IntArray, Sequence[str | None]]]) -> Verdicts:
        """Return the verdicts with judges added that pick the same in both orders, on every case that any judge judged.

        Parameters
        ----------
        picks : by name what is picked, shape (cases, dimensions), and the label of each dimension where it is constant
        """
        asked = np.flatnonzero(np.bincount(self.case * len(self.dimensions) + self.dimension[self.cell]))
        case, dimension = np.divmod(asked, len(self.dimensions))
        kept, place = np.unique(dimension, return_inverse=True)
        names, unknown = np.array(self.dimensions, dtype=object)[kept], np.broadcast_to(np.nan, len(case))
        parts, cells = [self], [self.cells]
        for name, (pick, label) in picks.items():
            own = {"judge": name, "dimension": names, "kind": REFERENCE, "label": np.array(label, dtype=object)[kept]}
            cells.append(pd.DataFrame(own))
            for order in range(len(ORDERS)):
                alike: dict[str, Any] = dict.fromkeys(STATED, unknown) | {
                    "case": case,
                    "cell": sum(map(len, cells[:-1])) + place,
                    "order": np.full(len(case), order),
                    "repeat": np.zeros(len(case), dtype=np.int64),
                    "choice": pick[case, dimension],
                }
                parts.append(replace(self, **alike))
        rows: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts], dtype=getattr(self, name).dtype)
            for name in _PER_VERDICT
        }
        more = len(picks) * len(kept)
        return replace(
            self,
            cells=pd.concat(cells, ignore_index=True),
            dimension=np.concatenate([self.dimension, np.tile(kept, len(picks))]),
            seen=np.hstack([self.seen, np.zeros((self.n_cases, more), dtype=bool)]),
            **rows,
        )


def votes_of(verdicts: Verdicts) -> FloatArray:
    """Count how often each category was chosen in each order, shape (orders, categories, cases, cells)."""
    kinds = range(len(verdicts.categories))
    each = [[verdicts.total((verdicts.order == o) & (verdicts.choice == c)) for c in kinds] for o in range(len(ORDERS))]
    return np.stack([np.stack(votes) for votes in each])


def agreeing_repeats(votes: FloatArray) -> FloatArray:
    """Return the share of pairs of repeats that agree in each order, shape (orders, cases, cells); NaN without a pair.

    Parameters
    ----------
    votes : shape (orders, categories, cases, cells), see `votes_of`
    """
    n = votes.sum(axis=1)
    return divide((votes * (votes - 1)).sum(axis=1), n * (n - 1))


def names_of(labels: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what `label_rows` calls every dimension with each of its labels, in order."""
    return [f"{dimension}\n{name}" for dimension, names in labels.items() for name in names]


def label_rows(frame: pd.DataFrame, labels: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return annotations or verdicts on dimensions of several labels, one row per label, as yes or no.

    Parameters
    ----------
    frame : with `dimension`, one of `labels`, and `choice`, as `mrb_lib.tables.schema.joined_labels` writes it, or null

    Returns
    -------
    DataFrame
        As the frame, without `p_categories`; `dimension` is one of `names_of`, `choice` is "yes", "no" or null.
    """
    parts = []
    for dimension, names in labels.items():
        own = frame[frame["dimension"] == dimension].drop(columns="p_categories", errors="ignore")
        chosen = [set(split_labels(choice)) if isinstance(choice, str) else None for choice in own["choice"]]
        for name in names:
            answers = [None if each is None else ANSWERS[name in each] for each in chosen]
            choice = pd.Series(answers, own.index, dtype="str")
            parts.append(own.assign(dimension=f"{dimension}\n{name}", choice=choice))
    return pd.concat(parts, ignore_index=True)


def label_gold(annotations: pd.DataFrame, case_ids: pd.Series, labels: Mapping[str, Sequence[str]]) -> FloatArray:
    """Return whether each label applies by a majority of a case's annotators, shape (cases, labels).

    It is 1 where more than half of them give it, 0 where fewer do, 0.5 where just half do, NaN where nobody did.

    Parameters
    ----------
    annotations : votes, see `mrb_lib.benchmarks.votes.voting`, on dimensions of several labels among others
    """
    rows = label_rows(annotations, labels)
    shares = (rows["choice"] == "yes").groupby([rows["case_id"], rows["dimension"]]).mean().unstack()
    return np.heaviside(shares.reindex(index=case_ids, columns=names_of(labels)).to_numpy(np.float64) - 0.5, 0.5)
