"""The table `bias` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.core.phrases import main_dimension, main_rows, of_judges

_ASYMMETRY = "Wataoka et al. 2024, arXiv 2410.21819"
_LENGTH = "Dubois et al. 2024, arXiv 2404.04475"
MEANINGS = {
    "part": "bias, accuracy (at equal length) or win_rate (of responders at equal length) | text",
    "bias": "length, verbosity, self_preference, family_preference or style | text",
    "measure": f"beyond_quality, or log_odds, error_asymmetry and others, given a fallible label | text | {_ASYMMETRY}",
    "claim": "bias: beyond what quality explains; association: longer responses may just be better | text",
    "counterfactual": "whether verdicts on cases with that property alone changed are used as evidence | text",
    "marker": "of style, such as headings or bold | text",
    "model_1": "responder whose win rate it is | text",
    "model_2": "responder it is compared with | text",
    "n": "cases used | cases",
    "n_excluded": "the other cases of the subfield | cases",
    "estimate": f"the measure: log odds or a difference of shares (0: no pull), or a share | number | {_LENGTH}",
    "p_value": "p of no bias, in rows whose claim is bias | p 0-1",
    "uncontrolled": "the same share without regard to length | share 0-1",
    "gold_share": "share of gold labels for the longer response | share 0-1",
}


def sentence(table: pd.DataFrame) -> str:
    """How many judges favour longer responses beyond their quality."""
    rows, dimension = main_rows(table, part="bias", bias="length", claim="bias"), main_dimension(table)
    known = rows.dropna(subset=["estimate", "p_adjusted"])
    if known.empty:
        return f"On {dimension}, whether judges favour longer responses beyond their quality is not known."
    shown = known[known["p_adjusted"] <= 0.05]
    longer, shorter = int((shown["estimate"] > 0).sum()), int((shown["estimate"] < 0).sum())
    said = of_judges(
        longer, len(known), f"shown to favour longer responses beyond what quality explains on {dimension}"
    )
    most = known["judge"].iloc[int(known["estimate"].abs().to_numpy().argmax())]
    return f"{said}, {shorter or 'none'} shorter ones" + (f"; {most} leans furthest." if len(known) > 1 else ".")
