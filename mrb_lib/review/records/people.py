"""Who the annotators are: what qualifies them, for how long, and how they consented; kept apart from what they said.

The file `annotators.csv` stands beside a benchmark and is never part of it: no export, merge or release copies it. Only
its owner may read it. What may be published of it is `summary`, which names nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.formats.sources import read_csv
from mrb_lib.review.records.exchange import guarded_csv
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import write_atomic

PEOPLE: Final = "annotators.csv"
COLUMNS: Final = ("annotator", "qualification", "years", "consent")
_LONGEST, _MOST_YEARS = 500, 80


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
        return pd.DataFrame({name: pd.Series(dtype="float64" if name == "years" else "str") for name in COLUMNS})
    frame = read_csv(path)
    if frame.empty or not set(COLUMNS) <= set(frame.columns):
        raise InputError(f"{path}: needs the columns {', '.join(COLUMNS)} and a row for every annotator.")
    rows = frame[list(COLUMNS)].itertuples(index=False)
    frame = pd.DataFrame([_row(path, number, row) for number, row in enumerate(rows, start=1)], columns=list(COLUMNS))
    twice = frame.loc[frame["annotator"].duplicated(), "annotator"]
    if len(twice):
        raise InputError(f"{path}: {twice.iloc[0]!r} occurs twice; keep one row.")
    return frame.astype({"annotator": "str", "qualification": "str", "years": "float64", "consent": "str"})


def add_people(folder: Path, source: Path) -> pd.DataFrame:
    """Add the people of a file to those of a benchmark's folder; whoever is in both is replaced. See `read_people`."""
    if not source.is_file():
        raise InputError(f"{source}: there is no such file; write a CSV with the columns {', '.join(COLUMNS)}.")
    new, old = read_people(source), read_people(folder / PEOPLE)
    people = pd.concat([old[~old["annotator"].isin(new["annotator"])], new], ignore_index=True)
    write_atomic(folder / PEOPLE, guarded_csv(people.sort_values("annotator")))
    (folder / PEOPLE).chmod(0o600)
    return people


def summary(people: pd.DataFrame, annotators: list[str]) -> pd.DataFrame:
    """What may be said of the people who annotated, without a name.

    Returns
    -------
    DataFrame
        A row a qualification ("not said" last): `qualification, n, median_years, n_consented`
    """
    each = pd.DataFrame({"annotator": pd.Series(sorted(set(annotators)), dtype="str")}).merge(people, how="left")
    each["qualification"] = each["qualification"].fillna("not said")
    grouped = each.groupby("qualification", as_index=False).agg(
        n=("annotator", "size"), median_years=("years", "median"), n_consented=("consent", "count")
    )
    last = (grouped["qualification"] == "not said").to_numpy()
    return pd.concat([grouped[~last], grouped[last]], ignore_index=True)


def _row(path: Path, number: int, row: Iterable[str]) -> tuple[str, str | None, float | None, str | None]:
    name, qualification, years, consent = (cell.strip().removeprefix("'") for cell in row)
    if not name or max(map(len, (name, qualification, consent))) > _LONGEST:
        raise InputError(f"{path}, row {number}: annotator is empty, or a text is longer than {_LONGEST} characters.")
    value = pd.to_numeric(years, errors="coerce") if years else 0.0
    if not 0 <= value <= _MOST_YEARS:
        raise InputError(f"{path}, row {number}: years {years!r} is not a number of years of practice; correct it.")
    return name, qualification or None, float(value) if years else None, consent or None
