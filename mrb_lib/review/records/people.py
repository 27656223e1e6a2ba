"""Who the annotators are: what qualifies them, for how long, and how they consented; kept apart from what they said.

The file `annotators.csv` stands beside a benchmark and is never part of it: no export, merge or release copies it. Only
its owner may read it. What may be published of it is `summary`, which names nobody.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from mrb_lib.review.records.exchange import guarded_csv, read_guarded
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
        return pd.DataFrame(columns=list(COLUMNS), dtype="str").astype({"years": "float64"})
    frame = read_guarded(path)
    if frame.empty or not set(COLUMNS) <= set(frame.columns):
        raise InputError(f"{path}: needs the columns {', '.join(COLUMNS)} and a row for every annotator.")
    frame = frame[list(COLUMNS)].apply(lambda cells: cells.str.strip())
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
        raise InputError(f"{source}: there is no such file; write a CSV with the columns {', '.join(COLUMNS)}.")
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
