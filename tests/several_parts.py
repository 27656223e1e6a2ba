"""Runs of several parts, as judges leave them, so that no test opens runs of one part alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.runs.plan import Plan
from mrb_lib.verdicts import merge, store
from mrb_lib.verdicts.protocol import PromptlessJudge

PARTS = 3


@contextmanager
def several_parts() -> Iterator[None]:
    """Let imported runs, and runs of judges without weights, have three parts."""
    # `merge` takes `append_part` by name, so that it has to be imported before the patch, and has the usual one.
    append_part, batches, usual = merge.append_part, Plan.batches, PromptlessJudge.cases_per_batch

    def append_parts(folder: Path, verdicts: pd.DataFrame) -> Path:
        rows = np.array_split(np.arange(len(verdicts)), min(PARTS, max(len(verdicts), 1)))
        return [append_part(folder, verdicts.iloc[some]) for some in rows][-1]

    def in_batches(plan: Plan, pending: np.ndarray, cases: int) -> Iterator[np.ndarray]:
        return batches(plan, pending, ceil(len(plan.cases) / PARTS) if cases == usual else cases)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "append_part", append_parts)
        patch.setattr(Plan, "batches", in_batches)
        yield
