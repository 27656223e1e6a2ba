"""The design of a set of pairs, before anybody annotates: meetings of responders, connectedness, hours."""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Final

import numpy as np
import pandas as pd
from pydantic import Field
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from mrb_lib.tables.options import Option, checked_dataclass

MEANINGS: Final = {
    "n_cases": "pairs to annotate",
    "n_items": "items they are about; intervals resample these, or the clusters they are in",
    "n_responders": "responders in any pair",
    "fewest_meetings": "cases of the two responders that meet least often",
    "most_meetings": "cases of the two responders that meet most often",
    "n_parts": "groups of responders that never meet those of another group; a ranking of all needs 1",
    "longer_first": "share of the cases with unequal lengths in which response A is the longer",
    "annotation_hours": "hours of all annotators together",
}


@checked_dataclass
class Assumptions:
    """Assumptions about the work of annotators."""

    annotators: Annotated[int, Field(ge=1), Option("Count the hours of N annotators per case.", "N")] = 3
    seconds_per_case: Annotated[
        float, Field(gt=0), Option("Count so many seconds per case and annotator.", "SECONDS")
    ] = 90.0


def meetings(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return how often every two responders meet, never included.

    Parameters
    ----------
    pairs : `model_a, model_b`, a row a case

    Returns
    -------
    DataFrame
        `model_1, model_2, n`, sorted by name
    """
    names = sorted({*pairs["model_a"], *pairs["model_b"]})
    sides = np.sort(pairs[["model_a", "model_b"]].to_numpy(dtype=str), axis=1)
    counts = pd.Series(list(map(tuple, sides))).value_counts()
    rows = [(one, other, int(counts.get((one, other), 0))) for one, other in combinations(names, 2)]
    return pd.DataFrame(rows, columns=["model_1", "model_2", "n"])


def design(pairs: pd.DataFrame, assumed: Assumptions | None = None) -> pd.DataFrame:
    """Return the design of pairs.

    Parameters
    ----------
    pairs : `item_id, model_a, model_b, length_a, length_b`

    Returns
    -------
    DataFrame
        `quantity, value, meaning`, a row each of `MEANINGS`; `longer_first` is null where all lengths are equal
    """
    assumed = assumed or Assumptions()
    met = meetings(pairs)
    names, sides = pd.factorize(pairs[["model_a", "model_b"]].to_numpy(dtype=object).ravel())[::-1]
    one, other = sides.reshape(-1, 2).T
    graph = sparse.coo_array((np.ones(len(pairs)), (one, other)), shape=(len(names), len(names)))
    unequal = pairs[pairs["length_a"] != pairs["length_b"]]
    values = {
        "n_cases": len(pairs),
        "n_items": pairs["item_id"].nunique(),
        "n_responders": len(names),
        "fewest_meetings": met["n"].min(),
        "most_meetings": met["n"].max(),
        "n_parts": connected_components(graph, directed=False)[0],
        "longer_first": (unequal["length_a"] > unequal["length_b"]).mean(),
        "annotation_hours": len(pairs) * assumed.annotators * assumed.seconds_per_case / 3600,
    }
    rows = [(name, float(values[name]), meaning) for name, meaning in MEANINGS.items()]
    return pd.DataFrame(rows, columns=["quantity", "value", "meaning"])
