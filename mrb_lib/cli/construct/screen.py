"""`mrb construct screen`: clinicians rate items in a browser, blinded, and a rule says which stay."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from mrb_lib.build.construct.screen import (
    CRITERIA,
    ScreeningForm,
    close_screening,
    open_screening,
    read_ratings,
    screening_benchmark,
    screening_form,
)
from mrb_lib.build.construct.work import Work, open_work
from mrb_lib.cli.annotate import DealOptions, assign_cases, check_names, names_in, refuse_alike, show_agreement
from mrb_lib.cli.listing import count
from mrb_lib.cli.options import Store, WorkFolder, check_at_most_one, declares, options_from, where
from mrb_lib.cli.render import MARK
from mrb_lib.cli.serving import ServerOptions, app_address
from mrb_lib.review.annotate import annotate, coordinate
from mrb_lib.review.annotate.forms import SCREENING
from mrb_lib.review.records.store import Store as ReviewStore
from mrb_lib.review.records.store import open_store, without_password
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.options import Names, Option, checked_dataclass


@checked_dataclass
class ScreenOptions(DealOptions):
    """Options of `mrb construct screen`."""

    clinicians: Annotated[str | None, Option("Assign items to these people; earlier ones stay.", "NAME,NAME")] = None
    items: Annotated[int | None, Field(ge=1), Option("Assign a random choice of N items; default: all.", "N")] = None
    criteria: Annotated[
        Names | None, Option("Rate these; default: relevance,accuracy,complexity,image_quality.", "LIST")
    ] = None
    scale: Annotated[Names | None, Option("Use these labels, the worst first; default: 1,2,3,4,5.", "LIST")] = None
    keep: Annotated[
        str | None, Option("Keep by a rule: 'accuracy >= 4 and n_clinicians >= 2'; default: no low mean.", "RULE")
    ] = None
    ratings: Annotated[
        Path | None,
        Option("Add ratings from a table: a row per item and clinician, a column per criterion; no page.", "FILE"),
    ] = None
    close: Annotated[bool, Option("Apply the rule to the ratings so far, and finish.")] = False
    agreement: Annotated[bool, Option("Show progress and agreement; no page.")] = False
    assign_only: Annotated[bool, Option("Assign the items; no page.")] = False
    coordinator: Annotated[bool, Option("Open the coordinator's page: progress, agreement, pace, comments.")] = False
    again: Annotated[bool, Option("Take another form, or open a closed screening; ratings stay.")] = False


COMMAND = declares(ScreenOptions(), ServerOptions())


def command(context: typer.Context, work: WorkFolder, store: Store = None) -> None:
    """Have clinicians rate the items in a browser, blinded; --close keeps those that the rule keeps."""
    from mrb_lib.review.server import serve

    options, server = options_from(ScreenOptions(), context), options_from(ServerOptions(), context)
    check_at_most_one(context, "close", "agreement", "coordinator", "assign_only")
    opens_page = not (options.close or options.agreement or options.assign_only or options.ratings)
    names = None if options.clinicians is None else names_in(options.clinicians, "--clinicians")
    opened = open_work(work)
    if opens_page:  # before items are assigned, which stays
        address = app_address(work, "coordinate" if options.coordinator else "screen", server)
    has_ratings = names is not None or options.ratings is not None
    if not has_ratings and opened.choices("screen") is None:
        raise InputError(f"{work}: nothing is assigned yet; name the clinicians with --clinicians NAME,NAME.")
    known = {**CRITERIA, **(opened.choices("screen") or {}).get("criteria", {})}
    asked = None if options.criteria is None else {name: known.get(name, "") for name in options.criteria}
    form = screening_form(opened, criteria=asked, scale=options.scale, keep=options.keep)
    benchmark = screening_benchmark(opened, form)
    ratings = [] if options.ratings is None else read_ratings(options.ratings, form, benchmark)
    raters = sorted({one.annotator for one in ratings})
    check_names(raters, "--ratings")
    if has_ratings or options.again or {"criteria", "scale", "keep"} & context.obj.keys():
        open_screening(opened, form, seed=options.seed, again=options.again)
    used = where(work, store)
    with open_store(used, create=has_ratings) as reviews:
        if ratings:
            refuse_alike(raters, "--ratings", reviews.answers(benchmark.meta.name)["annotator"].unique().tolist())
            reviews.add(*ratings)
            typer.echo(f"{options.ratings}: {count(len(ratings), 'rating')} added", err=True)
        if names is not None:
            assign_cases(
                benchmark, reviews, names, overlap=options.overlap, n_cases=options.items, shared=options.shared,
                seed=options.seed, options=("--clinicians", "--items"),
            )  # fmt: skip
        if options.agreement:
            show_agreement(benchmark, reviews)
        elif options.close:
            _close(opened, form, reviews)
    if not opens_page:
        return
    typer.echo(f"ratings are kept in {without_password(str(used))}", err=True)
    with open_store(used, create=False) as reviews:
        app = (coordinate if options.coordinator else annotate)(benchmark, reviews, SCREENING)
        serve(app, address, browse=server.browser)


def _close(work: Work, form: ScreeningForm, reviews: ReviewStore) -> None:
    """Finish the step, and say how many items stay and why others do not."""
    done = close_screening(work, form, reviews.answers(screening_benchmark(work, form).meta.name))
    mark = f" ({MARK} data)" if work.meta.kind == "simulated" else ""
    typer.echo(f"kept {count(int(done['kept'].sum()), 'item')} of {len(done)}{mark}: {form.keep}")
    for reason, n in done["reason"].value_counts().items():
        typer.echo(f"left out, {reason}: {n}")
