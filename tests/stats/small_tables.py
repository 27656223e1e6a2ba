"""Small tables written as text, one letter a case: A, B, T (tie), ? (null), - (no row)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.coefficients import coefficients, scaled
from mrb_lib.stats.estimation import Estimate, Quantity, Sampling, estimate
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.tables.agreement import agreement_of
from mrb_lib.tables.schema import CHOICES, NO_PROBE, ORDERS

OF_PREFERENCES = [name for name, spec in TABLES.items() if not spec.why_no_preferences]
OF_RATINGS = [name for name, spec in TABLES.items() if not spec.why_no_ratings]
CHOICE = {"A": "A", "B": "B", "T": "tie", "?": None}


def rows_of(
    table: str,
    cases: pd.DataFrame,
    verdicts: pd.DataFrame | None = None,
    gold: pd.DataFrame | None = None,
    annotations: pd.DataFrame | None = None,
    *,
    own: Mapping[str, float] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """The rows of a table of frames; `own` are options of the table alone, `options` those of every analysis."""
    analysis = Analysis.from_frames(cases, verdicts, gold, annotations, **options)
    rows: pd.DataFrame = TABLES[table].of(analysis, **(own or {}))
    return rows


def rows_of_panel(
    table: str,
    cases: pd.DataFrame,
    panel: Panel,
    gold: pd.DataFrame | None = None,
    *,
    own: Mapping[str, float] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """The rows of a table of verdicts in an array, which large simulations make."""
    analysis = Analysis.from_frames(cases, gold=gold, **options)
    of_panel = replace(analysis, probes={NO_PROBE: panel}, dimensions=panel.dimensions)
    rows: pd.DataFrame = TABLES[table].of(of_panel, **(own or {}))
    return rows


def accuracy(
    verdicts: pd.DataFrame,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    annotations: pd.DataFrame | None = None,
    references: float = 0,
    **options: Any,
) -> pd.DataFrame:
    """The table `accuracy` of frames, without the dimension `average`."""
    rows = rows_of("accuracy", cases, verdicts, gold, annotations, own={"references": references}, **options)
    return rows[rows["dimension"] != "average"].reset_index(drop=True)


def jury(verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """The table `jury` of frames."""
    return rows_of("jury", cases, verdicts, gold, **options)


def significance(
    verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, *, margin: float | None = None, **options: Any
) -> pd.DataFrame:
    """The table `significance` of frames, without the dimension `average` and without letters."""
    rows = rows_of("significance", cases, verdicts, gold, own={} if margin is None else {"margin": margin}, **options)
    return rows[(rows["dimension"] != "average") & (rows["part"] != "letters")].reset_index(drop=True)


def agreement(annotations: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """The rows of all annotators together in the table `agreement`."""
    return agreement_of(annotations, cases, **{"categories": CHOICES, **options})


def annotator_pairs(annotations: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """The rows of every two annotators in the table `agreement`."""
    rows = agreement_of(annotations, cases, pairwise=True, **{"categories": CHOICES, **options})
    return rows[rows["part"] == "pair"].reset_index(drop=True)


def estimated(
    annotations: pd.DataFrame, cases: pd.DataFrame, name: str, *, categories: Sequence[str], level: str = "nominal"
) -> Estimate:
    """One coefficient of agreement with its standard error, every case a cluster of its own."""
    coded = encode_annotations(annotations, cases, categories, ["overall"])
    labels = coded.labels
    used = np.isin(np.arange(len(categories)), labels)
    made = coefficients(labels, scaled(categories, level), level, used)[name]
    every = np.arange(len(cases))
    return estimate(made if isinstance(made, Quantity) else made(every), Sampling(every, np.empty((0, len(cases)))))


def gains(
    verdicts: pd.DataFrame,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    groups: pd.DataFrame | None = None,
    *,
    margin: float | None = None,
    **options: Any,
) -> pd.DataFrame:
    """The table `gains` of frames."""
    own = {} if margin is None else {"margin": margin}
    return rows_of("gains", cases, verdicts, gold, own=own, groups=groups, **options)


def bias(
    verdicts: pd.DataFrame,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    annotations: pd.DataFrame | None = None,
    **options: Any,
) -> pd.DataFrame:
    """The table `bias` of frames."""
    return rows_of("bias", cases, verdicts, gold, annotations, **options)


def difficulty(
    verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, *, prior: float | None = None, **options: Any
) -> pd.DataFrame:
    """The table `difficulty` of frames."""
    return rows_of("difficulty", cases, verdicts, gold, own={} if prior is None else {"prior": prior}, **options)


def dif(verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """The table `dif` of frames, on all dimensions."""
    return rows_of("dif", cases, verdicts, gold, own={"every_dimension": 1}, **options)


def with_first(pairs: pd.DataFrame, judge: str) -> pd.DataFrame:
    """Rows of `significance` seen from one judge, which is not the better one everywhere."""
    other = pairs["judge_2"] == judge
    signs = {"difference": ["difference"], "low": ["low", "high"], "high": ["high", "low"]}
    turned = {end: -pairs[names[-1]] for end, names in signs.items()}
    swapped = {"judge_1": pairs["judge_2"], "judge_2": pairs["judge_1"]}
    turned |= {f"only_{side}": pairs[f"only_{3 - side}"] for side in (1, 2)} | swapped
    return pairs.assign(**{name: pairs[name].where(~other, values) for name, values in turned.items()})


def ids(n: int) -> list[str]:
    return [f"c{i}" for i in range(n)]


def cases_of(n: int, **columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame({"case_id": ids(n), "question": "q", "response_a": "one two", "response_b": "three", **columns})


def gold_of(letters: str, dimension: str = "overall") -> pd.DataFrame:
    """A dash leaves the row out, a question mark leaves the label empty."""
    rows = [(case, dimension, CHOICE[c]) for case, c in zip(ids(len(letters)), letters, strict=True) if c != "-"]
    return pd.DataFrame(rows, columns=["case_id", "dimension", "choice"]).astype("str")


def annotations_of(by_annotator: Mapping[str, str], dimension: str = "overall") -> pd.DataFrame:
    rows = [
        (case, annotator, dimension, CHOICE.get(c, c))
        for annotator, letters in by_annotator.items()
        for case, c in zip(ids(len(letters)), letters, strict=True)
        if c != "-"
    ]
    return pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"]).astype("str")


def verdicts_of(
    shown: Mapping[tuple[str, str] | tuple[str, str, int], str], dimension: str = "overall"
) -> pd.DataFrame:
    """Keys are (judge, order) or (judge, order, repeat)."""
    rows = []
    for key, letters in shown.items():
        judge, order, repeat = key if len(key) == 3 else (*key, 0)
        for case, c in zip(ids(len(letters)), letters, strict=True):
            if c != "-":
                rows.append((judge, case, dimension, order, repeat, "none", CHOICE[c]))
    columns = ["judge", "case_id", "dimension", "order", "repeat", "probe", "choice"]
    return pd.DataFrame(rows, columns=columns).astype({name: "str" for name in columns if name != "repeat"})


def both_orders(letters: Mapping[str, str], dimension: str = "overall") -> pd.DataFrame:
    """Verdicts by judge that are the same in both orders."""
    return verdicts_of({(judge, order): text for judge, text in letters.items() for order in ORDERS}, dimension)


def groups_of(groups: Mapping[str, str], bases: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Each judge as a roster entry of its own name, in a group; and the judge that some were trained from."""
    rows = [(judge, group, judge, judge, (bases or {}).get(judge)) for judge, group in groups.items()]
    return pd.DataFrame(rows, columns=["judge", "group", "model", "entry", "base"]).astype("str")


def prompts_of(names: Mapping[str, str]) -> pd.DataFrame:
    """Runs by name, as verdicts show them, each with a prompt of its own; values are the judges' own names."""
    rows = [(run, name, f"prompt-{run}", f"hash-{run}", "{}") for run, name in names.items()]
    return pd.DataFrame(rows, columns=["judge", "name", "prompt_id", "prompt_hash", "settings"]).astype("str")


def random_verdicts(generator: np.random.Generator, n: int, judges: int, repeats: int = 1) -> pd.DataFrame:
    """Verdicts in both orders with ties, nulls and missing rows."""
    shown = {
        (f"j{judge}", order, repeat): "".join(generator.choice(list("AABBT?-"), n))
        for judge in range(judges)
        for order in ("AB", "BA")
        for repeat in range(repeats)
    }
    return verdicts_of(shown)


def alternative_annotator(
    labels: pd.DataFrame,
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    resamples: int,
    categories: Sequence[str] = CHOICES,
    level: str = "nominal",
    epsilon: float = 0.15,
    correction: str = "by",
) -> pd.DataFrame:
    """The alternative annotator test of judges with one label a case, of any categories."""
    verdicts = labels.assign(order="AB", repeat=0, probe=NO_PROBE)
    task = "preference" if set(categories) <= set(CHOICES) else "rating"
    meta = BenchmarkMeta("labels", "general", ("overall",), tuple(categories), level, task)
    options = {"correction": correction, "resamples": resamples, "policy": "official", "cluster": "case_id"}
    table = rows_of("ceiling", cases, verdicts, None, annotations, own={"epsilon": epsilon}, meta=meta, **options)
    return table[table["part"].str.startswith("alt_test")].reset_index(drop=True)


def ceiling(
    verdicts: pd.DataFrame | Panel | None,
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    epsilon: float = 0.2,
    **options: Any,
) -> pd.DataFrame:
    """The table `ceiling` of frames, or of verdicts in an array."""
    own = {"epsilon": epsilon}
    if not isinstance(verdicts, Panel):
        return rows_of("ceiling", cases, verdicts, None, annotations, own=own, **options)
    analysis = Analysis.from_frames(cases, annotations=annotations, **options)
    rows: pd.DataFrame = TABLES["ceiling"].of(replace(analysis, probes={NO_PROBE: verdicts}), **own)
    return rows


def calibration(
    verdicts: pd.DataFrame | Panel, gold: pd.DataFrame, cases: pd.DataFrame, **options: Any
) -> pd.DataFrame:
    """The table `calibration` of frames, or of verdicts in an array."""
    if isinstance(verdicts, Panel):
        return rows_of_panel("calibration", cases, verdicts, gold, **options)
    return rows_of("calibration", cases, verdicts, gold, **options)


def selective(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    target: float | None = None,
    **options: Any,
) -> pd.DataFrame:
    """The table `selective` of frames, or of verdicts in an array."""
    own = {} if target is None else {"target": target}
    if isinstance(verdicts, Panel):
        return rows_of_panel("selective", cases, verdicts, gold, own=own, annotations=annotations, **options)
    return rows_of("selective", cases, verdicts, gold, annotations, own=own, **options)
