"""Whether a table keeps its contract, and what exactly is wrong where it does not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, SupportsInt, TypedDict, Unpack, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
_SHOWN = 80

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
    cases: pd.DataFrame, row: SupportsInt, column: str, problem: str, cure: str, severity: Severity = "warning"
) -> Finding:
    """Return a finding about one case of a benchmark; `row` counts the rows of the cases table from 0."""
    return Finding(severity, CASES_FILE, int(row) + 1, column, problem, cure, str(cases["case_id"].iloc[int(row)]))


def counted(
    count: int, severity: Severity, file: object, problem: str, cure: str, column: str | None = None
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
    needed = ", ".join(column.name for column in columns if column.required)
    for column in columns:
        if column.name in frame.columns:
            faults += [(column.name, *check) for check in _column_checks(frame, column, table, rules)]
        elif column.required:
            cure = f"add it (the table needs {needed})"
            if column.name == "response_b":
                cure += ', or write task = "rating" in benchmark.toml where one response a case is rated'
            faults.append((column.name, None, "the column is missing", cure))
    numbers, findings = _numbers(frame), []
    if not any(mask is None or mask.any() for _, mask, *_ in faults):
        faults += _row_checks(frame, table, task)
        findings = _repeated_keys(frame, table, source, numbers)
    for name, mask, problem, cure in faults:
        if mask is None:
            findings.append(Finding("error", source, None, name, problem, cure))
            continue
        for row in map(int, np.flatnonzero(mask)):
            value = frame[name].iloc[row]
            shown = shortened(repr(value) if isinstance(value, str) else str(value), _SHOWN)
            case = str(frame["case_id"].iloc[row]) if name != "case_id" and "case_id" in frame.columns else None
            stated = problem.replace("VALUE", shown).replace("TYPE", type(value).__name__)
            findings.append(Finding("error", source, int(numbers[row]), name, stated, cure, case))
    return findings


Mask = NDArray[np.bool_]
Check = tuple[Mask, str, str]
"""True for each row that breaks a rule; the problem, with VALUE and TYPE for what the row holds; and the cure."""
Fault = tuple[str, Mask | None, str, str]
"""A check of a column, by its name; without rows where it is about the whole column."""


def _columns(table: TableName, task: Task) -> tuple[Column, ...]:
    """The contract of a table: of a rating, `response_b` may be empty or absent, and the only order is AB."""
    if task != "rating":
        return COLUMNS[table]
    of_rating = {
        "response_b": Column("response_b", required=False, nullable=True, values=("",), default=""),
        "order": Column("order", values=("AB",)),
    }
    return tuple(of_rating.get(column.name, column) for column in COLUMNS[table])


def _numbers(frame: pd.DataFrame) -> pd.Index:
    """Return the number of each row, from 1."""
    return (frame.index if frame.index.inferred_type == "integer" else pd.RangeIndex(len(frame))) + 1


def _is(values: pd.Series) -> Mask:
    """A series of truth values as an array: in small tables an operation of pandas takes fifty times as long."""
    return values.to_numpy(dtype=bool)


def _text(values: pd.Series) -> pd.Series:
    return values if values.dtype == "str" else values.astype("str")


def _column_checks(frame: pd.DataFrame, column: Column, table: TableName, rules: Rules) -> Iterator[Check]:
    """Yield what the values of a column are checked for."""
    values, dimensions = frame[column.name], rules.get("dimensions")
    if column.type == "names":
        cure = "write a list, empty if there is none, of plain relative file names of at most 255 bytes"
        yield (
            ~_is(values.map(_are_file_names)),
            "VALUE is not a list of file names, or the image name leads out of images/",
            cure,
        )
        return
    missing = _is(values.isna())
    if not column.nullable:
        blank = missing | _is(_text(values).str.strip() == "") if column.name in _NAMES else missing
        yield blank, "the value is missing", "fill it in or remove the row"
    if column.type == "rubric":
        texts = values.map(lambda value: str(rubric_text(value)), na_action="ignore")
        for text in texts[~missing].unique():
            if (fault := rubric_fault(text, dimensions)) is not None:
                yield _is(texts == text), *fault
    elif column.type in ("int", "float"):
        yield _number_check(values, missing, column)
    else:
        yield from _text_checks(frame, column, missing, table, rules)


def _text_checks(frame: pd.DataFrame, column: Column, missing: Mask, table: TableName, rules: Rules) -> Iterator[Check]:
    values, allowed = frame[column.name], cast("Sequence[str] | None", column.values)
    if not isinstance(values.dtype, pd.StringDtype | pd.CategoricalDtype):
        scalar = values.map(lambda value: isinstance(value, (str, int, np.integer)) and not isinstance(value, bool))
        yield ~_is(scalar) & ~missing, "TYPE where text belongs", "write plain text"
    texts = _text(values)
    if column.type == "date":
        cure = "write a year, a month or a day, as 2023, 2023-05 or 2023-05-17"
        yield ~_is(texts.map(day_span, na_action="ignore").notna()) & ~missing, "VALUE is not a date", cure
    if column.name == "dimension":
        allowed = rules.get("dimensions")
    if column.name == "choice" and (table == "annotations" or rules.get("task") == "rating"):
        allowed = rules.get("categories") or CHOICES
        dimensions = frame["dimension"] if "dimension" in frame.columns else values
        for dimension, labels in (rules.get("labels") or {}).items():
            own = _is(_text(dimensions) == dimension) & ~missing
            of_labels = partial(_is_choice_of, labels=labels)
            wrong = own & ~_is(texts.map(of_labels, na_action="ignore"))
            cure = f'write those that apply of "{SEPARATOR.join(labels)}", in this order, or {NO_LABEL}'
            yield wrong, f"VALUE is not a choice of labels of {dimension}", cure
            missing = missing | own
    if allowed is not None:
        cure = f"use one of {', '.join(allowed)}" if any(allowed) else "leave it empty: one response is rated"
        cure += ", or declare the dimension in benchmark.toml" if column.name == "dimension" else ""
        yield ~_is(texts.isin(list(allowed))) & ~missing, f"VALUE is not a known {column.name}", cure


def _number_check(values: pd.Series, missing: Mask, column: Column) -> Check:
    # As text, True is not a number, and a whole number too large for an array is read as what it is.
    as_text = pd.api.types.is_object_dtype(values.dtype) or pd.api.types.is_bool_dtype(values.dtype)
    numbers = pd.to_numeric(values.astype("str") if as_text else values, errors="coerce").astype("float64").to_numpy()
    low, high = (-np.inf if column.low is None else column.low), (np.inf if column.high is None else column.high)
    is_right = np.isfinite(numbers) & (numbers >= low) & (numbers <= high)
    if column.type == "int":
        is_right &= numbers == np.floor(numbers)
    kind = "whole number" if column.type == "int" else "number"
    bounds = "" if column.low is None else f" from {low:g} to {high:g}"
    return ~is_right & ~missing, f"VALUE is not a {kind}{bounds}", "correct it, or leave it empty where there is none"


def _is_choice_of(text: str, labels: Sequence[str]) -> bool:
    return joined_labels(split_labels(text), labels) == text


def _are_file_names(names: object) -> bool:
    if not isinstance(names, list | tuple | np.ndarray):
        return False
    return all(isinstance(name, str) and is_safe_name(name) for name in names)


def _repeated_keys(frame: pd.DataFrame, table: TableName, source: str, numbers: pd.Index) -> list[Finding]:
    key = [name for name in KEYS[table] if name in frame.columns]
    text, findings = frame[key].astype("str"), []
    first_of: dict[tuple[str, ...], int] = {}
    for row in map(int, np.flatnonzero(text.duplicated(keep=False))):
        values = tuple(text.iloc[row])
        if (first := first_of.setdefault(values, row)) != row:
            named = ", ".join(map(" ".join, zip(key, values, strict=True)))
            problem, cure = f"{named} occurs again (first in row {numbers[first]})", "keep one of the two"
            column, case = ("case_id", None) if len(key) == 1 else (None, str(frame["case_id"].iloc[row]))
            findings.append(Finding("error", source, int(numbers[row]), column, problem, cure, case))
    return findings


def _row_checks(frame: pd.DataFrame, table: TableName, task: Task) -> Iterator[Fault]:
    """Yield what the columns of a row are checked for together, where each keeps its own contract."""
    if table == "verdicts" and "status" in frame.columns:
        status, has_choice = frame["status"], _is(frame["choice"].notna())
        answered = _is(_text(status).isin(list(ANSWERED_STATUSES)))
        cure = "give the choice, or the status unparsed, refused or error"
        yield "status", answered & ~has_choice, "VALUE without a choice", cure
        cure = "leave the choice empty, or give the status ok or repaired"
        yield "status", ~answered & _is(status.notna()) & has_choice, "VALUE with a choice", cure
    if task == "rating" and table == "cases" and "step" in frame.columns:
        is_step = _is(frame["step"].notna())
        items = frame.reindex(columns=["item"])["item"].astype("str").fillna("")[is_step]
        due = items.groupby(items).cumcount().to_numpy() + 1
        wrong = is_step.copy()
        wrong[is_step] = (pd.to_numeric(frame["step"][is_step]).to_numpy() != due) | _is(items == "")
        cure = "name the item of each step, and number its steps 1, 2, ... in the order of the rows"
        yield "step", wrong, "VALUE is not the next step of its item", cure


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
    unknown: list[int] = np.flatnonzero(~frame["case_id"].isin(cases["case_id"])).tolist()
    alike = {spelling_key(name): name for name in cases["case_id"]} if unknown else {}
    findings, numbers = [], _numbers(frame)
    for row in unknown:
        case_id = str(frame["case_id"].iloc[row])
        problem, cure = f"the case {visible(case_id)} does not exist", "correct the id or remove the row"
        if (near := alike.get(spelling_key(case_id))) is not None:
            problem, cure = f"{problem}, but {visible(near)} does", "write the id in one way in both tables"
        findings.append(Finding("error", source, int(numbers[row]), "case_id", problem, cure))
    return findings
