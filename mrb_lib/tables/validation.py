"""Whether a table keeps its contract, and what exactly is wrong where it does not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
import pandas as pd

from mrb_lib.tables.dates import day_span
from mrb_lib.tables.errors import InputError, shortened
from mrb_lib.tables.files import is_safe_name
from mrb_lib.tables.names import spelling_key, visible
from mrb_lib.tables.rubrics import rubric_fault, rubric_text
from mrb_lib.tables.schema import (
    ANSWERED_STATUSES,
    CHOICES,
    COLUMNS,
    KEYS,
    NO_LABEL,
    SEPARATOR,
    Column,
    ColumnType,
    TableName,
    Task,
    joined_labels,
    split_labels,
)

_NAMES = {"case_id", "annotator", "dimension", "judge", "probe"}
_SHOWN = 40

Severity = Literal["error", "warning", "info"]
CASES_FILE, ANNOTATIONS_FILE = "cases.parquet", "annotations.parquet"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or worth knowing, in the data.

    `row` counts data rows from 1 (for text formats: the record's number in the
    file, headers not counted); null where the finding is about a whole file.
    """

    severity: Severity
    file: str
    row: int | None
    column: str | None
    problem: str
    cure: str
    case_id: str | None = None

    def __str__(self) -> str:
        where = self.file
        if self.row is not None:
            where += f", row {self.row}"
        if self.column is not None:
            where += f", column {self.column}"
        if self.case_id is not None:
            where += f" (case {self.case_id})"
        return shortened(f"{where}: {self.problem}; {self.cure}.")


def case_finding(
    cases: pd.DataFrame,
    row: int | np.integer[Any],
    column: str,
    problem: str,
    cure: str,
    *,
    severity: Severity = "warning",
) -> Finding:
    """Return a finding about one case of a benchmark; `row` counts the rows of the cases table from 0."""
    return Finding(severity, CASES_FILE, int(row) + 1, column, problem, cure, str(cases["case_id"].iloc[int(row)]))


def counted(
    count: int,
    severity: Severity,
    file: object,
    problem: str,
    cure: str,
    column: str | None = None,
) -> list[Finding]:
    """One finding that says how often something occurred; none where it never did."""
    if not count:
        return []
    return [Finding(severity, str(file), None, column, f"{count:,} {problem}", cure)]


def raise_on_error(findings: Iterable[Finding]) -> None:
    """Raise `InputError` with the first finding that is an error, and the count of the others."""
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        others = "" if len(errors) == 1 else f" (and {len(errors) - 1} more)"
        raise InputError(f"{errors[0]}{others}")


class Rules(TypedDict, total=False):
    """The values that a benchmark allows in its tables.

    Attributes
    ----------
    dimensions : the benchmark's dimensions; others are errors, in the rubrics of cases too. None checks nothing.
    categories : the labels that an annotation, and a verdict of a rating, may carry; None means A, B, tie.
    task : of a "rating", cases have one response (`response_b` is absent or empty, and becomes the empty text), and
        verdicts the order AB
    labels : those of the dimensions in which several may apply, whose choices are as `joined_labels` writes them
    """

    dimensions: Sequence[str] | None
    categories: Sequence[str] | None
    task: Task
    labels: Mapping[str, Sequence[str]] | None


def conform(frame: pd.DataFrame, table: TableName, source: str, **rules: Unpack[Rules]) -> pd.DataFrame:
    """Validate one table and give its columns their types and defaults.

    Parameters
    ----------
    frame : DataFrame, one row an observation
    table : which of the three stored tables it is
    source : the file (or other origin) to name in messages
    rules : what the benchmark allows

    Returns
    -------
    DataFrame
        A new frame, unknown columns untouched, absent optional columns that have a
        default filled in (`images` becomes an empty list).

    Raises
    ------
    InputError
        A column is missing, a value has the wrong type or is outside its
        vocabulary, or a key occurs twice; names file, row and column.
    """
    raise_on_error(inspect(frame, table, source, **rules))
    out = frame.copy(deep=False)
    for column in _columns(table, rules.get("task", "preference")):
        name = column.name
        if name in out.columns:
            values = out[name]
            if (typed := _cast(values, column.type)) is not values:
                out[name] = typed
            if name == "response_b" and column.nullable:
                out[name] = out[name].fillna("")
        elif column.type == "names":
            out[name] = pd.Series([[] for _ in range(len(out))], index=out.index, dtype=object)
        elif name == "status":
            out[name] = pd.Series(np.where(out["choice"].isna(), "unparsed", "ok"), index=out.index, dtype="str")
        elif column.default is not None:
            out[name] = pd.Series(column.default, index=out.index, dtype="int64" if column.type == "int" else "str")
    return out.reset_index(drop=True)


def inspect(frame: pd.DataFrame, table: TableName, source: str, **rules: Unpack[Rules]) -> list[Finding]:
    """Everything in `frame` that breaks the contract of `table`; see `conform` for the parameters.

    Rows are those of the frame's index, from 0, where it has numbers.
    """
    task = rules.get("task", "preference")
    columns = _columns(table, task)
    faults: list[Fault] = []
    for column in columns:
        if column.name in frame.columns:
            found = _column_faults(frame, column, table, rules)
            faults += [(row, column.name, problem, cure) for row, problem, cure in found]
        elif column.required:
            cure = f"add it (the table needs {', '.join(one.name for one in columns if one.required)})"
            if column.name == "response_b":
                cure += ', or write task = "rating" in benchmark.toml where one response a case is rated'
            faults.append((None, column.name, "the column is missing", cure))
    if not faults:
        faults += _repeated_keys(frame, table)
        if table == "verdicts" and "status" in frame.columns:
            faults += _status_faults(frame)
        if table == "cases" and task == "rating" and "step" in frame.columns:
            faults += _step_faults(frame)
    ids = frame["case_id"] if "case_id" in frame.columns else None
    numbers = _numbers(frame)
    findings = []
    for row, name, problem, cure in faults:
        case = None if ids is None or row is None or name == "case_id" else str(ids.iloc[row])
        findings.append(Finding("error", source, None if row is None else int(numbers[row]), name, problem, cure, case))
    return findings


Fault = tuple[int | None, str | None, str, str]
"""A row, from 0, and a column, None where it is about several; what is wrong there, and the cure."""
ColumnFault = tuple[int, str, str]


def _columns(table: TableName, task: Task) -> tuple[Column, ...]:
    """The contract of a table: of a rating, `response_b` may be empty or absent, and the only order is AB."""
    if task != "rating":
        return COLUMNS[table]
    of_rating = {
        "response_b": Column("response_b", required=False, nullable=True, values=("",), default=""),
        "order": Column("order", values=("AB",)),
    }
    return tuple(of_rating.get(column.name, column) for column in COLUMNS[table])


def _rows(mask: pd.Series | np.ndarray) -> list[int]:
    """The rows of a mask. Masks are arrays: in small tables an operation of pandas takes fifty times as long."""
    rows: list[int] = np.flatnonzero(np.asarray(mask, dtype=bool)).tolist()
    return rows


def _numbers(frame: pd.DataFrame) -> pd.Index:
    """Return the number of each row, from 1."""
    return (frame.index if frame.index.inferred_type == "integer" else pd.RangeIndex(len(frame))) + 1


def _is(values: pd.Series) -> np.ndarray:
    """A series of truth values as an array."""
    return values.to_numpy(dtype=bool)


def _text(values: pd.Series) -> pd.Series:
    return values if values.dtype == "str" else values.astype("str")


def _column_faults(frame: pd.DataFrame, column: Column, table: TableName, rules: Rules) -> Iterator[ColumnFault]:
    """Yield the rows of a column that break its contract, each with what is wrong and the cure."""
    values, dimensions = frame[column.name], rules.get("dimensions")
    if column.type == "names":
        yield from _bad_names(values)
        return
    missing = _is(values.isna())
    if column.type == "rubric":
        texts = values.map(lambda value: str(rubric_text(value)), na_action="ignore")
        faults = {text: rubric_fault(text, dimensions) for text in texts[~missing].unique()}
        yield from ((row, *fault) for row, text in enumerate(texts) if (fault := faults.get(text)) is not None)
        return
    if not column.nullable:
        blank = missing | _is(_text(values).str.strip() == "") if column.name in _NAMES else missing
        yield from ((row, "the value is missing", "fill it in or remove the row") for row in _rows(blank))
    if column.type in ("int", "float"):
        yield from _bad_numbers(values, missing, column)
        return
    if not isinstance(values.dtype, pd.StringDtype | pd.CategoricalDtype):
        scalar = values.map(lambda value: isinstance(value, (str, int, np.integer)) and not isinstance(value, bool))
        for row in _rows(~_is(scalar) & ~missing):
            yield row, f"{type(values.iloc[row]).__name__} where text belongs", "write plain text"
    if column.type == "date":
        for row in _rows(~_is(_text(values).map(day_span, na_action="ignore").notna()) & ~missing):
            cure = "write a year, a month or a day, as 2023, 2023-05 or 2023-05-17"
            yield row, f"{str(values.iloc[row])[:_SHOWN]!r} is not a date", cure
    allowed, others = column.values, missing
    if column.name == "dimension" and dimensions is not None:
        allowed = tuple(dimensions)
    if column.name == "choice" and (table == "annotations" or rules.get("task") == "rating"):
        categories, labels = rules.get("categories"), rules.get("labels")
        allowed = CHOICES if categories is None else tuple(categories)
        if labels and "dimension" in frame.columns:
            of_labels = _is(_text(frame["dimension"]).isin(list(labels)))
            yield from _bad_labels(frame, _rows(of_labels & ~missing), labels)
            others = missing | of_labels
    if allowed is not None:
        hint = f"use one of {', '.join(allowed)}" if allowed != ("",) else "leave it empty: one response is rated"
        hint += ", or declare the dimension in benchmark.toml" if column.name == "dimension" else ""
        for row in _rows(~_is(_text(values).isin(list(allowed))) & ~others):
            yield row, f"{str(values.iloc[row])!r} is not a known {column.name}", hint


def _bad_labels(frame: pd.DataFrame, rows: list[int], labels: Mapping[str, Sequence[str]]) -> Iterator[ColumnFault]:
    for row in rows:
        stated, dimension = str(frame["choice"].iloc[row]), str(frame["dimension"].iloc[row])
        if joined_labels(split_labels(stated), labels[dimension]) != stated:
            own = SEPARATOR.join(labels[dimension])
            cure = f'write those that apply of "{own}", in this order, or {NO_LABEL}'
            yield row, f"{stated[:200]!r} is not a choice of labels of {dimension}", cure


def _bad_numbers(values: pd.Series, missing: np.ndarray, column: Column) -> Iterator[ColumnFault]:
    # As text, True is not a number, and a whole number too large for an array is read as what it is.
    as_text = pd.api.types.is_object_dtype(values.dtype) or pd.api.types.is_bool_dtype(values.dtype)
    numbers = pd.to_numeric(values.astype("str") if as_text else values, errors="coerce").astype("float64").to_numpy()
    low = -np.inf if column.low is None else column.low
    high = np.inf if column.high is None else column.high
    fraction = np.isfinite(numbers) & (numbers != np.floor(numbers)) & (column.type == "int")
    for mask, problem, cure in (
        (np.isnan(numbers) & ~missing, "is not a number", "write a plain number"),
        (fraction, "is not a whole number", "write a whole number"),
        (np.isinf(numbers), "is not finite", "write a plain number, or leave it empty where there is none"),
        ((numbers < low) | (numbers > high), f"is outside {low:g} to {high:g}", "correct the value"),
    ):
        for row in _rows(mask):
            value = values.iloc[row]
            yield row, f"{repr(value) if isinstance(value, str) else value} {problem}", cure


def _bad_names(values: pd.Series) -> Iterator[ColumnFault]:
    for row, names in enumerate(values):
        if not isinstance(names, (list, tuple, np.ndarray)):
            problem = f"{type(names).__name__} where a list of file names belongs"
            yield row, problem, "write a list, empty if there is none"
            continue
        for name in names:
            if not isinstance(name, str) or not is_safe_name(name):
                problem = f"the image name {name!r} leads out of images/, or is not possible"
                yield row, problem, "use a plain relative file name of at most 255 bytes"


def _repeated_keys(frame: pd.DataFrame, table: TableName) -> Iterator[Fault]:
    key = [name for name in KEYS[table] if name in frame.columns]
    text = frame[key].astype("str")
    first_of: dict[tuple[str, ...], int] = {}
    numbers = _numbers(frame)
    for row in _rows(text.duplicated(keep=False)):
        values = tuple(text.iloc[row])
        if (first := first_of.setdefault(values, row)) != row:
            named = ", ".join(f"{name} {value}" for name, value in zip(key, values, strict=True))
            problem = f"{named} occurs again (first in row {numbers[first]})"
            yield row, key[0] if len(key) == 1 else None, problem, "keep one of the two"


def _status_faults(frame: pd.DataFrame) -> Iterator[Fault]:
    status, has_choice = frame["status"], _is(frame["choice"].notna())
    answered = _is(_text(status).isin(list(ANSWERED_STATUSES)))
    add = "give the choice, or the status unparsed, refused or error"
    remove = "leave the choice empty, or give the status ok or repaired"
    for rows, relation, cure in (
        (_rows(answered & ~has_choice), "without", add),
        (_rows(~answered & _is(status.notna()) & has_choice), "with", remove),
    ):
        yield from ((row, "choice", f"status {status.iloc[row]} {relation} a choice", cure) for row in rows)


def _step_faults(frame: pd.DataFrame) -> Iterator[Fault]:
    """The steps of each item must be 1, 2, ... in the order of the rows; one fault an item where they are not."""
    step = pd.to_numeric(frame["step"]).astype("float64").to_numpy()
    items = frame["item"].astype("str") if "item" in frame.columns else pd.Series(None, frame.index, dtype="str")
    item, has_step = items.fillna("").to_numpy(dtype=object), ~np.isnan(step)
    due = pd.Series(item).groupby(item).cumcount().to_numpy() + 1
    is_broken = (item == "") & has_step | (item != "") & np.isin(item, item[has_step]) & (step != due)
    is_first = ~pd.Series(item).where(is_broken).duplicated().to_numpy()
    for row in _rows(is_broken & (is_first | (item == ""))):
        stated = f"{step[row]:.0f}" if has_step[row] else "a case without a step"
        if item[row] == "":
            yield row, "item", f"step {stated} is of no item", "name its item, or leave the step empty"
        else:
            problem = f"step {due[row]} of the item {str(item[row])[:80]!r} is due here, not {stated}"
            yield row, "step", problem, "number the steps of an item 1, 2, ... in the order of its rows"


def _cast(values: pd.Series, type_: ColumnType) -> pd.Series:
    if type_ == "names":
        return values.map(list)
    if type_ not in ("int", "float"):
        return _text(values.map(rubric_text, na_action="ignore") if type_ == "rubric" else values)
    if values.dtype == ("float64" if type_ == "float" else "int64"):
        return values
    # float() reads what repr() wrote to the last digit; pandas' own parser may not.
    numbers = pd.to_numeric(values.map(float, na_action="ignore") if values.dtype == "str" else values)
    if type_ == "float":
        return numbers.astype("float64")
    return numbers.astype("Int64" if numbers.isna().any() else "int64")


def check_references(frame: pd.DataFrame, cases: pd.DataFrame, source: str) -> None:
    """Raise `InputError` where a table names cases that the benchmark does not have; see `unknown_cases`."""
    raise_on_error(unknown_cases(frame, cases, source))


def unknown_cases(frame: pd.DataFrame, cases: pd.DataFrame, source: str) -> list[Finding]:
    """Return an error for each row whose `case_id` is not in `cases`, with the id that looks like it."""
    unknown = _rows(~_is(frame["case_id"].isin(cases["case_id"])))
    alike = {spelling_key(name): name for name in cases["case_id"]} if unknown else {}
    findings, numbers = [], _numbers(frame)
    for row in unknown:
        case_id = str(frame["case_id"].iloc[row])
        problem, cure = f"the case {visible(case_id)} does not exist", "correct the id or remove the row"
        if (near := alike.get(spelling_key(case_id))) is not None:
            problem, cure = f"{problem}, but {visible(near)} does", "write the id in one way in both tables"
        findings.append(Finding("error", source, int(numbers[row]), "case_id", problem, cure))
    return findings
