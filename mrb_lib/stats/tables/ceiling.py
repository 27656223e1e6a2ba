"""Compare annotators and judges with the label of the other annotators, and test if a judge could replace one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.special import stdtr

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.annotators import Annotations, encode_annotations, leave_one_out
from mrb_lib.stats.coefficients import scaled
from mrb_lib.stats.columns import SCORED, Column, Option, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, t_test
from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, IntArray, Quantity, divide, estimate, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.multiplicity import CORRECTIONS, adjust, adjust_families
from mrb_lib.stats.options import check_choice, check_policy, join_reasons
from mrb_lib.stats.phrases import human_level, interval, main_dimension, main_rows, opening, points
from mrb_lib.stats.scoring import BINARY, BOTH_ORDERS, read_by, score
from mrb_lib.stats.verdicts import TIE, Verdicts
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import LEVELS

ANNOTATOR, MEAN, IS_JUDGE = "annotator", "mean", "judge"
ALT_TEST, SWEEP, AGAINST = "alt_test", "alt_test_sweep", "alt_test_annotator"
BELOW, UNCLEAR, ABOVE = "below", "cannot tell", "above"
LEAST_CASES: Final = 30
ENOUGH_UNITS: Final = 100
EPSILON: Final = 0.2
EPSILONS: Final = (0.05, 0.1, 0.15, 0.2)
PASSES_FROM: Final = 0.5
FEW_ANNOTATORS = "fewer than three annotators: the others have no majority"
NO_CASES = "the others have a majority on none of the annotator's cases"
NOT_SCORED = "the judge is scored on no case on which an annotator's others have a majority"
TWO_ANNOTATORS = "two annotators: each is compared with one other, not with a group; three are asked for to pass"
ONE_ANNOTATOR = "fewer than two annotators: nobody is left to compare with"
NOT_JUDGED = "no case has a verdict and two annotators"
FEW_SHARED = f"fewer than {LEAST_CASES} independent cases shared with the judge and other annotators"
FEW_ITEMS = f"no annotator shares {LEAST_CASES} independent cases with the judge and other annotators"
FEW_UNITS = f"fewer than {ENOUGH_UNITS} independent cases: the t-test may beat annotators too readily"
_ALT = "Calderon et al. 2025, arXiv 2501.10970"
_EQUAL = 1e-9


def reach(rows: pd.DataFrame) -> str:
    """Say how well one annotator predicts the others, and how many judges differ significantly from that."""
    where, human = opening(main_dimension(rows)), main_rows(rows, part=ANNOTATOR, annotator=MEAN)
    human = human.dropna(subset="accuracy")
    if human.empty:
        return f"{where}, how well one annotator predicts the others is not known: it takes three annotators."
    level = human.iloc[0]
    said = f"{where}, an average annotator has an accuracy of {level['accuracy']:.0%}"
    said += f"{interval(level['low'], level['high'])} against the majority of the others."
    if not level["representative"]:
        return f"{said} That is of too few cases to compare judges with. {human_level('ceiling')}"
    known = main_rows(rows, part=IS_JUDGE).dropna(subset="verdict")
    counts = {verdict: int(known["verdict"].eq(verdict).sum()) for verdict in (BELOW, ABOVE)}
    if len(known) == 1:
        row = known.iloc[0]
        word = "; cannot tell whether it differs" if row["verdict"] == UNCLEAR else f", significantly {row['verdict']}"
        said += f" The only judge, {row['judge']}, is at {points(row, 'difference')} from that level{word}."
    elif len(known):
        found = [
            f"{count} {'is' if count == 1 else 'are'} significantly {verdict} that level"
            for verdict, count in counts.items()
            if count
        ]
        rest = len(known) - sum(counts.values())
        found += [f"for {rest} we cannot tell"] if rest else []
        said += f" Of {len(known)} judges, {', and '.join(found)}."
    return f"{said} {human_level('ceiling')}"


@table(
    "ceiling",
    question="how well does one annotator predict the others, and could a judge stand in for one",
    columns=[
        shared("dimension"),
        Column("part", "annotator, judge, alt_test, _sweep (at each epsilon) or _annotator (against one)", "text"),
        shared("judge"),
        Column("annotator", "name of the annotator; mean: their unweighted mean", "text"),
        shared("subfields", "policy", "n", "n_excluded", "clusters"),
        Column("accuracy", "mean score against the majority of the other annotators", "share 0-1", "", ("low", "high")),
        Column("ceiling", "mean accuracy of the annotators on the cases of the judge", "share 0-1"),
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
        Column("correction", "correction for the number of tests", "text"),
        Column("n_annotators", "annotators tested", "count"),
        Column("n_items", "fewest cases of a tested annotator", "cases"),
    ],
    sentence=reach,
    uses=(*(name for name in SCORED if name != "gold"), "level", "correction", "family", "probe"),
    headline=("accuracy", "difference", "verdict", "passes"),
    needs_verdicts=False,
    why_no_ratings="",
    options={
        "epsilon": Option("the cost-benefit penalty of the alternative annotator test", least=0, below=1),
        "null_disagrees": Option(
            "in that test, 1 counts a verdict without a choice against the judge; 0 leaves it out", is_switch=True
        ),
    },
)
def ceiling(analysis: Analysis, *, epsilon: float = EPSILON, null_disagrees: float = 0) -> pd.DataFrame:
    """Score annotators and judges against the same labels, and test whether a judge could stand in for an annotator.

    The label of a case is, for each annotator, the majority of the others, so that nobody is helped by their own vote;
    judges are held to the same labels on the same cases. A judge is below or above the annotators where the t test of
    the difference, corrected over all judges, is significant; otherwise we cannot tell.

    Parameters
    ----------
    epsilon : what a person's cost and effort is worth; the authors advise .2 for experts such as clinicians, .15 for
        skilled annotators, .1 for crowds
    null_disagrees : whether, in the alternative annotator test, a verdict without a choice agrees with nobody (1), or
        is left out (0) as by its authors, which a judge gains by that is silent on hard cases

    Notes
    -----
    The alternative annotator test (Calderon, Reichart and Dror, ACL 2025, arXiv 2501.10970): leave one annotator out;
    the judge beats them if it is not less often at least as near to the others, by epsilon or more (one-sided t test,
    robust to clusters, with 30 clusters or more). It passes if it beats half of three annotators or more. The advantage
    probability is a mean over the annotators with 30 cases, whatever the clusters. Nearness is the share of the others
    with the same label, on ordered levels minus the root mean squared distance to theirs. Where all differences are the
    same number c < epsilon the p-value is ((1 - epsilon) / (1 - c)) ** n. Size: tests/simulation/test_alttest.py.
    """
    check_policy(analysis.policy)
    check_choice("level", analysis.level, LEVELS)
    check_choice("correction", analysis.correction or "by", CORRECTIONS)
    if not 0 <= epsilon < 1:
        raise InputError(f"epsilon {epsilon}: must be 0 or more and less than 1; {EPSILON} is the default.")
    meta, ordered = analysis.benchmark.meta, analysis.categories
    codes = analysis.verdicts.categories if meta.is_judged else meta.categories
    coded = encode_annotations(analysis.annotations, analysis.cases, codes, analysis.names)
    labels = coded.labels
    others = leave_one_out(labels, len(codes))
    absence = [_absence(coded, labels, dimension) for dimension in range(len(analysis.names))]
    others[:, np.array([bool(text) for text in absence], dtype=bool)] = -1
    own = credit(labels, others, graded=analysis.policy not in BINARY)
    frames = [_annotators(analysis, coded, labels, own, absence)]
    if len(analysis.verdicts.cells):
        frames.append(_judges(analysis, others, own, absence))
        values = scaled(ordered, analysis.level)
        place = dict(zip(ordered, values, strict=True))
        numbers = np.array([place.get(name, np.nan) for name in codes])
        frames += _alt_test(analysis, coded, labels, numbers, epsilon, bool(null_disagrees))
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


def _absence(coded: Annotations, labels: IntArray, dimension: int) -> str:
    """Say why a dimension has no ceiling; empty if it has one."""
    people = (labels[:, dimension] >= 0).any(axis=0).sum()
    return coded.absence(dimension) if not people else FEW_ANNOTATORS if people < 3 else ""


def too_few(n: int, total: int) -> str:
    """Say why `n` of `total` annotated or judged cases are too few for a verdict; empty where they are enough."""
    if 0 < n < LEAST_CASES:
        return f"no verdict: fewer than {LEAST_CASES} cases"
    return f"no verdict: {n:,} of {total:,} cases, under half" if 2 * n < total else ""


def _counted(analysis: Analysis, rows: pd.DataFrame, there: BoolArray, absent: str, why: list[str]) -> pd.DataFrame:
    """Return rows with the cases left out of those that are there, and whether that leaves enough.

    Parameters
    ----------
    there : shape (cases, cells), the cases that were annotated or judged
    absent, why : reasons of rows without a scored case: for all, and for each cell where there is one
    """
    total = np.concatenate([there[part.cases].sum(axis=0) for part in analysis.parts])
    few = [too_few(int(n), int(all_)) for n, all_ in zip(rows["n"], total, strict=True)]
    reasons = [text or absent for text in why] * len(analysis.parts)
    reason = [text if n else other for text, other, n in zip(few, reasons, rows["n"], strict=True)]
    enough = pd.Series([not text for text in few], rows.index, dtype="boolean").mask(rows["n"] == 0)
    return rows.assign(n_excluded=total - rows["n"], there=total, representative=enough, reason=reason)


def _annotators(
    analysis: Analysis, coded: Annotations, labels: IntArray, own: FloatArray, absence: list[str]
) -> pd.DataFrame:
    """Make the rows of annotators, and of their mean, in each dimension and group of cases."""
    people = pd.DataFrame(
        [(d, who) for d in coded.dimensions for who in coded.annotators], columns=["dimension", ANNOTATOR]
    )
    flat = own.reshape(len(own), len(people))
    alone, _ = grid(analysis, people, {"accuracy": Measure(mean(flat), intervals.share)})
    everyone = pd.DataFrame({"dimension": coded.dimensions, ANNOTATOR: MEAN})
    together, _ = grid(analysis, everyone, {"accuracy": Measure(of_people(own), intervals.share)})
    given = (labels >= 0).reshape(len(labels), len(people))
    lacks = [absence[coded.dimensions.index(name)] for name in people["dimension"]]
    alone = _counted(analysis, alone, given, NO_CASES, lacks)
    alone = alone[(alone["there"] > 0) & ~np.tile(np.array(lacks, dtype=object) != "", len(analysis.parts))]
    together = _counted(analysis, together, np.asarray((labels >= 0).any(axis=2)), NO_CASES, absence)
    return pd.concat([alone, together], ignore_index=True).assign(part=ANNOTATOR)


def _judges(analysis: Analysis, others: IntArray, own: FloatArray, absence: list[str]) -> pd.DataFrame:
    """Make the rows of judges against the labels of annotators, with verdicts corrected over all judges."""
    verdicts = analysis.verdicts
    cells, d = verdicts.cells[["judge", "dimension"]], verdicts.dimension
    judged = [score(verdicts, others[..., who], analysis.policy).score for who in range(others.shape[2])]
    theirs = np.stack(judged, axis=2) if judged else np.full((len(own), len(d), 0), np.nan)
    human = np.where(np.isfinite(theirs), own[:, d], np.nan)
    measures = {
        "accuracy": Measure(of_people(theirs), intervals.share),
        "ceiling": Measure(of_people(human)),
        "difference": Measure(of_people(theirs - human), intervals.varying_difference),
    }
    rows, made = grid(analysis, cells, measures)
    rows = _counted(analysis, rows, verdicts.total() > 0, NOT_SCORED, [absence[each] for each in d])
    p = np.concatenate([t_test(e) for e in made["difference"]])
    p = np.where(rows["representative"].fillna(False).to_numpy(dtype=bool), p, np.nan)
    within = ["by", "subfield", "dimension"] if analysis.family == "dimension" else []
    families = rows.groupby(within, dropna=False).ngroup() if within else pd.Series(0, rows.index)
    correction = analysis.correction or "holm"
    adjusted, _ = adjust_families(p, np.asarray(families, dtype=np.int64), correction)
    differs = adjusted <= ALPHA
    verdict = np.select([differs & (rows["difference"] < 0), differs], [BELOW, ABOVE], UNCLEAR)
    shown = pd.Series(verdict, rows.index).mask(np.isnan(p))
    return rows.assign(part=IS_JUDGE, p_value=p, p_adjusted=adjusted, verdict=shown, correction=correction)


def beside_labels(verdicts: Verdicts, policy: str, *, null_disagrees: bool) -> Verdicts:
    """Return the verdicts that stand beside an annotator's label by a policy, -1 for one that agrees with nobody.

    `official`: the one in order AB, repeat 0. `balanced` and `answered`: all with a choice, each compared on its own.
    `strict` and `net`: one per case judged in both orders: the choice of all verdicts, -1 where they differ; or the
    response with more verdicts, a tie where there are more ties than other choices, else -1.
    """
    read = read_by(verdicts, policy)
    if policy not in BOTH_ORDERS:
        return read if null_disagrees and policy != "answered" else read.where(read.choice >= 0)
    each = np.stack([read.total(read.choice == code) for code in range(len(read.categories))], axis=2)
    rows, chosen = read.total(), each.sum(axis=2)
    both = (read.total(read.order == 0) > 0) & (read.total(read.order == 1) > 0)
    both &= (rows > 0) if null_disagrees else (chosen > 0)
    if policy == "strict":
        choice = np.where((each == rows[..., None]).any(axis=2), each.argmax(axis=2), -1)
    else:
        a, b, tie = (each[..., code] for code in (0, 1, TIE))
        choice = np.select([a > b, b > a, tie > a + b], [0, 1, TIE], -1)
    case, cell = np.nonzero(both)
    one = verdicts.where(np.zeros(len(case), dtype=np.int64))
    return replace(one, case=case, cell=cell, choice=choice[case, cell])


def nearness(labels: IntArray, values: FloatArray, level: str) -> tuple[FloatArray, BoolArray]:
    """Return how near each label is to those of the others of a case, and whether there are others.

    Parameters
    ----------
    labels : shape (cases, dimensions, annotators), codes of K labels, -1 for none
    values : shape (K,), the labels as numbers; NaN for one that annotators are not offered

    Returns
    -------
    Shape (cases, dimensions, annotators, K + 1), the last for a verdict that agrees with nobody; and
    (cases, dimensions, annotators)
    """
    given = (labels[..., None] == np.arange(len(values))).astype(np.float64)
    votes = given.sum(axis=2, keepdims=True) - given
    total = votes.sum(axis=-1, keepdims=True)
    if level == "nominal":
        near = divide(votes, total)
    else:
        apart = np.nan_to_num((values[:, None] - values) ** 2)
        near = -np.sqrt(divide(votes @ apart, total))
    near = np.where(np.isnan(values), -np.inf, near)
    nobody = np.full((*near.shape[:-1], 1), -np.inf)
    return np.concatenate([near, nobody], axis=-1), (labels >= 0) & (total[..., 0] > 0)


def _alt_test(
    analysis: Analysis, coded: Annotations, labels: IntArray, values: FloatArray, epsilon: float, null_disagrees: bool
) -> list[pd.DataFrame]:
    """Make the rows of the alternative annotator test, over all cases: its summary, sweep, and every annotator."""
    verdicts, correction = analysis.verdicts, analysis.correction or "by"
    d, names = verdicts.dimension, coded.annotators
    read = beside_labels(verdicts, analysis.policy, null_disagrees=null_disagrees)
    near, known = nearness(labels, values, analysis.level)
    judge, human = (np.full((len(labels), len(d), len(names)), np.nan) for _ in range(2))
    place, counts = (read.case, d[read.cell]), read.total()
    for who in range(len(names)):
        theirs = near[(*place, who, read.choice)]  # -1 is the last
        mine = near[(*place, who, labels[(*place, who)])]
        counted = np.where(known[:, d, who], counts, 0.0)
        judge[..., who] = divide(read.total(theirs >= mine - _EQUAL), counted)
        human[..., who] = divide(read.total(mine >= theirs - _EQUAL), counted)
    items = np.isfinite(judge).sum(axis=0)  # cells, annotators
    gap = estimate(mean((human - judge).reshape(len(judge), -1)), analysis.sampling)
    units = gap.clusters.reshape(items.shape)
    tested, enough = units >= LEAST_CASES, items >= LEAST_CASES
    rho = estimate(of_people(np.where(enough, judge, np.nan)), analysis.sampling)
    ends = intervals.share(rho)

    def adjusted_at(level: float) -> tuple[FloatArray, FloatArray]:
        p = np.where(tested, lower_tail_p(gap, level).reshape(items.shape), np.nan)
        return p, np.array([adjust(row, correction) for row in p]).reshape(p.shape)

    def rate(level: float) -> FloatArray:
        return divide((adjusted_at(level)[1] <= ALPHA).sum(axis=1) * 1.0, tested.sum(axis=1) * 1.0)

    people, n_tested = (items > 0).sum(axis=1), tested.sum(axis=1)
    n = np.isfinite(judge).any(axis=2).sum(axis=0)
    annotated = (labels >= 0).any(axis=2).sum(axis=0)[d]
    few = [too_few(int(a), int(b)) for a, b in zip(n, annotated, strict=True)]
    can_pass = (people > 2) & (n_tested > 0) & np.array([not text for text in few], dtype=bool)
    hundredths = np.stack([rate(step / 100) >= PASSES_FROM for step in range(100)])
    least = np.where(can_pass & hundredths.any(axis=0), hundredths.argmax(axis=0) / 100, np.nan)
    reason = [
        _remark(coded, int(d[cell]), int(n[cell]), items[cell], units[cell], few[cell], bool(known[:, d[cell]].any()))
        for cell in range(len(d))
    ]
    fewest = np.where(tested, items, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
    shared: dict[str, Any] = {"n": n, "n_excluded": annotated - n, "n_clusters": rho.clusters, "n_annotators": n_tested}
    shared |= {
        "n_items": pd.array(fewest, dtype="Int64"),
        "correction": correction,
        "reason": reason,
        "largest": rho.largest,
    }
    cells = verdicts.cells[["judge", "dimension"]].assign(by=None, subfield=None, n_unassigned=None, **shared)
    cells["n_items"] = cells["n_items"].mask(n_tested == 0)

    def at(level: float, part: str) -> pd.DataFrame:
        won = rate(level)
        passes = pd.Series(won >= PASSES_FROM, cells.index).astype("boolean").mask(~can_pass)
        return cells.assign(part=part, epsilon=level, winning_rate=won, passes=passes)

    bounds = {"advantage_probability_low": ends.low, "advantage_probability_high": ends.high}
    bounds = {name: np.where(np.isnan(rho.error), np.nan, each) for name, each in bounds.items()}
    summary = at(epsilon, ALT_TEST).assign(least_epsilon=least, advantage_probability=rho.value, **bounds)
    p, p_adjusted = adjusted_at(epsilon)
    beats = pd.Series((p_adjusted <= ALPHA).ravel()).astype("boolean").mask(~tested.ravel())
    beside = cells.loc[cells.index.repeat(len(names))].reset_index(drop=True)
    beside = beside.drop(columns=["n_excluded", "n_annotators", "n_clusters", "largest"]).assign(
        part=AGAINST,
        annotator=np.tile(np.array(names, dtype=object), len(cells)),
        n=items.ravel(),
        n_items=items.ravel(),
        epsilon=epsilon,
        advantage_probability=divide(np.nansum(judge, axis=0), items).ravel(),
        annotator_probability=divide(np.nansum(human, axis=0), items).ravel(),
        p_value=p.ravel(),
        p_adjusted=p_adjusted.ravel(),
        passes=beats,
        reason=np.where(tested.ravel(), "", FEW_SHARED),
        lacks="each annotator has no interval of its own",
    )
    sweeps = pd.concat([at(level, SWEEP) for level in EPSILONS]).sort_index(kind="stable")
    return [summary, sweeps, beside[beside["n"] > 0]]


def _remark(
    coded: Annotations, dimension: int, n: int, items: IntArray, units: IntArray, few: str, shared: bool
) -> str | None:
    """Say what is missing for the test of one judge, or what to mind; `shared`: whether a case has two annotators."""
    people, tested = int((items > 0).sum()), units >= LEAST_CASES
    if not (coded.dimension == dimension).any():
        return coded.absence(dimension)
    if not tested.any():
        return FEW_ITEMS if n else NOT_JUDGED if shared else ONE_ANNOTATOR
    return join_reasons(
        TWO_ANNOTATORS if people == 2 else "",
        f"{people - tested.sum()} of {people} annotators are not tested: {FEW_SHARED}" if tested.sum() < people else "",
        FEW_UNITS if units[tested].min() < ENOUGH_UNITS else "",
        few,
    )


def lower_tail_p(e: Estimate, epsilon: float) -> FloatArray:
    """Return the p-value of a mean difference being epsilon or more, against less: one-sided t, robust to clusters.

    Where a cell's differences are all the same there is no t, and it is the largest probability of such differences
    under the null hypothesis, which falls with the number of clusters.
    """
    constant, units = e.error < _EQUAL, e.clusters
    p = stdtr(np.maximum(np.nan_to_num(e.df), 1.0), divide(e.value - epsilon, np.where(constant, np.nan, e.error)))
    bound = np.where(e.value < epsilon, (1 - epsilon) / np.where(e.value < epsilon, 1 - e.value, 1.0), 1.0) ** units
    return np.asarray(np.where(constant & (units >= 2), bound, p))
