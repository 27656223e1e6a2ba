"""Columns that a user's files call otherwise: `--map theirs=ours`, heeded wherever a format reads a file.

A mapped column is read as if the file called it `ours`: a field that the format reads, or a column of the cases that
it knows nothing of, such as `organ`, which is carried into the cases. A format need not know: the functions of
`sources` rename what they read, and what is carried passes through `SourceRow.case`.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from mrb_lib.tables.errors import InputError, nearest
from mrb_lib.tables.schema import CASES
from mrb_lib.tables.validation import Finding

CARRIED: Final = (*(column.name for column in CASES if not column.required and column.type in ("str", "date")), "item")
"""Columns of the cases that any format can be given from a column it does not know."""
_SHOWN = 12


def pairs_of(option: str, texts: Iterable[str], example: str) -> dict[str, str]:
    """Return the pairs `theirs=ours` of an option; raises `InputError` where one is none, or `theirs` has two."""
    pairs: dict[str, str] = {}
    for text in texts:
        theirs, _, ours = text.rpartition("=")
        if not theirs.strip() or not ours.strip():
            raise InputError(f"{option} {text!r}: is not a pair; write {example}.")
        if pairs.setdefault(theirs, ours.strip()) != ours.strip():
            raise InputError(f"{option} {text}: {theirs} is mapped to {pairs[theirs]} as well; keep one.")
    return pairs


class ColumnMap:
    """The pairs `theirs=ours` of one import, what they named in the files, and what the format read.

    Raises
    ------
    InputError
        One is not a pair of names, or a column is mapped twice.
    """

    def __init__(self, pairs: Sequence[str] = ()) -> None:
        self.names = pairs_of("--map", pairs, "their_column=our_column")
        self.findings: list[Finding] = []
        self._columns: dict[str, None] = {}
        self._used: dict[str, str] = {}
        self._read: set[str] = set()
        self._carried: set[str] = set()

    def of(self, columns: Iterable[str], file: str | Path) -> dict[str, str]:
        """Return the columns of a file to rename, and their new names; raises `InputError` where two become one."""
        columns = list(columns)
        renames = {name: self.names[name] for name in columns if name in self.names}
        after = [renames.get(name, name) for name in columns]
        for name, ours in renames.items():
            if after.count(ours) > 1:
                raise InputError(f"{file}, column {ours}: would be there twice; leave out --map {name}={ours}.")
        self._columns |= dict.fromkeys(columns)
        self._used |= dict.fromkeys(renames, str(file))
        return renames

    def reads(self, names: Iterable[str]) -> None:
        """Note that the format read these columns, by our names."""
        self._read.update(names)

    def carried(self, there: Iterable[str], filled: Iterable[str]) -> list[str]:
        """Return the renamed columns among those `there` that a format neither reads nor fills; they go into cases."""
        unread = {*self.names.values()}.intersection(there) - self._read - {*filled}
        carried = [ours for ours in CARRIED if ours in unread]
        self._carried.update(carried)
        return carried

    def check(self, format_: str) -> None:
        """Raise `InputError` where a column is in none of the files, or the format does nothing with it."""
        for theirs, ours in self.names.items():
            if theirs not in self._used:
                there = f"; the columns are {', '.join(list(self._columns)[:_SHOWN])}" if self._columns else ""
                hint = nearest(theirs, self._columns)
                raise InputError(f"--map {theirs}={ours}: there is no column {theirs}{there}.{hint}")
            if ours not in self._read | self._carried:
                own = ", ".join(sorted(filter(None, self._read)))
                raise InputError(
                    f"{self._used[theirs]}, column {theirs}: {format_} has no use for a column {ours} there; map it to "
                    f"one that the format reads ({own}) or, in the file of the cases, to one such as organ or cluster."
                )


_MAP: ContextVar[ColumnMap | None] = ContextVar("column_map", default=None)


def column_map() -> ColumnMap:
    """The mapping of the import that is under way; an empty one where there is none."""
    return _MAP.get() or ColumnMap()


@contextmanager
def mapped_columns(pairs: Sequence[str]) -> Iterator[ColumnMap]:
    """Rename columns in every file that is read within the block; raises `InputError` as `ColumnMap`."""
    columns = ColumnMap(pairs)
    token = _MAP.set(columns)
    try:
        yield columns
    finally:
        _MAP.reset(token)
