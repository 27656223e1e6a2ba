"""References, evidence and examples that the prompts of a run show beside the cases, and their record."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.context import wording_digest
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ANSWER
from mrb_lib.verdicts.orders import EVIDENCE, EXAMPLES, OF_PLAN, WEAK


@dataclass(frozen=True)
class Beside:
    """Columns shown beside the cases.

    Attributes
    ----------
    columns : of `mrb_lib.verdicts.orders.CONTEXT` those that are shown, by the row of the case from 0; only the cases
        that are judged; None for all cases and no column
    shown : what the judges' settings say of it, see `mrb_lib.judges.settings.Settings.shown`
    notices : which cases are not judged, and why
    """

    columns: pd.DataFrame | None = None
    shown: Mapping[str, object] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def judged(self, cases: pd.DataFrame) -> pd.DataFrame:
        """Return the cases that are judged, with the columns; what a source calls by their names is left out."""
        cases = cases.drop(columns=list(OF_PLAN), errors="ignore")
        if self.columns is None:
            return cases
        kept = cases.iloc[self.columns.index.to_numpy()]
        return kept.assign(**{str(name): self.columns[name].to_numpy(dtype=object) for name in self.columns}).astype(
            dict.fromkeys(self.columns, "str")
        )


def beside_of(benchmark: Benchmark, settings: Settings) -> Beside:
    """Return what judges are shown beside the cases of a benchmark, by their settings.

    Raises
    ------
    InputError
        No case has the column that is to be shown, examples cannot be drawn, or answers are wanted, not verdicts.
    """
    if settings.reference in (None, "none") and not settings.evidence and not settings.examples:
        return Beside()
    if benchmark.meta.dimensions == (ANSWER,):
        raise InputError(
            "reference, evidence and examples: are shown to judges, and answers are wanted; leave them out."
        )
    cases, words = benchmark.cases, wording_digest()
    columns = pd.DataFrame(index=np.arange(len(cases)))
    shown: dict[str, object] = {}
    if settings.reference in ("weak", "strong"):
        name = "reference" if settings.reference == "strong" else "reference_weak"
        column = _column(cases, name, f"reference {settings.reference}")
        if settings.reference == "weak":
            columns[WEAK] = column
        shown["reference"] = {"level": settings.reference, "sha256": _digest(words, column)}
    if settings.evidence:
        columns[EVIDENCE] = _column(cases, "evidence", "evidence")
        shown["evidence"] = {"sha256": _digest(words, columns[EVIDENCE])}
    if not settings.examples:
        return Beside(columns, shown)
    from mrb_lib.judges.examples import draw_examples  # scikit-learn is slow to load

    drawn = draw_examples(benchmark, settings.examples, settings.examples_by, settings.seed)
    columns = columns.loc[drawn.column.index].assign(**{EXAMPLES: drawn.column})
    rule = {"k": settings.examples, "by": settings.examples_by, "seed": settings.seed}
    shown["examples"] = {**rule, "sha256": hashlib.sha256((words + drawn.sha256).encode()).hexdigest()}
    n, n_train, n_without = len(cases), len(cases) - len(drawn.column), int(drawn.column.isna().sum())
    notices = [f"{n_train} of {n} cases are in the split train, from which examples are drawn, and are not judged"]
    if n_without:
        notices.append(f"{n_without} of {n - n_train} cases have too few examples of other items, and are errors")
    return Beside(columns, shown, tuple(notices))


def _column(cases: pd.DataFrame, name: str, what: str) -> pd.Series:
    """Return a column of texts by the row of the case; `InputError` where no case has one."""
    if name not in cases or cases[name].isna().all():
        raise InputError(f"{what}: no case has a value in the column {name}, which is to be shown; fill it in.")
    return cases[name].reset_index(drop=True).astype("str")


def _digest(words: str, column: pd.Series) -> str:
    values = [None if pd.isna(value) else str(value) for value in column]
    return hashlib.sha256((words + json.dumps(values)).encode()).hexdigest()
