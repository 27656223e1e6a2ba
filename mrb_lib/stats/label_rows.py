"""Choices of several labels as one yes or no a label."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.stats.estimation import divide
from mrb_lib.stats.options import FloatArray
from mrb_lib.tables.schema import split_labels

ANSWERS: Final = ("no", "yes")
YES: Final = ANSWERS.index("yes")
EVEN: Final = 0.5


def pairs_of(labels: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Every dimension with each of its labels, in order."""
    return [(dimension, name) for dimension, names in labels.items() for name in names]


def names_of(labels: Mapping[str, Sequence[str]]) -> list[str]:
    """What the dimensions of `label_rows` are called, in the order of `pairs_of`."""
    return ["\n".join(pair) for pair in pairs_of(labels)]


def label_rows(frame: pd.DataFrame, labels: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Annotations or verdicts on dimensions of several labels, one row a label.

    Parameters
    ----------
    frame : with `dimension`, one of `labels`, and `choice`, as `mrb_lib.tables.schema.joined_labels` writes it, or null

    Returns
    -------
    DataFrame
        As the frame; `dimension` is of `names_of`, `choice` "yes" or "no", or null where no choice is given.
    """
    parts = []
    shares = "p_categories" in frame.columns  # of each label in `frame`; of no and yes in what is made here
    for dimension, names in labels.items():
        own = frame[frame["dimension"] == dimension]
        chosen = [set(split_labels(choice)) if isinstance(choice, str) else None for choice in own["choice"]]
        for place, name in enumerate(names):
            said = [None if some is None else ANSWERS[name in some] for some in chosen]
            choice = pd.Series(said, index=own.index, dtype="str")
            more = {"p_categories": own["p_categories"].map(partial(_no_and_yes, place=place))} if shares else {}
            parts.append(own.assign(dimension=f"{dimension}\n{name}", choice=choice, **more))
    return pd.concat(parts, ignore_index=True)


def _no_and_yes(stated: object, place: int) -> str | None:
    """The probabilities of no and yes of one label, from those of all labels."""
    if not isinstance(stated, str):
        return None
    share = json.loads(stated)[place]
    return json.dumps([1 - share, share])


def label_shares(annotations: pd.DataFrame, case_ids: pd.Series, labels: Mapping[str, Sequence[str]]) -> FloatArray:
    """The share of a case's annotators that give each label; NaN where nobody labelled.

    Parameters
    ----------
    annotations : votes, see `mrb_lib.benchmarks.votes.voting`, on dimensions of several labels among others

    Returns
    -------
    float array, shape (labels, cases), in the order of `pairs_of`
    """
    rows = label_rows(annotations, labels)
    axes = (names_of(labels), rows["dimension"]), (case_ids, rows["case_id"])
    cell = [pd.Index(names).get_indexer(pd.Index(values)) for names, values in axes]
    votes = np.zeros((2, len(names_of(labels)), len(case_ids)))
    np.add.at(votes[0], tuple(cell), (rows["choice"] == ANSWERS[YES]).to_numpy(dtype=np.float64))
    np.add.at(votes[1], tuple(cell), 1.0)
    return divide(*votes)


def majority(shares: FloatArray) -> FloatArray:
    """Whether labels apply: 1 where more than half of the annotators say so, 0 where fewer; NaN where just half do."""
    return np.where(np.isnan(shares) | (shares == EVEN), np.nan, shares > EVEN)


def label_gold(annotations: pd.DataFrame, case_ids: pd.Series, labels: Mapping[str, Sequence[str]]) -> FloatArray:
    """Return 1 for each label that applies, see `majority`; NaN also where nobody labelled. Else as `label_shares`."""
    return majority(label_shares(annotations, case_ids, labels))
