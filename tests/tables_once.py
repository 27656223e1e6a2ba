"""A table of the same arguments is made once, where a test is of what is done with it."""

from __future__ import annotations

import pickle
from functools import wraps

import pandas as pd
import pytest

from mrb_lib.stats import tables


def make_tables_once(patch: pytest.MonkeyPatch) -> None:
    """Let `analyze` give another copy of the table that it made before of equal arguments."""
    analyze = tables.analyze
    made: dict[bytes, pd.DataFrame] = {}

    @wraps(analyze)
    def once(*arguments: object, **options: object) -> pd.DataFrame:
        key = pickle.dumps((arguments, options))
        if key not in made:
            made[key] = analyze(*arguments, **options)
        return made[key].copy()

    patch.setattr(tables, "analyze", once)
