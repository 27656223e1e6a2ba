"""The tables of this library as CSV, Excel, parquet or JSON: the format to bring one's own data in.

A folder or workbook holds `cases`, and may hold `annotations`, `verdicts`, `images/` and `benchmark.toml`; or one file
has a row per case and annotator (see `flat`). The columns are those of `mrb_lib.tables.schema`; others are kept.

In CSV and Excel every cell is text. An empty cell is missing where the column may be missing (and in columns the
contract does not know), else it is the empty text; "None" and "NA" are texts like any other. A column of the cases that
the contract does not know is one of numbers if each of its cells is a number in plain form ("60", "-1.5"; "007" and
"1,000" are text). `images` holds file names separated by semicolons, or a JSON list of them.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.benchmark import Benchmark, LazyImages, write_images
from mrb_lib.benchmarks.formats.base import Imported, import_tables, reads, writes
from mrb_lib.benchmarks.formats.cells import (
    TEXT_SUFFIXES,
    Source,
    read_cells,
    read_workbook,
    renamed_columns,
    with_points,
)
from mrb_lib.benchmarks.formats.flat import (
    OVERALL,
    is_blank,
    is_dimension,
    long_labels,
    split_flat,
    with_sides,
    with_texts,
)
from mrb_lib.benchmarks.formats.images import ImageFiles, ParquetImages, read_without_bytes
from mrb_lib.benchmarks.formats.labels import by_model, read_labels, refuse_unused, stated_labels
from mrb_lib.benchmarks.formats.mapping import column_map
from mrb_lib.benchmarks.formats.sources import SourceRow, id_text, read_json_array, read_jsonl
from mrb_lib.benchmarks.meta import BenchmarkMeta, dimensions_of, meta_from, read_raw_meta, write_meta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import is_safe_name, slug
from mrb_lib.tables.names import one_spelling, spelling_key
from mrb_lib.tables.rubrics import read_rubric, rubric_fault, rubric_text
from mrb_lib.tables.schema import COLUMNS, CONSENSUS, SUBFIELDS, Column, TableName
from mrb_lib.tables.validation import Finding, check_references, counted

READ_SUFFIXES = (*TEXT_SUFFIXES, ".xlsx", ".parquet", ".jsonl", ".json")
WRITTEN = ("csv", "parquet")
_TABLES: tuple[TableName, ...] = ("cases", "annotations", "verdicts")
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,17})?(e[+-][0-9]{2,3})?")


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
    sources, understood = _sources(Path(src), verdicts or [], findings)
    meta = _stated_meta(Path(src), kind, name, categories)
    frames = {table: _typed(source, table, findings) for table, source in sources.items()}
    if normalize_names:
        frames = {table: _with_one_spelling(frame) for table, frame in frames.items()}
    cases, files = frames.pop("cases"), {table: source.file for table, source in sources.items()}
    if categories is not None and not meta.is_preference and "response_b" not in cases:
        meta = replace(meta, task="rating")
    _refuse_incomplete(cases, ("case_id", "question", "response_a"), files["cases"])
    frames = {table: _complete(frame, table, files[table], findings) for table, frame in frames.items()}
    meta = replace(meta, dimensions=meta.dimensions or dimensions_of([*frames.values(), _rubric_dimensions(cases)]))
    pictures = sources["cases"].images
    if pictures is None and "images" in cases:
        cases, pictures = _with_images(cases, Path(src), images, understood, findings)
    cases = meta.conform(cases, "cases", files["cases"])
    stated = stated_labels(labels, meta.categories)
    refuse_unused(stated, [label for frame in frames.values() for label in frame["choice"].dropna().unique()])
    for table, frame in frames.items():
        one = ~frame["dimension"].isin(list(meta.labels))
        named = (
            by_model(frame[one], cases, stated, files[table], findings) if meta.is_preference else frame["choice"][one]
        )
        choices = read_labels(named, stated, meta.categories, files[table], findings)
        read_as = frame.assign(choice=choices.reindex(frame.index).where(one, frame["choice"]))
        frames[table] = meta.conform(read_as, table, files[table])
        check_references(frames[table], cases, files[table])
    votes, judged = frames.get("annotations", ()), frames.get("verdicts", ())
    made = import_tables(meta, cases, votes, judged, findings, source=Path(src), images=pictures)
    return made._replace(understood=tuple(understood))


def _sources(src: Path, verdicts: Sequence[str], findings: list[Finding]) -> tuple[dict[TableName, Source], list[str]]:
    """Return the tables of a folder or workbook, or those made of one flat file; and the files that were read."""
    if src.is_dir():
        found = {table: path for table in _TABLES if (path := _find_table(src, table)) is not None}
        others = [path for path in sorted(src.iterdir()) if path.suffix.lower() in READ_SUFFIXES]
        if "cases" in found:
            unread = ", ".join(path.name for path in others if path not in found.values())
            problem, cure = f"files are not read: {unread}", "call them annotations or verdicts if they are"
            findings += counted(len(others) - len(found), "warning", src, problem, cure)
            whole = {
                table: _sheet(_read(path, table, findings), table, path, findings) for table, path in found.items()
            }
            return _whole(whole, verdicts)
        shards = sorted(src.rglob("*.parquet"))
        if shards and set(others) <= set(shards):
            whole_set = _from_parquet(shards, findings)
            return _split(whole_set, verdicts, findings), [whole_set.understood]
        if len(others) != 1:
            there = f"; it holds {', '.join(path.name for path in others)}" if others else ""
            raise InputError(f"{src}: there is no cases.csv, .xlsx, .parquet or .jsonl{there}; name the file you mean.")
        src = others[0]
    elif not src.exists():
        raise InputError(f"{src}: there is no such file or folder; check the path.")
    sheets = _read(src, None, findings)
    tables = {table: sheets[table] for table in _TABLES if table in sheets}
    if "cases" in tables:
        _say_passed_over(sheets, tables, src, findings)
        return _whole(tables, verdicts)
    flat = _sheet(sheets, "cases", src, findings)
    return _split(flat, verdicts, findings), [flat.understood]


def _sheet(sheets: Mapping[str, Source], table: TableName, path: Path, findings: list[Finding]) -> Source:
    """Return the sheet that is named after a table, else the first."""
    name = table if table in sheets else next(iter(sheets))
    _say_passed_over(sheets, [name], path, findings)
    return sheets[name]


def _say_passed_over(sheets: Mapping[str, Source], used: Collection[str], path: Path, findings: list[Finding]) -> None:
    others = [name for name in sheets if name not in used]
    problem, cure = f"sheets are passed over: {', '.join(others)}", "put the sheet you mean first, or name it cases"
    findings += counted(len(others), "warning", path, problem, cure)


def _whole(tables: dict[TableName, Source], verdicts: Sequence[str]) -> tuple[dict[TableName, Source], list[str]]:
    if verdicts:
        raise InputError("--verdicts: names a column of one flat file; leave it out where there are tables.")
    return tables, [source.understood for source in tables.values()]


def _find_table(folder: Path, table: TableName) -> Path | None:
    """Return the file of a table in a folder, or None; raises `InputError` where there are two."""
    paths = [path for suffix in READ_SUFFIXES if (path := folder / f"{table}{suffix}").is_file()]
    if len(paths) > 1:
        raise InputError(f"{folder}: both {paths[0].name} and {paths[1].name} are there; keep the one you mean.")
    return paths[0] if paths else None


def _read(path: Path, table: TableName | None, findings: list[Finding]) -> dict[str, Source]:
    """Return the table of a file, of a workbook those of all its sheets by name.

    Parameters
    ----------
    table : the one that the file is known to hold; None for a flat file

    Raises
    ------
    InputError
        The file is damaged or of another kind; names the row.
    """
    suffix = path.suffix.lower()
    if suffix == ".xlsx":
        sheets = read_workbook(path, findings)
        return {_known_name(sheet): _from_cells(cells, path) for sheet, cells in sheets.items()}
    if suffix in TEXT_SUFFIXES:
        return {"": _from_cells(read_cells(path, findings), path)}
    if suffix in (".jsonl", ".json"):
        records = read_jsonl(path) if suffix == ".jsonl" else read_json_array(path)
        return {"": Source(_from_records(records, path, table), str(path), "JSON")}
    if suffix == ".parquet":
        return {"": _from_parquet([path], findings)}
    raise InputError(f"{path}: is no file of {', '.join(READ_SUFFIXES)}; save it as .xlsx or .csv.")


def _known_name(sheet: str) -> str:
    return next((table for table in _TABLES if table == spelling_key(sheet)), sheet)


def _from_cells(source: Source, path: Path) -> Source:
    return replace(source, frame=_with_images_column(renamed_columns(source.frame, path)))


def _with_images_column(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose column `image`, as most data sets call it, is `images`."""
    return frame.rename(columns={"image": "images"}) if "image" in frame and "images" not in frame else frame


def _from_parquet(paths: Sequence[Path], findings: list[Finding]) -> Source:
    """Return one table of parquet files; of a column `images` that holds the pictures themselves, their names."""
    images = ParquetImages()
    frames = []
    for path in paths:
        frame, pictures = read_without_bytes(path, ("images", "image"), findings)
        frame = _with_images_column(frame)
        if pictures is not None:
            ids = frame.get("case_id", pd.Series([f"{path.stem}-{row}" for row in range(1, len(frame) + 1)]))
            frame = frame.assign(images=images.add(path, pictures, [slug(str(case_id)) for case_id in ids], findings))
        frames.append(frame)
    file = str(paths[0] if len(paths) == 1 else paths[0].parent)
    about = "parquet with pictures" if images else "parquet"
    return Source(pd.concat(frames, ignore_index=True), file, about, images=images or None)


def _from_records(records: list[SourceRow], path: Path, table: TableName | None) -> pd.DataFrame:
    if not records:
        raise InputError(f"{path}: is empty; write one object a line, or remove the file.")
    contract = {column.name for name in ([table] if table else _TABLES) for column in COLUMNS[name]}
    names = dict.fromkeys(name for record in records for name in record.values)
    column_map().reads(names)
    frame = pd.DataFrame({name: pd.Series([one.values.get(name) for one in records], dtype=object) for name in names})
    others = [name for name in names if name not in contract]
    return _with_images_column(frame.assign(**frame[others].infer_objects()))


def _split(flat: Source, verdicts: Sequence[str], findings: list[Finding]) -> dict[TableName, Source]:
    frame = with_sides(with_texts(flat.frame), flat.file, findings)
    _refuse_incomplete(frame, ("question", "response_a"), flat.file)
    parts = split_flat(frame, verdicts, flat.file, findings)
    frames = zip(_TABLES, parts, strict=True)
    return {table: replace(flat, frame=frame) for table, frame in frames if frame is not None}


def _stated_meta(src: Path, kind: str | None, name: str | None, categories: str | None) -> BenchmarkMeta:
    """Return the metadata of benchmark.toml and of the options; without dimensions where neither states any."""
    path = src / "benchmark.toml"
    raw: dict[str, object] = {"name": src.resolve().stem or "table", "kind": "general"}
    raw |= read_raw_meta(path) if path.is_file() else {}
    raw |= {key: value for key, value in (("name", name), ("kind", kind)) if value is not None}
    if categories is not None:
        raw["categories"] = [each.strip() for each in categories.split(",")]
    return meta_from(raw, str(path), dimensions=())


def _refuse_incomplete(cases: pd.DataFrame, needed: Sequence[str], file: str) -> None:
    """Refuse cases that lack columns: all of them at once, with the names that the file has."""
    missing = [name for name in needed if name not in cases]
    if missing:
        columns = ", ".join(map(str, cases.columns))
        example = " ".join(f'--map "THEIRS={name}"' for name in missing)
        raise InputError(f"{file}: has no columns {', '.join(missing)}; name them with {example}; it has {columns}.")


def _rubric_dimensions(cases: pd.DataFrame) -> pd.DataFrame:
    """Return the dimensions that the rubrics of cases name, a row each; a rubric that is wrong names none."""
    rubrics = cases["rubric"].dropna().map(rubric_text).map(str).unique() if "rubric" in cases else ()
    sound = [criterion for text in rubrics if rubric_fault(text) is None for criterion in read_rubric(text)]
    return pd.DataFrame({"dimension": [one.dimension for one in sound if one.dimension is not None]}, dtype="str")


def _complete(frame: pd.DataFrame, table: TableName, file: str, findings: list[Finding]) -> pd.DataFrame:
    """Return annotations or verdicts with a row per dimension and the defaults; blank labels are taken out of them."""
    if table == "annotations" and "choice" in frame:
        beside = [str(name) for name in frame if is_dimension(str(name))]
        problem = f"columns named after dimensions are not read as labels beside choice: {', '.join(beside)}"
        findings += counted(len(beside), "warning", file, problem, "leave out choice, or import each by itself")
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


def _with_one_spelling(frame: pd.DataFrame) -> pd.DataFrame:
    named = [name for name in ("annotator", "judge", "dimension", "choice", *SUBFIELDS) if name in frame]
    return frame.assign(**{name: one_spelling(frame[name]) for name in named})


def _typed(source: Source, table: TableName, findings: list[Finding]) -> pd.DataFrame:
    """Return a table with missing values as missing, numbers as numbers, images as lists; `conform` still checks it."""
    frame, contract = source.frame, {column.name: column for column in COLUMNS[table]}
    if source.is_text:
        unclear: list[str] = []
        if source.has_decimal_commas:
            text = {name for name, column in contract.items() if column.type not in ("int", "float")} - {"choice"}
            numeric = [name for name in frame if name not in text]
            numbers, unclear = with_points(frame[numeric])
            frame = frame.assign(**numbers)
            problem = f"columns hold names, fractions or thousands and stay text: {', '.join(unclear)}"
            findings += counted(len(unclear), "info", source.file, problem, "write 1250 or 1,25 if 1.250 is a number")
        columns = {name: _from_text(frame[name], contract.get(name), source.file) for name in frame.columns}
        others = [name for name in columns if name not in {*contract, *unclear}] if table == "cases" else []
        return pd.DataFrame(columns | {name: plain_numbers(columns[name]) for name in others})
    if table == "cases" and "images" in frame:
        lists = [[value] if isinstance(value, str) else [] if value is None else value for value in frame["images"]]
        frame = frame.assign(images=pd.Series(lists, index=frame.index, dtype=object))
    return frame


def _from_text(values: pd.Series, column: Column | None, file: str) -> pd.Series:
    """Return the values of a column of texts in the type that its contract requires."""
    if column is not None and column.type == "names":
        cells = [_names(cell, file, row) for row, cell in enumerate(values, start=1)]
        return pd.Series(cells, index=values.index, dtype=object)
    is_missing_if_empty = column is None or column.nullable or column.type != "str"
    return values.mask(values == "") if is_missing_if_empty else values


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


def _names(cell: object, file: str, row: int) -> list[str]:
    if not isinstance(cell, str):
        return []
    if not cell.startswith("["):
        return [name.strip() for name in cell.split(";") if name.strip()]
    try:
        names = json.loads(cell)
    except ValueError:
        names = None
    if not isinstance(names, list):
        where = f"{file}, row {row}, column images"
        raise InputError(f"{where}: is not a JSON list; write names separated by semicolons.")
    return names


def _with_images(
    cases: pd.DataFrame, src: Path, folder: Path | None, understood: list[str], findings: list[Finding]
) -> tuple[pd.DataFrame, Mapping[str, bytes]]:
    """Return the cases with the names that their images have in the benchmark, and the images."""
    beside = src if src.is_dir() else src.parent
    if folder is not None and not folder.is_dir():
        raise InputError(f"--images {folder}: there is no such folder; name the one that holds the images.")
    own = beside / "images"
    used = folder or (own if own.is_dir() else beside)
    files, found = ImageFiles(used, recursive=used != beside), dict[str, Path]()

    def stored(name: object) -> object:
        path = files.find(name) if isinstance(name, str) else None
        if path is None:
            return name
        is_kept = is_safe_name(str(name)) and Path(str(name)).suffix == path.suffix
        kept = str(name) if is_kept else path.relative_to(used).as_posix()
        found[kept] = path
        return kept

    cases = cases.assign(images=cases["images"].map(lambda row: [stored(name) for name in row]))
    wanted = {name for row in cases["images"] for name in row}
    if wanted:
        understood.append(f"images: {len(found):,} of {len(wanted):,} found in {used}")
    cure = "name their folder with --images" if folder is None else "add the files"
    findings += counted(len(wanted) - len(found), "warning", used, "images are not there", cure, "images")
    return cases, LazyImages(found, lambda name: found[name].read_bytes())


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
        What CSV cannot tell apart, counted: an empty text where the column may be
        missing, and other columns that hold no text. Parquet loses nothing.

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
    contract = {column.name: column for column in COLUMNS[table]}
    for name, values in frame.items():
        column = contract.get(str(name))
        if (column is None or column.nullable) and isinstance(values.dtype, pd.StringDtype):
            empty, cure = int((values == "").sum()), "they read back as missing; use parquet"
            findings += counted(empty, "info", path.name, "texts are empty", cure, str(name))
        if column is None:
            texts = values.astype("str").mask(values.astype("str") == "")
            read_back = (plain_numbers(texts) if table == "cases" else texts).dtype
            if read_back != values.dtype:
                problem = f"holds {values.dtype} and reads back as {read_back}"
                findings.append(Finding("info", path.name, None, str(name), problem, "use parquet to keep it"))
    # The line ending with a carriage return makes the writer quote cells that hold one.
    frame.map(_csv_cell).to_csv(path, index=False, lineterminator="\r\n", encoding="utf-8")


def _csv_cell(value: object) -> object:
    is_nested = isinstance(value, (list, dict, np.ndarray))
    return json.dumps(value, ensure_ascii=False, default=np.ndarray.tolist) if is_nested else value
