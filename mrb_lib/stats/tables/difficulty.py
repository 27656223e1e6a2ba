"""Which cases are hard for all judges, and whose gold label is probably wrong?"""

from typing import Final

import numpy as np
import pandas as pd
from scipy.special import logit, ndtri

from mrb_lib.benchmarks.votes import vote_columns
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.estimation import FloatArray, IntArray, average, divide
from mrb_lib.stats.methods import rasch
from mrb_lib.stats.phrases import main_dimension, main_rows, opening
from mrb_lib.stats.verdicts import Verdicts, votes_of

OF_CASES, OF_JUDGES = "case", "judge"
WRONG_GOLD_PRIOR: Final = 0.05
FEW_JUDGES: Final = "no model: fewer than two judges are scored on this dimension"
NO_SCORE: Final = "no judge is scored on this case"
NO_OTHER: Final = "no suspicion: no judge gave another label"
NO_SPREAD: Final = "no difficulty: judges fail together no more often than chance makes them"
NOT_CONVERGED: Final = "no model: the fit did not converge"
_Z, _DIGITS = float(ndtri(0.975)), 9


def first_suspect(rows: pd.DataFrame) -> str:
    """Say how many gold labels are suspect, and which case to look at first."""
    cases, where = main_rows(rows, part=OF_CASES).dropna(subset="suspicion"), opening(main_dimension(rows))
    if cases.empty:
        return f"{where}, cannot tell which gold labels are wrong."
    suspect = int((cases["suspicion"] >= 0.5).sum())
    first = cases.nlargest(1, "suspicion").iloc[0]
    return (
        f"{where}, {suspect:,} of {len(cases):,} gold labels are more likely wrong than right, judging by the "
        f"verdicts. Look first at case {first['case_id']}: the annotators chose {first['gold']}, and "
        f"{first['alternative_share']:.0%} of {int(first['n_verdicts'])} verdicts chose {first['alternative']}. An "
        "error that all judges share looks the same."
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
        Column(
            "difficulty", "ability of a judge that is right half of the time", "log odds", "Rasch 1960", ("low", "high")
        ),
        Column("se", "posterior standard deviation of difficulty or ability", "log odds"),
        Column("discrimination", "correlation of the case with the judges' other cases", source="Henrysson 1963"),
        estimated("ability", "ability of the judge; 0: the average judge", "log odds", "Rasch 1960"),
        Column("gold", "label of the annotators", "text"),
        Column("n_annotators", "annotators of the case", "count"),
        Column("gold_votes", "annotators who chose the gold label", "count"),
        Column("alternative", "other label that most verdicts gave", "text", null=NO_OTHER, parts=(OF_CASES,)),
        Column("n_verdicts", "verdicts with a choice", "count"),
        Column("alternative_share", "share of n_verdicts that gave the alternative", "share 0-1"),
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
    (`stats.methods.rasch.worth`); `strict` and `net` make one trial of all verdicts on a case. Priors: difficulties
    normal, their mean and spread estimated; abilities normal about the mean difficulty with standard deviation 3,
    effects of which response is shown first about 0 with 6 (`stats.methods.rasch.fit`). With few judges difficulties
    are drawn towards their mean and intervals are wide: six judges tell easy cases from hard ones, not one hard case
    from another. Intervals of cases are posterior and take the estimated abilities as known.

    Suspicion asks whether the judges' verdicts would be more likely had the annotators chosen `alternative`. Where all
    judges are misled alike, so is it: it orders a review and does not replace one. Judges that are copies of another
    count twice. Planted values: `tests/simulation/test_difficulty.py`.
    """
    frames = [_rows(analysis, d, prior) for d in np.unique(analysis.verdicts.dimension)]
    keys = ["case_id", "dimension"]
    rows = pd.concat([pd.DataFrame(columns=["part", *keys, "gold", "n"]), *frames]).sort_values("part", kind="stable")
    names = {column: name for name, column in vote_columns(analysis.verdicts.categories).items()}
    gold = analysis.gold.rename(columns=names).reindex(columns=[*keys, "n_annotators", *names.values()])
    votes = gold.melt([*keys, "n_annotators"], var_name="gold", value_name="gold_votes")
    return rows.merge(votes, on=[*keys, "gold"], how="left")


def _rows(analysis: Analysis, dimension: int, prior: float) -> pd.DataFrame:
    """Return the rows of the cases, the most suspicious first, and of the judges of one dimension, from its number."""
    cells = analysis.verdicts.dimension == dimension
    own, label = analysis.verdicts.of_cells(cells), analysis.labels[:, dimension]
    score = analysis.scores.score[:, cells].T
    seen = np.isfinite(score)
    n, n_cases = seen.sum(axis=0), seen.sum(axis=1)
    votes = votes_of(own).sum(axis=(0, 3)).T
    others = np.where(np.arange(votes.shape[1]) == label[:, None], 0.0, votes)
    most, answers = others.max(axis=1), votes.sum(axis=1)
    other = np.where((label >= 0) & (most > 0), others.argmax(axis=1), -1)
    names = np.array([*own.categories, None], dtype=object)
    cases = pd.DataFrame({
        "part": OF_CASES,
        "case_id": analysis.cases["case_id"].to_numpy(),
        "n": n,
        "n_excluded": len(score) - n,
        "accuracy": average(score),
        "gold": names[label],
        "alternative": names[other],
        "n_verdicts": answers,
        "alternative_share": divide(most, answers),
        "suspicion": np.nan,
    })  # fmt: skip
    judges = own.cells[["judge"]].assign(part=OF_JUDGES, n=n_cases, n_excluded=score.shape[1] - n_cases)
    judges["accuracy"] = average(score, axis=1)
    flaw, counted = FEW_JUDGES, n_cases > 0
    if counted.sum() >= 2:
        model, doubt = _fitted(own.of_cells(counted), label, other, analysis.policy, prior)
        flaw = NOT_CONVERGED if not model.converged else NO_SPREAD if model.spread <= rasch.LEAST_SPREAD else ""
        if not flaw:
            made = dict(zip(("difficulty", "se", "low", "high"), model.difficulty, strict=True)) | {"suspicion": doubt}
            cases = cases.assign(**{name: np.where(n > 0, values, np.nan) for name, values in made.items()})
            cases["discrimination"] = rasch.item_rest_correlation(score)
        if flaw != NOT_CONVERGED:
            ability, se = (each[: counted.sum()] for each in (model.parameters, np.sqrt(np.diag(model.covariance))))
            columns = ["ability", "se", "ability_low", "ability_high"]
            estimates = np.stack([ability, se, ability - _Z * se, ability + _Z * se], axis=1)
            judges.loc[counted, columns] = estimates
    judges["reason"] = "" if flaw == NO_SPREAD else flaw
    cases["reason"] = flaw or np.where(n == 0, NO_SCORE, "")
    cases["alike"] = np.round(logit(cases["suspicion"]), _DIGITS)  # equal but for rounding is equal
    cases = cases[label >= 0].sort_values(["alike", "alternative_share"], ascending=False, kind="stable")
    place = pd.Series(np.arange(1, len(cases) + 1), cases.index, dtype="Int64")
    cases = cases.assign(rank=place.where(cases["suspicion"].notna()))
    return pd.concat([cases, judges]).assign(dimension=own.dimensions[dimension])


def _fitted(
    own: Verdicts, label: IntArray, other: IntArray, policy: str, prior: float
) -> tuple[rasch.Rasch, FloatArray]:
    """Fit the model to the verdicts, and return it with the suspicion of each case."""
    mine, otherwise = (rasch.shown(own, each, policy) for each in (label, other))
    each = rasch.worth(mine)
    data = rasch.trials(mine, each)
    model = rasch.fit(data)
    if (each < 1).any() and model.converged:
        each = rasch.worth(mine, rasch.agreement(model, data))
        data = rasch.trials(mine, each)
        model = rasch.fit(data)
    return model, rasch.wrong_gold(model, data, rasch.trials(otherwise, each), prior)
