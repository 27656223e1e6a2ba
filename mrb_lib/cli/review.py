"""`mrb review`: the cases that judges got wrong, in a browser, for reviewers to look at and to adjudicate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mrb_lib.cli.adjudications import Where, where

if TYPE_CHECKING:
    from mrb_lib.data.benchmark import Benchmark

_CELL = "from mrb_lib.widgets.explorer.app import review_app\nreview_app()"


def review(
    bench: Annotated[str, typer.Argument(metavar="BENCH", help="The benchmark folder, or demo for the embedded one.")],
    runs: Annotated[Path | None, typer.Argument(metavar="[RUNS]", help="The runs; default: BENCH/runs.")] = None,
    store: Where = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="The port; default: a free one.")] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    allow_remote: Annotated[bool, typer.Option("--allow-remote", help="Let other machines reach it.")] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Open the failure explorer in a browser; reviewers' marks go into the store.

    The address it prints holds a token, and is all that protects the page: a reviewer's name is not a password.
    """
    from mrb_lib.cli.findings import echo_stale_runs
    from mrb_lib.cli.servers import check_app, serve_app
    from mrb_lib.data.benchmark import load
    from mrb_lib.notebook.places import locate

    check_app(host, port, allow_remote)
    folders = locate(bench, "" if runs is None else str(runs))
    benchmark = load(folders.benchmark)
    echo_stale_runs(folders.runs, benchmark)
    index = _index(benchmark, folders.benchmark, folders.runs)
    chosen = str(where(folders.benchmark, store))
    environment = {
        "MRB_REVIEW_BENCHMARK": str(folders.benchmark.absolute()),
        "MRB_REVIEW_INDEX": str(index),
        "MRB_REVIEW_STORE": chosen if "://" in chosen else str(Path(chosen).absolute()),
    }
    typer.echo(f"reviews are kept in {_shown(chosen)}", err=True)
    serve_app(
        [_CELL], title=f"Failures: {benchmark.meta.name}", host=host, port=port, allow_remote=allow_remote,
        browse=not no_browser, environment=environment,
    )  # fmt: skip


def _index(benchmark: Benchmark, folder: Path, runs: Path | None) -> Path:
    """The folder of the benchmark's index, made where it is missing or out of date."""
    from mrb_lib.cli.progress import bars
    from mrb_lib.notebook.places import home
    from mrb_lib.stats.failures.case_index import cached_index

    with bars() as step:
        return cached_index(benchmark, folder, runs, home() / "review", progress=step).folder.absolute()


def _shown(store: str) -> str:
    """The store as it may be printed: without a password."""
    from mrb_lib.reviews.database import without_password

    return without_password(store)
