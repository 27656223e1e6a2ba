"""Do the annotators agree, beyond what chance gives: all of them together, and every two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Final, cast

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.coefficients import bias_index, coefficients, estimated_alpha, prevalence_index, scaled
from mrb_lib.stats.columns import TABLES, Column, Option, estimated, shared, table
from mrb_lib.stats.estimation import BoolArray, IntArray, divide
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.options import check_choice, join_reasons
from mrb_lib.stats.phrases import human_level, interval, main_dimension, main_rows, opening
from mrb_lib.tables.schema import CONSENSUS, LEVELS, Level

ALL, PAIR = "all", "pair"
ENOUGH_SHARED: Final = 20
"""Kappas of two annotators who share fewer cases are too biased in resamples for an interval."""
MANY_SHARED: Final = 50
"""Kappas of two annotators who share fewer cases have approximate intervals."""
NOBODY_PAIRED = "no case has two annotators"
FEW_CASES = "fewer than two cases have two annotators"
ONE_CATEGORY = "one category only: agreement beyond chance is undefined"
FEW_SHARED = "the two annotators share fewer than two cases"
SPARSE_PAIR = f"the two share fewer than {ENOUGH_SHARED} cases"
ROUGH_PAIR = f"approximate intervals: the two share fewer than {MANY_SHARED} cases"
SPARSE_PAIRS = f"most pairs of annotators share fewer than {ENOUGH_SHARED} cases"
ROUGH_PAIRS = f"approximate intervals of kappas: most pairs of annotators share fewer than {MANY_SHARED} cases"
LACKING = {"nominal": "nominal labels: no weighted kappa, AC2 or ICC", "ordinal": "ordinal labels: no ICC"}
KAPPAS: Final = ("cohen_kappa", "linear_kappa", "quadratic_kappa")
NO_ICC = "the ICC is undefined: the scores do not vary, or annotators and cases cannot be told apart"
_COHEN, _ICC = "Cohen 1968, doi:10.1037/h0026256", "Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420"
_BYRT = "Byrt et al. 1993, doi:10.1016/0895-4356(93)90018-V"
_MOST_SUMS, _ENDS = 20_000_000, ("low", "high")
COEFFICIENTS = (
    estimated("percent_agreement", "share of pairs of labels of a case that are equal"),
    estimated(
        "cohen_kappa",
        "agreement of two beyond chance, mean over pairs",
        "coefficient",
        "Cohen 1960, doi:10.1177/001316446002000104",
        null="cohen_kappa is undefined for every pair of annotators",
    ),
    estimated("fleiss_kappa", "agreement of many beyond chance", "coefficient", "Fleiss 1971; Gwet 2014", ONE_CATEGORY),
    estimated(
        "krippendorff_alpha",
        "agreement beyond chance, any number of annotators",
        "coefficient",
        "Krippendorff 2011",
        ONE_CATEGORY,
    ),
    estimated(
        "gwet_ac1",
        "agreement beyond chance, stable where one label dominates",
        "coefficient",
        "Gwet 2008, doi:10.1348/000711006X126600",
    ),
    estimated("linear_kappa", "kappa in which near labels agree in part", "coefficient", _COHEN),
    estimated("quadratic_kappa", "kappa in which disagreement counts by its square", "coefficient", _COHEN),
    estimated(
        "gwet_ac2",
        "AC1 in which near labels agree in part, quadratic weights",
        "coefficient",
        "Gwet 2008, doi:10.1348/000711006X126600",
    ),
    estimated("icc_2_1", "intraclass correlation of single scores", "coefficient", _ICC, NO_ICC),
    estimated("icc_2_k", "intraclass correlation of mean scores", "coefficient", _ICC, NO_ICC),
)
NAMES: Final = tuple(column.name for column in COEFFICIENTS)
ENDS: Final = tuple(end for column in COEFFICIENTS for end in column.ends)


def beyond_chance(rows: pd.DataFrame) -> str:
    """Say how often two annotators agree, and how much of that is beyond chance."""
    known, where = main_rows(rows, part=ALL).dropna(subset="percent_agreement"), opening(main_dimension(rows))
    if known.empty:
        return f"{where}, how far annotators agree is not known: no case has the labels of two."
    row = known.iloc[0]
    alpha, ends = row["krippendorff_alpha"], (row["krippendorff_alpha_low"], row["krippendorff_alpha_high"])
    beyond = (
        "How much of that is beyond chance is not known."
        if pd.isna(alpha)
        else f"Krippendorff's alpha is {alpha:.2f}{interval(*ends, scale=1, digits=2)}; 0 is chance, 1 is perfect."
    )
    return (
        f"{where}, two annotators of the same case give the same label {row['percent_agreement']:.0%} of the time "
        f"({int(row['n_cases']):,} cases, {int(row['n_annotators'])} annotators). {beyond} {human_level('agreement')}"
    )


@table(
    "agreement",
    question="do the annotators agree, beyond what chance gives, and which two of them",
    columns=[
        Column("part", "all (annotators together) or pair (every two of them)", "text"),
        shared("dimension", "subfields"),
        Column("annotator_1", "first annotator of the pair", "text"),
        Column("annotator_2", "second annotator of the pair", "text"),
        Column("n_cases", "cases with two annotators or more; of a pair, shared cases", "cases"),
        Column("n_unpaired", "cases with one annotator", "cases"),
        Column("n_annotators", "annotators with a label here", "count"),
        Column("n_categories", "labels in use anywhere, among which chance agreement is shared", "count"),
        Column("n_pairs", "pairs of annotators with a kappa", "count"),
        Column("n_pairs_undefined", "other pairs that share cases", "count"),
        Column("level", "level of measurement at which the labels are read", "text"),
        shared("clusters"),
        COEFFICIENTS,
        Column("prevalence_index", "0: labels are used evenly; 1: one label only", "share 0-1", _BYRT),
        Column("bias_index", "0: annotators use the labels alike; mean over pairs", "share 0-1", _BYRT),
        Column("annotators_per_case", "harmonic mean over cases with two or more: the k of icc_2_k"),
    ],
    sentence=beyond_chance,
    uses=("level", "by", "dimension", "cluster", "resamples", "seed"),
    headline=("percent_agreement", "cohen_kappa", "krippendorff_alpha", "gwet_ac1"),
    needs_verdicts=False,
    why_no_ratings="",
    options={"pairwise": Option("add rows for every two annotators (1) or leave them out (0)", is_switch=True)},
)
def agreement(analysis: Analysis, *, pairwise: float = 1) -> pd.DataFrame:
    """Make one row per dimension and group of cases for all annotators, and one per two annotators who share cases.

    Intervals are percentiles of the cluster bootstrap, see `mrb_lib.stats.intervals.coefficient`, about the annotators
    as they are: other annotators may agree more or less. Where all agree, percent agreement has Wilson's interval and a
    coefficient none. Kappas of pairs that share few cases are biased in resamples, so that they have no interval below
    `ENOUGH_SHARED` cases (of most pairs, for their mean).

    Notes
    -----
    Alpha of all annotators is that of the package `krippendorff`, which the sums of its interval equal to rounding.
    Kappa is (PABAK - PI^2 + BI^2) / (1 - PI^2 + BI^2) with the indices of prevalence and bias, where PABAK is
    (q p - 1) / (q - 1) of the percent agreement p over q categories: what a low kappa owes to a dominant label, and
    what to annotators who use the labels differently. Coverage is simulated in `tests/simulation/test_agreement.py`.
    """
    check_choice("level", analysis.level, LEVELS)
    if not analysis.names:
        return pd.DataFrame(columns=["dimension"])
    coded = encode_annotations(analysis.annotations, analysis.cases, analysis.categories, analysis.names)
    labels = coded.labels
    people = analysis.annotations["annotator"] != CONSENSUS
    used = np.isin(analysis.categories, analysis.annotations.loc[people, "choice"].dropna().unique())
    rows = _rows(analysis, labels, pd.DataFrame({"dimension": analysis.names}), used, NAMES).assign(part=ALL)
    values = scaled(analysis.categories, analysis.level)
    rows["krippendorff_alpha"] = [
        estimated_alpha(labels[part.cases, d], values, cast(Level, analysis.level))
        for part in analysis.parts
        for d in range(len(analysis.names))
    ]
    absence = rows["dimension"].map(dict(zip(analysis.names, map(coded.absence, range(labels.shape[1])), strict=True)))
    n = rows["n_cases"]
    some = [n.ge(2), n.eq(1), rows["n_unpaired"].gt(0)]
    rows["reason"] = np.select(some, [rows["reason"], FEW_CASES, NOBODY_PAIRED], absence)
    frames = [rows, *_pairs(analysis, labels, coded.annotators, used)] if pairwise else [rows]
    out = pd.concat(frames, ignore_index=True)
    out["place"] = out["dimension"].map({name: i for i, name in enumerate(analysis.names)})
    order = ["group", "part", "place", "annotator_1", "annotator_2"]
    return out.sort_values([name for name in order if name in out], kind="stable", ignore_index=True)


def agreement_of(
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str],
    level: Level = "nominal",
    dimensions: Sequence[str] | None = None,
    pairwise: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """Make the table `agreement` of annotations that are not those of a benchmark, such as answers so far.

    Parameters
    ----------
    categories : the labels, in their order where `level` is ordinal or interval
    dimensions : in the order to show them; None takes those that are annotated
    options : as in `mrb_lib.analyze`: `by`, `cluster`, `resamples`, `seed`
    """
    meta = BenchmarkMeta("annotations", "general", (), tuple(categories), level)
    analysis = Analysis.from_frames(cases, annotations=annotations, meta=meta, dimensions=dimensions, **options)
    rows: pd.DataFrame = TABLES["agreement"].of(analysis, pairwise=float(pairwise))
    return rows


def _rows(
    analysis: Analysis, labels: IntArray, cells: pd.DataFrame, used: BoolArray, bounded: Sequence[str]
) -> pd.DataFrame:
    """Make the coefficients of each cell and group of cases, and what they rest on.

    Parameters
    ----------
    labels : shape (cases, cells, annotators)
    used : shape (K,), the categories that occur anywhere
    bounded : the coefficients that have an interval
    """
    rules = dict.fromkeys(bounded, intervals.coefficient) | {
        name: intervals.share_of_pairs for name in bounded if name == "percent_agreement"
    }
    made = coefficients(labels, scaled(analysis.categories, analysis.level), analysis.level, used)
    rows, _ = grid(analysis, cells, {name: Measure(each, rules.get(name)) for name, each in made.items()})
    described = [
        _described(labels[part.cases, cell], used) | {"group": number}
        for number, part in enumerate(analysis.parts)
        for cell in range(len(cells))
    ]
    lost = {"n", "low", "high", "interval", "standard_error", "df"}
    rows = rows.drop(columns=lost & set(rows)).join(pd.DataFrame(described)).assign(level=analysis.level)
    rows.loc[(rows["n_cases"] < 2).to_numpy(), [name for name in (*NAMES, *ENDS) if name in rows]] = np.nan
    sparse = (rows["shared"] < ENOUGH_SHARED).to_numpy()
    rows.loc[sparse, [f"{name}_{end}" for name in KAPPAS if name in bounded and name in made for end in _ENDS]] = np.nan
    bounds_lack = sparse & rows["n_clusters"].ge(2).to_numpy() & (analysis.resamples > 0)
    rows["lacks"] = [SPARSE_PAIRS if each else None for each in bounds_lack]
    rough = np.where(~sparse & (rows["shared"] < MANY_SHARED), ROUGH_PAIRS, "")
    rows["reason"] = [join_reasons(each, LACKING.get(analysis.level, "")) for each in rough]
    return rows.assign(n=rows["n_cases"].where(rows["n_cases"] >= 2, 0))


def _described(labels: IntArray, used: BoolArray) -> dict[str, Any]:
    """Return the counts and indices of labels of shape (cases, annotators), and the cases that most pairs share."""
    q, given, k = int(used.sum()), labels >= 0, len(used)
    number = given.sum(axis=1)
    each = (labels[..., None] == np.arange(k)).astype(np.float64)
    beside = np.tensordot(each, given * 1.0, axes=(0, 0)).swapaxes(1, 2)  # a's labels on the cases that b has too
    n = given.T.astype(np.float64) @ given
    first, second = np.triu_indices(len(n), k=1)
    shared, one, other = n[first, second], beside[first, second], beside[second, first]
    several = shared >= 2
    kappas = several & ((one * other).sum(axis=1) < shared**2)
    row: dict[str, Any] = {"n_cases": (number >= 2).sum(), "n_unpaired": (number == 1).sum(), "n_categories": q}
    row |= {"n_annotators": given.any(axis=0).sum(), "n_pairs": kappas.sum()}
    row |= {"n_pairs_undefined": (shared > 0).sum() - kappas.sum(), "shared": np.nan, "prevalence_index": np.nan}
    if row["n_cases"] >= 2:
        row["prevalence_index"] = prevalence_index(
            divide(each.sum(axis=1), number[:, None])[number > 0].mean(axis=0), q
        )
        row["annotators_per_case"] = 1 / (1 / number[number >= 2]).mean()
    if several.any():
        by_one, by_other = (side[several] / shared[several, None] for side in (one, other))
        apart = bias_index(by_one, by_other, q)
        row |= {"bias_index": apart.mean(), "shared": np.median(shared[several])}
    return row


def _pairs(analysis: Analysis, labels: IntArray, names: list[str], used: BoolArray) -> Iterator[pd.DataFrame]:
    """Make the rows of every two annotators on the cases that they share, many pairs at once."""
    given = (labels >= 0).astype(np.float64)
    shared = np.einsum("cda,cdb->abd", given, given)
    pairs = [pair for pair in combinations(range(len(names)), 2) if shared[pair].any()]
    often = {pair: bool((shared[pair] >= ENOUGH_SHARED).any()) for pair in pairs}
    at_once = max(1, _MOST_SUMS // (max(len(used), 1) ** 2 * max(labels.shape[0] * labels.shape[1], 1)))
    for bounded in (True, False):
        own = [pair for pair in pairs if often[pair] is bounded]
        for start in range(0, len(own), at_once):
            some = own[start : start + at_once]
            two = labels[:, :, np.array(some)]  # cases, dimensions, pairs, 2
            two = np.where((two >= 0).all(axis=3, keepdims=True), two, -1).reshape(len(labels), -1, 2)
            cells = pd.DataFrame(
                [(dimension, names[i], names[j]) for dimension in analysis.names for i, j in some],
                columns=["dimension", "annotator_1", "annotator_2"],
            )
            rows = _rows(analysis, two, cells, used, NAMES if bounded else ())
            few = rows["n_cases"] < ENOUGH_SHARED
            rows.loc[few.to_numpy(), [end for end in ENDS if end in rows]] = np.nan
            rows["lacks"] = rows["lacks"].mask(rows["lacks"].notna(), SPARSE_PAIR)
            rows["reason"] = rows["reason"].str.replace(ROUGH_PAIRS, ROUGH_PAIR)
            rows["reason"] = rows["reason"].mask(rows["n_cases"] < 2, FEW_SHARED)
            yield rows[rows["n_cases"] > 0].assign(part=PAIR, n_unpaired=None, n_pairs=None, n_pairs_undefined=None)
