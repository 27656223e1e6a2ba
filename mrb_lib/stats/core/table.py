"""What `mrb analyze` offers: each table registers itself where it is made, with its question, columns and options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import pandas as pd

from mrb_lib.stats.core.columns import Meaning, meaning
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.registry import Registry

Make = TypeVar("Make", bound=Callable[..., pd.DataFrame])
Sentence = Callable[[pd.DataFrame], str]


@dataclass(frozen=True)
class Option:
    """An option that one table has; its default and type are those of the parameter of the same name.

    Attributes
    ----------
    help : what it means, in a line
    least, below : the values allowed: at least the one, less than the other; None is no bound
    is_switch : whether only 0 and 1 are allowed
    """

    help: str
    least: float | None = None
    below: float | None = None
    is_switch: bool = False


@dataclass(frozen=True)
class TableSpec:
    """A table of `mrb analyze`.

    Attributes
    ----------
    name, question : what it is called, and the question it answers
    columns : those shown by default: one estimate and one interval a quantity; `UNIT` is among them where the table
        takes clusters of cases
    more : those that `intervals="all"` adds
    needs_verdicts : whether it cannot be made without verdicts
    reads : columns of the verdicts table that it is made from, besides keys and choice
    why_no_ratings : why it says nothing about ratings of one response; empty where it does
    why_no_preferences : why it says nothing about choices between two responses; empty where it does
    options : those that only this table has, by name
    meanings : what its columns mean, by name, besides the shared ones; see `mrb_lib.stats.core.columns`
    headline : columns that answer the question, which a narrow text table shows before others, in this order
    sentence : what its rows, one or more, say, in one sentence for a clinician
    with_marks : parameters of `make` that change nothing where no marks are given
    make : makes it. What its parameters name is given to it, see `mrb_lib.stats.analysis.Analysis`
    """

    name: str
    question: str
    columns: tuple[str, ...]
    more: tuple[str, ...]
    needs_verdicts: bool
    reads: tuple[str, ...]
    options: Mapping[str, Option] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict, repr=False)
    headline: tuple[str, ...] = ()
    sentence: Sentence | None = field(default=None, repr=False)
    make: Callable[..., pd.DataFrame] = field(default=pd.DataFrame, repr=False)
    why_no_ratings: str = ""
    why_no_preferences: str = ""
    with_marks: tuple[str, ...] = ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters of `make`."""
        return tuple(inspect.signature(self.make).parameters)

    def parameters_read(self, *, has_marks: bool) -> tuple[str, ...]:
        """Those that may change the table, with marks or without."""
        return tuple(name for name in self.parameters if has_marks or name not in self.with_marks)

    def meaning(self, column: str) -> Meaning | None:
        """What one of the columns holds, see `mrb_lib.stats.core.columns.meaning`."""
        return meaning(column, self.meanings, self.columns)

    def says(self, frame: pd.DataFrame) -> str:
        """The sentence that the table begins with; empty where it has none."""
        if not len(frame):
            return "There is nothing to show: no row can be made from these data."
        return self.sentence(frame) if self.sentence else ""

    def default(self, option: str) -> float | None:
        """The value of one of `options` where the user gives none; None where only the user can say."""
        value = inspect.signature(self.make).parameters[option].default
        return None if value is None else float(value)

    def default_text(self, option: str) -> str:
        """As `default`, in help."""
        value = self.default(option)
        return "none" if value is None else f"{value:g}"

    def checked(self, values: Mapping[str, float]) -> dict[str, float | None]:
        """The values of `options`, the defaults where none are given.

        Raises
        ------
        InputError
            The table has no such option, or the value is not allowed.
        """
        return checked_options(self, values)


def checked_options(table: Any, values: Mapping[str, float]) -> dict[str, float | None]:
    """The values of a table's own options, the defaults where none are given; `InputError` for what is not allowed."""
    for name in values:
        if name not in table.options:
            has = ", ".join(table.options) or "none of its own"
            raise InputError(f"table {table.name}: has no option {name!r}; its options are {has}.")
    chosen = {name: values.get(name, table.default(name)) for name in table.options}
    for name, value in chosen.items():
        least, below = table.options[name].least, table.options[name].below
        if value is None:
            continue
        if table.options[name].is_switch and value not in (0, 1):
            raise InputError(f"{name} {value:g}: must be 0 or 1.")
        if (least is not None and value < least) or (below is not None and value >= below):
            bounds = {"at least": least, "below": below}
            stated = [f"{words} {bound:g}" for words, bound in bounds.items() if bound is not None]
            raise InputError(f"{name} {value:g}: must be {' and '.join(stated)}.")
    return chosen


ABOUT_PAIRS: Final = "it is about choices between two responses"
UNIT: Final = "cluster"
"""The column that names what cases are clustered by, which `mrb_lib.analyze` adds to every table that takes it."""


def with_unit(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns of a table that takes clusters: the name of the unit beside their number, else before the reason."""
    names = list(columns)
    last = len(names) - (names[-1:] == ["reason"])
    names.insert(names.index("n_clusters") if "n_clusters" in names else last, UNIT)
    return tuple(names)


TABLES: Final[Registry[Any]] = Registry("table", "mrb_lib.stats")


def register_table(
    name: str,
    *,
    question: str,
    columns: Sequence[str],
    more: Sequence[str] = (),
    needs_verdicts: bool = True,
    reads: Sequence[str] = (),
    options: Mapping[str, Option] | None = None,
    meanings: Mapping[str, str] | None = None,
    headline: Sequence[str] = (),
    sentence: Sentence | None = None,
    why_no_ratings: str | None = None,
    why_no_preferences: str = "",
    with_marks: Sequence[str] = (),
) -> Callable[[Make], Make]:
    """Register the function below as what makes a table of `mrb analyze`; see `TableSpec`.

    A table of verdicts that does not say otherwise is about choices between two responses.
    """

    def register(make: Make) -> Make:
        resamples = UNIT in inspect.signature(make).parameters
        shown = with_unit(columns) if resamples else tuple(columns)
        spec = TableSpec(
            name, question, shown, tuple(more), needs_verdicts, tuple(reads), dict(options or {}),
            dict(meanings or {}), tuple(headline), sentence, make,
            (ABOUT_PAIRS if needs_verdicts else "") if why_no_ratings is None else why_no_ratings, why_no_preferences,
            tuple(with_marks),
        )  # fmt: skip
        if name not in TABLES._features:  # until all tables are ported
            TABLES.add(name, spec)
        return make

    return register
