"""Does a judge rate single responses as clinicians do: their category and their labels?"""

from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.votes import voting
from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import ADJUDICATED, Analysis
from mrb_lib.stats.columns import TESTED, Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, t_test
from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, Quantity, divide, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.intervals import Interval
from mrb_lib.stats.methods import detection
from mrb_lib.stats.methods.detection import LABEL
from mrb_lib.stats.multiplicity import adjust_rows
from mrb_lib.stats.phrases import main_dimension, main_rows, number, of_judges, opening
from mrb_lib.tables.errors import NotApplicable
from mrb_lib.tables.schema import category_numbers

RATING: Final = "rating"
TWO_CATEGORIES = "within_one is undefined: of two categories any is within one of the other"
CONSTANT = "a coefficient is undefined where the judge or the clinicians use one category only"
NO_MEAN = "no case has both an annotation and an answer"
ONE_SIDE = "sensitivity, specificity or F1 is undefined: no such response, or no category is named as acceptable"
UPSIDE_DOWN = "uses the scale upside down: spearman is significantly below 0"
NO_PRECISION = "precision is undefined: the judge finds nothing"
NO_RECALL = "recall is undefined: there is nothing to find"
NO_F1 = "f1 is undefined: there is nothing to find, and the judge finds nothing"
_SHROUT: Final = "Shrout and Fleiss 1979"
_NUMBERS: Final = "with the mean of the clinicians' numbers"
_RATED, _FOUND = (RATING,), (LABEL,)


def sentence(rows: pd.DataFrame) -> str:
    """Say for each part which judge is best, if a corrected test shows it, and who uses the scale upside down."""
    said = []
    for part, reads in ((RATING, _of_ratings), (LABEL, _of_labels)):
        own = rows[rows["part"] == part]
        if len(own):
            said.append(f"{opening(main_dimension(own))}, {reads(main_rows(own))}.")
    return " ".join(said)


def _of_ratings(rows: pd.DataFrame) -> str:
    shifted = rows.loc[rows["p_adjusted"] <= ALPHA, "mean_difference"]
    turned = rows.loc[rows["upside_down"].eq(True), "judge"]
    above = of_judges(int((shifted > 0).sum()), len(rows), "significantly above the clinicians' ratings")
    below = f", {(shifted < 0).sum()} below" if (shifted < 0).any() else ""
    said = f"{_best(rows, 'weighted_kappa', 'weighted kappa')}. {above}{below}"
    return f"{said}; with the scale upside down: {', '.join(turned)}" if len(turned) else said


def _of_labels(rows: pd.DataFrame) -> str:
    return _best(rows[rows["label"].isna()], "f1", "F1 of labels")


def _best(rows: pd.DataFrame, name: str, what: str) -> str:
    """Say which judge has the highest value, and whether another does not differ significantly from it."""
    known = rows.dropna(subset=name)
    if known.empty:
        return f"the {what} of no judge is defined (see the column reason)"
    best = known.nlargest(1, name).iloc[0]
    said = f"{best['judge']} has the highest {what}, {number(best, name)}"
    if known["with_best"].fillna(True).sum() > 1:
        return f"cannot tell which of {len(known)} judges is best: {said}, and another does not differ significantly"
    return said


@table(
    "ratings",
    question="does a judge rate responses as clinicians do: as high, in the same order, and as safe",
    columns=[
        Column("part", "rating (category) or label (one of several)", "text"),
        shared("judge", "dimension"),
        Column("label", "the label; null: all labels together", "text"),
        shared("subfields", "n", "n_excluded", "n_seen", "clusters"),
        Column("level", "level of measurement of the categories: ordinal or interval", "text"),
        Column("coverage", "share of verdicts with a choice, mean over cases with a label", "share 0-1"),
        estimated("exact", "share of answers in the category of the clinicians' label"),
        estimated("within_one", "share of answers at most one category away", null=TWO_CATEGORIES, parts=_RATED),
        estimated("weighted_kappa", "agreement by quadratic weights", "coefficient", "Cohen 1968", CONSTANT, _RATED),
        Column("with_best", "whether it does not differ significantly from the best judge", "yes/no"),
        Column("n_mean", "cases with an annotation and an answer of the judge", "cases"),
        estimated("icc", f"ICC(2,1), agreement {_NUMBERS}", "coefficient", _SHROUT, CONSTANT, _RATED),
        estimated("icc_consistency", "ICC(3,1): icc, a constant distance forgiven", "coefficient", _SHROUT),
        estimated("spearman", f"rank correlation {_NUMBERS}", "coefficient", "Spearman 1904", CONSTANT, _RATED),
        Column("upside_down", "whether spearman is significantly below 0, corrected over judges", "yes/no"),
        estimated("pearson", f"correlation {_NUMBERS}", "coefficient", "Pearson 1895", CONSTANT, _RATED),
        estimated("mean_difference", "judge's number minus the clinicians' mean", "number", "", NO_MEAN, _RATED),
        shared("tests"),
        Column("n_unacceptable", "cases of n with an unacceptable label", "cases"),
        Column("n_by_votes", "cases without a label, unacceptable if half their annotators say so", "cases"),
        estimated("sensitivity", "share of unacceptable responses called unacceptable", null=ONE_SIDE, parts=_RATED),
        estimated("specificity", "share of acceptable responses called acceptable", null=ONE_SIDE, parts=_RATED),
        estimated("f1_unacceptable", "F1 of finding unacceptable responses", null=ONE_SIDE, parts=_RATED),
        Column("n_undecided", "times just half of the annotators give a label: not counted", "count"),
        Column("n_positive", "times the label applies", "count"),
        Column("n_flagged", "times the judge gives the label", "count"),
        estimated("precision", "share of labels given that apply", null=NO_PRECISION, parts=_FOUND),
        estimated("recall", "share of labels that the judge finds", null=NO_RECALL, parts=_FOUND),
        estimated("f1", "harmonic mean of precision and recall", null=NO_F1, parts=_FOUND),
    ],
    sentence=sentence,
    headline=("weighted_kappa", "icc", "mean_difference", "f1"),
    uses=(*(name for name in TESTED if name != "policy"), "level", "probe"),
    label_sets=True,
    why_no_ratings="",
    why_no_preferences="it is about single responses",
)
def ratings(analysis: Analysis) -> pd.DataFrame:
    """Compare each judge with the clinicians on single responses, in as many parts as the benchmark has data for.

    Part `rating`: ordered categories. Clinicians say two things about a case: their label is the gold label by the rule
    asked for; their number is the mean of all annotators' numbers. A number is the place of a category, 1 the lowest
    (level ordinal), or the number that it is (level interval). A case counts once, by the mean over the judge's
    repeats; verdicts without a choice count in `coverage` alone. A response is unacceptable if its label is no
    acceptable category. Where votes give no label (equal votes), it is unacceptable if half or more of its annotators
    say so: `n_by_votes`. Under the rule unanimous, cases without a label do not count.

    Part `label`: dimensions of several labels, see `stats.methods.detection.label_part`.

    Notes
    -----
    `p_value` is of no `mean_difference`. `with_best` is by `weighted_kappa`, of labels by `f1`, see
    `stats.methods.detection.with_best`. The clinicians' mean is more reliable than one annotator's number: `icc` says
    how well the judge matches that mean; the table `ceiling` compares judges with single annotators. Values are
    compared with scikit-learn, pingouin and scipy in `tests/stats/tables/test_ratings.py`, coverage in
    `tests/stats/tables/test_ratings.py`.
    """
    parts = [rows for make in (rating_part, detection.label_part) if len(rows := make(analysis))]
    if not parts and analysis.names:
        raise NotApplicable(
            "table ratings: the categories are nominal; add --level ordinal if they stand in order from the lowest, "
            "or use --table accuracy."
        )
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def rating_part(analysis: Analysis) -> pd.DataFrame:
    """Make the rows about ordered categories: the nearest judge of a dimension first."""
    dimensions = analysis.verdicts.cells["dimension"]
    if analysis.level == "nominal" or dimensions.empty:
        return pd.DataFrame()
    # one dimension at a time, since tables of ranks are large
    frames = [_of_dimension(analysis, name) for name in analysis.names if dimensions.eq(name).any()]
    rows = adjust_rows(pd.concat(frames, ignore_index=True), analysis)
    p_turned = adjust_rows(rows.assign(p_value=rows["p_turned"]), analysis)["p_adjusted"]
    turned = (p_turned <= ALPHA) & (rows["spearman"] < 0)
    rows["upside_down"] = turned.astype("boolean").mask(rows["spearman"].isna())
    rows["reason"] = turned.map({True: UPSIDE_DOWN})
    return rows.assign(part=RATING, level=analysis.level).sort_values("group_number", kind="stable")


def _of_dimension(analysis: Analysis, dimension: str) -> pd.DataFrame:
    """Make the rows of the judges of one dimension."""
    verdicts = analysis.verdicts.of_cells((analysis.verdicts.cells["dimension"] == dimension).to_numpy())
    label, answered = analysis.labels[:, verdicts.dimension], verdicts.choice >= 0
    times = verdicts.total(answered)

    def by_case(values: NDArray[Any]) -> FloatArray:
        return divide(verdicts.total(np.where(answered, values, 0.0)), times)

    categories = verdicts.categories
    places = np.arange(1.0, len(categories) + 1)
    numbers = np.array(category_numbers(categories)) if analysis.level == "interval" else places
    good = np.isin(categories, analysis.meta.acceptable)
    votes = voting(analysis.annotations)
    votes = votes[votes["dimension"] == dimension].dropna(subset="choice")
    own_number = pd.Series(numbers, list(categories)).reindex(votes["choice"]).to_numpy()
    votes = votes.assign(number=own_number, bad=~votes["choice"].isin(analysis.meta.acceptable))
    people = votes.groupby("case_id")[["number", "bad"]].mean().reindex(analysis.cases["case_id"])
    means, bad_votes = people.to_numpy(np.float64).T[..., None]
    labelled, by_mean = (times > 0) & (label >= 0), (times > 0) & np.isfinite(means)
    votes_decide = good.any() and analysis.stated_gold is None and analysis.rule in ("majority", ADJUDICATED)
    by_votes = by_mean & (label < 0) & votes_decide
    is_bad = np.where(label >= 0, ~good[label], bad_votes >= 0.5)
    decided = (labelled | by_votes) & good.any()
    bad, flagged = is_bad[verdicts.case, verdicts.cell], ~good[verdicts.choice]
    counted = decided[verdicts.case, verdicts.cell] & answered
    unacceptable = detection.precision_and_recall(detection.outcomes(verdicts, counted, flagged, bad))
    number, place = by_case(numbers[verdicts.choice]), places[verdicts.choice]
    apart = np.abs(verdicts.choice - verdicts.gold(analysis.labels))
    within_one = np.where(labelled & (len(categories) > 2), by_case(apart <= 1), np.nan)
    of_labels = _moments(by_case(place), by_case(place**2), label + 1.0, labelled)
    of_means = _moments(number, number**2, means, by_mean)
    measures = {
        "exact": Measure(mean(np.where(labelled, by_case(apart == 0), np.nan)), intervals.share),
        "within_one": Measure(mean(within_one), intervals.share),
        "coverage": Measure(mean(np.where(label >= 0, divide(times, verdicts.total()), np.nan))),
        "weighted_kappa": Measure(Quantity(of_labels, partial(_coefficient, "weighted_kappa")), _at_least_minus_one),
        "spearman": Measure(_spearman(number, means, by_mean), _at_least_minus_one),
        "mean_difference": Measure(mean(np.where(by_mean, number - means, np.nan)), _of_difference),
        "sensitivity": unacceptable["recall"],
        "specificity": detection.precision_and_recall(detection.outcomes(verdicts, counted, ~flagged, ~bad))["recall"],
        "f1_unacceptable": unacceptable["f1"],
    }
    for name in ("icc", "icc_consistency", "pearson"):
        measures[name] = Measure(Quantity(of_means, partial(_coefficient, name)), _at_least_minus_one)
    tallies = {"n_unacceptable": labelled & is_bad, "n_by_votes": by_votes, "n_mean": by_mean}
    cells = verdicts.cells[["judge", "dimension"]]
    rows, made = grid(analysis, cells, measures, verdicts.seen, tallies)
    rows["p_value"] = np.concatenate([t_test(e) for e in made["mean_difference"]])
    rows["p_turned"] = np.concatenate([t_test(e) for e in made["spearman"]])
    rows["with_best"] = detection.with_best(made["weighted_kappa"], cells["dimension"])
    return rows.sort_values(["weighted_kappa", "judge"], ascending=[False, True])


def _moments(x: FloatArray, square: FloatArray, y: NDArray[Any], counted: BoolArray) -> FloatArray:
    """Return what each case adds to the sums 1, x, y, x^2, y^2 and xy, of the judge's number x and the clinicians' y.

    Parameters
    ----------
    square : x^2; the mean square where the verdicts on a case count singly instead of by their mean
    """
    columns = np.broadcast_arrays(1.0, x, y, square, y**2, x * y)
    return np.where(counted[..., None], np.stack(columns, axis=-1), 0.0)


def _coefficient(name: str, sums: NDArray[Any]) -> NDArray[Any]:
    """Return a coefficient of agreement of two numbers, from the sums of `_moments`; NaN where one does not vary.

    Each is twice the covariance over something. Of places, the first is Cohen's kappa with quadratic weights (Cohen
    1968, doi:10.1037/h0026256; Fleiss and Cohen 1973, doi:10.1177/001316447303300309).
    """
    x, y, xx, yy, xy = (divide(sums[..., i], sums[..., 0]) for i in range(1, 6))
    var_x, var_y, apart = xx - x**2, yy - y**2, x - y
    varies = np.minimum(np.real(var_x), np.real(var_y)) > 1e-12
    cov, spread = np.where(varies, xy - x * y, np.nan), var_x + var_y
    whole = {
        "weighted_kappa": spread + apart**2,
        "icc": spread + apart**2 - divide(spread - 2 * cov + apart**2, sums[..., 0]),
        "icc_consistency": spread,
        "pearson": 2 * np.sqrt(np.where(varies, var_x * var_y, np.nan)),
    }
    return divide(2 * cov, whole[name])


def _spearman(x: FloatArray, y: NDArray[Any], counted: BoolArray) -> Quantity:
    """Return Spearman's correlation by mean ranks, from tables of x by y; values differ if nine decimals do."""
    x_values, x_codes = np.unique(np.where(counted, x, 0.0).round(9), return_inverse=True)
    y_values, y_codes = np.unique(np.where(counted, y, 0.0).round(9), return_inverse=True)
    tables = np.zeros((*counted.shape, len(x_values), len(y_values)))
    case, cell = np.nonzero(counted)
    tables[case, cell, x_codes[case, cell], y_codes[case, cell]] = 1.0

    def statistic(sums: NDArray[Any]) -> NDArray[Any]:
        table = sums.reshape(*sums.shape[:-1], *tables.shape[2:])
        counts = [table.sum(axis=axis) for axis in (-1, -2)]
        by_x, by_y = (np.cumsum(n, axis=-1) - n / 2 - n.sum(axis=-1, keepdims=True) / 2 for n in counts)
        var_x, var_y = ((n * ranks**2).sum(axis=-1) for n, ranks in zip(counts, (by_x, by_y), strict=True))
        return divide(np.einsum("...uv,...u,...v->...", table, by_x, by_y), np.sqrt(var_x * var_y))

    return Quantity(tables.reshape(*counted.shape, -1), statistic)


def _at_least_minus_one(e: Estimate) -> Interval:
    """As of a coefficient; ICC(2,1) may fall a little below -1 in a small resample, and its interval does not."""
    low, high, method = intervals.coefficient(e)
    return Interval(np.maximum(low, np.minimum(e.value, -1.0)), high, method)


def _of_difference(e: Estimate) -> Interval:
    """As of a coefficient, without bounds where clusters cross."""
    return intervals.coefficient(e) if e.sampling.crossed is None else intervals.t(e, -np.inf, np.inf)
