"""`mrb demo`: write the embedded benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write.")],
    cases: Annotated[int, typer.Option(min=1, help="Number of cases.")] = 1026,
    seed: Annotated[int, typer.Option(min=0, help="The seed everything is drawn from.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if this program wrote it.")] = False,
) -> None:
    """Write the embedded benchmark: SIMULATED cases, images, answers and annotators."""
    from mrb_lib.cli.progress import bars
    from mrb_lib.data.demo import write_demo
    from mrb_lib.files import staged_folder

    with staged_folder(out, overwrite=overwrite) as folder, bars() as step:
        write_demo(folder, cases=cases, seed=seed, progress=lambda done: step("cases", done, cases))
    typer.echo(f"{out}: {cases} SIMULATED cases, seed {seed}")
