"""The tables of this library as CSV, Excel, parquet or JSON: the format to bring one's own data in.

A folder or workbook holds `cases`, and may hold `annotations`, `verdicts`, `images/` and `benchmark.toml`; or one file
has a row per case and annotator (see `split_flat`). The columns are those of `mrb_lib.tables.schema`; others are kept.

In CSV and Excel every cell is text. An empty cell is missing where the column may be missing (and in columns the
contract does not know), else it is the empty text; "None" and "NA" are texts like any other. A column of the cases that
the contract does not know is one of numbers if each of its cells is a number in plain form ("60", "-1.5"; "007" and
"1,000" are text). `images` holds file names separated by semicolons, or a JSON list of them.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.benchmark import Benchmark, write_images
from mrb_lib.benchmarks.formats.base import Imported, import_tables, reads, writes
from mrb_lib.benchmarks.formats.images import with_images
from mrb_lib.benchmarks.formats.labels import by_model, read_labels, stated_labels
from mrb_lib.benchmarks.formats.sources import (
    READ_SUFFIXES,
    Source,
    id_text,
    listed,
    read_parquet,
    read_sheets,
    with_points,
)
from mrb_lib.benchmarks.meta import BenchmarkMeta, dimensions_of, meta_from, read_raw_meta, write_meta
from mrb_lib.tables.errors import InputError, nearest
from mrb_lib.tables.names import spelling_key, spellings, visible
from mrb_lib.tables.rubrics import read_rubric, rubric_text
from mrb_lib.tables.schema import CASES, CHOICES, COLUMNS, CONSENSUS, DIMENSIONS, SUBFIELDS, VERDICTS, TableName
from mrb_lib.tables.validation import Finding, Severity, counted

WRITTEN = ("csv", "parquet")
_TABLES: tuple[TableName, ...] = ("cases", "annotations", "verdicts")
_FLAT = "flat"
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,17})?(e[+-][0-9]{2,3})?")
OVERALL = "overall"
_LABELS = ("annotator", "dimension", "choice")
_OF_VERDICTS = {column.name for column in VERDICTS} - {"case_id", "dimension", "choice"}
_OF_CASES = {column.name for column in CASES}


@reads("table", about="your own data: CSV, Excel, parquet or JSON, a folder of tables or one file")
def read(
    src: Path,
    *,
    kind: Annotated[str | None, "clinical, general or simulated"] = None,
    name: Annotated[str | None, "the benchmark's name"] = None,
    labels: Annotated[str | None, "what labels stand for, as in 'Antwort 1=A,Antwort 2=B,gleich=tie'"] = None,
    categories: Annotated[
        str | None, "the labels of a benchmark that has others than A, B, tie, from the lowest"
    ] = None,
    images: Annotated[Path | None, "the folder of the images"] = None,
    verdicts: Annotated[list[str] | None, "a column with the verdicts of the judge it is named after"] = None,
    normalize_names: Annotated[bool, "join names that differ by case, spaces or width only"] = False,
) -> Imported:
    """Read tables that somebody wrote by hand or with another program.

    Parameters
    ----------
    src : a folder or workbook of tables, or one file with a row per case and annotator
    kind : "clinical", "general" or "simulated"; by default what benchmark.toml states, else "general"
    name : the benchmark's name; by default what benchmark.toml states, else that of the folder or file
    labels : "theirs=ours" of each label that is not A, B, tie, separated by commas
    categories : of a benchmark whose labels are no preference, separated by commas; one without `response_b` is a
        rating
    images : the folder of the images; by default `images` in, or beside, `src`
    verdicts : columns of a flat file that hold verdicts in order AB, each of the judge it is named after

    Returns
    -------
    Imported
        Dimensions are those of benchmark.toml, else those that occur; where no column names any, `overall`. Labels that
        are blank are left out and counted.

    Raises
    ------
    InputError
        A file is damaged or there twice, a label stands for nothing, a value breaks the contract of its table, or a
        row names a case that does not exist; names file, row and column.

    Notes
    -----
    Validated by tests/benchmarks/formats/test_table.py (round trips of arbitrary text) and test_desk_tables.py.
    """
    findings: list[Finding] = []
    sources = _sources(Path(src), findings)
    understood = [source.understood for source in sources.values()]
    if (flat := sources.get(_FLAT)) is not None:
        parts = split_flat(flat.frame, verdicts or [], flat.file, findings)
        sources = {table: replace(flat, frame=frame) for table, frame in parts.items()}
    elif verdicts:
        raise InputError("--verdicts: names a column of one flat file; leave it out where there are tables.")
    frames = {table: _typed(sources[table], table, findings) for table in _TABLES if table in sources}
    if normalize_names:
        frames = {table: _with_one_spelling(frame) for table, frame in frames.items()}
    cases, files = frames.pop("cases"), {table: sources[table].file for table in _TABLES if table in sources}
    refuse_incomplete(cases, ("case_id", "question", "response_a"), files["cases"])
    frames = {table: _complete(frame, table, files[table], findings) for table, frame in frames.items()}
    for table, frame in {"cases": cases, **frames}.items():
        known = {column.name for column in COLUMNS[table]}
        unread = [str(name) for name in frame if name not in known and _are_choices(frame[name])]
        problem = f"columns hold nothing but labels and are not read as such: {', '.join(unread)}"
        cure = "write a row per annotator and dimension in one file, or name a judge's with --verdicts"
        findings += counted(len(unread), "warning", files[table], problem, cure)
    stated_categories = None if categories is None else [each.strip() for each in categories.split(",")]
    given = {"name": name, "kind": kind, "categories": stated_categories}
    meta = _meta(Path(src) / "benchmark.toml", given, cases, [*frames.values()])
    pictures = sources["cases"].images
    if pictures is None and "images" in cases:
        cases, pictures = with_images(cases, Path(src), images, understood, findings)
    cases = meta.conform(cases, "cases", files["cases"])
    stated = stated_labels(labels, meta.categories)
    for table, frame in frames.items():
        allowed = CHOICES if table == "verdicts" and meta.is_preference else meta.categories
        one = ~frame["dimension"].isin(list(meta.labels)).to_numpy()
        choice = frame["choice"][one]
        if meta.is_preference:
            choice = by_model(frame[one], cases, stated, files[table], findings)
        choices = frame["choice"].to_numpy(dtype=object, copy=True)
        choices[one] = read_labels(choice, stated, allowed, files[table], findings)
        frames[table] = frame.assign(choice=choices).astype({"choice": "str"})
    votes, judged = frames.get("annotations", ()), frames.get("verdicts", ())
    return import_tables(
        meta, cases, votes, judged, findings, source=src, images=pictures, understood=understood, files=files
    )


def _sources(src: Path, findings: list[Finding]) -> dict[str, Source]:
    """Return the tables of a folder or workbook by their names, or one flat file as `_FLAT`."""
    if not src.exists():
        raise InputError(f"{src}: there is no such file or folder; check the path.")
    if src.is_dir():
        paths = [
            path
            for path in sorted(src.iterdir())
            if path.suffix.lower() in READ_SUFFIXES and path.is_file() and not path.name.startswith((".", "~$"))
        ]
        named = {table: [path for path in paths if spelling_key(path.stem) == table] for table in _TABLES}
        for several in named.values():
            if len(several) > 1:
                both = " and ".join(path.name for path in several[:2])
                raise InputError(f"{src}: both {both} are there; keep the one you mean.")
        if named["cases"]:
            unread = [path.name for path in paths if [path] not in named.values()]
            problem, cure = f"files are not read: {', '.join(unread)}", "call them annotations or verdicts if they are"
            findings += counted(len(unread), "warning", src, problem, cure)
            return {table: _sheets(path, [table], findings)[table] for table, one in named.items() for path in one}
        shards = sorted(src.rglob("[!.]*.parquet"))
        if shards and set(paths) <= set(shards):
            return {_FLAT: read_parquet(shards, findings)}
        if len(paths) != 1:
            there = f"; it holds {', '.join(path.name for path in paths)}" if paths else ""
            raise InputError(f"{src}: there is no cases.csv, .xlsx, .parquet or .jsonl{there}; name the file you mean.")
        src = paths[0]
    sheets = _sheets(src, _TABLES, findings)
    return sheets if len(sheets) > 1 else {_FLAT: sheets["cases"]}


def _sheets(path: Path, tables: Sequence[TableName], findings: list[Finding]) -> dict[str, Source]:
    """Return the sheets that are named after tables; where none is after the first, the first sheet stands for it."""
    sheets = {table if (table := spelling_key(name)) in _TABLES else name: one
              for name, one in read_sheets(path, findings).items()}  # fmt: skip
    used: dict[str, str] = {table: table for table in tables if table in sheets}
    used = used if tables[0] in used else {tables[0]: next(iter(sheets))}
    others = [name for name in sheets if name not in used.values()]
    problem, cure = f"sheets are passed over: {', '.join(others)}", "put the sheet you mean first, or name it cases"
    findings += counted(len(others), "warning", path, problem, cure)
    return {table: sheets[name] for table, name in used.items()}


def _meta(
    path: Path, options: Mapping[str, object], cases: pd.DataFrame, frames: Sequence[pd.DataFrame]
) -> BenchmarkMeta:
    """Return the metadata of options and benchmark.toml; dimensions are those that occur if neither names any."""
    raw: dict[str, object] = {"name": path.parent.resolve().stem or "table", "kind": "general"}
    raw |= read_raw_meta(path) if path.is_file() else {}
    raw |= {key: value for key, value in options.items() if value}
    raw["dimensions"] = raw.get("dimensions") or dimensions_of([*frames, _rubric_dimensions(cases)])
    file = str(path) if path.is_file() else "--name, --kind, --categories"
    meta = meta_from(raw, file)
    if options["categories"] and "response_b" not in cases and not meta.is_preference:
        meta = meta_from(raw | {"task": "rating"}, file)
    return meta


def _rubric_dimensions(cases: pd.DataFrame) -> pd.DataFrame:
    """Return the dimensions that the rubrics of cases name, a row each; a rubric that is wrong names none."""
    named: list[str | None] = []
    for text in cases["rubric"].dropna().map(rubric_text).map(str).unique() if "rubric" in cases else ():
        with suppress(InputError):
            named += [criterion.dimension for criterion in read_rubric(text)]
    return pd.DataFrame({"dimension": named}, dtype="str").dropna()


def _complete(frame: pd.DataFrame, table: TableName, file: str, findings: list[Finding]) -> pd.DataFrame:
    """Return annotations or verdicts with a row per dimension and the defaults; blank labels are taken out of them."""
    frame = long_labels(frame) if table == "annotations" else frame
    defaults = {"dimension": OVERALL} | ({"annotator": CONSENSUS} if table == "annotations" else {"order": "AB"})
    for name, value in defaults.items():
        if name not in frame:
            problem, cure = f"no column says the {name}, so it is {value}", f"name its column with --map theirs={name}"
            findings.append(Finding("info", file, None, name, problem, cure))
            frame = frame.assign(**{name: value})
    if "choice" not in frame:
        raise InputError(f"{file}, column choice: the column is missing; name it with --map theirs=choice.")
    blank = is_blank(frame["choice"])
    choices = frame["choice"].mask(blank).map(lambda label: id_text(label) or str(label), na_action="ignore")
    frame = frame.assign(choice=choices.astype("str"))
    if table == "annotations":
        findings += counted(int(blank.sum()), "warning", file, "labels are blank", "they are left out", "choice")
        return frame[~blank]
    findings += counted(int(blank.sum()), "info", file, "verdicts have no choice", "they stay without one", "choice")
    return frame


def _are_choices(values: pd.Series) -> bool:
    given = values[~is_blank(values)]
    return len(given) > 0 and bool(given.map(lambda value: spelling_key(str(value)) in ("a", "b", "tie")).all())


def _with_one_spelling(frame: pd.DataFrame) -> pd.DataFrame:
    named = [name for name in ("annotator", "judge", "dimension", "choice", *SUBFIELDS) if name in frame]
    return frame.assign(**{name: one_spelling(frame[name]) for name in named})


def one_spelling(names: pd.Series) -> pd.Series:
    """Return names of which those that look alike are spelled in one way, the most frequent; null stays null."""
    counts = names.value_counts()
    spelling: dict[str, str] = {}
    for group in spellings(counts.index):  # the most frequent first
        kept = next((name for name in group if visible(name) == repr(name)), " ".join(group[0].split()))
        spelling |= dict.fromkeys(group, kept)
    return names.map(lambda name: spelling.get(name, name), na_action="ignore").astype(names.dtype)


def _typed(source: Source, table: TableName, findings: list[Finding]) -> pd.DataFrame:
    """Return a table with missing values as missing, numbers as numbers, images as lists; `conform` still checks it."""
    frame, contract = source.frame, {column.name: column for column in COLUMNS[table]}
    unclear: list[str] = []
    if source.has_decimal_commas:
        text = {name for name, column in contract.items() if column.type not in ("int", "float")} - {"choice"}
        numbers, unclear = with_points(frame[[name for name in frame if name not in text]])
        frame = frame.assign(**numbers)
        problem = f"columns hold names, fractions or thousands and stay text: {', '.join(unclear)}"
        findings += counted(len(unclear), "info", source.file, problem, "write 1250 or 1,25 if 1.250 is a number")
    if source.is_text:
        full = {name for name, column in contract.items() if column.type == "str" and not column.nullable}
        frame = frame.assign(
            **{str(name): texts.mask(texts == "") for name, texts in frame.items() if name not in full}
        )
        others = [str(name) for name in frame if name not in {*contract, *unclear} and table == "cases"]
        frame = frame.assign(**{name: plain_numbers(frame[name]) for name in others})
    if table == "cases" and "images" in frame:
        names = [_names(cell, source.file, row + 1) for row, cell in zip(frame.index, frame["images"], strict=True)]
        frame = frame.assign(images=pd.Series(names, index=frame.index, dtype=object))
    return frame


def plain_numbers(texts: pd.Series) -> pd.Series:
    """Return a column as numbers if every text in it is one in plain form, else as it is.

    Whole numbers become `int64`, or `Int64` if some are missing. "007", "1,000", "1e3" and "nan" are not plain: they
    may be identifiers or words.
    """
    given = texts.dropna()
    if given.empty or not all(isinstance(text, str) and _PLAIN_NUMBER.fullmatch(text) for text in given):
        return texts
    if not given.str.contains("[.e]").any():
        return texts.astype("Int64") if len(given) < len(texts) else texts.astype("int64")
    return pd.Series([np.nan if pd.isna(text) else float(text) for text in texts], index=texts.index, dtype="float64")


def _names(cell: object, file: str, row: int) -> list[object]:
    """Return the file names in a cell; see `listed`."""
    try:
        return listed(cell)
    except ValueError:
        where = f"{file}, row {row}, column images"
        raise InputError(f"{where}: is not a JSON list; write names separated by semicolons.") from None


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
    named = [name for name in names if name == "choice" or spelling_key(name) in DIMENSIONS]
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


def long_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return annotations with a row per dimension, where the source may have a column per dimension."""
    wide = [str(name) for name in frame.columns if spelling_key(str(name)) in DIMENSIONS]
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


@writes("table", about="cases, annotations and verdicts as CSV or parquet, and the images", has_verdicts=True)
def write(
    benchmark: Benchmark, verdicts: pd.DataFrame, out: Path, *, file_format: Annotated[str, "csv or parquet"] = "csv"
) -> list[Finding]:
    """Write the tables, the images and `benchmark.toml`; `read` gives identical tables back.

    Parameters
    ----------
    verdicts : no file is written where there are none
    out : the folder to write into
    file_format : "csv" or "parquet"

    Returns
    -------
    list of Finding
        The columns that CSV cannot keep: with empty texts beside missing ones, and others that hold no text. Parquet
        loses nothing.

    Raises
    ------
    InputError
        `file_format` is unknown.
    """
    if file_format not in WRITTEN:
        raise InputError(f"file format {file_format!r}: is unknown; use csv or parquet.")
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    findings: list[Finding] = []
    tables: dict[TableName, pd.DataFrame] = {"cases": benchmark.cases, "annotations": benchmark.annotations}
    if len(verdicts):
        tables["verdicts"] = verdicts
    for table, frame in tables.items():
        path = out / f"{table}.{file_format}"
        if file_format == "csv":
            _write_csv(frame, table, path, findings)
        else:
            pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, compression="zstd")
    absent = write_images(benchmark.cases, benchmark.images, out / "images")
    findings += counted(absent, "warning", "images", "images could not be found", "restore them and export again")
    write_meta(benchmark.meta, out / "benchmark.toml")
    return findings


def _write_csv(frame: pd.DataFrame, table: TableName, path: Path, findings: list[Finding]) -> None:
    """Write text as it is, numbers so that they read back to the last digit, lists as JSON, missing as nothing."""
    full = {column.name for column in COLUMNS[table] if not column.nullable}
    known = {column.name for column in COLUMNS[table]}
    lost = []
    for name in frame.columns.difference([*full], sort=False):
        texts = frame[name].astype("str")
        read_back = plain_numbers(texts.mask(texts == "")) if table == "cases" else texts
        if (name not in known and read_back.dtype != frame[name].dtype) or (texts == "").any():
            lost.append(str(name))
    problem = f"columns read back with other types, or empty texts as missing: {', '.join(lost)}"
    findings += counted(len(lost), "info", path.name, problem, "use parquet to keep them")
    # The line ending with a carriage return makes the writer quote cells that hold one.
    frame.map(_csv_cell).to_csv(path, index=False, lineterminator="\r\n", encoding="utf-8")


def _csv_cell(value: object) -> object:
    is_nested = isinstance(value, (list, dict, np.ndarray))
    return json.dumps(value, ensure_ascii=False, default=np.ndarray.tolist) if is_nested else value
