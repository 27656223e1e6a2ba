"""The table `transfer` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import interval, main_dimension, opening

_HK = "Hartung & Knapp 2001, doi:10.1002/sim.791"
MEANINGS = {
    "part": "domain, summary (over domains), leave_one_out, ranking, trained, out_of_domain or benchmark | text",
    "subfield": "domain: a value of the column by, such as an institution | text",
    "by": "column of the cases that names the domain | text",
    "versus": "domain that the order is compared with; null: all the others | text",
    "n": "cases scored | cases",
    "n_unassigned": "cases in no domain | cases",
    "n_domains": "domains with a scored case | count",
    "accuracy": f"mean score in the domain; in summaries the random-effects mean over domains | share 0-1 | {_HK}",
    "weight": "of the domain in the summary | share 0-1",
    "prediction_low": "lower end of where a new domain's accuracy lies with 95% probability | share 0-1"
    " | Higgins et al. 2009",
    "prediction_high": "upper end of where a new domain's accuracy lies with 95% probability | share 0-1"
    " | Higgins et al. 2009",
    "q": "heterogeneity of domains, a chi-squared with df degrees of freedom | number | Cochran 1954",
    "p_value": "p of q; of rankings, how often random domains agree as little; of difference out of domain | p 0-1",
    "i2": "share of the variation between domains that is not chance, REML | share 0-1 | Higgins & Thompson 2002",
    "tau2": "variance of the domains' true accuracies, on the arcsine scale | number | REML; Viechtbauer 2005",
    "tau2_dl": "the same by moments | number | DerSimonian & Laird 1986, doi:10.1016/0197-2456(86)90046-2",
    "all_cases_accuracy": "mean score in which all cases weigh alike | share 0-1",
    "domain_accuracy": "accuracy in the domain left out | share 0-1",
    "domain_inside": "whether that lies inside what the others predict | yes/no",
    "kendall_tau": "agreement of the order of judges there and elsewhere, tau-b | coefficient | Kendall 1945",
    "expected_tau": "what domains drawn at random would give | coefficient",
    "expected_low": "lower end of the central 95% of what they would give | coefficient",
    "expected_high": "upper end of the central 95% of what they would give | coefficient",
    "method": "how the judge was trained: sft, dpo or reward | text",
    "trained_on": "domains that the judge was trained on, or the benchmark; null elsewhere | text",
    "tested_on": "domain, or benchmark, that the accuracy is of | text",
    "in_training": "whether the judge was trained on this domain | yes/no",
    "in_domain_accuracy": "mean score of judges trained with the domain, on the same cases | share 0-1",
    "difference": "accuracy less in_domain_accuracy: what leaving the domain out of training costs | difference",
}


def sentence(table: pd.DataFrame) -> str:
    """What to expect of the best judge in a new domain, and what trained judges lose where they were not trained."""
    dimension = main_dimension(table)
    lost = table[table["part"].eq("out_of_domain") & table["dimension"].eq(dimension) & table["subfield"].isna()]
    lost = lost.dropna(subset="difference")
    said = _expected(table)
    if lost.empty:
        return said
    row = lost.iloc[0]
    ends = f" [{100 * row['difference_low']:+.0f}, {100 * row['difference_high']:+.0f}]"
    less = "" if pd.isna(row["difference_low"]) else ends
    return (
        f"{said} Where {row['by']} was left out of training, judges differ from those trained with it by "
        f"{100 * row['difference']:+.0f} points{less}."
    )


def _expected(table: pd.DataFrame) -> str:
    dimension = main_dimension(table)
    rows = table[table["part"].eq("summary") & table["dimension"].eq(dimension)].dropna(subset="accuracy")
    if rows.empty:
        return f"{opening(dimension)}, what to expect of a judge in a new domain is not known."
    best = rows.nlargest(1, "accuracy").iloc[0]
    has = "has the highest mean accuracy" if len(rows) > 1 else "has a mean accuracy"
    said = (
        f"{opening(dimension)}, {best['judge']} {has} over {int(best['n_domains'])} domains "
        f"({best['by']}), {best['accuracy']:.0%}{interval(best['low'], best['high'])}"
    )
    if pd.isna(best["prediction_low"]):
        return f"{said}; what to expect in a new one is not known."
    return f"{said}; in a new one, expect between {best['prediction_low']:.0%} and {best['prediction_high']:.0%}."
