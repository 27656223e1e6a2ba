"""The table `selective` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening

_AURC = "El-Yaniv & Wiener 2010; Geifman et al. 2019"
MEANINGS = {
    "part": "guarantee, summary or curve | text",
    "reference": "what agreement is with: the gold rule, or clinician, one annotator drawn at random | text",
    "method": "fixed_sequence or conformal_risk_control | text | Bauer 1991; Angelopoulos et al. 2024",
    "promise": "what is promised: agreement of target at least, or wrong_of_all of 1 - target at most | text",
    "target": "agreement with the reference that is wanted, every cluster counting once | share 0-1",
    "delta": "how often the promise may be broken | p 0-1",
    "threshold": "least confidence with which a case is answered | share 0-1",
    "coverage": "share of the cases answered, on folds that the threshold was not chosen on | share 0-1",
    "agreement": "of the judge with the reference over all cases answered; a split panel has no label | share 0-1",
    "human_level": "agreement of one annotator with the others, on the cases answered; compare with judge_level, not "
    "with agreement | share 0-1",
    "judge_level": "agreement of the judge with the very same others | share 0-1",
    "guaranteed": "whether the promise can be given; null: none can | yes/no",
    "bound": "lower confidence bound of the agreement | share 0-1 | Clopper & Pearson 1934; Bates et al. 2021",
    "wrong_of_all": "disagreement as a share of all cases | share 0-1",
    "n": "annotated cases with a probability | cases",
    "n_excluded": "cases of the judge without annotations or a probability | cases",
    "n_calibration": "cases that the threshold was chosen on, one a cluster | cases",
    "n_answered": "cases answered | cases",
    "aurc": f"area under the risk-coverage curve; lower is better | share 0-1 | {_AURC}",
    "excess_aurc": f"the same less that of the best order of the same answers | share 0-1 | {_AURC}",
    "risk": "disagreement over the cases answered | share 0-1",
}


def sentence(table: pd.DataFrame) -> str:
    """Which judge may answer most cases at the agreement promised."""
    rows, dimension = main_rows(table, part="guarantee"), main_dimension(table)
    rows = rows[(rows["method"] == "fixed_sequence") & (rows["reference"] != "clinician")]
    if not rows["n"].gt(0).any():
        return f"{opening(dimension)}, no judge gives probabilities by which it could leave cases to people."
    target, delta = rows["target"].iloc[0], rows["delta"].max()
    cluster = rows["cluster"].iloc[0] if "cluster" in rows else None
    once = f" (each {cluster} counting once)" if cluster not in (None, "case_id") else ""
    wanted = (
        f"agreement with the annotators' {rows['reference'].iloc[0]} label on {target:.0%} of all cases that a judge "
    )
    wanted += f"answers{once}"
    sure = f"at {1 - delta:.0%} confidence"
    held = rows[rows["delta"].eq(delta) & rows["threshold"].notna() & (rows["coverage"] > 0)]
    judges = rows["judge"].nunique()
    if held.empty:
        return f"{opening(dimension)}, {wanted} cannot be promised {sure} of any judge, so that none may answer alone."
    best = held.nlargest(1, "coverage").iloc[0]
    said = (
        f"{opening(dimension)}, {wanted} can be promised {sure} where {best['judge']} is sure, in "
        f"{best['coverage']:.0%} of {int(best['n']):,} cases"
    )
    if judges == 1:
        return f"{said}."
    return (
        f"{said}; {len(held)} of {judges} judges can promise it at all. Each promise is for one judge chosen "
        f"beforehand: of several, {delta:.0%} may fail."
    )
