"""Annotations as arrays: the labels people gave, by dimension and group of cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.agreement.coefficients import votes_by_case
from mrb_lib.stats.agreement.pairwise import Pairs, collect, pair_rows
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, encode, pick_dimensions
from mrb_lib.stats.subfields import Group
from mrb_lib.tables.schema import CONSENSUS

NO_ANNOTATIONS = "there are no annotations"
ONLY_CONSENSUS = "only consensus labels are published"


class Annotations(NamedTuple):
    """Annotations by people as codes; the arrays have one entry an annotation.

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
        """Case, annotator and choice of the annotations on one dimension."""
        rows = self.dimension == dimension
        return self.case[rows], self.annotator[rows], self.choice[rows]

    def absence(self, dimension: int) -> str:
        """Why there are no annotations by people on a dimension."""
        return ONLY_CONSENSUS if self.n_consensus[dimension] else NO_ANNOTATIONS


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
    dimension = encode(kept["dimension"], names, "dimension")
    person = (kept["annotator"] != CONSENSUS).to_numpy(dtype=bool)
    people = kept[person]
    annotators = sorted(map(str, people["annotator"].unique()))
    return Annotations(
        annotators=annotators,
        dimensions=names,
        n_consensus=np.bincount(dimension[~person], minlength=len(names)).astype(np.int64),
        case=encode(people["case_id"], list(cases["case_id"]), "case_id"),
        annotator=encode(people["annotator"], annotators, "annotator"),
        dimension=dimension[person],
        choice=encode(people["choice"], categories, "choice"),
    )


class Part(NamedTuple):
    """The annotations of one dimension on one group of cases.

    Attributes
    ----------
    cases : positions in the cases table of the annotated cases
    votes : shape (len(cases), categories), how many annotators gave each label
    position, annotator, choice : one entry an annotation; position is that of its case in `cases`
    pairs : the pairs of annotators that share any of these cases
    """

    dimension: int
    group: Group
    cases: IntArray
    votes: FloatArray
    position: IntArray
    annotator: IntArray
    choice: IntArray
    pairs: Pairs

    @property
    def n_annotators(self) -> int:
        """Annotators of any of these cases."""
        return len(np.unique(self.annotator))

    @property
    def paired(self) -> BoolArray:
        """Which cases have two annotators or more."""
        return np.asarray(self.votes.sum(axis=1) >= 2)


def parts(coded: Annotations, groups: Sequence[Group], n_cases: int, distances: FloatArray) -> Iterator[Part]:
    """Every dimension of every group, the groups in the outer order.

    Parameters
    ----------
    distances : shape (W, K, K), between the labels, for the sums of the pairs
    """
    tables = []
    for dimension in range(len(coded.dimensions)):
        case, annotator, choice = coded.of(dimension)
        votes = votes_by_case(case, choice, n_cases, distances.shape[1])
        tables.append((votes, case, annotator, choice, pair_rows(case, annotator, choice)))
    for group in groups:
        for dimension, (votes, case, annotator, choice, rows) in enumerate(tables):
            cases = group.cases[votes[group.cases].any(axis=1)]
            position = np.full(n_cases, -1, dtype=np.int64)
            position[cases] = np.arange(len(cases))
            kept = position[case] >= 0
            yield Part(
                dimension=dimension,
                group=group,
                cases=cases,
                votes=votes[cases],
                position=position[case[kept]],
                annotator=annotator[kept],
                choice=choice[kept],
                pairs=collect(rows, position[rows.case], len(cases), distances),
            )
