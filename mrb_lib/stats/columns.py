"""Tables: their name, question, columns, options, sentence, and the function that makes the rows.

A column is declared once. Its place, type and meaning, and the reason why it may be null, follow from that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import pandas as pd

from mrb_lib.stats.clusters import MOST_OF_ONE
from mrb_lib.stats.options import join_reasons
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.registry import Registry

if TYPE_CHECKING:
    from mrb_lib.stats.analysis import Analysis

Make = TypeVar("Make", bound=Callable[..., pd.DataFrame])
TABLES: Final[Registry[Table]] = Registry("table", "mrb_lib.stats")
YES_OR_NO: Final = "yes/no"
UNITS: Final = frozenset({
    "text", YES_OR_NO, "cases", "count", "rank", "share 0-1", "difference", "p 0-1", "coefficient", "log odds",
    "odds ratio", "number", "seconds", "tokens",
})  # fmt: skip
"""A `difference` is one of two shares, from -1 to 1; a `coefficient` is at most 1, 0 being chance."""
ABOUT_PAIRS: Final = "it is about choices between two responses"
_TYPES = {"text": "str", YES_OR_NO: "boolean", "cases": "Int64", "count": "Int64", "rank": "Int64"}
NO_CASES = "no case can be scored"
NO_RESAMPLES = "no resamples were asked for"
ONE_CLUSTER = "fewer than two clusters of cases"
DOMINATED = "one cluster holds more than three quarters of the cases (--cluster case_id ignores clusters)"
ALIKE = "the cases do not differ"
SCORED: Final = ("policy", "by", "dimension", "gold", "cluster", "resamples", "seed")
"""The options of `analyze` that tables of scores read."""
TESTED: Final = (*SCORED, "correction", "family")


@dataclass(frozen=True)
class Option:
    """An option that one table has; its default and type are those of the parameter of the same name.

    Attributes
    ----------
    help : what it means, in a line
    least, below : the values allowed: at least the one, less than the other
    is_switch : whether only 0 and 1 are allowed
    """

    help: str
    least: float = -inf
    below: float = inf
    is_switch: bool = False


@dataclass(frozen=True)
class Column:
    """A column, or an estimate with both ends of its 95% interval.

    Attributes
    ----------
    meaning : at most twelve words, readable alone
    unit : one of `UNITS`
    source : of the method, author and year
    ends : the names of the ends of its interval; none if it has none
    null : why a value is null in a row that has cases
    alike : why its interval is null where there are clusters and resamples enough
    parts : the values of the column `part` whose rows have it; none if all have
    """

    name: str
    meaning: str
    unit: str = "number"
    source: str = ""
    ends: tuple[str, ...] = ()
    null: str = ""
    parts: tuple[str, ...] = ()
    alike: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The column and the ends of its interval."""
        return (self.name, *self.ends)

    def with_ends(self) -> tuple[Column, ...]:
        """The column, and one for each end of its interval."""
        meaning = f"{{}} end of the 95% interval of {self.name}"
        ends = zip(self.ends, ("lower", "upper"), strict=False)
        return (self, *(Column(name, meaning.format(which), self.unit) for name, which in ends))


def estimated(
    name: str, meaning: str, unit: str = "share 0-1", source: str = "", null: str = "", parts: tuple[str, ...] = ()
) -> Column:
    """Return a column of estimates, with columns for the ends of their intervals."""
    return Column(name, meaning, unit, source, (f"{name}_low", f"{name}_high"), null, parts)


SHARED: Final = {
    column.name: column
    for column in (
        Column("judge", "name of the judge", "text"),
        Column("judge_1", "name of the better judge", "text"),
        Column("judge_2", "name of the other", "text"),
        Column("dimension", "what was judged, such as accuracy, relevance or overall", "text"),
        Column("subfield", "group of cases, such as an organ; null: all cases", "text"),
        Column("by", "column of the cases that defines the subfields", "text"),
        Column("n_unassigned", "cases in no subfield", "cases"),
        Column("policy", "scoring policy: how the verdicts on a case become its score", "text"),
        Column("n", "cases that the row rests on", "cases"),
        Column("n_excluded", "the other cases", "cases"),
        Column("n_seen", "excluded cases that the judge was trained on", "cases"),
        Column("cluster", "column of the cases whose values are taken as clusters", "text"),
        Column("n_clusters", "clusters of cases that vary independently", "count"),
        Column("standard_error", "standard error, robust to clusters", source="Bell and McCaffrey 2002"),
        Column("df", "its degrees of freedom"),
        Column("interval", "method of the interval: percentile (bootstrap), t, or deff (Wilson's)", "text"),
        Column("p_value", "probability of data as far from no difference, if there is none", "p 0-1"),
        Column("p_adjusted", "p_value corrected for the number of tests", "p 0-1"),
        Column("correction", "correction for the number of tests", "text"),
        Column("family", "number of tests corrected together", "count"),
        Column("family_scope", "tests corrected together: tests of one dimension and subfield, or all", "text"),
        Column("margin", "largest difference that does not matter, stated beforehand"),
        Column("equivalence_p", "p of a difference larger than the margin", "p 0-1", "Schuirmann 1987"),
        Column("equivalence_p_adjusted", "equivalence_p corrected for the number of tests", "p 0-1"),
        Column("equivalent", "whether the two differ by less than the margin (adjusted, at .05)", "yes/no"),
        Column("reason", "why a value is null, or what to mind in reading the row", "text"),
    )
}
"""Columns of many tables, by name."""
GROUPS: Final = {
    "subfields": ("subfield", "by", "n_unassigned"),
    "clusters": ("cluster", "n_clusters"),
    "errors": ("standard_error", "df", "interval"),
    "tests": ("p_value", "p_adjusted", "correction", "family", "family_scope"),
    "equivalence": ("margin", "equivalence_p", "equivalence_p_adjusted", "equivalent"),
}
"""Shared columns that go together."""


def shared(*names: str) -> tuple[Column, ...]:
    """Return columns of `SHARED`, and for a name of `GROUPS` all of the group."""
    return tuple(SHARED[each] for name in names for each in GROUPS.get(name, (name,)))


@dataclass(frozen=True)
class Table:
    """A table of `mrb analyze`; `make` gives its rows, which `of` puts in order.

    Attributes
    ----------
    name, question : what it is called, and the question it answers
    declared : its columns, without `reason`, which is the last of every table
    uses : the options of `analyze` that it reads
    needs_verdicts : whether it cannot be made without verdicts
    reads : columns of the verdicts table that it is made from, besides keys and choice
    options : options that only this table has, by name
    headline : columns that answer the question, which a narrow text table shows before others
    why_no_ratings, why_no_preferences : why it says nothing about these; empty where it does
    label_sets : whether it is about dimensions of several labels
    with_marks : what it reads only where marks of models' answers are given
    nothing : why it has no row, where it has none
    """

    name: str
    question: str
    declared: tuple[Column, ...]
    make: Callable[..., pd.DataFrame] = field(repr=False)
    sentence: Callable[[pd.DataFrame], str] = field(repr=False)
    uses: tuple[str, ...] = SCORED
    needs_verdicts: bool = True
    reads: tuple[str, ...] = ()
    options: Mapping[str, Option] = field(default_factory=dict)
    headline: tuple[str, ...] = ()
    why_no_ratings: str = ABOUT_PAIRS
    why_no_preferences: str = ""
    label_sets: bool = False
    with_marks: tuple[str, ...] = ()
    nothing: str = "no row can be made from these data"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, in order."""
        return (*(name for column in self.declared for name in column.names), "reason")

    @property
    def parameters(self) -> tuple[str, ...]:
        """The options of `analyze` that it reads, and `verdicts` with `probe` where it reads verdicts."""
        verdicts = ("verdicts", "probe") if self.needs_verdicts or self.reads or "probe" in self.uses else ()
        return (*verdicts, *self.uses)

    def parameters_read(self, *, has_marks: bool) -> tuple[str, ...]:
        """Return the parameters that may change the table."""
        return tuple(name for name in self.parameters if has_marks or name not in self.with_marks)

    def of(self, analysis: Analysis, **options: float | None) -> pd.DataFrame:
        """Make the rows: every column in order and of its type, and why something is null."""
        rows = self.make(analysis, **options)
        whole = {
            "policy": analysis.policy,
            "cluster": analysis.unit,
            "correction": analysis.correction or "holm",
            "family_scope": analysis.family,
        }
        rows = rows.assign(**{name: value for name, value in whole.items() if name not in rows})
        rows["reason"] = reasons(rows, self.declared, analysis.resamples if "resamples" in self.uses else 1)
        types = {name: _TYPES.get(c.unit, "float64") for c in self.declared for name in c.names[:1]}
        return rows.reindex(columns=list(self.columns)).astype(types | {"reason": "str"}).reset_index(drop=True)

    def column(self, name: str) -> Column | None:
        """One of the columns, or an end of an interval; None for another name."""
        every = (each for declared in (*self.declared, SHARED["reason"]) for each in declared.with_ends())
        return next((each for each in every if each.name == name), None)

    def lacks(self, frame: pd.DataFrame) -> str:
        """Why rows hold no estimate, where one reason holds for all of them; empty where they hold one."""
        if not len(frame):
            return self.nothing
        wanted = [each for each in self.declared if each.ends or each.name in self.headline]
        estimates = [each.name for each in wanted if each.unit not in ("cases", "count")]
        why = frame.reindex(columns=["reason"])["reason"].unique()
        no_value = estimates and frame.reindex(columns=estimates).isna().all(axis=None)
        return str(why[0]) if no_value and len(why) == 1 and pd.notna(why[0]) else ""

    def says(self, frame: pd.DataFrame) -> str:
        """The sentence that the table begins with."""
        why = self.lacks(frame)
        return f"There is nothing to show: {why}." if why else self.sentence(frame)

    def default(self, option: str) -> float | None:
        """The value of one of `options` where the user gives none; None where only the user can say."""
        value = inspect.signature(self.make).parameters[option].default
        return None if value is None else float(value)

    def default_text(self, option: str) -> str:
        """As `default`, in help."""
        value = self.default(option)
        return "none" if value is None else f"{value:g}"

    def checked(self, values: Mapping[str, float]) -> dict[str, float | None]:
        """The values of `options`, the defaults where none are given; `InputError` for one that is not allowed."""
        for name in values:
            if name not in self.options:
                has = ", ".join(self.options) or "none of its own"
                raise InputError(f"table {self.name}: has no option {name!r}; its options are {has}.")
        chosen = {name: values.get(name, self.default(name)) for name in self.options}
        for name, value in chosen.items():
            option = self.options[name]
            if option.is_switch and value not in (0, 1):
                raise InputError(f"{name} {value:g}: must be 0 or 1.")
            if value is not None and not option.least <= value < option.below:
                bounds = {"at least": option.least, "below": option.below}
                stated = [f"{words} {bound:g}" for words, bound in bounds.items() if isfinite(bound)]
                raise InputError(f"{name} {value:g}: must be {' and '.join(stated)}.")
        return chosen


def table(
    name: str,
    question: str,
    columns: Sequence[Column | tuple[Column, ...]],
    sentence: Callable[[pd.DataFrame], str],
    **more: Any,
) -> Callable[[Make], Make]:
    """Register the function below, of an `Analysis`, as what makes the rows of a table; `more` as in `Table`."""
    flat = tuple(column for each in columns for column in (each if isinstance(each, tuple) else (each,)))

    def register(make: Make) -> Make:
        TABLES.add(name, Table(name, question, flat, make, sentence, **more))
        return make

    return register


def reasons(rows: pd.DataFrame, columns: Sequence[Column], resamples: int) -> pd.Series:
    """Return why values of each row are null: by what the row says, by its columns, and by what its intervals lack.

    The column `lacks` of the rows says why a row has no intervals where it is not for want of clusters or resamples.
    """
    usual = {"n": 1, "n_clusters": 2, "largest": 0.0, "lacks": None}
    rows = rows.assign(**{name: value for name, value in usual.items() if name not in rows})
    lacks = [(rows["n_clusters"] < 2).to_numpy(), (rows["largest"] > MOST_OF_ONE).to_numpy()]
    why = np.select(lacks, [ONE_CLUSTER, DOMINATED], ALIKE if resamples else NO_RESAMPLES)
    why = np.where(rows["lacks"].notna(), rows["lacks"], why)
    said = [[text if isinstance(text, str) else "" for text in rows.get("reason", rows.index)]]
    bare = [[""] * len(rows)]
    for column in columns:
        if column.name in rows:
            missing = rows[column.name].isna()
            own = rows["part"].isin(column.parts) if column.parts else True
            said.append(np.where(missing & own, column.null, "").tolist())
            if column.ends and column.ends[0] in rows:
                empty = ~missing & own & rows[column.ends[0]].isna()
                special = empty & (why == ALIKE) & (column.alike != "")
                said.append(np.where(special, f"no interval of {column.name}: {column.alike}", "").tolist())
                bare.append(np.where(empty & ~special, column.name, "").tolist())
    joined, of_rows = [], (rows["n"], why.tolist(), zip(*said, strict=True), zip(*bare, strict=True))
    for count, lack, texts, names in zip(*of_rows, strict=True):
        without = ", ".join(filter(None, names))
        more = f"no interval of {without}: {lack}" if without else ""
        joined.append(join_reasons(*dict.fromkeys((*texts, more))) if count else texts[0] or NO_CASES)
    return pd.Series(joined, rows.index, dtype="str")
