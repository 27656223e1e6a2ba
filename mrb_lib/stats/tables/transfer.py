"""Does what is measured of judges in some domains (institutions, datasets, subfields) hold in others?"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA
from mrb_lib.stats.estimation import IntArray, sums_by
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.phrases import interval, main_dimension, opening
from mrb_lib.stats.pooling import Pooled, domain_accuracies, pool, proportion
from mrb_lib.stats.rankings import MOST_PERMUTATIONS, by_domain, expected, shuffled, straddles, taus
from mrb_lib.stats.scoring import decisive_worth, ranking
from mrb_lib.stats.subfields import columns_of, subfield_values
from mrb_lib.tables.errors import InputError

DOMAIN, SUMMARY, LEAVE_ONE_OUT, RANKING = "domain", "summary", "leave_one_out", "ranking"
DOMAINS: Final = ("institution", "dataset", "department")
SUMMARIES: Final = (SUMMARY, LEAVE_ONE_OUT)
SCORED: Final = (DOMAIN, *SUMMARIES)
BINOMIAL: Final = "no domain varies: sampling error is taken as binomial"
SHARED: Final = "clusters lie in several domains, which are taken as independent: the p value may be too small"
NO_ERROR: Final = "every domain is one cluster, or has the same score throughout"
NO_MEAN: Final = f"accuracy is undefined: cases can be scored in one domain only, or {NO_ERROR}"
TOO_ALIKE: Final = "domains are more alike than chance makes them"
TWO_DOMAINS: Final = "no prediction interval: it takes three domains"
UNKNOWN: Final = "domain_inside is unknown: no case of this domain can be scored, or fewer than three others are known"
NOT_RANKED: Final = "not ranked: it judged too few of the cases, or no case has a clear winner"
ONE_ORDER: Final = "kendall_tau is undefined: all judges are equal there, or there are fewer than two judges or domains"
NOT_EXPECTED: Final = "nothing is expected: fewer than half of the permutations define kendall_tau"
_Z = float(ndtri(0.975))


def default_domain(cases: pd.DataFrame) -> str:
    """Return the first of `DOMAINS` with several values among the cases, or else the first that has any.

    Raises
    ------
    InputError
        There is none.
    """
    filled = [name for name in DOMAINS if name in cases.columns and cases[name].notna().any()]
    if not filled:
        raise InputError(f"transfer: the cases state none of {', '.join(DOMAINS)}; name another column with `by`.")
    return next((name for name in filled if cases[name].nunique() > 1), filled[0])


def in_a_new_domain(rows: pd.DataFrame) -> str:
    """Say what to expect of the judge that ranks first in a new domain, and how many judges differ between domains."""
    dimension, by = main_dimension(rows), rows["by"].iloc[0]
    own = rows[rows["part"].eq(SUMMARY) & rows["dimension"].eq(dimension) & rows["by"].eq(by)].dropna(subset="accuracy")
    ranked = own.dropna(subset="rank").sort_values(["rank", "judge"])
    if ranked.empty:
        return f"{opening(dimension)}, cannot tell what to expect in a new domain: that takes judges ranked in two."
    best, differ, left_out = ranked.iloc[0], int((own["p_adjusted"] <= ALPHA).sum()), len(own) - len(ranked)
    new = "cannot tell what to expect in a new one"
    if pd.notna(best["prediction_low"]):
        new = f"in a new one, expect between {best['prediction_low']:.0%} and {best['prediction_high']:.0%}"
    between = "No significant difference between domains; cannot tell."
    if differ:
        between = f"The accuracy of {differ} of {len(own)} judges differs significantly between domains."
    more = f" {left_out} of {len(own)} judges are not ranked: they judged too few of the cases." if left_out else ""
    return (
        f"{opening(dimension)}, {best['judge']} ranks first of {len(ranked)} judges on the cases that they share. Its "
        f"mean accuracy over {int(best['n_domains'])} domains ({by}) is {best['accuracy']:.0%}"
        f"{interval(best['low'], best['high'])}; {new}. {between}{more}"
    )


@table(
    "transfer",
    question="does accuracy hold across institutions, datasets or subfields",
    columns=[
        Column("part", "domain, summary (over domains), leave_one_out, or ranking (of judges)", "text"),
        shared("judge", "dimension"),
        Column("subfield", "value of the column by, such as an institution", "text"),
        Column("by", "column of the cases that names the domain", "text"),
        shared("n_unassigned", "policy"),
        Column("rank", "place by decisive accuracy on shared cases", "rank", null=NOT_RANKED, parts=(SUMMARY,)),
        shared("n", "n_excluded", "n_seen", "cluster"),
        Column("n_domains", "domains with a scored case", "count"),
        Column("accuracy", "mean score (over domains)", "share 0-1", ends=("low", "high"), null=NO_MEAN, parts=SCORED),
        Column("weight", "share of the domain in the summary", "share 0-1"),
        Column("prediction_low", "lower 95% end for a new domain", "share 0-1", null=TWO_DOMAINS, parts=SUMMARIES),
        Column("prediction_high", "upper 95% end for a new domain", "share 0-1"),
        shared("tests"),
        estimated("i2", "share of the variation between domains beyond chance", source="Higgins and Thompson 2002"),
        Column("domain_accuracy", "accuracy in the domain left out", "share 0-1"),
        Column("domain_inside", "whether the others predict that", "yes/no", null=UNKNOWN, parts=(LEAVE_ONE_OUT,)),
        Column("kendall_tau", "tau-b of orders here and elsewhere", "coefficient", null=ONE_ORDER, parts=(RANKING,)),
        Column("expected_tau", "mean of random domains", "coefficient", null=NOT_EXPECTED, parts=(RANKING,)),
        Column("expected_low", "lower end of the central 95% of random domains", "coefficient"),
        Column("expected_high", "upper end of the central 95% of random domains", "coefficient"),
    ],
    sentence=in_a_new_domain,
    headline=("rank", "accuracy", "prediction_low", "prediction_high", "kendall_tau"),
    uses=TESTED,
    why_no_ratings="",
)
def transfer(analysis: Analysis) -> pd.DataFrame:
    """Pool accuracies over domains, say what to expect in a new one, and compare the orders of judges.

    Domains are the values of `by`; without it, of `default_domain`. `p_value` is that of Cochran's Q in summaries; in
    rankings, how often random domains agree as little. Each is corrected over all judges, or over all domains.

    Notes
    -----
    The methods are those of `mrb_lib.stats.pooling`; coverage and size are simulated in
    tests/simulation/test_transfer.py. Judges are in the order of their mean score on the cases with a clear winner
    (half credit for a tie), on the cases that all ranked judges share; at most 199 permutations are made.
    """
    frames = []
    for column in columns_of(analysis.by) or [default_domain(analysis.cases)]:
        member, names = pd.factorize(subfield_values(analysis.cases, column), sort=True)
        own = pd.concat([*_accuracies(analysis, member, names), *_rankings(analysis, member, names)], ignore_index=True)
        frames.append(own.assign(by=column, n_unassigned=int((member < 0).sum())))
    rows = pd.concat(frames, ignore_index=True)
    together = [rows[name] for name in ("by", "dimension", "part")] + [rows["subfield"].isna()]
    numbers = np.asarray(rows.groupby(together, dropna=False).ngroup(), dtype=np.int64)
    family = numbers if analysis.family == "dimension" else np.zeros_like(numbers)
    p = np.asarray(rows["p_value"], dtype=np.float64)
    rows["p_adjusted"], size = adjust_families(p, family, analysis.correction or "holm")
    return rows.assign(family=np.where(np.isnan(p), np.nan, size))


def _accuracies(analysis: Analysis, member: IntArray, names: pd.Index) -> list[pd.DataFrame]:
    """Return the accuracy of each judge in each domain, its mean over domains, and that without each domain.

    Parameters
    ----------
    member : shape (cases,), the domain of each case; -1 for none
    """
    cells, k, inside = analysis.verdicts.cells[["judge", "dimension"]], len(names), member >= 0
    found = domain_accuracies(analysis.scores.score, member, k, analysis.sampling)
    other = np.where(np.eye(k, dtype=bool), np.nan, found.effect[:, None]).reshape(-1, k)
    pooled, without = pool(found.effect, found.variance), pool(other, np.repeat(found.variance, k, axis=0))
    size, n, reach = np.bincount(member[inside], minlength=k), found.n.sum(axis=1), _Z * np.sqrt(found.variance)
    certain = np.isfinite(pooled.estimate) & ~((found.accuracy > 0) & (found.accuracy < 1)).any(axis=1)
    straddling = (n > 0) & straddles(member[inside], analysis.sampling.codes[inside])
    own, variance = found.effect.ravel(), found.variance.ravel()
    below = without.new.below(own, variance)
    expects = (below >= 0.025) & (below <= 0.975) | (own >= without.prediction_low) & (own <= without.prediction_high)
    domains = {
        "n": found.n,
        "n_excluded": size - found.n,
        "n_seen": sums_by(np.where(inside, member, k), analysis.verdicts.seen)[:k].T,
        "accuracy": found.accuracy,
        "low": np.minimum(proportion(found.effect - reach), found.accuracy),
        "high": np.maximum(proportion(found.effect + reach), found.accuracy),
        "weight": pooled.weight,
    }
    others = {
        **_pooled_columns(without),
        "n": n[:, None] - found.n,
        "n_excluded": found.n,
        "domain_accuracy": found.accuracy,
        "domain_inside": np.where(np.isnan(below), np.nan, expects),
    }
    of_domain = cells.loc[cells.index.repeat(k)].reset_index(drop=True)
    of_domain = of_domain.assign(subfield=np.tile(names.to_numpy(object), len(cells)))
    return [
        of_domain.assign(part=DOMAIN, lacks=NO_ERROR, **{name: each.ravel() for name, each in domains.items()}),
        cells.assign(
            part=SUMMARY,
            lacks=TOO_ALIKE,
            rank=ranking(analysis.verdicts, analysis.labels, analysis.policy).rank,
            n=n,
            n_excluded=size.sum() - n,
            n_seen=analysis.verdicts.seen[inside].sum(axis=0),
            p_value=pooled.p_value,
            reason=np.where(certain, BINOMIAL, np.where(straddling, SHARED, "")),
            **_pooled_columns(pooled),
        ),
        of_domain.assign(part=LEAVE_ONE_OUT, lacks=TOO_ALIKE, **{name: each.ravel() for name, each in others.items()}),
    ]


def _pooled_columns(pooled: Pooled) -> dict[str, NDArray[Any]]:
    """Return the columns that a summary and a summary without a domain share."""
    names = ("low", "high", "prediction_low", "prediction_high")
    shares = {"accuracy": proportion(pooled.estimate)} | {name: proportion(getattr(pooled, name)) for name in names}
    return shares | {"i2": pooled.i2, "i2_low": pooled.i2_low, "i2_high": pooled.i2_high, "n_domains": pooled.k}


def _rankings(analysis: Analysis, member: IntArray, names: pd.Index) -> list[pd.DataFrame]:
    """Return tau of all domains, and of each against the others, for each dimension."""
    inside, k = np.flatnonzero(member >= 0), len(names)
    verdicts, member, codes = analysis.verdicts, member[inside], analysis.sampling.codes[inside]
    worth = score = analysis.scores.score[inside]
    if verdicts.tie >= 0:
        worth = decisive_worth(verdicts, analysis.labels, analysis.policy)[0][inside]
    assigned = shuffled(member, codes, min(analysis.resamples, MOST_PERMUTATIONS), analysis.seed)
    note = SHARED if straddles(member, codes) and analysis.resamples else ""
    partial = ranking(verdicts, analysis.labels, analysis.policy, inside).is_partial
    compared = np.isfinite(score).any(axis=0) & ~partial
    frames = []
    for dimension in np.unique(verdicts.dimension):
        own = np.flatnonzero(compared & (verdicts.dimension == dimension))
        common = np.isfinite(score[:, own] + worth[:, own]).all(axis=1) & (len(own) > 0)
        rows: dict[str, Any] = {"subfield": [None], "p_value": np.nan}
        if len(own) > 1 and k > 1 and common.any():
            tau = taus(*by_domain(worth[common][:, own].T, assigned[:, common], k))
            rows = {"subfield": [None, *names], "kendall_tau": tau[0], **expected(tau), "reason": note}
        about = {"part": RANKING, "dimension": verdicts.dimensions[dimension], "n_domains": k}
        frames.append(pd.DataFrame(rows).assign(**about, n=common.sum()))
    return frames
