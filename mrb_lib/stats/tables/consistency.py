"""Does a judge choose the same when the responses change places, or when asked again?"""

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, corrected, paired_tests
from mrb_lib.stats.estimation import FloatArray, Quantity, average, divide, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.options import with_ends
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, percent
from mrb_lib.stats.verdicts import TIE, agreeing_repeats, votes_of
from mrb_lib.tables.schema import CHOICES, ORDERS

A, B = CHOICES.index("A"), CHOICES.index("B")
ONE_ORDER = "no case was presented in both orders"
NOT_ANSWERED = "no case was answered in both orders"
RATINGS = "ratings of one response have one order; only repeats are compared (repeat_agreement)"
ONE_TIE = "consistency_decisive: every case has a tie in one of the orders"
ALL_TIES = "first_rate: no verdict is decisive"
NO_REPEATS = "repeat_agreement: no case was answered twice in one order"
NOT_REPEATED = "position_preference and position_noise: no case was answered twice in each order"


def sentence(rows: pd.DataFrame) -> str:
    """Say how often judges choose the same in both orders, and how many significantly favour a position."""
    where, own = opening(main_dimension(rows)), main_rows(rows)
    known, again = own.dropna(subset="consistency"), own.dropna(subset="repeat_agreement")
    if known.empty and again.empty:
        return f"{where}, no judge was asked about a case twice."
    if known.empty:
        return f"{where}, {_extremes(again, 'repeat_agreement', 'makes the same choice when asked again on')}."
    leaning, whose = int((known["p_adjusted"] <= ALPHA).sum()), "any" if len(known) > 1 else "the"
    found = f"Cannot tell whether {whose} judge favours one position"
    if leaning:
        who = f"{leaning} of {len(known)} judges" if len(known) > 1 else "The judge"
        found = f"{who} significantly favour{'s' if leaning == 1 else ''} one position"
    most = _extremes(known, "consistency", "makes the same choice in both orders of the responses on")
    return f"{where}, {most}. {found}."


def _extremes(known: pd.DataFrame, name: str, what: str) -> str:
    """Say of which judge a share is the largest, and of which it is the smallest."""
    most, least = known.nlargest(1, name).iloc[0], known.nsmallest(1, name).iloc[0]
    # n counts cases answered in both orders; there are none where judges saw one
    said = f"{most['judge']} {what} {percent(most, name)} of {int(most['n']):,} cases".replace(" 0 cases", " cases")
    if most[name] == least[name]:
        return f"{said}, as do all {len(known)} judges" if len(known) > 1 else said
    return f"{said}, the most of {len(known)} judges; the least is {percent(least, name)} ({least['judge']})"


@table(
    "consistency",
    question="does a judge choose the same when the responses change places, or when asked again",
    columns=[
        shared("judge", "dimension", "subfields"),
        Column("n", "cases answered in both orders of the responses; of ratings, twice", "cases"),
        shared("clusters"),
        Column("coverage", "n over the cases presented in both orders; of ratings, twice", "share 0-1"),
        estimated("consistency", "share with the same choice in both orders, ties included"),
        Column("consistency_decisive", "the same without cases with a tie in one order", "share 0-1", null=ONE_TIE),
        estimated("first_rate", "share of decisive verdicts for the response shown first", null=ALL_TIES),
        Column("tie_rate", "share of ties among verdicts with a choice", "share 0-1"),
        estimated("position_bias", "share choosing the first shown minus the second", "difference", "Tango 1998"),
        shared("tests"),
        estimated("repeat_agreement", "share of agreeing pairs of repeats in the same order", null=NO_REPEATS),
        Column("n_repeated", "cases answered twice or more in each order", "cases"),
        estimated("position_preference", "share of verdicts that differ because of the order", null=NOT_REPEATED),
        estimated("position_noise", "share that differs between orders as it does between repeats"),
    ],
    sentence=sentence,
    headline=("consistency", "position_bias", "p_adjusted"),
    uses=("by", "dimension", "cluster", "correction", "family"),
    why_no_ratings="",
)
def consistency(analysis: Analysis) -> pd.DataFrame:
    """Measure order consistency, position bias and agreement between repeats of each judge.

    A case counts once, by the mean over its repeats. The p value, by flips of
    the signs of cases, is of no position bias. Of ratings, which have one
    order, all but `repeat_agreement` is null.

    Notes
    -----
    Let a judge choose with probabilities p in one order and q in the other. Two verdicts in different orders differ
    with probability 1 - sum(p q), two in one order with 1 - (sum(p^2) + sum(q^2)) / 2, the noise; the rest, sum((p -
    q)^2) / 2, is what the order makes. Both are estimated from pairs of repeats without bias, so that a preference may
    fall below zero. Shares have Wilson's interval, also at 0 and 1; differences that of a score test.
    """
    rows = pd.concat([_measured(own) for own in analysis.in_turn()])
    rows = rows.assign(place=rows["dimension"].map(analysis.names.index))
    rows = rows.sort_values(["group_number", "judge", "place"], kind="stable", ignore_index=True)
    return rows if analysis.meta.is_rating else corrected(rows, analysis)


def _measured(analysis: Analysis) -> pd.DataFrame:
    """Measure the judges in every dimension, with p values that are not corrected."""
    cells = analysis.verdicts.cells[["judge", "dimension"]]
    if analysis.meta.is_rating:
        return grid(analysis, cells, _of_ratings(analysis))[0].assign(reason=RATINGS)
    rows, made = grid(analysis, cells, _between_orders(analysis))
    first_rate = with_ends("first_rate")
    rows[first_rate] = ((1 + rows[first_rate]) / 2).round(12)
    rows["n_repeated"] = np.concatenate([e.n for e in made["position_noise"]])
    rows["reason"] = np.select([rows["coverage"].isna(), rows["n"] == 0], [ONE_ORDER, NOT_ANSWERED], "")
    tests = [paired_tests(divide(*np.moveaxis(e.quantity.adds, 2, 0)), e) for e in made["position_bias"]]
    return rows.join(pd.concat(tests, ignore_index=True)).assign(difference=rows["position_bias"])


def _of_ratings(analysis: Analysis) -> dict[str, Measure]:
    """The agreement of repeats, and the share of the cases rated twice that have two answers."""
    v = analysis.verdicts
    twice = np.any([v.total(v.order == order) > 1 for order in range(len(ORDERS))], axis=0)
    again = average(agreeing_repeats(votes_of(v)))
    coverage = mean(np.where(twice, np.isfinite(again), np.nan))
    return {"repeat_agreement": Measure(mean(again), intervals.proportion), "coverage": Measure(coverage)}


def _between_orders(analysis: Analysis) -> dict[str, Measure]:
    """All measures of preferences; `first_rate` is measured from -1 (always the second) to 1."""
    v = analysis.verdicts
    both, votes = v.both_orders(), votes_of(v)
    ab, ba = both["ab"], both["ba"]
    is_answered = (ab >= 0) & (ba >= 0)
    equal = ((ab == ba) * 1.0).where(is_answered)
    leaning = (((ab == A) * 1.0 - (ba == A) + (ba == B) - (ab == B)) / 2).where(is_answered)

    def by_case(values: pd.Series) -> FloatArray:
        """The mean over pairs of verdicts of each case, shape (cases, cells)."""
        means = both.assign(value=values).pivot_table("value", "case", "cell")
        return means.reindex(range(v.n_cases), columns=range(len(v.cells))).to_numpy(np.float64)

    n = votes.sum(axis=1)
    first, second = votes[0, A] + votes[1, B], votes[0, B] + votes[1, A]
    first_less_second = np.stack([first - second, first + second], axis=2)
    again = agreeing_repeats(votes)
    repeated = average(again)
    split = np.where(np.isfinite(again).all(axis=0), repeated, np.nan)
    across = divide((votes[0] * votes[1]).sum(axis=0), n[0] * n[1])
    return {
        "consistency": Measure(mean(by_case(equal)), intervals.proportion),
        "coverage": Measure(mean(np.sign(by_case(is_answered * 1.0)))),
        "consistency_decisive": Measure(mean(by_case(equal.where((ab != TIE) & (ba != TIE))))),
        "first_rate": Measure(Quantity(first_less_second, weight=first_less_second[..., 1]), intervals.lean),
        "tie_rate": Measure(Quantity(np.stack([votes[:, TIE].sum(axis=0), n.sum(axis=0)], axis=2))),
        "position_bias": Measure(mean(by_case(leaning)), intervals.lean),
        "repeat_agreement": Measure(mean(repeated), intervals.proportion),
        "position_preference": Measure(mean(split - across), intervals.lean),
        "position_noise": Measure(mean(1 - split), intervals.proportion),
    }
