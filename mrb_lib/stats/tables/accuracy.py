"""Does a judge choose as the annotators do? Per dimension and over all of them, beside naive baselines."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats import intervals, scoring
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.coefficients import cohen_kappa
from mrb_lib.stats.columns import Column, Option, estimated, shared, table
from mrb_lib.stats.estimation import Estimate, Quantity, average, averaged, divide, mean
from mrb_lib.stats.grid import Measure, grid, in_blocks
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.phrases import interval, main_dimension, main_rows, opening
from mrb_lib.stats.verdicts import JUDGE as IS_JUDGE
from mrb_lib.stats.verdicts import REFERENCE, Verdicts

MACRO: Final = ("exact_accuracy", "precision_macro", "recall_macro", "f1_macro")
AVERAGE = "average"
Rule = Callable[[Estimate], intervals.Interval]
AVERAGED: Final[dict[str, Rule | None]] = {
    "accuracy": intervals.share,
    "coverage": None,
    "decisive_accuracy": partial(intervals.t, least=0.0),
    "decisive_coverage": None,
    "above_constant": intervals.t,
}
"""What is averaged over dimensions, with the rules of intervals of the averages."""
FEWEST_OF_SIDE, MANY_CLUSTERS = 5, 200
PARTIAL = "not ranked: scored on fewer than half of the cases that other judges are scored on"
LACKS = "not judged on every dimension"
ONE_ORDER = "verdicts came in one order only, so position bias is not averaged out"
ONE_CATEGORY = "cohen_kappa: gold or verdicts contain one category only"
DECISIVE: Final = replace(
    estimated("decisive_accuracy", "balanced accuracy on cases with a clear winner, half credit for ties"),
    source="Brodersen et al. 2010",
    null="decisive_accuracy: gold names one side only, or none",
    alike=f"gold names a side in fewer than {FEWEST_OF_SIDE} clusters",
)


def best_judge(rows: pd.DataFrame) -> str:
    """Say which judge ranks first, how accurate it is, and what a constant answer scores."""
    where, known = opening(main_dimension(rows)), main_rows(rows)
    judges = known[known["kind"].eq(IS_JUDGE)].dropna(subset="accuracy")
    ranked = judges.dropna(subset="rank").sort_values(["rank", "judge"])
    left_out = len(judges) - len(ranked)
    more = f" {left_out} of {len(judges)} judges are not ranked: they judged too few of the cases." if left_out else ""
    if ranked.empty:
        return f"{where}, no judge can be ranked.{more}"
    best = ranked.iloc[0]
    place = f"ranks first of {len(ranked)} judges" if len(ranked) > 1 else "is the only judge ranked"
    said = f"{where}, {best['judge']} {place}"
    if pd.notna(best["decisive_accuracy"]):
        ends = interval(best["decisive_accuracy_low"], best["decisive_accuracy_high"])
        said += f": decisive accuracy {best['decisive_accuracy']:.0%}{ends}, where a constant answer scores 50%"
    ends = interval(best["low"], best["high"])
    said += f". Its accuracy is {best['accuracy']:.0%}{ends} over {int(best['n']):,} cases"
    for _, row in known[known["judge"].eq(scoring.BEST_CONSTANT) & known["kind"].eq(REFERENCE)].iterrows():
        said += f"; always answering {row['label']} scores {row['accuracy']:.0%}"
    once = " Its verdicts came in one order only." if ONE_ORDER in str(best.get("reason")) else ""
    return f"{said}.{once}{more}"


@table(
    "accuracy",
    question="does a judge choose as the annotators do",
    columns=[
        shared("judge", "dimension", "subfields", "policy"),
        Column("rank", "place by decisive accuracy on the cases that all ranked judges share", "rank"),
        Column("n_common", "cases that all ranked judges share", "cases"),
        shared("n", "n_excluded", "n_seen", "clusters"),
        Column("coverage", "share of the verdicts with a choice, mean over labelled cases", "share 0-1"),
        Column("accuracy", "mean score over cases: agreement with the gold label", "share 0-1", ends=("low", "high")),
        shared("errors"),
        DECISIVE,
        Column("decisive_coverage", "share of the verdicts on those cases that name A or B", "share 0-1"),
        estimated("above_constant", "accuracy minus that of the best constant, paired by case", "difference"),
        Column("tie_share", "share of ties among the judge's choices", "share 0-1"),
        Column("annotator_tie_share", "share of ties among the annotations of the same cases", "share 0-1"),
        Column("kind", "judge, or reference (a naive baseline, not ranked)", "text"),
        Column("label", "what a constant baseline always answers", "text"),
        estimated("macro_accuracy", "unweighted mean of the accuracies of the subfields"),
        estimated("cohen_kappa", "agreement with gold beyond chance", "coefficient", "Cohen 1960", ONE_CATEGORY),
        Column("exact_accuracy", "share of verdicts that are the gold label", "share 0-1"),
        Column("precision_macro", "mean over labels of the precision of verdicts", "share 0-1"),
        Column("recall_macro", "mean over labels of their recall", "share 0-1"),
        Column("f1_macro", "mean over labels of their F1", "share 0-1"),
    ],
    sentence=best_judge,
    headline=("decisive_accuracy", "accuracy", "above_constant"),
    why_no_ratings="",
    options={"references": Option("list naive baselines below the judges (1) or leave them out (0)", is_switch=True)},
)
def accuracy(analysis: Analysis, *, references: float = 1) -> pd.DataFrame:
    """Make one row per judge (or baseline), dimension and group of cases, and one per judge for the `average`.

    Notes
    -----
    The interval of `accuracy` is `intervals.share`; of `decisive_accuracy` Wilson's with the design effect,
    null where gold names a side in fewer than five clusters; of `above_constant` and `cohen_kappa` t over clusters. The
    dimension `average` is the unweighted mean over the dimensions, for judges with verdicts on all of them.
    """
    made = [_measured(each) for each in analysis.in_turn()]
    rows = pd.concat([own for own, _ in made]).sort_values("group_number", kind="stable", ignore_index=True)
    if len(analysis.names) > 1:
        rows = pd.concat([rows, _average(analysis, rows, [values for _, values in made])], ignore_index=True)
    is_judge, order = rows["kind"] == IS_JUDGE, [*analysis.names, AVERAGE]
    rows = rows.assign(place=rows["dimension"].map(order.index), last=~is_judge, name=rows["judge"].where(is_judge, ""))
    rows = rows.sort_values(["group_number", "place", "last", "rank", "name"], kind="stable")
    return rows if references else rows[~rows["last"]]


def _quantity(name: str, values: FloatArray, sides: BoolArray) -> Quantity:
    """Return the mean that one of `AVERAGED` is about."""
    return scoring.balanced_mean(values, sides) if name == "decisive_accuracy" else mean(values)


def _measured(analysis: Analysis) -> tuple[pd.DataFrame, dict[str, NDArray[Any]]]:
    """Return the rows of every dimension, and what their cells (judges and baselines) score on each case.

    Returns
    -------
    The rows; and by the names of `AVERAGED`, shape (cases, cells), NaN where a case does not count, with `seen` and, of
    shape (cases, cells, 2), `sides`, see `decisive_worth`.
    """
    labels, policy = analysis.labels, analysis.policy
    verdicts = scoring.with_references(analysis.verdicts, labels, analysis.cases, analysis.meta.choices, policy)
    scores = scoring.score(verdicts, labels, policy)
    worth, sides = scoring.decisive_worth(verdicts, labels, policy)
    read = scoring.read_by(verdicts, policy)
    decided = divide(read.total((read.choice >= 0) & (read.choice != verdicts.tie)), read.total())
    values: dict[str, NDArray[Any]] = {
        "accuracy": scores.score,
        "coverage": scores.answered,
        "decisive_accuracy": worth,
        "decisive_coverage": np.where(sides.any(axis=2), decided, np.nan),
        "above_constant": scores.score - _of_constant(verdicts, scores.score),
    }
    means = {name: _quantity(name, each, sides) for name, each in values.items()}
    measures = {
        **{name: Measure(each, AVERAGED[name]) for name, each in means.items()},
        "decisive_accuracy": decisive(worth, sides),
        **_tie_shares(analysis, read),
        **_against_gold(read, labels, np.isfinite(scores.answered)),
    }
    rows, made = grid(analysis, verdicts.cells, measures, verdicts.seen)
    rows = rows.join(_macro(analysis, made["accuracy"]))
    scored, decisive_mean = means["accuracy"], means["decisive_accuracy"] if verdicts.tie >= 0 else None
    ranks = [
        scoring.on_common_cases(verdicts, scored.take(part.cases), decisive_mean and decisive_mean.take(part.cases))
        for part in analysis.parts
    ]
    rows = rows.join(pd.concat([pd.DataFrame(vars(each)) for each in ranks], ignore_index=True))
    reason = np.where(_in_one_order(analysis, read, len(rows)) & rows["n"].gt(0), ONE_ORDER, "")
    rows["reason"] = np.where(rows["is_partial"], PARTIAL, reason)
    return rows, values | {"seen": verdicts.seen, "sides": sides}


def _in_one_order(analysis: Analysis, read: Verdicts, n_rows: int) -> BoolArray:
    """Return which rows are of judges whose verdicts on pairs came in one order only, though the policy reads both."""
    orders = pd.Series(read.order).groupby(read.cell).nunique().reindex(range(len(read.cells)))
    reads_both = analysis.policy != "official" and not analysis.meta.is_rating
    is_one = orders.eq(1) & read.cells["kind"].eq(IS_JUDGE) & reads_both
    return np.tile(is_one, n_rows // max(len(is_one), 1))


def _average(analysis: Analysis, every: pd.DataFrame, values: list[dict[str, NDArray[Any]]]) -> pd.DataFrame:
    """The rows of the dimension `average`: the unweighted means over the dimensions."""
    cells = every[every["group_number"] == 0].reset_index(names="cell")
    of_judge = cells.groupby(["kind", "judge"], sort=False)["cell"].agg(list).reset_index()
    is_whole = of_judge["cell"].map(len) == len(analysis.names)
    whole, lacking = of_judge[is_whole], of_judge[~is_whole & of_judge["kind"].eq(IS_JUDGE)]
    rows = pd.DataFrame()
    if len(whole):
        members = np.array(whole["cell"].tolist(), dtype=np.int64)
        joined = {name: np.hstack([each.pop(name) for each in values]) for name in (*AVERAGED, "seen", "sides")}

        def averages(kept: slice) -> pd.DataFrame:
            own, at = members[kept].ravel(), np.arange(members[kept].size).reshape(-1, members.shape[1])
            means = {name: _quantity(name, joined[name][:, own], joined["sides"][:, own]) for name in AVERAGED}
            measures = {name: Measure(averaged(each, at), AVERAGED[name]) for name, each in means.items()}
            seen = np.asarray(joined["seen"][:, members[kept]].any(axis=2))
            return grid(analysis, whole[["judge", "kind"]][kept], measures, seen)[0]

        rows = in_blocks(analysis, members.shape, averages)
        measure = every["measure"].to_numpy().reshape(-1, len(cells))
        rows["rank"] = np.concatenate([scoring.places(own[members].mean(axis=1)) for own in measure])
    labels = [{**part.label(), "n_excluded": len(part.cases)} for part in analysis.parts]
    groups = pd.DataFrame(labels).reset_index(names="group_number")
    rows = pd.concat([rows, lacking[["judge", "kind"]].merge(groups, how="cross").assign(n=0, reason=LACKS)])
    return rows.assign(dimension=AVERAGE)


def _of_constant(verdicts: Verdicts, scores: FloatArray) -> FloatArray:
    """The scores of the best constant of the dimension of each cell, shape (cases, cells); NaN without baselines."""
    cells = verdicts.cells.reset_index(names="cell")
    is_best = cells["judge"].eq(scoring.BEST_CONSTANT) & cells["kind"].eq(REFERENCE)
    constants = cells[is_best].set_index("dimension")["cell"]
    best = constants.reindex(cells["dimension"], fill_value=-1).to_numpy()
    return np.where(best >= 0, scores[:, best], np.nan)


def _tie_shares(analysis: Analysis, read: Verdicts) -> dict[str, Measure]:
    """The shares of ties among a judge's choices and among the annotations, on the cases that have both."""
    own = divide(read.total(read.choice == read.tie), read.total(read.choice >= 0))
    labels = analysis.annotations.dropna(subset="choice")
    ties = labels.assign(tie=labels["choice"].eq("tie")).pivot_table("tie", "case_id", "dimension")
    theirs = ties.reindex(index=analysis.cases["case_id"], columns=analysis.names).to_numpy(np.float64)
    shares = {"tie_share": own, "annotator_tie_share": theirs[:, read.dimension]}
    both = np.isfinite(list(shares.values())).all(axis=0) & ("tie" in analysis.meta.choices)
    return {name: Measure(mean(np.where(both, each, np.nan))) for name, each in shares.items()}


def _against_gold(read: Verdicts, labels: IntArray, applies: BoolArray) -> dict[str, Measure]:
    """Cohen's kappa and macro averages between gold and verdicts, orders and repeats pooled, from their table."""
    k, gold = len(read.categories), read.gold(labels)
    counts = [read.total((gold == i) & (read.choice == j)) * applies for i in range(k) for j in range(k)]
    stacked = np.stack(counts, axis=2)
    out = {"cohen_kappa": Measure(Quantity(stacked, cohen_kappa), intervals.t)}
    return out | {name: Measure(Quantity(stacked, partial(macro, name))) for name in MACRO}


def macro(name: str, sums: np.ndarray) -> np.ndarray:
    """Return one of `MACRO` of tables of counts (gold x verdict), shape (..., k * k); NaN where they are empty.

    The average is over the labels that occur on either side; a label that is never predicted has precision 0, and one
    that never occurs recall 0, as in scikit-learn.
    """
    k = round(sums.shape[-1] ** 0.5)
    counts = sums.reshape(*sums.shape[:-1], k, k)
    hits, truth, predicted = np.diagonal(counts, axis1=-2, axis2=-1), counts.sum(axis=-1), counts.sum(axis=-2)
    if name == "exact_accuracy":
        return divide(hits.sum(axis=-1), counts.sum(axis=(-2, -1)))
    over = {"precision_macro": predicted, "recall_macro": truth, "f1_macro": (truth + predicted) / 2}[name]
    occurs = np.real(truth + predicted) > 0
    return divide((np.nan_to_num(divide(hits, over)) * occurs).sum(axis=-1), occurs.sum(axis=-1).astype(np.float64))


def decisive(worth: FloatArray, sides: BoolArray) -> Measure:
    """Return decisive accuracy as a mean in which both sides weigh alike, see `mrb_lib.stats.scoring.decisive_worth`.

    Its interval is Wilson's with the design effect, NaN where gold names a side in fewer than five clusters.
    """

    def of(cases: IntArray) -> Quantity:
        n = sides[cases].sum(axis=0)
        alike = np.nan_to_num(divide(n.sum(axis=1, keepdims=True) / 2, n))
        return replace(scoring.balanced_mean(worth[cases], sides[cases]), weight=(sides[cases] * alike).sum(axis=2))

    def interval(e: Estimate) -> intervals.Interval:
        of_side = e.sampling.sums(e.quantity.adds[..., 2:]) > 0
        enough = (of_side.sum(axis=0) >= FEWEST_OF_SIDE).all(axis=1)
        ends = intervals.rare_share(e)
        return ends._replace(low=np.where(enough, ends.low, np.nan), high=np.where(enough, ends.high, np.nan))

    return Measure(of, interval)


def _macro(analysis: Analysis, of_parts: list[Estimate]) -> pd.DataFrame:
    """The unweighted means over the subfields of the first column, in the rows of all cases, with percentiles.

    Of few clusters a resample has (c - 1) / c of the variance, which adds up over subfields (Rao and Wu 1988).
    """
    parts = analysis.parts
    subfields = [e for part, e in zip(parts, of_parts, strict=True) if part.by and part.by == parts[1].by]
    if not subfields:
        return pd.DataFrame()
    values, clusters = (np.stack([getattr(e, name) for e in subfields]) for name in ("value", "clusters"))
    scale = np.where(clusters < MANY_CLUSTERS, np.sqrt(clusters / np.maximum(clusters - 1, 1)), 1.0)
    moved = [e.value + wider * (e.replicates - e.value) for e, wider in zip(subfields, scale, strict=True)]
    drawn = divide(np.asarray(sum(map(np.nan_to_num, moved))), np.asarray(sum(map(np.isfinite, moved))))
    ends = np.full((2, values.shape[1]), np.nan)
    if len(drawn) and analysis.sampling.crossed is None:
        ends = np.nanquantile(drawn.T, [0.025, 0.975], axis=1)
    ends[:, ((clusters < 2) & np.isfinite(values)).any(axis=0)] = np.nan
    low, high = ends
    return pd.DataFrame({"macro_accuracy": average(values), "macro_accuracy_low": low, "macro_accuracy_high": high})
