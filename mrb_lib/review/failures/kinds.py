"""The kinds of failure of every verdict, as one table that a reviewer's filters, sorts and counts read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.estimation import divide
from mrb_lib.stats.methods.forecasts import HIGH_CONFIDENCE
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, check_choice
from mrb_lib.stats.panel import ABSENT, NULL, Panel, as_panel
from mrb_lib.stats.verdicts import labels_of
from mrb_lib.stats.where import MIXED_CODE, NOT_JUDGED, OUTCOMES, WRONG, outcome_codes, outcome_rows
from mrb_lib.tables.schema import CHOICES, NO_PROBE

if TYPE_CHECKING:
    from mrb_lib.benchmarks.meta import BenchmarkMeta

INCONSISTENT: Final = "inconsistent"
UNPARSED: Final = "unparsed"
CONFIDENT: Final = "confidently_wrong"
ALL_WRONG: Final = "all_wrong"
SPLIT: Final = "split"
OFF_ONE: Final = "off_by_one"
OFF_MORE: Final = "off_by_more"
CALLED_SAFE: Final = "unsafe_called_safe"
CALLED_UNSAFE: Final = "safe_called_unsafe"
APART: Final = "apart"
OF_A_CASE: Final = (ALL_WRONG, SPLIT, APART)
KINDS: Final = (
    WRONG, INCONSISTENT, UNPARSED, CONFIDENT, OFF_ONE, OFF_MORE, CALLED_SAFE, CALLED_UNSAFE, *OF_A_CASE,
)  # fmt: skip
OF_RATINGS: Final = (OFF_ONE, OFF_MORE, CALLED_SAFE, CALLED_UNSAFE, APART)
ANY_PROBE: Final = "*"
CLEAR_MAJORITY: Final = 0.75
_ROUNDING = 1e-12
_NO_VERDICT: Final = {"outcome": OUTCOMES.index(NOT_JUDGED), "said": ABSENT, "confidence": np.nan, "distance": np.nan}


@dataclass(frozen=True)
class Scale:
    """The categories of a rating, as far as failures depend on them.

    Attributes
    ----------
    categories : from the lowest to the highest
    is_ordered : whether the number of categories between two of them has a meaning
    acceptable : the categories that count as safe; empty if the benchmark names none
    labels : by dimension, the labels of dimensions in which several may apply; these have no kinds of failure
    """

    categories: tuple[str, ...]
    is_ordered: bool = False
    acceptable: tuple[str, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def scale_of(meta: BenchmarkMeta) -> Scale | None:
    """Return the scale of a benchmark's ratings; None if its labels are not ratings."""
    if not meta.is_rating:
        return None
    return Scale(meta.categories, meta.level != "nominal", meta.acceptable, dict(meta.labels))


@dataclass(frozen=True)
class Kinds:
    """The kinds of failure of all verdicts (J judges, D dimensions, N cases).

    Attributes
    ----------
    table : one row per judge, dimension and case, sorted in this order, then one row per dimension and case with the
        judge "" for the case itself: (J + 1) x D x N rows, see `grid`. Columns:
        `outcome`, code in `mrb_lib.stats.where.OUTCOMES`; `said`, code in `categories` of the most frequent choice,
        `MIXED_CODE` if two are most frequent, `NULL` without a choice, `ABSENT` without a verdict; `judged`, a verdict
        exists; `labelled`, a gold label exists; one column per kind of `names`, true where the verdict has it;
        `confidence`, probability of the side that the mean probability favours, of ratings that of the categories
        chosen, NaN if the judge gives none; `distance`, categories between gold and the judge's furthest verdict, NaN
        if unknown; `disagreement`, share of all judges' verdicts that are not the most frequent choice, NaN below
        two; `difficulty`, as estimated elsewhere, NaN if unknown
    judges, dimensions : names, in the order of the table
    policy : the scoring policy
    scale : of ratings; None for preferences
    probes : the probes with verdicts
    changed : float16 (P, J, D, N), by probe the share of orders and repeats whose choice differs from the plain case;
        NaN if none is answered with and without the probe

    Notes
    -----
    The kinds: `wrong`, a score below 1/2; `inconsistent`, a repeat with different choices in the two orders;
    `unparsed`, a verdict without a choice; `confidently_wrong`, wrong with a probability of .9 or more for another
    label; `off_by_one` and `off_by_more`, by `distance`; `unsafe_called_safe` and `safe_called_unsafe`, a verdict on
    the other side of what is acceptable than gold; `all_wrong`, at least two judges are scored and all are wrong;
    `split`, the most frequent annotation has less than 3/4 of the votes; `apart`, annotations two categories apart or
    more. Kinds overlap. A verdict on a case that its judge was trained on has the outcome "trained on" and no kind.
    """

    table: pd.DataFrame
    judges: list[str]
    dimensions: list[str]
    policy: str
    probes: list[str]
    changed: NDArray[np.float16]
    scale: Scale | None = None

    @property
    def categories(self) -> tuple[str, ...]:
        """The choices of a verdict."""
        return CHOICES if self.scale is None else self.scale.categories

    @property
    def names(self) -> tuple[str, ...]:
        """The kinds that these verdicts can have."""
        return kind_names(self.scale)

    @property
    def sorts(self) -> tuple[str, ...]:
        """The values that a list can be sorted by: difficulty for preferences, distance for ordered ratings."""
        if self.scale is None:
            return ("confidence", "disagreement", "difficulty")
        return (*(("distance",) if self.scale.is_ordered else ()), "confidence", "disagreement")

    @property
    def n_cases(self) -> int:
        """The number of cases of the benchmark."""
        return int(self.changed.shape[-1])

    @cached_property
    def _grids(self) -> dict[str, NDArray[Any]]:
        shape = (-1, len(self.dimensions), self.n_cases)
        return {str(name): values.to_numpy().reshape(shape) for name, values in self.table.items()}

    def grid(self, column: str) -> NDArray[Any]:
        """Return a column with shape (J + 1, D, N); the last position of the first axis is the case itself.

        Raises
        ------
        InputError
            A kind of failure is unknown, or these verdicts cannot have it.
        """
        if column not in self._grids:
            check_choice("kind", column, self.names)
        return self._grids[column]

    def choice_name(self, code: int) -> str:
        """Return the text of a code of `said`: "mixed" for several choices, empty for none."""
        return "mixed" if code == MIXED_CODE else self.categories[code] if code >= 0 else ""

    def changed_by(self, probe: str) -> BoolArray:
        """Return where a probe, or any for `ANY_PROBE`, changed a choice, shape (J, D, N)."""
        if probe == ANY_PROBE:
            return np.asarray((self.changed > 0).any(axis=0), dtype=bool)
        check_choice("probe", probe, self.probes)
        return np.asarray(self.changed[self.probes.index(probe)] > 0, dtype=bool)

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """The table of `mrb_lib.stats.where.outcomes`, for `cases_where`."""
        case_ids = self.table.index.get_level_values("case_id")[: self.n_cases].tolist()
        outcome, said = self.grid("outcome")[:-1], self.grid("said")[:-1]
        return outcome_rows(outcome, said, self.judges, self.dimensions, case_ids, self.categories)


def kind_names(scale: Scale | None) -> tuple[str, ...]:
    """Return the kinds of failure that verdicts on a scale, or preferences for None, can have."""
    if scale is None:
        return tuple(kind for kind in KINDS if kind not in OF_RATINGS)
    none = {INCONSISTENT}  # ratings have one order
    none |= set() if scale.is_ordered else {OFF_ONE, OFF_MORE, APART}
    none |= set() if scale.acceptable else {CALLED_SAFE, CALLED_UNSAFE}
    return tuple(kind for kind in KINDS if kind not in none)


def failure_kinds(
    verdicts: pd.DataFrame | Panel, gold: pd.DataFrame, cases: pd.DataFrame, *, policy: str = "balanced",
    estimated: FloatArray | None = None, scale: Scale | None = None, probed: Mapping[str, Panel] | None = None,
) -> Kinds:  # fmt: skip
    """Assign kinds of failure to every verdict and case.

    Parameters
    ----------
    verdicts : the verdicts table of one probe, or its panel
    gold : see `mrb_lib.benchmarks.votes.gold`; without its columns of votes no case is split
    cases : the cases table, or its column `case_id`
    policy : a scoring policy
    estimated : the difficulty of each case, shape (D, N), see `difficulty_of`; None if unknown
    scale : of verdicts that are ratings; None for preferences
    probed : by probe, the verdicts under it; those of `none` are ignored

    Raises
    ------
    InputError
        The policy is unknown, or a table contains an unknown case.

    Notes
    -----
    Validated by tests/review/failures/test_kinds.py.
    """
    ids = cases["case_id"]
    panel = as_panel(verdicts, ids, categories=CHOICES if scale is None else scale.categories)
    on = gold[gold["dimension"].isin(panel.dimensions)]
    labels = labels_of(on, ids, panel.dimensions, panel.categories).T
    outcome, said = outcome_codes(panel, labels, policy)
    wrong, scored = outcome == OUTCOMES.index(WRONG), (outcome <= OUTCOMES.index(WRONG)).sum(axis=0)
    confidence, side = _confidence(panel, said)
    distance, crossed, unsafe = _distances(panel, labels, scale)
    made: dict[str, NDArray[Any]] = {
        WRONG: wrong,
        INCONSISTENT: _any(_pairs_differ(panel.choice[:, :, :, 0], panel.choice[:, :, :, 1]), 3),
        UNPARSED: _any(panel.choice == NULL, (3, 4)),
        CONFIDENT: wrong & (confidence >= HIGH_CONFIDENCE - _ROUNDING) & (side != labels),
        OFF_ONE: distance == 1,
        OFF_MORE: distance > 1,
        CALLED_SAFE: crossed & unsafe,
        CALLED_UNSAFE: crossed & ~unsafe,
        ALL_WRONG: (scored >= 2) & (wrong.sum(axis=0) == scored),
        SPLIT: _by_case(on, ids, panel.dimensions, _is_split(on)),
        APART: _by_case(on, ids, panel.dimensions, _spread(on, panel.categories) > 1),
    }
    columns = {name: made[name] for name in kind_names(scale)} | {
        "outcome": outcome, "said": said, "judged": said != ABSENT, "labelled": labels >= 0, "confidence": confidence,
        "distance": distance, "disagreement": _disagreement(panel),
        "difficulty": np.full(labels.shape, np.nan) if estimated is None else np.asarray(estimated, dtype=np.float64),
    }  # fmt: skip
    table = pd.DataFrame({name: _rows(values, len(said), _NO_VERDICT.get(name, 0)) for name, values in columns.items()})
    probes, changed = changed_by_probe(panel, probed or {})
    return Kinds(
        indexed(table, panel.judges, panel.dimensions, ids), list(panel.judges), list(panel.dimensions), policy, probes,
        changed, scale,
    )  # fmt: skip


def indexed(table: pd.DataFrame, judges: Sequence[str], dimensions: Sequence[str], case_ids: pd.Series) -> pd.DataFrame:
    """Return a table of `Kinds` with the index that its rows have."""
    names = ["judge", "dimension", "case_id"]
    return table.set_index(pd.MultiIndex.from_product([[*judges, ""], dimensions, case_ids], names=names))


def changed_by_probe(plain: Panel, probed: Mapping[str, Panel]) -> tuple[list[str], NDArray[np.float16]]:
    """Return the probes in alphabetical order, and `Kinds.changed`.

    Parameters
    ----------
    plain : the verdicts on the plain cases; other judges and dimensions are ignored
    probed : by probe, the verdicts under it; those of `none` are ignored
    """
    names = sorted(set(probed) - {NO_PROBE})
    share = np.full((len(names), *plain.shape), np.nan, dtype=np.float16)
    for i, name in enumerate(names):
        under = probed[name].of_dimensions(plain.dimensions)
        repeats = [repeat for repeat in plain.repeats if repeat in under.repeats]
        for judge in set(plain.judges) & set(under.judges):
            before, after = (
                each.choice[each.judges.index(judge)][..., [each.repeats.index(repeat) for repeat in repeats]]
                for each in (plain, under)
            )
            n = ((before >= 0) & (after >= 0)).sum(axis=(2, 3))
            share[i, plain.judges.index(judge)] = divide(_pairs_differ(before, after).sum(axis=(2, 3)) * 1.0, n)
    return names, share


def difficulty_of(table: pd.DataFrame, cases: pd.DataFrame, dimensions: Sequence[str]) -> FloatArray:
    """Return the column `difficulty` of the table `difficulty` with shape (dimensions, cases)."""
    rows = table[table["part"] == "case"].pivot(index="dimension", columns="case_id", values="difficulty")
    laid_out = rows.reindex(index=list(dimensions), columns=cases["case_id"])
    return laid_out.to_numpy(dtype=np.float64, na_value=np.nan)


def _rows(values: NDArray[Any], n_judges: int, empty: float) -> NDArray[Any]:
    """A column of the table from values per judge, (J, D, N), or per case, (D, N)."""
    if values.ndim == 2:
        return np.tile(values.ravel(), n_judges + 1)
    return np.concatenate([values, np.full((1, *values.shape[1:]), empty, dtype=values.dtype)]).ravel()


def _any(values: BoolArray, axis: int | tuple[int, ...]) -> BoolArray:
    return np.asarray(values.any(axis=axis), dtype=bool)


def _pairs_differ(one: NDArray[np.int8], two: NDArray[np.int8]) -> BoolArray:
    """Where both verdicts have a choice, and not the same."""
    return np.asarray((one >= 0) & (two >= 0) & (one != two), dtype=bool)


def _confidence(panel: Panel, said: NDArray[np.int8]) -> tuple[FloatArray, IntArray]:
    """The confidence of each judge, and the code of the choice it favours (-1 for none), both (J, D, N)."""
    if panel.p_a is None:
        return np.full(panel.shape, np.nan), np.full(panel.shape, -1)
    p = np.where(panel.present, panel.p_a, np.nan)
    mean = np.round(divide(np.nansum(p, axis=(3, 4)), np.isfinite(p).sum(axis=(3, 4))), 12)
    if panel.categories != CHOICES:
        return mean, said.astype(np.int64)
    side = np.select([mean > 0.5, mean < 0.5], [CHOICES.index("A"), CHOICES.index("B")], -1)
    return np.asarray(np.maximum(mean, 1 - mean)), side


def _disagreement(panel: Panel) -> FloatArray:
    """The share of verdicts with a choice that differ from the most frequent one, (D, N); NaN below two verdicts."""
    votes = np.stack([(panel.choice == code).sum(axis=(0, 3, 4)) for code in range(len(panel.categories))])
    total = votes.sum(axis=0)
    return np.where(total >= 2, 1 - divide(votes.max(axis=0) * 1.0, total), np.nan)


def _distances(panel: Panel, labels: IntArray, scale: Scale | None) -> tuple[FloatArray, BoolArray, BoolArray]:
    """`distance`, whether a verdict is on the other side of what is acceptable, and whether gold is unacceptable."""
    distance, crossed = np.full(panel.shape, np.nan), np.zeros(panel.shape, dtype=bool)
    unsafe = np.zeros(labels.shape, dtype=bool)
    if scale is None:
        return distance, crossed, unsafe
    label = labels[None, :, :, None, None]
    usable = (panel.choice >= 0) & (label >= 0)
    if scale.is_ordered:
        distance = np.fmax.reduce(np.where(usable, np.abs(panel.choice - label), np.nan), axis=(3, 4))
    if scale.acceptable:
        is_safe = np.array([name in scale.acceptable for name in scale.categories])
        unsafe = np.asarray((labels >= 0) & ~is_safe[labels], dtype=bool)
        crossed = (usable & (is_safe[panel.choice] == unsafe[None, :, :, None, None])).any(axis=(3, 4))
    return distance, crossed, unsafe


def _votes(gold: pd.DataFrame) -> FloatArray:
    """The votes for each category, shape (rows, categories)."""
    columns = [name for name in gold.columns if str(name).startswith("votes_")]
    return gold[columns].to_numpy(dtype=np.float64, na_value=0.0)


def _is_split(gold: pd.DataFrame) -> BoolArray:
    votes = _votes(gold)
    return np.asarray(votes.max(axis=1, initial=0.0) < CLEAR_MAJORITY * votes.sum(axis=1), dtype=bool)


def _spread(gold: pd.DataFrame, categories: Sequence[str]) -> IntArray:
    """The number of categories between the lowest and the highest annotation; 0 without votes per category."""
    given = _votes(gold) > 0
    if given.shape[1] != len(categories):
        return np.zeros(len(gold), dtype=np.int64)
    ends = given.shape[1] - 1 - given[:, ::-1].argmax(axis=1) - given.argmax(axis=1)
    return np.where(given.any(axis=1), ends, 0)


def _by_case(gold: pd.DataFrame, case_ids: pd.Series, dimensions: Sequence[str], value: BoolArray) -> BoolArray:
    """A truth about each row of the gold labels with shape (dimensions, cases); False elsewhere."""
    out = np.zeros((len(dimensions), len(case_ids)), dtype=bool)
    dimension = pd.Index(dimensions).get_indexer(pd.Index(gold["dimension"]))
    out[dimension, pd.Index(case_ids).get_indexer(pd.Index(gold["case_id"]))] = value
    return out
