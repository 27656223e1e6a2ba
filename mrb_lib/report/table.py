"""A table of a study as a reader meets it: with its sentence, its figures, and what each column means."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.figures.registry import FIGURES, FigureSpec
from mrb_lib.figures.style import Paper
from mrb_lib.report.defaults import Options
from mrb_lib.report.publish import Behind, PublishedTable, Publisher
from mrb_lib.report.tabular import Best, explained, table_text, to_html, to_latex, words
from mrb_lib.stats.columns import Table as Spec
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.phrases import main_dimension
from mrb_lib.tables.errors import InputError, NotApplicable, nearest

_CASES: Final = ("n_cases", "n")
DERIVED: Final = "Departments follow from the organs."


class Text(str):
    """A text that a notebook shows as it is: a sentence, a conclusion, or a page of HTML that is escaped already."""

    _page: str
    _title: str

    def __new__(cls, text: str, page: str = "", title: str = "") -> Text:
        made = super().__new__(cls, text)
        made._page, made._title = page, title
        return made

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        title = f"<strong>{html.escape(self._title)}.</strong> " if self._title else ""
        return self._page or f"<p>{title}{html.escape(self)}</p>"


class Source(Protocol):
    """The source of a table: a `mrb_lib.report.study.Study`."""

    @property
    def benchmark(self) -> Benchmark: ...
    @property
    def verdicts(self) -> pd.DataFrame: ...
    @property
    def panels(self) -> pd.DataFrame | Mapping[str, Panel]: ...
    @property
    def options(self) -> Options: ...
    @property
    def labels(self) -> pd.DataFrame: ...
    @property
    def context(self) -> dict[str, Any]: ...
    @property
    def derives_departments(self) -> bool: ...
    @property
    def publisher(self) -> Publisher: ...
    def behind(self, name: str, table: Table, dimension: str) -> Behind | None: ...


@dataclass(frozen=True, repr=False)
class Table:
    """A table of `mrb analyze`: a DataFrame with a sentence and figures.

    What it does not have itself (`[...]`, `query`, `pivot`, ...) is that of `frame`; where that gives rows with all
    columns of the table, they are a `Table` again, which can be drawn.

    Attributes
    ----------
    spec : its name, question and columns
    frame : its rows
    study : what it was made from
    options : those it was made by, `policy` and `gold` among them where it reads them
    """

    spec: Spec
    frame: pd.DataFrame
    study: Source
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.spec.name

    @property
    def sentence(self) -> Text:
        """The main result, in a sentence or two."""
        return Text(self.spec.says(self.frame))

    @property
    def by(self) -> str | None:
        """The column of the cases that it is broken down by, the first of several; None without subfields."""
        named = self.frame["by"].dropna().tolist() if "by" in self.frame else []
        return str(named[0]) if named else None

    @property
    def dimension(self) -> str:
        """The dimension that figures of one dimension show."""
        return main_dimension(self.frame)

    def explain(self) -> Text:
        """Return what the table answers and what each column means."""
        return Text(explained(self.spec))

    def plot(self, figure: str = "", *, id: str = "", **options: Any) -> Paper:
        """Draw a figure of the table; a report also publishes it with its caption, its numbers and its cases.

        Parameters
        ----------
        figure : which one; empty for the first that fits, with subfields or without
        id : the name of its files in a report; empty for that of the figure
        options : of the function that draws it

        Raises
        ------
        NotApplicable
            The rows hold nothing that the figure shows.
        InputError
            The table has no such figure.
        """
        spec, study = self._figure(figure), self.study
        rows = self.frame[self.frame["part"].isin(spec.parts)] if spec.parts else self.frame
        if spec.shows and not rows[spec.shows].notna().any():
            raise self._absent(rows, spec.shows)
        own = replace(self, frame=rows)
        return draw(
            spec,
            rows,
            study.publisher,
            id=id or (f"{spec.id}-{own.by.replace('_', '-')}" if own.by and spec.by else spec.id),
            context={**self.options, **study.context, "dimension": self.dimension, "by": own.by},
            options=options,
            behind=study.behind(spec.cases, own, self.dimension),
            remark=DERIVED if self.by == "department" and study.derives_departments else "",
            n=self._counts(rows, spec.n),
            **self._facts,
        )

    def _absent(self, rows: pd.DataFrame, column: str) -> NotApplicable:
        """Why these rows have nothing in a column."""
        reasons: list[str] = [*rows["reason"].dropna()] if "reason" in rows else []
        lacks = f"no value of {words(column)}" if len(self.frame) else "no row to show"
        unjudged = self.study.verdicts.empty and "verdicts" in self.spec.parameters
        why = f"the table {self.name} contains {lacks}" + "; the data include no verdicts" * unjudged
        return NotApplicable(f"{next(iter(reasons), why)}.")

    def _figure(self, name: str) -> FigureSpec:
        own = {each.id: each for each in FIGURES.values() if each.table == self.name}
        fitting = [each for each in own.values() if each.by == (self.by is not None)] or list(own.values())
        if (name and name not in own) or not own:
            there = f"it has {', '.join(own)}" if own else "it has none"
            raise InputError(f"table {self.name} has no figure {name!r}; {there}.{nearest(name, own)}")
        return own[name] if name else min(fitting, key=lambda each: (not each.is_main, each.id))

    def show(
        self,
        *columns: str,
        best: Mapping[str, Best] | None = None,
        digits: int = 3,
        percent: bool = True,
        id: str = "",
        title: str = "",
    ) -> PublishedTable:
        """Show some columns as a table, intervals beside their values; a report also publishes it as CSV and LaTeX.

        A name or count that is the same in all rows is in the caption instead.

        Parameters
        ----------
        columns : none for the headline of the table
        best : for each column named, whether the largest or the smallest value is in bold
        digits : decimals
        percent : whether shares and differences are shown as percentages and points, as in figures
        id : the name of its files; empty for the name of the table
        title : empty for the question of the table

        Raises
        ------
        NotApplicable
            The columns hold no estimate.
        InputError
            The table has no such column.
        """
        usual = [name for name in ("judge", "dimension", "n") if name in self.frame]
        frame = self._with_ends(columns or (*usual, *self.spec.headline) or tuple(map(str, self.frame)))
        estimates = [each.name for each in self.spec.declared if each.ends and each.name in frame]
        estimates = estimates or list(map(str, frame.select_dtypes("float64")))
        if frame.empty or (estimates and frame[estimates].isna().all(axis=None)):
            raise self._absent(self.frame, estimates[0] if estimates else str(frame.columns[0]))
        references = self.frame.loc[self.frame["kind"].eq("reference"), "judge"] if "kind" in self.frame else ()
        units = {each.name: each.unit for each in self.spec.declared}
        names = [name for name in map(str, frame) if units.get(name) in ("text", "count") and len(frame) > 1]
        same = [name for name in names if frame[name].nunique(dropna=False) == 1]
        same = same if len(same) < len(frame.columns) else []
        kept, told = frame.drop(columns=same), frame[same].head(1).dropna(axis=1)
        facts = "; ".join(f"{words(name)} = {words(str(told[name].iloc[0]))}" for name in map(str, told))
        shares = [name for name in map(str, kept) if percent and units.get(name) in ("share 0-1", "difference")]
        text = table_text(kept, best=best, reference_rows=set(references), digits=digits, in_percent=shares)
        id = id or (f"{self.name}-{self.by}" if self.by else self.name).replace("_", "-")
        return self.study.publisher.table(
            frame, text, id, n=self._counts(self.frame), **self._facts,
            title=title or f"{self.spec.question[0].upper()}{self.spec.question[1:]}?",
            caption=self._caption(kept) + " Shares in %." * bool(shares) + f" In all rows, {facts}." * bool(facts),
        )  # fmt: skip

    @property
    def _facts(self) -> dict[str, str]:
        return {name: self.options[name] for name in ("policy", "gold") if name in self.options}

    def _counts(self, frame: pd.DataFrame, column: str = "") -> list[int] | None:
        """The numbers of cases that the rows over all cases rest on; None where the table counts none.

        Rows of no dimension and no judge are kinds of cases, of which each case is one.
        """
        declared = {each.name for each in self.spec.declared if each.unit == "cases"} & {*_CASES} | {column}
        name = next((each for each in (column, *_CASES) if each in declared and each in frame), "")
        whole = frame[frame["subfield"].isna()] if "subfield" in frame else frame
        counts = whole[name].dropna().astype(int).tolist() if name else []
        counts = counts if {"dimension", "judge"} & set(frame) else [sum(counts)]
        return [count for count in counts if count] or None

    def _caption(self, frame: pd.DataFrame) -> str:
        """Return what the columns of numbers mean, each in the words of the table."""
        ends = {end for each in self.spec.declared for end in each.ends} & set(frame)
        known = [self.spec.column(name) for name in map(str, frame) if name not in ends]
        meant = [f"{words(each.name)}: {each.meaning}" for each in known if each and each.unit != "text"]
        said = re.sub(r"\w+_\w+", lambda name: words(name[0]), "; ".join(meant))
        return f"{said}. {'95% intervals in brackets.' if ends else ''}".rstrip()

    def _with_ends(self, columns: Sequence[str]) -> pd.DataFrame:
        """The rows in some columns, each followed by the ends of its interval."""
        _ = self[list(columns)]  # raises for one that there is not
        ends = {each.name: each.ends for each in self.spec.declared}
        every = [each for name in columns for each in (name, *ends.get(name, ())) if each in self.frame]
        return self.frame[list(dict.fromkeys(every))]

    def to_latex(self, *columns: str) -> str:
        """Return the table, or some of its columns, as LaTeX (booktabs), all text escaped."""
        frame = self._with_ends(columns or tuple(map(str, self.frame)))
        return to_latex(table_text(frame), self._caption(frame), self.name)

    def __getitem__(self, key: Any) -> Any:
        try:
            return self._again(self.frame[key])
        except KeyError:
            named = [key] if isinstance(key, str) else [each for each in key if each not in self.frame]
            near = nearest(str(named[0]), self.frame)
            raise InputError(f"table {self.name} has no column {named[0]!r}.{near}") from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(self.frame, name):
            raise AttributeError(f"a table has no attribute {name!r}.{nearest(name, dir(self))}")
        value = getattr(self.frame, name)
        return (lambda *args, **options: self._again(value(*args, **options))) if inspect.ismethod(value) else value

    def _again(self, made: Any) -> Any:
        whole = isinstance(made, pd.DataFrame) and list(made.columns) == list(self.frame.columns)
        return replace(self, frame=made) if whole else made

    def __len__(self) -> int:
        return len(self.frame)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.frame)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in dir(self.frame) if not name.startswith("_"))})

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.frame.columns)

    def __repr__(self) -> str:
        return f"{self.sentence}\n\n{self.frame!r}"

    def _repr_html_(self) -> str:
        return to_html(table_text(self.frame), self.sentence)


def draw(
    spec: FigureSpec,
    rows: pd.DataFrame,
    publisher: Publisher,
    *,
    id: str,
    context: Mapping[str, Any],
    options: Mapping[str, Any],
    remark: str = "",
    **facts: Any,
) -> Paper:
    """Draw a registered figure and publish it with its texts.

    Parameters
    ----------
    context : what fills the parameters of the function that draws, and the names in braces of its texts
    options : the same, as the caller gave them
    remark : a sentence after the caption
    facts : `policy`, `gold`, `n` and `behind` of `Publisher.figure`
    """
    taken = inspect.signature(spec.draw).parameters
    given = {name: value for name, value in context.items() if name in taken} | dict(options)
    words = {**context, **given}
    texts = (spec.title, spec.caption, spec.reading)
    title, caption, reading = (" ".join(text.format_map(words).split()) for text in texts)
    drawn, caption = spec.draw(rows, **given), f"{caption} {remark}".strip()
    return publisher.figure(drawn, id, title=title, caption=caption, reading=reading, data=rows, **facts)
