"""Reviews as files: adjudications and tags out of one store and into another, answers as an annotations table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from io import BytesIO, StringIO
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, read_table
from mrb_lib.review.records.marks import Adjudication, Region, current
from mrb_lib.review.records.store import Store, open_store
from mrb_lib.review.records.tags import ADDED, TAG_COLUMNS, CaseTag, current_tags
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import write_atomic
from mrb_lib.tables.schema import ADJUDICATION_COLUMNS, LIST_COLUMNS
from mrb_lib.tables.validation import conform

ADJUDICATION_SUFFIXES = (".csv", ".jsonl", ".parquet")
ANNOTATION_SUFFIXES = (".parquet", ".csv")
_NEEDED = ("case_id", "reviewer")
_KINDS = ("verdict", "tag")
_OF_TAGS = tuple(name for name in TAG_COLUMNS if name not in ADJUDICATION_COLUMNS)
_NULLABLE = ("dimension", "choice", "judge", "severity", "reasoning", "supersedes", "created")
# A spreadsheet runs a cell that starts with one of these; the apostrophe tells it not to, and is taken off again.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?Z?")


def write_reviews(adjudications: pd.DataFrame, tags: pd.DataFrame, path: Path) -> None:
    """Write adjudications and tags, as a store gives them, in the format that the file's name ends with.

    A tag is a row of its own, below the adjudications: with `tag_id`, `tag` and `action` (added or removed), without a
    verdict. In CSV the reasons and the regions are JSON lists; see `write_rows`.

    Raises
    ------
    InputError
        The name ends with none of `ADJUDICATION_SUFFIXES`.
    """
    columns = [*ADJUDICATION_COLUMNS, *_OF_TAGS]
    rows = pd.concat([adjudications, tags], ignore_index=True).reindex(columns=columns)
    texts = {name: "str" for name in columns if name not in LIST_COLUMNS}
    write_rows(rows.astype(texts), path, lists=LIST_COLUMNS)


def write_rows(frame: pd.DataFrame, path: Path, *, lists: Sequence[str] = ()) -> None:
    """Write a table as CSV, guarded as by `guarded_csv`, as JSON lines or as parquet.

    Parameters
    ----------
    path : its ending, of `ADJUDICATION_SUFFIXES`, says how to write
    lists : columns of lists, which become JSON in CSV

    Raises
    ------
    InputError
        The name has another ending.
    """
    kind = _kind(path)
    if kind == ".csv":
        write_atomic(
            path, guarded_csv(frame.assign(**{name: [_json(items) for items in frame[name]] for name in lists}))
        )
    elif kind == ".jsonl":
        plain = frame.astype(object).where(frame.notna(), None).to_dict("records")
        write_atomic(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in plain))
    else:
        content = BytesIO()
        frame.to_parquet(content, index=False)
        write_atomic(path, content.getvalue())


def read_reviews(path: Path, benchmark: str = "") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read a file of adjudications and tags: one `write_reviews` writes, or a table with some of its columns.

    Parameters
    ----------
    benchmark : the name for rows that have none

    Returns
    -------
    adjudications : as `Store.adjudications` with all history
    tags : as `Store.tags` with all history

    Notes
    -----
    `case_id`, `reviewer` and a `verdict` or a `tag` are needed; a row without an id gets one made of its content, so
    that importing a file twice adds nothing; `created` may be null.

    Raises
    ------
    InputError
        The file cannot be read, a column is missing, or a row breaks the rules of an adjudication or a tag (which is
        named), or would be both.
    """
    frame = _read(path)
    for name in _NEEDED:
        if name not in frame.columns:
            raise InputError(f"{path}, column {name}: is missing; {', '.join(_NEEDED)} are needed.")
    if not set(_KINDS) & set(frame.columns):
        raise InputError(f"{path}, column verdict: is missing; a verdict or a tag is needed.")
    rows, tags = [], []
    for number, raw in enumerate(frame.astype(object).to_dict("records"), start=1):
        cells = {str(name): value for name, value in raw.items()}
        try:
            if not _text(cells.get("tag")):
                rows.append(_row(cells, benchmark))
            elif _text(cells.get("verdict")):
                raise InputError("has a verdict and a tag; write a row for each.")
            else:
                tags.append(_tag_row(cells, benchmark))
        except InputError as error:
            raise InputError(f"{path}, row {number}: {error}") from error
    out = pd.DataFrame(rows, columns=list(ADJUDICATION_COLUMNS))
    texts = {name: "str" for name in ADJUDICATION_COLUMNS if name not in LIST_COLUMNS}
    return out.astype(texts), pd.DataFrame(tags, columns=list(TAG_COLUMNS), dtype="str")


def import_reviews(path: Path, store: Store, benchmark: str) -> tuple[int, int]:
    """Add the adjudications and tags of a file to a store, all or none; returns how many of each were new.

    Raises
    ------
    InputError
        As in `read_reviews`; or the file is about another benchmark.
    """
    adjudications, tags = read_reviews(path, benchmark)
    for frame in (adjudications, tags):
        others = frame.loc[frame["benchmark"] != benchmark, "benchmark"]
        if len(others):
            raise InputError(f"{path}: is about benchmark {others.iloc[0]!r}, not {benchmark!r}; name that benchmark.")
    fields = ["benchmark", "case_id", "tag", "reviewer", "action", "tag_id"]
    tagged = [CaseTag(*row) for row in tags[fields].itertuples(index=False, name=None)]
    return store.restore(
        zip(_adjudications(adjudications), _times(adjudications), strict=True), zip(tagged, _times(tags), strict=True)
    )


def adjudications_from(where: str, benchmark: str) -> pd.DataFrame:
    """The adjudications of a benchmark that count now, from a file or a store, whichever `where` names.

    Raises
    ------
    InputError
        As in `read_reviews` and `mrb_lib.review.records.store.open_store`.
    """
    if _is_file(where):
        frame, _ = read_reviews(Path(where), benchmark)
        return current(frame[frame["benchmark"] == benchmark]).reset_index(drop=True)
    with open_store(where, create=False) as store:
        return store.adjudications(benchmark)


def tags_from(where: str, benchmark: str) -> pd.DataFrame | None:
    """The tags that cases have now, from a file or a store; None where there is neither."""
    if "://" not in where and not Path(where).is_file():
        return None
    if _is_file(where):
        _, frame = read_reviews(Path(where), benchmark)
        return current_tags(frame[frame["benchmark"] == benchmark]).reset_index(drop=True)
    with open_store(where, create=False) as store:
        return store.tags(benchmark)


def annotations_of(benchmark: Benchmark, store: Store) -> tuple[pd.DataFrame, int]:
    """The annotations table of a benchmark from the answers in a store.

    Returns
    -------
    frame : `case_id, annotator, dimension, choice`, in the order of the cases, dimensions and names; choices in the
        cases' own frame
    left_out : answers that are not in it, since the benchmark has no such case, dimension, category or label (any
        more); skipped dimensions are not answers
    """
    meta = benchmark.meta
    answers = store.annotations(meta.name)
    case = pd.Index(benchmark.cases["case_id"]).get_indexer(pd.Index(answers["case_id"]))
    dimension = pd.Index(meta.dimensions).get_indexer(pd.Index(answers["dimension"]))
    offered = map(meta.offers, answers["dimension"], answers["choice"])
    belongs = (case >= 0) & np.fromiter(offered, dtype=bool, count=len(answers))
    rows = answers.assign(_case=case, _dimension=dimension)[belongs]
    rows = rows.sort_values(["_case", "annotator", "_dimension"], ignore_index=True)
    return rows.drop(columns=["_case", "_dimension"]), int((~belongs).sum())


def write_annotations(frame: pd.DataFrame, path: Path) -> None:
    """Write an annotations table as parquet, for a benchmark folder, or as CSV, for `mrb import table`.

    Raises
    ------
    InputError
        The file's name ends with neither.
    """
    rows = conform(frame, "annotations", str(path))
    if path.suffix == ".parquet":
        content = BytesIO()
        rows.to_parquet(content, index=False)
        write_atomic(path, content.getvalue())
    elif path.suffix == ".csv":
        write_atomic(path, rows.to_csv(index=False, lineterminator="\n"))
    else:
        raise InputError(f"{path}: the name must end with {' or '.join(ANNOTATION_SUFFIXES)}; it says how to write.")


def _is_file(where: str) -> bool:
    """Whether `where` names a file of reviews, not a store."""
    return "://" not in where and Path(where).suffix in ADJUDICATION_SUFFIXES


def _times(frame: pd.DataFrame) -> list[str | None]:
    return list(frame["created"].astype(object).where(frame["created"].notna(), None))


def _adjudications(frame: pd.DataFrame) -> Sequence[Adjudication]:
    plain = frame.astype(object).where(frame.notna(), None).drop(columns="created")
    return [
        Adjudication(
            **{str(name): value for name, value in row.items()}
            | {"reasons": tuple(row["reasons"]), "regions": regions_from(row["regions"])}
        )
        for row in plain.to_dict("records")
    ]


def regions_from(items: object) -> tuple[Region, ...]:
    """Regions from a list of mappings with `image, x, y` and perhaps `width, height, frame`.

    Raises
    ------
    InputError
        It is no such list.
    """
    if not isinstance(items, list | tuple | np.ndarray):
        raise InputError("regions: are not a list of image, x, y, width, height and frame.")
    regions = []
    for item in items:
        known = {str(k): value for k, value in item.items() if value is not None} if isinstance(item, dict) else {}
        if not {"image", "x", "y"} <= known.keys() <= {"image", "x", "y", "width", "height", "frame"}:
            raise InputError(f"regions: {str(item)[:80]} does not consist of image, x, y, width, height and frame.")
        regions.append(Region(**known | {"image": str(known["image"])}))
    return tuple(regions)


def _json(items: object) -> str:
    return json.dumps(list(items) if isinstance(items, Iterable) else [], ensure_ascii=False)


def _kind(path: Path) -> str:
    if path.suffix not in ADJUDICATION_SUFFIXES:
        raise InputError(f"{path}: the name must end with {', '.join(ADJUDICATION_SUFFIXES)}; it says how to write.")
    return path.suffix


def guarded(value: object) -> object:
    """A cell of a CSV file that no spreadsheet runs as a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def guarded_csv(frame: pd.DataFrame) -> str:
    """A table as CSV in which text that a spreadsheet would run as a formula starts with an apostrophe."""
    safe = frame.apply(lambda column: column.map(guarded, na_action="ignore"))
    return str(safe.to_csv(index=False, lineterminator="\n"))


def _read(path: Path) -> pd.DataFrame:
    kind = _kind(path)
    if kind == ".parquet":
        return read_table(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 ({error.reason}); save it as UTF-8.") from error
    try:
        if kind == ".csv":
            cells: pd.DataFrame = pd.read_csv(StringIO(text), dtype="str", keep_default_na=False)
            return pd.DataFrame({name: column.str.removeprefix("'") for name, column in cells.items()})
        rows = [json.loads(line) for line in text.split("\n") if line.strip()]
        if not all(isinstance(row, dict) for row in rows):
            raise InputError(f"{path}: every line must be a JSON object.")
        return pd.DataFrame(rows) if rows else pd.DataFrame(columns=[*_NEEDED, *_KINDS])
    except (ValueError, pd.errors.ParserError) as error:
        raise InputError(f"{path}: cannot be understood ({error}); correct it or export it again.") from error


def _row(raw: dict[str, object], benchmark: str) -> dict[str, object]:
    """One row of a file, checked, with what is missing filled in."""
    filled = {name: _text(raw.get(name)) for name in ADJUDICATION_COLUMNS if name not in LIST_COLUMNS}
    texts = {name: None if name in _NULLABLE and not value else value for name, value in filled.items()}
    texts["benchmark"] = texts["benchmark"] or benchmark
    reasons, regions = _reasons(raw.get("reasons")), _regions(raw.get("regions"))
    created = _checked_time(texts.pop("created"))
    if not texts["adjudication_id"]:
        marked = [asdict(region) for region in regions]
        content = json.dumps([*(str(texts[name]) for name in sorted(texts)), *reasons, str(created), marked])
        texts["adjudication_id"] = str(uuid5(NAMESPACE_URL, content))
    item = Adjudication(**texts, reasons=reasons, regions=regions)  # type: ignore[arg-type]  # the others are text or null
    return {name: getattr(item, name) for name in ADJUDICATION_COLUMNS if name != "created"} | {
        "reasons": list(item.reasons),
        "regions": [asdict(region) for region in item.regions],
        "created": created,
    }


def _tag_row(raw: dict[str, object], benchmark: str) -> dict[str, str | None]:
    """One tag of a file, checked, with what is missing filled in."""
    texts = {name: _text(raw.get(name)) for name in TAG_COLUMNS}
    created = _checked_time(texts.pop("created") or None)
    texts |= {"benchmark": texts["benchmark"] or benchmark, "action": texts["action"] or ADDED}
    if not texts["tag_id"]:
        content = json.dumps([*(texts[name] for name in sorted(texts)), str(created)])
        texts["tag_id"] = str(uuid5(NAMESPACE_URL, content))
    return asdict(CaseTag(**texts)) | {"created": created}


def _checked_time(created: str | None) -> str | None:
    if created is not None and not _TIME.fullmatch(created):
        raise InputError(f"column created: {created!r} is not a time; write 2026-01-31T12:00:00.000Z in UTC.")
    return created


def _text(value: object) -> str:
    missing = value is None or (isinstance(value, float) and value != value)
    return "" if missing else str(value)


def _regions(value: object) -> tuple[Region, ...]:
    if value is None or (isinstance(value, float) and value != value):
        return ()
    if not isinstance(value, str):
        return regions_from(value)
    try:
        return regions_from(json.loads(value or "[]"))
    except ValueError as error:
        raise InputError(f"column regions: {value[:80]!r} is not a JSON list.") from error


def _reasons(value: object) -> tuple[str, ...]:
    if isinstance(value, str) and value.startswith("["):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise InputError(f"column reasons: {value!r} is not a JSON list; separate plain reasons by ';'.") from error
    elif isinstance(value, str):
        value = value.split(";")
    if value is None or isinstance(value, float):
        return ()
    if not isinstance(value, Iterable):
        raise InputError(f"column reasons: {value!r} is not a list; write a list of texts.")
    return tuple(map(str, value))
