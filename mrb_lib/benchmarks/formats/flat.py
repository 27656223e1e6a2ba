"""One file with a row per case and annotator, as hospitals export it, becomes cases, annotations and verdicts."""

import hashlib
import json
from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.tables.errors import InputError, nearest
from mrb_lib.tables.names import spelling_key
from mrb_lib.tables.schema import CASES, DIMENSIONS, VERDICTS, TableName
from mrb_lib.tables.validation import Finding, Severity, counted

OVERALL = "overall"
_LABELS = ("annotator", "dimension", "choice")
_OF_VERDICTS = {column.name for column in VERDICTS} - {"case_id", "dimension", "choice"}
_OF_CASES = {column.name for column in CASES}


def split_flat(
    flat: pd.DataFrame, verdict_columns: Sequence[str], source: str, findings: list[Finding]
) -> dict[TableName, pd.DataFrame]:
    """Split a file into the tables of a benchmark that it holds.

    Parameters
    ----------
    flat : a row per case, or per case and annotator, or per case and judge; blank cells are null or empty texts
    verdict_columns : columns that hold the verdicts of the judge they are named after
    source : the file to name in messages

    Returns
    -------
    dict of DataFrame
        Their index is the row of the file, from 0. A case's texts stand in its first row with one. Columns that the
        tables do not know belong to the cases if they are alike in all rows of each case, else to the annotations or
        verdicts.

    Raises
    ------
    InputError
        Two rows of a case differ in a column of the cases, or a column is not there.
    """
    flat = _with_sides(_with_texts(flat), source, findings).reset_index(drop=True)
    refuse_incomplete(flat, ("question", "response_a"), source)
    names = [str(name) for name in flat]
    for name in verdict_columns:
        if name not in names:
            hint = nearest(name, names)
            raise InputError(f"--verdicts {name}: there is no such column; use one of {', '.join(names)}.{hint}")
    is_judged = "judge" in flat
    if is_judged and verdict_columns:
        raise InputError(f"--verdicts: {source} names its judges in the column judge; leave the option out.")
    flat = _with_case_ids(flat, source, findings)
    named = [name for name in names if name == "choice" or is_dimension(name)]
    labels = [] if is_judged else [name for name in named if name not in verdict_columns]
    of_rows = {*labels, *_LABELS, *(_OF_VERDICTS if is_judged else ())}.difference(verdict_columns)
    shared: list[str] = []
    own: list[str] = []
    for name in map(str, flat.columns.difference([*of_rows, *verdict_columns], sort=False)):
        differs = _differing(flat[name], flat["case_id"])
        if differs.any() and (name in _OF_CASES or not (labels or is_judged)):
            raise _contradiction(flat, differs, name, "correct one of the two", source)
        (own if differs.any() else shared).append(name)
    cases = _first_given(flat[shared], flat["case_id"])
    rows = flat[["case_id", *(name for name in names if name in of_rows or name in own)]]
    if is_judged:
        return {"cases": cases, "verdicts": rows}
    if not (labels or verdict_columns):
        severity: Severity = "warning" if "annotator" in flat else "info"
        problem = "no column is named choice or after a dimension, so there are no labels"
        findings.append(Finding(severity, source, None, None, problem, "name it with --map theirs=choice"))
        repeated = len(flat) - len(cases)
        findings += counted(repeated, "warning", source, "rows repeat a case word for word", "each case is read once")
    tables: dict[TableName, pd.DataFrame] = {"cases": cases}
    if labels:
        tables["annotations"] = long_labels(rows)
    if verdict_columns:
        wide = [] if "choice" in labels else [spelling_key(name) for name in labels]
        dimension = wide[0] if len(wide) == 1 else OVERALL
        if wide and dimension not in wide:
            problem, cure = f"verdicts are on {OVERALL}, which has no labels", "import a row per dimension for others"
            findings.append(Finding("warning", source, None, verdict_columns[0], problem, cure))
        tables["verdicts"] = pd.concat([_verdicts(flat, name, dimension, source) for name in verdict_columns])
    return tables


def refuse_incomplete(cases: pd.DataFrame, needed: Sequence[str], file: str) -> None:
    """Refuse cases that lack columns: all of them at once, with the names that the file has."""
    missing = [name for name in needed if name not in cases]
    if missing:
        columns = ", ".join(map(str, cases.columns))
        example = " ".join(f'--map "THEIRS={name}"' for name in missing)
        raise InputError(f"{file}: has no columns {', '.join(missing)}; name them with {example}; it has {columns}.")


def is_dimension(name: str) -> bool:
    """Return True if a column is named after one of the standard dimensions, however it is spelled."""
    return spelling_key(name) in DIMENSIONS


def long_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return annotations with a row per dimension, where the source may have a column per dimension."""
    wide = [str(name) for name in frame.columns if is_dimension(str(name))]
    if "choice" in frame or not wide:
        return frame
    kept = [name for name in frame.columns if name not in wide]
    long = frame.melt(kept, wide, var_name="dimension", value_name="choice", ignore_index=False)
    return long.assign(dimension=long["dimension"].map(spelling_key))


def is_blank(values: pd.Series) -> pd.Series:
    """Return True for null and for texts without a visible character."""
    return values.isna() | values.map(lambda value: isinstance(value, str) and not value.strip()).astype(bool)


def _with_case_ids(flat: pd.DataFrame, source: str, findings: list[Finding]) -> pd.DataFrame:
    """Return rows with a `case_id`: by default rows with equal texts and images are one case, numbered from 1."""
    if "case_id" in flat:
        return flat
    texts = [name for name in ("question", "response_a", "response_b", "images") if name in flat]
    keys = flat[texts].map(_key).agg("\0".join, axis=1) if texts else pd.Series("", index=flat.index)
    codes = pd.factorize(keys)[0] + 1
    problem = f"no column is named case_id, so cases are numbered 1 to {codes.max(initial=0)} by their texts"
    findings.append(Finding("info", source, None, "case_id", problem, "name the column with --map if there is one"))
    return flat.assign(case_id=pd.Series(codes, index=flat.index).astype("str"))


def _differing(values: pd.Series, case: pd.Series) -> pd.Series:
    """Return True for values that differ from the first one given in their case."""
    keys = values.map(_key).astype("str").mask(is_blank(values))
    return keys.notna() & (keys != keys.groupby(case, sort=False).transform("first"))


def _first_given(frame: pd.DataFrame, case: pd.Series) -> pd.DataFrame:
    """Return a row per case, of each column the first value that is not blank."""
    first = frame[~case.duplicated()]
    filled = frame.mask(frame.apply(is_blank)).groupby(case.to_numpy(), sort=False, dropna=False).first()
    return first.where(filled.isna().to_numpy(), filled.set_axis(first.index))


def _contradiction(flat: pd.DataFrame, differs: pd.Series, name: str, cure: str, source: str) -> InputError:
    """Return the error that two rows of a case differ in a column."""
    row = int(differs.to_numpy().argmax())
    problem = f"differs from an earlier row of the case {flat['case_id'][row]}"
    return InputError(f"{source}, row {row + 1}, column {name}: {problem}; {cure}.")


def _verdicts(flat: pd.DataFrame, judge: str, dimension: str, source: str) -> pd.DataFrame:
    """Return the verdicts in the column named after a judge, one per case and dimension, by default `dimension`."""
    rows = flat[["case_id"]].assign(dimension=flat.get("dimension", dimension), judge=judge, choice=flat[judge])
    case = rows["case_id"].astype("str") + "\0" + rows["dimension"].astype("str")
    if (differs := _differing(rows["choice"], case)).any():
        raise _contradiction(rows, differs, judge, "keep one verdict per case", source)
    return _first_given(rows, case)


def _with_texts(flat: pd.DataFrame) -> pd.DataFrame:
    """Return conversations as texts: responses are their last messages, a question that is not there the others."""
    for name in ("chosen", "rejected", "response_a", "response_b"):
        talks = flat[name].map(_is_conversation) if name in flat else pd.Series(dtype=bool)
        if talks.any():
            if "question" not in flat:
                flat = flat.assign(question=flat[name].map(lambda talk: _talk_text(talk, stop=-1)))
            flat = flat.assign(**{name: flat[name].map(lambda talk: _talk_text(talk, start=-1))})
    return flat.assign(question=flat["question"].map(_talk_text)) if "question" in flat else flat


def _with_sides(flat: pd.DataFrame, source: str, findings: list[Finding]) -> pd.DataFrame:
    """Return the pairs of a preference data set, `chosen` and `rejected`, as two responses on sides drawn by chance."""
    if not {"chosen", "rejected"} <= set(flat) or {"response_a", "response_b"} & set(flat):
        return flat
    chosen, rejected = flat["chosen"].astype("str"), flat["rejected"].astype("str")
    first = (chosen + "\0" + rejected).map(lambda text: hashlib.sha256(text.encode("utf-8")).digest()[0] % 2 == 0)
    problem = f"chosen is response_a in {first.sum():,} of {len(flat):,} rows and response_b in the others, by chance"
    findings.append(Finding("info", source, None, "chosen", problem, "so that always naming one side gains nothing"))
    sides = {"response_a": chosen.where(first, rejected), "response_b": rejected.where(first, chosen)}
    return flat.drop(columns=["chosen", "rejected"]).assign(**sides, choice=first.map({True: "A", False: "B"}))


def _is_conversation(value: object) -> bool:
    return isinstance(value, (list, np.ndarray)) and len(value) > 0 and isinstance(value[0], dict)


def _talk_text(value: object, start: int = 0, stop: int | None = None) -> object:
    """Return the text of the messages of a conversation, of several each with its role; other values as they are."""
    if not isinstance(value, (list, np.ndarray)) or not _is_conversation(value):
        return value
    messages = list(value)[start:stop]
    texts = [message.get("content") for message in messages]
    if len(texts) == 1 or not all(isinstance(text, str) for text in texts):
        return texts[0] if len(texts) == 1 else texts
    return "\n\n".join(f"{message.get('role')}: {text}" for message, text in zip(messages, texts, strict=True))


def _key(value: object) -> str:
    """Return a value as a text that equal values share."""
    return value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True)
