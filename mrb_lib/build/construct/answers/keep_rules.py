"""Rules in words that keep items, as `correct <= 2 and modality != 'photograph'`, and why others are left out."""

import ast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.build.construct.tables import ABOUT
from mrb_lib.stats.where import LENGTHS, matching, syntax_tree
from mrb_lib.tables.errors import InputError


def rule_table(items: pd.DataFrame, measures: pd.DataFrame) -> pd.DataFrame:
    """Return what a rule may ask about each item: its texts, its counts, and what was measured.

    Parameters
    ----------
    items : as of the work folder
    measures : a row an item in the same order, numbers only
    """
    texts = items[["question", "reference", *ABOUT]].astype("str").reset_index(drop=True)
    counts = {
        "n_images": items["images"].map(lambda names: 0 if names is None else len(names)),
        "n_options": items["choices"].map(lambda choices: 0 if choices is None else len(choices)),
        "length_question": items[LENGTHS["length_question"]].str.len(),
    }
    numbers = pd.DataFrame(counts, index=items.index).reset_index(drop=True).astype("float64")
    own = measures.drop(columns="item_id", errors="ignore").reset_index(drop=True).astype("float64")
    return pd.concat([texts, numbers, own], axis=1)


def kept_by(rule: str, table: pd.DataFrame) -> NDArray[np.bool_]:
    """Return the items that a rule keeps; rules are written as in `mrb_lib.stats.where.matching`.

    Parameters
    ----------
    table : see `rule_table`

    Raises
    ------
    InputError
        The rule cannot be read, or names what is not there.
    """

    def look(name: str, keys: tuple[str, ...]) -> pd.Series:
        if name not in table or keys:
            raise InputError(f"keep: {name!r} is unknown; use one of {', '.join(table.columns)}, without brackets.")
        return table[name]

    try:
        return matching(rule, look)
    except InputError as error:
        raise InputError(f"keep{str(error).removeprefix('keep').removeprefix('where')}") from None


def why_left_out(rule: str, table: pd.DataFrame, kept: NDArray[np.bool_]) -> NDArray[np.object_]:
    """Return the first part of a rule that each item fails, of the parts joined by `and`; None for one that is kept."""
    tree = syntax_tree(rule)
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    reasons = np.full(len(table), None, dtype=object)
    for part in map(ast.unparse, parts):
        reasons[~kept_by(part, table) & ~kept & pd.isna(reasons)] = f"not {part}"
    return reasons
