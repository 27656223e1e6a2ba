"""Reviews as tables and files: adjudications and tags, annotations, how far and fast annotators are, and who they are.

The people who annotate are in `annotators.csv` beside a benchmark, which only its owner may read and which no export,
merge or release copies. `summary` names nobody and may be published.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, read_table
from mrb_lib.benchmarks.formats.sources import read_cells
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.records.marks import Adjudication, CaseTag, Region
from mrb_lib.review.records.questions import QUESTIONS, adjudication_columns, list_columns
from mrb_lib.review.records.store import Store, open_store
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import write_atomic
from mrb_lib.tables.validation import conform
from mrb_lib.verdicts.orders import choice_to_shown

DONE, SKIPPED, OPEN = "done", "skipped", "open"
CHOICE, SKIP, COMMENT = "choice", "skip", "comment"
_KEY, _AS_SHOWN = ("case_id", "annotator", "dimension"), ("order", "shown_as", "seconds")
LOG_COLUMNS: Final = ("kind", *_KEY, "choice", *_AS_SHOWN, "skipped_reason", "comment", "counts", "created")
ADJUDICATION_SUFFIXES = (".csv", ".parquet")
PEOPLE: Final = "annotators.csv"
PEOPLE_COLUMNS: Final = ("annotator", "qualification", "years", "consent")
_LONGEST, _MOST_YEARS = 500, 80
_NEEDED = ("case_id", "reviewer")
# A spreadsheet runs a cell that starts with one of these; the apostrophe tells it not to, and is taken off again.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?Z?")


def write_reviews(adjudications: pd.DataFrame, tags: pd.DataFrame, path: Path) -> None:
    """Write adjudications and tags, as a store gives them, in the format that the file's name ends with.

    A tag is a row of its own, below the adjudications: with `tag_id`, `tag` and `action` (added or removed), without a
    verdict. In CSV the answers to a question with several, and the regions, are JSON lists; see `write_rows`.

    Raises
    ------
    InputError
        The name ends with none of `ADJUDICATION_SUFFIXES`.
    """
    columns = list(dict.fromkeys([*adjudication_columns(), *CaseTag.columns()]))
    rows = pd.concat([adjudications, tags], ignore_index=True).reindex(columns=columns)
    write_rows(rows.astype({name: "str" for name in columns if name not in list_columns()}), path)


def write_rows(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, guarded as by `guarded_csv`, or as parquet.

    Parameters
    ----------
    path : its ending, of `ADJUDICATION_SUFFIXES`, says how to write; lists become JSON in CSV

    Raises
    ------
    InputError
        The name has another ending.
    """
    if _ending(path) == ".csv":
        lists = {name: frame[name].map(_json) for name in list_columns() if name in frame}
        write_atomic(path, guarded_csv(frame.assign(**lists)))
    else:
        write_atomic(path, frame.to_parquet(index=False))


def read_reviews(path: Path, benchmark: str) -> list[tuple[Adjudication | CaseTag, str | None]]:
    """Read a file of adjudications and tags: one `write_reviews` writes, or a table with some of its columns.

    Parameters
    ----------
    benchmark : the benchmark that the file is about, also where it does not name it

    Returns
    -------
    What `Store.restore` adds. `case_id`, `reviewer` and a `verdict` or a `tag` are needed; a row without an id gets one
    made of its content, so that importing a file twice adds nothing; the time `created` may be None.

    Raises
    ------
    InputError
        The file cannot be read, a column is missing, or a row breaks the rules of an adjudication or a tag (which is
        named), would be both, or is about another benchmark.
    """
    frame = _read(path)
    needed = (*_NEEDED, "tag" if "tag" in frame else "verdict")
    missing = [name for name in needed if name not in frame]
    if missing:
        raise InputError(f"{path}, column {missing[0]}: is missing; case_id, reviewer and a verdict or tag are needed.")
    entries = []
    for number, row in enumerate(frame.astype(object).to_dict("records"), start=1):
        try:
            entries.append(_entry(row, benchmark))
        except InputError as error:
            raise InputError(f"{path}, row {number}: {error}") from error
    return entries


def reviews_from(where: str, benchmark: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The adjudications of a benchmark and the tags on its cases, those that count now, of a store or a file.

    Parameters
    ----------
    where : a store, as in `mrb_lib.review.records.store.open_store`, or a file that ends with `ADJUDICATION_SUFFIXES`

    Raises
    ------
    InputError
        As in `read_reviews` and `open_store`.
    """
    if "://" in where or Path(where).suffix not in ADJUDICATION_SUFFIXES:
        store = open_store(where, create=False)
    else:
        entries = read_reviews(Path(where), benchmark)
        store = open_store("sqlite://")
        store.restore(entries)
    with store:
        return store.adjudications(benchmark), store.tags(benchmark)


def annotations_of(benchmark: Benchmark, store: Store) -> tuple[pd.DataFrame, int]:
    """The annotations table of a benchmark from the answers in a store.

    Returns
    -------
    frame : `case_id, annotator, dimension, choice`, in the order of the cases, dimensions and names; choices in the
        cases' own frame
    left_out : answers that are not in it, since the benchmark has no such case, dimension, category or label (any
        more); skipped dimensions are not answers
    """
    cases, dimensions = benchmark.cases["case_id"], list(benchmark.meta.dimensions)
    answers = store.annotations(benchmark.meta.name)
    rows = answers[offered(benchmark.meta, answers) & answers["case_id"].isin(cases)]
    order = {"case_id": pd.CategoricalDtype(cases), "dimension": pd.CategoricalDtype(dimensions)}
    ordered = rows.astype(order).sort_values(["case_id", "annotator", "dimension"], ignore_index=True)
    return ordered.astype("str"), len(answers) - len(rows)


def write_annotations(frame: pd.DataFrame, path: Path) -> None:
    """Write an annotations table as parquet, for a benchmark folder, or as CSV, for `mrb import table`.

    Raises
    ------
    InputError
        The file's name ends with neither.
    """
    rows = conform(frame, "annotations", str(path))
    is_csv = _ending(path, (".parquet", ".csv")) == ".csv"
    write_atomic(path, rows.to_csv(index=False, lineterminator="\n") if is_csv else rows.to_parquet(index=False))


def regions_from(items: Iterable[Any]) -> tuple[Region, ...]:
    """Regions from a list of mappings with `image, x, y` and perhaps `width, height, frame`.

    Raises
    ------
    InputError
        It is no such list.
    """
    try:
        return tuple(Region(**{str(k): value for k, value in item.items() if value is not None}) for item in items)
    except (AttributeError, TypeError):
        raise InputError(f"regions: {str(items)[:80]} is not a list of image, x, y, width, height, frame.") from None


def case_states(assignments: pd.DataFrame, answers: pd.DataFrame, dimensions: Sequence[str]) -> pd.DataFrame:
    """Each assigned case of each annotator: done, skipped or open.

    Parameters
    ----------
    assignments : `case_id, annotator` and others
    answers : those that count now, see `mrb_lib.review.records.store.Store.answers`
    dimensions : those that are asked for

    Returns
    -------
    DataFrame
        The rows of `assignments`, with `answered` (dimensions with a choice), `n_skipped` (dimensions skipped), `state`
        (done: every dimension has a choice; skipped: every dimension has a choice or was skipped; open) and `last`
        (when the annotator last answered to it; null: never).
    """
    asked = answers[answers["dimension"].isin(list(dimensions))]
    counts = asked.assign(answered=asked["choice"].notna(), n_skipped=asked["choice"].isna(), last=asked["created"])
    of_case = counts.groupby(["case_id", "annotator"], as_index=False)
    counts = of_case.agg({"answered": "sum", "n_skipped": "sum", "last": "max"})
    out = assignments.merge(counts, how="left", on=["case_id", "annotator"], validate="many_to_one")
    out = out.fillna({"answered": 0, "n_skipped": 0}).astype({"answered": "int64", "n_skipped": "int64"})
    is_done, is_complete = (count >= len(dimensions) for count in (out["answered"], out["answered"] + out["n_skipped"]))
    return out.assign(state=np.select([is_done, is_complete], [DONE, SKIPPED], OPEN)).astype({"state": "str"})


def by_annotator(states: pd.DataFrame) -> pd.DataFrame:
    """`annotator, assigned, done, skipped, open, last` of each annotator, from `case_states`; sorted by name."""
    is_so = {name: states["state"] == name for name in (DONE, SKIPPED, OPEN)}
    each = states.assign(assigned=1, **is_so).groupby("annotator", as_index=False)
    return each.agg({"assigned": "sum", DONE: "sum", SKIPPED: "sum", OPEN: "sum", "last": "max"})


def pace(history: pd.DataFrame) -> pd.DataFrame:
    """Return how fast each annotator works, from the time that their cases were in sight.

    Parameters
    ----------
    history : `annotator, case_id, choice, seconds` of every answer and skip, changed ones included: the time of an
        answer starts where that of the one before it ends, so that only all of them add up

    Returns
    -------
    DataFrame
        A row an annotator, sorted by name: `answers` (choices with a known time), `untimed` (rows without one), `hours`
        (the sum of all times), `answers_per_hour` (null without a time), `cases` (of which every time is known), and
        the `median_seconds` of these. A case that lies open while nobody looks counts as in sight, so that long rests
        at an open page slow the pace; the median feels few of them little.
    """
    untimed = history["seconds"].isna()
    sums = ["answers", "untimed", "seconds"]
    rows = history.assign(answers=history["choice"].notna() & ~untimed, untimed=untimed)
    cases = rows.groupby(["annotator", "case_id"], as_index=False)[sums].sum()
    out = cases.groupby("annotator", as_index=False)[sums].sum().rename(columns={"seconds": "hours"})
    out["hours"] /= 3600
    out["answers_per_hour"] = out["answers"] / out["hours"].where(out["hours"] > 0)
    whole = cases["seconds"].where(cases["untimed"] == 0).groupby(cases["annotator"])
    return out.assign(cases=out["annotator"].map(whole.count()), median_seconds=out["annotator"].map(whole.median()))


def skipped_cases(answers: pd.DataFrame, dimensions: Sequence[str]) -> pd.DataFrame:
    """`case_id, annotator, dimensions, reason, last` of what was skipped, the latest first.

    `dimensions` names those that were skipped, in the order of the benchmark, separated by commas.
    """
    position = {name: number for number, name in enumerate(dimensions)}
    rows = answers[answers["choice"].isna() & answers["dimension"].isin(position)]
    rows = rows.sort_values("dimension", key=lambda names: names.map(position), kind="stable")
    each = rows.rename(columns={"skipped_reason": "reason"}).groupby(["case_id", "annotator", "reason"], sort=False)
    skipped = each.agg(dimensions=("dimension", ", ".join), last=("created", "max")).reset_index()
    skipped = skipped.sort_values("last", ascending=False, kind="stable", ignore_index=True)
    return skipped[["case_id", "annotator", "dimensions", "reason", "last"]]


def answer_log(benchmark: Benchmark, store: Store) -> tuple[pd.DataFrame, int]:
    """Return what annotators chose, skipped and remarked on the cases of a benchmark, in the order of time.

    Returns
    -------
    frame : a row a choice, skip or comment (`kind`): `case_id, annotator, dimension` (null: a comment, which is on the
        case), `choice` (in the case's own frame), `order` ("AB" or "BA": which response was shown first), `shown_as`
        ("first", "second" or "tie": what was picked on the page), `seconds` (how long the case had been in sight since
        it was shown or since the answer before; null where unknown), `skipped_reason`, `comment`, `counts` (false: a
        later answer took its place) and `created` (UTC)
    left_out : rows that are not in it, since the benchmark has no such case, dimension or category (any more)
    """
    answers = store.answers(benchmark.meta.name, history=True)
    skipped = answers["choice"].isna()
    answers = answers.assign(
        kind=skipped.map({True: SKIP, False: CHOICE}),
        shown_as=choice_to_shown(answers["order"], answers["choice"]),
        skipped_reason=answers["skipped_reason"].where(skipped),
        counts=~answers.duplicated(list(_KEY), keep="last"),
    )
    known = offered(benchmark.meta, answers) | (skipped & answers["dimension"].isin(benchmark.meta.dimensions))
    comments = store.comments(benchmark.meta.name).rename(columns={"text": "comment"})
    rows = pd.concat([answers[known], comments.assign(kind=COMMENT, counts=True)], ignore_index=True)
    rows = rows[rows["case_id"].isin(benchmark.cases["case_id"])].reindex(columns=list(LOG_COLUMNS))
    rows = rows.astype(dict.fromkeys(LOG_COLUMNS, "str") | {"seconds": "float64", "counts": "bool"})
    left_out = len(answers) + len(comments) - len(rows)
    return rows.sort_values("created", kind="stable", ignore_index=True), left_out


def offered(meta: BenchmarkMeta, answers: pd.DataFrame) -> pd.Series:
    """Return whether each answer is a choice that the benchmark has on its dimension."""
    return pd.Series(list(map(meta.offers, answers["dimension"], answers["choice"])), answers.index, dtype=bool)


def counting_choices(log: pd.DataFrame) -> pd.DataFrame:
    """The rows of an answer log that are the annotations: choices that no later answer replaced."""
    return log[log["counts"] & (log["kind"] == CHOICE)].reset_index(drop=True)


def read_people(path: Path) -> pd.DataFrame:
    """The people of a file; nobody where there is none.

    Returns
    -------
    DataFrame
        `annotator`, `qualification`, `years` (of practice; null where not said), `consent` (a note: when and how);
        empty texts are null

    Raises
    ------
    InputError
        The file cannot be read, lacks a column, names somebody twice, or holds years that are none.
    """
    if not path.is_file():
        return pd.DataFrame(columns=list(PEOPLE_COLUMNS), dtype="str").astype({"years": "float64"})
    frame = read_guarded(path)
    if frame.empty or not set(PEOPLE_COLUMNS) <= set(frame.columns):
        raise InputError(f"{path}: needs the columns {', '.join(PEOPLE_COLUMNS)} and a row for every annotator.")
    frame = frame[list(PEOPLE_COLUMNS)].apply(lambda cells: cells.str.strip())
    given, years = frame["years"] != "", pd.to_numeric(frame["years"], errors="coerce")
    for wrong, words in (
        (frame["annotator"] == "", "annotator is empty; write a name"),
        (frame["annotator"].duplicated(), "{annotator!r} occurs twice; keep one row"),
        (frame.map(len).gt(_LONGEST).any(axis=1), f"a text is longer than {_LONGEST} characters; shorten it"),
        (given & ~years.between(0, _MOST_YEARS), "years {years!r} is not a number of years of practice; correct it"),
    ):
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(f"{path}, row {row + 1}: {words.format(**frame.iloc[row])}.")
    return pd.DataFrame(frame.where(frame != "")).assign(years=years)


def add_people(folder: Path, source: Path) -> pd.DataFrame:
    """Add the people of a file to those of a benchmark's folder; whoever is in both is replaced. See `read_people`."""
    if not source.is_file():
        raise InputError(f"{source}: there is no such file; write a CSV with the columns {', '.join(PEOPLE_COLUMNS)}.")
    new, old = read_people(source), read_people(folder / PEOPLE)
    people = pd.concat([old[~old["annotator"].isin(new["annotator"])], new], ignore_index=True)
    write_atomic(folder / PEOPLE, guarded_csv(people.sort_values("annotator")))
    (folder / PEOPLE).chmod(0o600)
    return people


def summary(people: pd.DataFrame, annotators: list[str]) -> pd.DataFrame:
    """Return what may be said of the people who annotated, without a name.

    Returns
    -------
    DataFrame
        A row a qualification ("not said" last): `qualification, n, median_years, n_consented`
    """
    each = pd.DataFrame({"annotator": sorted(set(annotators))}, dtype="str").merge(people, how="left")
    each["qualification"] = each["qualification"].fillna("not said")
    grouped = each.groupby("qualification", as_index=False).agg(
        n=("annotator", "size"), median_years=("years", "median"), n_consented=("consent", "count")
    )
    is_last = grouped["qualification"] == "not said"
    return grouped.loc[is_last.sort_values(kind="stable").index].reset_index(drop=True)


def _json(items: object) -> str:
    return json.dumps(list(items) if isinstance(items, Iterable) else [], ensure_ascii=False)


def _ending(path: Path, known: tuple[str, ...] = ADJUDICATION_SUFFIXES) -> str:
    if path.suffix not in known:
        raise InputError(f"{path}: the name must end with {' or '.join(known)}; it says how to write.")
    return path.suffix


def guarded(value: object) -> object:
    """A cell of a CSV file that no spreadsheet runs as a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def guarded_csv(frame: pd.DataFrame) -> str:
    """A table as CSV in which text that a spreadsheet would run as a formula starts with an apostrophe."""
    safe = frame.apply(lambda column: column.map(guarded, na_action="ignore"))
    return str(safe.to_csv(index=False, lineterminator="\n"))


def read_guarded(path: Path) -> pd.DataFrame:
    """The texts of a CSV file without the apostrophes of `guarded_csv`; see `read_cells` for what it raises."""
    return pd.DataFrame(read_cells(path).with_decimal_points.apply(lambda cells: cells.str.removeprefix("'")))


def _read(path: Path) -> pd.DataFrame:
    return read_table(path) if _ending(path) == ".parquet" else read_guarded(path)


def _entry(row: Mapping[Any, Any], benchmark: str) -> tuple[Adjudication | CaseTag, str | None]:
    """Make one row of a file an entry, with what is missing filled in; the time it was created, or None."""
    cells = {str(name): value for name, value in row.items() if not _is_missing(value)}
    created = str(cells["created"]) if "created" in cells else None
    if created is not None and not _TIME.fullmatch(created):
        raise InputError(f"column created: {created!r} is not a time; write 2026-01-31T12:00:00.000Z in UTC.")
    if "tag" in cells and "verdict" in cells:
        raise InputError("has a verdict and a tag; write a row for each.")
    if cells.setdefault("benchmark", benchmark) != benchmark:
        raise InputError(f"is about benchmark {cells['benchmark']!r}, not {benchmark!r}; name that benchmark.")
    kind: type[Adjudication | CaseTag] = CaseTag if "tag" in cells else Adjudication
    names = {one.name for one in fields(kind)} - {"answers", "regions"}
    given: dict[str, Any] = dict.fromkeys({*_NEEDED, "verdict"} & names, "")
    given |= {name: str(value) for name, value in cells.items() if name in names}
    if kind is Adjudication:
        cells |= {name: _listed(name, cells[name]) for name in list_columns() if name in cells}
        given["answers"] = {one.name: cells[one.name] for one in QUESTIONS if one.name in cells}
        given["regions"] = regions_from(cells.get("regions", ()))
    content = json.dumps([str(created), sorted(given.items())], default=vars)
    return kind(**{f"{kind.KIND}_id": str(uuid5(NAMESPACE_URL, content))} | given), created


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value) or (isinstance(value, float) and value != value)


def _listed(name: str, value: object) -> list[Any]:
    """The items of a cell: of a list, of a JSON list, or of a text that separates them by semicolons."""
    if not isinstance(value, str):
        return list(value) if isinstance(value, Iterable) else [value]
    if not value.startswith("["):
        return value.split(";")
    try:
        return list(json.loads(value))
    except ValueError as error:
        raise InputError(f"column {name}: {value[:80]!r} is not a JSON list.") from error
