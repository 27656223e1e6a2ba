"""The page of one judge: what sways it, whether it can be trusted and for what, and which cases it may answer alone."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.contrasts import ALPHA
from mrb_lib.stats.phrases import on, percent, points


def sways(orders: pd.DataFrame, biases: pd.DataFrame) -> pd.DataFrame:
    """Return what sways a judge besides quality, one row each: `what`, `n`, `value`, `low`, `high`."""
    order = orders[orders["subfield"].isna()].iloc[0]
    kinds = {
        "length": "longer responses (one standard deviation)",
        "self_preference": "its own responses",
        "family_preference": "its family's responses",
    }
    whole = biases[biases["subfield"].isna() & biases["bias"].isin(list(kinds))]
    rows = [
        ("same choice in both orders", order["n"], *(order[f"consistency{end}"] for end in ("", "_low", "_high"))),
        ("first less second shown", order["n"], *(order[f"position_bias{end}"] for end in ("", "_low", "_high"))),
    ]
    for _, row in whole.iterrows():
        kind = kinds[row["bias"]]
        errors = (row[f"error_asymmetry{end}"] for end in ("", "_low", "_high"))
        rows.append(
            (f"errors towards {kind.partition(' (')[0]} minus errors away from them", row["n_decisive"], *errors)
        )
        rows.append((f"log odds for {kind} beyond quality", row["n"], row["estimate"], row["low"], row["high"]))
    return pd.DataFrame(rows, columns=["what", "n", "value", "low", "high"])


def verdict(
    judge: str,
    accuracy: pd.DataFrame,
    human: pd.DataFrame,
    parts: pd.DataFrame,
    orders: pd.DataFrame,
    biases: pd.DataFrame,
    answers: pd.DataFrame,
    *,
    dimension: str,
    by: str,
) -> str:
    """Whether one judge can be trusted, for what, where not, and at which share of cases."""
    here = accuracy[accuracy["dimension"] == dimension].iloc[0]
    said = [f"{judge} has an accuracy of {percent(here, 'accuracy', 'low', 'high')} {on(dimension)}."]
    distance = human[(human["part"] == "judge") & (human["dimension"] == dimension) & human["verdict"].notna()]
    if len(distance):
        far = distance.iloc[0]
        side = {"below": "below the mean annotator", "above": "above the mean annotator"}.get(
            far["verdict"], "not shown to be below or above the mean annotator"
        )
        said.append(f"By the labels that one annotator is held to, it is {side} ({points(far, 'difference')}).")
    else:
        said.append("How near that is to one annotator is not known.")
    cells = parts[parts["subfield"].notna()]
    weak = cells.loc[cells["high"] < here["accuracy"], "subfield"].astype("str").tolist()
    said.append(f"It is weaker than that in {', '.join(weak)}." if weak else f"No {by} is shown to be weaker.")
    known = cells[cells["accuracy"].notna()]
    if len(known) > 1:
        lowest = cell(known.iloc[int(known["accuracy"].argmin())])
        said.append(f"The lowest of {len(known)} values of {by} is {lowest}; the lowest of many is partly chance.")
    order = orders[orders["subfield"].isna()].iloc[0]
    if pd.notna(order["consistency"]):
        said.append(f"It gives the same verdict in both orders on {percent(order, 'consistency')}.")
    length = biases[biases["subfield"].isna() & (biases["bias"] == "length")]
    if len(length) and length["p_adjusted"].iloc[0] <= ALPHA and length["estimate"].iloc[0] > 0:
        said.append("It is pulled towards longer responses beyond their quality.")
    own = answers[answers["dimension"] == dimension]
    said.append(TABLES["selective"].says(own) if len(own) else "It gives no probabilities, so it may not answer alone.")
    return " ".join(said)


def cell(row: pd.Series) -> str:
    """A subfield with its accuracy and how many cases it rests on: "eye, 67% [58, 75], n = 120"."""
    return f"{row['subfield']}, {percent(row, 'accuracy', 'low', 'high')}, n = {int(row['n']):,}"
