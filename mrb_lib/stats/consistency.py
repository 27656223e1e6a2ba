"""Whether a judge says the same when the answers are shown in the other order, or asked again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.schema import CHOICES
from mrb_lib.stats import confusion
from mrb_lib.stats.instability import MOST_RESPONSES, Questions, order_violations, questions, unstable_pairs
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide, join_reasons, typed
from mrb_lib.stats.order_effects import MEASURES, WITHOUT_INTERVAL, case_values
from mrb_lib.stats.panel import ABSENT, TIE, Panel, as_panel
from mrb_lib.stats.resample import Ratios, cluster_codes, ratios
from mrb_lib.stats.subfields import Group, groups

ONE_ORDER = "no case was presented in both orders"
NOT_ANSWERED = "no case was answered in both orders"
NOTHING_CHOSEN = "first_rate is undefined: no verdict is decisive"
ONE_REPEAT = "repeat_agreement is undefined: no case was answered twice in one order"
NO_SPLIT = "position_preference and position_noise are undefined: no case was answered twice in each order"
NO_KAPPA = "order_kappa is undefined: one category only"
NO_TOURNAMENT = (
    f"tov is undefined: no question has three to {MOST_RESPONSES} responses, "
    "every pair of which was answered in both orders"
)
_SAGE = ("ipi", "tov", "tov_intransitive")
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
    *(name + end for name in ("consistency",) for end in ("", "_low", "_high")),
    "order_kappa",
    *(name + end for name in ("consistency_decisive",) for end in ("", "_low", "_high")),
    "consistency_half",
    "n_first",
    *(name + end for name in ("first_rate",) for end in ("", "_low", "_high")),
    "tie_rate",
    "tie_rate_ab",
    "tie_rate_ba",
    *(name + end for name in ("position_bias", "repeat_agreement") for end in ("", "_low", "_high")),
    "n_repeated",
    *(name + end for name in ("position_preference", "position_noise") for end in ("", "_low", "_high")),
    "n_questions",
    *(name + end for name in ("ipi",) for end in ("", "_low", "_high")),
    "n_tournaments",
    *(name + end for name in ("tov", "tov_intransitive") for end in ("", "_low", "_high")),
    "reason",
]


def consistency(
    verdicts: pd.DataFrame | Panel,
    cases: pd.DataFrame,
    *,
    by: str | None = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Order consistency, position bias, agreement between repeats, and self-contradiction of each judge.

    Parameters
    ----------
    verdicts : the verdicts table of one probe, or its panel
    cases : the cases table
    by : a cases column to break down by, or `model_pair`
    dimensions : the dimensions to report, in order; None reports all that were judged
    cluster : the cases column to resample by, see `mrb_lib.stats.resample.cluster_codes`
    resamples, seed : of the cluster bootstrap; 0 resamples give no intervals

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

        `_low` and `_high` bound 95% percentile intervals of the cluster bootstrap. `reason` says why a value is null.

    Raises
    ------
    InputError
        `by` or `cluster` cannot be used, a verdict speaks of an unknown case, or
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

    IPI and TOV: Feng et al. (Sage, arXiv 2512.16041), see `mrb_lib.stats.instability`. Where every question
    is one case, IPI is 1 - `consistency`; clusters that share a question are resampled together.

    Published values: `tests/published/test_llmbar.py`, `test_llmfao.py`, `test_consistency_llmbar.py`; planted bias,
    noise and coverage: `tests/simulation/test_position_bias.py`.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    codes = cluster_codes(cases, cluster)
    asked = questions(cases, codes)
    parts = groups(cases, by)
    cells = max(1, int(np.prod(panel.shape[1:])))
    step = max(1, _AT_ONCE // (cells * len(MEASURES)))
    frames: list[list[pd.DataFrame]] = [[] for _ in parts]
    for start in range(0, max(1, len(panel.judges)), step):
        judges = range(len(panel.judges))[start : start + step]
        for found, frame in zip(frames, _of_judges(panel, judges, parts, codes, asked, resamples, seed), strict=True):
            found.append(frame)
    return typed(pd.concat([frame for found in frames for frame in found], ignore_index=True), COLUMNS)


def _of_judges(
    panel: Panel,
    judges: range,
    parts: Sequence[Group],
    codes: IntArray,
    asked: Questions,
    resamples: int,
    seed: int,
) -> list[pd.DataFrame]:
    """The rows of some judges, a frame a group of cases."""
    whole = panel.choice[judges.start : judges.stop]
    judge, dimension = np.nonzero((whole != ABSENT).any(axis=(2, 3, 4)))
    choice = whole[judge, dimension]
    rows, n_cases = choice.shape[:2]
    values, counts = (
        np.moveaxis(found.reshape(-1, rows, n_cases), 2, 0).reshape(n_cases, -1)
        for found in case_values(choice.reshape(rows * n_cases, *choice.shape[2:]))
    )
    bounded = len(MEASURES) * rows
    blocks = [(part.cases, values[part.cases, :bounded], counts[part.cases, :bounded]) for part in parts]
    found = [_split(one, len(MEASURES)) for one in _estimates(blocks, codes, resamples, seed)]
    more = [divide(*(x[part.cases, bounded:].sum(axis=0) for x in (values, counts))) for part in parts]
    if asked.n == n_cases:
        sage = [_as_single_pairs(one[0]) for one in found]
    else:
        sage = _sage(choice, values[:, :rows], counts[:, :rows], parts, asked, resamples, seed)
    names = {
        "judge": pd.Index(panel.judges, dtype="str").take(judge + judges.start),
        "dimension": pd.Index(panel.dimensions, dtype="str").take(dimension),
    }
    return [
        _frame({**names, **part.label(), WITHOUT_INTERVAL[0]: half}, choice[:, part.cases], [*one, *contradictions])
        for part, half, one, contradictions in zip(parts, more, found, sage, strict=True)
    ]


def _estimates(
    parts: Sequence[tuple[IntArray, FloatArray, FloatArray]], codes: IntArray, resamples: int, seed: int
) -> list[Ratios]:
    """As `ratios`, once for columns that are equal, as those without ties are, and not for those without a case."""
    if not parts:
        return []
    _, values, counts = max(parts, key=lambda part: len(part[0]))
    seen: dict[bytes, int] = {}
    which = np.zeros(values.shape[1], dtype=np.int64)
    for i, (value, count) in enumerate(
        zip(np.ascontiguousarray(values.T), np.ascontiguousarray(counts.T), strict=True)
    ):
        which[i] = seen.setdefault(value.tobytes() + count.tobytes() if count.any() else b"", i)
    kept, place = np.unique(which, return_inverse=True)
    found = ratios([(at, num[:, kept], den[:, kept]) for at, num, den in parts], codes, resamples=resamples, seed=seed)
    return [
        Ratios(one.n[place], one.value[place], one.low[place], one.high[place], [one.reason[i] for i in place])
        for one in found
    ]


def _split(found: Ratios, count: int) -> list[Ratios]:
    """The estimates of each of several measures that lie one after the other."""
    each = len(found.n) // count
    n, value, low, high, reason = found
    places = [slice(i * each, (i + 1) * each) for i in range(count)]
    return [Ratios(n[at], value[at], low[at], high[at], reason[at]) for at in places]


def _as_single_pairs(consistency: Ratios) -> list[Ratios]:
    """IPI, TOV and its intransitive part where every question has one pair of responses."""
    n, value, low, high, reason = consistency
    nothing = np.full(len(n), np.nan)
    none = Ratios(np.zeros_like(n), nothing, nothing, nothing, [""] * len(n))
    return [Ratios(n, 1 - value, 1 - high, 1 - low, reason), none, none]


def _sage(
    choice: NDArray[np.int8],
    same: FloatArray,
    answered: FloatArray,
    parts: Sequence[Group],
    asked: Questions,
    resamples: int,
    seed: int,
) -> list[list[Ratios]]:
    """IPI, TOV and its intransitive part in each group of cases; a question is in the group of its first case."""
    rows = choice.shape[0]
    violations, count = np.zeros((2, rows, asked.n)), np.zeros((rows, asked.n))
    for tournament in asked.tournaments:
        at = tournament.question
        violations[0][:, at], violations[1][:, at], count[:, at] = order_violations(choice, tournament)
    blocks = []
    for part in parts:
        here, inside = np.unique(asked.of_case[part.cases], return_inverse=True)
        ipi, defined = unstable_pairs((answered - same)[part.cases], answered[part.cases], inside)
        values = np.hstack([ipi, violations[0][:, here].T, violations[1][:, here].T])
        blocks.append((here, values, np.hstack([defined, count[:, here].T, count[:, here].T])))
    return [_split(found, len(_SAGE)) for found in _estimates(blocks, asked.clusters, resamples, seed)]


def _frame(columns: dict[str, object], choice: NDArray[np.int8], found: Sequence[Ratios]) -> pd.DataFrame:
    by_name = dict(zip((*MEASURES, *_SAGE), found, strict=True))
    n = by_name["consistency"].n
    n_presented = (choice != ABSENT).all(axis=2).any(axis=2).sum(axis=1)
    kappa = confusion.cohen_kappa(_order_table(choice))
    given, ties = (choice >= 0).sum(axis=(1, 3)), (choice == TIE).sum(axis=(1, 3))
    n_first = given.sum(axis=1) - ties.sum(axis=1)
    rates = divide(ties.astype(np.float64), given)
    columns = {
        **columns,
        "n": n,
        "n_presented": n_presented,
        "coverage": divide(n.astype(np.float64), n_presented),
        "order_kappa": kappa,
        "n_first": n_first,
        "tie_rate": divide(ties.sum(axis=1).astype(np.float64), given.sum(axis=1)),
        "tie_rate_ab": rates[:, 0],
        "tie_rate_ba": rates[:, 1],
        "n_repeated": by_name["position_noise"].n,
        "n_questions": by_name["ipi"].n,
        "n_tournaments": by_name["tov"].n,
    }
    for name, estimate in by_name.items():
        columns |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    absent = {
        NO_KAPPA: (n > 0) & np.isnan(kappa),
        NOTHING_CHOSEN: n_first == 0,
        ONE_REPEAT: by_name["repeat_agreement"].n == 0,
        NO_SPLIT: by_name["position_noise"].n == 0,
        NO_TOURNAMENT: by_name["tov"].n == 0,
    }
    reason = [
        join_reasons(
            "" if n_presented[i] else ONE_ORDER,
            NOT_ANSWERED if n_presented[i] and not n[i] else "",
            by_name["consistency"].reason[i],
            *(why for why, where in absent.items() if where[i]),
        )
        for i in range(len(n))
    ]
    return pd.DataFrame({**columns, "reason": reason})


def _order_table(choice: NDArray[np.int8]) -> FloatArray:
    """Counts of the choice in order AB by that in order BA, shape (rows, 3, 3)."""
    ab, ba = choice[:, :, 0], choice[:, :, 1]
    both: BoolArray = (ab >= 0) & (ba >= 0)
    row = np.nonzero(both)[0]
    return confusion.counts(row, ab[both].astype(np.int64), ba[both].astype(np.int64), len(choice), len(CHOICES))
