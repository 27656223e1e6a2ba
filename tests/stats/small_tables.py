"""Small tables written as text, one letter a case: A, B, T (tie), ? (null), - (no row)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.records.questions import adjudication_columns, list_columns
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
Verdicts = pd.DataFrame | Panel | Mapping[str, Panel]
"""Verdicts without a probe as rows or as an array, or arrays by probe."""
Data = tuple[Benchmark, pd.DataFrame]
"""A benchmark and its verdicts."""
Tables = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]
"""Verdicts, gold labels and cases."""
CHOICE = {"A": "A", "B": "B", "T": "tie", "?": None}


def analysis_of(
    cases: pd.DataFrame,
    verdicts: Verdicts | None = None,
    gold: pd.DataFrame | None = None,
    annotations: pd.DataFrame | None = None,
    **options: Any,
) -> Analysis:
    """An analysis of frames, or of verdicts in arrays, by the options of every analysis."""
    if verdicts is None or isinstance(verdicts, pd.DataFrame):
        return Analysis.from_frames(cases, verdicts, gold, annotations, **options)
    probes = {NO_PROBE: verdicts} if isinstance(verdicts, Panel) else verdicts
    analysis = Analysis.from_frames(cases, None, gold, annotations, **options)
    return replace(analysis, probes=probes, dimensions=probes[NO_PROBE].dimensions)


def rows_of(
    table: str,
    cases: pd.DataFrame,
    verdicts: Verdicts | None = None,
    gold: pd.DataFrame | None = None,
    annotations: pd.DataFrame | None = None,
    *,
    part: str | None = None,
    **options: Any,
) -> pd.DataFrame:
    """The rows of a table, or of a part of it, by options of the table and of every analysis."""
    spec = TABLES[table]
    own = {name: options.pop(name) for name in [*options] if name in signature(spec.make).parameters}
    analysis = analysis_of(cases, verdicts, gold, annotations, **options)
    rows: pd.DataFrame = spec.of(analysis, **{name: value for name, value in own.items() if value is not None})
    return rows if part is None else part_of(rows, part)


def part_of(rows: pd.DataFrame, part: str) -> pd.DataFrame:
    """The rows of one part, numbered from 0."""
    return rows[rows["part"] == part].reset_index(drop=True)


def table_of(name: str, **always: Any) -> Callable[..., pd.DataFrame]:
    """What makes the rows of a table of verdicts, gold labels and cases, by options and those that hold always."""

    def made(verdicts: Verdicts | None, gold: pd.DataFrame | None, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
        return rows_of(name, cases, verdicts, gold, **{**always, **options})

    return made


bias, calibration, difficulty, gains, jury = map(table_of, ("bias", "calibration", "difficulty", "gains", "jury"))


def accuracy(verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """The table `accuracy` without naive baselines and without the dimension `average`."""
    rows = rows_of("accuracy", cases, verdicts, gold, **{"references": 0, **options})
    return rows[rows["dimension"] != "average"].reset_index(drop=True)


def significance(verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """The table `significance` without the dimension `average` and without letters."""
    rows = rows_of("significance", cases, verdicts, gold, **options)
    return rows[(rows["dimension"] != "average") & (rows["part"] != "letters")].reset_index(drop=True)


def ceiling(verdicts: Verdicts | None, annotations: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return rows_of("ceiling", cases, verdicts, None, annotations, **{"epsilon": 0.2, **options})


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


def cases_of(n: int, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"case_id": ids(n), "question": "q", "response_a": "one two", "response_b": "three", **columns})


def gold_of(labels: Sequence[str], dimension: str = "overall") -> pd.DataFrame:
    """A letter or a category a case; a dash leaves the row out, a question mark leaves the label empty."""
    rows = [(case, dimension, CHOICE.get(c, c)) for case, c in zip(ids(len(labels)), labels, strict=True) if c != "-"]
    return pd.DataFrame(rows, columns=["case_id", "dimension", "choice"]).astype("str")


def annotations_of(by_annotator: Mapping[str, Sequence[str]], dimension: str = "overall") -> pd.DataFrame:
    """Labels of each annotator, a letter a case or a category; "-" is none."""
    rows = [
        (case, annotator, dimension, CHOICE.get(c, c))
        for annotator, letters in by_annotator.items()
        for case, c in zip(ids(len(letters)), letters, strict=True)
        if c != "-"
    ]
    return pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"]).astype("str")


def verdicts_of(shown: Mapping[Any, Sequence[str | None]], dimension: str = "overall") -> pd.DataFrame:
    """Keys are a judge, which says the same in both orders, (judge, order) or (judge, order, repeat).

    Values have a letter a case, or a category or None.
    """
    rows = []
    for key, letters in shown.items():
        judge, orders, repeat = key, ORDERS, 0
        if not isinstance(key, str):
            judge, orders, repeat = key[0], (key[1],), key[2] if len(key) == 3 else 0
        for order in orders:
            for case, c in zip(ids(len(letters)), letters, strict=True):
                if c != "-":
                    rows.append((judge, case, dimension, order, repeat, "none", CHOICE.get(c, c)))
    columns = ["judge", "case_id", "dimension", "order", "repeat", "probe", "choice"]
    return pd.DataFrame(rows, columns=columns).astype({name: "str" for name in columns if name != "repeat"})


def tables_of(shown: Mapping[Any, str], gold: str, **columns: Any) -> Tables:
    """Verdicts as in `verdicts_of`, gold labels by their letters, and as many cases with these columns."""
    return verdicts_of(shown), gold_of(gold), cases_of(len(gold), **columns)


def judged(right: Mapping[str, np.ndarray], gold: str = "", **columns: Any) -> Tables:
    """Tables of judges that give the label where they are right, and the other of A and B where they are wrong.

    Parameters
    ----------
    right : 1 where right, 0 where wrong, -1 without a verdict; shape (cases,) in order AB alone, or (2, cases)
    gold : the labels; "" is A throughout
    """
    label = np.array(list(gold or "A" * next(iter(right.values())).shape[-1]))
    other = np.where(label == "A", "B", "A")
    shown = {
        (judge, order): "".join(np.select([row == 1, row == 0], [label, other], "-"))
        for judge, rows in right.items()
        for order, row in zip(ORDERS, np.atleast_2d(rows), strict=False)
    }
    return tables_of(shown, "".join(label), **columns)


def groups_of(groups: Mapping[str, str], bases: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Each judge as a roster entry of its own name, in a group; and the judge that some were trained from."""
    rows = [(judge, group, judge, judge, (bases or {}).get(judge)) for judge, group in groups.items()]
    return pd.DataFrame(rows, columns=["judge", "group", "model", "entry", "base"]).astype("str")


def prompts_of(names: Mapping[str, str]) -> pd.DataFrame:
    """Runs by name, as verdicts show them, each with a prompt of its own; values are the judges' own names."""
    rows = [(run, name, f"prompt-{run}", f"hash-{run}", "{}") for run, name in names.items()]
    return pd.DataFrame(rows, columns=["judge", "name", "prompt_id", "prompt_hash", "settings"]).astype("str")


def adjudications_of(*marks: tuple[Any, ...]) -> pd.DataFrame:
    """(case, reviewer, verdict, choice, dimension, judge, reasons); later ones are said later."""
    rows = []
    for i, mark in enumerate(marks):
        case, reviewer, verdict, choice, dimension, judge, reasons = (*mark, *[None] * (7 - len(mark)))
        row = {"adjudication_id": f"i{i}", "benchmark": "demo", "case_id": case, "dimension": dimension, "note": ""}
        row |= {"reviewer": reviewer, "verdict": verdict, "choice": choice, "judge": judge, "case_fingerprint": ""}
        rows.append(row | {"reasons": reasons or [], "regions": [], "created": f"2026-01-01T00:00:{i:02}.000Z"})
    frame = pd.DataFrame(rows, columns=list(adjudication_columns()))
    return frame.astype({name: "str" for name in frame.columns if name not in list_columns()})


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
    table = rows_of("ceiling", cases, verdicts, None, annotations, epsilon=epsilon, meta=meta, **options)
    return table[table["part"].str.startswith("alt_test")].reset_index(drop=True)
