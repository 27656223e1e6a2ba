"""The table `probes` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.core.phrases import main_dimension, main_rows, opening, percent

_SCHUIRMANN = "Schuirmann 1987, doi:10.1007/BF01068419"
MEANINGS = {
    "part": "probe, slope (what a step of severity adds) or image (what the image contributes) | text",
    "probe": "change of the case before it was judged, see `mrb probes` | text",
    "severity": "step of the probe; 0: no change at all | count",
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
    "family_scope": "tests corrected together: those of one judge on one dimension, or all | text",
    "n_severities": "severities that the slope is over | count",
    "changed_slope": "what one step of severity adds to changed | difference",
    "accuracy_slope": "what one step of severity adds to accuracy | difference",
    "accuracy_without": "mean score without the image, over the same cases | share 0-1",
    "accuracy_swapped": "mean score with another image, over the same cases | share 0-1",
    "image_gain": "accuracy with the image less that without | difference",
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
    if same.empty:
        return f"{said}."
    most = same.nlargest(1, "changed").iloc[0]
    return f"{said}; {most['probe']} changes {percent(most, 'changed')} of the verdicts of {most['judge']}."
