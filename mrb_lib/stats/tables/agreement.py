"""Do the annotators agree, beyond what chance gives: all of them together, and every two."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

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
from mrb_lib.stats.options import join_reasons, with_ends
from mrb_lib.stats.phrases import human_level, main_dimension, main_rows, number, opening
from mrb_lib.tables.schema import CONSENSUS

ALL, PAIR = "all", "pair"
ENOUGH_SHARED: Final = 20
"""Kappas of two annotators who share fewer cases are too biased in resamples for an interval."""
MANY_SHARED: Final = 50
"""Kappas of two annotators who share fewer cases have approximate intervals."""
NOBODY_PAIRED = "no case has two annotators"
FEW_CASES = "fewer than two cases have two annotators"
NO_KAPPA = "cohen_kappa is undefined for every pair of annotators"
ONE_CATEGORY = "one category only: agreement beyond chance is undefined"
NO_ICC = "the ICC is undefined: the scores do not vary, or annotators and cases cannot be told apart"
SPARSE = f"pairs of annotators share fewer than {ENOUGH_SHARED} cases"
ROUGH = f"approximate intervals of kappas: pairs of annotators share fewer than {MANY_SHARED} cases"
_AT_ONCE: Final = 200
LACKING = {"nominal": "nominal labels: no weighted kappa, AC2 or ICC", "ordinal": "ordinal labels: no ICC"}
KAPPAS: Final = ("cohen_kappa", "linear_kappa", "quadratic_kappa")
_COHEN, _WEIGHTED = "Cohen 1960, doi:10.1177/001316446002000104", "Cohen 1968, doi:10.1037/h0026256"
_GWET, _ICC = "Gwet 2008, doi:10.1348/000711006X126600", "Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420"
_FLEISS, _ALPHA = "Fleiss 1971; Gwet 2014", "Krippendorff 2011"
_BYRT: Final = "Byrt et al. 1993, doi:10.1016/0895-4356(93)90018-V"
# Of 1,600 simulated benchmarks of 100 cases: tests/simulation/test_agreement.py.
_COVERS: Final = "its interval covers 92% where two nearly always agree"
_coefficient = partial(estimated, unit="coefficient")
COEFFICIENTS = (
    estimated("percent_agreement", "share of pairs of labels of a case that are equal"),
    _coefficient("cohen_kappa", "agreement of two beyond chance, mean over pairs", source=_COHEN, null=NO_KAPPA),
    _coefficient("fleiss_kappa", "agreement of many beyond chance", source=_FLEISS, null=ONE_CATEGORY),
    _coefficient("krippendorff_alpha", "agreement beyond chance, any level", source=_ALPHA, null=ONE_CATEGORY),
    _coefficient("gwet_ac1", "agreement beyond chance, stable where one label dominates", source=_GWET),
    _coefficient("linear_kappa", "kappa in which near labels agree in part", source=_WEIGHTED),
    _coefficient("quadratic_kappa", f"kappa of squared disagreement; {_COVERS}", source=_WEIGHTED),
    _coefficient("gwet_ac2", "AC1 in which near labels agree in part, quadratic weights", source=_GWET),
    _coefficient("icc_2_1", "intraclass correlation of single scores", source=_ICC, null=NO_ICC),
    _coefficient("icc_2_k", "intraclass correlation of mean scores", source=_ICC, null=NO_ICC),
)
NAMES: Final = tuple(column.name for column in COEFFICIENTS)


def beyond_chance(rows: pd.DataFrame) -> str:
    """Say how often two annotators agree, and how much of that is beyond chance."""
    known, where = main_rows(rows, part=ALL).dropna(subset="percent_agreement"), opening(main_dimension(rows))
    if known.empty:
        return f"{where}, how far annotators agree is not known: no case has the labels of two."
    row = known.iloc[0]
    return (
        f"{where}, two annotators of the same case give the same label {row['percent_agreement']:.0%} of the time "
        f"({int(row['n_cases']):,} cases, {int(row['n_annotators'])} annotators). Krippendorff's alpha is "
        f"{number(row, 'krippendorff_alpha')}; 0 is chance, 1 is perfect. {human_level('agreement')}"
    )


@table(
    "agreement",
    question="do the annotators agree, beyond what chance gives, and which pairs differ most",
    columns=[
        Column("part", "all (annotators together) or pair (two annotators)", "text"),
        shared("dimension", "subfields"),
        Column("annotator_1", "first annotator of the pair", "text"),
        Column("annotator_2", "second annotator of the pair", "text"),
        Column("n_cases", "cases with two annotators or more; of a pair, shared cases", "cases"),
        Column("n_unpaired", "cases with one annotator", "cases"),
        Column("n_annotators", "annotators with a label here", "count"),
        Column("n_pairs_undefined", "pairs of annotators who share cases and have no kappa", "count"),
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
    if not analysis.names:
        return pd.DataFrame(columns=["dimension"])
    coded = encode_annotations(analysis.annotations, analysis.cases, analysis.categories, analysis.names)
    labels, values = coded.labels, scaled(analysis.categories, analysis.level)
    people = analysis.annotations[analysis.annotations["annotator"] != CONSENSUS]
    used = np.isin(analysis.categories, people["choice"].dropna().unique())
    rows = _rows(analysis, labels, pd.DataFrame({"dimension": analysis.names}), used, KAPPAS, True)
    rows = rows.assign(part=ALL, annotator_1=None, annotator_2=None)
    own = [labels[part.cases, d] for part in analysis.parts for d in range(len(analysis.names))]
    rows["krippendorff_alpha"] = [estimated_alpha(each, values, analysis.level) for each in own]
    absence = [coded.absence(d) for d in range(len(analysis.names))] * len(analysis.parts)
    known = [rows["n_cases"] > 0, rows["n_unpaired"] > 0]
    rows["reason"] = np.select(known, [rows["reason"], NOBODY_PAIRED], absence)
    pairs = _pairs(analysis, labels, coded.annotators, used) if pairwise else []
    order = ["group_number", "part", "dimension", "annotator_1", "annotator_2"]
    return pd.concat([rows, *pairs]).sort_values(order, kind="stable", ignore_index=True)


def agreement_of(
    annotations: pd.DataFrame, cases: pd.DataFrame, *, categories: Sequence[str], pairwise: bool = False, **options: Any
) -> pd.DataFrame:
    """Make the table `agreement` of annotations that are not those of a benchmark, such as answers so far.

    Parameters
    ----------
    categories : the labels, in their order where `level` is ordinal or interval
    options : as in `mrb_lib.analyze`: `by`, `cluster`, `level`, `resamples`, `seed`; and `dimensions`, in the order to
        show them, without which they are those that are annotated
    """
    meta = BenchmarkMeta("annotations", "general", (), tuple(categories), options.get("level", "nominal"))
    analysis = Analysis.from_frames(cases, annotations=annotations, meta=meta, **options)
    rows: pd.DataFrame = TABLES["agreement"].of(analysis, pairwise=float(pairwise))
    return rows


def _rows(
    analysis: Analysis, labels: IntArray, cells: pd.DataFrame, used: BoolArray, fragile: Sequence[str], bounded: bool
) -> pd.DataFrame:
    """Make the coefficients of each cell and group of cases, and what they rest on.

    Parameters
    ----------
    labels : shape (cases, cells, annotators)
    used : shape (K,), the categories that occur anywhere
    fragile : the coefficients that have no interval where most pairs of annotators share few cases
    bounded : whether to estimate intervals
    """
    rules = dict.fromkeys(NAMES, intervals.coefficient) | {"percent_agreement": intervals.share_of_pairs}
    made = coefficients(labels, scaled(analysis.categories, analysis.level), analysis.level, used)
    measures = {name: Measure(each, rules[name] if bounded else None) for name, each in made.items()}
    rows, _ = grid(analysis, cells, measures)
    rows["dimension"] = pd.Categorical(rows["dimension"], analysis.names)
    described = [_described(labels[part.cases], used) for part in analysis.parts]
    rows = rows.join(pd.concat(described, ignore_index=True)).assign(n_cases=rows["n"])
    estimates = [name for name in rows if name in with_ends(*NAMES)]
    rows.loc[rows["n"] < 2, [*estimates, "prevalence_index", "annotators_per_case"]] = np.nan
    sparse, few = rows["shared"] < ENOUGH_SHARED, rows["shared"] < MANY_SHARED
    rows.loc[sparse, [name for name in estimates if name in with_ends(*fragile) and name not in NAMES]] = np.nan
    rows["lacks"] = pd.Series(SPARSE, rows.index).where(sparse & (rows["n_clusters"] > 1) & (analysis.resamples > 0))
    remarks = [join_reasons(each, LACKING.get(analysis.level, "")) or "" for each in np.where(few & ~sparse, ROUGH, "")]
    return rows.assign(reason=np.where(rows["n"] < 2, FEW_CASES, remarks), n=rows["n"].where(rows["n"] >= 2, 0))


def _described(labels: IntArray, used: BoolArray) -> pd.DataFrame:
    """Return the counts and indices of each cell from labels of shape (cases, cells, annotators).

    `shared` is the number of cases that most pairs share: the median of those who share two or more.
    """
    q, k, given = int(used.sum()), len(used), (labels >= 0).astype(np.float64)
    each, number = (labels[..., None] == np.arange(k)).astype(np.float64), given.sum(axis=2)
    beside = np.einsum("ncak,ncb->cabk", each, given, optimize=True)  # a's labels on the cases that b has too
    first, second = np.triu_indices(labels.shape[2], k=1)
    one, other = beside[:, first, second], beside[:, second, first]  # cells, pairs, K
    shared = one.sum(axis=2)
    several = shared >= 2
    kappas = several & ((one * other).sum(axis=2) < shared**2)
    apart = bias_index(divide(one, shared[..., None]), divide(other, shared[..., None]), q)
    shares = np.nan_to_num(divide(each.sum(axis=2), number[..., None])).sum(axis=0)
    paired = number >= 2
    counts = {"n_unpaired": (number == 1).sum(axis=0), "n_annotators": given.any(axis=0).sum(axis=1)}
    return pd.DataFrame(counts).assign(
        n_pairs_undefined=(shared > 0).sum(axis=1) - kappas.sum(axis=1),
        shared=pd.DataFrame(np.where(several, shared, np.nan)).median(axis=1),
        prevalence_index=prevalence_index(divide(shares, shares.sum(axis=1, keepdims=True)), q),
        bias_index=divide(np.where(several, apart, 0.0).sum(axis=1), several.sum(axis=1)),
        annotators_per_case=divide(paired.sum(axis=0), np.nan_to_num(divide(paired, number)).sum(axis=0)),
    )


def _pairs(analysis: Analysis, labels: IntArray, names: list[str], used: BoolArray) -> Iterator[pd.DataFrame]:
    """Make the rows of every two annotators on the cases that they share, those of some pairs at once."""
    given = (labels >= 0).astype(np.float64)
    shared = np.einsum("cda,cdb->abd", given, given, optimize=True).max(axis=2)
    pairs = np.argwhere(np.triu(shared, k=1))
    pairs = pairs[np.argsort(shared[tuple(pairs.T)], kind="stable")]  # those without intervals together
    for start in range(0, len(pairs), _AT_ONCE):
        own = pairs[start : start + _AT_ONCE]
        two = labels[:, :, own]  # cases, dimensions, pairs, 2
        two = np.where((two >= 0).all(axis=3, keepdims=True), two, -1).reshape(len(labels), -1, 2)
        of_cells = [(dimension, names[i], names[j]) for dimension in analysis.names for i, j in own]
        cells = pd.DataFrame(of_cells, columns=["dimension", "annotator_1", "annotator_2"])
        rows = _rows(analysis, two, cells, used, NAMES, bool(shared[tuple(own.T)].max() >= ENOUGH_SHARED))
        yield rows[rows["n_cases"] > 0].assign(part=PAIR, n_unpaired=None, n_pairs_undefined=None)
