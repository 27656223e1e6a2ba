"""The table `gains` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening, points

_SCHUIRMANN = "Schuirmann 1987, doi:10.1007/BF01068419"
MEANINGS = {
    "base": "judge whose weights the other was trained further from | text",
    "tuned": "judge that was trained further | text",
    "group_base": "group of the base, such as open | text",
    "group_tuned": "group of the tuned judge, such as medical | text",
    "n": "cases scored for both, those that either was trained on left out | cases",
    "n_excluded": "the other cases | cases",
    "n_seen": "cases scored for both that were trained on, which are left out; null: no record of the training | cases",
    "part": "what changed: accuracy, consistency, first_rate (1/2: no position bias), brier or longer_rate | text",
    "accuracy_base": "mean score of the base over these cases, by the policy; null in other parts | share 0-1",
    "accuracy_tuned": "mean score of the tuned judge over the same cases; null in other parts | share 0-1",
    "value_base": "what part names, of the base, a mean over these cases | share 0-1",
    "value_tuned": "the same of the tuned judge, over the same cases | share 0-1",
    "gain": "value_tuned less value_base; of brier below zero is better | difference",
    "only_base": "cases on which the base has the higher value | cases",
    "only_tuned": "cases on which the tuned judge has the higher value | cases",
    "quantity": "what interval, tests and verdict are about: the gain, of what part names | text",
    "margin": "largest gain or loss that does not matter, stated beforehand; null: none stated, and no test against it"
    " | difference",
    "equivalence_p": f"of the two being further apart than the margin | p 0-1 | {_SCHUIRMANN}",
    "equivalent": "whether they are shown to differ by less than the margin, adjusted, at .05 | yes/no",
}


def sentence(table: pd.DataFrame) -> str:
    """How many tuned judges are shown to be better, or worse, than their bases."""
    table = table[table["part"] == "accuracy"] if "part" in table else table
    rows, dimension = main_rows(table).dropna(subset="p_adjusted"), main_dimension(table)
    if rows.empty:
        return f"{opening(dimension)}, no judge can be compared with its base on the same cases."
    if len(rows) == 1:
        row = rows.iloc[0]
        shown = "differs" if row["p_adjusted"] <= 0.05 else "is not shown to differ"
        return f"{opening(dimension)}, {row['tuned']} {shown} from {row['base']} in accuracy ({points(row, 'gain')})."
    shown_better = rows[(rows["p_adjusted"] <= 0.05) & (rows["gain"] > 0)]
    better, worse = len(shown_better), int(((rows["p_adjusted"] <= 0.05) & (rows["gain"] < 0)).sum())
    said = (
        f"{opening(dimension)}, of {len(rows)} judges that were trained further {better or 'none'} "
        f"{'are' if better > 1 else 'is'} shown to be better than the base, {worse or 'none'} worse"
    )
    if not better:
        return f"{said}."
    most = shown_better.nlargest(1, "gain").iloc[0]
    return f"{said}; {most['tuned']} gains most, {points(most, 'gain')} over {most['base']}."
