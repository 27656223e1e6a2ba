"""What a set of pairs will show, said before anybody annotates: meetings, widths of intervals, hours."""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Final, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, stdtrit

from mrb_lib.stats.contrasts import ALPHA, BY_T
from mrb_lib.stats.options import FloatArray
from mrb_lib.stats.tables.power import attainable, multiplier
from mrb_lib.tables.options import Option, checked_dataclass

APART: Final = "undefined: {} never meet the others, directly or through others"
FEW: Final = "undefined: not more items than responders"
_DRAWS: Final = 200
MEANINGS: Final = {
    "n_cases": "pairs to annotate",
    "n_items": "items they are about; intervals resample these, or the clusters they are in",
    "n_responders": "responders in any pair",
    "fewest_meetings": "cases of the two responders that meet least often",
    "most_meetings": "cases of the two responders that meet most often",
    "n_parts": "groups of responders that never meet those of another group; a ranking of all needs 1",
    "longer_first": "share of the cases with unequal lengths in which response A is the longer",
    "strength_width": "expected width of a 95% interval of a strength in the table ranking, a mean over responders",
    "log_strength_width": "the same of a log strength, by its standard error",
    "told_apart": "win rate over another responder that the ranking tells from 0.5 with 80% power, a mean over pairs",
    "annotation_hours": "hours of all annotators together",
}


Share = Annotated[float, Field(ge=0, lt=1)]


@checked_dataclass
class Assumptions:
    """What nobody knows before annotating; every expected width depends on it.

    Attributes
    ----------
    undecided : share of cases without a gold label
    """

    spread: Annotated[
        float,
        Field(ge=0, le=5),
        Option(
            "Assume that the responders' log strengths have this standard deviation: 0 if all are alike, 1 for a mixed "
            "pool (the better of two typical ones wins three times in four), 2 where some hardly ever win.",
            "SD",
        ),
    ] = 1.0
    ties: Annotated[Share, Option("Expect this share of ties between two equally strong responders.", "SHARE")] = 0.15
    undecided: Share = 0.05
    annotators: Annotated[int, Field(ge=1), Option("Count the hours of N annotators per case.", "N")] = 3
    seconds_per_case: Annotated[
        float, Field(gt=0), Option("Count so many seconds per case and annotator.", "SECONDS")
    ] = 90.0


class Errors(NamedTuple):
    """Expected standard errors: of log strengths and of strengths, shape (r,), of their differences, shape (p,)."""

    log_strength: FloatArray
    strength: FloatArray
    difference: FloatArray


def meetings(pairs: pd.DataFrame, models: list[str] | None = None) -> pd.DataFrame:
    """How often every two responders meet, never included.

    Parameters
    ----------
    pairs : `model_a, model_b`, a row a case
    models : all responders; None for those in `pairs`

    Returns
    -------
    DataFrame
        `model_1, model_2, n`, sorted by name
    """
    names = sorted({*pairs["model_a"], *pairs["model_b"]}) if models is None else sorted(models)
    sides = np.sort(pairs[["model_a", "model_b"]].to_numpy(dtype=str), axis=1)
    counts = pd.Series(list(map(tuple, sides))).value_counts()
    rows = [(one, other, int(counts.get((one, other), 0))) for one, other in combinations(names, 2)]
    return pd.DataFrame(rows, columns=["model_1", "model_2", "n"])


def meeting_matrix(met: pd.DataFrame) -> tuple[FloatArray, list[str]]:
    """Meetings as a symmetric matrix, shape (r, r), and the names of its rows."""
    names = sorted({*met["model_1"], *met["model_2"]})
    row, column = (pd.Index(names).get_indexer(pd.Index(met[side])) for side in ("model_1", "model_2"))
    matrix = np.zeros((len(names), len(names)))
    matrix[row, column] = met["n"]
    return matrix + matrix.T, names


def expected_errors(matrix: FloatArray, n_clusters: float, assumed: Assumptions, *, seed: int = 0) -> Errors:
    """Standard errors that Bradley-Terry strengths of gold labels will have, a mean over strengths as assumed.

    Parameters
    ----------
    matrix : shape (r, r), symmetric, meetings with a gold label, of responders that are connected
    n_clusters : what intervals will resample
    seed : of the 200 draws of normal log strengths with the standard deviation assumed

    Notes
    -----
    A meeting of i and j has the information w = p (1 - p) on the difference of their log strengths. Where a tie counts
    half a win, its variance is w less a quarter of the probability of a tie, which is taken to be `ties` where p is .5
    and to fall as 4 w: (1 - ties) w. The sandwich is then (1 - ties) times the pseudo-inverse of the Laplacian of
    n w, with the factor C / (C - r + 1) that the table `ranking` widens its intervals by. Strengths, which sum to 1,
    follow by the delta method. That intervals come out so: `tests/simulation/test_pair_design.py`.
    """
    r = len(matrix)
    log_strength = np.random.default_rng(seed).normal(scale=assumed.spread, size=(_DRAWS, r))
    p = expit(log_strength[:, :, None] - log_strength[:, None, :])
    weight = matrix * p * (1 - p)
    laplacian = -weight
    laplacian[:, np.arange(r), np.arange(r)] = weight.sum(axis=2)
    widened = (1 - assumed.ties) * n_clusters / (n_clusters - r + 1)
    # The pseudo-inverse: the mean of the log strengths, which is undetermined, is held and taken off again.
    covariance = widened * (np.linalg.inv(laplacian + 1) - 1 / r**2)
    strength = np.exp(log_strength) / np.exp(log_strength).sum(axis=1, keepdims=True)
    slope = strength[:, :, None] * (np.eye(r) - strength[:, None, :])
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    first, second = np.triu_indices(r, k=1)
    between = variance[:, first] + variance[:, second] - 2 * covariance[:, first, second]
    of_strength = np.einsum("dij,djk,dik->di", slope, covariance, slope)
    return Errors(*(np.sqrt(np.fmax(each, 0.0)).mean(axis=0) for each in (variance, of_strength, between)))


def design(pairs: pd.DataFrame, assumed: Assumptions | None = None, *, seed: int = 0) -> pd.DataFrame:
    """What pairs will show when they are annotated.

    Parameters
    ----------
    pairs : `item_id, model_a, model_b`, and `cluster` (default: the item) and `length_a`, `length_b`, where known
    assumed : see `Assumptions`
    seed : of the strengths that expected widths are a mean over

    Returns
    -------
    DataFrame
        `quantity, value, meaning, reason`, a row each of `MEANINGS`; null values have a reason

    Notes
    -----
    Widths are of one dimension, whose gold is a majority. Validated in
    `tests/build/construct/pairing/test_design.py` and `tests/simulation/test_pair_design.py`.
    """
    assumed = assumed or Assumptions()
    met = meetings(pairs)
    matrix, names = meeting_matrix(met)
    n_parts, part = connected_components(sparse.csr_array(matrix), directed=False)
    clusters = pairs["cluster"].fillna(pairs["item_id"]) if "cluster" in pairs else pairs["item_id"]
    n_cases, n_clusters = len(pairs), clusters.nunique() * (1 - assumed.undecided)
    values: dict[str, float] = {
        "n_cases": n_cases,
        "n_items": pairs["item_id"].nunique(),
        "n_responders": len(names),
        "fewest_meetings": int(met["n"].min()),
        "most_meetings": int(met["n"].max()),
        "n_parts": n_parts,
        "annotation_hours": n_cases * assumed.annotators * assumed.seconds_per_case / 3600,
    }
    if "length_a" in pairs:
        unequal = pairs[pairs["length_a"] != pairs["length_b"]]
        values["longer_first"] = float((unequal["length_a"] > unequal["length_b"]).mean())
    reason = FEW
    if n_parts > 1:
        few = np.flatnonzero(part == np.bincount(part).argmin())
        reason = APART.format(", ".join(names[i] for i in few))
    elif n_clusters > len(names):
        errors = expected_errors(matrix * (1 - assumed.undecided), n_clusters, assumed, seed=seed)
        z = float(stdtrit(np.inf, 0.975))
        size = multiplier(np.array([n_clusters]), attainable(ALPHA, np.array([n_clusters]), BY_T))
        values |= {
            "strength_width": 2 * z * float(errors.strength.mean()),
            "log_strength_width": 2 * z * float(errors.log_strength.mean()),
            "told_apart": float(expit(size * errors.difference.mean())[0]),
        }
    rows = [
        (name, values.get(name, np.nan), meaning, None if np.isfinite(values.get(name, np.nan)) else reason)
        for name, meaning in MEANINGS.items()
    ]
    frame = pd.DataFrame(rows, columns=["quantity", "value", "meaning", "reason"])
    return frame.astype({"value": "float64", "reason": "str"})
