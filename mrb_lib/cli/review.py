"""`mrb review`: the cases that judges got wrong, in a browser, for reviewers to look at and to adjudicate."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.cli.annotate import names_in
from mrb_lib.cli.findings import echo_stale_runs
from mrb_lib.cli.listing import count
from mrb_lib.cli.options import Bench, Runs, Store, declares, options_from, where
from mrb_lib.cli.progress import bars
from mrb_lib.cli.serving import ServerOptions, app_address
from mrb_lib.probes.from_file import file_probes
from mrb_lib.review.explorer.answers import explore
from mrb_lib.review.failures.index import build_index, open_index
from mrb_lib.review.failures.query import PLACES, Query, from_fragment, select, to_fragment
from mrb_lib.review.records.assignment import assign
from mrb_lib.review.records.store import REVIEW, open_store, without_password
from mrb_lib.stats.options import check_choice
from mrb_lib.stats.where import cases_where, values_by_case
from mrb_lib.tables.errors import InputError

_WRONG = "kind=wrong"


COMMAND = declares(ServerOptions())


def review(
    context: typer.Context,
    bench: Bench,
    runs: Runs = None,
    store: Store = None,
    assign: Annotated[
        str | None, typer.Option(metavar="NAME,NAME", help="Assign cases to these reviewers; earlier ones stay.")
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(metavar="FILTER", help="The cases to open, or to assign: what follows # in the page's address."),
    ] = None,
    overlap: Annotated[int, typer.Option(min=1, help="Reviewers a case.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the assignment.")] = 0,
    open_opinions: Annotated[
        bool, typer.Option("--open", help="Show what others say of a case before one's own review is saved.")
    ] = False,
    probe_files: Annotated[
        list[Path] | None,
        typer.Option("--probe-file", metavar="FILE", help="Show what this file of `mrb judge --probe-file` changes."),
    ] = None,
) -> None:
    """Open the failure explorer in a browser; reviewers' marks go into the store.

    With --query the page opens at these cases, for example --query "judge=NAME&where=length > 700". With --assign the
    cases that judges got wrong, or that --query finds, are assigned first, and the page opens at them: a reviewer finds
    theirs under Reviews, "Assigned to me". What others say of a case is hidden until one's own review of it is saved.

    The address it prints holds a token, and is all that protects the page: a reviewer's name is not a password. The
    token is kept in the benchmark's folder, so that the address is the same next time.
    """
    from mrb_lib.report.places import locate
    from mrb_lib.review.server import serve

    file_probes(probe_files or [])  # one that cannot be read is refused before anything is made
    wanted, case = from_fragment(_WRONG if query is None else query)
    folders = locate(str(bench), "" if runs is None else str(runs))
    server = options_from(ServerOptions(), context)
    address = app_address(folders.benchmark, "review", server)
    benchmark = load(folders.benchmark)
    echo_stale_runs(folders.runs, benchmark)
    index = _index(benchmark, folders.benchmark, folders.runs)
    chosen = str(where(folders.benchmark, store))
    fragment = ""
    if assign is not None:
        _deal(benchmark, index, chosen, assign, wanted, overlap, seed)
        fragment = to_fragment(replace(wanted, review="queue"), case)
    elif query is not None:
        _check(benchmark, index, wanted, case)
        fragment = to_fragment(wanted, case)
    typer.echo(f"reviews are kept in {without_password(chosen)}", err=True)
    app = explore(benchmark, open_index(index), store=chosen, blind=not open_opinions, probe_files=probe_files or ())
    serve(app, address, browse=server.browser, fragment=fragment)


def _index(benchmark: Benchmark, folder: Path, runs: Path | None) -> Path:
    """The folder of the benchmark's index, made where it is missing or out of date."""
    from mrb_lib.report.places import home

    with bars() as step:
        own = sha256(f"{folder.absolute()}\n{runs.absolute() if runs else ''}".encode()).hexdigest()[:16]
        return build_index(runs, benchmark, home() / "review" / own, step).absolute()


def _check(benchmark: Benchmark, index: Path, query: Query, case: str) -> None:
    """Refuse a query that asks for what is not here, before a page can say so; what reviewers did may still change."""
    ids = set(benchmark.cases["case_id"])
    if case and case not in ids:
        raise InputError(f"--query: there is no case {case!r} in {benchmark.meta.name}; name another.")
    asked = [query.review] if query.review else []

    def unknown_yet() -> dict[str, list[str]]:
        asked.append("the store")
        return {}

    if not _matching(benchmark, index, query, reviewers=unknown_yet, tags=unknown_yet) and not asked:
        raise InputError(f"--query: leaves none of {len(ids):,} cases; choose other filters.")


def _deal(benchmark: Benchmark, index: Path, store: str, text: str, query: Query, overlap: int, seed: int) -> None:
    """Assign the cases of a query to reviewers, and print how many each has."""
    names = names_in(text, "--assign")
    if query.review:
        raise InputError("--query: what reviewers did cannot choose the cases to assign; leave review out.")
    name = benchmark.meta.name

    def tags() -> dict[str, list[str]]:
        with open_store(store) as opened:
            return values_by_case(opened.tags(name), "tag")

    ids = _matching(benchmark, index, query, reviewers=dict, tags=tags)
    if not ids:
        raise InputError("--query: leaves no case to assign; choose other filters.")
    with open_store(store) as opened:
        before = opened.assignments(name, task=REVIEW)
        opened.assign(name, assign(ids, names, overlap=overlap, seed=seed, assigned=before), task=REVIEW)
        after = opened.assignments(name, task=REVIEW).groupby("annotator").size()
    for reviewer in names:
        typer.echo(f"{reviewer}: {count(int(after.get(reviewer, 0)), 'case')} to review", err=True)


def _matching(
    benchmark: Benchmark,
    index: Path,
    query: Query,
    *,
    reviewers: Callable[[], dict[str, list[str]]],
    tags: Callable[[], dict[str, list[str]]],
) -> list[str]:
    """The cases that a query leaves, in its order; for the parameters see `cases_where`."""
    opened = open_index(index)
    kinds, cases, dimensions = opened.kinds, benchmark.cases, benchmark.meta.dimensions
    for name in filter(cases.columns.__contains__, PLACES):
        if value := getattr(query, name):
            check_choice(name, value, sorted(cases[name].dropna().unique()))
    within = None
    if query.where:
        within = cases_where(
            query.where, cases, gold=opened.gold, outcomes=lambda: kinds.outcomes, reviewers=reviewers,
            dimensions=dimensions, tags=tags,
        )  # fmt: skip
    return [str(case) for case in cases["case_id"].iloc[select(kinds, cases, query, within=within)]]
