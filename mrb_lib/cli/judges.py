"""`mrb judges`: the roster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mrb_lib.cli.options import Command

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from typer._click.core import Context  # the copy of click that Typer's own classes speak of
    from typer._click.formatting import HelpFormatter

_TEXT_COLUMNS = ("name", "access", "domain", "family", "size", "weights_gb", "engine", "needs")
_FROM_NAME = "*"
"""Marks a size that is taken from a name."""
_SEARCHED = ("name", "model", "family", "needs", "about")


class EnginesCommand(Command):
    """A command whose own help lists the engines, which are looked up only then."""

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        """The engines, each with what it does."""
        from mrb_lib.judges import ENGINES

        with formatter.section("Engines"):
            formatter.write_dl([(name, engine.about) for name, engine in ENGINES.items()])
        super().format_epilog(ctx, formatter)


def judges(
    access: Annotated[str | None, typer.Option(help='Only these: open, proprietary or "built in".')] = None,
    domain: Annotated[str | None, typer.Option(help="Only these: general, medical, critic or reward.")] = None,
    family: Annotated[str | None, typer.Option(help="Only those of a family, as Qwen3-VL.")] = None,
    engine: Annotated[str | None, typer.Option(help="Only those with one of the engines below.")] = None,
    fits: Annotated[
        bool, typer.Option("--fits", help="Only those whose weights fit this machine; see `mrb doctor`.")
    ] = False,
    show_gaps: Annotated[
        bool, typer.Option("--gaps", help="What could not be checked of each model, and how often.")
    ] = False,
    search: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only those with this in name, model, family, needs or about.")
    ] = None,
    rosters: Annotated[
        list[Path] | None,
        typer.Option("--roster", metavar="FILE", envvar="MRB_ROSTER", help="More judges, in a TOML file; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout, with every column.")] = False,
) -> None:
    """List the judges: name, access, family, size, engine, needs; or what is unknown of them.

    A * at a size says that the number of parameters is unknown and the size in the name is taken, for --fits too.
    """
    from mrb_lib.cli.listing import listing, terminal_width
    from mrb_lib.cli.render import as_json as to_json
    from mrb_lib.judges.roster.roster import gaps, roster

    extra = tuple(rosters or ())
    table = roster(extra)
    for column, value in (("access", access), ("domain", domain), ("family", family), ("engine", engine)):
        table = _only(table, column, value)
    if search is not None:
        texts = table[list(_SEARCHED)].fillna("").agg("\n".join, axis="columns").str.casefold()
        table = table[texts.str.contains(search.casefold(), regex=False)]
    if fits:
        table = _fitting(table, extra)
    unknown = gaps(extra)
    shown = unknown[unknown["name"].isin(table["name"])] if show_gaps else table
    if as_json:
        typer.echo(to_json(shown, table="gaps" if show_gaps else "judges", policy="", simulated=False))
    elif shown.empty:
        typer.echo("no judge matches; leave a filter out" if table.empty else "nothing is missing", err=True)
    elif show_gaps:
        typer.echo(listing(shown[["name", "access", "missing"]], width=terminal_width(None)))
        typer.echo(_count(shown, table), err=True)
    else:
        typer.echo(listing(_marked(shown)[list(_TEXT_COLUMNS)], width=terminal_width(None)))
        if (shown["size_from"] == "name").any():
            typer.echo(f"{_FROM_NAME} size taken from the name: the number of parameters is unknown", err=True)


def _marked(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with a mark at sizes that are taken from a name; those without any `size` get the one that was taken."""
    from_name = table["size_from"] == "name"
    taken = table["size"].fillna((table["weights_gb"] / 2).map("{:g}B".format)) + _FROM_NAME
    return table.assign(size=table["size"].mask(from_name, taken))


def _count(unknown: pd.DataFrame, table: pd.DataFrame) -> str:
    """How many of the models of a table lack what."""
    models = table["access"].isin(["open", "proprietary"]).sum()
    counts = unknown["missing"].str.split(", ").explode().value_counts()
    return f"of {models} models: " + ", ".join(f"{count} without {key}" for key, count in counts.items())


def _only(table: pd.DataFrame, column: str, value: str | None) -> pd.DataFrame:
    """The rows with a value, upper and lower case alike; a value that no judge has is refused."""
    from mrb_lib.tables.errors import InputError

    if value is None:
        return table
    matches = table[column].str.casefold() == value.casefold()
    if not matches.any() and column != "family":
        values = sorted(table[column].dropna().unique())
        raise InputError(f"--{column} {value!r}: no judge left has it; there are {', '.join(values) or 'none'}.")
    return table[matches.fillna(False)]


def _fitting(table: pd.DataFrame, extra: Sequence[Path]) -> pd.DataFrame:
    """The judges that this machine can run; how many were left out because that is unknown is said, and why."""
    from mrb_lib.judges.roster.machine import inspect_machine
    from mrb_lib.judges.roster.roster import entries

    machine = inspect_machine()
    fits = {entry.name: {machine.fits_gpu(entry), machine.fits_cpu(entry)} for entry in entries(extra)}
    # None: no weights to fit.
    is_fitting = table["name"].map(lambda name: bool(fits[name] & {"yes", None}))
    is_unknown = table["name"].map(lambda name: "yes" not in fits[name] and "unknown" in fits[name]).astype(bool)
    has_size = table["weights_gb"].notna()
    if (is_unknown & ~has_size).any():
        typer.echo(f"left out: {(is_unknown & ~has_size).sum()} judges of unknown size", err=True)
    if (is_unknown & has_size).any():
        what = "the memory of a GPU is not known without torch" if machine.gpus is None else "the memory is not known"
        typer.echo(f"left out: {(is_unknown & has_size).sum()} judges, as {what}", err=True)
    return table[is_fitting.astype(bool)]
