"""References and examples that the prompts of a run show beside the cases, and their record."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.context import wording_digest
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ANSWER
from mrb_lib.verdicts.orders import EXAMPLES, OF_PLAN


@dataclass(frozen=True)
class Beside:
    """Columns shown beside the cases.

    Attributes
    ----------
    examples : the worked examples by the row of the case from 0, only of the cases that are judged; None for all cases
        and no examples
    shown : what the judges' settings say of it, see `mrb_lib.judges.settings.Settings.shown`
    notices : which cases are not judged, and why
    """

    examples: pd.Series | None = None
    shown: Mapping[str, object] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def judged(self, cases: pd.DataFrame) -> pd.DataFrame:
        """Return the cases that are judged, with their examples; what a source calls by that name is left out."""
        cases = cases.drop(columns=list(OF_PLAN), errors="ignore")
        if self.examples is None:
            return cases
        kept = cases.iloc[self.examples.index.to_numpy()]
        return kept.assign(**{EXAMPLES: self.examples.to_numpy(dtype=object)}).astype({EXAMPLES: "str"})


def beside_of(benchmark: Benchmark, settings: Settings) -> Beside:
    """Return what judges are shown beside the cases of a benchmark, by their settings.

    Raises
    ------
    InputError
        No case has the column that is to be shown, examples cannot be drawn, or answers are wanted, not verdicts.
    """
    if not settings.shows:
        return Beside()
    if benchmark.meta.dimensions == (ANSWER,):
        raise InputError("--reference and --examples are for judges, but this prompt asks for answers; leave them out.")
    cases, words = benchmark.cases, wording_digest()
    shown: dict[str, object] = {}
    if settings.reference == "strong":
        if "reference" not in cases or cases["reference"].isna().all():
            raise InputError(
                "reference strong: no case has a value in the column reference, which is to be shown; fill it in."
            )
        values = [None if pd.isna(value) else str(value) for value in cases["reference"]]
        digest = hashlib.sha256((words + json.dumps(values)).encode()).hexdigest()
        shown["reference"] = {"level": "strong", "sha256": digest}
    if not settings.examples:
        return Beside(shown=shown)
    from mrb_lib.judges.examples import draw_examples  # scikit-learn is slow to load

    drawn = draw_examples(benchmark, settings.examples, settings.seed)
    rule = {"k": settings.examples, "seed": settings.seed}
    shown["examples"] = {**rule, "sha256": hashlib.sha256((words + drawn.sha256).encode()).hexdigest()}
    n, n_train, n_without = len(cases), len(cases) - len(drawn.column), int(drawn.column.isna().sum())
    notices = [f"{n_train} of {n} cases are in the split train, from which examples are drawn, and are not judged"]
    if n_without:
        notices.append(f"{n_without} of {n - n_train} cases have too few examples of other items, and are errors")
    return Beside(drawn.column, shown, tuple(notices))
