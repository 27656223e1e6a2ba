"""The figures that a notebook can show by name: each is registered where it is drawn."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from inspect import unwrap
from pathlib import Path
from string import Formatter
from typing import Final, TypeVar

from mrb_lib.figures.style import Paper
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.registry import Registry

WORDS: Final = {
    "dimension": "the dimension that is drawn, or that orders the rows",
    "by": "what the subfields or domains are: organ, department, dataset, ...",
    "note": "what is to be said of the data first or last, as that a judge has random weights; may be empty",
    "given": "what the pulls of `bias` hold fixed: quality or the gold label",
    "n_shown": "how many annotators, datasets or cases are drawn",
    "n_all": "how many of them there are",
    "n_judges": "how many judges there are",
    "n_subfields": "how many subfields there are at most",
    "n_adjudicated": "how many labels reviewers saw",
    "n_changed": "how many of them became another label",
    "n_removed": "how many of them became none",
    "correction": "how p-values are corrected for the number of tests, such as holm",
    "epsilon": "what an annotator's time is worth in the alternative annotator test",
    "reference": "what agreement is with: the label by the gold rule, or one annotator",
    "target": "the agreement that is promised, as a percentage",
    "confidence": "how surely it is promised, as a percentage",
    "taus": "each gold rule with Kendall's tau between its ranking and the majority's",
    "rule": "by which rule the cases are chosen, as a sentence without a full stop",
    "then": "what was compared with: the name of a benchmark and how many cases",
    "now": "the same of the benchmark at hand",
    "unacceptable": "the categories of a rating that are not acceptable, in words",
    "cost": "what the cost of a jury is measured in, see `mrb_lib.figures.jury.UNITS`",
}
"""The names in braces that the texts of figures may hold, and what a notebook replaces them by."""

Draw = TypeVar("Draw", bound=Callable[..., Paper])


@dataclass(frozen=True)
class FigureSpec:
    """A figure and the words beside it.

    Attributes
    ----------
    id : lower-case words joined by hyphens, stable for ever: the name of its files
    title, caption, reading : what it shows; on what data and how; how to read it. In the last two a name in braces, as
        `{dimension}`, is replaced by what the notebook says; `WORDS` lists them
    needs : what the data must have, see `absent.missing`; else the figure is absent, with a reason
    draw : frame in, figure out; computes no statistics. Of its parameters, `judges` (all, in the order of the report),
        `dimension`, `by` and the options of the table are filled in
    table : the table of `mrb analyze` that it draws
    by : whether it draws subfields
    parts : the parts of the table whose rows it draws; empty for all
    shows : the column that it draws; where that is null throughout, the figure does not apply
    cases : the list of `mrb_lib.report.links` that its marks lead to; empty where they lead nowhere
    is_main : whether `Table.plot` draws it where no figure is named
    n : the column that counts the cases behind a row, where that is neither `n` nor `n_cases`
    """

    id: str
    title: str
    caption: str
    reading: str
    needs: tuple[str, ...]
    draw: Callable[..., Paper]
    table: str = ""
    by: bool = False
    parts: tuple[str, ...] = ()
    shows: str = ""
    cases: str = ""
    is_main: bool = False
    n: str = ""

    @property
    def words(self) -> frozenset[str]:
        """The names in braces in the caption and the reading."""
        texts = Formatter().parse(self.caption + self.reading)
        return frozenset(name for _, name, _, _ in texts if name is not None)

    def filled(self, words: Mapping[str, object]) -> FigureSpec:
        """The figure with the names in braces replaced.

        Raises
        ------
        InputError
            A name has no word; the message says which.
        """
        absent = sorted(self.words - set(words))
        if absent:
            raise InputError(f"the texts of the figure {self.id} need words for {', '.join(absent)}.")
        caption, reading = (" ".join(text.format(**words).split()) for text in (self.caption, self.reading))
        return replace(self, caption=caption, reading=reading)


FIGURES: Final[Registry[FigureSpec]] = Registry("figure", "mrb_lib.figures")


def figure(
    id: str,  # the name of the column in index.json
    *,
    title: str = "",
    caption: str = "",
    reading: str = "",
    needs: tuple[str, ...] = (),
    table: str = "",
    by: bool = False,
    parts: tuple[str, ...] = (),
    shows: str = "",
    cases: str = "",
    is_main: bool = False,
    n: str = "",
) -> Callable[[Draw], Draw]:
    """Register the function below as what draws a figure; one function may draw several.

    Parameters
    ----------
    title, caption, reading : left out where `captions/MODULE.toml`, beside the module of the function, has them
    others : see `FigureSpec`
    """

    def register(draw: Draw) -> Draw:
        texts: Mapping[str, str] = {"title": title, "caption": caption, "reading": reading}
        if not title:
            texts = _texts(unwrap(draw).__code__.co_filename)[id]
        FIGURES.add(
            id,
            FigureSpec(id, **texts, needs=needs, draw=draw, table=table, by=by, parts=parts, shows=shows, cases=cases,
                       is_main=is_main, n=n),
        )  # fmt: skip
        return draw

    return register


@cache
def _texts(source: str) -> Mapping[str, Mapping[str, str]]:
    """The texts of the figures of a module, by id."""
    path = Path(source)
    return tomllib.loads((path.parent / "captions" / f"{path.stem}.toml").read_text(encoding="utf-8"))
