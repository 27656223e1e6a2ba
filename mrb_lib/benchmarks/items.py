"""Which cases are about one item: an image with its question, to which several responses were compared in pairs."""

from typing import Final

import pandas as pd

ITEM: Final = "item"


def item_keys(cases: pd.DataFrame) -> pd.Series:
    """A text for each case that the cases of one item share: `item`, or, where that is empty or absent, the question
    with the names of its images, so that copies of an image must have one name to count as one.
    """
    images = cases["images"].map("\n".join, na_action="ignore") if "images" in cases else ""
    shown = "\n" + (cases["question"].str.strip() + "\n" + images).astype("str")
    return cases[ITEM].fillna(shown).astype("str") if ITEM in cases else shown
