"""What kind of failure each verdict is: the ground a reviewer's filters, sorts and counts stand on.

Everything is laid out by judge, dimension and case once, so that a filter is a look at a few megabytes of booleans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.confidence.summary import HIGH_CONFIDENCE
from mrb_lib.stats.core.panel import ABSENT, NULL, Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.failures.changed import ChangedByProbe
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, check_choice, divide
from mrb_lib.tables.schema import CHOICES

if TYPE_CHECKING:
    from mrb_lib.benchmarks.meta import BenchmarkMeta

WRONG: Final = "wrong"
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
OF_A_JUDGE: Final = (WRONG, INCONSISTENT, UNPARSED, CONFIDENT, OFF_ONE, OFF_MORE, CALLED_SAFE, CALLED_UNSAFE)
OF_A_CASE: Final = (ALL_WRONG, SPLIT, APART)
KINDS: Final = (*OF_A_JUDGE, *OF_A_CASE)
OF_RATINGS: Final = (OFF_ONE, OFF_MORE, CALLED_SAFE, CALLED_UNSAFE, APART)
ANY_PROBE: Final = "*"

OUTCOMES: Final = ("right", "half right", "wrong", "not scored", "no gold label", "not judged", "trained on")
RIGHT, HALF, MISSED, UNSCORED, NO_LABEL, NOT_JUDGED, SEEN = range(len(OUTCOMES))
MIXED: Final = int(np.iinfo(np.int8).max)
UNKNOWN: Final = -1
CLEAR_MAJORITY: Final = 0.75
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Scale:
    """The categories of a rating as far as failures depend on them.

    Attributes
    ----------
    is_ordered : whether it means something how many categories lie between two
    acceptable : those that count as safe; empty where nobody says
    labels : of the dimensions in which several may apply, which are of no kind of failure, by dimension
    """

    categories: tuple[str, ...]
    is_ordered: bool = False
    acceptable: tuple[str, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def scale_of(meta: BenchmarkMeta) -> Scale | None:
    """The scale of a benchmark's ratings; None where its labels are not ratings."""
    if not meta.is_rating:
        return None
    return Scale(meta.categories, meta.level != "nominal", meta.acceptable, dict(meta.labels))


@dataclass(frozen=True)
class Kinds:
    """Every verdict's kind of failure; J judges, D dimensions, N cases.

    Attributes
    ----------
    judges, dimensions : the names of the first two axes
    scale : of ratings; None of preferences, which have no kinds of `OF_RATINGS`, as ratings have none of orders
    policy : the scoring policy that says what is wrong
    outcome : int8 (J, D, N), position in `OUTCOMES`: each judge has one on each dimension and case. "Right" is a
        score above 1/2, "half right" 1/2, "wrong" below; "not scored" is judged, but without the rows
        that the policy needs; "trained on" is judged, and of no failure, since the judge has seen the case before
    said : int8 (J, D, N), the choice that most of the judge's verdicts gave, position in `categories`; `MIXED` where
        two share the most, `NULL` where no verdict has a choice, `ABSENT` where there is no verdict
    wrong : (J, D, N), the outcome is "wrong"
    inconsistent : (J, D, N), some repeat has a choice in both orders, and not the same one
    unparsed : (J, D, N), some verdict has no choice: it could not be read, was refused, or failed
    confidently_wrong : (J, D, N), wrong, and the mean probability leans away from gold with at least .9
    all_wrong : (D, N), two judges or more are scored, and all are wrong
    split : (D, N), the clinicians' most frequent label has less than 3/4 of the votes, so that it takes two
    off : int8 (J, D, N), how many categories the judge's furthest verdict is from gold; `UNKNOWN` without a gold label
        or a choice, and (0, D, N) where categories have no order
    crossed : (J, D, N), some verdict is acceptable and gold is not, or the other way round; (0, D, N) where nobody says
        what is acceptable
    unsafe : (D, N), the gold label is not acceptable; False without one
    spread : int8 (D, N), how many categories the clinicians' labels lie apart; 0 where they have no order
    confidence : (J, D, N), probability of the side that the mean over orders and repeats leans to, 1/2 to 1; of
        ratings, mean probability of the categories chosen; NaN where the judge gives none
    disagreement : (D, N), share of the verdicts with a choice, of all judges, orders and repeats, that are not the
        most frequent; NaN below two
    difficulty : (D, N), as estimated elsewhere; NaN where it is not
    labelled : (D, N), there is a gold label
    probes : the probes that verdicts are under; none until `with_probes` adds them
    changed : float16 (P, J, D, N), what each probe changed, see `mrb_lib.stats.failures.changed.ChangedByProbe`
    """

    judges: list[str]
    dimensions: list[str]
    policy: str
    outcome: NDArray[np.int8]
    said: NDArray[np.int8]
    wrong: BoolArray
    inconsistent: BoolArray
    unparsed: BoolArray
    confidently_wrong: BoolArray
    all_wrong: BoolArray
    split: BoolArray
    off: NDArray[np.int8]
    crossed: BoolArray
    unsafe: BoolArray
    spread: NDArray[np.int8]
    confidence: FloatArray
    disagreement: FloatArray
    difficulty: FloatArray
    labelled: BoolArray
    probes: list[str]
    changed: NDArray[np.float16]
    scale: Scale | None = None

    @property
    def categories(self) -> tuple[str, ...]:
        """What a verdict may choose."""
        return CHOICES if self.scale is None else self.scale.categories

    @property
    def names(self) -> tuple[str, ...]:
        """The kinds that these verdicts can have."""
        if self.scale is None:
            return tuple(kind for kind in KINDS if kind not in OF_RATINGS)
        none = {INCONSISTENT}
        none |= set() if self.scale.is_ordered else {OFF_ONE, OFF_MORE, APART}
        none |= set() if self.scale.acceptable else {CALLED_SAFE, CALLED_UNSAFE}
        return tuple(kind for kind in KINDS if kind not in none)

    @property
    def sorts(self) -> tuple[str, ...]:
        """What a list can be sorted by: difficulty is a model of preferences, distance takes ordered categories."""
        if self.scale is None:
            return ("confidence", "disagreement", "difficulty")
        return (*(("distance",) if self.scale.is_ordered else ()), "confidence", "disagreement")

    @property
    def distance(self) -> FloatArray:
        """How many categories each judge is off at most, (J, D, N); NaN where it is unknown."""
        return np.where(self.off == UNKNOWN, np.nan, self.off.astype(np.float64))

    @property
    def n_cases(self) -> int:
        """How many cases the benchmark has."""
        return int(self.outcome.shape[2])

    @property
    def judged(self) -> BoolArray:
        """Whether there is a verdict, shape (J, D, N)."""
        return np.asarray(self.said != ABSENT, dtype=bool)

    def of(self, kind: str) -> BoolArray:
        """The verdicts, (J, D, N), or cases, (D, N), of one kind.

        Raises
        ------
        InputError
            There is no such kind, or these verdicts cannot have it.
        """
        check_choice("kind", kind, self.names)
        if kind in (OFF_ONE, OFF_MORE):
            return np.asarray(self.off == 1 if kind == OFF_ONE else self.off > 1, dtype=bool)
        if kind in (CALLED_SAFE, CALLED_UNSAFE):
            return np.asarray(self.crossed & (self.unsafe if kind == CALLED_SAFE else ~self.unsafe), dtype=bool)
        if kind == APART:
            return np.asarray(self.spread > 1, dtype=bool)
        verdicts: BoolArray = getattr(self, kind)
        return verdicts

    def choice_name(self, code: int) -> str:
        """The choice of a code of `said`, `mixed` of several, empty of none."""
        return "mixed" if code == MIXED else self.categories[code] if code >= 0 else ""

    def changed_by(self, probe: str) -> BoolArray:
        """The verdicts that changed in some order and repeat under a probe, or under `ANY_PROBE`, (J, D, N)."""
        if probe == ANY_PROBE:
            return np.asarray((self.changed > 0).any(axis=0), dtype=bool)
        check_choice("probe", probe, self.probes)
        return np.asarray(self.changed[self.probes.index(probe)] > 0, dtype=bool)

    def with_probes(self, found: ChangedByProbe) -> Kinds:
        """The same with what probes changed."""
        return replace(self, probes=found.probes, changed=found.share)


def failure_kinds(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    estimated: FloatArray | None = None,
    scale: Scale | None = None,
) -> Kinds:
    """Say of every judge, dimension and case what kind of failure it is, if any.

    Parameters
    ----------
    verdicts : the verdicts table of one probe, or its panel
    gold : see `mrb_lib.benchmarks.votes.gold`; without its columns of votes no case is split
    cases : the cases table, or its column `case_id`
    policy : a scoring policy
    estimated : the difficulty of each case, shape (dimensions, cases), see `difficulty_of`; None for unknown
    scale : of verdicts that are ratings; None of preferences

    Returns
    -------
    Kinds

    Raises
    ------
    InputError
        The policy is unknown, or a table speaks of an unknown case.

    Notes
    -----
    Kinds overlap: an unparsed verdict counts as wrong under every policy but `answered`. Outcomes do not: their numbers
    add up to the cases. Among three clinicians two against one is a split. A kind is a reason to look
    at a case, and no estimate. Validated by tests/stats/failures/test_failure_kinds.py.
    """
    panel = as_panel(verdicts, cases["case_id"], categories=CHOICES if scale is None else scale.categories)
    known = gold[gold["dimension"].isin(panel.dimensions)]
    labels = encode_gold(known, cases["case_id"], panel.dimensions, panel.categories)
    votes = _votes(panel)
    judged = panel.with_seen()
    all_votes = votes if judged is panel else _votes(judged)
    outcome = _outcomes(panel, labels, policy)
    wrong: BoolArray = np.asarray(outcome == MISSED)
    scored: BoolArray = np.asarray(outcome <= MISSED)
    n_scored = scored.sum(axis=0)
    confidence, leaning = _confidence(panel)
    off, crossed, unsafe = _distances(panel, labels, scale)
    sure = (confidence >= HIGH_CONFIDENCE - _ROUNDING) & (leaning != labels)
    shape = labels.shape
    return Kinds(
        judges=list(panel.judges),
        dimensions=list(panel.dimensions),
        policy=policy,
        outcome=outcome,
        said=_said(all_votes, judged.judged()),
        wrong=wrong,
        inconsistent=_inconsistent(panel),
        unparsed=np.asarray((panel.choice == NULL).any(axis=(3, 4)), dtype=bool),
        confidently_wrong=np.asarray(wrong & sure, dtype=bool),
        all_wrong=np.asarray((n_scored >= 2) & (wrong.sum(axis=0) == n_scored), dtype=bool),
        split=_by_case(known, cases["case_id"], panel.dimensions, _is_divided(known)),
        off=off,
        crossed=crossed,
        unsafe=unsafe,
        spread=_by_case(known, cases["case_id"], panel.dimensions, _spread(known, scale)),
        confidence=confidence,
        disagreement=_disagreement(votes.sum(axis=1)),
        difficulty=np.full(shape, np.nan) if estimated is None else np.asarray(estimated, dtype=np.float64),
        labelled=np.asarray(labels >= 0, dtype=bool),
        probes=[],
        changed=np.empty((0, *panel.shape), dtype=np.float16),
        scale=scale,
    )


def difficulty_of(table: pd.DataFrame, cases: pd.DataFrame, dimensions: list[str]) -> FloatArray:
    """The column `difficulty` of the table `difficulty` laid out, shape (dimensions, cases)."""
    rows = table[(table["part"] == "case") & table["dimension"].isin(dimensions)]
    out = np.full((len(dimensions), len(cases)), np.nan)
    dimension = pd.Index(dimensions).get_indexer(pd.Index(rows["dimension"]))
    case = pd.Index(cases["case_id"]).get_indexer(pd.Index(rows["case_id"]))
    out[dimension, case] = rows["difficulty"].to_numpy(dtype=np.float64, na_value=np.nan)
    return out


def _outcomes(panel: Panel, labels: IntArray, policy: str) -> NDArray[np.int8]:
    found = score(panel, labels, policy)
    worth = np.round(found.score, 12)
    out = np.full(panel.shape, UNSCORED, dtype=np.int8)
    out[worth > 0.5] = RIGHT
    out[worth == 0.5] = HALF
    out[worth < 0.5] = MISSED
    out[np.broadcast_to(labels < 0, out.shape)] = NO_LABEL
    out[~found.judged] = NOT_JUDGED
    out[panel.saw()] = SEEN
    return out


def _votes(panel: Panel) -> IntArray:
    """The number of verdicts of each choice, shape (choices, J, D, N)."""
    return np.stack([(panel.choice == code).sum(axis=4).sum(axis=3) for code in range(len(panel.categories))])


def _said(votes: IntArray, judged: BoolArray) -> NDArray[np.int8]:
    """From the number of verdicts of each choice, shape (choices, J, D, N)."""
    top = votes.max(axis=0)
    out: NDArray[np.int8] = votes.argmax(axis=0).astype(np.int8)
    out[(votes == top).sum(axis=0) > 1] = MIXED
    out[top == 0] = NULL
    out[~judged] = ABSENT
    return out


def _inconsistent(panel: Panel) -> BoolArray:
    first, second = panel.choice[:, :, :, 0], panel.choice[:, :, :, 1]
    differ = (first != second) & (first >= 0) & (second >= 0)
    return np.asarray(differ.any(axis=3), dtype=bool)


def _confidence(panel: Panel) -> tuple[FloatArray, IntArray]:
    """How sure each judge is, and which choice it leans to (-1 for none), each of shape (J, D, N)."""
    if panel.p_a is None:
        return np.full(panel.shape, np.nan), np.full(panel.shape, -1, dtype=np.int64)
    p = np.where(panel.present, panel.p_a, np.nan)
    known = np.isfinite(p)
    mean = np.round(divide(np.where(known, p, 0.0).sum(axis=(3, 4)), known.sum(axis=(3, 4))), 12)
    if panel.categories != CHOICES:
        return mean, _said(_votes(panel), panel.judged()).astype(np.int64)
    leaning = np.select([mean > 0.5, mean < 0.5], [CHOICES.index("A"), CHOICES.index("B")], -1)
    return np.asarray(np.maximum(mean, 1 - mean)), leaning.astype(np.int64)


def _disagreement(votes: IntArray) -> FloatArray:
    """From the number of verdicts of each choice, shape (choices, D, N)."""
    total = votes.sum(axis=0)
    share = divide(votes.max(axis=0).astype(np.float64), total)
    return np.where(total >= 2, 1.0 - share, np.nan)


def _distances(panel: Panel, labels: IntArray, scale: Scale | None) -> tuple[NDArray[np.int8], BoolArray, BoolArray]:
    """`off`, `crossed` and `unsafe` of `Kinds`."""
    none = np.empty((0, *labels.shape))
    off, crossed, unsafe = none.astype(np.int8), none.astype(bool), np.zeros(labels.shape, dtype=bool)
    if scale is None:
        return off, crossed, unsafe
    known = (panel.choice >= 0) & (labels >= 0)[None, :, :, None, None]
    if scale.is_ordered:
        apart = np.abs(panel.choice - labels[None, :, :, None, None])
        off = np.where(known, apart, UNKNOWN).max(axis=(3, 4)).astype(np.int8)
    if scale.acceptable:
        is_safe = np.array([name in scale.acceptable for name in scale.categories])
        unsafe = (labels >= 0) & ~is_safe[labels]
        crossed = (known & (is_safe[panel.choice] == unsafe[None, :, :, None, None])).any(axis=(3, 4))
    return off, np.asarray(crossed, dtype=bool), np.asarray(unsafe, dtype=bool)


def _vote_counts(gold: pd.DataFrame) -> FloatArray:
    """The votes for each category, shape (rows, categories)."""
    columns = [name for name in gold.columns if str(name).startswith("votes_")]
    return gold[columns].to_numpy(dtype=np.float64, na_value=0.0)


def _is_divided(gold: pd.DataFrame) -> BoolArray:
    votes = _vote_counts(gold)
    return np.asarray(votes.max(axis=1, initial=0.0) < CLEAR_MAJORITY * votes.sum(axis=1), dtype=bool)


def _spread(gold: pd.DataFrame, scale: Scale | None) -> NDArray[np.int8]:
    """How many categories the votes of each row lie apart."""
    given = _vote_counts(gold) > 0
    if scale is None or not scale.is_ordered or given.shape[1] != len(scale.categories):
        return np.zeros(len(gold), dtype=np.int8)
    ends = given.shape[1] - 1 - given[:, ::-1].argmax(axis=1) - given.argmax(axis=1)
    return np.where(given.any(axis=1), ends, 0).astype(np.int8)


def _by_case(gold: pd.DataFrame, case_ids: pd.Series, dimensions: Sequence[str], value: NDArray[Any]) -> NDArray[Any]:
    """What is known of each row of the gold labels, shape (dimensions, cases); 0 or False elsewhere."""
    out = np.zeros((len(dimensions), len(case_ids)), dtype=value.dtype)
    dimension = pd.Index(dimensions).get_indexer(pd.Index(gold["dimension"]))
    case = pd.Index(case_ids).get_indexer(pd.Index(gold["case_id"]))
    out[dimension, case] = value
    return out
