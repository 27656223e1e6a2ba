"""`mrb construct status`: where a work folder stands, and what to run next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    work: Annotated[Path, typer.Argument(metavar="WORK", help="The work folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say where a work folder stands: items by step, reason and organ, what is stale, and what to run next."""
