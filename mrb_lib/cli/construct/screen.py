"""`mrb construct screen`: clinicians rate items in a browser, blinded, and a rule says which stay."""

from __future__ import annotations

from typing import Annotated

import typer

from mrb_lib.build.construct.screen import (
    CRITERIA,
    ScreeningForm,
    close_screening,
    open_screening,
    screening_benchmark,
    screening_form,
)
from mrb_lib.build.construct.work import Work, open_work
from mrb_lib.cli.annotate import assign_cases, names_in, show_agreement
from mrb_lib.cli.listing import count
from mrb_lib.cli.options import Seed, Store, WorkFolder, declares, options_from, where
from mrb_lib.cli.render import MARK
from mrb_lib.cli.serving import ServerOptions, app_address
from mrb_lib.review.annotate.app import annotate, coordinate
from mrb_lib.review.annotate.forms import SCREENING
from mrb_lib.review.records.store import Store as ReviewStore
from mrb_lib.review.records.store import open_store, without_password
from mrb_lib.tables.errors import InputError

COMMAND = declares(ServerOptions())


def command(
    context: typer.Context,
    work: WorkFolder,
    clinicians: Annotated[
        str | None, typer.Option(metavar="NAME,NAME", help="Deal items out to them; what they have already stays.")
    ] = None,
    overlap: Annotated[
        int | None, typer.Option(min=1, help="Clinicians an item; default: 2, or 1 for a single one.")
    ] = None,
    items: Annotated[int | None, typer.Option(min=1, help="A random choice of so many items; default: all.")] = None,
    shared: Annotated[
        int,
        typer.Option(min=0, help="So many items first, the same for everybody, so that agreement shows on day one."),
    ] = 0,
    criteria: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="What is rated; default: relevance,accuracy,complexity,image_quality. What each means, the scale and "
            "the rule can be edited in [screen] of construction.toml.",
        ),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="LIST", help="Labels from the worst to the best; default: 1,2,3,4,5.")
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Which items stay, as in 'accuracy >= 4 and relevance_min > 1 and n_clinicians >= 2'; default: no "
            "mean below the middle of the scale.",
        ),
    ] = None,
    close: Annotated[bool, typer.Option("--close", help="Apply the rule to the ratings so far, and finish.")] = False,
    agreement: Annotated[bool, typer.Option("--agreement", help="Show progress and agreement; no page.")] = False,
    assign_only: Annotated[bool, typer.Option("--assign-only", help="Deal the items out; no page.")] = False,
    coordinator: Annotated[
        bool, typer.Option("--coordinator", help="Open the coordinator's page: progress, agreement, pace, comments.")
    ] = False,
    store: Store = None,
    seed: Seed = 0,
    again: Annotated[
        bool, typer.Option("--again", help="Take another form, or open a closed screening; ratings stay.")
    ] = False,
) -> None:
    """Have clinicians rate the items in a browser, blinded; --close keeps those that the rule keeps."""
    from mrb_lib.review.server import serve

    modes = [name for name, chosen in (("--close", close), ("--agreement", agreement), ("--coordinator", coordinator),
                                       ("--assign-only", assign_only)) if chosen]  # fmt: skip
    if len(modes) > 1:
        raise InputError(f"{' and '.join(modes)}: choose one.")
    server = options_from(ServerOptions(), context)
    opens_page = not (close or agreement or assign_only)
    names = None if clinicians is None else names_in(clinicians, "--clinicians")
    opened = open_work(work)
    if opens_page:  # before items are dealt out, which stays
        address = app_address(work, "coordinate" if coordinator else "screen", server)
    if names is None and opened.choices("screen") is None:
        raise InputError(f"{work}: nothing is dealt out yet; name the clinicians with --clinicians NAME,NAME.")
    written = opened.choices("screen") or {}
    known = {**CRITERIA, **written.get("criteria", {})}
    asked = None if criteria is None else {name: known.get(name, "") for name in _listed(criteria)}
    form = screening_form(opened, criteria=asked, scale=None if scale is None else _listed(scale), keep=keep)
    changed = any(option is not None for option in (criteria, scale, keep))
    if names is not None or changed or again:
        open_screening(opened, form, seed=seed, again=again)
    benchmark = screening_benchmark(opened, form)
    chosen = where(work, store)
    with open_store(chosen, create=names is not None) as reviews:
        if names is not None:
            assign_cases(benchmark, reviews, names, overlap=overlap, n_cases=items, shared=shared, seed=seed)
        if agreement:
            show_agreement(benchmark, reviews)
        elif close:
            _close(opened, form, reviews)
    if not opens_page:
        return
    typer.echo(f"ratings are kept in {without_password(str(chosen))}", err=True)
    with open_store(chosen, create=False) as reviews:
        serve((coordinate if coordinator else annotate)(benchmark, reviews, SCREENING), address, browse=server.browser)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _close(work: Work, form: ScreeningForm, reviews: ReviewStore) -> None:
    """Finish the step, and say how many items stay and why others do not."""

    done = close_screening(work, form, reviews.answers(screening_benchmark(work, form).meta.name))
    mark = f" ({MARK} data)" if work.meta.kind == "simulated" else ""
    typer.echo(f"kept {count(int(done['kept'].sum()), 'item')} of {len(done)}{mark}: {form.keep}")
    for reason, n in done["reason"].value_counts().items():
        typer.echo(f"left out, {reason}: {n}")
