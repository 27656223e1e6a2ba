"""The gold rule "posterior": the most probable label by the model of Dawid and Skene."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.votes import vote_columns, voting
from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.dawid_skene import fit_dimension
from mrb_lib.stats.options import FloatArray, code, pick_dimensions
from mrb_lib.tables.schema import CHOICES

_SAME = 1e-9


def posterior(
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    categories: Sequence[str] = CHOICES,
    dimensions: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return the most probable label of each case by the model of Dawid and Skene: the gold rule "posterior".

    Parameters
    ----------
    annotations, cases, categories, dimensions : as in `mrb_lib.stats.annotators.encode_annotations`

    Returns
    -------
    DataFrame
        As `mrb_lib.benchmarks.votes.gold`: `case_id, dimension, choice`, a votes column a category,
        `n_annotators`; and a column a category such as `posterior_a`, its probability. `choice` is null where
        two labels are equally probable; it and the probabilities are null on a dimension with fewer than three
        annotators.

    Notes
    -----
    See `mrb_lib.stats.dawid_skene.em`.
    """
    names = pick_dimensions(annotations["dimension"].unique(), dimensions)
    coded = encode_annotations(annotations, cases, categories, names)
    kept = voting(annotations[annotations["dimension"].isin(names)])
    case = code(kept["case_id"], list(cases["case_id"]), "case_id")
    dimension = code(kept["dimension"], names, "dimension")
    votes = np.zeros((len(cases), len(names), len(categories)), dtype=np.int64)
    np.add.at(votes, (case, dimension, code(kept["choice"], categories, "choice")), 1)
    probability = np.full(votes.shape, np.nan)
    for i in range(len(names)):
        item = fit_dimension(coded, i, len(categories))
        if item is not None:
            probability[item.cases, i] = item.posterior()
    labelled = np.nonzero(votes.any(axis=2))
    votes, probability = votes[labelled], probability[labelled]
    out = pd.DataFrame(
        {
            "case_id": cases["case_id"].to_numpy()[labelled[0]],
            "dimension": np.array(names, dtype=object)[labelled[1]],
            "choice": most_probable(probability, categories),
        }
    ).astype("str")
    columns = list(vote_columns(tuple(categories)).values())
    votes_and_more = dict(zip(columns, votes.T, strict=True)) | {"n_annotators": votes.sum(axis=1)}
    shown = {name.replace("votes_", "posterior_", 1): probability[:, i] for i, name in enumerate(columns)}
    return out.assign(**votes_and_more, **shown)


def most_probable(probability: FloatArray, categories: Sequence[str]) -> pd.Series:
    """The label with the highest probability of each row, missing where two share it or there is none."""
    filled = np.nan_to_num(probability, nan=0.0)
    top = filled.max(axis=1, initial=0.0)
    single = ((filled >= top[:, None] - _SAME).sum(axis=1) == 1) & (top > 0)
    names = pd.Series(np.array(categories, dtype=object)[filled.argmax(axis=1)], dtype="str")
    return names.where(pd.Series(single, dtype=bool))
