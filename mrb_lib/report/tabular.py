"""A frame as a table for readers: rounded, intervals beside their values, the best in bold, everything escaped."""

from __future__ import annotations

import inspect
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from mrb_lib.review.pages import visible
from mrb_lib.stats.columns import Table

if TYPE_CHECKING:
    from jinja2 import Environment

Best = Literal["max", "min"]
NOT_AVAILABLE = "n/a"
_TERMS = {
    "p_value": "p", "p_adjusted": "adjusted p", "permutation_f": "permutation F", "df_error": "error df",
    "best_single": "best single judge", "dawid_skene": "Dawid-Skene", "cohen_kappa": "Cohen's kappa",
    "krippendorff_alpha": "Krippendorff's alpha", "gwet_ac1": "Gwet's AC1", "auroc": "AUROC",
    "ece_debiased": "debiased ECE", "brier": "Brier score", "family": "tests corrected together",
}  # fmt: skip
_VOCABULARY = re.compile("bias|by|department|dimension|kind|marker|modality|organ|part|rule|subfield|test")
"""Columns whose values are terms; others hold names, which stay as they are."""
MOST_ROWS = 200
TEMPLATES = Path(__file__).parent / "html" / "templates"
_ROWS_OF_A_PAGE = 40
_WIDEST = 90  # letters in 10 points on a page of LaTeX's article; a wider table is turned and scaled to the page

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}", "\u2265": r"\ensuremath{\geq}",
    "\u2264": r"\ensuremath{\leq}", "\u2260": r"\ensuremath{\neq}", "\u2248": r"\ensuremath{\approx}",
    "\u2212": r"\ensuremath{-}", "\u221e": r"\ensuremath{\infty}", "\u03bb": r"\ensuremath{\lambda}",
}  # fmt: skip
_GREEK = "alpha beta gamma delta epsilon eta theta kappa mu nu pi rho sigma tau phi chi psi omega"
_LATEX |= {unicodedata.lookup(f"GREEK SMALL LETTER {name}"): rf"\ensuremath{{\{name}}}" for name in _GREEK.split()}
# What LaTeX prints as it is with T1 fonts: Latin letters of Europe and marks of print; tried one by one with pdflatex.
_PRINTED = {*map(chr, range(0xA1, 0x180))} - {*"\u00ad\u0126\u0127\u0138\u013f\u0140\u0149\u0166\u0167\u017f"}
_PRINTED |= {*"\u2010\u2013\u2014\u2018\u2019\u201c\u201d\u201e\u2020\u2021\u2022\u2026\u2030\u20ac\u2122\u2190\u2192"}
_LIGATURE = re.compile("(?<=-)-|(?<=,),")  # TeX would join two of them to another sign


def one_line(text: str) -> str:
    """Text on one line, without the control characters that would steer a reader's program."""
    spaced = " ".join(text.split())
    if spaced.isprintable():  # then no letter is of a category C; it is asked of every cell of a table
        return spaced
    return "".join(letter for letter in spaced if not unicodedata.category(letter).startswith("C"))


def words(name: str) -> str:
    """The name of a column, or a term in a cell, as a reader would write it: `p_adjusted` becomes "adjusted p"."""
    return _TERMS.get(name, name.replace("_", " "))


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

    def grid(self) -> dict[str, Any]:
        """Return what the template of tables shows, as JSON holds it: the first `MOST_ROWS` rows.

        `columns`, each a name and whether it holds numbers; `rows`; `references`, the rows that stand below a line. A
        cell of a column `case_id` has the id as its `case`.
        """
        made = []
        for i, (row, values) in enumerate([*zip(self.rows, self.values, strict=True)][:MOST_ROWS]):
            cells = []
            for j, (text, value) in enumerate(zip(row, values, strict=True)):
                estimate, bracket, rest = text.partition(" [") if value else (text, "", "")
                case = text if self.columns[j] == "case id" else ""
                marks = {"best": (i, j) in self.best, "second": (i, j) in self.second, "case": case}
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
    reference_rows: Collection[str] = (),
    parts: str = "",
    underline: bool = False,
    digits: int = 3,
    in_percent: Collection[str] = (),
    raw: bool = False,
) -> TableText:
    """Turn a frame into the text of a table.

    Parameters
    ----------
    frame : a column `x` with `x_low` and `x_high` beside it (or `low` and `high` after the only such column) is shown
        as one: value [low, high]
    best : for each column named, which value to mark; equal values are all marked
    reference_rows : values of the first column whose rows are shown but do not compete
    parts : a column that divides the rows into parts, with a line where its value changes; empty for none
    underline : also mark the next best value of each column in `best`; equal values are all marked, and are second
        however many are first
    digits : decimals of numbers that are not whole; p-values have at least three
    in_percent : columns of shares that are shown as percentages, with one decimal
    raw : keep names of columns and terms as they are, underscores and all, for programs
    """
    bounds = _bounds(frame)
    scaled = [each for name in in_percent for each in (name, *bounds.get(name, ()))]
    frame = frame.assign(**{name: 100 * frame[name].astype("float64") for name in scaled})
    hidden = {name for pair in bounds.values() for name in pair}
    names = [name for name in frame.columns if name not in hidden]
    competes = ~frame[names[:1]].astype("str").isin(list(reference_rows)).any(axis=1).to_numpy()
    columns: list[list[str]] = []
    bold: set[tuple[int, int]] = set()
    second: set[tuple[int, int]] = set()
    for j, name in enumerate(names):
        own = 1 if name in in_percent else max(digits, 3) if name.startswith("p_") else digits
        cells = _cells(frame, name, bounds.get(name), own)
        columns.append([*map(words, cells)] if _VOCABULARY.fullmatch(name) and not raw else cells)
        if best and name in best:
            winners = _best(frame[name], best[name], competes)
            bold |= {(i, j) for i in np.flatnonzero(winners).tolist()}
            others = _best(frame[name], best[name], competes & ~winners & underline)
            second |= {(i, j) for i in np.flatnonzero(others).tolist()}
    return TableText(
        tuple(names if raw else map(words, names)),
        tuple(zip(*columns, strict=True)),
        frozenset(bold),
        tuple(pd.api.types.is_numeric_dtype(frame[name]) for name in names),
        frozenset(np.flatnonzero(~competes).tolist()),
        frozenset(second),
        _starts(frame[parts], competes) if parts else frozenset(),
        tuple(zip(*(_values(frame[name]) for name in names), strict=True)),
    )


def _numbers(column: pd.Series) -> np.ndarray:
    """A column as floats, NaN where there is no number."""
    is_numeric = pd.api.types.is_numeric_dtype(column)
    return column.to_numpy(dtype=float, na_value=np.nan) if is_numeric else np.full(len(column), np.nan)


def _values(column: pd.Series) -> list[str]:
    """The numbers of a column as text, empty where there is none."""
    return [repr(value) if np.isfinite(value) else "" for value in _numbers(column).tolist()]


def _starts(values: pd.Series, competes: np.ndarray) -> frozenset[int]:
    """The rows at which a value changes among those that compete."""
    names = values.astype("str").fillna("").to_numpy()
    changes = np.flatnonzero((names[1:] != names[:-1]) & competes[1:] & competes[:-1]) + 1
    return frozenset(changes.tolist())


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
    numbers = _numbers(values)
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


def _best(column: pd.Series, rule: Best, competes: np.ndarray) -> np.ndarray:
    """Return which rows hold the best value of those that compete."""
    values = np.where(competes, _numbers(column), np.nan)
    top = pd.Series(values).agg(rule)
    return np.isclose(values, top, rtol=0, atol=1e-12)


def latex_text(text: str) -> str:
    """Text of unknown origin that LaTeX prints as it is; a letter of a script that its fonts lack as its code point."""
    escaped = "".join(map(_latex_letter, unicodedata.normalize("NFC", one_line(text))))
    return _LIGATURE.sub(r"{}\g<0>", escaped)


def _latex_letter(letter: str) -> str:
    plain = letter.isascii() or letter in _PRINTED
    return _LATEX.get(letter, letter if plain else f"[U+{ord(letter):04X}]")


def to_html(shown: TableText, caption: str) -> str:
    """The table as HTML, all text escaped; at most `MOST_ROWS` rows."""
    more = len(shown.rows[MOST_ROWS:])
    caption = f"{caption} ({more} more rows in the CSV)" if more else caption
    return templates().get_template("notebook_table.html.jinja").render(block=shown.grid(), caption=caption)


@cache
def templates() -> Environment:
    """The templates of notebooks and of the site, each compiled once: that takes longer than to fill all of them in.

    Text without what no page can hold is escaped; what is HTML already stays as it is.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # slow to import; most commands print text

    return Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=lambda value: visible(value) if type(value) is str else value,
    )  # fmt: skip


def to_latex(shown: TableText, caption: str, label: str) -> str:
    """The table as LaTeX (booktabs), all text escaped; one that is longer than a page runs over several (longtable)."""
    shape = "".join("r" if number else "l" for number in shown.numeric)
    head = " & ".join(map(latex_text, shown.columns)) + " \\\\\n\\midrule\n"
    body = "".join(_latex_row(shown, i) for i in range(len(shown.rows))) + "\\bottomrule\n"
    title = f"\\caption{{{latex_text(caption)}}}\\label{{tab:{label}}}"
    is_wide = _width(shown) > _WIDEST
    if len(shown.rows) > _ROWS_OF_A_PAGE:
        packages = ",longtable,lscape" if is_wide else ",longtable"
        table = (
            f"\\begin{{longtable}}{{{shape}}}\n{title}\\\\\n\\toprule\n{head}\\endfirsthead\n"
            f"\\toprule\n{head}\\endhead\n{body}\\end{{longtable}}\n"
        )
        table = f"\\begin{{landscape}}\\scriptsize\n{table}\\end{{landscape}}\n" if is_wide else table
    else:
        packages, place = (",graphicx,rotating", "sidewaystable") if is_wide else ("", "table")
        tabular = f"\\begin{{tabular}}{{{shape}}}\n\\toprule\n{head}{body}\\end{{tabular}}"
        tabular = f"\\resizebox{{\\textwidth}}{{!}}{{{tabular}}}" if is_wide else tabular
        table = f"\\begin{{{place}}}\n\\centering\n{title}\n{tabular}\n\\end{{{place}}}\n"
    return f"% needs \\usepackage[T1]{{fontenc}} and \\usepackage{{booktabs{packages}}}\n{table}"


def _latex_row(shown: TableText, i: int) -> str:
    """A row, with a line above it where it begins a part, or is the first of the references below judges."""
    cells = []
    for j, text in enumerate(map(latex_text, shown.rows[i])):
        inner = rf"\textbf{{{text}}}" if (i, j) in shown.best else text
        cells.append(rf"\underline{{{inner}}}" if (i, j) in shown.second else inner)
    line = " & ".join(cells)
    first_reference = i in shown.references and i > 0 and i - 1 not in shown.references
    rule = "\\midrule\n" if first_reference or i in shown.starts else ""
    # After the end of a row LaTeX takes a bracket or a star for an option of it.
    return f"{rule}{'{}' if line.startswith(('[', '*')) else ''}{line} \\\\\n"


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
    longest = max(map(len, spec.columns))
    lines = [f"{spec.name}: {spec.question}", ""]
    for column in filter(None, map(spec.column, spec.columns)):
        source = f" ({column.source})" if column.source else ""
        lines.append(f"{column.name:<{longest}}  {column.unit:<11}  {column.meaning}{source}")
    lines += ["", "Options:"] if spec.options else []
    for name, option in spec.options.items():
        lines.append(f"--{name.replace('_', '-')}: {option.help}; default {spec.default_text(name)}")
    _, _, notes = (inspect.getdoc(spec.make) or "").partition("\nNotes\n-----\n")
    return "\n".join([*lines, *(["", notes] if notes else [])])
