"""Examples to learn from: the annotators' labels of training cases, as answers to the prompts that ask for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.options import Names, Option, checked_dataclass
from mrb_lib.tables.schema import ORDERS
from mrb_lib.verdicts.orders import FIRST, TIE, choice_to_shown

Ties = Literal["half", "drop"]
References = Literal["drop", "keep", "half"]

NO_LABEL: Final = "the annotators' votes give no label"
DROPPED_TIE: Final = "the label is a tie, and ties are dropped"
NO_REFERENCE: Final = "the case has no reference answer"


@checked_dataclass
class ExampleOptions:
    """Labels to learn from, and their form.

    Attributes
    ----------
    seed : of the draw of references
    """

    dimensions: Annotated[
        Names | None, Option("Learn these dimensions only; repeatable; default: all.", "NAMES", "dimension")
    ] = None
    swap: Annotated[bool, Option("Show every case in both orders, or in order AB alone.")] = True
    reference: Annotated[
        References,
        Option("Show the reference answer never, always, or in half of the cases (Zhu et al. 2023, arXiv 2310.17631)."),
    ] = "drop"
    ties: Annotated[Ties, Option("Count a tie half for either response, or drop it.")] = "half"
    seed: int = 0


@dataclass(frozen=True)
class Examples:
    """Labels to learn from.

    Attributes
    ----------
    rows : DataFrame, one row a majority label and order: `case_id, dimension, order`, `choice` in the case's own frame,
        `pick` (`first`, `second`, `tie`: what the prompt in that order is to be answered), `p_first` (1, 0, or 1/2 for
        a tie), `weight` (more than 0) and `shows_reference`; by case in the order of the cases table, then order and
        dimension
    left_out : how many labels of these cases are not among them, by the reason
    """

    rows: pd.DataFrame
    left_out: Mapping[str, int]

    @property
    def case_ids(self) -> list[str]:
        """The cases, each once, in the order of the cases table."""
        return list(self.rows["case_id"].unique())


def examples(benchmark: Benchmark, case_ids: Sequence[str], options: ExampleOptions) -> Examples:
    """The labels of some cases as examples to learn from.

    Parameters
    ----------
    case_ids : the cases to learn from, such as those of the split "train"

    Raises
    ------
    InputError
        A dimension is unknown, or nothing is left to learn from, or the same answer to every prompt.

    Notes
    -----
    Validated by tests/build/training/test_export.py.
    """
    dimensions = _dimensions(benchmark, options.dimensions)
    labels = gold(benchmark)[["case_id", "dimension", "choice"]]
    labels = labels[labels["case_id"].isin(list(case_ids)) & labels["dimension"].isin(dimensions)]
    left_out = {NO_LABEL: int(labels["choice"].isna().sum())}
    labels = labels.dropna(subset="choice")
    if options.ties == "drop":
        left_out[DROPPED_TIE] = int(labels["choice"].eq(TIE).sum())
        labels = labels[labels["choice"] != TIE]
    references = _references(benchmark, options)
    if options.reference == "keep":
        lacks = ~labels["case_id"].map(references)
        left_out[NO_REFERENCE] = int(lacks.sum())
        labels = labels[~lacks]
    rows = _in_orders(labels, ORDERS if options.swap else ORDERS[:1], benchmark.cases["case_id"], dimensions)
    rows["shows_reference"] = rows["case_id"].map(references).astype(bool)
    rows["weight"] = 1.0
    _check_worth_learning(rows)
    return Examples(rows, {reason: n for reason, n in left_out.items() if n})


def _dimensions(benchmark: Benchmark, wanted: Sequence[str] | None) -> tuple[str, ...]:
    meta = benchmark.meta
    if not meta.is_preference:
        raise InputError(f"benchmark {meta.name}: its labels are not preferences between two responses; name another.")
    unknown = [name for name in wanted or () if name not in meta.dimensions]
    if unknown:
        raise InputError(f"dimension {unknown[0]!r}: use some of {', '.join(meta.dimensions)}.")
    return tuple(name for name in meta.dimensions if wanted is None or name in wanted)


def _references(benchmark: Benchmark, options: ExampleOptions) -> pd.Series:
    """Return whether the prompts of each case show its reference answer, by case id."""
    cases = benchmark.cases
    has = cases["reference"].notna() if "reference" in cases else pd.Series(False, index=cases.index)
    if options.reference == "drop":
        has &= False
    elif options.reference == "half":
        has &= np.random.default_rng(options.seed).permutation(len(cases)) % 2 == 0
    return has.set_axis(cases["case_id"])


def _in_orders(
    labels: pd.DataFrame, orders: Sequence[str], case_ids: pd.Series, dimensions: Sequence[str]
) -> pd.DataFrame:
    rows = labels.merge(pd.DataFrame({"order": list(orders)}), how="cross")
    rows["pick"] = choice_to_shown(rows["order"], rows["choice"])
    rows["p_first"] = np.select([rows["pick"] == FIRST, rows["pick"] == TIE], [1.0, 0.5], 0.0)
    places = {"case_id": pd.Index(case_ids), "order": pd.Index(ORDERS), "dimension": pd.Index(dimensions)}
    return rows.sort_values([*places], key=lambda one: places[str(one.name)].get_indexer(one), ignore_index=True)


def _check_worth_learning(rows: pd.DataFrame) -> None:
    if rows.empty:
        raise InputError("no label is left to train on; `mrb split` makes a training set.")
    if rows["pick"].nunique() == 1:
        raise InputError(
            f"all {len(rows)} labels to train on are answered {rows['pick'].iloc[0]!r}, so there is nothing to tell "
            "apart; show both orders (without --no-swap), or name other cases or dimensions."
        )
