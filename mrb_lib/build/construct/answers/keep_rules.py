"""Which items a rule in words keeps, as `correct <= 2 and modality != 'photograph'`; why it leaves out the others."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.where import LENGTHS, matching, syntax_tree
from mrb_lib.build.construct.tables import ABOUT
from mrb_lib.tables.errors import InputError

_TEXTS: Final = ("question", "reference", *ABOUT)
_COUNTS: Final = ("n_images", "n_options", "length_question")


def rule_table(items: pd.DataFrame, measures: pd.DataFrame) -> pd.DataFrame:
    """What a rule may ask about each item: its texts, its counts, and what was measured.

    Parameters
    ----------
    items : as of the work folder
    measures : a row an item in the same order, numbers only
    """
    texts = items[list(_TEXTS)].astype("str").reset_index(drop=True)
    counts = {
        "n_images": items["images"].map(lambda names: 0 if names is None else len(names)),
        "n_options": items["choices"].map(lambda choices: 0 if choices is None else len(choices)),
        "length_question": items[LENGTHS["length_question"]].str.len(),
    }
    numbers = pd.DataFrame(counts, index=items.index).reset_index(drop=True).astype("float64")
    own = measures.drop(columns="item_id", errors="ignore").reset_index(drop=True).astype("float64")
    return pd.concat([texts, numbers[list(_COUNTS)], own], axis=1)


def kept_by(rule: str, table: pd.DataFrame, of_model: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Return the items that a rule keeps; rules are written as in `mrb_lib.benchmarks.where.matching`.

    Parameters
    ----------
    table : see `rule_table`
    of_model : of each model the share of its answers that is right, which a rule calls `correct['a model']`

    Raises
    ------
    InputError
        The rule cannot be read, or names what is not there.
    """
    try:
        return matching(rule, _lookup(table, of_model))
    except InputError as error:
        raise InputError(f"keep{str(error).removeprefix('keep').removeprefix('where')}") from None


def why_left_out(
    rule: str, table: pd.DataFrame, of_model: Mapping[str, NDArray[np.float64]], kept: NDArray[np.bool_]
) -> NDArray[np.object_]:
    """The first part of a rule that each item fails, of the parts joined by `and`; None for an item that is kept."""
    tree = syntax_tree(rule)
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    reasons = np.full(len(table), None, dtype=object)
    lookup = _lookup(table, of_model)
    for part in parts:
        fails = ~matching(ast.unparse(part), lookup) & ~kept & pd.isna(reasons)
        reasons[fails] = f"not {ast.unparse(part)}"
    return reasons


def _lookup(
    table: pd.DataFrame, of_model: Mapping[str, NDArray[np.float64]]
) -> Callable[[str, tuple[str, ...]], pd.Series]:
    def look(name: str, keys: tuple[str, ...]) -> pd.Series:
        if keys:
            if name != "correct" or len(keys) != 1 or keys[0] not in of_model:
                raise InputError(f"keep: {name}[...] is unknown; write correct['MODEL'] for {', '.join(of_model)}.")
            return pd.Series(of_model[keys[0]], dtype="float64")
        if name not in table:
            raise InputError(
                f"keep: {name!r} is unknown; use one of {', '.join([*table.columns, *_per_model(of_model)])}."
            )
        return table[name]

    return look


def _per_model(of_model: Mapping[str, NDArray[np.float64]]) -> list[str]:
    return ["correct['MODEL']"] if of_model else []
