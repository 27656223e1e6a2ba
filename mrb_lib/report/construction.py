"""How a benchmark was made, from the work folder of `mrb construct`, in frames to draw."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.build.construct.answers.difficulty import chance_of
from mrb_lib.build.construct.status import counts_by
from mrb_lib.build.construct.work import KEPT, Work
from mrb_lib.stats.analysis import labels
from mrb_lib.tables.errors import NotApplicable

_STEPS: Final[Mapping[str, str]] = {
    "start": "collected", "filter": "filtered by models", "screen": "screened by people", "respond": "answered",
    "pair": "paired", "release": "released",
}  # fmt: skip
_RULE: Final = re.compile(r"not (\w+) (>=|>|<=|<) (\S+)")
_WORDS: Final = {">=": "below", ">": "at most", "<=": "above", "<": "at least"}
_BINS: Final = 10
Made = tuple[pd.DataFrame, dict[str, Any]]
"""A frame to draw, and the options of the figure."""


def funnel(work: Work, benchmark: Benchmark) -> Made:
    """Count what each step took in and left out: step, n_in, n_out, and, null where nothing was, reason, n_items.

    The annotators' label is the last step where the benchmark was made of this work folder.
    """
    table = work.funnel().rename(columns={"n": "n_items"})
    if table.empty:
        raise NotApplicable(f"no step of {work.meta.name} is finished.")
    nothing = table["reason"].eq(KEPT)
    rows = table[~(nothing & table["n_in"].gt(table["n_out"]))]
    rows = rows.assign(
        reason=rows["reason"].mask(nothing), n_items=rows["n_items"].mask(nothing), step=rows["step"].replace(_STEPS)
    )
    rows["reason"] = rows["reason"].map(_in_words, na_action="ignore")
    cases = benchmark.cases
    if "item" in cases and cases["item"].isin(work.items()["item_id"]).any():
        known = labels(benchmark).dropna(subset="choice")["case_id"].nunique()
        lost = {"reason": "without a gold label", "n_items": len(cases) - known} if known < len(cases) else {}
        last = {"step": "given a gold label", "n_in": len(cases), "n_out": known, **lost}
        rows = pd.concat([rows, pd.DataFrame([last])])
    return rows.reset_index(drop=True), {}


def _in_words(reason: str) -> str:
    rule = _RULE.fullmatch(reason)
    what = rule[1].replace("correct", "right answers").replace("_", " ") if rule else ""
    return f"{what} {_WORDS[rule[2]]} {rule[3]}" if rule else reason


def left(work: Work, benchmark: Benchmark, by: str = "organ") -> Made:
    """Count the items of each value of a column after each step. Columns: value, step, n_items, share of the first."""
    if by not in work.items():
        raise NotApplicable(f"the items have no column {by}.")
    table = counts_by(work, by).rename(columns={by: "value", **_STEPS})
    long = table.melt("value", var_name="step", value_name="n_items")
    return long.assign(share=long["n_items"] / long["value"].map(table.set_index("value")["items"])), {"by": by}


def difficulty(work: Work, benchmark: Benchmark) -> Made:
    """Count the items by how often the models that filtered them were right. Columns: low, high, kept, left_out."""
    table, decisions = work.difficulty(), work.decisions()
    if table.empty:
        raise NotApplicable("no models filtered the items.")
    kept = table["item_id"].isin(decisions.loc[(decisions["step"] == "filter") & decisions["kept"], "item_id"])
    edges, share = np.linspace(0, 1, _BINS + 1), table["share_correct"]
    chance = chance_of(work.items())
    counts = {
        name: np.histogram(share[rows].dropna(), edges)[0] for name, rows in (("kept", kept), ("left_out", ~kept))
    }
    bins = pd.DataFrame({"low": edges[:-1], "high": edges[1:], **counts})
    return bins, {"chance": float(np.nanmean(chance)) if np.isfinite(chance).any() else float("nan")}


PARTS: Final[Mapping[str, Callable[..., Made]]] = {"funnel": funnel, "left": left, "difficulty": difficulty}
"""What can be drawn of a work folder: the figure `construction-PART`."""
