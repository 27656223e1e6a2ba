"""Which cases are hard for all judges, and whose gold label is probably wrong?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import special

from mrb_lib.benchmarks.votes import vote_columns
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, shared, table
from mrb_lib.stats.difficulty.irt import (
    LEAST_SPREAD,
    OneParameter,
    agreement,
    item_rest_correlation,
    one_parameter,
    wrong_gold,
)
from mrb_lib.stats.difficulty.trials import Shown, Trials, shown, trials, worth
from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.phrases import main_dimension, main_rows, opening
from mrb_lib.stats.verdicts import Verdicts
from mrb_lib.tables.errors import InputError

OF_CASES, OF_JUDGES = "case", "judge"
WRONG_GOLD_PRIOR: Final = 0.05
FEW_JUDGES: Final = "no model: fewer than two judges are scored on this dimension"
NO_SCORE: Final = "no judge is scored on this case"
NO_OTHER: Final = "no suspicion: no judge gave another label"
NO_SPREAD: Final = "no difficulty: judges fail together no more often than chance makes them"
NOT_CONVERGED: Final = "no model: the fit did not converge"
OF_CHOICES: Final = "gold_first is of choices between two responses, not of ratings"
_Z, _DIGITS = float(special.ndtri(0.975)), 9


def first_suspect(rows: pd.DataFrame) -> str:
    """Say how many gold labels are suspect, and which case to look at first."""
    cases, where = main_rows(rows, part=OF_CASES).dropna(subset="suspicion"), opening(main_dimension(rows))
    if cases.empty:
        return f"{where}, cannot tell which gold labels are wrong."
    suspect = int((cases["suspicion"] >= 0.5).sum())
    first = cases.nlargest(1, "suspicion").iloc[0]
    return (
        f"{where}, {suspect:,} of {len(cases):,} gold labels are more probably wrong than right by the judges' "
        f"verdicts. Look first at case {first['case_id']}: the annotators chose {first['gold']}, and "
        f"{int(first['n_alternative'])} of {int(first['n_verdicts'])} verdicts chose {first['alternative']}. Judges "
        "that are all misled alike look the same."
    )


@table(
    "difficulty",
    question="which cases are hard, and whose gold label is probably wrong",
    columns=[
        Column("part", "case or judge", "text"),
        shared("dimension"),
        Column("case_id", "name of the case", "text"),
        shared("judge", "policy"),
        Column("n", "judges scored on the case; in rows of judges, cases", "count"),
        Column("n_excluded", "judges, or cases, that are not scored", "count"),
        Column("accuracy", "mean score of the judges, or of the judge", "share 0-1"),
        Column("difficulty", "ability of a judge that is right half of the time", "log odds", "Rasch 1960"),
        Column("se", "posterior standard deviation of difficulty or ability", "log odds"),
        Column("low", "lower end of the 95% posterior interval of difficulty", "log odds"),
        Column("high", "upper end of the 95% posterior interval of difficulty", "log odds"),
        Column("discrimination", "correlation of the case with the judges' other cases", source="Henrysson 1963"),
        Column(
            "ability",
            "ability of the judge; 0: the average judge",
            "log odds",
            "Rasch 1960",
            ends=("ability_low", "ability_high"),
        ),
        Column(
            "gold_first",
            "rise of the judge's log odds where the gold response is first",
            "log odds",
            ends=("gold_first_low", "gold_first_high"),
        ),
        Column("gold", "label of the annotators", "text"),
        Column("n_annotators", "annotators of the case", "count"),
        Column("gold_votes", "annotators who chose the gold label", "count"),
        Column("alternative", "other label that most verdicts gave", "text"),
        Column("n_alternative", "verdicts that gave the alternative", "count"),
        Column("n_verdicts", "verdicts with a choice", "count"),
        Column("alternative_share", "n_alternative over n_verdicts", "share 0-1"),
        Column("suspicion", "probability that the alternative is right and gold is wrong", "share 0-1"),
        Column("rank", "place in the order of suspicion within the dimension", "rank"),
    ],
    sentence=first_suspect,
    headline=("gold", "alternative", "suspicion", "ability"),
    uses=("policy", "dimension", "gold"),
    why_no_ratings="",
)
def difficulty(analysis: Analysis, *, prior: float = WRONG_GOLD_PRIOR) -> pd.DataFrame:
    """Place cases and judges on one scale, and rank cases by how probably their gold label is wrong.

    Rows of part "case" come first, the most suspicious first; then those of part "judge".

    Parameters
    ----------
    prior : the probability that a gold label is wrong before any verdict is seen; it moves every `suspicion` and
        hardly any `rank`

    Notes
    -----
    A verdict is a trial, or as much of one as the judge's verdicts on a case vary independently
    (`mrb_lib.stats.difficulty.trials.worth`); `strict` and `net` make one trial of all verdicts on a case. Priors:
    difficulties normal, their mean and spread estimated; abilities normal about the mean difficulty with standard
    deviation 3, effects of position about 0 with 6 (`mrb_lib.stats.difficulty.irt`). With few judges difficulties are
    drawn towards their mean and intervals are wide: six judges tell easy cases from hard ones, not one hard case from
    another. Intervals of cases are posterior and take the estimated abilities as known.

    Suspicion asks whether the judges' verdicts would be more likely had the annotators chosen `alternative`. Where all
    judges are misled alike, so is it: it orders a review and does not replace one. Judges that are copies of another
    count twice. Planted values: `tests/simulation/test_difficulty.py`.
    """
    if not 0 < prior < 1:
        raise InputError(f"prior {prior}: must be between 0 and 1; 0.05 is the default.")
    verdicts, labels = analysis.verdicts, analysis.labels
    votes = label_counts(verdicts)
    alternative = other_label(votes, labels)
    by_gold, otherwise = (shown(verdicts, each, analysis.policy) for each in (labels, alternative))
    of_cases, of_judges = [], []
    for d, name in enumerate(verdicts.dimensions):
        cells = verdicts.dimension == d
        if not cells.any():
            continue
        both = by_gold[d], otherwise[d]
        score = analysis.scores.score[:, cells].T
        cases, judges = _rows(score, both, labels[:, d], alternative[:, d], votes[:, d], prior)
        for column in ("gold", "alternative"):
            cases[column] = [verdicts.categories[code] if code >= 0 else None for code in cases[column]]
        if verdicts.tie < 0:
            judges["reason"] = ["; ".join(filter(None, [text, OF_CHOICES])) for text in judges["reason"]]
        of_cases.append(cases.assign(dimension=name, case_id=analysis.cases["case_id"].to_numpy()[cases["case"]]))
        of_judges.append(judges.assign(dimension=name, judge=verdicts.cells["judge"].to_numpy()[cells]))
    if not of_cases:
        return pd.DataFrame(columns=["part", "dimension", "n"])
    first = _with_annotators(pd.concat(of_cases, ignore_index=True), analysis.gold, verdicts.categories)
    return pd.concat([first.assign(part=OF_CASES), pd.concat(of_judges).assign(part=OF_JUDGES)], ignore_index=True)


def label_counts(verdicts: Verdicts) -> IntArray:
    """Count the verdicts, of all orders and repeats, that gave each label: shape (cases, dimensions, labels)."""
    shape = verdicts.n_cases, len(verdicts.dimensions), len(verdicts.categories)
    chose = verdicts.choice >= 0
    place = verdicts.case[chose], verdicts.dimension[verdicts.cell[chose]], verdicts.choice[chose]
    return np.bincount(np.ravel_multi_index(place, shape), minlength=int(np.prod(shape))).reshape(shape)


def other_label(votes: IntArray, labels: IntArray) -> IntArray:
    """Return the label other than gold that most verdicts gave, shape (cases, dimensions); -1 without one."""
    left = votes.copy()
    np.put_along_axis(left, np.maximum(labels, 0)[:, :, None], -1, axis=2)
    return np.where((labels >= 0) & (left.max(axis=2) > 0), left.argmax(axis=2), -1)


def _rows(
    score: FloatArray, both: Sequence[Shown], label: IntArray, alternative: IntArray, votes: IntArray, prior: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of the cases and of the judges of one dimension.

    Parameters
    ----------
    score : shape (J, N)
    both : the verdicts against the gold label, and against the other one
    votes : shape (N, labels)
    """
    case, seen = np.flatnonzero(label >= 0), np.isfinite(score)
    n, n_cases, total = seen.sum(axis=0), seen.sum(axis=1), np.where(seen, score, 0.0)
    other = alternative[case]
    chosen = np.where(other >= 0, votes[case, other], 0)
    cases: dict[str, Any] = {
        "case": case,
        "n": n[case],
        "n_excluded": len(score) - n[case],
        "accuracy": divide(total.sum(axis=0), n)[case],
        "gold": label[case],
        "alternative": other,
        "n_alternative": chosen,
        "n_verdicts": votes[case].sum(axis=1),
        "alternative_share": divide(chosen.astype(np.float64), votes[case].sum(axis=1)),
        "suspicion": np.nan,
    }
    judges: dict[str, Any] = {"n": n_cases, "n_excluded": score.shape[1] - n_cases}
    judges["accuracy"] = divide(total.sum(axis=1), n_cases)
    scored, counted = n > 0, n_cases > 0
    flaw = FEW_JUDGES
    if counted.sum() >= 2:
        model, data, doubt = _fitted(both, counted, scored, seen, prior)
        flaw = NOT_CONVERGED if not model.converged else NO_SPREAD if model.spread <= LEAST_SPREAD else ""
        if not flaw:
            d = model.difficulty
            made = {"difficulty": d.mean, "se": d.se, "low": d.low, "high": d.high, "suspicion": doubt}
            cases |= {name: _spread(values, scored)[case] for name, values in made.items()}
            cases["suspicion"] = np.where(other >= 0, cases["suspicion"], np.nan)
            cases["discrimination"] = item_rest_correlation(score)[case]
        if flaw != NOT_CONVERGED:
            judges |= {name: _spread(values, counted) for name, values in _abilities(model, data).items()}
    judges["reason"] = "" if flaw == NO_SPREAD else flaw
    none = np.where(other < 0, "; ".join(filter(None, [flaw, NO_OTHER])), flaw)
    cases["reason"] = FEW_JUDGES if flaw == FEW_JUDGES else np.where(n[case] == 0, NO_SCORE, none)
    frame = pd.DataFrame(cases)
    frame["alike"] = np.round(special.logit(frame["suspicion"]), _DIGITS)  # equal but for rounding is equal
    order = ["alike", "alternative_share", "case"]
    frame = frame.sort_values(order, ascending=[False, False, True], na_position="last").drop(columns="alike")
    index = pd.Series(np.arange(1, len(frame) + 1), index=frame.index, dtype="Int64")
    return frame.assign(rank=index.where(frame["suspicion"].notna())), pd.DataFrame(judges)


def _fitted(
    both: Sequence[Shown], counted: BoolArray, scored: BoolArray, seen: BoolArray, prior: float
) -> tuple[OneParameter, Trials, FloatArray]:
    """Fit the judges that are `counted` on the cases that are `scored`; and return the suspicion of these cases."""
    mine, other = (
        Shown(one.score[counted][:, :, scored], one.n[counted][:, :, scored], one.kind[:, scored]) for one in both
    )
    usable, each = seen[np.ix_(counted, scored)], worth(mine)
    data = trials(mine, usable, each)
    model = one_parameter(data)
    if (each < 1).any() and model.converged:
        each = worth(mine, agreement(model, data))
        data = trials(mine, usable, each)
        model = one_parameter(data, model)
    return model, data, wrong_gold(model, data, trials(other, usable, each, data.position), prior)


def _abilities(model: OneParameter, data: Trials) -> dict[str, FloatArray]:
    se = np.sqrt(np.diag(model.covariance))
    whole, has = slice(data.n_judges), data.position >= 0
    values = {"": model.parameters, "_low": model.parameters - _Z * se, "_high": model.parameters + _Z * se}
    columns = {f"ability{end}": each[whole] for end, each in values.items()} | {"se": se[whole]}
    return columns | {f"gold_first{end}": np.where(has, each[data.position], np.nan) for end, each in values.items()}


def _spread(values: FloatArray, where: BoolArray) -> FloatArray:
    out = np.full(len(where), np.nan)
    out[where] = values
    return out


def _with_annotators(frame: pd.DataFrame, gold: pd.DataFrame, categories: tuple[str, ...]) -> pd.DataFrame:
    """Add how many annotators there were and how many chose the gold label, where the gold table says so."""
    votes = list(vote_columns(categories).values())
    if not {"n_annotators", *votes} <= set(gold.columns):
        return frame
    keys = ["case_id", "dimension"]
    values = frame[keys].merge(gold[[*keys, "n_annotators", *votes]], on=keys, how="left")
    index = frame["gold"].map({name: i for i, name in enumerate(categories)}).to_numpy(dtype=np.int64)
    of_case = values[votes].to_numpy()[np.arange(len(values)), index]
    return frame.assign(n_annotators=values["n_annotators"].to_numpy(), gold_votes=of_case)
