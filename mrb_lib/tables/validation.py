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
    row: int | None = None,
) -> list[Finding]:
    """One finding that says how often something occurred; none where it never did."""
    if not count:
        return []
    return [Finding(severity, str(file), row, column, f"{count:,} {problem}", cure)]


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
        if column.name in out.columns:
            values = out[column.name]
            if (typed := _cast(values, column.type)) is not values:
                out[column.name] = typed
            if column.name == "response_b" and column.nullable:
                out[column.name] = out[column.name].fillna("")
        elif column.type == "names":
            out[column.name] = pd.Series([[] for _ in range(len(out))], index=out.index, dtype=object)
        elif column.name == "status":
            out["status"] = np.where(out["choice"].isna(), "unparsed", "ok")
            out["status"] = out["status"].astype("str")
        elif column.default is not None:
            out[column.name] = pd.Series(
                column.default, index=out.index, dtype="int64" if column.type == "int" else "str"
            )
    return out.reset_index(drop=True)


def inspect(frame: pd.DataFrame, table: TableName, source: str, **rules: Unpack[Rules]) -> list[Finding]:
    """Everything in `frame` that breaks the contract of `table`; see `conform` for the parameters."""
    findings: list[Finding] = []
    task, labels = rules.get("task", "preference"), rules.get("labels")
    dimensions, categories = rules.get("dimensions"), rules.get("categories")
    columns = _columns(table, task)
    for column in columns:
        if column.name not in frame.columns:
            if column.required:
                cure = f"add it (the table needs {', '.join(c.name for c in columns if c.required)})"
                if column.name == "response_b":
                    cure += ', or write task = "rating" in benchmark.toml where one response a case is rated'
                findings.append(Finding("error", source, None, column.name, "the column is missing", cure))
            continue
        allowed = column.values
        if (column.name == "dimension" or column.type == "rubric") and dimensions is not None:
            allowed = tuple(dimensions)
        if column.name == "choice" and (table == "annotations" or task == "rating"):
            allowed = tuple(categories) if categories is not None else CHOICES
        several = labels if labels and column.name == "choice" and "dimension" in frame.columns else {}
        for row, problem, cure in _problems(frame, column, allowed, several):
            named = column.name != "case_id" and "case_id" in frame.columns
            case = str(frame["case_id"].iloc[row]) if named else None
            findings.append(Finding("error", source, row + 1, column.name, problem, cure, case))
    if not any(finding.severity == "error" for finding in findings):
        findings.extend(_inspect_relations(frame, table, source))
        if table == "cases" and task == "rating" and "step" in frame.columns:
            findings.extend(_inspect_steps(frame, source))
    return findings


def _columns(table: TableName, task: Task) -> tuple[Column, ...]:
    """The contract of a table: of a rating, `response_b` may be empty or absent, and the only order is AB."""
    if task != "rating":
        return COLUMNS[table]
    of_rating = {
        "response_b": Column("response_b", required=False, nullable=True, values=("",), default=""),
        "order": Column("order", values=("AB",)),
    }
    return tuple(of_rating.get(column.name, column) for column in COLUMNS[table])


def _rows(mask: np.ndarray) -> list[int]:
    """The rows of a mask. Masks are arrays: in small tables an operation of pandas takes fifty times as long."""
    rows: list[int] = np.flatnonzero(mask).tolist()
    return rows


def _is(values: pd.Series) -> np.ndarray:
    """A series of truth values as an array."""
    return values.to_numpy(dtype=bool)


def _text(values: pd.Series) -> pd.Series:
    return values if values.dtype == "str" else values.astype("str")


def _problems(
    frame: pd.DataFrame, column: Column, allowed: tuple[str, ...] | None, labels: Mapping[str, Sequence[str]]
) -> Iterator[tuple[int, str, str]]:
    """Yield the rows of a column that break its contract, from 0, each with what is wrong and the cure."""
    values = frame[column.name]
    if column.type == "names":
        yield from _bad_names(values)
        return
    missing = _is(values.isna())
    if column.type == "rubric":
        faults = {text: rubric_fault(text, allowed) for text in {str(rubric_text(one)) for one in values[~missing]}}
        for i in _rows(~missing):
            if (fault := faults[str(rubric_text(values.iloc[i]))]) is not None:
                yield i, *fault
        return
    if not column.nullable:
        blank = missing | _is(_text(values).str.strip() == "") if column.name in _NAMES else missing
        for i in _rows(blank):
            yield i, "the value is missing", "fill it in or remove the row"
    if column.type in ("int", "float"):
        yield from _bad_numbers(values, missing, column)
        return
    if not isinstance(values.dtype, pd.StringDtype) and not isinstance(values.dtype, pd.CategoricalDtype):
        scalar = values.map(lambda value: isinstance(value, (str, int, np.integer)) and not isinstance(value, bool))
        for i in _rows(~_is(scalar) & ~missing):
            yield i, f"{type(values.iloc[i]).__name__} where text belongs", "write plain text"
    if column.type == "date":
        for i in _rows(~_is(_text(values).map(day_span, na_action="ignore").notna()) & ~missing):
            cure = "write a year, a month or a day, as 2023, 2023-05 or 2023-05-17"
            yield i, f"{str(values.iloc[i])[:_SHOWN]!r} is not a date", cure
    if allowed is None:
        return
    of_labels = _is(_text(frame["dimension"]).isin(list(labels))) if labels else np.zeros(len(frame), dtype=bool)
    for i in _rows(of_labels & ~missing):
        stated, dimension = str(values.iloc[i]), str(frame["dimension"].iloc[i])
        if joined_labels(split_labels(stated), labels[dimension]) != stated:
            own = SEPARATOR.join(labels[dimension])
            cure = f'write those that apply of "{own}", in this order, or {NO_LABEL}'
            yield i, f"{stated[:200]!r} is not a choice of labels of {dimension}", cure
    hint = f"use one of {', '.join(allowed)}" if allowed != ("",) else "leave it empty: one response is rated"
    hint += ", or declare the dimension in benchmark.toml" if column.name == "dimension" else ""
    for i in _rows(~_is(_text(values).isin(list(allowed))) & ~missing & ~of_labels):
        yield i, f"{str(values.iloc[i])!r} is not a known {column.name}", hint


def _bad_numbers(values: pd.Series, missing: np.ndarray, column: Column) -> Iterator[tuple[int, str, str]]:
    # As text, True is not a number, and a whole number too large for an array is read as what it is.
    as_text = pd.api.types.is_object_dtype(values.dtype) or pd.api.types.is_bool_dtype(values.dtype)
    numbers = pd.to_numeric(values.astype("str") if as_text else values, errors="coerce").astype("float64").to_numpy()
    low = -np.inf if column.low is None else column.low
    high = np.inf if column.high is None else column.high
    problems: list[tuple[np.ndarray, str, str]] = [
        (np.isnan(numbers) & ~missing, "is not a number", "write a plain number"),
        (np.isinf(numbers), "is not finite", "write a plain number, or leave it empty where there is none"),
        ((numbers < low) | (numbers > high), f"is outside {low:g} to {high:g}", "correct the value"),
    ]
    if column.type == "int":
        fraction = np.isfinite(numbers) & (numbers != np.floor(numbers))
        problems.insert(1, (fraction, "is not a whole number", "write a whole number"))
    for mask, problem, cure in problems:
        for i in _rows(mask):
            value = values.iloc[i]
            yield i, f"{repr(value) if isinstance(value, str) else value} {problem}", cure


def _bad_names(values: pd.Series) -> Iterator[tuple[int, str, str]]:
    for i, names in enumerate(values):
        if not isinstance(names, (list, tuple, np.ndarray)):
            problem = f"{type(names).__name__} where a list of file names belongs"
            yield i, problem, "write a list, empty if there is none"
            continue
        for name in names:
            if not isinstance(name, str) or not is_safe_name(name):
                problem = f"the image name {name!r} leads out of images/, or is not possible"
                yield i, problem, "use a plain relative file name of at most 255 bytes"


def _inspect_relations(frame: pd.DataFrame, table: TableName, source: str) -> Iterator[Finding]:
    key = [name for name in KEYS[table] if name in frame.columns]
    text = frame[key].astype("str")
    first_of: dict[tuple[str, ...], int] = {}
    for i in _rows(_is(text.duplicated(keep=False))):
        row = text.iloc[i]
        if (first := first_of.setdefault(tuple(row), i + 1)) != i + 1:
            what = f"{', '.join(f'{name} {row[name]}' for name in key)} occurs again (first in row {first})"
            case = None if table == "cases" else str(row["case_id"])
            column = key[0] if len(key) == 1 else None
            yield Finding("error", source, i + 1, column, what, "keep one of the two", case)
    if table == "verdicts" and "status" in frame.columns:
        has_choice, has_status = _is(frame["choice"].notna()), _is(frame["status"].notna())
        answered = _is(_text(frame["status"]).isin(list(ANSWERED_STATUSES))) & has_status
        add = "give the choice, or the status unparsed, refused or error"
        remove = "leave the choice empty, or give the status ok or repaired"
        for mask, with_or_without, cure in (
            (answered & ~has_choice, "without", add),
            (~answered & has_status & has_choice, "with", remove),
        ):
            for i in _rows(mask):
                problem = f"status {frame['status'].iloc[i]} {with_or_without} a choice"
                yield Finding("error", source, i + 1, "choice", problem, cure, str(frame["case_id"].iloc[i]))


def _inspect_steps(frame: pd.DataFrame, source: str) -> Iterator[Finding]:
    """The steps of each item must be 1, 2, ... in the order of the rows; one finding an item where they are not."""
    step = pd.to_numeric(frame["step"]).astype("float64").to_numpy()
    items = frame["item"].astype("str") if "item" in frame.columns else pd.Series(None, frame.index, dtype="str")
    item, has_step = items.fillna("").to_numpy(dtype=object), ~np.isnan(step)
    due = pd.Series(item).groupby(item).cumcount().to_numpy() + 1
    is_broken = (item == "") & has_step | (item != "") & np.isin(item, item[has_step]) & (step != due)
    is_first = ~pd.Series(item).where(is_broken).duplicated().to_numpy()
    for i in np.flatnonzero(is_broken & (is_first | (item == ""))).tolist():
        stated = f"{step[i]:.0f}" if has_step[i] else "a case without a step"
        column, problem = "step", f"step {due[i]} of the item {str(item[i])[:80]!r} is due here, not {stated}"
        cure = "number the steps of an item 1, 2, ... in the order of its rows"
        if item[i] == "":
            column, problem, cure = "item", f"step {stated} is of no item", "name its item, or leave the step empty"
        yield Finding("error", source, i + 1, column, problem, cure, str(frame["case_id"].iloc[i]))


def _cast(values: pd.Series, type_: ColumnType) -> pd.Series:
    if type_ == "rubric":
        values = values.map(rubric_text, na_action="ignore")
    if type_ in ("str", "date", "rubric"):
        return values if isinstance(values.dtype, pd.StringDtype) else values.astype("str")
    if type_ == "names":
        return values.map(list)
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
    unknown = _rows(_is(~frame["case_id"].isin(cases["case_id"])))
    alike = {spelling_key(name): name for name in cases["case_id"]} if unknown else {}
    findings = []
    for i in unknown:
        case_id = str(frame["case_id"].iloc[i])
        problem, cure = f"the case {visible(case_id)} does not exist", "correct the id or remove the row"
        if (near := alike.get(spelling_key(case_id))) is not None:
            problem, cure = f"{problem}, but {visible(near)} does", "write the id in one way in both tables"
        findings.append(Finding("error", source, i + 1, "case_id", problem, cure))
    return findings
