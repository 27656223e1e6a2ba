"""The kinds of failure of every verdict, laid out for a reviewer's filters, sorts and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.estimation import divide
from mrb_lib.stats.methods.forecasts import HIGH_CONFIDENCE
from mrb_lib.stats.options import BoolArray, FloatArray, check_choice
from mrb_lib.stats.panel import ABSENT, NULL, Panel, as_panel
from mrb_lib.stats.verdicts import labels_of
from mrb_lib.stats.where import MIXED_CODE, NOT_JUDGED, OUTCOMES, WRONG, outcome_codes, outcome_rows
from mrb_lib.tables.schema import CHOICES, NO_PROBE

if TYPE_CHECKING:
    from mrb_lib.benchmarks.meta import BenchmarkMeta

INCONSISTENT, UNPARSED, CONFIDENT, ALL_WRONG, SPLIT, OFF_ONE, OFF_MORE, CALLED_SAFE, CALLED_UNSAFE, APART = (
    "inconsistent", "unparsed", "confidently_wrong", "all_wrong", "split", "off_by_one", "off_by_more",
    "unsafe_called_safe", "safe_called_unsafe", "apart",
)  # fmt: skip
KINDS: Final = {
    WRONG: ("Wrong", "the judge's choice is not the gold label"),
    INCONSISTENT: ("Inconsistent", "the choice changed when the answers changed places"),
    UNPARSED: ("No answer read", "the reply could not be read, was refused, or failed"),
    CONFIDENT: ("Confidently wrong", "wrong with a mean probability of 0.9 or more"),
    OFF_ONE: ("One category off", "the judge's furthest verdict is the category next to the gold label"),
    OFF_MORE: ("Two or more off", "a verdict of the judge is two categories or more from the gold label"),
    CALLED_SAFE: ("Unsafe called safe", "the gold label is not acceptable, and the judge's category is"),
    CALLED_UNSAFE: ("Safe called unsafe", "the gold label is acceptable, and the judge's category is not"),
    ALL_WRONG: ("All judges wrong", "two judges or more are scored, and all are wrong"),
    SPLIT: ("Clinicians split", "the most frequent label has less than three quarters of the votes"),
    APART: ("Clinicians far apart", "two of their labels are two categories or more apart"),
}
"""The name and the meaning of each kind of failure, as readers see them."""
SORTS: Final = ("distance", "confidence", "disagreement", "difficulty")
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
    judges, dimensions, case_ids : the names of the axes
    policy : the scoring policy
    scale : of ratings; None for preferences
    probes : the probes with verdicts
    grids : arrays of shape (J + 1, D, N), the last position of the first axis for the case itself:
        `outcome`, code in `mrb_lib.stats.where.OUTCOMES`; `said`, code in `categories` of the most frequent choice,
        `MIXED_CODE` if two are most frequent, `NULL` without a choice, `ABSENT` without a verdict; `judged`, a verdict
        exists; `labelled`, a gold label exists; one of truths per kind of `names`; `confidence`, probability of the
        side that the mean probability favours, of ratings that of the categories chosen, NaN if the judge gives none;
        `disagreement`, share of all judges' verdicts that are not the most frequent choice, NaN below two; of
        preferences `difficulty`, as estimated elsewhere, NaN if unknown; of ordered ratings `distance`, categories
        between gold and the judge's furthest verdict, NaN if unknown
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

    judges: list[str]
    dimensions: list[str]
    case_ids: list[str]
    policy: str
    scale: Scale | None
    probes: list[str]
    grids: Mapping[str, NDArray[Any]] = field(repr=False)
    changed: NDArray[np.float16] = field(repr=False)

    @property
    def categories(self) -> tuple[str, ...]:
        """The choices of a verdict."""
        return CHOICES if self.scale is None else self.scale.categories

    @property
    def names(self) -> tuple[str, ...]:
        """The kinds that these verdicts can have."""
        return tuple(name for name in KINDS if name in self.grids)

    @property
    def sorts(self) -> tuple[str, ...]:
        """The values that a list can be sorted by."""
        return tuple(name for name in SORTS if name in self.grids)

    def grid(self, name: str) -> NDArray[Any]:
        """Return one of `grids`; `InputError` for a kind that is unknown, or that these verdicts cannot have."""
        if name not in self.grids:
            check_choice("kind", name, self.names)
        return self.grids[name]

    def choice_name(self, code: int) -> str:
        """Return the text of a code of `said`: "mixed" for several choices, empty for none."""
        return "mixed" if code == MIXED_CODE else self.categories[code] if code >= 0 else ""

    def changed_by(self, probe: str) -> BoolArray:
        """Return where a probe, or any for `ANY_PROBE`, changed a choice, shape (J, D, N)."""
        check_choice("probe", probe, (ANY_PROBE, *self.probes))
        under = self.changed if probe == ANY_PROBE else self.changed[[self.probes.index(probe)]]
        return np.asarray((under > 0).any(axis=0), dtype=bool)

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """The table of `mrb_lib.stats.where.outcomes`, for `cases_where`."""
        outcome, said = self.grids["outcome"][:-1], self.grids["said"][:-1]
        return outcome_rows(outcome, said, self.judges, self.dimensions, self.case_ids, self.categories)


def failure_kinds(
    verdicts: pd.DataFrame | Panel, gold: pd.DataFrame, cases: pd.DataFrame, *, policy: str = "balanced",
    difficulty: pd.DataFrame | None = None, scale: Scale | None = None, probed: Mapping[str, Panel] | None = None,
) -> Kinds:  # fmt: skip
    """Assign kinds of failure to every verdict and case.

    Parameters
    ----------
    verdicts : the verdicts table of one probe, or its panel
    gold : see `mrb_lib.benchmarks.votes.gold`; without its columns of votes no case is split
    cases : the cases table, or its column `case_id`
    policy : a scoring policy
    difficulty : the table `difficulty`; None if unknown
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

    def by_case(rows: pd.DataFrame, values: pd.Series) -> FloatArray:
        """Values of rows by dimension and case, shape (D, N); NaN where there is none."""
        wide = rows.assign(value=values.astype("float64")).pivot(index="dimension", columns="case_id", values="value")
        return wide.reindex(index=panel.dimensions, columns=ids).to_numpy(dtype=np.float64, na_value=np.nan)

    on = gold[gold["dimension"].isin(panel.dimensions)]
    labels = labels_of(on, ids, panel.dimensions, panel.categories).T
    votes = on.filter(regex="^votes_").astype("float64").fillna(0)
    split = votes.max(axis=1) < CLEAR_MAJORITY * votes.sum(axis=1)
    outcome, said = outcome_codes(panel, labels, policy)
    wrong, scored = outcome == OUTCOMES.index(WRONG), (outcome <= OUTCOMES.index(WRONG)).sum(axis=0)
    counts = np.stack([(panel.choice == code).sum(axis=(0, 3, 4)) for code in range(len(panel.categories))])
    total = counts.sum(axis=0)
    p = np.where(panel.present, np.nan if panel.p_a is None else panel.p_a, np.nan)
    mean = np.round(divide(np.nansum(p, axis=(3, 4)), np.isfinite(p).sum(axis=(3, 4))), 12)
    confidence, side = mean, said
    if scale is None:
        confidence = np.maximum(mean, 1 - mean)
        side = np.select([mean > 0.5, mean < 0.5], [CHOICES.index("A"), CHOICES.index("B")], -1)
    made: dict[str, NDArray[Any]] = {
        "outcome": outcome, "said": said, "judged": said != ABSENT, "labelled": labels >= 0, "confidence": confidence,
        "disagreement": np.where(total >= 2, 1 - divide(counts.max(axis=0) * 1.0, total), np.nan),
        WRONG: wrong, UNPARSED: (panel.choice == NULL).any(axis=(3, 4)),
        CONFIDENT: wrong & (confidence >= HIGH_CONFIDENCE - _ROUNDING) & (side != labels),
        ALL_WRONG: (scored >= 2) & (wrong.sum(axis=0) == scored), SPLIT: by_case(on, split) == 1,
    }  # fmt: skip
    if scale is None:
        made[INCONSISTENT] = np.asarray(_differ(panel.choice[:, :, :, 0], panel.choice[:, :, :, 1]).any(axis=3))
        rows = on.assign(difficulty=np.nan) if difficulty is None else difficulty[difficulty["part"] == "case"]
        made["difficulty"] = by_case(rows, rows["difficulty"])
    else:
        label = labels[None, :, :, None, None]
        usable = (panel.choice >= 0) & (label >= 0)
        if scale.is_ordered:
            distance = np.fmax.reduce(np.where(usable, np.abs(panel.choice - label), np.nan), axis=(3, 4))
            given = votes.where(votes > 0) * 0 + np.arange(votes.shape[1])
            apart = by_case(on, given.max(axis=1) - given.min(axis=1)) > 1
            made |= {"distance": distance, OFF_ONE: distance == 1, OFF_MORE: distance > 1, APART: apart}
        if scale.acceptable:
            is_safe = np.array([name in scale.acceptable for name in scale.categories])
            crossed = (usable & (is_safe[panel.choice] != is_safe[label])).any(axis=(3, 4))
            made |= {CALLED_SAFE: crossed & ~is_safe[labels], CALLED_UNSAFE: crossed & is_safe[labels]}
    probes, changed = changed_by_probe(panel, probed or {})
    grids = {name: _with_case(values, len(said), _NO_VERDICT.get(name, 0)) for name, values in made.items()}
    return Kinds(list(panel.judges), list(panel.dimensions), ids.tolist(), policy, scale, probes, grids, changed)


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
        _, judge, same_judge = np.intersect1d(plain.judges, under.judges, return_indices=True)
        _, repeat, same_repeat = np.intersect1d(plain.repeats, under.repeats, return_indices=True)
        before, after = plain.choice[judge][..., repeat], under.choice[same_judge][..., same_repeat]
        n = ((before >= 0) & (after >= 0)).sum(axis=(3, 4))
        share[i, judge] = divide(_differ(before, after).sum(axis=(3, 4)) * 1.0, n)
    return names, share


def _with_case(values: NDArray[Any], n_judges: int, empty: float) -> NDArray[Any]:
    """A grid from values per judge, (J, D, N), with `empty` for the case itself, or from values per case, (D, N)."""
    if values.ndim == 2:
        return np.broadcast_to(values, (n_judges + 1, *values.shape))
    return np.concatenate([values, np.full((1, *values.shape[1:]), empty, dtype=values.dtype)])


def _differ(one: NDArray[np.int8], two: NDArray[np.int8]) -> BoolArray:
    """Where both verdicts have a choice, and not the same."""
    return np.asarray((one >= 0) & (two >= 0) & (one != two), dtype=bool)
