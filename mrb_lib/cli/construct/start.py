"""`mrb construct start`: items from somebody's images and questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mrb_lib.construct.start import StartReport


def command(
    src: Annotated[Path, typer.Argument(metavar="SRC", help="The folder, or the file of questions, to read.")],
    work: Annotated[Path, typer.Argument(metavar="WORK", help="The work folder to make.")],
    layout: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How SRC lies on disk; left out: what the names of its files look like."),
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="THEIRS=OURS", help="Read their column as ours; repeatable."),
    ] = None,
    meanings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A CSV file that says what values mean, as `body_part,HEAD,brain` under `column,value,organ`; "
            "organ and department are never guessed.",
        ),
    ] = None,
    not_in: Annotated[
        list[Path] | None,
        typer.Option("--not-in", metavar="BENCH", help="Leave out items that show an image of BENCH; repeatable."),
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="Only items like these, as in language == 'en'.")
    ] = None,
    min_side: Annotated[int, typer.Option(min=1, metavar="PIXELS", help="The least shorter side of an image.")] = 64,
    near_copies: Annotated[
        bool, typer.Option("--keep-near-copies", help="Keep the same question about a copy of the same image.")
    ] = False,
    dataset: Annotated[str | None, typer.Option(help="The dataset of items that do not name theirs.")] = None,
    licence: Annotated[str | None, typer.Option(help="The licence of items that do not state theirs.")] = None,
    name: Annotated[str | None, typer.Option(help="What the benchmark will be called; left out: WORK's name.")] = None,
    kind: Annotated[str, typer.Option(help="clinical, general or simulated.")] = "clinical",
    again: Annotated[bool, typer.Option("--again", help="Replace what other choices gave.")] = False,
) -> None:
    """Make a work folder of the items in SRC: what is unreadable, tiny or there twice is left out and counted."""
    from mrb_lib.cli.construct.showing import echo_funnel
    from mrb_lib.cli.progress import bars
    from mrb_lib.construct.layouts import LAYOUTS, find_layout
    from mrb_lib.construct.start import StartOptions, start
    from mrb_lib.construct.work import begin, new_or_old_work
    from mrb_lib.data.formats.mapping import mapped_columns

    chosen = LAYOUTS[layout] if layout else find_layout(src)
    options = StartOptions(
        dataset or chosen.dataset, licence or chosen.licence, meanings, where, tuple(not_in or ()), min_side,
        near_copies,
    )  # fmt: skip
    choices = {
        "source": str(src),
        "layout": chosen.name,
        "map": map_ or [],
        "dataset": options.dataset,
        "licence": options.licence,
        "meanings": None if meanings is None else meanings.read_text(encoding="utf-8"),
        "where": where,
        "not_in": [str(bench) for bench in options.not_in],
        "min_side": min_side,
        "keep_near_copies": near_copies,
    }
    with new_or_old_work(work, name, kind) as opened, begin(opened, "start", choices, seed=0, again=again) as step:
        if step.is_done:
            typer.echo(f"{work}: start is done already with these choices; --again with others replaces it.", err=True)
            return
        with bars() as progress, mapped_columns(map_ or ()) as columns:
            report = start(step, src.resolve().name, chosen.read(src), options, progress)
            columns.check(chosen.name)
    echo_report(report)
    echo_funnel(opened, "start")


def echo_report(report: StartReport) -> None:
    """What was noticed and left nothing out, on stderr."""
    from mrb_lib.cli.listing import line

    def counts(counter: dict[str, int]) -> str:
        return ", ".join(f"{name} {n:,}" for name, n in counter.items())

    if report.left_behind:
        typer.echo(f"patients were named in DICOM files ({counts(report.left_behind)}); it was left behind", err=True)
    if report.suspected:
        typer.echo(
            f"{report.suspected:,} items may have text burnt into an image (items.suspicion): look at them", err=True
        )
    if report.without:
        typer.echo(f"items without: {counts(report.without)}", err=True)
    if report.body_parts:
        shown = counts(dict(report.body_parts.most_common(8)))
        typer.echo(line(f"body parts that are no organ of the vocabulary: {shown}; say with --meanings"), err=True)
