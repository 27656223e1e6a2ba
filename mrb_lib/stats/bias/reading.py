"""The table `bias` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, of_judges_towards, on, opening

_ASYMMETRY = "Wataoka et al. 2024, arXiv 2410.21819"
_LENGTH = "Dubois et al. 2024, arXiv 2404.04475"
MEANINGS = {
    "part": "bias, accuracy (at equal length) or win_rate (of responders at equal length) | text",
    "bias": "length, verbosity, self_preference, family_preference or style | text",
    "measure": f"beyond_quality, or log_odds, error_asymmetry and others, given a fallible label | text | {_ASYMMETRY}",
    "claim": "bias: beyond what quality explains; association: longer responses may just be better; null without an "
    "estimate | text",
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
    """How many judges favour longer or shorter responses beyond their quality, and which of them most."""
    rows, dimension = main_rows(table, part="bias", bias="length", claim="bias"), main_dimension(table)
    known = rows.dropna(subset=["estimate", "p_adjusted"])
    if known.empty:
        return f"{opening(dimension)}, whether judges favour longer responses beyond their quality is not known."
    shown = known[known["p_adjusted"] <= 0.05]
    longer, shorter = (int((sign * shown["estimate"] > 0).sum()) for sign in (1, -1))
    what = f"shown to favour {{}} responses beyond what quality explains {on(dimension)}"
    said = of_judges_towards(longer, shorter, len(known), what)
    if len(known) == 1 or shown.empty:
        return f"{said}."
    most = shown.iloc[int(shown["estimate"].abs().to_numpy().argmax())]
    which = "longer" if most["estimate"] > 0 else "shorter"
    return f"{said}; {most['judge']} leans furthest, towards {which} ones."
