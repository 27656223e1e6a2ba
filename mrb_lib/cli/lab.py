"""`mrb lab`: JupyterLab on a benchmark and its runs, with the library's notebooks set to them."""

import os
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.cli.findings import echo_stale_runs
from mrb_lib.cli.options import Runs, Store, declares, options_from
from mrb_lib.cli.serving import ServerOptions

COMMAND = declares(ServerOptions(), without=("base_url", "new_token"))


def lab(
    context: typer.Context,
    bench: Annotated[str, typer.Argument(metavar="BENCH", help="The benchmark folder, or demo for the embedded one.")],
    runs: Runs = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="Where your notebooks are, never overwritten; default: mrb-lab/BENCH, here."),
    ] = None,
    store: Store = None,
    no_open: Annotated[bool, typer.Option("--prepare", help="Write the notebooks; start nothing.")] = False,
) -> None:
    """Open JupyterLab on the library's notebooks, with benchmark, runs and reviews set.

    Anyone with its token can run code as you.
    """
    from mrb_lib.cli.lab_server import check_lab, serve_lab
    from mrb_lib.report.lab import prepare
    from mrb_lib.report.places import DEMO, RATINGS, locate

    server = options_from(ServerOptions(), context)
    if not no_open:
        check_lab(server)
    folders = locate(bench, "" if runs is None else str(runs))
    echo_stale_runs(folders.runs, load(folders.benchmark))
    is_embedded = bench in (DEMO, RATINGS)
    name = bench if is_embedded else folders.benchmark.absolute().name
    benchmark = bench if is_embedded else str(folders.benchmark.absolute())
    written = prepare(folder or Path("mrb-lab") / name, benchmark, "" if runs is None else str(runs.absolute()))
    start, kept = next(iter(written)), sum(written.values())
    made = len(written) - kept
    typer.echo(f"{start.parent}: {made} notebooks written" + (f", {kept} kept as they were" if kept else ""), err=True)
    if no_open:
        typer.echo(str(start))
        return
    serve_lab(start, server, _environment(store))


def _environment(store: str | None) -> dict[str, str]:
    """Return variables for the kernels: the store, that pages can answer, and the quiet settings of JupyterLab.

    A password in a URL stays out of the notebooks; a path is made absolute, since kernels work in another folder.
    """
    settings = [str(files("mrb_lib.review") / "jupyterlab"), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    environment = {"MRB_STATIC": "", "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, settings))}
    if store is not None:
        environment["MRB_STORE"] = store if "://" in store else str(Path(store).absolute())
    return environment
