"""`mrb pull`: download the published dataset."""

from pathlib import Path
from typing import Annotated

import typer

from mrb_lib.benchmarks.hub import download_dataset
from mrb_lib.cli.findings import echo_findings
from mrb_lib.cli.writing import import_summary, write_imported
from mrb_lib.tables.files import staged_folder


def pull(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The benchmark folder to write.")],
    revision: Annotated[str | None, typer.Option(help="A commit, branch or tag; default: the newest.")] = None,
    repo: Annotated[str, typer.Option(help="The dataset on the Hub.")] = "Nandzy/Med-RewardBench",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if this program wrote it.")] = False,
) -> None:
    """Download the published dataset from the Hub and record its exact revision.

    Honours HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE; goes on where an interrupted download stopped.
    """
    with staged_folder(out, overwrite=overwrite) as folder:
        imported = download_dataset(repo=repo, revision=revision)
        meta = imported.benchmark.meta
        removed = write_imported(imported, folder, meta.source)
    echo_findings([*imported.findings, *removed])
    typer.echo(f"{import_summary(imported, out)}; {repo} at {meta.revision}")
