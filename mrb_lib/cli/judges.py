"""`mrb judges`: the roster."""

from __future__ import annotations

import typer


def judges() -> None:
    """List the judges: name, access, family, size, engine, needs."""
    from mrb_lib.cli.render import as_text
    from mrb_lib.judges.roster import roster

    typer.echo(as_text(roster()))
