"""Columns that a user's files call otherwise: `--map theirs=ours`, heeded wherever a format reads a file.

A mapped column is read as if the file called it `ours`: a field that the format reads, or a column of the cases that
it knows nothing of, such as `organ`, which is carried into the cases. A format need not know: the functions of
`sources` rename what they read, and what is carried passes through `SourceRow.case`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CASES

CARRIED: Final = (*(column.name for column in CASES if not column.required and column.type in ("str", "date")), "item")
"""Columns of the cases that any format can be given from a column it does not know."""
_SHOWN = 12


class MappingError(InputError):
    """A mapping of columns that names none, confuses two, or comes to nothing."""


class ColumnMap:
    """The pairs `theirs=ours` of one import, what they named in the files, and what the format read.

    Raises
    ------
    InputError
        One is not a pair of names, or a column is mapped twice.
    """

    def __init__(self, pairs: Sequence[str] = ()) -> None:
        self.names: dict[str, str] = {}
        self._columns: dict[str, None] = {}
        self._used: dict[str, str] = {}
        self._read: set[str] = set()
        self._carried: set[str] = set()
        for pair in pairs:
            theirs, _, ours = pair.rpartition("=")
            if not theirs or not ours:
                raise MappingError(f"--map {pair!r}: is not a pair of names; write their_column=our_column.")
            if self.names.setdefault(theirs, ours) != ours:
                raise MappingError(
                    f"--map {pair}: {theirs} is mapped to {self.names[theirs]} as well; keep one of the two."
                )

    def of(self, columns: Iterable[str], file: str | Path) -> dict[str, str]:
        """Which of a file's columns to rename, and to what.

        Raises
        ------
        InputError
            Two columns of the file would have one name.
        """
        columns = list(columns)
        renames = {name: self.names[name] for name in columns if name in self.names}
        after = [renames.get(name, name) for name in columns]
        for name, ours in renames.items():
            if after.count(ours) > 1:
                others = [each for each in columns if renames.get(each, each) == ours and each != name]
                there = "is there already" if ours in others else f"would be made of {others[0]} as well"
                raise MappingError(f"{file}, column {ours}: {there}; leave out --map {name}={ours}.")
        self._columns |= dict.fromkeys(columns)
        self._used |= dict.fromkeys(renames, str(file))
        return renames

    def reads(self, names: Iterable[str]) -> None:
        """Note that the format read these columns, by our names."""
        self._read.update(names)

    def carried(self, renamed: Mapping[str, str], filled: Iterable[str], file: str) -> list[str]:
        """Return the columns, by our names, that the format has not read and that go into the cases as they are.

        Parameters
        ----------
        renamed : what the file calls each renamed column, by our name
        filled : the columns of the cases that the format fills

        Raises
        ------
        InputError
            One of them is filled by the format.
        """
        unread = [ours for ours in renamed if ours not in self._read]
        for ours in unread:
            if ours in filled:
                raise clash(file, renamed[ours], ours)
        carried = [ours for ours in unread if ours in CARRIED]
        self._carried.update(carried)
        return carried

    def missing(self) -> MappingError | None:
        """What to say of the first pair whose column is in none of the files read; None where all are."""
        for theirs, ours in self.names.items():
            if theirs not in self._used:
                return MappingError(f"--map {theirs}={ours}: {_nowhere(theirs, list(self._columns))}.")
        return None

    def check(self, format_: str) -> None:
        """Refuse a pair that came to nothing.

        Raises
        ------
        InputError
            A column is in none of the files, or the format has no use for what it is mapped to.
        """
        error = self.missing()
        if error is not None:
            raise error
        for theirs, ours in self.names.items():
            if ours not in self._read | self._carried:
                own = ", ".join(sorted(filter(None, self._read)))
                raise MappingError(
                    f"{self._used[theirs]}, column {theirs}: {format_} has no use for a column {ours} there; map it to "
                    f"one that the format reads ({own}) or, in the file of the cases, to one such as organ or cluster."
                )


def clash(file: str, theirs: str, ours: str) -> MappingError:
    """The error that a format fills a column of the cases itself."""
    return MappingError(
        f"{file}, column {theirs}: the format fills {ours} itself; leave out --map {theirs}={ours}, or map the column "
        "to the field that the format reads it from."
    )


def _nowhere(theirs: str, columns: list[str]) -> str:
    if not columns:
        return "no columns with names were read; leave it out"
    near = difflib.get_close_matches(theirs.lower(), map(str.lower, columns), n=len(columns), cutoff=0.0)
    ordered = sorted(columns, key=lambda name: near.index(name.lower()))
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return f"there is no column {theirs}; the columns are {', '.join(ordered[:_SHOWN])}{more}"


_MAP: ContextVar[ColumnMap | None] = ContextVar("column_map", default=None)


def column_map() -> ColumnMap:
    """The mapping of the import that is under way; an empty one where there is none."""
    return _MAP.get() or ColumnMap()


@contextmanager
def mapped_columns(pairs: Sequence[str]) -> Iterator[ColumnMap]:
    """Rename columns in every file that is read within the block.

    Raises
    ------
    InputError
        See `ColumnMap`. Where reading fails for want of a column because of the mapping, that is said instead.
    """
    columns = ColumnMap(pairs)
    token = _MAP.set(columns)
    try:
        yield columns
    except MappingError:
        raise
    except InputError as error:
        for theirs, ours in columns.names.items():
            if f"column {theirs}:" in str(error):
                raise MappingError(f"{error} The format reads this column; leave out --map {theirs}={ours}.") from None
        wanted = any(f"column {ours}:" in str(error) for ours in columns.names.values())
        raise (columns.missing() if wanted else None) or error from None
    finally:
        _MAP.reset(token)
