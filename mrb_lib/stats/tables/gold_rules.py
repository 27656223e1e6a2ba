"""Would another gold rule change the leaderboard, and how often do the annotators err?"""

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import ADJUDICATED, Analysis
from mrb_lib.stats.annotators import MAJORITY, POSTERIOR, Annotations, adjudicated_gold, encode_annotations, plurality
from mrb_lib.stats.clusters import MOST_OF_ONE
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, t_test
from mrb_lib.stats.dawid_skene import Fit, Fitted, em
from mrb_lib.stats.estimation import Quantity, Sampling, divide, estimate, mean, ratio, weighted_mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.multiplicity import adjust_rows
from mrb_lib.stats.options import FloatArray, IntArray
from mrb_lib.stats.phrases import human_level, main_dimension, main_rows, opening
from mrb_lib.stats.scoring import Ranking, balanced_mean, decisive_worth, on_common_cases, score
from mrb_lib.stats.tables.accuracy import PARTIAL
from mrb_lib.stats.verdicts import Verdicts, labels_of

RULE, RANKING, LEFT_OUT = "rule", "ranking", "left_out"
ANNOTATOR, CONFUSION, PREVALENCE = "annotator", "confusion", "prevalence"
NO_MASS = "no annotator gives this label, or no case of the annotator is estimated to have it"
NO_PEERS = "no case has the labels of two other annotators"
NOT_CONVERGED = "the EM algorithm did not converge"
TOO_MANY = "too many different rows of labels to fit again in every resample"
CROSSED = "two columns of clusters cross, which resamples of one do not show"
MOST_REFITS = 1000
_TOLERANCE, _ITERATIONS, _MOST_WORK, _TINY = 1e-4, 300, 2**28, 1e-12
UNRANKED = f"{PARTIAL}, or gold names one side only"
NO_ORDER = "fewer than two judges are ranked by both rules, or the judges are all equal by one of the rules"
_ORDERS, _MODEL = (RANKING, LEFT_OUT), (ANNOTATOR, CONFUSION, PREVALENCE)
_SAME: Final = 1e-9
_DAWID: Final = "Dawid & Skene 1979, doi:10.2307/2346806"


def order_and_errors(rows: pd.DataFrame) -> str:
    """Say how the gold rule changes the order of the judges, and how often annotators err."""
    return f"{opening(main_dimension(rows))}, {_order(rows)} {_people(rows)}"


def _order(rows: pd.DataFrame) -> str:
    taus = main_rows(rows, part=RANKING).dropna(subset="kendall_tau")
    taus = taus[taus["rule"] != MAJORITY]
    if taus.empty:
        return "cannot tell whether the gold rule changes the order of the judges."
    least, names = taus.nsmallest(1, "kendall_tau").iloc[0], ", ".join(taus["rule"]).replace("_", " ")
    if least["kendall_tau"] > 1 - _SAME:
        return f"the order of the {least['n_judges']} judges is the same by the majority and by the rules {names}."
    return (
        f"the rule {least['rule'].replace('_', ' ')} changes the order of the {least['n_judges']} judges most: "
        f"Kendall's tau with the majority's order is {least['kendall_tau']:.2f}, where 1 is the same order."
    )


def _people(rows: pd.DataFrame) -> str:
    known = main_rows(rows, part=ANNOTATOR).dropna(subset="probability")
    if known.empty:
        return "How often each annotator errs is not known: the model needs three annotators."
    apart = known[(known["p_adjusted"] <= ALPHA) & (known["peer_gap"] < 0)].sort_values("peer_gap")["annotator"]
    found = "No annotator agrees significantly less with the others than they agree with each other."
    if len(apart):
        some = ", ".join(apart[:3]) + (" and others" if len(apart) > 3 else "")
        agree = "agrees" if len(apart) == 1 else "agree"
        found = f"{some} {agree} significantly less with the others than they agree with each other."
    wrong = main_rows(rows, part=RULE, rule=MAJORITY)["label_error"].median()
    majority = "" if np.isnan(wrong) else f", and the majority is wrong on {wrong:.0%}"
    return (
        f"If annotators err independently, the median annotator of {len(known)} is right on "
        f"{known['probability'].median():.0%} of the cases{majority}. {found} {human_level('gold_rules')}"
    )


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
        Column("rank", "place by decisive accuracy on the cases that all share", "rank", null=UNRANKED, parts=(RULE,)),
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
        Column("kendall_tau", "Kendall's tau-b with the majority's order", "coefficient", null=NO_ORDER, parts=_ORDERS),
        Column("n_judges", "judges ranked by both rules", "count"),
        estimated("probability", "of the label, of giving it, or of being right", "share 0-1", _DAWID, NO_MASS, _MODEL),
        estimated("peer_gap", "agreement with others minus that among them", "difference", "", NO_PEERS, (ANNOTATOR,)),
        shared("p_value", "p_adjusted", "correction"),
    ],
    sentence=order_and_errors,
    uses=("adjudications", "policy", "dimension", "cluster", "resamples", "seed", "correction", "family", "probe"),
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
    `annotator`, `confusion` and `prevalence`: see `model_rows` and `peer_rows`. Consensus labels are no votes.
    """
    if not analysis.names:
        return pd.DataFrame(columns=["dimension"])
    analysis, meta = replace(analysis, by=None), analysis.benchmark.meta
    codes = analysis.verdicts.categories if meta.is_judged else meta.categories
    people = encode_annotations(analysis.annotations, analysis.cases, codes, analysis.names)
    frames = _rules(analysis, people) if len(analysis.verdicts.cells) else []
    rows = pd.concat([*frames, _errors(analysis, people)], ignore_index=True)
    rows = adjust_rows(rows, analysis, ["dimension"], "part", "rule")
    return rows.iloc[rows["dimension"].map(analysis.names.index).argsort(kind="stable")]


class Scored(NamedTuple):
    """The judges by one rule: accuracy, decisive accuracy (None of ratings), and their order."""

    accuracy: Quantity
    decisive: Quantity | None
    order: Ranking


def _rules(analysis: Analysis, people: Annotations) -> list[pd.DataFrame]:
    """Make the rows about judges: by every rule, and how their order changes, also without each annotator."""
    verdicts, policy = analysis.verdicts, analysis.policy
    every = [np.full(people.votes.shape[:2], code) for code in range(len(people.categories))]
    worth = np.stack([score(verdicts, each, policy).score for each in every], axis=2)
    sides = [decisive_worth(verdicts, each, policy)[0] for each in every[:2]] if verdicts.tie >= 0 else []

    def scored(weights: FloatArray) -> Scored:
        """Return the judges by labels with probabilities of shape (cases, dimensions, K), NaN without a label."""
        own = weights[:, verdicts.dimension]
        counted = np.asarray(np.isfinite(own).all(axis=2) & np.isfinite(worth).all(axis=2))
        own = np.where(counted[..., None], own, 0.0)
        total = own.sum(axis=2)
        accuracy = weighted_mean(divide((np.nan_to_num(worth) * own).sum(axis=2), total), total)
        decisive = balanced_mean(np.stack(sides, axis=2), own[..., :2]) if sides else None
        return Scored(accuracy, decisive, on_common_cases(verdicts, accuracy, decisive))

    made = {rule: scored(weights) for rule, weights in people.weights().items()}
    base, reviewed = made[MAJORITY], _reviewed(analysis, people)
    frames = [_by_rule(analysis, people, rule, own, base) for rule, own in made.items()]
    orders = [_taus(verdicts, base, own).assign(part=RANKING, rule=rule) for rule, own in made.items()]
    if reviewed is not None:
        labels, counts = reviewed
        before, after = map(scored, labels)
        frames.append(_by_rule(analysis, people, ADJUDICATED, after, before).join(counts, on="dimension"))
        orders.append(_taus(verdicts, before, after).assign(part=RANKING, rule=ADJUDICATED))
    for who, name in enumerate(people.annotators):
        decided = plurality(people.votes - people.one_hot(people.labels[..., who]))
        rows = _taus(verdicts, base, scored(decided)).assign(part=LEFT_OUT, rule=MAJORITY, annotator=name)
        rows["n"] = np.isfinite(decided[..., 0]).sum(axis=0)
        orders.append(rows.loc[np.asarray((people.labels[..., who] >= 0).any(axis=0))])
    return [pd.concat(frames).sort_index(kind="stable"), *orders]


def _by_rule(analysis: Analysis, people: Annotations, rule: str, own: Scored, base: Scored) -> pd.DataFrame:
    """Make one row per cell of the verdicts: the judges by a rule, and beside the labels compared with."""
    verdicts = analysis.verdicts
    measures = {"accuracy": Measure(own.accuracy, intervals.share), "majority_accuracy": Measure(base.accuracy)}
    if own.decisive is not None:
        measures["decisive_accuracy"] = Measure(own.decisive)
    if rule == MAJORITY:
        error = 1 - (people.posterior * plurality(people.votes)).sum(axis=2)[:, verdicts.dimension]
        measures["label_error"] = Measure(mean(np.where(own.accuracy.adds[..., 1] > 0, error, np.nan)))
    else:
        both = np.concatenate([own.accuracy.adds, base.accuracy.adds], axis=2)
        difference = Quantity(both, lambda sums: ratio(sums[..., :2]) - ratio(sums[..., 2:]))
        measures["difference"] = Measure(difference, intervals.varying_difference)
    rows, made = grid(analysis, verdicts.cells[["judge", "dimension"]], measures)
    rows = rows.assign(part=RULE, rule=rule, rank=own.order.rank)
    rows = rows.assign(majority_rank=base.order.rank, n_excluded=(verdicts.total() > 0).sum(axis=0) - rows["n"])
    if rule != MAJORITY:
        rows["p_value"] = t_test(made["difference"][0])
    return rows.assign(reason=["" if rule == ADJUDICATED else people.absence(d, rule) for d in verdicts.dimension])


def _taus(verdicts: Verdicts, base: Scored, other: Scored) -> pd.DataFrame:
    """Return Kendall's tau-b between two orders of the judges, one row per dimension."""
    measures = verdicts.cells.assign(one=base.order.measure.round(12), other=other.order.measure.round(12))
    ranked = measures.dropna(subset=["one", "other"])
    of = dict(iter(ranked.groupby("dimension")[["one", "other"]]))
    pairs = [of.get(name, ranked.head(0)) for name in verdicts.dimensions]
    taus = [pair["one"].corr(pair["other"], method="kendall", min_periods=2) for pair in pairs]
    return pd.DataFrame({"dimension": verdicts.dimensions, "kendall_tau": taus, "n_judges": list(map(len, pairs))})


def _reviewed(analysis: Analysis, people: Annotations) -> tuple[list[FloatArray], pd.DataFrame] | None:
    """Return the labels before and after review, as shares, and counts by dimension; None where none was reviewed."""
    if analysis.adjudications is None:
        return None
    gold = adjudicated_gold(replace(analysis, rule=MAJORITY).annotated_gold, analysis.adjudications)
    if not gold["n_reviewers"].any():
        return None
    gold = gold[gold["dimension"].isin(analysis.names)]
    before, after = gold["annotated_choice"], gold["choice"]
    counts = gold[["dimension"]].assign(
        n_adjudicated=gold["n_reviewers"] > 0,
        n_changed=after.notna() & (after != before),
        n_removed=after.isna() & before.notna(),
    )
    about = analysis.cases["case_id"], analysis.names, people.categories
    labels = [people.one_hot(labels_of(gold.assign(choice=each), *about), np.nan) for each in (before, after)]
    return labels, counts.groupby("dimension").sum()


def _errors(analysis: Analysis, people: Annotations) -> pd.DataFrame:
    """Make the rows about annotators: how often each errs, and what each makes of every true label."""
    frames = []
    for number, (dimension, item) in enumerate(zip(analysis.names, people.fits, strict=True)):
        none = {"part": ANNOTATOR, "annotator": None, "n": 0, "reason": people.absence(number, POSTERIOR)}
        rows = model_rows(analysis, people, item) if item else pd.DataFrame([none])
        frames.append(rows.assign(dimension=dimension))
    peers = peer_rows(analysis, people).assign(part=ANNOTATOR)
    return pd.concat(frames).merge(peers, on=["dimension", "part", "annotator"], how="left").assign(rule=None)


def model_rows(analysis: Analysis, people: Annotations, item: Fitted) -> pd.DataFrame:
    """Return what the model of a dimension estimates, with 95% intervals: parts confusion, annotator and prevalence.

    Notes
    -----
    Dawid and Skene (1979), doi:10.2307/2346806. The model takes annotators as independent given the true label: an
    error that they share is taken for the truth. It is fitted again in every resample of clusters (1,000 at most). The
    interval is Wilson's for the number of cases that would give the variance of the bootstrap (of a whole row of a
    confusion matrix together), at most the annotator's cases expected to have the true label: an estimate of 0 or 1 has
    no bootstrap variance. Recovery and coverage: tests/simulation/test_annotators.py.
    """
    fit, own, labels = item.fit, analysis.sampling.take(item.items), list(people.categories)
    again, lacks = _refitted(item, own)
    names, given = [people.annotators[rater] for rater in item.raters], np.asarray(item.counts.any(axis=(0, 1)))
    saw = np.asarray(item.counts.any(axis=2))[item.kind].astype(np.float64)
    n, expected = saw.sum(axis=0), saw.T @ np.nan_to_num(fit.posterior[0][item.kind])
    confusion = np.where(given[:, None] & given, fit.confusion[0], np.nan)
    prevalence, every = np.where(given, fit.prevalence[0], np.nan), np.full(len(labels), float(len(item.items)))
    of_row, of_one, of_label = map(kish_size, (again.confusion, again.right[..., None], again.prevalence[..., None]))
    index = {"annotator": names, "gold": labels, "label": labels}
    rows = pd.concat([
        _part(CONFUSION, index, confusion, np.minimum(of_row, expected)[..., None], n[:, None, None]),
        _part(ANNOTATOR, {"annotator": names}, fit.right[0], np.minimum(of_one, n), n),
        _part(PREVALENCE, {"gold": labels}, prevalence, np.minimum(of_label, every), every),
    ])  # fmt: skip
    offered = [None, np.nan, *analysis.benchmark.meta.categories]
    rows = rows[rows["gold"].isin(offered) & rows["label"].isin(offered)]
    largest = np.bincount(own.codes).max() / len(own.codes)
    reason = "" if fit.converged[0] else NOT_CONVERGED
    return rows.assign(n_clusters=own.draws.shape[1], largest=largest, lacks=lacks, reason=reason)


def _part(part: str, index: dict[str, list[str]], value: FloatArray, size: FloatArray, n: FloatArray) -> pd.DataFrame:
    """Return probabilities as rows, with Wilson's intervals for so many cases; `n` is the cases that they rest on."""
    low, high = intervals.wilson(value, size)
    columns = {"n": np.broadcast_to(n, value.shape), "probability": value}
    columns |= {"probability_low": low, "probability_high": high}
    rows: pd.DataFrame = pd.MultiIndex.from_product(list(index.values()), names=list(index)).to_frame(index=False)
    return rows.assign(part=part, **{name: values.ravel() for name, values in columns.items()})


def _refitted(item: Fitted, sampling: Sampling) -> tuple[Fit, str | None]:
    """Return the model in every resample, or in none, and why where it is not for want of clusters or resamples."""
    draws, counts = sampling.draws[:MOST_REFITS], item.counts
    is_too_much = counts.size * counts.shape[2] * len(draws) > _MOST_WORK
    lacks = CROSSED if sampling.crossed is not None else TOO_MANY if is_too_much else None
    if lacks or draws.shape[1] < 2 or np.bincount(sampling.codes).max() > MOST_OF_ONE * len(sampling.codes):
        draws = draws[:0]
    weights = draws @ sampling.sums((item.kind[:, None] == np.arange(len(counts))).astype(np.float64))
    start = item.fit.posterior[0]
    return em(counts, weights, start=start, tolerance=_TOLERANCE, iterations=_ITERATIONS), lacks


def kish_size(probability: FloatArray) -> FloatArray:
    """Return how many cases would give probabilities their variance over resamples (Kish 1965).

    Parameters
    ----------
    probability : shape (b, ..., K), a distribution over the last axis, or one probability of two

    Returns
    -------
    Shape (...): infinite where there is no variance, NaN where fewer than half of the resamples have a value
    """
    known = np.isfinite(probability).sum(axis=0)
    n = np.maximum(known, 1)
    mean_of = np.nansum(probability, axis=0) / n
    variance = (np.nansum((probability - mean_of) ** 2, axis=0) / n).sum(axis=-1)
    size = np.where(variance > _TINY, divide((mean_of * (1 - mean_of)).sum(axis=-1), variance), np.inf)
    return np.where((known < max(len(probability), 1) / 2).any(axis=-1), np.nan, size)


def peer_gaps(labels: IntArray, k: int) -> FloatArray:
    """Return how much more an annotator agrees with the others of a case than those with each other.

    Parameters
    ----------
    labels : shape (cases, dimensions, annotators), codes of k labels, -1 for none

    Returns
    -------
    The share of the others with the same label less the share of their pairs with one label, of the same shape; NaN
    where a case has fewer than two others. Its mean is 0 for annotators who are alike.
    """
    given = (labels[..., None] == np.arange(k)).astype(np.float64)
    votes = given.sum(axis=2, keepdims=True)
    others, rest = votes.sum(axis=-1) - 1, votes - given
    agree = divide((given * rest).sum(axis=-1), others)
    together = divide((rest * (rest - 1)).sum(axis=-1), others * (others - 1))
    return np.where((labels >= 0) & (others >= 2), agree - together, np.nan)


def peer_rows(analysis: Analysis, people: Annotations) -> pd.DataFrame:
    """Return for each dimension and annotator the mean of `peer_gaps`, with a test.

    Notes
    -----
    Student's t test. The standard error is the larger of that over clusters and that if annotators of a cluster could
    change places, since few cases of disagreement make the first too small. Any innocent one of several annotators is
    accused in at most 7%: tests/simulation/test_annotators.py.
    """
    gaps = peer_gaps(people.labels, len(people.categories))
    index = pd.MultiIndex.from_product([analysis.names, people.annotators], names=["dimension", "annotator"])
    e = estimate(mean(gaps.reshape(len(gaps), len(index))), analysis.sampling)
    sums, there = e.sampling.sums(np.nan_to_num(gaps)), e.sampling.sums(np.isfinite(gaps)) > 0
    spread = divide((sums**2).sum(axis=2), there.sum(axis=2))
    placed = np.sqrt((there * np.nan_to_num(spread)[..., None]).sum(axis=0)).ravel()
    e = replace(e, error=np.maximum(e.error, divide(placed, e.n)))
    ends = intervals.t(e)
    rows = index.to_frame(index=False).assign(peer_gap=e.value, peer_gap_low=ends.low, peer_gap_high=ends.high)
    return rows.assign(p_value=t_test(e))
