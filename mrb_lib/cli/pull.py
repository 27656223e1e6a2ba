"""`mrb pull`: download the published dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def pull(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The benchmark folder to write.")],
    revision: Annotated[str | None, typer.Option(help="A commit, branch or tag; default: the newest.")] = None,
    repo: Annotated[str, typer.Option(help="The dataset on the Hub.")] = "Nandzy/Med-RewardBench",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if this program wrote it.")] = False,
) -> None:
    """Download the published dataset from the Hub and record its exact revision.

    Honours HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE; goes on where an interrupted download stopped.
    """
    from mrb_lib.data.benchmark import read_meta
    from mrb_lib.data.hub import pull as download

    download(out, repo=repo, revision=revision, overwrite=overwrite)
    typer.echo(f"{out}: {repo} at {read_meta(out / 'benchmark.toml').revision}")
