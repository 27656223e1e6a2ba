"""Would another gold rule change the leaderboard, and how often do the annotators err?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from mrb_lib.stats import intervals
from mrb_lib.stats.adjudicated import REVIEWERS, adjudicated_gold
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.annotator_errors import ANNOTATOR, NO_PEERS, model_rows, peer_rows
from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, t_test
from mrb_lib.stats.dawid_skene import FEW_ANNOTATORS
from mrb_lib.stats.estimation import FloatArray, IntArray, Quantity, divide, mean, ratio, weighted_mean
from mrb_lib.stats.gold_labels import MAJORITY, People, plurality
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.options import join_reasons
from mrb_lib.stats.phrases import human_level, main_dimension, main_rows, opening
from mrb_lib.stats.scoring import Ranking, balanced_mean, decisive_worth, on_common_cases, score
from mrb_lib.stats.tables.accuracy import PARTIAL
from mrb_lib.stats.verdicts import Verdicts, labels_of

RULE, RANKING, LEFT_OUT = "rule", "ranking", "left_out"
ADJUDICATED = "adjudicated"
ONE_SIDE = "no rank: gold names one side only, or none"
NO_CASES = "no case that the judge is scored on has a label by this rule"
SINGLE_VOTES = "cases with one annotator's label are left out: one vote is not unanimous"
ONE_JUDGE = "fewer than two judges are ranked by both rules"
NO_ORDER = "the judges are all equal by one of the rules"
_UNANIMOUS_WRONG, _SAME, _EQUAL = 1 / 3, 1e-9, 1e-9
SAMPLED: Final = ("cluster", "resamples", "seed")
_DAWID = "Dawid & Skene 1979, doi:10.2307/2346806"


def order_and_errors(rows: pd.DataFrame) -> str:
    """Say how the gold rule changes the order of the judges, what reviewers changed, and how often annotators err."""
    return " ".join(each for each in (_order(rows), _reviewed(rows), _people(rows)) if each)


def _order(rows: pd.DataFrame) -> str:
    where, taus = opening(main_dimension(rows)), main_rows(rows, part=RANKING).dropna(subset="kendall_tau")
    taus = taus[taus["rule"] != MAJORITY]
    if taus.empty:
        return f"{where}, cannot tell whether the gold rule changes the order of the judges."
    least = taus.nsmallest(1, "kendall_tau").iloc[0]
    judges, names = int(least["n_judges"]), ", ".join(taus["rule"]).replace("_", " ")
    if least["kendall_tau"] > 1 - _EQUAL:
        return f"{where}, the order of the {judges} judges is the same by the majority and by the rules {names}."
    return (
        f"{where}, the rule {least['rule'].replace('_', ' ')} changes the order of the {judges} judges most: its "
        f"Kendall's tau with the majority's order is {least['kendall_tau']:.2f}, where 1 is the same order."
    )


def _reviewed(rows: pd.DataFrame) -> str:
    known = main_rows(rows, part=RULE, rule=ADJUDICATED)
    if known.empty:
        return ""
    first, ranked = known.iloc[0], known.dropna(subset=["rank", "majority_rank"])
    moved = int((ranked["rank"] != ranked["majority_rank"]).sum())
    differ = int((known["p_adjusted"] <= ALPHA).sum())
    return (
        f"Reviewers changed {int(first['n_changed']):,} and removed {int(first['n_removed']):,} of the "
        f"{int(first['n_adjudicated']):,} labels that they reviewed. With the corrected labels, {moved} of "
        f"{len(ranked)} judges change rank, and the accuracy of {differ or 'none'} differs significantly."
    )


def _people(rows: pd.DataFrame) -> str:
    known = main_rows(rows, part=ANNOTATOR).dropna(subset="probability")
    if known.empty:
        return "How often each annotator errs is not known: the model needs three annotators."
    said = f"If annotators err independently, the median of {len(known)} annotators is right on "
    said += f"{known['probability'].median():.0%} of the cases."
    apart = known[(known["p_adjusted"] <= ALPHA) & (known["peer_gap"] < 0)]
    if apart.empty:
        said += " We cannot tell that any annotator agrees less with the others than those agree with each other."
    else:
        agree = "agrees" if len(apart) == 1 else "agree"
        said += (
            f" Of them, {len(apart)} {agree} significantly less with the others than those agree with each other: "
            f"{', '.join(apart.nsmallest(3, 'peer_gap')['annotator'])}{' and others' if len(apart) > 3 else ''}."
        )
    return f"{said} {human_level('gold_rules')}"


@table(
    "gold_rules",
    question="would another gold rule change the leaderboard, and how often does each annotator err",
    columns=[
        shared("dimension"),
        Column("part", "rule, ranking or left_out (judges); annotator, confusion or prevalence", "text"),
        shared("judge"),
        Column("annotator", "annotator; in left_out, the one left out", "text"),
        Column("rule", "how annotations become gold labels", "text"),
        Column("gold", "true label, which the model infers", "text"),
        Column("label", "label that the annotator gives", "text"),
        shared("policy"),
        Column("rank", "place by decisive accuracy on the cases that all ranked judges share", "rank"),
        Column("n_common", "cases that all ranked judges share", "cases"),
        shared("n", "n_excluded", "clusters"),
        Column("accuracy", "mean score by the labels of the rule", "share 0-1", ends=("low", "high")),
        Column("decisive_accuracy", "balanced accuracy on labels A and B, half credit for ties", "share 0-1"),
        Column("majority_rank", "rank by the labels before review or the majority's", "rank"),
        Column("majority_accuracy", "accuracy by the labels before review or the majority's", "share 0-1"),
        estimated("difference", "accuracy minus majority_accuracy", "difference"),
        Column("n_adjudicated", "labels of the dimension that were reviewed", "count"),
        Column("n_changed", "reviewed labels that became another label", "count"),
        Column("n_removed", "reviewed labels that became none", "count"),
        Column("label_error", "estimated share of majority labels that are wrong", "share 0-1", _DAWID),
        Column("label_error_most", "largest share of wrong majority labels that the votes allow", "share 0-1"),
        Column("bound_low", "lowest accuracy by the true labels that the votes allow", "share 0-1"),
        Column("bound_high", "highest accuracy by the true labels that the votes allow", "share 0-1"),
        Column("kendall_tau", "agreement with the majority's order of judges, tau-b", "coefficient", "Kendall 1945"),
        Column("n_judges", "judges ranked by both rules", "count"),
        estimated("probability", "of giving the label, of being right, or of the label", source=_DAWID),
        Column("n_expected", "cases estimated to have the true label"),
        estimated("peer_gap", "agreement with the others, minus theirs with each other", "difference"),
        Column("p_value", "probability of such a difference or peer_gap, if there is none", "p 0-1"),
        Column("p_adjusted", "p_value corrected over the judges or annotators", "p 0-1"),
        Column("correction", "correction for the number of tests", "text"),
    ],
    sentence=order_and_errors,
    uses=("adjudications", "policy", "dimension", *SAMPLED, "correction", "family", "probe"),
    headline=("accuracy", "rank", "majority_rank", "difference", "probability", "peer_gap"),
    needs_verdicts=False,
    why_no_ratings="",
)
def gold_rules(analysis: Analysis) -> pd.DataFrame:
    """Score and rank judges by each rule that makes gold labels, and estimate how often annotators err.

    A rule gives each case a label, or a probability for each label; then accuracy is the expected score:

    - `majority`, `unanimous`: by the annotators' votes; the second needs two
    - `posterior`: the most probable label by the model of Dawid and Skene; `soft_posterior`: its probabilities
    - `leave_one_out`: for each annotator the majority of the others, so that a case counts once per annotator
    - `soft_votes`: labels in proportion to the votes
    - `adjudicated`: the labels as reviewers corrected them; only where labels were reviewed

    Rows of part `left_out` compare the order of the judges with that by the majority without one annotator. Parts
    `annotator`, `confusion` and `prevalence`: see `mrb_lib.stats.annotator_errors`. Consensus labels are no votes.

    Notes
    -----
    `bound_low` and `bound_high` bound the accuracy by the true labels, sampling included, however cases differ in
    difficulty. They assume that, given the case, annotators and judge err independently, and that the true label is
    the one that an annotator most probably gives. A wrong majority changes the score of a case by 1 at most. On a split
    majority of three votes or more a judge agrees at most as often as that majority is right, so that at most 1 less
    its agreement there (and at most (K - 1) / K of K labels) are wrong. For each of them at most a third of a unanimous
    majority is, since all labels then have a probability of 1/2 at most: p^3 against 3 p^2 (1 - p). Majorities of fewer
    votes count as wrong with probability (K - 1) / K. Simulated in tests/simulation/test_annotators.py.
    """
    if not analysis.names:
        return pd.DataFrame(columns=["dimension"])
    analysis, meta = replace(analysis, by=None), analysis.benchmark.meta
    codes = analysis.verdicts.categories if meta.is_judged else meta.categories
    coded = encode_annotations(analysis.annotations, analysis.cases, codes, analysis.names)
    people = People(coded, coded.labels(len(analysis.cases)), codes)
    frames = [*_rules(analysis, people)] if len(analysis.verdicts.cells) else []
    frames.append(_errors(analysis, people, meta.categories))
    rows = pd.concat(frames, ignore_index=True)
    return rows.iloc[rows["dimension"].map(analysis.names.index).argsort(kind="stable")]


@dataclass(frozen=True)
class Worth:
    """Scores of the verdicts on each case in each cell, by what the gold label is.

    Attributes
    ----------
    scores : shape (cases, cells, K)
    decisive : shape (cases, cells, 2), for decisive accuracy, gold A or B; None of ratings
    dimension : shape (cells,)
    """

    scores: FloatArray
    decisive: FloatArray | None
    dimension: IntArray

    @classmethod
    def of(cls, verdicts: Verdicts, policy: str) -> Worth:
        """Return the worth of verdicts by a policy."""
        shape = verdicts.n_cases, len(verdicts.dimensions)
        every = [np.full(shape, code) for code in range(len(verdicts.categories))]
        decisive = [decisive_worth(verdicts, each, policy)[0] for each in every[:2]] if verdicts.tie >= 0 else None
        scores = np.stack([score(verdicts, each, policy).score for each in every], axis=2)
        return cls(scores, None if decisive is None else np.stack(decisive, axis=2), verdicts.dimension)

    def by(self, weights: FloatArray) -> tuple[Quantity, Quantity | None]:
        """Return the accuracy and the decisive accuracy by labels, from shape (cases, dimensions, K)."""
        own = weights[:, self.dimension]
        counted = np.asarray(np.isfinite(own).all(axis=2) & np.isfinite(self.scores).all(axis=2))
        own = np.where(counted[..., None], own, 0.0)
        total = own.sum(axis=2)
        accuracy = weighted_mean(divide((np.nan_to_num(self.scores) * own).sum(axis=2), total), total)
        return accuracy, None if self.decisive is None else balanced_mean(self.decisive, own[..., :2])


class Scored(NamedTuple):
    """The judges by one rule: accuracy, decisive accuracy (None of ratings), and their order."""

    accuracy: Quantity
    decisive: Quantity | None
    order: Ranking


def _rules(analysis: Analysis, people: People) -> Iterator[pd.DataFrame]:
    """Make the rows about judges: by every rule, and how their order changes, also without each annotator."""
    verdicts, weights = analysis.verdicts, people.weights()
    worth = Worth.of(verdicts, analysis.policy)

    def scored(weight: FloatArray) -> Scored:
        accuracy, decisive = worth.by(weight)
        return Scored(accuracy, decisive, on_common_cases(verdicts, accuracy, decisive))

    made = {rule: scored(weight) for rule, weight in weights.items()}
    base = made[MAJORITY]
    frames = [_by_rule(analysis, people, rule, each, base) for rule, each in made.items()]
    frames[0] = frames[0].join(_wrong_labels(analysis, people, weights[MAJORITY], base.accuracy, frames[0]))
    orders = [_taus(verdicts, base, each).assign(rule=rule) for rule, each in made.items()]
    reviewed = _reviewed_labels(analysis)
    if reviewed is not None:
        before, after = (scored(people.one_hot(labels, np.nan)) for labels in reviewed.labels)
        rows = _by_rule(analysis, people, ADJUDICATED, after, before)
        frames.append(rows.join(reviewed.counts, on="dimension"))
        orders.append(_taus(verdicts, before, after).assign(rule=ADJUDICATED))
    yield pd.concat(frames).sort_index(kind="stable")
    yield pd.concat(orders).assign(part=RANKING)
    for who, name in enumerate(people.coded.annotators):
        votes = people.votes - people.one_hot(people.labels[..., who])
        decided = plurality(votes)
        rows = _taus(verdicts, base, scored(decided)).assign(part=LEFT_OUT, annotator=name, rule=MAJORITY)
        n = dict(zip(analysis.names, np.isfinite(decided[..., 0]).sum(axis=0), strict=True))
        there = dict(zip(analysis.names, np.asarray((people.labels[..., who] >= 0).any(axis=0)), strict=True))
        yield rows.assign(n=rows["dimension"].map(n))[rows["dimension"].map(there)]


def _by_rule(analysis: Analysis, people: People, rule: str, own: Scored, base: Scored) -> pd.DataFrame:
    """Make one row per cell of the verdicts: the judges by a rule, and beside the labels compared with."""
    verdicts = analysis.verdicts
    both = np.concatenate([own.accuracy.adds, base.accuracy.adds], axis=2)
    measures = {
        "accuracy": Measure(own.accuracy, intervals.share),
        "majority_accuracy": Measure(base.accuracy),
        "difference": Measure(Quantity(both, difference_of_ratios), intervals.varying_difference),
    }
    if own.decisive is not None:
        measures["decisive_accuracy"] = Measure(own.decisive)
    rows, made = grid(analysis, verdicts.cells[["judge", "dimension"]], measures)
    rows = rows.assign(part=RULE, rule=rule, rank=own.order.rank, n_common=own.order.n_common)
    rows = rows.assign(majority_rank=base.order.rank, n_excluded=(verdicts.total() > 0).sum(axis=0) - rows["n"])
    if rule == MAJORITY:
        rows[["difference", "difference_low", "difference_high"]] = np.nan
    else:
        p = t_test(made["difference"][0])
        correction = analysis.correction or "holm"
        family = verdicts.dimension * (analysis.family == "dimension")
        rows = rows.assign(p_value=p, p_adjusted=adjust_families(p, family, correction)[0], correction=correction)
    single = (people.votes.sum(axis=2) == 1).any(axis=0) & (rule == "unanimous")
    unranked = np.where(own.order.is_partial, PARTIAL, np.where(rows["rank"].isna(), ONE_SIDE, ""))
    rows["reason"] = [
        join_reasons(SINGLE_VOTES if single[d] else "", why if n else people.absence(int(d), rule) or NO_CASES)
        for d, n, why in zip(verdicts.dimension, rows["n"], unranked, strict=True)
    ]
    return rows


def difference_of_ratios(sums: np.ndarray) -> np.ndarray:
    """Return the ratio of the first two sums less that of the other two."""
    return np.asarray(ratio(sums[..., :2]) - ratio(sums[..., 2:]))


def _wrong_labels(
    analysis: Analysis, people: People, majority: FloatArray, accuracy: Quantity, rows: pd.DataFrame
) -> pd.DataFrame:
    """Return how many majority labels may be wrong, and bounds of the accuracy by the true labels; see `gold_rules`.

    Parameters
    ----------
    majority : shape (cases, dimensions, K)
    rows : those by the majority
    """
    d, total = analysis.verdicts.dimension, people.votes.sum(axis=2)
    score, counted = np.moveaxis(accuracy.adds, 2, 0)
    split = counted * ((total >= 3) & (people.votes.max(axis=2) < total))[:, d]
    adds = np.stack([score, counted, split, split * (score > 1 - _SAME), counted * (total < 3)[:, d]], axis=2)
    fits = [people.fits[each] for each in d]
    cap = np.array([np.nan if fit is None else 1 - 1 / max(int(fit.given.sum()), 1) for fit in fits])

    def wrong(sums: np.ndarray) -> np.ndarray:
        share = np.minimum(1 - np.nan_to_num(divide(sums[..., 3], sums[..., 2])), cap)
        return divide((1 + _UNANIMOUS_WRONG) * sums[..., 2] * share + sums[..., 4] * cap, sums[..., 1])

    error = 1 - (people.posterior * majority).sum(axis=2)[:, d]
    measures = {
        "label_error": Measure(mean(np.where(counted > 0, error, np.nan))),
        "label_error_most": Measure(Quantity(adds, wrong)),
        "least": Measure(Quantity(adds, lambda sums: ratio(sums) - wrong(sums)), intervals.t),
        "greatest": Measure(Quantity(adds, lambda sums: ratio(sums) + wrong(sums)), intervals.t),
    }
    out, _ = grid(analysis, analysis.verdicts.cells[["judge"]], measures)
    most = out["label_error_most"]
    low, high = np.fmin(out["least_low"], rows["low"] - most), np.fmax(out["greatest_high"], rows["high"] + most)
    bounds = {"bound_low": np.maximum(low, 0.0), "bound_high": np.minimum(high, 1.0)}
    return out[["label_error", "label_error_most"]].assign(**bounds)


def _taus(verdicts: Verdicts, base: Scored, other: Scored) -> pd.DataFrame:
    """Return Kendall's tau-b between two orders of the judges, one row per dimension."""
    rows: list[dict[str, Any]] = []
    for number, dimension in enumerate(verdicts.dimensions):
        own = verdicts.dimension == number
        pair = np.stack([base.order.measure[own], other.order.measure[own]], axis=1).round(12)
        pair = pair[np.isfinite(pair).all(axis=1)]
        reason = ONE_JUDGE if len(pair) < 2 else NO_ORDER if (pair == pair[0]).all(axis=0).any() else ""
        tau = np.nan if reason else float(kendalltau(*pair.T).statistic)
        rows.append({"dimension": dimension, "kendall_tau": tau, "n_judges": len(pair), "reason": reason})
    return pd.DataFrame(rows)


class Reviewed(NamedTuple):
    """The labels before and after review, each of shape (cases, dimensions), and counts of labels by dimension."""

    labels: tuple[IntArray, IntArray]
    counts: pd.DataFrame


def _reviewed_labels(analysis: Analysis) -> Reviewed | None:
    """Return the labels as reviewers corrected them; None where they reviewed none."""
    if analysis.adjudications is None:
        return None
    after = adjudicated_gold(replace(analysis, rule=MAJORITY).annotated_gold, analysis.adjudications)
    if not after["label_source"].eq(REVIEWERS).any():
        return None
    after = after[after["dimension"].isin(analysis.names)]
    kept, had = after["choice"].notna(), after["annotated_choice"].notna()
    counts = {
        "n_adjudicated": after["label_source"].eq(REVIEWERS),
        "n_changed": kept & (after["choice"] != after["annotated_choice"]),
        "n_removed": ~kept & had,
    }
    before = after.assign(choice=after["annotated_choice"])
    about = analysis.cases["case_id"], analysis.names, analysis.verdicts.categories
    labels = labels_of(before, *about), labels_of(after, *about)
    return Reviewed(labels, pd.DataFrame(counts).groupby(after["dimension"]).sum())


def _errors(analysis: Analysis, people: People, offered: Sequence[str]) -> pd.DataFrame:
    """Make the rows about annotators: how often each errs, and what each makes of every true label.

    Parameters
    ----------
    offered : the labels that annotators may give
    """
    names, frames = people.coded.annotators, list[pd.DataFrame]()
    for number, (dimension, fit) in enumerate(zip(analysis.names, people.fits, strict=True)):
        if fit is None:
            reason = people.absence(number) or FEW_ANNOTATORS
            frames.append(pd.DataFrame([{"dimension": dimension, "part": ANNOTATOR, "n": 0, "reason": reason}]))
            continue
        rows = model_rows(fit, names, people.categories, analysis.sampling).assign(dimension=dimension)
        kept = [rows[name].isna() | rows[name].isin(list(offered)) for name in ("gold", "label")]
        frames.append(rows[kept[0] & kept[1]])
    if all(fit is None for fit in people.fits):
        return pd.concat(frames)
    peers = peer_rows(analysis, people.labels, names, len(people.categories)).assign(part=ANNOTATOR)
    shown = ["dimension", "part", "annotator", "peer_gap", "peer_gap_low", "peer_gap_high", "p_value", "p_adjusted"]
    rows = pd.concat(frames).merge(peers[[*shown, "correction"]], on=shown[:3], how="left")
    alone = rows["part"].eq(ANNOTATOR) & rows["peer_gap"].isna() & rows["n"].gt(0)
    rows["reason"] = [
        join_reasons(text, NO_PEERS if each else "") for text, each in zip(rows["reason"], alone, strict=True)
    ]
    return rows
