"""The figures of tables: each is registered where it is drawn, its texts in a TOML file beside it."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import unwrap
from pathlib import Path
from typing import Final, TypeVar

from mrb_lib.figures.style import Paper
from mrb_lib.tables.registry import Registry

Draw = TypeVar("Draw", bound=Callable[..., Paper])


@dataclass(frozen=True)
class FigureSpec:
    """A figure and the words beside it.

    Attributes
    ----------
    id : lower-case words joined by hyphens, stable for ever: the name of its files
    title, caption, reading : what it shows; on what data and how; how to read it. A name in braces, as `{dimension}`,
        is replaced as a parameter of `draw` is filled in
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
    draw: Callable[..., Paper]
    table: str = ""
    by: bool = False
    parts: tuple[str, ...] = ()
    shows: str = ""
    cases: str = ""
    is_main: bool = False
    n: str = ""


FIGURES: Final[Registry[FigureSpec]] = Registry("figure", "mrb_lib.figures")


def figure(
    id: str,  # the name of the column in index.json
    *,
    title: str = "",
    caption: str = "",
    reading: str = "",
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
            FigureSpec(id, **texts, draw=draw, table=table, by=by, parts=parts, shows=shows, cases=cases,
                       is_main=is_main, n=n),
        )  # fmt: skip
        return draw

    return register


@cache
def _texts(source: str) -> Mapping[str, Mapping[str, str]]:
    """The texts of the figures of a module, by id."""
    path = Path(source)
    return tomllib.loads((path.parent / "captions" / f"{path.stem}.toml").read_text(encoding="utf-8"))
