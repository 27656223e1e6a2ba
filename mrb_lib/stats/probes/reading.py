"""The table `probes` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening, percent
from mrb_lib.stats.significance.paired import ALPHA

_SCHUIRMANN = "Schuirmann 1987, doi:10.1007/BF01068419"
MEANINGS = {
    "part": "probe, slope (what a step adds), image (what it contributes), gap (between groups), rank or labels | text",
    "probe": "change of the case before it was judged, see `mrb probes` | text",
    "severity": "step of the probe, or number of the group; 0: no change at all | count",
    "group": "group of patients that the severity of the probe stands for | text",
    "group_1": "group of patients whose verdicts are taken for the plain ones | text",
    "group_2": "group of patients whose verdicts are taken for those under the probe | text",
    "expected": "what a sound judge does: the same, worse (less accurate) or flips (away from the target) | text",
    "kept_expectation": "whether the judge does what is expected; null: neither is shown, or nothing is expected"
    " | yes/no",
    "n": "cases answered with and without the probe in the same order and repeat | cases",
    "n_excluded": "other cases with a verdict under the probe | cases",
    "coverage": "share of the verdicts under the probe that have a choice | share 0-1",
    "changed": "share of verdicts that differ from those without the probe | share 0-1",
    "noise": "share of verdicts on the plain cases that differ between repeats | share 0-1",
    "changed_beyond_noise": "changed less noise, over the same cases | difference",
    "changed_p": "of changed_beyond_noise being 0, by sign flips; two-sided | p 0-1",
    "n_scored": "cases that have a label and verdicts with and without the probe | cases",
    "accuracy": "mean score without the probe, by the policy | share 0-1",
    "accuracy_probed": "mean score under the probe, over the same cases | share 0-1",
    "accuracy_change": "accuracy under the probe less that without | difference",
    "p_value": "of accuracy_change being 0, by sign flips; two-sided | p 0-1",
    "target_shift": "share choosing the response that the probe changes or speaks for, less that without it"
    " | difference",
    "target_shift_p": "of target_shift being 0, by sign flips; two-sided | p 0-1",
    "probability_shift": "the same of the mean probability of that response | difference",
    "margin": "largest change that does not matter | difference",
    "unmoved_p": "of a loss of the margin or more; small: what should be lost is not | p 0-1",
    "equivalence_p": f"of accuracy having changed by the margin or more | p 0-1 | {_SCHUIRMANN}",
    "equivalent": "whether accuracy is shown to change by less than the margin, adjusted, at .05 | yes/no",
    "family": "number of tests corrected together, of all kinds but equivalence | count",
    "family_scope": "tests corrected together: those of one judge, dimension and subfield, or all | text",
    "n_severities": "severities that the slope is over | count",
    "changed_slope": "what one step of severity adds to changed | difference",
    "accuracy_slope": "what one step of severity adds to accuracy | difference",
    "accuracy_without": "mean score without the image, over the same cases | share 0-1",
    "accuracy_swapped": "mean score with another image, over the same cases | share 0-1",
    "image_gain": "accuracy with the image less that without | difference",
    "rank": "place of the judge by accuracy without the probe, 1 the most accurate; equals share the better | rank",
    "rank_probed": "the same under the probe, over the same cases | rank",
    "kendall_tau": "agreement of the orders of judges with and without the probe | coefficient | Kendall 1938",
    "n_reversed": "other judges that are above it in one condition and below it in the other | count",
    "n_reversed_shown": "those of n_reversed where both differences are shown, adjusted, at .05 | count",
    "position_bias": "share choosing the response shown first less that choosing the second | difference",
    "label_bias": "share choosing the response called A less that choosing the one called B | difference",
    "position_probability": "probability of the response shown first less that of the second | difference",
    "label_probability": "probability of the response called A less that of the one called B | difference",
    "reversal_p_adjusted": "smallest adjusted p of being in another order with one of the others | p 0-1",
}


def sentence(table: pd.DataFrame) -> str:
    """How many probes find a judge that does not do what is expected, and which changes most that should not."""
    rows, dimension = main_rows(table, part="probe"), main_dimension(table)
    rows = rows[rows["expected"].notna()] if "expected" in rows else rows.head(0)
    if rows.empty:
        return f"{opening(dimension)}, no verdict is of a probe of which it is known what should follow."
    decided = rows.dropna(subset="kept_expectation")
    broken = decided[~decided["kept_expectation"].astype(bool)]
    open_rows = len(rows) - len(decided)
    said = (
        f"{opening(dimension)}, of {len(rows):,} probes of judges {len(broken) or 'none'} "
        f"{'are' if len(broken) > 1 else 'is'} shown not to do what is expected, "
        f"{len(decided) - len(broken)} to do it, and {open_rows} {'are' if open_rows != 1 else 'is'} undecided"
    )
    same = broken[broken["expected"].eq("same")]
    if len(same):
        most = same.nlargest(1, "changed").iloc[0]
        said += f"; {most['probe']} changes {percent(most, 'changed')} of the verdicts of {most['judge']}"
    return f"{said}.{_gaps(main_rows(table, part='gap'))}"


def _gaps(rows: pd.DataFrame) -> str:
    """In how many pairs of groups of patients accuracy is shown to differ, and in how many to be equivalent."""
    if rows.empty:
        return ""
    apart, alike = rows["p_adjusted"].le(ALPHA).sum(), rows["equivalent"].eq(True).sum()
    return (
        f" Between groups of patients, of {len(rows):,} {'pairs' if len(rows) > 1 else 'pair'} accuracy is shown to "
        f"differ in {apart or 'none'}, and to be equivalent in {alike or 'none'}."
    )
