"""A frame as a table for readers: rounded, intervals beside their values, the best in bold, everything escaped."""

from __future__ import annotations

import inspect
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from mrb_lib.stats.columns import Table

if TYPE_CHECKING:
    from jinja2 import Template

Best = Literal["max", "min"]
NOT_AVAILABLE = "n/a"
MOST_ROWS = 200
_ROWS_OF_A_PAGE = 40
_WIDEST = 90  # letters in 10 points on a page of LaTeX's article; a wider table is turned and scaled to the page

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}", "\u2026": r"\ldots{}",
    "\u2265": r"\ensuremath{\geq}", "\u2264": r"\ensuremath{\leq}", "\u2260": r"\ensuremath{\neq}",
    "\u2248": r"\ensuremath{\approx}", "\u2212": r"\ensuremath{-}", "\u221e": r"\ensuremath{\infty}",
    "\u2192": r"\ensuremath{\rightarrow}", "\u2190": r"\ensuremath{\leftarrow}", "\u00b1": r"\ensuremath{\pm}",
    "\u00d7": r"\ensuremath{\times}", "\u00b7": r"\ensuremath{\cdot}", "\u00b0": r"\ensuremath{^\circ}",
}  # fmt: skip
_LIKE_LATIN = "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u03bf"
for _code in range(0x3B1, 0x3CA):  # Greek, alpha to omega, and the capitals before them
    _name = unicodedata.name(chr(_code)).removeprefix("GREEK SMALL LETTER ").lower()
    _name = _name.replace("lamda", "lambda").replace("final ", "var")
    _LATEX |= {chr(_code): rf"\ensuremath{{\{_name}}}", chr(_code - 0x20): rf"\ensuremath{{\{_name.capitalize()}}}"}
_LATEX |= dict(zip(_LIKE_LATIN, "ABEZHIKMNOPTXo", strict=True))
# What LaTeX prints as it is with T1 fonts: Latin letters of Europe and marks of print; tried one by one with pdflatex.
_PRINTED = frozenset(map(chr, range(0xA1, 0x180))) - frozenset(
    "\u00ad\u0126\u0127\u0138\u013f\u0140\u0149\u0166\u0167\u017f"
)
_PRINTED |= frozenset("\u2010\u2013\u2014\u2018\u2019\u201c\u201d\u201e\u2020\u2021\u2022\u2030\u20ac\u2122")
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0328": "k",
    "\u0331": "b",
}  # fmt: skip
_LIGATURE = re.compile("(?<=-)-|(?<=,),")  # TeX would join two of them to another sign


def one_line(text: str) -> str:
    """Text on one line, without the control characters that would steer a reader's program."""
    spaced = " ".join(text.split())
    if spaced.isprintable():  # then no letter is of a category C; it is asked of every cell of a table
        return spaced
    return "".join(letter for letter in spaced if not unicodedata.category(letter).startswith("C"))


@dataclass(frozen=True)
class TableText:
    """A table as readers see it.

    Attributes
    ----------
    columns : the headings
    rows : the cells as text, not escaped
    best : (row, column) of the cells to set in bold
    numeric : for each column, whether it holds numbers
    references : the rows that do not compete; they stand below a line
    second : (row, column) of the cells to underline
    starts : the rows that begin a part of the table; a line stands above them
    values : what each cell is sorted by: a number at full precision, empty for text and where there is none
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    best: frozenset[tuple[int, int]]
    numeric: tuple[bool, ...]
    references: frozenset[int] = frozenset()
    second: frozenset[tuple[int, int]] = frozenset()
    starts: frozenset[int] = frozenset()
    values: tuple[tuple[str, ...], ...] = ()

    def as_json(self) -> dict[str, object]:
        """The first rows as JSON holds them; `from_json` reads them."""
        made = {each.name: getattr(self, each.name) for each in fields(self)}
        made = {name: sorted(value) if isinstance(value, frozenset) else value for name, value in made.items()}
        return {**made, "rows": self.rows[:MOST_ROWS], "values": self.values[:MOST_ROWS]}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> TableText:
        """Read what `as_json` gave."""
        sets = {name: frozenset(content[name]) for name in ("references", "starts")}
        marked = {name: frozenset(map(tuple, content[name])) for name in ("best", "second")}
        return cls(**{**content, **sets, **marked})

    def grid(self, cases: Mapping[str, str] | None = None) -> dict[str, Any]:
        """What the template of tables shows: `columns`, `rows`, and `references`, the rows that stand below a line.

        Parameters
        ----------
        cases : the page of each case that has one, which cells of a column `case_id` lead to
        """
        links, made = cases or {}, []
        for i, (row, values) in enumerate(zip(self.rows, self.values, strict=True)):
            cells = []
            for j, (text, value) in enumerate(zip(row, values, strict=True)):
                estimate, bracket, rest = text.partition(" [") if value else (text, "", "")
                link = links.get(text, "") if self.columns[j] == "case id" else ""
                marks = {"best": (i, j) in self.best, "second": (i, j) in self.second, "case": link}
                cells.append({"text": estimate, "interval": bracket.strip() + rest, "value": value, **marks})
            made.append({"cells": cells, "starts": i in self.starts})
        return {
            "columns": list(zip(self.columns, self.numeric, strict=True)),
            "rows": [row for i, row in enumerate(made) if i not in self.references],
            "references": [row for i, row in enumerate(made) if i in self.references],
        }


def table_text(
    frame: pd.DataFrame,
    *,
    best: Mapping[str, Best] | None = None,
    marked: Mapping[str, Collection[str]] | None = None,
    reference_rows: Collection[str] = (),
    parts: str = "",
    underline: bool = False,
    digits: int = 3,
    in_percent: Collection[str] = (),
) -> TableText:
    """Turn a frame into the text of a table.

    Parameters
    ----------
    frame : a column `x` with `x_low` and `x_high` beside it (or `low` and `high` after the only such column) is shown
        as one: value [low, high]
    best : for each column named, which value to mark; equal values are all marked
    marked : for each column named, the values of the first column in whose rows it is marked, as of a group of judges
    reference_rows : values of the first column whose rows are shown but do not compete
    parts : a column that divides the rows into parts, with a line where its value changes; empty for none
    underline : also mark the next best value of each column in `best`; equal values are all marked, and are second
        however many are first
    digits : decimals of numbers that are not whole; p-values have at least three
    in_percent : columns of shares that are shown as percentages, with one decimal
    """
    bounds = _bounds(frame)
    scaled = [each for name in in_percent for each in (name, *bounds.get(name, ()))]
    frame = frame.assign(**{name: 100 * frame[name].astype("float64") for name in scaled})
    hidden = {name for pair in bounds.values() for name in pair}
    names = [name for name in frame.columns if name not in hidden]
    first = frame[names[0]].astype("str") if names else pd.Series(dtype="str")
    competes = ~first.isin(list(reference_rows)).to_numpy()
    columns: list[list[str]] = []
    bold: set[tuple[int, int]] = set()
    second: set[tuple[int, int]] = set()
    for j, name in enumerate(names):
        own = 1 if name in in_percent else max(digits, 3) if name.startswith("p_") else digits
        columns.append(_cells(frame, name, bounds.get(name), own))
        if best and name in best:
            values = frame[name].to_numpy(dtype=float, na_value=np.nan)
            first_rows = _best(values, best[name], competes)
            bold.update((int(i), j) for i in first_rows)
            if underline:
                others = competes & ~np.isin(np.arange(len(values)), first_rows)
                second.update((int(i), j) for i in _best(values, best[name], others))
        if marked and name in marked:
            inside = first.isin(list(marked[name])).to_numpy() & competes & frame[name].notna().to_numpy()
            bold.update((int(i), j) for i in np.flatnonzero(inside))
    return TableText(
        tuple(name.replace("_", " ") for name in names),
        tuple(zip(*columns, strict=True)),
        frozenset(bold),
        tuple(pd.api.types.is_numeric_dtype(frame[name]) for name in names),
        frozenset(map(int, np.flatnonzero(~competes))),
        frozenset(second),
        _starts(frame[parts], competes) if parts else frozenset(),
        tuple(zip(*(_values(frame[name]) for name in names), strict=True)),
    )


def _values(column: pd.Series) -> list[str]:
    """The numbers of a column as text, empty where there is none."""
    if not pd.api.types.is_numeric_dtype(column):
        return [""] * len(column)
    numbers = column.to_numpy(dtype=float, na_value=np.nan)
    return [repr(float(value)) if np.isfinite(value) else "" for value in numbers]


def _starts(values: pd.Series, competes: np.ndarray) -> frozenset[int]:
    """The rows at which a value changes among those that compete."""
    names = values.astype("str").fillna("").to_numpy()
    changes = np.flatnonzero((names[1:] != names[:-1]) & competes[1:] & competes[:-1]) + 1
    return frozenset(map(int, changes))


def _bounds(frame: pd.DataFrame) -> dict[str, tuple[str, str]]:
    names = list(map(str, frame.columns))
    found = {name: (f"{name}_low", f"{name}_high") for name in names if {f"{name}_low", f"{name}_high"} <= set(names)}
    if {"low", "high"} <= set(names) and names.index("low") > 0:
        found[names[names.index("low") - 1]] = ("low", "high")
    return found


def _cells(frame: pd.DataFrame, name: str, bounds: tuple[str, str] | None, digits: int) -> list[str]:
    values = frame[name]
    if not pd.api.types.is_numeric_dtype(values):
        return ["\u2013" if pd.isna(value) else one_line(str(value)) for value in values]
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    ends = frame[list(bounds or ())].to_numpy(dtype=float, na_value=np.nan)
    probability = name.startswith("p_")
    if name.startswith("alpha"):
        return [NOT_AVAILABLE if np.isnan(value) else f"{value:.2g}" for value in numbers]
    shown = np.append(numbers, ends)
    digits = 0 if (shown[~np.isnan(shown)] % 1 == 0).all() and not probability else digits
    texts = [_number(value, digits, probability) for value in numbers]
    return [
        text if bounds is None or np.isnan(pair).any() else f"{text} [{pair[0]:.{digits}f}, {pair[1]:.{digits}f}]"
        for text, pair in zip(texts, ends, strict=True)
    ]


def _number(value: float, digits: int, probability: bool) -> str:
    if np.isnan(value):
        return NOT_AVAILABLE
    if probability and value < 10**-digits:
        return f"<{10**-digits:g}"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if not re.search("[1-9]", text) else text


def _best(values: np.ndarray, rule: Best, competes: np.ndarray) -> np.ndarray:
    candidates = np.where(competes, values, np.nan)
    if np.isnan(candidates).all():
        return np.array([], dtype=int)
    top = np.nanmax(candidates) if rule == "max" else np.nanmin(candidates)
    return np.flatnonzero(np.isclose(candidates, top, rtol=0, atol=1e-12))


@lru_cache(10_000)  # the cells of a table repeat each other
def latex_text(text: str) -> str:
    """Text of unknown origin that LaTeX prints as it is; a letter of a script that its fonts lack as its code point."""
    escaped = "".join(map(_latex_letter, unicodedata.normalize("NFC", one_line(text))))
    return _LIGATURE.sub(r"{}\g<0>", escaped)


def _latex_letter(letter: str) -> str:
    if letter in _LATEX:
        return _LATEX[letter]
    if letter.isascii() or letter in _PRINTED:
        return letter
    base, *marks = list(unicodedata.normalize("NFD", letter))
    if base.isascii() and marks and _ACCENTS.keys() >= set(marks):
        for mark in marks:
            base = rf"\{_ACCENTS[mark]}{{{base}}}"
        return base
    return f"[U+{ord(letter):04X}]"


def to_html(shown: TableText, caption: str) -> str:
    """The table as HTML, all text escaped; at most `MOST_ROWS` rows."""
    first = TableText.from_json(shown.as_json())
    more = len(shown.rows) - len(first.rows)
    return _template().render(**first.grid(), caption=f"{caption} ({more} more rows in the CSV)" if more else caption)


@cache
def _template() -> Template:
    """The one template of tables, which notebooks and the site share."""
    from jinja2 import Environment, FileSystemLoader  # slow to import; most commands print text

    folder = Path(__file__).parent / "html" / "templates"
    found = Environment(loader=FileSystemLoader(folder), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return found.get_template("notebook_table.html.jinja")


def _is_below_line(shown: TableText, row: int) -> bool:
    """Whether a row begins a part, or is the first of the references, where judges stand above them."""
    first_reference = row in shown.references and row > 0 and row - 1 not in shown.references
    return first_reference or row in shown.starts


def to_latex(shown: TableText, caption: str, label: str) -> str:
    """The table as LaTeX (booktabs), all text escaped; one that is longer than a page runs over several (longtable)."""
    shape = "".join("r" if number else "l" for number in shown.numeric)
    head = " & ".join(map(latex_text, shown.columns)) + " \\\\\n\\midrule\n"
    lines = []
    for i, row in enumerate(shown.rows):
        texts = [latex_text(text) for text in row]
        cells = (
            _latex_cell(text, bold=(i, j) in shown.best, under=(i, j) in shown.second) for j, text in enumerate(texts)
        )
        line = " & ".join(cells)
        # After the end of a row LaTeX takes a bracket or a star for an option of it.
        rule = "\\midrule\n" if _is_below_line(shown, i) else ""
        lines.append(rule + ("{}" if line.startswith(("[", "*")) else "") + line + r" \\")
    body = "".join(f"{line}\n" for line in lines) + "\\bottomrule\n"
    title = f"\\caption{{{latex_text(caption)}}}\\label{{tab:{label}}}"
    is_wide = _width(shown) > _WIDEST
    if len(shown.rows) > _ROWS_OF_A_PAGE:
        before, after, more = ("", "", "")
        if is_wide:
            before, after, more = "\\begin{landscape}\\scriptsize\n", "\\end{landscape}\n", ",lscape"
        return (
            f"% needs \\usepackage[T1]{{fontenc}} and \\usepackage{{booktabs,longtable{more}}}\n{before}"
            f"\\begin{{longtable}}{{{shape}}}\n{title}\\\\\n\\toprule\n{head}\\endfirsthead\n"
            f"\\toprule\n{head}\\endhead\n{body}\\end{{longtable}}\n{after}"
        )
    tabular = f"\\begin{{tabular}}{{{shape}}}\n\\toprule\n{head}{body}\\end{{tabular}}"
    if not is_wide:
        start, end = "% needs \\usepackage[T1]{fontenc} and \\usepackage{booktabs}\n\\begin{table}", "\n\\end{table}\n"
    else:
        tabular = f"\\resizebox{{\\textwidth}}{{!}}{{{tabular}}}"
        start = "% needs \\usepackage[T1]{fontenc} and \\usepackage{booktabs,graphicx,rotating}\n\\begin{sidewaystable}"
        end = "\n\\end{sidewaystable}\n"
    return f"{start}\n\\centering\n{title}\n{tabular}{end}"


def _latex_cell(text: str, *, bold: bool, under: bool) -> str:
    inner = rf"\textbf{{{text}}}" if bold else text
    return rf"\underline{{{inner}}}" if under else inner


def _width(shown: TableText) -> int:
    """The letters of a row, with what stands between columns."""
    cells = zip(shown.columns, *shown.rows, strict=True)
    return sum(2 + max(len(text) for text in column) for column in cells)


def spread(frame: pd.DataFrame, index: Sequence[str], *, columns: str, value: str) -> pd.DataFrame:
    """Lay the values of a long frame side by side, each with its interval.

    Parameters
    ----------
    frame : `index`, `columns`, `value`, low, high
    columns : its values become columns `<x>`, `<x>_low`, `<x>_high`, in order of first appearance

    Returns
    -------
    DataFrame
        One row per combination of `index`, in order of first appearance.
    """
    rows: pd.DataFrame = frame[list(index)].drop_duplicates().reset_index(drop=True)
    for name, part in frame.groupby(columns, sort=False):
        ends = {value: name, "low": f"{name}_low", "high": f"{name}_high"}
        rows = rows.merge(part[[*index, *ends]].rename(columns=ends), on=list(index), how="left", validate="1:1")
    rows.attrs = frame.attrs
    return rows


def explained(spec: Table) -> str:
    """Return what a table answers, what each of its columns and options means, and the notes on its method."""
    lines = [f"{spec.name}: {spec.question}", "", *_meanings(spec, spec.columns)]
    if spec.options:
        lines += ["", "Options:"]
    lines += [
        f"--{name.replace('_', '-')}: {option.help}; default {spec.default_text(name)}"
        for name, option in spec.options.items()
    ]
    _, _, notes = (inspect.getdoc(spec.make) or "").partition("\nNotes\n-----\n")
    return "\n".join([*lines, *(["", notes] if notes else [])])


def _meanings(spec: Table, columns: Sequence[str]) -> list[str]:
    """Return a line per column: its name, its unit, its meaning and the source of the method."""
    declared = [(name, spec.column(name)) for name in columns]
    longest = max(len(name) for name in columns)
    return [
        f"{name:<{longest}}  {column.unit:<11}  {column.meaning}" + (f" ({column.source})" if column.source else "")
        if column
        else f"{name:<{longest}}  (the table does not say)"
        for name, column in declared
    ]
