"""Which cases are hard for all judges, which tell judges apart, and whose gold label is probably wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from mrb_lib.benchmarks.votes import vote_columns
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.difficulty import reading
from mrb_lib.stats.difficulty.irt import LEAST_SPREAD, Posterior, agreement, one_parameter, two_parameter, wrong_gold
from mrb_lib.stats.difficulty.trials import Shown, shown, trials, worth
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide, join_reasons, typed
from mrb_lib.stats.resampling.resample import CONFIDENCE
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES

CASE, JUDGE = "case", "judge"
WRONG_GOLD_PRIOR = 0.05
FEW_JUDGES = "no model: fewer than two judges are scored on this dimension"
NO_SCORE = "no judge is scored on this case"
NO_GOLD = "no gold label"
NO_OTHER = "no suspicion: no judge gave another label"
NO_SPREAD = "no difficulty: judges fail together no more often than chance makes them"
NOT_CONVERGED = "no model: the fit did not converge"
OF_CHOICES = "gold_first is of choices between two responses, not of ratings"
NO_2PL = "no 2PL model: its fit did not converge"
_DIGITS = 9
COLUMNS = [
    "part", "dimension", "case_id", "judge", "policy", "n", "n_excluded", "accuracy", "difficulty", "se", "low",
    "high", "discrimination", "discrimination_low", "discrimination_high", "difficulty_2pl", "difficulty_2pl_low",
    "difficulty_2pl_high", "ability", "ability_low", "ability_high", "ability_2pl", "gold_first", "gold_first_low",
    "gold_first_high", "gold", "n_annotators", "gold_votes", "alternative", "n_alternative", "n_verdicts",
    "alternative_share", "suspicion", "rank", "reason",
]  # fmt: skip
_TEXT = ("part", "case_id", "gold", "alternative")
_WHOLE = ("rank", "n_annotators", "gold_votes", "n_alternative", "n_verdicts")


MORE = ("se", "difficulty_2pl", "difficulty_2pl_low", "difficulty_2pl_high", "ability_2pl")


@register_table(
    "difficulty",
    question="which cases are hard, and whose gold label is probably wrong",
    columns=[name for name in COLUMNS if name not in MORE],
    more=MORE,
    meanings=reading.MEANINGS,
    headline=("gold", "alternative", "suspicion", "ability"),
    sentence=reading.sentence,
    why_no_ratings="",
)
def difficulty(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    dimensions: Sequence[str] | None = None,
    prior: float = WRONG_GOLD_PRIOR,
) -> pd.DataFrame:
    """Place cases and judges on one scale, and rank cases by how probably their gold label is wrong.

    Parameters
    ----------
    verdicts, gold, cases, policy, dimensions : as in `mrb_lib.stats.accuracy.accuracy`; a verdict is a trial,
        or as much of one as the judge's verdicts on a case vary independently, see
        `mrb_lib.stats.difficulty.trials.worth`;
        `strict` and `net` make one trial of all verdicts on a case
    prior : the probability that a gold label is wrong before any verdict is seen; it moves every `suspicion`
        and hardly any `rank`

    Returns
    -------
    DataFrame
        First, `part` "case", one row a dimension and case with a gold label, the most suspicious first:
        `n` judges scored and their `accuracy`; `difficulty` in log odds, by the Rasch (1PL) model: the ability
        of a judge that is right half of the time, 0 being the average judge, with posterior
        standard deviation `se` and 95% posterior interval `low`, `high`; by the 2PL model `discrimination` with its
        interval (1: as the 1PL; more: the case tells able judges from weak ones), and `difficulty_2pl`.
        `gold`, `gold_votes` of `n_annotators` for it; `alternative` the other label that most verdicts gave,
        `n_alternative` of `n_verdicts` with a choice, `alternative_share` their ratio; `suspicion` the
        posterior probability that `alternative`, not `gold`, is right; `rank` from 1 within the dimension.
        Then, `part` "judge", one row a judge and dimension: `n` cases scored, `accuracy`, `ability` with its `se`
        and 95% interval, `ability_2pl`; `gold_first` by how much the gold response being shown first rather than second
        raises the judge's log odds, with its interval, null of ratings; ability is half-way. `n_excluded` are the
        cases, or judges, that are not scored.
        `reason` says why a value is null.

    Raises
    ------
    InputError
        An option is unknown, or `prior` is not a probability.

    Notes
    -----
    Priors: difficulties normal, their mean and spread estimated from the data; abilities normal about the mean
    difficulty with standard deviation 3, effects of position about 0 with 6; discriminations log-normal about 1 with
    0.5; see `mrb_lib.stats.difficulty.irt`.
    With few judges difficulties are drawn towards their mean and intervals are wide: six judges tell easy
    cases from hard ones, not one hard case from another. Intervals of cases take the estimated abilities as
    known, and are posterior: they hold on average over cases. A judge that always takes the response
    shown first says nothing about any case, and its verdicts count for nothing: without the effect of position two such
    judges of six left 35% of the 95% intervals of difficulty covering. Suspicion asks whether the judges' verdicts
    would be more likely had the annotators chosen `alternative`; where all judges are misled alike, so is
    it: it orders a review and does not replace one. A case that all judges get wrong may be merely
    misleading, and a case on which able judges fail and weak ones do not is more suspect; sort by
    `alternative_share` to see the former first. Judges that are copies of another (a jury of others)
    count twice. Planted values: `tests/simulation/test_difficulty.py`.
    """
    if not 0 < prior < 1:
        raise InputError(f"prior {prior}: must be between 0 and 1; 0.05 is the default.")
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
    votes = label_counts(panel)
    alternative = other_label(votes, labels)
    scores = score(panel, labels, policy)
    by_order, otherwise = shown(panel, labels, policy), shown(panel, alternative, policy)
    case_frames, judge_frames = [], []
    for index, name in enumerate(panel.dimensions):
        judged: BoolArray = np.asarray(scores.judged[:, index].any(axis=1))
        both = [Shown(one.score[judged], one.n[judged], one.kind) for one in (by_order[index], otherwise[index])]
        value = scores.score[judged, index]
        by_case, by_judge = _dimension(value, both, labels[index], alternative[index], votes[index], prior)
        for column in ("gold", "alternative"):
            by_case[column] = [panel.categories[code] if code >= 0 else None for code in by_case[column]]
        if panel.categories != CHOICES:
            by_judge["reason"] = [join_reasons(text or "", OF_CHOICES) for text in by_judge["reason"]]
        case_frames.append(by_case.assign(dimension=name, case_id=cases["case_id"].to_numpy()[by_case["case"]]))
        judges = [judge for judge, kept in zip(panel.judges, judged, strict=True) if kept]
        judge_frames.append(by_judge.assign(dimension=name, judge=judges))
    if not case_frames:
        return _finished(pd.DataFrame(columns=COLUMNS))
    first = _with_annotators(pd.concat(case_frames, ignore_index=True), gold, panel.categories)
    frame = pd.concat([first.assign(part=CASE), pd.concat(judge_frames).assign(part=JUDGE)], ignore_index=True)
    return _finished(frame.assign(policy=policy).reindex(columns=COLUMNS))


def _finished(frame: pd.DataFrame) -> pd.DataFrame:
    special = dict.fromkeys(_TEXT, "str") | dict.fromkeys(_WHOLE, "Int64")
    plain = typed(frame, [name for name in COLUMNS if name not in special])
    return plain.join(frame[list(special)].astype(special))[COLUMNS]


def label_counts(panel: Panel) -> IntArray:
    """How many verdicts, of all judges, orders and repeats, gave each label, shape (D, N, labels)."""
    counts = [(panel.choice == code).sum(axis=(0, 3, 4)) for code in range(len(panel.categories))]
    return np.stack(counts, axis=-1).astype(np.int64)


def other_label(votes: IntArray, labels: IntArray) -> IntArray:
    """The label other than the gold one that most verdicts gave, shape (D, N); -1 without gold, or if none did."""
    left = votes.copy()
    np.put_along_axis(left, np.maximum(labels, 0)[:, :, None], -1, axis=2)
    values = np.where((labels >= 0) & (left.max(axis=2) > 0), left.argmax(axis=2), -1)
    return values.astype(np.int64)


def _dimension(
    value: FloatArray,
    both: Sequence[Shown],
    label: IntArray,
    alternative: IntArray,
    votes: IntArray,
    prior: float,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of the cases and of the judges of one dimension.

    Parameters
    ----------
    value : shape (J, N), the scores
    both : the verdicts against the gold label, and against the other one
    """
    case = np.flatnonzero(label >= 0)
    is_scored = np.isfinite(value)
    n, total = is_scored.sum(axis=0), np.where(is_scored, value, 0.0)
    many = int(is_scored.any(axis=1).sum()) >= 2
    rows: dict[str, object] = {"case": case, "n": n[case], "n_excluded": len(value) - n[case]}
    rows |= {"accuracy": divide(total.sum(axis=0), n)[case], "gold": label[case]}
    votes_of_case = votes[case]
    chosen = np.where(alternative[case] >= 0, votes_of_case[np.arange(len(case)), alternative[case]], 0)
    rows |= {"alternative": alternative[case], "n_alternative": chosen, "n_verdicts": votes_of_case.sum(axis=1)}
    rows["alternative_share"] = divide(chosen.astype(np.float64), votes_of_case.sum(axis=1))
    judges: dict[str, object] = {"n": is_scored.sum(axis=1), "n_excluded": value.shape[1] - is_scored.sum(axis=1)}
    judges["accuracy"] = divide(total.sum(axis=1), is_scored.sum(axis=1))
    suspicion = np.full(len(case), np.nan)
    flaw = "" if many else FEW_JUDGES
    judges["reason"] = flaw or None
    if many:
        scored, counted = np.asarray(is_scored.any(axis=0)), np.asarray(is_scored.any(axis=1))
        fitted = _fitted(both, counted, scored, is_scored, prior)
        flaw = fitted.flaw
        rows |= {name: _spread(column, scored)[case] for name, column in fitted.cases.items()}
        judges |= {name: _spread(column, counted) for name, column in fitted.judges.items()}
        judges["reason"] = (flaw if flaw != NO_SPREAD else "") or None
        suspicion = np.where(alternative[case] >= 0, _spread(fitted.suspicion, scored)[case], np.nan)
    rows |= {"suspicion": suspicion, "reason": _reasons(flaw, n[case], alternative[case])}
    order = ["alike", "alternative_share", "case"]
    rows["alike"] = np.round(special.logit(suspicion), _DIGITS)  # equal but for rounding is equal
    frame = pd.DataFrame(rows)
    frame = frame.sort_values(order, ascending=[False, False, True], na_position="last").drop(columns="alike")
    index = pd.Series(np.arange(1, len(frame) + 1), index=frame.index, dtype="Int64")
    return frame.assign(rank=index.where(frame["suspicion"].notna())), pd.DataFrame(judges)


class _Fitted(NamedTuple):
    """Columns of the cases, each (N,), and of the judges, (J,), suspicions (N,), and what is wrong with the fit."""

    cases: dict[str, FloatArray]
    judges: dict[str, FloatArray]
    suspicion: FloatArray
    flaw: str


def _fitted(both: Sequence[Shown], counted: BoolArray, scored: BoolArray, seen: BoolArray, prior: float) -> _Fitted:
    """Fit both models to the judges that are `counted`, on the cases that are `scored`; `seen` of shape (J, N)."""
    mine, other = (
        Shown(one.score[counted][:, :, scored], one.n[counted][:, :, scored], one.kind[:, scored]) for one in both
    )
    usable, each = seen[np.ix_(counted, scored)], worth(mine)
    data = trials(mine, usable, each)
    first = one_parameter(data)
    if (each < 1).any() and first.converged:
        each = worth(mine, agreement(first, data))
        data = trials(mine, usable, each)
        first = one_parameter(data, first)
    n_judges, n_cases = usable.shape
    if not first.converged:
        return _Fitted({}, {}, np.full(n_cases, np.nan), NOT_CONVERGED)
    second = two_parameter(data, first)
    columns = {"se": first.difficulty.se, "low": first.difficulty.low, "high": first.difficulty.high}
    columns |= {"difficulty": first.difficulty.mean}
    if second.converged:
        columns |= {"difficulty_2pl": second.difficulty.mean, "discrimination": second.discrimination.mean}
        columns |= _ends("difficulty_2pl", second.difficulty) | _ends("discrimination", second.discrimination)
    suspicion = wrong_gold(first, data, trials(other, usable, each, data.position), prior)
    flaw = "" if second.converged else NO_2PL
    if first.spread <= LEAST_SPREAD:
        flaw, columns, suspicion = NO_SPREAD, {}, np.full(n_cases, np.nan)
    se = np.sqrt(np.diag(first.covariance))
    reach = special.ndtri((1 + CONFIDENCE) / 2) * se
    low, high = first.parameters - reach, first.parameters + reach
    whole = slice(n_judges)
    judges = {"ability": first.parameters[whole], "se": se[whole]}
    judges |= {"ability_low": low[whole], "ability_high": high[whole]}
    if second.converged:
        judges["ability_2pl"] = second.parameters[whole]
    has = data.position >= 0
    for name, values in (("gold_first", first.parameters), ("gold_first_low", low), ("gold_first_high", high)):
        judges[name] = np.where(has, values[data.position], np.nan)
    return _Fitted(columns, judges, suspicion, flaw)


def _ends(name: str, values: Posterior) -> dict[str, FloatArray]:
    return {f"{name}_low": values.low, f"{name}_high": values.high}


def _spread(values: FloatArray, where: BoolArray) -> FloatArray:
    out = np.full(len(where), np.nan)
    out[where] = values
    return out


def _reasons(flaw: str, n: IntArray, alternative: IntArray) -> list[str | None]:
    if flaw == FEW_JUDGES:
        return [FEW_JUDGES] * len(n)
    return [
        NO_SCORE if count == 0 else join_reasons(flaw, NO_OTHER if other < 0 else "")
        for count, other in zip(n, alternative, strict=True)
    ]


def _with_annotators(frame: pd.DataFrame, gold: pd.DataFrame, categories: tuple[str, ...]) -> pd.DataFrame:
    """Add how many annotators there were and how many chose the gold label, where the gold table says so."""
    votes = list(vote_columns(categories).values())
    if not {"n_annotators", *votes} <= set(gold.columns):
        return frame
    keys = ["case_id", "dimension"]
    values = frame[keys].merge(gold[[*keys, "n_annotators", *votes]], on=keys, how="left")
    index = frame["gold"].map({name: i for i, name in enumerate(categories)}).to_numpy(dtype=np.int64)
    votes_of_case = values[votes].to_numpy()[np.arange(len(values)), index]
    return frame.assign(n_annotators=values["n_annotators"].to_numpy(), gold_votes=votes_of_case)
