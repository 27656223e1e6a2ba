"""What kind of failure each verdict is: the ground a reviewer's filters, sorts and counts stand on.

Everything is laid out by judge, dimension and case once, so that a filter is a look at a few megabytes of booleans.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.errors import InputError
from mrb_lib.schema import CHOICES
from mrb_lib.stats.confidence.summary import HIGH_CONFIDENCE
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, check_choice, divide
from mrb_lib.stats.core.panel import ABSENT, NULL, Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.failures.changed import ChangedByProbe

WRONG: Final = "wrong"
INCONSISTENT: Final = "inconsistent"
UNPARSED: Final = "unparsed"
CONFIDENT: Final = "confidently_wrong"
ALL_WRONG: Final = "all_wrong"
SPLIT: Final = "split"
OF_A_JUDGE: Final = (WRONG, INCONSISTENT, UNPARSED, CONFIDENT)
OF_A_CASE: Final = (ALL_WRONG, SPLIT)
KINDS: Final = (*OF_A_JUDGE, *OF_A_CASE)
ANY_PROBE: Final = "*"

OUTCOMES: Final = ("right", "half right", "wrong", "not scored", "no gold label", "not judged", "trained on")
RIGHT, HALF, MISSED, UNSCORED, NO_LABEL, NOT_JUDGED, SEEN = range(len(OUTCOMES))
MIXED: Final = len(CHOICES)
CLEAR_MAJORITY: Final = 0.75
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Kinds:
    """Every verdict's kind of failure; J judges, D dimensions, N cases.

    Attributes
    ----------
    judges, dimensions : the names of the first two axes
    policy : the scoring policy that says what is wrong
    outcome : int8 (J, D, N), position in `OUTCOMES`: each judge has one on each dimension and case. "Right" is a
        score above 1/2, "half right" 1/2, "wrong" below; "not scored" is judged, but without the rows
        that the policy needs; "trained on" is judged, and of no failure, since the judge has seen the case before
    said : int8 (J, D, N), the choice that most of the judge's verdicts gave, as in `CHOICES`; `MIXED` where two share
        the most, `NULL` where no verdict has a choice, `ABSENT` where there is no verdict
    wrong : (J, D, N), the outcome is "wrong"
    inconsistent : (J, D, N), some repeat has a choice in both orders, and not the same one
    unparsed : (J, D, N), some verdict has no choice: it could not be read, was refused, or failed
    confidently_wrong : (J, D, N), wrong, and the mean probability leans away from gold with at least .9
    all_wrong : (D, N), two judges or more are scored, and all are wrong
    split : (D, N), the clinicians' most frequent label has less than 3/4 of the votes, so that it takes two
    confidence : (J, D, N), probability of the side that the mean over orders and repeats leans to, 1/2 to 1; NaN
        where the judge gives none
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
    confidence: FloatArray
    disagreement: FloatArray
    difficulty: FloatArray
    labelled: BoolArray
    probes: list[str]
    changed: NDArray[np.float16]

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
            There is no such kind.
        """
        if kind not in KINDS:
            raise InputError(f"kind {kind!r} is unknown; use some of {', '.join(KINDS)}.")
        verdicts: BoolArray = getattr(self, kind)
        return verdicts

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
) -> Kinds:
    """Say of every judge, dimension and case what kind of failure it is, if any.

    Parameters
    ----------
    verdicts : the verdicts table of one probe, or its panel
    gold : as of `mrb_lib.data.votes.gold`; without its columns of votes no case is split
    cases : the cases table, or its column `case_id`
    policy : a scoring policy
    estimated : the difficulty of each case, shape (dimensions, cases), see `difficulty_of`; None for unknown

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
    panel = as_panel(verdicts, cases["case_id"])
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
        split=_split(known, cases["case_id"], panel.dimensions),
        confidence=confidence,
        disagreement=_disagreement(votes.sum(axis=1)),
        difficulty=np.full(shape, np.nan) if estimated is None else np.asarray(estimated, dtype=np.float64),
        labelled=np.asarray(labels >= 0, dtype=bool),
        probes=[],
        changed=np.empty((0, *panel.shape), dtype=np.float16),
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
    return np.stack([(panel.choice == code).sum(axis=4).sum(axis=3) for code in range(len(CHOICES))])


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
    leaning = np.select([mean > 0.5, mean < 0.5], [CHOICES.index("A"), CHOICES.index("B")], -1)
    return np.asarray(np.maximum(mean, 1 - mean)), leaning.astype(np.int64)


def _disagreement(votes: IntArray) -> FloatArray:
    """From the number of verdicts of each choice, shape (choices, D, N)."""
    total = votes.sum(axis=0)
    share = divide(votes.max(axis=0).astype(np.float64), total)
    return np.where(total >= 2, 1.0 - share, np.nan)


def _split(gold: pd.DataFrame, case_ids: pd.Series, dimensions: list[str]) -> BoolArray:
    out = np.zeros((len(dimensions), len(case_ids)), dtype=bool)
    columns = [name for name in gold.columns if str(name).startswith("votes_")]
    if not columns or not len(gold):
        return out
    votes = gold[columns].to_numpy(dtype=np.float64, na_value=0.0)
    top, total = votes.max(axis=1), votes.sum(axis=1)
    divided = top < CLEAR_MAJORITY * total
    dimension = pd.Index(dimensions).get_indexer(pd.Index(gold["dimension"]))
    case = pd.Index(case_ids).get_indexer(pd.Index(gold["case_id"]))
    out[dimension[divided], case[divided]] = True
    return out
