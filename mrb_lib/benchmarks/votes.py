"""The labels that annotators' votes give."""

from typing import Literal

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CONSENSUS

GoldRule = Literal["majority", "unanimous"]
GOLD_RULES: tuple[GoldRule, ...] = ("majority", "unanimous")


def vote_columns(categories: tuple[str, ...]) -> dict[str, str]:
    """The name of the votes column of each category: `votes_a`, `votes_b`, `votes_tie`, or `votes_<category>`."""
    return {category: f"votes_{category.lower().replace(' ', '_')}" for category in categories}


def voting(annotations: pd.DataFrame) -> pd.DataFrame:
    """The annotations that are votes: consensus labels are where no annotator labelled the case on the dimension."""
    people = (annotations["annotator"] != CONSENSUS).to_numpy(dtype=bool)
    if people.all() or not people.any():
        return annotations
    cell = pd.MultiIndex.from_frame(annotations[["case_id", "dimension"]])
    return annotations[people | ~cell.isin(cell[people])]


def gold(benchmark: Benchmark, rule: GoldRule = "majority") -> pd.DataFrame:
    """The label of each case and dimension that the annotators' votes give.

    Parameters
    ----------
    rule : "majority" takes the category with the most votes, "unanimous" the one
        that all annotators gave, of whom there must be two at least: one vote is not unanimous. Dimensions of several
        labels have none, see `mrb_lib.stats.verdicts.label_rows`.

    Returns
    -------
    DataFrame
        `case_id, dimension, choice`, one votes column a category (see
        `vote_columns`), `n_annotators`; sorted by case (in the order of the cases
        table) and dimension (in the benchmark's order). `choice` is null where two
        categories share the most votes, or where the rule is not met. A consensus label is a vote where
        no annotator's label is published with it, and none beside them: it would count them twice.

    Raises
    ------
    InputError
        `rule` is unknown, or "unanimous" where no case has the labels of two annotators.
    """
    if rule not in GOLD_RULES:
        raise InputError(f"gold rule {rule!r} is unknown; use one of {', '.join(GOLD_RULES)}.")
    benchmark = benchmark.of_one_choice
    meta, votes = benchmark.meta, voting(benchmark.annotations)
    case_ids = benchmark.cases["case_id"].tolist()
    orders = {"case_id": case_ids, "dimension": list(meta.dimensions), "choice": list(meta.categories)}
    given = pd.DataFrame({name: pd.Categorical(votes[name], order) for name, order in orders.items()})
    counts = given.groupby([*orders], observed=True).size().unstack("choice", fill_value=0)
    counts = counts.reindex(columns=meta.categories, fill_value=0)
    n = counts.to_numpy(dtype=np.int64)
    top, total = n.max(axis=1), n.sum(axis=1)
    decided = (n == top[:, None]).sum(axis=1) == 1
    if rule == "unanimous":
        if len(total) and total.max() < 2:
            raise InputError(
                "gold rule 'unanimous': no case has the labels of two annotators, and one label is not unanimous; "
                "use the rule majority."
            )
        decided &= (top == total) & (total >= 2)
    label = pd.Series(np.array(meta.categories, dtype=object)[n.argmax(axis=1)], dtype="str")
    out = counts.index.to_frame(index=False).assign(choice=label.where(pd.Series(decided, dtype=bool))).astype("str")
    of_category = {name: n[:, i] for i, name in enumerate(vote_columns(meta.categories).values())}
    return out.assign(**of_category, n_annotators=total)
