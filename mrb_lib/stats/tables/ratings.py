"""Does a judge rate single responses as clinicians do: their category, their labels, their steps, and its reasons?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.votes import voting
from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import ADJUDICATED, Analysis
from mrb_lib.stats.clusters import MOST_OF_ONE
from mrb_lib.stats.columns import TESTED, Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, t_test
from mrb_lib.stats.detection import LABEL, MACRO, counted_rows, f1, interval_of_f1, label_part, with_undefined
from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, Quantity, divide, mean
from mrb_lib.stats.first_errors import STEP, step_part
from mrb_lib.stats.grid import Measure
from mrb_lib.stats.intervals import Interval
from mrb_lib.stats.leaders import best_of, with_best
from mrb_lib.stats.marked_reasons import ANNOTATORS, RATIONALE, has_reasons, rationale_part
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.options import join_reasons
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, percent
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import category_numbers

RATING: Final = "rating"
NO_CASES = "no case has both a label and an answer"
NO_MEAN = "no case has both an annotation and an answer"
NO_ACCEPTABLE = "benchmark.toml names no acceptable categories"
TWO_CATEGORIES = "within_one is undefined: of two categories any is within one of the other"
CONSTANT = "undefined: the judge or the clinicians use one category only"
UPSIDE_DOWN = "uses the scale upside down: spearman is significantly below 0"
ALIKE = "the cases that it rests on do not differ, or are in one cluster"
COEFFICIENTS: Final = ("weighted_kappa", "icc", "icc_consistency", "spearman", "pearson")
_VARIES: Final = 1e-12
_UNDEFINED: Final = {
    "sensitivity": "sensitivity is undefined: no label is unacceptable",
    "specificity": "specificity is undefined: no label is acceptable",
    "f1_unacceptable": "f1_unacceptable is undefined: neither the judge nor the clinicians call any unacceptable",
}
_SHROUT: Final = "Shrout and Fleiss 1979"
_PROCESS: Final = "Zheng et al. 2024, arXiv 2412.06559"
_NUMBERS: Final = "with the mean of the clinicians' numbers"


def sentence(rows: pd.DataFrame) -> str:
    """Say for each part which judge is best, if a corrected test shows it, and who uses the scale upside down."""
    said = []
    for part, reads in ((RATING, _of_ratings), (LABEL, _of_labels), (STEP, _of_steps), (RATIONALE, _of_reasons)):
        own = rows[rows["part"] == part]
        if len(own):
            said.append(f"{opening(main_dimension(own))}, {reads(main_rows(own))}.")
    return " ".join(said)


def _of_ratings(rows: pd.DataFrame) -> str:
    if rows["weighted_kappa"].isna().all():
        return "no judge's agreement with the clinicians' ratings is known"
    said = best_of(rows, "weighted_kappa", "agrees most closely with the clinicians", "weighted kappa")
    shifted = rows[rows["p_adjusted"] <= ALPHA]
    higher, lower = (shifted["mean_difference"] > 0).sum(), (shifted["mean_difference"] < 0).sum()
    rate = "rates" if higher == 1 else "rate"
    said += f". {higher} of {len(rows)} judges {rate} significantly higher than clinicians, {lower} lower"
    turned = [str(name) for name in rows.loc[rows["upside_down"].fillna(False).astype(bool), "judge"]]
    if turned:
        said += f"; {' and '.join(turned)} {'uses' if len(turned) == 1 else 'use'} the scale upside down"
    return said


def _of_labels(rows: pd.DataFrame) -> str:
    own = rows[rows["average"] == MACRO]
    if own["f1"].isna().all():
        return "no macro F1 of labels is defined (see the column reason)"
    return best_of(own, "f1", "finds the labels best", "macro F1")


def _of_steps(rows: pd.DataFrame) -> str:
    if rows["f1"].isna().all():
        return "no F1 of erroneous steps is defined (see the column reason)"
    best = rows.nlargest(1, "f1").iloc[0]
    return (
        f"{best_of(rows, 'f1', 'finds erroneous steps best', 'F1')}. {best['judge']} finds the first error, or that "
        f"there is none, in {percent(best, 'first_error_accuracy')} of {int(best['n_items']):,} responses"
    )


def _of_reasons(rows: pd.DataFrame) -> str:
    known = rows.dropna(subset="right_for_wrong_reason")
    if known.empty:
        return "nothing is known yet of the reasons for right verdicts"
    known = known[known["marker"] == (ANNOTATORS if known["marker"].eq(ANNOTATORS).any() else known["marker"].iloc[0])]
    worst = known.sort_values(["right_for_wrong_reason", "judge"], ascending=[False, True]).iloc[0]
    marker = "the annotators" if worst["marker"] == ANNOTATORS else worst["marker"]
    more = f", the highest share of {len(known)} judges; whether they differ is not tested" if len(known) > 1 else ""
    return (
        f"{percent(worst, 'right_for_wrong_reason')} of {int(worst['n_right_verdicts']):,} right verdicts of "
        f"{worst['judge']} rest on a reason that {marker} marked wrong or irrelevant{more}"
    )


@table(
    "ratings",
    question="does a judge rate responses as clinicians do: as high, in the same order, and as safe",
    columns=[
        Column("part", "rating (category), label (one of several), step, or rationale (reason)", "text"),
        shared("judge", "dimension"),
        Column("label", "the label; null in rows that average over labels", "text"),
        Column("average", "micro: all decisions on labels together; macro: mean over labels", "text"),
        Column("marker", "who marked the reasons: annotators, or a second judge", "text"),
        shared("subfields"),
        Column("level", "level of measurement at which the categories are read", "text"),
        Column("erroneous", "categories of a step that count as erroneous", "text"),
        shared("n", "n_excluded", "n_seen", "clusters"),
        Column("coverage", "share of verdicts with a choice, mean over cases with a label", "share 0-1"),
        estimated("exact", "share of answers in the category of the clinicians' label"),
        estimated("within_one", "share of answers in that category or one next to it"),
        estimated(
            "weighted_kappa",
            "agreement with the label beyond chance, quadratic weights",
            "coefficient",
            "Cohen 1968, doi:10.1037/h0026256",
        ),
        Column("with_best", "whether it does not differ significantly from the best judge", "yes/no"),
        Column("n_mean", "cases with an annotation and an answer of the judge", "cases"),
        estimated("icc", f"ICC(2,1), absolute agreement {_NUMBERS}", "coefficient", _SHROUT),
        estimated("icc_consistency", "ICC(3,1): icc with a constant distance forgiven", "coefficient", _SHROUT),
        estimated("spearman", f"rank correlation {_NUMBERS}", "coefficient", "Spearman 1904"),
        Column("upside_down", "whether spearman is significantly below 0, corrected over judges", "yes/no"),
        estimated("pearson", f"correlation {_NUMBERS}", "coefficient", "Pearson 1895"),
        estimated("mean_difference", "judge's number minus the clinicians' mean, mean over cases", "number"),
        shared("tests"),
        Column("n_unacceptable", "cases of n with an unacceptable label", "cases"),
        Column("n_by_votes", "cases without a label, unacceptable if half their annotators say so", "cases"),
        estimated("sensitivity", "share of unacceptable responses that the judge calls unacceptable"),
        estimated("specificity", "share of acceptable responses that the judge calls acceptable"),
        estimated("f1_unacceptable", "harmonic mean of precision and sensitivity for unacceptable responses"),
        Column("n_labels", "labels that the row is of", "count"),
        Column("n_undecided", "times just half of the annotators give a label: not counted", "count"),
        Column("n_positive", "times the label applies; steps that annotators call erroneous", "count"),
        Column("n_flagged", "times the judge gives the label; steps it calls erroneous", "count"),
        estimated("precision", "share of labels, or errors, given by the judge that apply"),
        estimated("recall", "share of labels, or errors, that the judge finds"),
        estimated("f1", "harmonic mean of precision and recall"),
        estimated("step_accuracy", "share of steps that judge and annotators both call erroneous, or neither"),
        Column("n_items", "responses with labels and verdicts up to the first error", "count"),
        Column("n_error_items", "responses among n_items with an error", "count"),
        estimated(
            "first_error_accuracy", "share of responses whose first error, or absence, the judge finds", source=_PROCESS
        ),
        estimated("error_item_accuracy", "first_error_accuracy of responses with an error", source=_PROCESS),
        estimated("clean_item_accuracy", "first_error_accuracy of responses without an error", source=_PROCESS),
        estimated("first_error_f1", "harmonic mean of error_item_accuracy and clean_item_accuracy", source=_PROCESS),
        estimated("first_error_distance", "steps between the first errors of judge and annotators", "number"),
        Column("n_reasons", "reasons that the judge gave, marked or not", "count"),
        Column("n_unscored", "marked reasons for a verdict without a choice or label", "count"),
        estimated("share_right", "share of the marked reasons that are right"),
        estimated("share_wrong", "share of the marked reasons that are wrong"),
        estimated("share_irrelevant", "share of the marked reasons that are irrelevant"),
        Column("n_right_verdicts", "marked reasons for a verdict that is the annotators' label", "count"),
        estimated("right_for_wrong_reason", "share of right verdicts whose reason is wrong or irrelevant"),
        Column("n_wrong_verdicts", "marked reasons for a verdict that is not their label", "count"),
        estimated("wrong_for_right_reason", "share of wrong verdicts whose reason is right"),
        estimated("reason_gap", "share of right reasons among right minus wrong verdicts", "difference"),
        Column("n_both", "reasons that the second judge and the annotators marked", "count"),
        estimated(
            "cohen_kappa",
            "agreement of the second judge's marks with the annotators'",
            "coefficient",
            "Cohen 1960, doi:10.1177/001316446002000104",
        ),
    ],
    sentence=sentence,
    headline=(
        *("weighted_kappa", "icc", "mean_difference", "spearman", "f1", "precision", "recall", "first_error_accuracy"),
        *("right_for_wrong_reason", "share_right", "cohen_kappa"),
    ),
    uses=(*(name for name in TESTED if name != "policy"), "level", "probe"),
    needs_verdicts=False,
    label_sets=True,
    why_no_ratings="",
    why_no_preferences="it is about single responses (`mrb export steps` and `mrb export rationales` make some)",
)
def ratings(analysis: Analysis) -> pd.DataFrame:
    """Compare each judge with the clinicians on single responses, in as many parts as the benchmark has data for.

    Part `rating`: ordered categories. Clinicians say two things about a case: their label is the gold label by the rule
    asked for; their number is the mean of all annotators' numbers. A number is the place of a category, 1 the lowest
    (level ordinal), or the number that it is (level interval). A case counts once, by the mean over the judge's
    repeats; verdicts without a choice count in `coverage` alone. A response is unacceptable if its label is no
    acceptable category. Where votes give no label (equal votes), it is unacceptable if half or more of its annotators
    say so: `n_by_votes`. Under the rule unanimous, cases without a label do not count.

    Part `label`: dimensions of several labels, see `mrb_lib.stats.detection.label_part`. Part `step`: cases that are
    steps of a response, see `mrb_lib.stats.first_errors.step_part`. Part `rationale`: cases that are reasons of judges,
    see `mrb_lib.stats.marked_reasons.rationale_part`.

    Notes
    -----
    `p_value` is of no `mean_difference`. `with_best` is by `weighted_kappa`, of labels by macro F1 and of steps by F1,
    see `mrb_lib.stats.leaders.with_best`. The clinicians' mean is more reliable than one annotator's number: `icc` says
    how well the judge matches that mean; the table `ceiling` compares judges with single annotators. Values are
    compared with scikit-learn, pingouin and scipy in `tests/stats/tables/test_ratings.py`, coverage in
    `tests/simulation/test_ratings.py`.
    """
    reasons_only = has_reasons(analysis)
    if not reasons_only and (analysis.panel is None or not analysis.probes):
        raise InputError(
            "table ratings: needs verdicts and there are none; name a folder of runs, or make one with "
            "`mrb judge BENCH RUNS --judge NAME`."
        )
    parts = [label_part(analysis), step_part(analysis), rationale_part(analysis)]
    if analysis.level != "nominal" and len(analysis.verdicts.cells):
        parts = [rating_part(analysis), *parts]
    elif not any(len(part) for part in parts) and analysis.names:
        raise InputError(
            "table ratings: the categories are nominal, so that no distance between them is known; add --level ordinal "
            "if they stand in order from the lowest, or use --table accuracy."
        )
    rows = (
        pd.concat([part for part in parts if len(part)], ignore_index=True) if any(map(len, parts)) else pd.DataFrame()
    )
    if rows.empty:
        return rows.assign(part=[], dimension=[])
    usable = (rows["n_clusters"] >= 2) & (rows["largest"] <= MOST_OF_ONE) & (analysis.resamples > 0)
    lacks = rows["lacks"] if "lacks" in rows else pd.Series(None, rows.index, dtype=object)
    rows["lacks"] = lacks.where(lacks.notna(), ALIKE).where(usable, None)
    return rows


def rating_part(analysis: Analysis) -> pd.DataFrame:
    """Make the rows about ordered categories: the nearest judge of a dimension first."""
    dimensions = analysis.verdicts.cells.groupby("dimension", sort=False).indices
    frames = [_of_cells(analysis, np.asarray(dimensions[name])) for name in analysis.names if name in dimensions]
    group = ["by", "subfield", "dimension"] if analysis.family == "dimension" else []
    rows = pd.concat(frames, ignore_index=True)
    numbers = rows.groupby(group, dropna=False).ngroup() if group else pd.Series(0, rows.index)
    family = np.asarray(numbers, dtype=np.int64)
    for p in ("p_value", "p_upside_down"):
        adjusted, size = adjust_families(rows[p].to_numpy(np.float64), family, analysis.correction or "holm")
        rows[p.replace("value", "adjusted")] = adjusted
        rows["family"] = size
    known = rows["spearman"].notna()
    turned = (rows["p_upside_down"] <= ALPHA) & (rows["spearman"] < 0)
    rows["upside_down"] = turned.astype("boolean").mask(~known)
    k, has_acceptable = len(analysis.verdicts.categories), bool(analysis.acceptable)
    rows["reason"] = [_reason(row, k, has_acceptable) for row in rows.to_dict("records")]
    rows["reason"] = with_undefined(rows, _UNDEFINED if has_acceptable else {})
    rows["place"] = rows["dimension"].map({name: i for i, name in enumerate(analysis.names)})
    order = rows.sort_values(
        ["group", "place", "weighted_kappa", "judge"], ascending=[True, True, False, True], kind="stable"
    )
    return order.assign(part=RATING, level=analysis.level)


def _of_cells(analysis: Analysis, cells: NDArray[np.int64]) -> pd.DataFrame:
    """Make the rows of some cells, the judges of one dimension, since tables of ranks are large."""
    verdicts = analysis.verdicts.of_cells(np.isin(np.arange(len(analysis.verdicts.cells)), cells))
    k, label = len(verdicts.categories), analysis.labels[:, verdicts.dimension]
    votes = np.stack([verdicts.total(verdicts.choice == code) for code in range(k)], axis=2)
    share = divide(votes, votes.sum(axis=2, keepdims=True))  # cases, cells, categories
    places = np.arange(1.0, k + 1, dtype=np.float64)
    numbers = np.array(category_numbers(verdicts.categories)) if analysis.level == "interval" else places
    answered = np.isfinite(share[..., 0])
    labelled = answered & (label >= 0)
    annotated = _annotations(analysis, verdicts.categories)[:, verdicts.dimension]
    means = np.asarray(divide(annotated @ numbers, annotated.sum(axis=2)), dtype=np.float64)
    by_mean = answered & np.isfinite(means)
    good = np.isin(np.array(verdicts.categories, dtype=object), list(analysis.acceptable))
    unacceptable = np.where(label >= 0, ~good[label], np.nan)
    by_votes = answered & (label < 0) & (annotated.sum(axis=2) > 0) & _votes_decide(analysis) & good.any()
    unacceptable[by_votes] = (divide(annotated[..., ~good].sum(axis=2), annotated.sum(axis=2)) >= 0.5)[by_votes]
    flagged = np.where(answered, share[..., ~good].sum(axis=2), np.nan)
    bad, found = (np.nan_to_num(each) for each in (unacceptable * answered, flagged * unacceptable))
    alarms = np.nan_to_num(flagged * np.isfinite(unacceptable))
    near = np.abs(np.arange(k) - label[..., None]) <= 1
    exact = np.take_along_axis(np.nan_to_num(share), np.maximum(label, 0)[..., None], axis=2)[..., 0]
    x = np.asarray(share @ numbers, dtype=np.float64)
    kappa = Quantity(
        _moments(np.asarray(share @ places), np.asarray(label + 1.0), labelled, np.asarray(share @ places**2)),
        _concordance,
    )
    of_means = _moments(x, means, by_mean)
    measures = {
        "exact": Measure(mean(np.where(labelled, exact, np.nan)), intervals.share),
        "coverage": Measure(mean(np.where(label >= 0, divide(votes.sum(axis=2), verdicts.total()), np.nan))),
        "weighted_kappa": Measure(kappa, _at_least_minus_one),
        "icc": Measure(Quantity(of_means, _icc_agreement), _at_least_minus_one),
        "icc_consistency": Measure(Quantity(of_means, _icc_consistency), _at_least_minus_one),
        "spearman": Measure(Quantity(*_spearman(x, means, by_mean)), _at_least_minus_one),
        "pearson": Measure(Quantity(of_means, _pearson), _at_least_minus_one),
        "mean_difference": Measure(mean(np.where(by_mean, x - means, np.nan)), _of_difference),
    }
    if k > 2:
        within = np.where(near, np.nan_to_num(share), 0.0).sum(axis=2)
        measures["within_one"] = Measure(mean(np.where(labelled, within, np.nan)), intervals.share)
    if good.any():
        overlap = Quantity(np.stack([found, bad + alarms - found], axis=2), f1, bad + alarms - found)
        measures |= {
            "sensitivity": Measure(mean(np.where(unacceptable == 1, flagged, np.nan)), intervals.share),
            "specificity": Measure(mean(np.where(unacceptable == 0, 1 - flagged, np.nan)), intervals.share),
            "f1_unacceptable": Measure(overlap, interval_of_f1),
        }
    tallies = {"n_unacceptable": labelled & (unacceptable == 1), "n_by_votes": by_votes}
    names = verdicts.cells[["judge", "dimension"]]
    rows, made = counted_rows(analysis, names, measures, verdicts.seen, tallies)
    rows["n_mean"] = np.concatenate([e.n for e in made["icc"]])
    rows["p_value"] = np.concatenate([t_test(e) for e in made["mean_difference"]])
    rows["p_upside_down"] = np.concatenate([t_test(e) for e in made["spearman"]])
    rows["with_best"] = with_best(analysis, kappa, [np.arange(len(names))])
    return rows


def _annotations(analysis: Analysis, categories: tuple[str, ...]) -> FloatArray:
    """Count the annotators who gave each category, shape (cases, dimensions, categories)."""
    rows = voting(analysis.annotations)
    rows = rows[rows["dimension"].isin(analysis.names) & rows["choice"].notna()]
    out = np.zeros((len(analysis.cases), len(analysis.names), len(categories)))
    axes = (
        (rows["case_id"], analysis.cases["case_id"]),
        (rows["dimension"], analysis.names),
        (rows["choice"], categories),
    )
    np.add.at(out, tuple(pd.Index(known).get_indexer(pd.Index(values)) for values, known in axes), 1.0)
    return out


def _votes_decide(analysis: Analysis) -> bool:
    """Tell whether votes decide what is unacceptable where the gold rule leaves a case without a label."""
    return analysis.stated_gold is None and analysis.rule in ("majority", ADJUDICATED)


def _moments(x: FloatArray, y: FloatArray, counted: BoolArray, square: FloatArray | None = None) -> FloatArray:
    """Return what each case adds to the sums 1, x, y, x^2, y^2 and xy, of the judge's number x and the clinicians' y.

    Parameters
    ----------
    square : the mean of x^2 of a case, where its verdicts count singly instead of by their mean
    """
    columns = (np.ones_like(x), x, y, x**2 if square is None else square, y**2, x * y)
    return np.where(counted[..., None], np.stack(columns, axis=-1), 0.0)


def _central(sums: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """n, mean difference, variances of x and y, and covariance (NaN where one of them does not vary)."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    mean_x, mean_y = divide(x, n), divide(y, n)
    var_x, var_y = divide(xx, n) - mean_x**2, divide(yy, n) - mean_y**2
    varies = (np.real(var_x) > _VARIES) & (np.real(var_y) > _VARIES)
    return n, mean_x - mean_y, var_x, var_y, np.where(varies, divide(xy, n) - mean_x * mean_y, np.nan)


def _concordance(sums: NDArray[Any]) -> NDArray[Any]:
    """Cohen's kappa with quadratic weights (Fleiss and Cohen 1973, doi:10.1177/001316447303300309)."""
    _, apart, var_x, var_y, cov = _central(sums)
    return divide(2 * cov, var_x + var_y + apart**2)


def _icc_agreement(sums: NDArray[Any]) -> NDArray[Any]:
    n, apart, var_x, var_y, cov = _central(sums)
    rest = divide(var_x + var_y - 2 * cov + apart**2, n)
    return divide(2 * cov, var_x + var_y + apart**2 - rest)


def _icc_consistency(sums: NDArray[Any]) -> NDArray[Any]:
    _, _, var_x, var_y, cov = _central(sums)
    return divide(2 * cov, var_x + var_y)


def _pearson(sums: NDArray[Any]) -> NDArray[Any]:
    _, _, var_x, var_y, cov = _central(sums)
    return divide(cov, np.sqrt(np.where(np.isnan(cov), np.nan, var_x * var_y)))


def _spearman(x: FloatArray, y: FloatArray, counted: BoolArray) -> tuple[FloatArray, Callable[..., NDArray[Any]]]:
    """Tables of x by y, and Spearman's correlation by mean ranks; values differ if nine decimals do."""
    codes = []
    for values in (x, y):
        code = np.zeros(values.shape, dtype=np.int64)
        code[counted] = np.unique(values[counted].round(9), return_inverse=True)[1].reshape(-1)
        codes.append(code)
    shape = (int(codes[0].max(initial=0)) + 1, int(codes[1].max(initial=0)) + 1)
    adds = np.zeros((*x.shape, shape[0] * shape[1]))
    np.put_along_axis(adds, (codes[0] * shape[1] + codes[1])[..., None], counted[..., None] * 1.0, axis=2)

    def statistic(sums: NDArray[Any]) -> NDArray[Any]:
        tables = sums.reshape(*sums.shape[:-1], *shape)
        ranks = []
        for axis in (-1, -2):
            count = tables.sum(axis=axis)
            ranks.append(np.cumsum(count, axis=-1) - count / 2 - count.sum(axis=-1, keepdims=True) / 2)
        by_x, by_y = ranks
        var_x, var_y = (tables.sum(axis=-1) * by_x**2).sum(axis=-1), (tables.sum(axis=-2) * by_y**2).sum(axis=-1)
        cov = np.einsum("...uv,...u,...v->...", tables, by_x, by_y)
        varies = (np.real(var_x) > _VARIES) & (np.real(var_y) > _VARIES)
        return divide(cov, np.sqrt(np.where(varies, var_x * var_y, np.nan)))

    return adds, statistic


def _at_least_minus_one(e: Estimate) -> Interval:
    """As of a coefficient; ICC(2,1) may fall a little below -1 in a small resample, and its interval does not."""
    low, high, method = intervals.coefficient(e)
    return Interval(np.maximum(low, np.minimum(e.value, -1.0)), high, method)


def _of_difference(e: Estimate) -> Interval:
    """As of a coefficient, without bounds where clusters cross."""
    return intervals.coefficient(e) if e.sampling.crossed is None else intervals.t(e, -np.inf, np.inf)


def _reason(row: Mapping[Any, Any], k: int, has_acceptable: bool) -> str | None:
    """Why values of a row are null, and whether its scale is upside down."""
    some = bool(row["n"])
    constant = [name for name in COEFFICIENTS if np.isnan(row[name])]
    return join_reasons(
        "" if some else NO_CASES,
        "" if row["n_mean"] else NO_MEAN,
        f"{', '.join(constant)} {CONSTANT}" if constant and some and row["n_mean"] else "",
        TWO_CATEGORIES if some and k < 3 else "",
        "" if has_acceptable else NO_ACCEPTABLE,
        UPSIDE_DOWN if row["upside_down"] is True else "",
    )


def crossed(analysis: Analysis) -> pd.DataFrame:
    """Return the shares of a judge's categories by the clinicians' label; a case counts once, repeats share it.

    Returns
    -------
    DataFrame
        `judge, dimension, label, choice, n` (cases with the label that the judge answered) and `share` of `choice`
        among its answers; null where n is 0. Rows in the order of the categories.
    """
    verdicts, categories = analysis.verdicts, analysis.verdicts.categories
    votes = np.stack([verdicts.total(verdicts.choice == code) for code in range(len(categories))], axis=2)
    share = divide(votes, votes.sum(axis=2, keepdims=True))
    rows = []
    for cell, (judge, dimension) in enumerate(verdicts.cells[["judge", "dimension"]].itertuples(index=False)):
        for code, label in enumerate(categories):
            here = share[(analysis.labels[:, verdicts.dimension[cell]] == code) & np.isfinite(share[:, cell, 0]), cell]
            mean_share = here.mean(axis=0) if len(here) else np.full(len(categories), np.nan)
            pairs = zip(categories, mean_share.tolist(), strict=True)
            rows += [(judge, dimension, label, choice, len(here), value) for choice, value in pairs]
    return pd.DataFrame(rows, columns=["judge", "dimension", "label", "choice", "n", "share"])
