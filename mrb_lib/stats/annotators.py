"""Annotations as codes: who gave which label to which case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.options import FloatArray, IntArray, code, pick_dimensions
from mrb_lib.tables.schema import CONSENSUS

NO_ANNOTATIONS = "there are no annotations"
ONLY_CONSENSUS = "only consensus labels are published"


class Annotations(NamedTuple):
    """Annotations by people as codes; `case`, `annotator`, `dimension` and `choice` have one entry per annotation.

    Attributes
    ----------
    annotators, dimensions : the names behind the codes, in the order to show them
    n_consensus : shape (dimensions,), rows of the annotator `consensus`, which are left out
    choice : position among the categories
    """

    annotators: list[str]
    dimensions: list[str]
    n_consensus: IntArray
    case: IntArray
    annotator: IntArray
    dimension: IntArray
    choice: IntArray

    def of(self, dimension: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return case, annotator and choice of the annotations on one dimension."""
        rows = self.dimension == dimension
        return self.case[rows], self.annotator[rows], self.choice[rows]

    def absence(self, dimension: int) -> str:
        """Say why there are no annotations by people on a dimension."""
        return ONLY_CONSENSUS if self.n_consensus[dimension] else NO_ANNOTATIONS

    def labels(self, n_cases: int) -> IntArray:
        """Return the labels as codes, shape (cases, dimensions, annotators); -1 where an annotator gave none."""
        out = np.full((n_cases, len(self.dimensions), len(self.annotators)), -1, dtype=np.int64)
        out[self.case, self.dimension, self.annotator] = self.choice
        return out


def encode_annotations(
    annotations: pd.DataFrame, cases: pd.DataFrame, categories: Sequence[str], dimensions: Sequence[str] | None
) -> Annotations:
    """Turn an annotations table into codes.

    Raises
    ------
    InputError
        A choice is not among the categories, or an annotation is about an unknown case.
    """
    names = pick_dimensions(annotations["dimension"].unique(), dimensions)
    kept = annotations[annotations["dimension"].isin(names)]
    dimension = code(kept["dimension"], names, "dimension")
    person = (kept["annotator"] != CONSENSUS).to_numpy(dtype=bool)
    people = kept[person]
    annotators = sorted(map(str, people["annotator"].unique()))
    return Annotations(
        annotators=annotators,
        dimensions=names,
        n_consensus=np.bincount(dimension[~person], minlength=len(names)).astype(np.int64),
        case=code(people["case_id"], list(cases["case_id"]), "case_id"),
        annotator=code(people["annotator"], annotators, "annotator"),
        dimension=dimension[person],
        choice=code(people["choice"], categories, "choice"),
    )


def votes_by_case(case: IntArray, choice: IntArray, n_cases: int, n_categories: int) -> FloatArray:
    """Count annotations: shape (n_cases, n_categories)."""
    votes = np.zeros((n_cases, n_categories))
    np.add.at(votes, (case, choice), 1)
    return votes
