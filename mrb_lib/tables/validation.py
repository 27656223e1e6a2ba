"""Whether a table keeps its contract, and what exactly is wrong where it does not."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, SupportsInt, TypedDict, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.tables.errors import InputError, shortened
from mrb_lib.tables.files import is_safe_name
from mrb_lib.tables.names import spelling_key, visible
from mrb_lib.tables.rubrics import RubricError, read_rubric, rubric_text
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
        if name in out:
            out[name] = _cast(out[name], column.type)
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
    columns = _columns(table, rules.get("task", "preference"))
    cure = f"add it (the table needs {', '.join(column.name for column in columns if column.required)})"
    other = ', or write task = "rating" in benchmark.toml where one response a case is rated'
    findings: list[Finding] = []
    faults: list[tuple[str, Mask, str, str]] = []
    for column in columns:
        if column.name in frame:
            faults += [(column.name, *check) for check in _column_checks(frame, column, table, rules)]
        elif column.required:
            add = cure + other if column.name == "response_b" else cure
            findings.append(Finding("error", source, None, column.name, "the column is missing", add))
    if not (findings or any(mask.any() for _, mask, *_ in faults)):
        if table == "verdicts" and "status" in frame:
            faults += [("status", *check) for check in _status_checks(frame)]
        findings = _repeated_keys(frame, table, source)
    for name, mask, problem, cure in faults:
        for row in map(int, np.flatnonzero(mask)):
            value = frame[name].iloc[row]
            shown = shortened(repr(value) if isinstance(value, str) else str(value), _SHOWN)
            stated = problem.replace("VALUE", shown).replace("TYPE", type(value).__name__)
            findings.append(_row_finding(frame, row, source, name, stated, cure))
    return findings


Mask = NDArray[np.bool_]
Check = tuple[Mask, str, str]
"""True for each row that breaks a rule; the problem, with VALUE and TYPE for what the row holds; and the cure."""


def _row_finding(frame: pd.DataFrame, row: int, source: str, column: str | None, problem: str, cure: str) -> Finding:
    """Return an error about a row, at a place of the frame from 0."""
    case = str(frame["case_id"].iloc[row]) if column != "case_id" and "case_id" in frame else None
    return Finding("error", source, _number(frame, row), column, problem, cure, case)


def _number(frame: pd.DataFrame, row: int) -> int:
    return int(frame.index[row] if frame.index.inferred_type == "integer" else row) + 1


def _columns(table: TableName, task: Task) -> tuple[Column, ...]:
    """The contract of a table: of a rating, `response_b` may be empty or absent, and the only order is AB."""
    if task != "rating":
        return COLUMNS[table]
    of_rating = {
        "response_b": Column("response_b", required=False, nullable=True, values=("",), default=""),
        "order": Column("order", values=("AB",)),
    }
    return tuple(of_rating.get(column.name, column) for column in COLUMNS[table])


def _is(values: pd.Series) -> Mask:
    """A series of truth values as an array: in small tables an operation of pandas takes fifty times as long."""
    return values.to_numpy(dtype=bool)


def _column_checks(frame: pd.DataFrame, column: Column, table: TableName, rules: Rules) -> Iterator[Check]:
    """Yield what the values of a column are checked for."""
    values = frame[column.name]
    if column.type == "names":
        problem = "VALUE is not a list of file names, or the image name leads out of images/"
        cure = "write a list, empty if there is none, of plain relative file names of at most 255 bytes"
        yield ~_is(values.map(_are_file_names)), problem, cure
        return
    missing = _is(values.isna())
    if not column.nullable:
        blank = missing | _is(values.astype("str").str.strip() == "") if column.name in _NAMES else missing
        yield blank, "the value is missing", "fill it in or remove the row"
    if column.type == "rubric":
        texts = values.map(lambda value: str(rubric_text(value)), na_action="ignore")
        for text in texts[~missing].unique():
            try:
                read_rubric(text, rules.get("dimensions"))
            except RubricError as error:
                yield _is(texts == text), error.problem, error.cure
    elif column.type in ("int", "float"):
        yield _number_check(values, missing, column)
    else:
        yield from _text_checks(frame, column, missing, table, rules)


def _text_checks(frame: pd.DataFrame, column: Column, missing: Mask, table: TableName, rules: Rules) -> Iterator[Check]:
    values = frame[column.name]
    allowed: Sequence[str] | None = column.values
    if not isinstance(values.dtype, pd.StringDtype | pd.CategoricalDtype):
        scalar = values.map(lambda value: isinstance(value, (str, int, np.integer)) and not isinstance(value, bool))
        yield ~_is(scalar) & ~missing, "TYPE where text belongs", "write plain text"
    texts = values.astype("str")
    if column.type == "date":
        cure = "write a year, a month or a day, as 2023, 2023-05 or 2023-05-17"
        yield ~_is(texts.map(day_span, na_action="ignore").notna()) & ~missing, "VALUE is not a date", cure
    if column.name == "dimension":
        allowed = rules.get("dimensions")
    if column.name == "choice" and (table == "annotations" or rules.get("task") == "rating"):
        allowed = rules.get("categories") or CHOICES
        for dimension, labels in (rules.get("labels") or {}).items():
            own = _is(frame.get("dimension", values).astype("str") == dimension) & ~missing
            chosen = [joined_labels(split_labels(text), labels) == text for text in texts.fillna("")]
            cure = f'write those that apply of "{SEPARATOR.join(labels)}", in this order, or {NO_LABEL}'
            yield own & ~np.array(chosen, dtype=bool), f"VALUE is not a choice of labels of {dimension}", cure
            missing = missing | own
    if allowed is not None:
        cure = f"use one of {', '.join(allowed)}" if any(allowed) else "leave it empty: one response is rated"
        cure += ", or declare the dimension in benchmark.toml" if column.name == "dimension" else ""
        yield ~_is(texts.isin(list(allowed))) & ~missing, f"VALUE is not a known {column.name}", cure


def _number_check(values: pd.Series, missing: Mask, column: Column) -> Check:
    # As text, True is not a number, and a whole number too large for an array is read as what it is.
    plain = values if values.dtype.kind in "iuf" else values.astype("str")
    numbers = pd.to_numeric(plain, errors="coerce").astype("float64").to_numpy()
    is_right = np.isfinite(numbers) & (numbers >= column.low) & (numbers <= column.high)
    if column.type == "int":
        is_right &= numbers == np.floor(numbers)
    kind = "whole number" if column.type == "int" else "number"
    bounds = "" if column.low == -np.inf else f" from {column.low:g} to {column.high:g}"
    return ~is_right & ~missing, f"VALUE is not a {kind}{bounds}", "correct it, or leave it empty where there is none"


def _are_file_names(names: object) -> bool:
    if not isinstance(names, list | tuple | np.ndarray):
        return False
    return all(isinstance(name, str) and is_safe_name(name) for name in names)


def _repeated_keys(frame: pd.DataFrame, table: TableName, source: str) -> list[Finding]:
    key = [name for name in KEYS[table] if name in frame]
    text, findings = frame[key].astype("str"), []
    first_of: dict[tuple[str, ...], int] = {}
    for row in map(int, np.flatnonzero(text.duplicated(keep=False))):
        values = tuple(text.iloc[row])
        if (first := first_of.setdefault(values, row)) != row:
            named = ", ".join(map(" ".join, zip(key, values, strict=True)))
            problem, cure = f"{named} occurs again (first in row {_number(frame, first)})", "keep one of the two"
            findings.append(_row_finding(frame, row, source, "case_id" if len(key) == 1 else None, problem, cure))
    return findings


def _status_checks(frame: pd.DataFrame) -> Iterator[Check]:
    """Yield where status and choice of a verdict contradict each other, each of which keeps its own contract."""
    status, has_choice = frame["status"], _is(frame["choice"].notna())
    answered = _is(status.astype("str").isin(list(ANSWERED_STATUSES)))
    cure = "give the choice, or the status unparsed, refused or error"
    yield answered & ~has_choice, "VALUE without a choice", cure
    cure = "leave the choice empty, or give the status ok or repaired"
    yield ~answered & _is(status.notna()) & has_choice, "VALUE with a choice", cure


def _cast(values: pd.Series, type_: ColumnType) -> pd.Series:
    if type_ == "names":
        return values.map(list)
    if type_ == "rubric":
        values = values.map(rubric_text, na_action="ignore")
    if type_ not in ("int", "float"):
        return values.astype("str")
    # float() reads what repr() wrote to the last digit; pandas' own parser may not.
    numbers = pd.to_numeric(values.map(float, na_action="ignore") if values.dtype == "str" else values)
    return numbers.astype("float64" if type_ == "float" else "Int64" if numbers.isna().any() else "int64")


def check_references(frame: pd.DataFrame, cases: pd.DataFrame, source: str) -> None:
    """Raise `InputError` where a table names cases that the benchmark does not have; see `unknown_cases`."""
    raise_on_error(unknown_cases(frame, cases, source))


def unknown_cases(frame: pd.DataFrame, cases: pd.DataFrame, source: str) -> list[Finding]:
    """Return an error for each row whose `case_id` is not in `cases`, with the id that looks like it."""
    unknown: list[int] = np.flatnonzero(~frame["case_id"].isin(cases["case_id"])).tolist()
    alike = {spelling_key(name): name for name in cases["case_id"]} if unknown else {}
    findings = []
    for row in unknown:
        case_id = str(frame["case_id"].iloc[row])
        problem, cure = f"the case {visible(case_id)} does not exist", "correct the id or remove the row"
        if (near := alike.get(spelling_key(case_id))) is not None:
            problem, cure = f"{problem}, but {visible(near)} does", "write the id in one way in both tables"
        findings.append(_row_finding(frame, row, source, "case_id", problem, cure))
    return findings


_DATE: Final = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?", re.ASCII)


def day_span(text: str) -> tuple[date, date] | None:
    """The first and the last day that an ISO date may mean; None where the text is not one.

    Parameters
    ----------
    text : `2023`, `2023-05` or `2023-05-17`
    """
    if not _DATE.fullmatch(text):
        return None
    try:
        period = pd.Period(text)
    except ValueError:
        return None
    return period.start_time.date(), period.end_time.date()
