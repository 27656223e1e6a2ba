"""Items that ask the same thing twice, and items that belong together."""

import re
from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.near_duplicates import Pairs, components, similar_texts, with_first

COPY: Final = "a copy of another item"
NEAR_COPY: Final = "the question of another item about a copy of its image"
CONTRADICTION: Final = "the question of another item about the same image, with another reference"
TEMPLATE: Final = 10
"""More items than this with one long question are asked by a template, and not about one case."""
_WORDS = re.compile(r"\w+")


def plain_question(question: str) -> str:
    """The words of a question, whatever their case, spaces and punctuation."""
    return " ".join(_WORDS.findall(question.casefold()))


def duplicate_reasons(items: pd.DataFrame, pictures: Mapping[str, int]) -> pd.Series:
    """Why an item repeats one before it; null where it does not.

    Parameters
    ----------
    items : the items that are fine in themselves
    pictures : the number of the picture that each image shows, by the image's name

    Returns
    -------
    Series of str, like the items
        Two items are the same where their images show the same pictures and their questions have the same words. The
        first is kept. A paraphrase is another question: it stays, in the cluster of its image.
    """
    question = items["question"].map(plain_question)
    shown = items["images"].map(lambda names: tuple(sorted(pictures[name] for name in names)))
    stored = items["images"].map(lambda names: tuple(sorted(names)))
    order = pd.Series(np.arange(len(items)), index=items.index)
    original = order.groupby([shown, question], sort=False).transform("first").to_numpy()
    reference = items["reference"].fillna("").map(plain_question).to_numpy(dtype=object)
    same_reference = reference == reference[original]
    same_bytes = stored.to_numpy(dtype=object) == stored.to_numpy(dtype=object)[original]
    reasons = np.where(same_bytes, np.where(same_reference, COPY, CONTRADICTION), NEAR_COPY)
    return pd.Series(reasons, index=items.index).astype(object).mask(order == original, None)


def original_items(items: pd.DataFrame, pictures: Mapping[str, int], *, among: pd.Series) -> pd.Series:
    """Return the first item that shows a picture of each item, null where none before it does.

    Parameters
    ----------
    pictures : the number of the picture that each image shows, by the image's name
    among : bool, like the items: those that may be the first
    """
    first: dict[int, str] = {}
    for item_id, names in items.loc[among, ["item_id", "images"]].itertuples(index=False):
        for name in names:
            first.setdefault(pictures[name], item_id)
    found = [
        next((first[pictures[name]] for name in names if first.get(pictures[name], item_id) != item_id), None)
        for item_id, names in items[["item_id", "images"]].itertuples(index=False)
    ]
    return pd.Series(found, index=items.index, dtype=object)


def clusters(items: pd.DataFrame, pictures: Mapping[str, int], also: pd.DataFrame) -> pd.Series:
    """Return units that no split may part: items that share a picture, patient, named cluster or the text of a case.

    Parameters
    ----------
    also : columns whose values, where they are not null, also join the items that have them

    Returns
    -------
    Series of str, like the items
        The `item_id` of the first item of the cluster.
    """
    n = len(items)
    pairs = [_vignettes(items)]
    shown = items["images"].map(lambda names: [pictures[name] for name in names]).reset_index(drop=True).explode()
    pairs += map(with_first, [shown, *(also[name].reset_index(drop=True) for name in also.columns)])
    one, other = (np.concatenate(side) for side in zip(*pairs, strict=True))
    codes = components(n, one, other)
    leaders = np.unique(codes, return_index=True)[1]
    return pd.Series(items["item_id"].to_numpy()[leaders[codes]], index=items.index, dtype="str")


def _vignettes(items: pd.DataFrame) -> Pairs:
    """Pairs of items with nearly the same long question; what many items share is a template, and joins none."""
    one, other = similar_texts(items.assign(response_a="", response_b="").reset_index(drop=True))
    group = components(len(items), one, other)
    is_case = np.bincount(group, minlength=1)[group[one]] <= TEMPLATE if len(one) else np.zeros(0, dtype=bool)
    return one[is_case], other[is_case]
