"""Compare annotators and judges with the label of the other annotators, and test if a judge could replace one."""

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.annotators import Annotations, encode_annotations, leave_one_out
from mrb_lib.stats.coefficients import scaled
from mrb_lib.stats.columns import SCORED, Column, Option, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, t_test
from mrb_lib.stats.estimation import Estimate, Quantity, average, divide, estimate, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.multiplicity import adjust, adjust_rows
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.phrases import human_level, interval, main_dimension, main_rows, opening, points
from mrb_lib.stats.scoring import BINARY, BOTH_ORDERS, read_by, score
from mrb_lib.stats.verdicts import TIE, Verdicts
from mrb_lib.tables.schema import CHOICES

ANNOTATOR, MEAN, IS_JUDGE = "annotator", "mean", "judge"
ALT_TEST, AGAINST = "alt_test", "alt_test_annotator"
BELOW, UNCLEAR, ABOVE = "below", "cannot tell", "above"
LEAST_CASES: Final = 30
ENOUGH_UNITS: Final = 100
EPSILON: Final = 0.2
PASSES_FROM: Final = 0.5
FEW_CASES = f"no verdict: fewer than {LEAST_CASES} cases"
UNDER_HALF = "no verdict: under half of the cases are scored"
FEW_ANNOTATORS = "fewer than three annotators: the others have no majority"
NO_MAJORITY = "the other annotators have a majority on none of the cases"
TWO_ANNOTATORS = "two annotators: each is compared with one other, not with a group; three are asked for to pass"
NOBODY_ELSE = "no case has a verdict and two annotators"
FEW_SHARED = f"fewer than {LEAST_CASES} independent cases shared with the judge and other annotators"
NOT_ALL_TESTED = f"some annotators are not tested: {FEW_SHARED}"
NONE_TESTED = f"no annotator is tested: {FEW_SHARED}"
NO_INTERVAL = "each annotator has no interval of its own"
FEW_UNITS = f"fewer than {ENOUGH_UNITS} independent cases: the t-test may beat annotators too readily"
_ALT = "Calderon et al. 2025, arXiv 2501.10970"
_EQUAL = 1e-9


def reach(rows: pd.DataFrame) -> str:
    """Say how well one annotator predicts the others, and how many judges differ significantly from that."""
    where, human = opening(main_dimension(rows)), main_rows(rows, part=ANNOTATOR, annotator=MEAN)
    human = human.dropna(subset="accuracy")
    if human.empty:
        return f"{where}, how well one annotator predicts the others is not known: that needs three annotators."
    level = human.iloc[0]
    said = f"{where}, an average annotator has an accuracy of {level['accuracy']:.0%}"
    said += f"{interval(level['low'], level['high'])} against the majority of the others."
    known = main_rows(rows, part=IS_JUDGE).dropna(subset="verdict").sort_values("difference", ascending=False)
    if not level["representative"]:
        said += " That is of too few cases to compare judges with."
    elif len(known) == 1:
        row = known.iloc[0]
        word = "; cannot tell whether they differ" if row["verdict"] == UNCLEAR else ", a significant difference"
        said += f" The only judge, {_away(row)}{word}."
    elif n := len(known):
        below, unclear, above = (int(known["verdict"].eq(each).sum()) for each in (BELOW, UNCLEAR, ABOVE))
        who = f"All {n} judges" if below == n else f"Of {n} judges, {below or 'none'}"
        said += f" {who} are significantly below an average annotator" + f" and {above} above" * (above > 0)
        said += f"; for {unclear} we cannot tell" * (unclear > 0)
        said += f". The {'closest' if below == n else 'best'}, {_away(known.iloc[0])}."
    return f"{said} {human_level('ceiling')}"


def _away(row: pd.Series) -> str:
    """Say how far a judge is from an average annotator: "j is 9 points below [-11, -8]"."""
    value, ends = points(row, "difference").split(" points")
    return f"{row['judge']}, is {value.lstrip('+-')} points {'below' if value[0] == '-' else 'above'}{ends}"


@table(
    "ceiling",
    question="how well does one annotator predict the others, and could a judge stand in for one",
    columns=[
        shared("dimension"),
        Column("part", "annotator, judge, alt_test or alt_test_annotator (against one)", "text"),
        shared("judge"),
        Column("annotator", "name of the annotator; mean: their unweighted mean", "text"),
        shared("subfields", "policy", "n", "n_excluded", "clusters"),
        Column("accuracy", "mean score against the majority of the other annotators", "share 0-1", "", ("low", "high")),
        estimated("difference", "judge's accuracy minus an average annotator's on the same cases", "difference"),
        Column("verdict", "below or above the annotators (adjusted, at .05), or cannot tell", "text"),
        Column("representative", "whether the cases are 30 or more, and at least half", "yes/no"),
        Column("winning_rate", "share of the tested annotators that the judge beats, omega", "share 0-1", _ALT),
        estimated("advantage_probability", "probability of being at least as near to the others, rho", source=_ALT),
        Column("annotator_probability", "the same probability for the annotator", "share 0-1", _ALT),
        Column("epsilon", "what a person's time is worth, as a difference of probabilities", "difference", _ALT),
        Column("passes", "whether the judge beats half of the annotators, or this one", "yes/no", _ALT),
        Column("least_epsilon", "smallest hundredth from which on the judge passes", "difference", _ALT),
        Column("p_value", "judge: no difference; alt_test: worse than the annotator by epsilon", "p 0-1", _ALT),
        Column("p_adjusted", "p_value corrected over all judges; alt_test: over a judge's annotators", "p 0-1"),
        shared("correction"),
        Column("n_annotators", "annotators tested", "count"),
    ],
    sentence=reach,
    uses=(*(name for name in SCORED if name != "gold"), "level", "correction", "family", "probe"),
    headline=("accuracy", "difference", "verdict", "passes"),
    needs_verdicts=False,
    why_no_ratings="",
    options={"epsilon": Option("the cost-benefit penalty of the alternative annotator test", least=0, below=1)},
)
def ceiling(analysis: Analysis, *, epsilon: float = EPSILON) -> pd.DataFrame:
    """Score annotators and judges against the same labels, and test whether a judge could stand in for an annotator.

    The label of a case is, for each annotator, the majority of the others, so that nobody is helped by their own vote;
    judges are held to the same labels on the same cases. A judge is below or above the annotators where the t test of
    the difference, corrected over all judges, is significant; otherwise we cannot tell.

    Parameters
    ----------
    epsilon : what a person's cost and effort is worth; the authors advise .2 for experts such as clinicians, .15 for
        skilled annotators, .1 for crowds

    Notes
    -----
    The alternative annotator test (Calderon, Reichart and Dror, ACL 2025, arXiv 2501.10970): leave one annotator out;
    the judge beats them if it is not less often at least as near to the others, by epsilon or more (one-sided t test,
    robust to clusters, with 30 clusters or more). It passes if it beats half of three annotators or more. The advantage
    probability is a mean over the annotators with 30 cases, whatever the clusters. Nearness is the share of the others
    with the same label, on ordered levels minus the root mean squared distance to theirs. A verdict without a choice is
    left out, as by the authors, which a judge gains by that is silent on hard cases. Where all differences are the same
    number c < epsilon the p-value is ((1 - epsilon) / (1 - c)) ** n. Size: tests/simulation/test_ceiling.py.
    """
    codes = analysis.verdicts.categories if analysis.benchmark.meta.is_judged else analysis.benchmark.meta.categories
    coded = encode_annotations(analysis.annotations, analysis.cases, codes, analysis.names)
    labels = coded.labels
    people = (labels >= 0).any(axis=0).sum(axis=1)
    unlabelled = [coded.absence(d) for d in range(len(people))]
    absence = np.select([people == 0, people < 3], [unlabelled, FEW_ANNOTATORS], NO_MAJORITY)
    others = np.where(people[:, None] >= 3, leave_one_out(labels, len(codes)), -1)
    has_ties = tuple(codes) == CHOICES
    own = credit(labels, others, graded=has_ties and analysis.policy not in BINARY)
    frames = [_annotators(analysis, coded, labels, own, absence)]
    if len(analysis.verdicts.cells):
        numbers = pd.Series(scaled(analysis.categories, analysis.level), analysis.categories)
        values = np.asarray(numbers.reindex(codes), dtype=np.float64)
        frames += [_judges(analysis, others, own, absence), *_alt_test(analysis, coded, labels, values, epsilon)]
    return pd.concat(frames, ignore_index=True)


def credit(choice: IntArray, label: IntArray, *, graded: bool) -> FloatArray:
    """Return what choices are worth against labels, graded with 1/2 for a tie against A or B; NaN without a label."""
    half = graded * 0.5 * ((choice == TIE) != (label == TIE))
    return np.where(label >= 0, (choice == label) + half, np.nan)


def of_people(values: FloatArray) -> Quantity:
    """Return the mean over annotators of their means over cases, from values of shape (cases, m, annotators)."""
    people, known = values.shape[2], np.isfinite(values)
    count = known.sum(axis=0)
    each = divide(count.sum(axis=1, keepdims=True) / np.maximum((count > 0).sum(axis=1, keepdims=True), 1), count)

    def statistic(sums: np.ndarray) -> np.ndarray:
        means = divide(sums[..., :people], sums[..., people:])
        return divide(np.where(np.isnan(means), 0.0, means).sum(axis=-1), (~np.isnan(means)).sum(axis=-1))

    weight = (known * np.nan_to_num(each)).sum(axis=2)
    return Quantity(np.concatenate([np.nan_to_num(values), known], axis=2), statistic, weight)


def too_few(n: NDArray[Any], total: NDArray[Any]) -> NDArray[np.str_]:
    """Return why n of the annotated or judged cases are too few for a verdict; empty where they are enough."""
    return np.select([(n > 0) & (n < LEAST_CASES), 2 * n < total], [FEW_CASES, UNDER_HALF], "")


def _counted(analysis: Analysis, rows: pd.DataFrame, there: BoolArray, absence: NDArray[np.str_]) -> pd.DataFrame:
    """Return rows with the cases left out of those that are there, and whether that leaves enough.

    Parameters
    ----------
    there : shape (cases, cells), the cases that were annotated or judged
    absence : shape (cells,), why a row has no scored case
    """
    total, n = np.concatenate([there[part.cases].sum(axis=0) for part in analysis.parts]), rows["n"].to_numpy()
    few = too_few(n, total)
    enough = pd.Series(few == "", rows.index, dtype="boolean").mask(n == 0)
    reason = np.where(n > 0, few, np.tile(absence, len(analysis.parts)))
    return rows.assign(n_excluded=total - n, representative=enough, reason=reason)


def _annotators(
    analysis: Analysis, coded: Annotations, labels: IntArray, own: FloatArray, absence: NDArray[np.str_]
) -> pd.DataFrame:
    """Make the rows of annotators, and of their mean, in each dimension and group of cases."""
    index = pd.MultiIndex.from_product([coded.dimensions, coded.annotators], names=["dimension", ANNOTATOR])
    people, everyone = index.to_frame(index=False), pd.DataFrame({"dimension": coded.dimensions, ANNOTATOR: MEAN})
    alone, _ = grid(analysis, people, {"accuracy": Measure(mean(own.reshape(len(own), len(people))), intervals.share)})
    together, _ = grid(analysis, everyone, {"accuracy": Measure(of_people(own), intervals.share)})
    of_each = np.repeat(absence, len(coded.annotators))
    alone = _counted(analysis, alone, (labels >= 0).reshape(len(labels), len(people)), of_each)
    alone = alone[(alone["n"] + alone["n_excluded"] > 0) & np.tile(of_each == NO_MAJORITY, len(analysis.parts))]
    together = _counted(analysis, together, np.asarray((labels >= 0).any(axis=2)), absence)
    return pd.concat([alone, together], ignore_index=True).assign(part=ANNOTATOR)


def _judges(analysis: Analysis, others: IntArray, own: FloatArray, absence: NDArray[np.str_]) -> pd.DataFrame:
    """Make the rows of judges against the labels of annotators, with verdicts corrected over all judges."""
    verdicts, d = analysis.verdicts, analysis.verdicts.dimension
    theirs = np.full((len(own), len(d), own.shape[2]), np.nan)
    for who in range(own.shape[2]):
        theirs[..., who] = score(verdicts, others[..., who], analysis.policy).score
    measures = {
        "accuracy": Measure(of_people(theirs), intervals.share),
        "difference": Measure(of_people(theirs - own[:, d]), intervals.varying_difference),
    }
    rows, made = grid(analysis, verdicts.cells[["judge", "dimension"]], measures)
    rows = _counted(analysis, rows, verdicts.total() > 0, absence[d])
    p = pd.Series(np.concatenate([t_test(e) for e in made["difference"]])).where(rows["representative"].fillna(False))
    rows = rows.assign(part=IS_JUDGE, p_value=p, correction=analysis.correction or "holm")
    rows = adjust_rows(rows, analysis)
    differs, short = rows["p_adjusted"] <= ALPHA, rows["difference"] < 0
    verdict = pd.Series(np.select([differs & short, differs], [BELOW, ABOVE], UNCLEAR))
    return rows.assign(verdict=verdict.mask(p.isna()))


def beside_labels(verdicts: Verdicts, policy: str) -> Verdicts:
    """Return the verdicts that stand beside an annotator's label by a policy, -1 for one that agrees with nobody.

    `official`: the one in order AB, repeat 0. `balanced` and `answered`: all with a choice, each compared on its own.
    `strict` and `net`: one per case judged in both orders: the choice of all verdicts, -1 where they differ; or the
    response with more verdicts, a tie where there are more ties than other choices, else -1.
    """
    read = read_by(verdicts, policy)
    if policy not in BOTH_ORDERS:
        return read.where(read.choice >= 0)
    votes = np.stack([read.total(read.choice == code) for code in range(len(read.categories))], axis=2)
    both = (read.total(read.order == 0) > 0) & (read.total(read.order == 1) > 0) & votes.any(axis=2)
    if policy == "strict":
        choice = np.where((votes == read.total()[..., None]).any(axis=2), votes.argmax(axis=2), -1)
    else:
        a, b, tie = np.moveaxis(votes, 2, 0)
        choice = np.select([a > b, b > a, tie > a + b], [0, 1, TIE], -1)
    case, cell = np.nonzero(both)
    one = verdicts.where(np.zeros(len(case), dtype=np.int64))
    return replace(one, case=case, cell=cell, choice=choice[case, cell])


def nearness(labels: IntArray, values: FloatArray, level: str) -> FloatArray:
    """Return how near each label is to those of the others of a case.

    Parameters
    ----------
    labels : shape (cases, dimensions, annotators), codes of K labels, -1 for none
    values : shape (K,), the labels as numbers; NaN for one that annotators are not offered

    Returns
    -------
    Shape (cases, dimensions, annotators, K + 1), the last for a verdict that agrees with nobody; NaN without others
    """
    given = (labels[..., None] == np.arange(len(values))).astype(np.float64)
    votes = given.sum(axis=2, keepdims=True) - given
    total = votes.sum(axis=-1, keepdims=True)
    apart = np.nan_to_num((values[:, None] - values) ** 2)
    near = divide(votes, total) if level == "nominal" else -np.sqrt(divide(votes @ apart, total))
    return np.pad(np.where(np.isnan(values), -np.inf, near), [(0, 0)] * 3 + [(0, 1)], constant_values=-np.inf)


def _alt_test(
    analysis: Analysis, coded: Annotations, labels: IntArray, values: FloatArray, epsilon: float
) -> list[pd.DataFrame]:
    """Make the rows of the alternative annotator test, over all cases: its summary, and every annotator."""
    verdicts, correction, names = analysis.verdicts, analysis.correction or "by", coded.annotators
    d, read = verdicts.dimension, beside_labels(verdicts, analysis.policy)
    near = nearness(labels, values, analysis.level)
    judge, human = np.full((2, len(labels), len(d), len(names)), np.nan)
    place = read.case, d[read.cell]
    for who in range(len(names)):
        theirs = near[(*place, who, read.choice)]  # -1 is the last
        mine = near[(*place, who, labels[(*place, who)])]
        counted = read.total(np.isfinite(mine))
        judge[..., who] = divide(read.total(theirs >= mine - _EQUAL), counted)
        human[..., who] = divide(read.total(mine >= theirs - _EQUAL), counted)
    items = np.isfinite(judge).sum(axis=0)  # cells, annotators
    gap = estimate(mean((human - judge).reshape(len(judge), -1)), analysis.sampling)
    units = gap.clusters.reshape(items.shape)
    tested, n_tested, people = units >= LEAST_CASES, (units >= LEAST_CASES).sum(axis=1), (items > 0).sum(axis=1)

    def tests_at(level: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return p and adjusted p of each annotator, and the share of them that the judge beats."""
        p = np.where(tested, lower_tail_p(gap, level).reshape(items.shape), np.nan)
        adjusted = np.array([adjust(row, correction) for row in p]).reshape(p.shape)
        return p, adjusted, divide((adjusted <= ALPHA).sum(axis=1), n_tested)

    p, adjusted, won = tests_at(epsilon)
    n, annotated = np.isfinite(judge).any(axis=2).sum(axis=0), (labels >= 0).any(axis=2).sum(axis=0)[d]
    few = too_few(n, annotated)
    cannot_pass = (people < 3) | (n_tested == 0) | (few != "")
    hundredths = np.stack([tests_at(step / 100)[2] >= PASSES_FROM for step in range(100)])
    least = np.where(cannot_pass | ~hundredths.any(axis=0), np.nan, hundredths.argmax(axis=0) / 100)
    nobody = [NOBODY_ELSE if there else coded.absence(each) for each, there in zip(d, annotated, strict=True)]
    holds = [n_tested == 0, people == 2, few != "", n_tested < people, (tested & (units < ENOUGH_UNITS)).any(axis=1)]
    remark = np.select(holds, [NONE_TESTED, TWO_ANNOTATORS, few, NOT_ALL_TESTED, FEW_UNITS], "")
    start = verdicts.cells[["judge", "dimension"]].assign(epsilon=epsilon, correction=correction)
    rho = Measure(of_people(np.where(items >= LEAST_CASES, judge, np.nan)), intervals.share)
    summary, _ = grid(replace(analysis, by=None), start, {"advantage_probability": rho})
    passes = pd.Series(won >= PASSES_FROM, start.index).astype("boolean").mask(cannot_pass)
    summary = summary.drop(columns=["low", "high", "n_unassigned"])
    summary = summary.assign(part=ALT_TEST, n=n, n_excluded=annotated - n, n_annotators=n_tested, winning_rate=won)
    summary = summary.assign(passes=passes, least_epsilon=least, reason=np.where(n == 0, nobody, remark))
    beside = start.loc[start.index.repeat(len(names))].reset_index(drop=True)
    of_each = {"n": items, "advantage_probability": average(judge), "annotator_probability": average(human)}
    of_each |= {"p_value": p, "p_adjusted": adjusted, "reason": np.where(tested, "", FEW_SHARED)}
    beside = beside.assign(**{name: values.ravel() for name, values in of_each.items()})
    beside = beside.assign(part=AGAINST, annotator=names * len(start), lacks=NO_INTERVAL)
    beside["passes"] = (beside["p_adjusted"] <= ALPHA).astype("boolean").mask(beside["p_adjusted"].isna())
    return [summary, beside[beside["n"] > 0]]


def lower_tail_p(e: Estimate, epsilon: float) -> FloatArray:
    """Return the p-value of a mean difference being epsilon or more, against less: one-sided t, robust to clusters.

    Where a cell's differences are all the same there is no t, and it is the largest probability of such differences
    under the null hypothesis, which falls with the number of clusters.
    """
    constant, units = e.error < _EQUAL, e.clusters
    p = stdtr(np.maximum(np.nan_to_num(e.df), 1.0), divide(e.value - epsilon, np.where(constant, np.nan, e.error)))
    bound = np.where(e.value < epsilon, (1 - epsilon) / np.where(e.value < epsilon, 1 - e.value, 1.0), 1.0) ** units
    return np.asarray(np.where(constant & (units >= 2), bound, p))
