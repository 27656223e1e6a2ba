"""What stands for a table or a figure that the data cannot give, and why."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Literal, NoReturn

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.tables.schema import CONSENSUS, ORDERS

Need = Literal[
    "preferences", "ratings", "annotations", "annotators", "verdicts", "judges", "orders", "probabilities",
    "model_pair", "organ", "department", "modality", "dataset",
]  # fmt: skip


class Absent:
    """In place of what these data cannot give: whatever is taken from it or computed with it is absent as well.

    A notebook therefore reads the same whether or not its data have what it asks for, and what it shows in the end
    says why it is not there. It is false, empty, and reads "n/a" in a text.

    Parameters
    ----------
    reason : why, as a sentence without a full stop
    title : what is not shown; empty for a value on the way to it
    """

    def __init__(self, reason: str, title: str = "") -> None:
        self._reason, self._title = reason, title

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("_"):  # what Python and Jupyter look for is not a column
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> Absent:
        return self

    def __call__(self, *args: object, **options: object) -> Absent:
        return self

    def _with(self, other: object) -> Absent:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _with
    __floordiv__ = __rfloordiv__ = __mod__ = __pow__ = _with
    __and__ = __rand__ = __or__ = __ror__ = __lt__ = __le__ = __gt__ = __ge__ = _with
    __eq__ = __ne__ = _with  # type: ignore[assignment]  # a comparison with a column is a column, as in pandas

    def __hash__(self) -> int:
        return hash(self._reason)

    def __invert__(self) -> Absent:
        return self

    def __iter__(self) -> Iterator[NoReturn]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __format__(self, spec: str) -> str:
        return "n/a"

    def __repr__(self) -> str:
        return f"Not applicable: {self._title}. {self._reason}." if self._title else f"Not applicable: {self._reason}."

    def _repr_html_(self) -> str:
        title = f": {html.escape(self._title)}." if self._title else "."
        return f"<p><em>Not applicable{title}</em> {html.escape(self._reason)}.</p>"


Frame = pd.DataFrame | Absent
"""A table, or why there is none."""


def reason_of(value: object) -> str:
    """Why a value is absent; empty for one that is there."""
    return value._reason if isinstance(value, Absent) else ""


def missing(benchmark: Benchmark, verdicts: pd.DataFrame, *needs: str) -> str:
    """Why something cannot be shown of a benchmark and its verdicts; empty where nothing is missing.

    Parameters
    ----------
    needs : what it takes: `preferences` (labels that are), `ratings` (of one response a case), `annotations`,
        `annotators` (two at least), `verdicts`, `judges` (two at least), `orders` (verdicts in both),
        `probabilities`, `model_pair` (the responders' names), or any column of the cases that is filled in somewhere

    Returns
    -------
    str
        The first thing that is missing, as a sentence without a full stop.
    """
    return next(filter(None, (_lacks(benchmark, verdicts, need) for need in needs)), "")


def _lacks(benchmark: Benchmark, verdicts: pd.DataFrame, need: str) -> str:
    name = benchmark.meta.name
    if need == "preferences":
        labels = ", ".join(benchmark.meta.categories)
        return "" if benchmark.meta.is_preference else f"the labels of {name} ({labels}) are not preferences"
    if need == "ratings":
        return "" if benchmark.meta.is_rating else f"{name} compares two responses a case, and rates none"
    if need == "annotations":
        return f"{name} has no annotations" if benchmark.annotations.empty else ""
    if need == "annotators":
        names = benchmark.annotations["annotator"]
        count = names[names != CONSENSUS].nunique()  # a published consensus is nobody's own
        return "" if count > 1 else f"{name} has {count or 'no'} annotator; agreement takes two"
    if need == "verdicts":
        return "there are no verdicts about it: no run was given" if verdicts.empty else ""
    if need == "judges":
        count = verdicts["judge"].nunique()
        return "" if count > 1 else f"the runs hold {count or 'no'} judge; a comparison takes two"
    if need == "orders":
        return "" if set(verdicts["order"]) >= set(ORDERS) else "no verdict was given with the responses swapped"
    if need == "probabilities":
        return "" if verdicts["p_a"].notna().any() else "no judge gives a probability"
    if need == "model_pair":
        named = {"model_a", "model_b"} <= set(benchmark.cases.columns)
        return "" if named else f"the cases of {name} do not name their responders"
    filled = need in benchmark.cases.columns and benchmark.cases[need].notna().any()
    return "" if filled else f"no case of {name} states its {need}"
