"""Training, validation and test cases, drawn so that no unit of cases stands on two sides.

`split` draws the parts, and `write_split` keeps them in the folder of the benchmark. `mrb_lib.benchmarks.audit.splits`
checks them.
"""

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.case_digests import ITEM as ITEM
from mrb_lib.benchmarks.case_digests import item_keys
from mrb_lib.benchmarks.digested import with_digest
from mrb_lib.benchmarks.images.pictures import Progress
from mrb_lib.benchmarks.meta import write_meta
from mrb_lib.benchmarks.near_duplicates import (
    SIMILAR_TEXT,
    components,
    is_pictured,
    near_duplicates,
    with_first,
)
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import write_atomic
from mrb_lib.tables.schema import SPLITS

SPLIT: Final = "split"
FOLD: Final = "fold"
CLUSTER: Final = "cluster"
_PATIENT: Final = re.compile(r"(patient|subject)s?[ _-]?(id|no|nr|number)?", re.IGNORECASE)
_SUBFIELDS: Final = ("organ", "department")
_MAIN: Final = "overall"
Amounts = NDArray[np.float64]


@dataclass(frozen=True)
class SplitUnits:
    """The units of a benchmark.

    Attributes
    ----------
    by : what makes cases one unit: `cluster`, `item` or another column
    codes : shape (n_cases,), the unit of each case, numbered by first case
    near : the pairs of near-duplicates that are joined, see `mrb_lib.benchmarks.near_duplicates.near_duplicates`
    alike : the pairs with nearly the same texts about different images, which are not
    statement : what the units are and how many, in one line
    """

    by: str
    codes: NDArray[np.int64]
    near: pd.DataFrame
    alike: pd.DataFrame
    statement: str

    @property
    def n(self) -> int:
        """The number of units."""
        return int(self.codes.max(initial=-1)) + 1


def split_units(
    benchmark: Benchmark, by: str | None = None, progress: Progress | None = None, *, join_texts: bool = False
) -> SplitUnits:
    """The units that a split must not cut.

    Parameters
    ----------
    by : a column of the cases; or "item", which is the column of that name and, where it is empty or absent, the
        question with its images. None takes `cluster` where a case has one, else a column of patients, else "item". A
        case without a value is a unit of its own.
    progress : see `mrb_lib.benchmarks.near_duplicates.near_duplicates`
    join_texts : join cases with nearly the same texts even where they are about different images

    Returns
    -------
    SplitUnits
        Cases of one value of `by`, cases of one `cluster` and near-duplicates (cases about one image among them) are
        one unit, and so are all that are linked by a chain of these.

    Raises
    ------
    InputError
        The column is absent, or empty in every case.
    """
    cases = benchmark.cases
    names = map(str, cases.columns)
    patient = next((name for name in names if _PATIENT.fullmatch(name) and _has_values(cases, name)), None)
    chosen = by or (CLUSTER if _has_values(cases, CLUSTER) else patient or ITEM)
    values = item_keys(benchmark.cases_by_image) if chosen == ITEM else _column(cases, chosen, f"--by {chosen}")
    near = near_duplicates(benchmark, progress)
    pictured = is_pictured(cases)
    apart = (near["kind"] == SIMILAR_TEXT).to_numpy() & pictured[near["row_1"]] & pictured[near["row_2"]]
    apart &= not join_texts
    near, alike = near[~apart].reset_index(drop=True), near[apart].reset_index(drop=True)
    joined = [values, cases[CLUSTER]] if chosen != CLUSTER and _has_values(cases, CLUSTER) else [values]
    pairs = [with_first(one.astype("str").reset_index(drop=True)) for one in joined]
    pairs.append((near["row_1"].to_numpy(), near["row_2"].to_numpy()))
    one, other = (np.concatenate(rows) for rows in zip(*pairs, strict=True))
    codes = components(len(cases), one, other)
    units = SplitUnits(chosen, codes, near, alike, "")
    statement = _statement(units, values)
    if patient not in (None, chosen):
        n = int((pd.Series(codes).groupby(cases[patient].to_numpy()).nunique() > 1).sum())
        cut = f"; {n:,} values of {patient} are in several units, which may stand on two sides (--by {patient})"
        statement += cut if n else ""
    return replace(units, statement=statement)


def _statement(units: SplitUnits, values: pd.Series) -> str:
    n_values = values.nunique() + int(values.isna().sum())
    joined = f" (of {n_values:,}, joined by clusters and near-duplicates)" if n_values > units.n else ""
    n = len(units.near)
    near = f"; {n:,} {'pair' if n == 1 else 'pairs'} of near-duplicates stay together" if n else ""
    apart = f"; {len(units.alike):,} more have nearly the same texts about different images (--join-texts joins them)"
    return f"by {units.by}: {len(values):,} cases in {units.n:,} units{joined}{near}{apart if len(units.alike) else ''}"


def _has_values(cases: pd.DataFrame, column: str) -> bool:
    return column in cases and bool(cases[column].notna().any())


def _column(cases: pd.DataFrame, name: str, option: str) -> pd.Series:
    """Return a column that an option names; `InputError` where it is absent or empty."""
    if name not in cases:
        columns = ", ".join(map(str, cases.columns))
        raise InputError(f"{option}: the cases have no column {name}; use one of {columns}.")
    if not _has_values(cases, name):
        raise InputError(f"{option}: the column {name} is empty in every case; fill it in, or choose another.")
    return cases[name]


@dataclass(frozen=True)
class Split:
    """A benchmark whose cases are split.

    Attributes
    ----------
    benchmark : with `split`, and `fold` where folds were asked for, in its cases, and the rule in `meta.extra["split"]`
    units : what was kept together
    statements : what was done and counted on the way, a line each
    """

    benchmark: Benchmark
    units: SplitUnits
    statements: tuple[str, ...]

    def balance(self) -> pd.DataFrame:
        """Return how alike the parts are.

        Returns
        -------
        DataFrame, a row a part that has cases and "all"
            `split, n_cases, n_units, share`, and of each organ (or else department, or else fold) its share of the
            part's cases, under its name.
        """
        cases = self.benchmark.cases.assign(unit=self.units.codes)
        both = pd.concat([cases, cases.assign(split="all")])
        out = both.groupby(SPLIT).agg(n_cases=("unit", "size"), n_units=("unit", "nunique"))
        out["share"] = out["n_cases"] / len(cases)
        column = next((name for name in (*_SUBFIELDS, FOLD) if _has_values(cases, name)), None)
        if column is not None:
            out = out.join(pd.crosstab(both[SPLIT], both[column], normalize="index")).fillna(0.0)
        return out.reindex([name for name in (*SPLITS, "all") if name in out.index]).reset_index()


def split(
    benchmark: Benchmark,
    *,
    by: str | None = None,
    test: float = 0.2,
    validation: float = 0.1,
    seed: int = 0,
    folds: str | None = None,
    join_texts: bool = False,
    progress: Progress | None = None,
) -> Split:
    """Draw train, validation and test, alike in organ and in gold, with no unit in two of them.

    Parameters
    ----------
    by, join_texts : what makes cases one unit, see `split_units`
    test, validation : shares of the cases; the rest is to train on
    folds : a column whose values name the folds: each has its own train, validation and test, so that a judge may be
        trained on all but one. A unit with several values goes to the fold of most of its cases.
    progress : see `mrb_lib.benchmarks.near_duplicates.near_duplicates`

    Returns
    -------
    Split
        The benchmark as it would be, nothing written; see `write_split`.

    Raises
    ------
    InputError
        A share is impossible, a column is unknown, or there are too few units to make the parts.

    Notes
    -----
    The parts are balanced by organ (or else department) and by gold on the main dimension, as far as units allow; see
    `allocate`. Validated by tests/benchmarks/test_splits.py.
    """
    shares = _shares(test, validation)
    cases = benchmark.cases
    units = split_units(benchmark, by, progress, join_texts=join_texts)
    statements = [f"split {units.statement}"]
    fold = None
    if folds is not None:
        fold, moved_to = _folds(cases, folds, units)
        statements.append(f"{fold.nunique()} folds by {folds}{moved_to}")
    label = _draw(benchmark, units, fold, shares, seed)
    out = cases.drop(columns=FOLD, errors="ignore").assign(split=pd.Series(label, index=cases.index, dtype="str"))
    if fold is not None:
        out = out.assign(fold=fold)
    rule: dict[str, object] = {"by": units.by, "test": test, "validation": validation, "seed": seed}
    rule |= {name: value for name, value in {"folds": folds, "join_texts": join_texts}.items() if value}
    rule |= {f"n_{name}": int((out[SPLIT] == name).sum()) for name in SPLITS}
    rule |= {"n_units": units.n, "digest": split_digest(out)}
    meta = replace(benchmark.meta, extra={**benchmark.meta.extra, SPLIT: rule})
    return Split(replace(benchmark, meta=meta, cases=out), units, tuple(statements))


def _shares(test: float, validation: float) -> Amounts:
    if not (test >= 0 and validation >= 0 and test + validation < 1):
        raise InputError(
            f"--test {test:g} and --validation {validation:g}: are not shares, or leave nothing to train on; give "
            "shares from 0, less than 1 together."
        )
    return np.array([1 - test - validation, validation, test])


def _folds(cases: pd.DataFrame, column: str, units: SplitUnits) -> tuple[pd.Series, str]:
    """The fold of each case, and how many were moved to the fold of their unit, in words."""
    values = _column(cases, column, f"--folds {column}").astype("str").reset_index(drop=True)
    counts = pd.crosstab(units.codes, values)
    fold = pd.Series(counts.idxmax(axis=1).reindex(units.codes).to_numpy(), index=cases.index, dtype="str")
    if fold.nunique() < 2:
        raise InputError(f"--folds {column}: makes one fold of all cases; use a column that tells more apart.")
    moved = int((values.notna().to_numpy() & (fold.to_numpy() != values.to_numpy())).sum())
    return fold, f"; {moved:,} cases stand in the fold of most of their unit" if moved else ""


def _balanced_columns(benchmark: Benchmark) -> pd.DataFrame:
    """Return the columns in which the parts are to be alike, with a row per case."""
    cases, meta = benchmark.cases, benchmark.meta
    main = _MAIN if _MAIN in meta.dimensions else meta.dimensions[0]
    labels = gold(benchmark)
    label_of = labels[labels["dimension"] == main].set_index("case_id")["choice"]
    columns = pd.DataFrame({"gold": cases["case_id"].map(label_of).astype("str")})
    subfield = next((name for name in _SUBFIELDS if _has_values(cases, name)), None)
    return columns if subfield is None else columns.assign(subfield=cases[subfield])


def _draw(
    benchmark: Benchmark, units: SplitUnits, fold: pd.Series | None, shares: Amounts, seed: int
) -> NDArray[np.object_]:
    """The name of the part of each case, drawn fold by fold.

    Raises
    ------
    InputError
        A part that was asked for has no case.
    """
    codes, rng = units.codes, np.random.default_rng(seed)
    label = np.empty(len(codes), dtype=object)
    counts = strata(_balanced_columns(benchmark))
    group = np.zeros(len(codes), dtype=np.int64) if fold is None else pd.factorize(fold, sort=True)[0]
    for value in np.unique(group):
        rows = np.flatnonzero(group == value)
        unit = pd.factorize(codes[rows])[0]
        members = np.zeros((int(unit.max()) + 1, counts.shape[1]))
        np.add.at(members, unit, counts[rows])
        label[rows] = np.array(SPLITS, dtype=object)[allocate(members, shares, rng)[unit]]
    for name, share in zip(SPLITS, shares, strict=True):
        if share > 0 and not (label == name).any():
            what = "one unit holds all cases" if units.n == 1 else f"{units.n} units are too few"
            raise InputError(
                f"--by {units.by}: leaves {name} empty, for {what}; choose a --by that makes more, or other shares."
            )
    return label


def strata(columns: pd.DataFrame) -> Amounts:
    """Return what each case counts towards: the whole, each value of each column, and each combination of them.

    Parameters
    ----------
    columns : a row a case; a missing value is a value

    Returns
    -------
    array of 0 and 1 with shape (n_cases, n_strata)
    """
    named = columns.astype("str").fillna("")
    if named.shape[1] > 1:
        named = named.assign(together=named.iloc[:, 0].str.cat(named.iloc[:, 1:], sep="\n"))
    dummies = [pd.get_dummies(named[name]).to_numpy(dtype=float) for name in named.columns]
    return np.hstack([np.ones((len(columns), 1)), *dummies])


def allocate(members: Amounts, shares: Amounts, rng: np.random.Generator) -> NDArray[np.int64]:
    """Give each unit to a part, the largest units first, those of one size in random order.

    Parameters
    ----------
    members : how many cases of each stratum a unit has, with shape (n_units, n_strata)
    shares : of the cases that each part is to have; a part with a share of 0 gets none

    Returns
    -------
    array of int with shape (n_units,)
        The part of each. A part with a share gets a unit at least, where there are as many units as parts.

    Notes
    -----
    A unit goes where it most reduces the sum over parts and strata of (cases there - cases wanted)^2 / cases wanted, as
    in iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011, doi:10.1007/978-3-642-23808-6_10), which knows
    no units; scikit-learn's StratifiedGroupKFold, which does, makes parts of equal size only. The whole weighs as much
    as all strata together, and a stratum of fewer units than parts, which cannot be in all of them, does not count.
    """
    members = members[:, (members > 0).sum(axis=0) >= min((shares > 0).sum(), len(members))]
    wanted = shares[:, None] * members.sum(axis=0)
    weight = np.divide(1.0, wanted, out=np.zeros_like(wanted), where=wanted > 0)
    weight[:, 0] *= members.shape[1]
    missing = wanted.copy()
    order = rng.permutation(len(members))
    order = order[np.argsort(-members[order, 0], kind="stable")]
    part = np.zeros(len(members), dtype=np.int64)
    closed = np.where(shares > 0, 0.0, np.inf)
    for unit in order:
        counts = members[unit]
        part[unit] = np.argmin(((counts - 2 * missing) * counts * weight).sum(axis=1) + closed)
        missing[part[unit]] -= counts
    _fill(part, members[:, 0], np.flatnonzero(shares > 0))
    return part


def _fill(part: NDArray[np.int64], sizes: Amounts, wanted: NDArray[np.int64]) -> None:
    """Give a part without a unit the smallest one of the part with the most, where that has another."""
    for empty in wanted:
        counts = np.bincount(part, minlength=int(wanted.max()) + 1)
        largest = int(counts.argmax())
        if counts[empty] == 0 and counts[largest] > 1:
            of_largest = np.flatnonzero(part == largest)
            part[of_largest[sizes[of_largest].argmin()]] = empty


def split_digest(cases: pd.DataFrame) -> str:
    """SHA-256 over the sorted lines `case_id, split`, and `fold` where the cases have that column, between tabs."""
    columns = ["case_id", SPLIT, *([FOLD] if FOLD in cases else [])]
    lines = cases[columns].astype("str").fillna("").agg("\t".join, axis=1)
    return hashlib.sha256("\n".join(sorted(lines)).encode("utf-8", "surrogatepass")).hexdigest()


def is_split(benchmark: Benchmark) -> bool:
    """Return whether the cases have a split, given or made."""
    return _has_values(benchmark.cases, SPLIT)


def write_split(benchmark: Benchmark) -> None:
    """Write the split of a benchmark into its folder: `benchmark.toml`, then `cases.parquet`.

    Every other column of the cases keeps its values and its type.

    Raises
    ------
    InputError
        The benchmark was not loaded from a folder.
    """
    folder, cases = benchmark.folder, benchmark.cases
    stored = pq.ParquetFile(folder / "cases.parquet").read()
    stored = stored.drop_columns([name for name in (SPLIT, FOLD) if name in stored.column_names])
    for name in (SPLIT, FOLD):
        if name in cases:
            stored = stored.append_column(name, pa.array(cases[name].astype("str"), pa.string(), from_pandas=True))
    # A rule without its split is no harm: its digest is not that of the cases.
    write_meta(benchmark.meta, folder / "benchmark.toml")
    write_atomic(folder / "cases.parquet", with_digest(stored))
