"""Annotations as codes, and the gold labels that rules and reviewers make of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.dawid_skene import FEW_ANNOTATORS, Fitted, fit_labels
from mrb_lib.stats.estimation import divide
from mrb_lib.stats.options import FloatArray, IntArray, code
from mrb_lib.tables.schema import CONSENSUS

ADJUDICATION_VERDICTS = ("gold_right", "gold_wrong", "ambiguous", "image_unusable", "withdrawn")
WITHDRAWN = "withdrawn"
NO_ANNOTATIONS = "there are no annotations"
ONLY_CONSENSUS = "only consensus labels are published"
SINGLE_VOTES = "cases with one annotator's label are left out: one vote is not unanimous"
MAJORITY, UNANIMOUS, POSTERIOR, SOFT_POSTERIOR = "majority", "unanimous", "posterior", "soft_posterior"
_SAME: Final = 1e-9
_LABEL: Final = ["case_id", "dimension"]


@dataclass(frozen=True)
class Annotations:
    """Annotations by people as codes, and what rules make of them.

    Attributes
    ----------
    annotators, dimensions, categories : the names behind the codes, in the order to show them; there are K categories
    n_consensus : shape (dimensions,), rows of the annotator `consensus`, which are left out
    labels : shape (cases, dimensions, annotators), the labels as codes; -1 where an annotator gave none
    """

    annotators: list[str]
    dimensions: Sequence[str]
    categories: Sequence[str]
    n_consensus: IntArray
    labels: IntArray

    @cached_property
    def votes(self) -> FloatArray:
        """Count the annotators who give each label, shape (cases, dimensions, K)."""
        return np.asarray(self.one_hot(self.labels).sum(axis=2))

    @cached_property
    def fits(self) -> list[Fitted | None]:
        """The model of Dawid and Skene of each dimension; None with fewer than three annotators."""
        return [fit_labels(self.labels[:, d], len(self.categories)) for d in range(self.labels.shape[1])]

    @cached_property
    def posterior(self) -> FloatArray:
        """The probability of each label by the model, shape (cases, dimensions, K); NaN without a model."""
        out = np.full(self.votes.shape, np.nan)
        for dimension, item in enumerate(self.fits):
            if item is not None:
                out[item.items, dimension] = item.fit.posterior[0][item.kind]
        return out

    @property
    def most_probable(self) -> FloatArray:
        """The most probable label by the model, as `plurality`; NaN where two are equally probable."""
        top = self.posterior.max(axis=2, keepdims=True) - _SAME
        return np.where(np.isnan(top), np.nan, plurality((self.posterior >= top).astype(np.float64)))

    def one_hot(self, labels: IntArray, none: float = 0.0) -> FloatArray:
        """Return codes as 0 and 1 for each label; `none` where there is no label."""
        return np.where(labels[..., None] >= 0, labels[..., None] == np.arange(len(self.categories)), none)

    def absence(self, dimension: int, rule: str = MAJORITY) -> str:
        """Say why a dimension lacks labels by a rule, or some of them; empty where it lacks none."""
        votes = self.votes[:, dimension].sum(axis=1)
        if not votes.any():
            return ONLY_CONSENSUS if self.n_consensus[dimension] else NO_ANNOTATIONS
        if rule == UNANIMOUS and (votes == 1).any():
            return SINGLE_VOTES
        return FEW_ANNOTATORS if rule in (POSTERIOR, SOFT_POSTERIOR) and self.fits[dimension] is None else ""

    def weights(self) -> dict[str, FloatArray]:
        """Return the probability of each label by each rule, (cases, dimensions, K); NaN where there is no label."""
        total, majority = self.votes.sum(axis=2, keepdims=True), plurality(self.votes)
        all_alike = (self.votes.max(axis=2, keepdims=True) == total) & (total >= 2)
        others = self.one_hot(leave_one_out(self.labels, len(self.categories))).sum(axis=2)
        return {
            MAJORITY: majority,
            UNANIMOUS: np.where(all_alike, majority, np.nan),
            POSTERIOR: self.most_probable,
            "leave_one_out": np.where(others.any(axis=2, keepdims=True), others, np.nan),
            "soft_votes": divide(self.votes, total),
            SOFT_POSTERIOR: self.posterior,
        }


def encode_annotations(
    annotations: pd.DataFrame, cases: pd.DataFrame, categories: Sequence[str], dimensions: Sequence[str]
) -> Annotations:
    """Turn an annotations table into codes.

    Raises
    ------
    InputError
        A choice is not among the categories, or an annotation is about an unknown case.
    """
    kept = annotations[annotations["dimension"].isin(list(dimensions))]
    dimension = code(kept["dimension"], dimensions, "dimension")
    person = (kept["annotator"] != CONSENSUS).to_numpy(dtype=bool)
    people = kept[person]
    annotators = sorted(map(str, people["annotator"].unique()))
    case, who = code(people["case_id"], cases["case_id"], "case_id"), code(people["annotator"], annotators, "annotator")
    labels = np.full((len(cases), len(dimensions), len(annotators)), -1, dtype=np.int64)
    labels[case, dimension[person], who] = code(people["choice"], categories, "choice")
    n_consensus = np.bincount(dimension[~person], minlength=len(dimensions))
    return Annotations(annotators, dimensions, categories, n_consensus, labels)


def plurality(votes: FloatArray) -> FloatArray:
    """Return the label with the most votes as shares of 0 and 1, over the last axis; NaN where two share the most."""
    top = votes == votes.max(axis=-1, keepdims=True)
    return np.where(top.sum(axis=-1, keepdims=True) == 1, top, np.nan)


def leave_one_out(labels: IntArray, k: int) -> IntArray:
    """Return for each annotator the majority of at least two others; -1 where they have none.

    Parameters
    ----------
    labels : shape (cases, dimensions, annotators), codes of k categories, -1 for none; the result has the same shape
    """
    given = labels[..., None] == np.arange(k)
    votes = given.sum(axis=2, keepdims=True) - given
    top = votes.max(axis=-1, initial=0)
    single = (votes == top[..., None]).sum(axis=-1) == 1
    return np.where((labels >= 0) & single & (votes.sum(axis=-1) >= 2), votes.argmax(axis=-1), -1)


def posterior(benchmark: Benchmark) -> pd.DataFrame:
    """Return the gold table by the rule "posterior": the most probable label of each case by Dawid and Skene's model.

    `choice` is null where two labels are equally probable, and on a dimension with fewer than three annotators.
    """
    meta, rows = benchmark.meta, gold(benchmark)
    people = encode_annotations(benchmark.annotations, benchmark.cases, meta.categories, meta.dimensions)
    case = code(rows["case_id"], list(benchmark.cases["case_id"]), "case_id")
    of_row = people.most_probable[case, code(rows["dimension"], meta.dimensions, "dimension")]
    label = pd.Series(np.array(meta.categories, dtype=object)[of_row.argmax(axis=1)], dtype="str")
    return rows.assign(choice=label.where(pd.Series(np.isfinite(of_row).all(axis=1))))


def last_words(adjudications: pd.DataFrame) -> pd.DataFrame:
    """Return the last adjudication of each reviewer on each case and dimension, whichever judge was in view."""
    kept = adjudications[adjudications["verdict"] != WITHDRAWN].sort_values("created", kind="stable")
    return kept.drop_duplicates([*_LABEL, "reviewer"], keep="last")


def adjudicated_gold(gold: pd.DataFrame, adjudications: pd.DataFrame) -> pd.DataFrame:
    """Return the gold labels as reviewers corrected them.

    Parameters
    ----------
    gold : the gold table, by any rule; its labels are A, B or tie
    adjudications : those that count, as `mrb_lib.review.records.store.Store.adjudications` gives them

    Returns
    -------
    DataFrame
        The rows and columns of `gold`, `choice` replaced where reviewers say so, and: `n_reviewers`,
        `annotated_choice` (the label before).
        Each reviewer has one vote on a case and dimension: their last word on that dimension, or else on all
        dimensions. "gold_right" votes for the label there is, "gold_wrong" for the reviewer's choice, "ambiguous" and
        "image_unusable" for no label. The votes' majority decides; where two outcomes share the most votes there is
        no label. Adjudications of cases and dimensions that are not in `gold` change nothing.

    Notes
    -----
    Reviewers who look only at cases that a judge got wrong can only ever help that judge: where the size of a change is
    to mean anything, choose the cases without regard to the verdicts. Validated in
    `tests/stats/tables/test_adjudication.py`.
    """
    words = last_words(adjudications)[[*_LABEL, "reviewer", "verdict", "choice"]].rename(columns={"choice": "other"})
    labels = gold[[*_LABEL, "choice"]]
    on_all = words[words["dimension"].isna()].drop(columns="dimension")
    votes = pd.concat([labels.merge(words, on=_LABEL), labels.merge(on_all, on="case_id")])
    votes = votes.drop_duplicates([*_LABEL, "reviewer"])
    votes["label"] = votes["other"].fillna(votes["choice"].where(votes["verdict"] == "gold_right"))
    votes["outcome"] = votes["label"].fillna(votes["verdict"])
    counts = votes.groupby([*_LABEL, "outcome"], as_index=False).agg(n=("reviewer", "size"), label=("label", "first"))
    most = counts[counts["n"] == counts.groupby(_LABEL)["n"].transform("max")]
    decided = most.drop_duplicates(_LABEL, keep=False).set_index(_LABEL)["label"]
    place = pd.MultiIndex.from_frame(labels[_LABEL])
    n = votes.groupby(_LABEL).size().reindex(place, fill_value=0).to_numpy()
    corrected = pd.Series(decided.reindex(place).to_numpy(), gold.index, dtype="str")
    return gold.assign(choice=gold["choice"].where(n == 0, corrected), n_reviewers=n, annotated_choice=gold["choice"])
