"""Whether a judge says the same when the answers are shown in the other order, or asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.consistency import reading
from mrb_lib.stats.consistency.instability import (
    MOST_RESPONSES,
    Questions,
    most_violations,
    order_violations,
    questions,
    units,
    unstable_pairs,
)
from mrb_lib.stats.consistency.intervals import GroupEstimate, half, order_kappa, reasons, share, signed, unit_sums
from mrb_lib.stats.consistency.order_effects import SHARES, SIGNED, case_values, over_repeats
from mrb_lib.stats.core.panel import ABSENT, Panel, as_panel
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.options import FloatArray, IntArray, divide, join_reasons, typed, with_ends
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.resampling.robust import Layout, by_group, layout
from mrb_lib.stats.subfields import By, Group, groups, one_kind_each
from mrb_lib.tables.schema import CHOICES

ONE_ORDER = "no case was presented in both orders"
NOT_ANSWERED = "no case was answered in both orders"
NO_DECISIVE = "consistency_decisive is undefined: every case has a tie in one of the orders"
NOTHING_CHOSEN = "first_rate is undefined: no verdict is decisive"
ONE_REPEAT = "repeat_agreement is undefined: no case was answered twice in one order"
NO_SPLIT = "position_preference and position_noise are undefined: no case was answered twice in each order"
NO_KAPPA = "order_kappa is undefined: one category only"
NO_TOURNAMENT = (
    f"tov is undefined: no question here has three to {MOST_RESPONSES} responses, "
    "every pair of which was answered in both orders"
)
_AT_ONCE = 2**24


COLUMNS = [
    "judge",
    "dimension",
    "subfield",
    "by",
    "n",
    "n_presented",
    "n_unassigned",
    "coverage",
    *with_ends("consistency", "order_kappa", "consistency_decisive", "consistency_half"),
    "n_first",
    *with_ends("first_rate", "tie_rate", "tie_rate_ab", "tie_rate_ba", "position_bias", "repeat_agreement"),
    "n_repeated",
    *with_ends("position_preference", "position_noise"),
    "n_questions",
    *with_ends("ipi"),
    "n_tournaments",
    *with_ends("tov", "tov_intransitive"),
    "reason",
]
MORE = [
    *with_ends("order_kappa", "consistency_half", "tie_rate_ab", "tie_rate_ba"),
    *(name + end for name in ("consistency_decisive", "first_rate", "tie_rate") for end in ("_low", "_high")),
]
_Columns = dict[str, NDArray[np.generic]]


class _Part(NamedTuple):
    """Disjoint groups of cases and their layout: the whole benchmark, or the subfields of one column."""

    groups: list[Group]
    grouping: Layout


@register_table(
    "consistency",
    question="does a judge choose the same when the responses change places, or when asked again",
    columns=[name for name in COLUMNS if name not in MORE],
    more=MORE,
    meanings=reading.MEANINGS,
    sentence=reading.sentence,
    why_no_ratings="",
)
def consistency(
    verdicts: pd.DataFrame | Panel,
    cases: pd.DataFrame,
    *,
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
) -> pd.DataFrame:
    """Order consistency, position bias, agreement between repeats, and self-contradiction of each judge.

    Parameters
    ----------
    verdicts : the verdicts table of one probe, or its panel
    cases : the cases table
    by : a cases column to break down by, or `model_pair`; or several, see `mrb_lib.stats.subfields.groups`
    dimensions : the dimensions to report, in order; None reports all that were judged
    cluster : the cases column whose values are the units of all intervals, see
        `mrb_lib.stats.clusters.resampling_unit`

    Returns
    -------
    DataFrame
        One row a judge and dimension it has a verdict on, overall (`subfield` null)
        and for every subfield; a case with several repeats counts once, by the mean over them:

        - `n` cases answered in both orders of one repeat at least; `n_presented` cases presented so; `coverage`
          their ratio; `consistency` share with the same choice in both orders, ties included, over those n;
          `consistency_half` the same where a tie in one order only counts a half; `consistency_decisive` where
          pairs with a tie are left out; `order_kappa` Cohen's kappa between the two orders;
        - `n_first` verdicts with a decisive choice, in any order; `first_rate` the share of them that chose the
          response shown first; `tie_rate` share of ties among verdicts with a choice, and `tie_rate_ab`,
          `tie_rate_ba` in each order;
        - `position_bias` share choosing the response shown first minus share choosing the one shown second, over
          the n cases, from -1 (always the second) to 1 (always the first), ties 0;
        - `repeat_agreement` share of agreeing pairs of repeats in the same order, a mean over cases;
        - `n_repeated` cases answered twice or more in each order; over them, of the share of verdicts that differ
          between orders, `position_noise` is the part that differs as often between repeats in one order, and
          `position_preference` the rest, which the order itself makes (see Notes);
        - `n_questions` questions with a case answered in both orders; `ipi` share of a question's pairs of responses
          with different choices in the two orders, a mean over questions; `n_tournaments` questions of which
          every pair of three or more responses was answered in both orders; `tov` the fewest of a question's
          verdicts (two a pair) to change until they form a ranking with ties; `tov_intransitive` what of that
          remains beyond one change for each pair that the order turns, both means over questions.

        Of ratings, which have one order, `n` are the cases answered twice or more, `n_presented` those asked about so,
        and all but `repeat_agreement` is null.

        In a subfield a question has those of its pairs that are cases of it, and a tournament counts where all its
        cases are. `_low` and `_high` bound 95% intervals that are robust to clusters. `reason` says why a value or
        an interval is null.

    Raises
    ------
    InputError
        `by` or `cluster` cannot be used, a verdict is about an unknown case, or
        verdicts of several probes are mixed.

    Notes
    -----
    A bias towards one position is seen only where cases were shown in both orders:
    `first_rate` of one order alone mixes it with how often the first response is better.

    Let a judge choose A, B or tie with probabilities p when a case is shown in one order and q in the other,
    independently in every repeat. Two verdicts in different orders differ with probability 1 - sum(p q), two in the
    same order with the mean of 1 - sum(p^2) and 1 - sum(q^2), the noise. The difference is sum((p - q)^2) / 2:
    what order does to the case, whichever position it favours, never negative. Each term is estimated without
    bias from pairs of repeats (U-statistics), so that an estimated preference may fall a little below zero.
    Without ties preference is the mean of (p_A - q_A)^2, the covariance between repeats of the leaning to the
    first, and position bias the mean of p_A - q_A. Repeats that are copies (a deterministic judge) have no noise.

    Intervals are closed, not resampled: a bootstrap of shares near 0 and 1, where good judges are, covers far too
    seldom. Shares have Wilson's (`mrb_lib.stats.resampling.robust.share_interval`), kappa one like it
    (`mrb_lib.stats.consistency.intervals.order_kappa`), position bias, preference and `first_rate` that of
    Tango's score test (`mrb_lib.stats.consistency.intervals`), TOV Wilson's for the part of the most violations
    that there can be; all with the cluster-robust standard error, and never without width where all cases are alike. At
    100 cases they cover 93 to 97 of 100, and more where fewer than two or three cases are expected to show what is
    measured.

    IPI and TOV: Feng et al. (Sage, arXiv 2512.16041), see `mrb_lib.stats.consistency.instability`. Where every question
    is one case, IPI is 1 - `consistency`; clusters that share a question are one.

    Published values: `tests/published/test_llmbar.py`, `test_llmfao.py`, `test_consistency_llmbar.py`; planted bias,
    noise and coverage: `tests/simulation/test_position_bias.py`.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    codes = cluster_codes(cases, cluster)
    all_questions = questions(cases, codes)
    parts = [_Part(kind, layout(kind, codes)) for kind in one_kind_each(groups(cases, by))]
    step = max(1, _AT_ONCE // max(1, int(np.prod(panel.shape[1:])) * len((*SHARES, *SIGNED))))
    starts = range(0, len(panel.judges) if len(cases) else 0, step)
    chunks = [
        _of_judges(panel, range(len(panel.judges))[start : start + step], parts, all_questions) for start in starts
    ]
    frames = [_frame(panel, part, each) for part, each in zip(parts, zip(*chunks, strict=True), strict=False)]
    return typed(pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS), COLUMNS)


def _of_judges(panel: Panel, judges: range, parts: Sequence[_Part], all_questions: Questions) -> list[_Columns]:
    """The columns of some judges and each part, and before them the judge and dimension of each row as a cell."""
    whole = panel.choice[judges.start : judges.stop]
    judge, dimension = np.nonzero(panel.takes_part()[judges.start : judges.stop])
    choice = whole[judge, dimension]
    rows, n_cases = choice.shape[:2]
    values = {
        name: (value.reshape(rows, n_cases), count.reshape(rows, n_cases))
        for name, (value, count) in case_values(
            choice.reshape(rows * n_cases, *choice.shape[2:]), panel.categories
        ).items()
    }
    are_ratings = panel.categories != CHOICES
    violations = [order_violations(choice, tournament) for tournament in all_questions.tournaments]
    presented = (over_repeats((choice[:, :, 0] != ABSENT) & (choice[:, :, 1] != ABSENT)) > 0).astype(np.float64)
    if are_ratings:
        presented = ((choice != ABSENT).sum(axis=3) > 1).any(axis=2).astype(np.float64)
    out = []
    for part in parts:
        estimates = {name: share(*values[name], part.grouping) for name in SHARES}
        estimates |= {name: signed(*values[name], part.grouping) for name in SIGNED}
        estimates["first_rate"] = half(estimates["first_rate"])
        estimates["order_kappa"] = order_kappa(choice, part.grouping)
        consistency = estimates["consistency"]
        estimates |= _contradictions(*values["consistency"], consistency, violations, part, all_questions)
        cell = (judge + judges.start) * len(panel.dimensions) + dimension
        n_presented = by_group(unit_sums(presented, part.grouping), part.grouping).astype(np.int64)
        columns = _columns(estimates, n_presented, are_ratings)
        out.append({"cell": np.broadcast_to(cell[:, None], n_presented.shape), **columns})
    return out


def _frame(panel: Panel, part: _Part, chunks: Sequence[_Columns]) -> pd.DataFrame:
    """The rows of all judges, group by group."""
    columns = {name: np.concatenate([chunk[name] for chunk in chunks]).ravel(order="F") for name in chunks[0]}
    cell = columns.pop("cell").astype(np.int64)
    labels = pd.DataFrame([group.label() for group in part.groups])
    group = np.repeat(np.arange(len(labels)), len(cell) // len(labels))
    return pd.DataFrame({**panel.names(cell), **columns}).join(labels.take(group).reset_index(drop=True))


def _contradictions(
    same: FloatArray,
    answered: FloatArray,
    consistency: GroupEstimate,
    violations: Sequence[tuple[FloatArray, FloatArray, FloatArray]],
    part: _Part,
    all_questions: Questions,
) -> dict[str, GroupEstimate]:
    """IPI, TOV and its intransitive part in each group; where every question is one case IPI needs no counting."""
    if all_questions.n == len(all_questions.of_case):
        nothing = np.full(consistency.value.shape, np.nan)
        none = GroupEstimate(np.zeros_like(consistency.n), nothing, nothing, nothing, nothing, nothing)
        turned = consistency._replace(value=1 - consistency.value, low=1 - consistency.high, high=1 - consistency.low)
        return {"ipi": turned, "tov": none, "tov_intransitive": none}
    here = units(all_questions, part.grouping.group, len(part.groups))
    out = {"ipi": share(*unstable_pairs(answered - same, answered, here.of_case), here.grouping)}
    shape = len(same), len(here.grouping.unit)
    total, stable, count = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for unit, measured in zip(here.tournaments, violations, strict=True):
        inside = unit >= 0
        for sums, each in zip((total, stable, count), measured, strict=True):
            sums[:, unit[inside]] = each[:, inside]
    bounds = [(1.0, 1.0), *(most_violations(tournament.responses) for tournament in all_questions.tournaments)]
    most = [max(each) for each in zip(*bounds, strict=True)]
    return {
        **out,
        "tov": share(total, count, here.grouping, most[0]),
        "tov_intransitive": share(stable, count, here.grouping, most[1]),
    }


def _columns(
    estimates: Mapping[str, GroupEstimate], n_presented: IntArray, are_ratings: bool
) -> dict[str, NDArray[np.generic]]:
    """The columns of all measures, each of shape (rows, groups)."""
    n = estimates["repeat_agreement" if are_ratings else "consistency"].n
    out: dict[str, NDArray[np.generic]] = {
        "n": n,
        "n_presented": n_presented,
        "coverage": divide(n.astype(np.float64), n_presented),
        "n_first": estimates["first_rate"].n,
        "n_repeated": estimates["position_noise"].n,
        "n_questions": estimates["ipi"].n,
        "n_tournaments": estimates["tov"].n,
    }
    for name, each in estimates.items():
        out |= {name: each.value, f"{name}_low": each.low, f"{name}_high": each.high}
    absent = (
        {reading.RATINGS: n_presented >= 0, ONE_REPEAT: n == 0}
        if are_ratings
        else {
            ONE_ORDER: n_presented == 0,
            NOT_ANSWERED: (n_presented > 0) & (n == 0),
            NO_KAPPA: (n > 0) & np.isnan(estimates["order_kappa"].value),
            NO_DECISIVE: (n > 0) & (estimates["consistency_decisive"].n == 0),
            NOTHING_CHOSEN: estimates["first_rate"].n == 0,
            ONE_REPEAT: estimates["repeat_agreement"].n == 0,
            NO_SPLIT: estimates["position_noise"].n == 0,
            NO_TOURNAMENT: estimates["tov"].n == 0,
        }
    )
    told = reasons(estimates)
    why = np.full(n.shape, None, dtype=object)
    for cell in np.ndindex(n.shape):
        why[cell] = join_reasons(*(text for text, holds in absent.items() if holds[cell]), str(told[cell]))
    return {**out, "reason": why}
