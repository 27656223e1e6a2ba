"""Does what is measured of judges in some domains (institutions, datasets, subfields) hold in others?"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.special import ndtri

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, shared, table
from mrb_lib.stats.contrasts import ALPHA
from mrb_lib.stats.estimation import FloatArray, IntArray, divide
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.phrases import interval, main_dimension, opening
from mrb_lib.stats.pooling import Domains, Pooled, domain_accuracies, pool, proportion
from mrb_lib.stats.rankings import MOST_PERMUTATIONS, by_domain, expected, kendall, shuffled, straddles, taus
from mrb_lib.stats.scoring import FEWEST_OF_ALL, decisive_worth, ranking
from mrb_lib.stats.subfields import columns_of, subfield_values
from mrb_lib.stats.tables.accuracy import PARTIAL
from mrb_lib.tables.errors import InputError

DOMAIN, SUMMARY, LEAVE_ONE_OUT, RANKING = "domain", "summary", "leave_one_out", "ranking"
DOMAINS: Final = ("institution", "dataset", "department")
NO_CASES: Final = "no case can be scored"
CONSTANT: Final = "undefined: every case has the same score within each domain, so sampling error cannot be estimated"
ONE_CLUSTER: Final = "undefined: every domain is one cluster, so sampling error cannot be estimated"
BINOMIAL: Final = "no domain varies: sampling error is taken as binomial"
ONE_DOMAIN: Final = "undefined: cases can be scored in one domain only"
TWO_DOMAINS: Final = "no prediction interval: it takes three domains"
NONE_LEFT_OUT: Final = "no case of this domain can be scored"
LEFT_ONE: Final = "undefined: without this domain there are fewer than two"
SHARED: Final = "{} clusters lie in several domains, which are taken as independent"
TOO_ALIKE: Final = "domains are more alike than chance makes them"
FEW_JUDGES: Final = "undefined: fewer than two judges are scored on enough of the cases"
FEW_DOMAINS: Final = "undefined: there is one domain"
NO_PERMUTATIONS: Final = "nothing is expected: no resamples were asked for"
ALL_TIED: Final = "undefined: all judges are equal there"
FEW_DEFINED: Final = "nothing is expected: all judges are equal in most permutations"
STRADDLING: Final = "clusters lie in several domains: cases change domains one by one, so the p value may be too small"
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
    dimension = main_dimension(rows)
    own = rows[rows["part"].eq(SUMMARY) & rows["dimension"].eq(dimension)].dropna(subset="accuracy")
    own = own[own["by"] == own["by"].iloc[0]] if len(own) else own
    ranked = own.dropna(subset="rank").sort_values(["rank", "judge"])
    where = opening(dimension)
    if own.empty:
        return f"{where}, cannot tell what to expect of a judge in a new domain: that takes cases of two domains."
    if ranked.empty:
        return f"{where}, no judge can be ranked, so cannot tell which to expect most of in a new domain."
    best = ranked.iloc[0]
    place = f"ranks first of {len(ranked)} judges" if len(ranked) > 1 else "is the only judge ranked"
    said = (
        f"{where}, {best['judge']} {place} on the cases that they share. Its mean accuracy over "
        f"{int(best['n_domains'])} domains ({best['by']}) is {best['accuracy']:.0%}"
        f"{interval(best['low'], best['high'])}; "
    )
    if pd.isna(best["prediction_low"]):
        said += "cannot tell what to expect in a new one."
    else:
        said += f"in a new one, expect between {best['prediction_low']:.0%} and {best['prediction_high']:.0%}."
    differing = own["p_adjusted"] <= ALPHA
    judges = f"{int(differing.sum())} of {len(own)} judges" if len(own) > 1 else "the judge"
    if differing.any():
        said += f" The accuracy of {judges} differs significantly between domains."
    else:
        said += " No significant difference between domains; cannot tell."
    left_out = len(own) - len(ranked)
    more = f" {left_out} of {len(own)} judges are not ranked: they judged too few of the cases." if left_out else ""
    return said + more


@table(
    "transfer",
    question="does accuracy hold across institutions, datasets or subfields",
    columns=[
        Column("part", "domain, summary (over domains), leave_one_out, or ranking (of judges)", "text"),
        shared("judge", "dimension"),
        Column("subfield", "value of the column by, such as an institution", "text"),
        Column("by", "column of the cases that names the domain", "text"),
        shared("n_unassigned"),
        Column("versus", "domain whose order of judges is compared; null: all others", "text"),
        shared("policy"),
        Column("rank", "place by decisive accuracy on the cases that all ranked judges share", "rank"),
        shared("n", "n_excluded", "n_seen", "cluster"),
        Column("n_domains", "domains with a scored case", "count"),
        Column("n_judges", "judges whose orders are compared, on the cases that they share", "count"),
        Column(
            "accuracy",
            "mean score in the domain; in summaries the mean of domains",
            "share 0-1",
            "Hartung and Knapp 2001, doi:10.1002/sim.791",
            ends=("low", "high"),
        ),
        Column("standard_error", "standard error of the accuracy in a domain, robust to clusters"),
        Column("binomial_ratio", "sampling variance over that of independent right-or-wrong answers"),
        Column("weight", "share of the domain in the summary", "share 0-1"),
        Column("prediction_low", "lower end of a new domain's accuracy, with 95% probability", "share 0-1"),
        Column("prediction_high", "upper end of a new domain's accuracy, with 95% probability", "share 0-1"),
        Column("q", "heterogeneity of domains, chi-squared with df degrees of freedom", source="Cochran 1954"),
        Column("df", "degrees of freedom of q"),
        shared("tests"),
        Column(
            "i2",
            "share of the variation between domains that is not chance",
            "share 0-1",
            "Higgins and Thompson 2002, doi:10.1002/sim.1186",
            ends=("i2_low", "i2_high"),
        ),
        Column("tau2", "variance of the domains' true accuracies, on arcsines", source="Paule and Mandel 1982"),
        Column("all_cases_accuracy", "mean score in which all cases weigh alike", "share 0-1"),
        Column("domain_accuracy", "accuracy in the domain left out", "share 0-1"),
        Column("domain_inside", "whether that lies inside what the other domains predict", "yes/no"),
        Column("kendall_tau", "agreement of the orders of judges, tau-b", "coefficient", "Kendall 1945"),
        Column("expected_tau", "what domains drawn at random would give", "coefficient"),
        Column("expected_low", "lower end of the central 95% of those", "coefficient"),
        Column("expected_high", "upper end of the central 95% of those", "coefficient"),
    ],
    sentence=in_a_new_domain,
    headline=("rank", "accuracy", "prediction_low", "prediction_high", "kendall_tau"),
    uses=TESTED,
    why_no_ratings="",
)
def transfer(analysis: Analysis) -> pd.DataFrame:
    """Pool accuracies over domains, say what to expect in a new one, and compare the orders of judges.

    Domains are the values of `by`; without it, of `default_domain`. `p_value` is that of `q` in summaries; in rankings,
    how often random domains agree as little. Each is corrected over all judges, or over all domains.

    Notes
    -----
    The methods are those of `mrb_lib.stats.pooling`; coverage and size are simulated in
    tests/simulation/test_transfer.py. Judges are in the order of their mean score on the cases with a clear winner
    (half credit for a tie), on the cases that all ranked judges share; at most 199 permutations are made.
    """
    ranks = ranking(analysis.verdicts, analysis.labels, analysis.policy)
    frames = []
    for column in columns_of(analysis.by) or [default_domain(analysis.cases)]:
        member, names = pd.factorize(subfield_values(analysis.cases, column), sort=True)
        found = domain_accuracies(analysis.scores.score, member, len(names), analysis.sampling)
        pooled = pool(found.effect, found.variance)
        own = [
            _domains(analysis, found, pooled, member, names),
            _summaries(analysis, found, pooled, member).assign(
                rank=ranks.rank, reason_2=np.where(ranks.is_partial, PARTIAL, "")
            ),
            _left_out(analysis, found, names),
            _rankings(analysis, member, names),
        ]
        frames.append(pd.concat(own, ignore_index=True).assign(by=column, n_unassigned=int((member < 0).sum())))
    rows = pd.concat(frames, ignore_index=True)
    rows["reason"] = [_joined(*pair) for pair in zip(rows["reason"], rows.pop("reason_2"), strict=True)]
    whole = rows["subfield"].isna()
    together = [rows[name] for name in ("by", "dimension", "part")] + [whole]
    numbers = np.asarray(rows.groupby(together, dropna=False).ngroup(), dtype=np.int64)
    family = numbers if analysis.family == "dimension" else np.zeros_like(numbers)
    p = np.asarray(rows["p_value"], dtype=np.float64)
    rows["p_adjusted"], size = adjust_families(p, family, analysis.correction or "holm")
    return rows.assign(family=np.where(np.isnan(p), np.nan, size))


def _joined(*texts: object) -> str:
    return "; ".join(dict.fromkeys(text for text in texts if isinstance(text, str) and text))


def _why(found: Domains) -> list[str]:
    """Say why sampling variances of each cell are undefined, or what they rest on; empty if neither."""
    certain = np.isnan(found.accuracy) | (found.accuracy == 0) | (found.accuracy == 1)
    whys = [found.n.sum(axis=1) == 0, found.clusters < 2, ~(found.binomial_ratio > 0), certain.all(axis=1)]
    return [str(text) for text in np.select(whys, [NO_CASES, ONE_CLUSTER, CONSTANT, BINOMIAL], "")]


def _repeated(analysis: Analysis, k: int) -> pd.DataFrame:
    """Return the judge and dimension of each cell, once per domain."""
    cells = analysis.verdicts.cells[["judge", "dimension"]]
    return cells.loc[cells.index.repeat(k)].reset_index(drop=True)


def _domains(analysis: Analysis, found: Domains, pooled: Pooled, member: IntArray, names: pd.Index) -> pd.DataFrame:
    m, k = found.n.shape
    inside = member[:, None] == np.arange(k)
    seen = analysis.verdicts.seen.T.astype(np.int64) @ inside
    reach = _Z * np.sqrt(found.variance)
    ends = proportion(found.effect - reach), proportion(found.effect + reach)
    columns = {
        "n": found.n,
        "n_excluded": inside.sum(axis=0) - found.n,
        "n_seen": seen,
        "accuracy": found.accuracy,
        "low": np.minimum(ends[0], found.accuracy),
        "high": np.maximum(ends[1], found.accuracy),
        "standard_error": np.sin(2 * found.effect) * np.sqrt(found.variance),
        "weight": pooled.weight,
    }
    why = np.where(found.n == 0, NO_CASES, np.repeat(_why(found), k).reshape(m, k)).ravel()
    rows = _repeated(analysis, k).assign(part=DOMAIN, subfield=np.tile(names.to_numpy(object), m))
    return rows.assign(**{name: values.ravel() for name, values in columns.items()}, reason=why, lacks=why)


def _pooled_columns(pooled: Pooled) -> dict[str, Any]:
    """Return the columns that a summary and a summary without a domain share."""
    ends = ("estimate", "low", "high", "prediction_low", "prediction_high")
    shares = {name: proportion(getattr(pooled, name)) for name in ends}
    df = np.where(pooled.k > 1, pooled.k - 1.0, np.nan)
    own = {name: getattr(pooled, name) for name in ("q", "tau2", "i2", "i2_low", "i2_high")}
    return {"accuracy": shares.pop("estimate"), **shares, **own, "n_domains": pooled.k, "df": df, "lacks": TOO_ALIKE}


def _summaries(analysis: Analysis, found: Domains, pooled: Pooled, member: IntArray) -> pd.DataFrame:
    inside = member >= 0
    score, n = analysis.scores.score[inside], found.n.sum(axis=1)
    pairs = np.unique(np.column_stack([analysis.sampling.codes[inside], member[inside]]), axis=0)
    shared = int((np.bincount(pairs[:, 0], minlength=1) > 1).sum())
    few = np.select([pooled.k == 1, pooled.k == 2], [ONE_DOMAIN, TWO_DOMAINS], "")
    return analysis.verdicts.cells[["judge", "dimension"]].assign(
        part=SUMMARY,
        subfield=None,
        n=n,
        n_excluded=inside.sum() - n,
        n_seen=analysis.verdicts.seen[inside].sum(axis=0),
        binomial_ratio=found.binomial_ratio,
        **_pooled_columns(pooled),
        p_value=pooled.p_value,
        all_cases_accuracy=divide(np.nansum(score, axis=0), n),
        reason=[
            _joined(*texts, SHARED.format(shared) if shared else "") for texts in zip(_why(found), few, strict=True)
        ],
    )


def _left_out(analysis: Analysis, found: Domains, names: pd.Index) -> pd.DataFrame:
    """Return the summaries of all domains but one, and whether that one lies inside their prediction."""
    m, k = found.n.shape
    effect = np.repeat(found.effect, k, axis=0).reshape(m, k, k)
    effect[:, np.arange(k), np.arange(k)] = np.nan
    pooled = pool(effect.reshape(-1, k), np.repeat(found.variance, k, axis=0))
    below = pooled.new.below(found.effect.ravel(), found.variance.ravel())
    own = found.effect.ravel()
    inside = (below >= 0.025) & (below <= 0.975) | (own >= pooled.prediction_low) & (own <= pooled.prediction_high)
    why = np.repeat(_why(found), k)
    whys = [
        (pooled.k < 2) & (why == ""),
        pooled.k == 2,
        (found.n.ravel() == 0) & (why != NO_CASES),
    ]
    more = np.stack([np.where(*each, "") for each in zip(whys, (LEFT_ONE, TWO_DOMAINS, NONE_LEFT_OUT), strict=True)])
    return _repeated(analysis, k).assign(
        part=LEAVE_ONE_OUT,
        subfield=np.tile(names.to_numpy(object), m),
        n=(found.n.sum(axis=1, keepdims=True) - found.n).ravel(),
        n_excluded=found.n.ravel(),
        **_pooled_columns(pooled),
        domain_accuracy=found.accuracy.ravel(),
        domain_inside=pd.Series(inside, dtype="boolean").mask(np.isnan(below)).to_numpy(),
        reason=[_joined(*texts) for texts in zip(why, *more, strict=True)],
    )


def _rankings(analysis: Analysis, member: IntArray, names: pd.Index) -> pd.DataFrame:
    verdicts, inside = analysis.verdicts, member >= 0
    member, codes = member[inside], analysis.sampling.codes[inside]
    score = analysis.scores.score[inside]
    worth = decisive_worth(verdicts, analysis.labels, analysis.policy)[0][inside] if verdicts.tie >= 0 else score
    assigned = shuffled(member, codes, min(analysis.resamples, MOST_PERMUTATIONS), analysis.seed)
    note = STRADDLING if straddles(member, codes) and analysis.resamples else ""
    frames = []
    for dimension, cells in verdicts.cells.groupby("dimension", sort=False).indices.items():
        has = np.isfinite(score[:, cells])
        n = has.sum(axis=0)
        full = (n > 0) & (n >= FEWEST_OF_ALL * has.any(axis=1).sum())
        own = cells[full]
        common = has[:, full].all(axis=1) & np.isfinite(worth[:, own]).all(axis=1)
        counts = {"n": int(common.sum()), "n_judges": len(own), "n_domains": len(names)}
        if len(own) < 2 or len(names) < 2 or not common.any():
            rows = pd.DataFrame([{"reason": FEW_DOMAINS if len(names) < 2 else FEW_JUDGES, "p_value": np.nan}])
        else:
            rows = _taus(worth[common][:, own].T, assigned[:, common], names, note)
        frames.append(rows.assign(part=RANKING, dimension=str(dimension), **counts))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame({"part": [], "p_value": []})


def _taus(values: FloatArray, assigned: IntArray, names: pd.Index, note: str) -> pd.DataFrame:
    """Return tau of all domains, of each against the others, and of every two, from scores of judges by cases."""
    k = len(names)
    here, rest = by_domain(values, assigned, k)
    tau = taus(here, rest)
    i, j = np.triu_indices(k, k=1)
    between = kendall(here[:, 0][:, i], here[:, 0][:, j])
    by_chance = expected(tau)
    lacks = FEW_DEFINED if len(tau) > 1 else NO_PERMUTATIONS
    why = np.select([np.isnan(tau[0]), np.isnan(by_chance["p_value"])], [ALL_TIED, lacks], "")
    none = np.full(len(between), np.nan)
    return pd.DataFrame(
        {
            "subfield": [None, *names, *names[i]],
            "versus": [*[None] * (1 + k), *names[j]],
            "kendall_tau": np.concatenate([tau[0], between]),
            **{name: np.append(values, none) for name, values in by_chance.items()},
            "reason": [*(_joined(text, note) for text in why), *np.where(np.isnan(between), ALL_TIED, "")],
        }
    )
