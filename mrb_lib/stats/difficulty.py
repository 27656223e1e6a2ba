"""Which cases are hard for all judges, which tell judges apart, and whose gold label is probably wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from mrb_lib.errors import InputError
from mrb_lib.schema import CHOICES
from mrb_lib.stats.irt import LEAST_SPREAD, Posterior, one_parameter, trials, two_parameter, wrong_gold
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide, join_reasons, typed
from mrb_lib.stats.panel import Panel, as_panel
from mrb_lib.stats.resample import CONFIDENCE
from mrb_lib.stats.scoring import encode_gold, score

CASE, JUDGE = "case", "judge"
WRONG_GOLD_PRIOR = 0.05
FEW_JUDGES = "no model: fewer than two judges are scored on this dimension"
NO_SCORE = "no judge is scored on this case"
NO_GOLD = "no gold label"
NO_OTHER = "no suspicion: no judge gave another label"
NO_SPREAD = "no difficulty: judges fail together no more often than chance makes them"
COLUMNS = [
    "part", "dimension", "case_id", "judge", "policy", "n", "n_excluded", "accuracy", "difficulty", "se", "low", "high",
    "discrimination", "discrimination_low", "discrimination_high", "difficulty_2pl", "difficulty_2pl_low",
    "difficulty_2pl_high", "ability", "ability_low", "ability_high", "ability_2pl", "gold", "n_annotators",
    "gold_votes", "alternative", "n_alternative", "n_verdicts", "alternative_share", "suspicion", "rank", "reason",
]  # fmt: skip
_TEXT = ("part", "case_id", "gold", "alternative")
_WHOLE = ("rank", "n_annotators", "gold_votes", "n_alternative", "n_verdicts")


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
    verdicts, gold, cases, policy, dimensions : as in `mrb_lib.stats.accuracy.accuracy`; a score between 0 and 1
        counts as that share of a success, and of as many trials as the judge's scores vary like, see
        `mrb_lib.stats.irt.trials`
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
        and 95% interval, `ability_2pl`. `n_excluded` are the cases, or judges, that are not scored.
        `reason` says why a value is null.

    Raises
    ------
    InputError
        An option is unknown, or `prior` is no probability.

    Notes
    -----
    Priors: difficulties normal, their mean and spread estimated from the data; abilities normal about the mean
    difficulty with standard deviation 3; discriminations log-normal about 1 with 0.5; see `mrb_lib.stats.irt`.
    With few judges difficulties are drawn towards their mean and intervals are wide: six judges tell easy
    cases from hard ones, not one hard case from another. Intervals of cases take the estimated abilities as
    known, and are posterior: they hold on average over cases. Suspicion asks whether the judges' verdicts
    would be more likely had the annotators chosen `alternative`; where all judges are misled alike, so is
    it: it orders a review and does not replace one. A case that all judges get wrong may be merely
    misleading, and a case on which able judges fail and weak ones do not is more suspect; sort by
    `alternative_share` to see the former first. Judges that are copies of another (a jury of others)
    count twice. Planted values: `tests/simulation/test_difficulty.py`.
    """
    if not 0 < prior < 1:
        raise InputError(f"prior {prior}: must be between 0 and 1; 0.05 is the default.")
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions)
    votes = label_counts(panel)
    alternative = other_label(votes, labels)
    scores = score(panel, labels, policy)
    otherwise = score(panel, alternative, policy).score
    case_frames, judge_frames, most = [], [], int(np.prod(panel.choice.shape[3:]))
    for place, name in enumerate(panel.dimensions):
        judged: BoolArray = np.asarray(scores.judged[:, place].any(axis=1))
        value, other = scores.score[judged, place], otherwise[judged, place]
        by_case, by_judge = _dimension(value, other, labels[place], alternative[place], votes[place], prior, most)
        case_frames.append(by_case.assign(dimension=name, case_id=cases["case_id"].to_numpy()[by_case["case"]]))
        judges = [judge for judge, kept in zip(panel.judges, judged, strict=True) if kept]
        judge_frames.append(by_judge.assign(dimension=name, judge=judges))
    if not case_frames:
        return _finished(pd.DataFrame(columns=COLUMNS))
    first = _with_annotators(pd.concat(case_frames, ignore_index=True), gold)
    frame = pd.concat([first.assign(part=CASE), pd.concat(judge_frames).assign(part=JUDGE)], ignore_index=True)
    return _finished(frame.assign(policy=policy).reindex(columns=COLUMNS))


def _finished(frame: pd.DataFrame) -> pd.DataFrame:
    special = dict.fromkeys(_TEXT, "str") | dict.fromkeys(_WHOLE, "Int64")
    plain = typed(frame, [name for name in COLUMNS if name not in special])
    return plain.join(frame[list(special)].astype(special))[COLUMNS]


def label_counts(panel: Panel) -> IntArray:
    """How many verdicts, of all judges, orders and repeats, gave each label, shape (D, N, labels)."""
    return np.stack([(panel.choice == code).sum(axis=(0, 3, 4)) for code in range(len(CHOICES))], axis=-1).astype(
        np.int64
    )


def other_label(votes: IntArray, labels: IntArray) -> IntArray:
    """The label other than the gold one that most verdicts gave, shape (D, N); -1 without gold, or if none did."""
    left = votes.copy()
    np.put_along_axis(left, np.maximum(labels, 0)[:, :, None], -1, axis=2)
    found = np.where((labels >= 0) & (left.max(axis=2) > 0), left.argmax(axis=2), -1)
    return found.astype(np.int64)


def _dimension(
    value: FloatArray,
    other: FloatArray,
    label: IntArray,
    alternative: IntArray,
    votes: IntArray,
    prior: float,
    most: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of the cases and of the judges of one dimension; `value` and `other` of shape (J, N)."""
    case = np.flatnonzero(label >= 0)
    known = np.isfinite(value)
    n, total = known.sum(axis=0), np.where(known, value, 0.0)
    many = int(known.any(axis=1).sum()) >= 2
    rows: dict[str, object] = {"case": case, "n": n[case], "n_excluded": len(value) - n[case]}
    rows |= {"accuracy": divide(total.sum(axis=0), n)[case], "gold": _names(label[case])}
    given = votes[case]
    chosen = np.where(alternative[case] >= 0, given[np.arange(len(case)), alternative[case]], 0)
    rows |= {"alternative": _names(alternative[case]), "n_alternative": chosen, "n_verdicts": given.sum(axis=1)}
    rows["alternative_share"] = divide(chosen.astype(np.float64), given.sum(axis=1))
    judges: dict[str, object] = {"n": known.sum(axis=1), "n_excluded": value.shape[1] - known.sum(axis=1)}
    judges["accuracy"] = divide(total.sum(axis=1), known.sum(axis=1))
    suspicion = np.full(len(case), np.nan)
    if many:
        scored, counted = np.asarray(known.any(axis=0)), np.asarray(known.any(axis=1))
        used = np.ix_(counted, scored)
        columns, by_judge, doubt = _fitted(value[used], other[used], prior, most)
        spread = {name: _spread(column, scored)[case] for name, column in columns.items()}
        suspicion = np.where(alternative[case] >= 0, _spread(doubt, scored)[case], np.nan)
        rows |= spread
        judges |= {name: _spread(column, counted) for name, column in by_judge.items()}
    alike = many and bool(np.isnan(np.asarray(rows["difficulty"], dtype=np.float64)).all())
    rows |= {"suspicion": suspicion, "reason": _reasons(many, alike, n[case], alternative[case])}
    judges["reason"] = None if many else FEW_JUDGES
    frame = pd.DataFrame(rows).sort_values(
        ["suspicion", "alternative_share", "case"], ascending=[False, False, True], na_position="last"
    )
    place = pd.Series(np.arange(1, len(frame) + 1), index=frame.index, dtype="Int64")
    return frame.assign(rank=place.where(frame["suspicion"].notna())), pd.DataFrame(judges)


def _fitted(
    value: FloatArray, other: FloatArray, prior: float, most: int
) -> tuple[dict[str, FloatArray], dict[str, FloatArray], FloatArray]:
    weight = trials(value, most)
    first = one_parameter(value, weight)
    second = two_parameter(value, first, weight)
    columns = {"se": first.difficulty.se, "low": first.difficulty.low, "high": first.difficulty.high}
    columns |= {"difficulty": first.difficulty.mean, "difficulty_2pl": second.difficulty.mean}
    columns |= _ends("difficulty_2pl", second.difficulty) | _ends("discrimination", second.discrimination)
    columns["discrimination"] = second.discrimination.mean
    if first.spread <= LEAST_SPREAD:
        columns = {name: np.full(value.shape[1], np.nan) for name in columns}
    se = np.sqrt(np.diag(first.covariance))
    reach = stats.norm.ppf((1 + CONFIDENCE) / 2) * se
    judges = {"ability": first.ability, "se": se, "ability_2pl": second.ability}
    judges |= {"ability_low": first.ability - reach, "ability_high": first.ability + reach}
    return columns, judges, wrong_gold(first, value, other, prior, weight)


def _ends(name: str, found: Posterior) -> dict[str, FloatArray]:
    return {f"{name}_low": found.low, f"{name}_high": found.high}


def _spread(values: FloatArray, where: BoolArray) -> FloatArray:
    out = np.full(len(where), np.nan)
    out[where] = values
    return out


def _names(codes: IntArray) -> list[str | None]:
    return [CHOICES[code] if code >= 0 else None for code in codes]


def _reasons(many: bool, alike: bool, n: IntArray, alternative: IntArray) -> list[str | None]:
    if not many:
        return [FEW_JUDGES] * len(n)
    out = []
    for count, other in zip(n, alternative, strict=True):
        reasons = (NO_SPREAD if alike else "", NO_OTHER if other < 0 else "")
        out.append(NO_SCORE if count == 0 else join_reasons(*reasons))
    return out


def _with_annotators(frame: pd.DataFrame, gold: pd.DataFrame) -> pd.DataFrame:
    """Add how many annotators there were and how many chose the gold label, where the gold table says so."""
    votes = [f"votes_{name.lower()}" for name in CHOICES]
    if not {"n_annotators", *votes} <= set(gold.columns):
        return frame
    keys = ["case_id", "dimension"]
    found = frame[keys].merge(gold[[*keys, "n_annotators", *votes]], on=keys, how="left")
    place = frame["gold"].map({name: i for i, name in enumerate(CHOICES)}).to_numpy(dtype=np.int64)
    given = found[votes].to_numpy()[np.arange(len(found)), place]
    return frame.assign(n_annotators=found["n_annotators"].to_numpy(), gold_votes=given)
