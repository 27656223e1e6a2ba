"""Verdicts as one dense array: every judge, dimension, case, order and repeat has its cell.

A verdict is one byte here, so that a hundred times the published benchmark (39 million
verdicts) takes 39 MB, and a statistic needs no search to read it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, code, pick_dimensions
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES, KEYS, NO_PROBE, ORDERS

ABSENT, NULL = -2, -1
TIE = CHOICES.index("tie")
BATCH = "+batch"
"""Ends the names of judges that answer several cases in one reply, whose cost stands in one of its verdicts."""

COST_COLUMNS = ("latency_s", "prompt_tokens", "completion_tokens")
_DECIDED = dict.fromkeys(("judge", "case_id", "dimension", "order", "probe", "criteria"), "str")
COUNTS = {name: f"n_{name}" for name in COST_COLUMNS}
_PLACE = ["dimension", "case", "order", "repeat"]
_NOTHING = {
    "choice": ABSENT, "p_a": np.nan, "is_bound": np.nan, "score_a": np.nan, "score_b": np.nan, "seen": ABSENT,
}  # fmt: skip
"""The arrays of a panel, of which some may be None, and what stands in them where there is no verdict."""
_OF_COSTS = ["judge", "dimension", "order", "repeat", "n_verdicts", *COUNTS.values(), *COST_COLUMNS]
NO_COSTS = pd.DataFrame(columns=_OF_COSTS)


@dataclass(frozen=True)
class Panel:
    """The verdicts of one probe.

    Attributes
    ----------
    judges, dimensions : the names of the first two axes, in the order to show them
    repeats : the numbers of the repeats, ascending: the names of the last axis
    choice : int8, shape (judges, dimensions, cases, 2 orders, repeats): position in
        `categories`, in the case's own frame; `NULL` where the verdict has no choice, `ABSENT`
        where there is no verdict. Orders are AB, BA; cases are those of the cases table.
    p_a : float64 of the same shape, the judge's probability that A is better, in the
        case's own frame; of a rating, that of the category it chose; NaN where unknown. None where no verdict has one.
    costs : one row a judge, dimension, order and repeat that has verdicts: `n_verdicts`, the
        means of `latency_s`, `prompt_tokens`, `completion_tokens` over the verdicts that count
        them, null where none does, and how many do, each under its own name with `n_` before it: a reply that answers
        several is counted in one. Those on cases that a judge was trained on are among them. Without rows where the
        verdicts have no such columns.
    seen : int8, the shape of `choice`: the choices on the cases that the judge was trained on, which are `ABSENT` in
        `choice`; `ABSENT` on all other cases. None where no judge has seen any
    is_bound : of the shape of `choice`, 1 where `p_a` is only a bound, else NaN; None where none is
    categories : what a verdict may choose: A, B and tie, or the categories of a rating, from the lowest
    labels : the verdicts on dimensions of several labels, see `mrb_lib.stats.verdicts.label_rows`; None where none is
    score_a, score_b : float64, the shape of `choice`: what the judge scored the responses; NaN where it did not. None
        where no verdict has a score, or where the table does not read them
    criteria : the verdicts with decisions on a rubric, as they were read: `judge, case_id, dimension, order, repeat,
        criteria`, also of judges, cases and dimensions that are not in the panel. None where no verdict has any
    """

    judges: list[str]
    dimensions: list[str]
    repeats: list[int]
    choice: NDArray[np.int8]
    p_a: FloatArray | None
    costs: pd.DataFrame
    seen: NDArray[np.int8] | None = None
    is_bound: FloatArray | None = None
    categories: tuple[str, ...] = CHOICES
    labels: Panel | None = None
    score_a: FloatArray | None = None
    score_b: FloatArray | None = None
    criteria: pd.DataFrame | None = None

    @property
    def tie(self) -> int:
        """The code of the tie; `NULL` where the verdicts are ratings, which have none."""
        return TIE if self.categories == CHOICES else NULL

    @property
    def shape(self) -> tuple[int, int, int]:
        """Judges, dimensions, cases."""
        judges, dimensions, cases = self.choice.shape[:3]
        return judges, dimensions, cases

    @property
    def present(self) -> BoolArray:
        """True where there is a verdict, with a choice or without, the shape of `choice`."""
        return np.asarray(self.choice != ABSENT, dtype=bool)

    def judged(self) -> BoolArray:
        """Return where each judge has a verdict, shape (judges, dimensions, cases)."""
        out = np.zeros(self.shape, dtype=bool)
        for order, repeat in np.ndindex(self.choice.shape[3:]):  # many times as quick as a reduction over short axes
            out |= self.choice[..., order, repeat] != ABSENT
        return out

    def takes_part(self) -> BoolArray:
        """Return where each judge has a verdict, be it on seen cases alone, shape (judges, dimensions)."""
        return np.asarray((self.judged() | self.saw()).any(axis=2), dtype=bool)

    def saw(self) -> BoolArray:
        """Return where verdicts are left out since the judge trained on the case, shape (judges, dimensions, cases)."""
        if self.seen is None:
            return np.zeros(self.shape, dtype=bool)
        return np.asarray((self.seen != ABSENT).any(axis=(3, 4)), dtype=bool)

    def without_seen(self, training: pd.DataFrame | None, case_ids: pd.Series) -> Panel:
        """The panel in which no judge has a verdict on a case that it was trained on; these are in `seen`.

        Parameters
        ----------
        training : `judge`, `case_id`, see `mrb_lib.verdicts.training.training_cases`; None where nobody knows
        case_ids : the ids of the panel's cases, in order
        """
        if training is None:
            return self
        of_judge = [training.loc[training["judge"] == judge, "case_id"] for judge in self.judges]
        trained = np.array([case_ids.isin(each) for each in of_judge], dtype=bool).reshape(-1, 1, len(case_ids), 1, 1)
        labels = self.labels and self.labels.without_seen(training, case_ids)
        hidden = trained & self.present
        if not hidden.any():
            return self if labels is self.labels else replace(self, labels=labels)
        seen = np.where(hidden, self.choice, ABSENT if self.seen is None else self.seen)
        kept: dict[str, Any] = {name: np.where(hidden, _NOTHING[name], own) for name, own in self._arrays().items()}
        return replace(self, **kept | {"seen": seen, "labels": labels})

    def with_seen(self) -> Panel:
        """The panel with the choices on cases that judges were trained on put back; not their probabilities."""
        if self.seen is None:
            return self
        return replace(self, choice=np.where(self.seen == ABSENT, self.choice, self.seen), seen=None)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of `_NOTHING` that are not None."""
        return {name: getattr(self, name) for name in _NOTHING if getattr(self, name) is not None}

    def _part(self, axis: int, position: IntArray, **changes: Any) -> Panel:
        """The panel of some positions along an axis, with other attributes changed; nobody judged at a negative one."""
        for name, own in self._arrays().items():
            changes[name] = own.take(position, axis)
            changes[name].swapaxes(0, axis)[position < 0] = _NOTHING[name]
        return replace(self, **changes)

    def of_cases(self, kept: BoolArray) -> Panel:
        """The panel of some cases, shape (cases,); what their verdicts cost is not known apart."""
        labels = self.labels and self.labels.of_cases(kept)
        return self._part(2, np.flatnonzero(kept), costs=self.costs.iloc[:0], labels=labels)

    def of_judges(self, names: Sequence[str]) -> Panel:
        """The panel of some of its judges, in its own order."""
        kept = np.flatnonzero([name in set(names) for name in self.judges])
        judges = [self.judges[i] for i in kept]
        costs = self.costs[self.costs["judge"].isin(judges)].reset_index(drop=True)
        return self._part(0, kept, judges=judges, costs=costs, labels=self.labels and self.labels.of_judges(names))

    def of_dimensions(self, names: Sequence[str]) -> Panel:
        """The panel of some dimensions, in that order; one that nobody judged is absent throughout."""
        if list(names) == self.dimensions:
            return self
        position = pd.Index(self.dimensions, dtype=object).get_indexer(pd.Index(names, dtype=object))
        costs = self.costs[self.costs["dimension"].isin(list(names))].reset_index(drop=True)
        return self._part(1, position, dimensions=list(names), costs=costs)


def as_panel(
    verdicts: pd.DataFrame | Panel,
    case_ids: pd.Series,
    dimensions: Sequence[str] | None = None,
    categories: Sequence[str] = CHOICES,
) -> Panel:
    """The verdicts of one probe as a panel; what every function of `stats` that takes verdicts begins with.

    Parameters
    ----------
    verdicts : the verdicts table, of one probe; or a panel of the same cases, which is taken as it is
    case_ids : the ids of all cases, in order
    dimensions : the dimensions to keep, in order; None keeps all
    categories : what a verdict may choose; a panel has its own

    Raises
    ------
    InputError
        A verdict is about an unknown case or occurs twice, or the verdicts are of several probes.
    """
    if isinstance(verdicts, Panel):
        n = verdicts.shape[2]
        if n != len(case_ids):
            raise InputError(f"verdicts: a panel of {n} cases does not fit {len(case_ids)}; make it from these cases.")
        return verdicts if dimensions is None else verdicts.of_dimensions(list(dict.fromkeys(dimensions)))
    by_probe = panels([verdicts], case_ids, dimensions, categories)
    if len(by_probe) > 1:
        names = ", ".join(sorted(by_probe))
        raise InputError(f"verdicts: several probes are mixed ({names}); keep one, {NO_PROBE!r} for the plain cases.")
    empty = _stack({}, pick_dimensions([], dimensions), pd.Index(case_ids), NO_COSTS, tuple(categories))
    return next(iter(by_probe.values()), empty)


def panels(
    frames: Iterable[pd.DataFrame],
    case_ids: pd.Series,
    dimensions: Sequence[str] | None = None,
    categories: Sequence[str] = CHOICES,
) -> dict[str, Panel]:
    """Lay out verdicts that come in several frames, such as one a judge, which need not be in memory together.

    Parameters
    ----------
    frames : verdicts tables; the rows of one judge and probe are all in one frame. A column `seen` says which are on
        cases that the judge was trained on, see `mrb_lib.verdicts.training.mark_seen`; they are laid aside
    case_ids, dimensions, categories : as in `as_panel`; None takes the dimensions of the first frame

    Returns
    -------
    dict
        A panel a probe, in the order they were met.

    Raises
    ------
    InputError
        A verdict is about an unknown case or occurs twice, or a judge's rows are in two frames.
    """
    ids = pd.Index(case_ids, dtype=object)
    names: list[str] = []
    by_probe: dict[str, dict[str, pd.DataFrame]] = {}
    costs, seen, decided = list[pd.DataFrame](), list[pd.DataFrame](), list[pd.DataFrame]()
    for frame in frames:
        names = names or pick_dimensions(frame["dimension"].dropna().unique(), dimensions)
        coded = _encode(frame, ids, names, tuple(categories))
        for (probe, judge), rows in coded.groupby(["probe", "judge"], sort=False):
            judges = by_probe.setdefault(str(probe), {})
            if judge in judges:
                raise InputError(f"verdicts: judge {judge!r} is in two tables; name one of them otherwise.")
            judges[str(judge)] = rows.drop(columns=["probe", "judge", *COST_COLUMNS], errors="ignore")
        if any(name in frame.columns for name in COST_COLUMNS):
            costs.append(_mean_costs(coded, names))
        if "criteria" in frame.columns:
            decided.append(frame.loc[frame["criteria"].notna(), [*KEYS["verdicts"], "criteria"]].astype(_DECIDED))
        if "seen" in frame.columns:
            seen.append(frame.loc[frame["seen"].eq(True), ["judge", "case_id"]].drop_duplicates().astype("str"))
    every = pd.concat([NO_COSTS.assign(probe=None), *costs], ignore_index=True).sort_values("judge", kind="stable")
    of_probe = dict(iter(pd.concat(decided, ignore_index=True).groupby("probe"))) if decided else {}
    made = {}
    for probe, judges in by_probe.items():
        panel = _stack(judges, names, ids, every.loc[every["probe"] == probe, list(NO_COSTS)], tuple(categories))
        panel = replace(panel, criteria=of_probe.get(probe))
        made[probe] = panel.without_seen(pd.concat(seen) if seen else None, case_ids)
    return made


def _encode(frame: pd.DataFrame, ids: pd.Index, dimensions: Sequence[str], categories: tuple[str, ...]) -> pd.DataFrame:
    """The rows on these dimensions: positions for dimension, case, order and choice, and what they cost."""
    known, named = pd.factorize(frame["dimension"])
    positions = pd.Index(list(dimensions), dtype=object).get_indexer(pd.Index(list(named), dtype=object))
    codes: dict[str, object] = {
        "probe": frame["probe"].array if "probe" in frame.columns else NO_PROBE,
        "judge": frame["judge"].array,
        "dimension": np.append(positions, -1)[known].astype(np.int16),
        "case": code(frame["case_id"], ids, "case_id").astype(np.int32),
        "order": code(frame["order"], ORDERS, "order").astype(np.int8),
        "repeat": frame["repeat"].to_numpy(np.int32) if "repeat" in frame.columns else 0,
        "choice": code(frame["choice"], categories, "choice").astype(np.int8),
    }
    for name in frame.columns.intersection(["p_a", "score_a", "score_b", *COST_COLUMNS]):
        codes[name] = frame[name].to_numpy(np.float64, na_value=np.nan)
    if "p_a_bound" in frame.columns:
        codes["is_bound"] = frame["p_a_bound"].notna().map({True: 1.0}).array
    if categories != CHOICES and "p_categories" in frame.columns:
        codes["p_a"] = _of_choice(frame["p_categories"], np.asarray(codes["choice"]), len(categories))
    coded = pd.DataFrame(codes)
    return coded[coded["dimension"] >= 0]


def _of_choice(stated: pd.Series, choice: IntArray, n: int) -> FloatArray:
    """The probability of the category chosen, from JSON lists of those of all; NaN where there is none."""
    out, texts = np.full(len(stated), np.nan), stated.tolist()
    for row in np.flatnonzero(stated.notna().to_numpy() & (choice >= 0)).tolist():
        shares = json.loads(texts[row])
        if len(shares) != n:
            raise InputError(f"verdicts: p_categories holds {len(shares)} numbers for {n} categories; remove the run.")
        out[row] = shares[choice[row]]
    return out


def _mean_costs(coded: pd.DataFrame, dimensions: Sequence[str]) -> pd.DataFrame:
    """The costs of the verdicts of each probe, from rows of `_encode`; see `Panel`."""
    keys = ["probe", "judge", "dimension", "order", "repeat"]
    cells = coded.reindex(columns=[*keys, *COST_COLUMNS]).groupby(keys, observed=True)
    counted = cells[list(COST_COLUMNS)].count().rename(columns=COUNTS)
    means = cells[list(COST_COLUMNS)].mean().assign(n_verdicts=cells.size()).join(counted).reset_index()
    return means.assign(
        dimension=np.array(dimensions)[means["dimension"]],
        order=np.array(ORDERS)[means["order"]],
        judge=means["judge"].astype("str"),
    )


def _stack(
    verdicts: Mapping[str, pd.DataFrame], dimensions: list[str], ids: pd.Index, costs: pd.DataFrame,
    categories: tuple[str, ...],
) -> Panel:  # fmt: skip
    """The panel of judges, by name the rows of `_encode`; each judge may have other repeats."""
    judges = sorted(verdicts)
    repeats = sorted({int(number) for rows in verdicts.values() for number in rows["repeat"].unique()}) or [0]
    shape = (len(judges), len(dimensions), len(ids), len(ORDERS), len(repeats))
    made: dict[str, Any] = {"choice": np.full(shape, ABSENT, dtype=np.int8), "p_a": None}
    for i, judge in enumerate(judges):
        rows = verdicts[judge]
        twice = rows.loc[rows.duplicated(_PLACE), "case"]
        if len(twice):
            case = ids[twice.iloc[0]]
            raise InputError(f"verdicts: judge {judge!r} has two verdicts of one kind on case {case}; remove one.")
        place = rows["dimension"], rows["case"], rows["order"], np.searchsorted(repeats, rows["repeat"])
        for name in rows.columns[rows.notna().any()].drop(_PLACE):
            if made.get(name) is None:
                made[name] = np.full(shape, _NOTHING[name], dtype=rows[name].dtype)
            made[name][i][place] = rows[name]
    return Panel(judges, dimensions, repeats, costs=costs.reset_index(drop=True), categories=categories, **made)
