"""`mrb construct start`: items from somebody's images and questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.benchmarks.formats.mapping import mapped_columns
from mrb_lib.build.construct.failures import items_of_cases, selected_cases
from mrb_lib.build.construct.intake.crops import can_find_crops
from mrb_lib.build.construct.layouts import LAYOUTS, SourceItem, find_layout
from mrb_lib.build.construct.start import StartOptions, StartReport, start
from mrb_lib.build.construct.work import begin, new_or_old_work
from mrb_lib.cli.listing import line
from mrb_lib.cli.options import declares, options_from
from mrb_lib.cli.progress import bars
from mrb_lib.tables.errors import InputError

COMMAND = declares(StartOptions())


def command(
    context: typer.Context,
    src: Annotated[Path, typer.Argument(metavar="SRC", help="The folder, or the file of questions, to read.")],
    work: Annotated[Path, typer.Argument(metavar="WORK", help="The work folder to make.")],
    layout: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How SRC lies on disk: table, huggingface, vqa_rad, slake, pmc_vqa or omnimedvqa; left out: as its "
            "files look.",
        ),
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="THEIRS=OURS", help="Read their column as ours; repeatable."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the benchmark will be called; left out: WORK's name.")] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            help="clinical (the default), general or simulated; with --from-failures the kinds of failure, repeatable: "
            "wrong (the default), confidently_wrong, inconsistent, unparsed, all_wrong, split."
        ),
    ] = None,
    from_failures: Annotated[
        Path | None,
        typer.Option(
            "--from-failures",
            metavar="RUNS",
            help="SRC is a benchmark: take the questions and images of the cases that judges fail on in RUNS.",
        ),
    ] = None,
    selection: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --from-failures: a selection in the failure explorer, as its address (from # on) or as the "
            "CSV file that it exported.",
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Replace what other choices gave.")] = False,
) -> None:
    """Make a work folder of the items in SRC: what is unreadable, tiny or there twice is left out and counted."""

    from mrb_lib.cli.construct.showing import echo_funnel

    if from_failures is None:
        source = _from_layout(src, layout, kind, selection)
    else:
        source = _from_failures(src, from_failures, kind, selection, layout or map_)
    stated = options_from(StartOptions(), context)
    options = replace(
        stated,
        dataset=stated.dataset or source.dataset,
        licence=stated.licence or source.licence,
        crops=can_find_crops() if stated.crops is None else stated.crops,
    )
    choices = {
        "source": str(src),
        **source.choices,
        "map": map_ or [],
        **asdict(options),
        "meanings": None if options.meanings is None else options.meanings.read_text(encoding="utf-8"),
        "not_in": [str(bench) for bench in options.not_in],
    }
    made = new_or_old_work(work, name, source.kind)
    with made as opened, begin(opened, "start", choices, seed=0, again=again) as step:
        if step.is_done:
            typer.echo(f"{work}: start is done already with these choices; --again with others replaces it.", err=True)
            return
        with bars() as progress, mapped_columns(map_ or ()) as columns:

            def items() -> Iterator[SourceItem]:
                yield from source.items()
                columns.check(str(source.choices.get("layout")))

            report = start(step, src.resolve().name, items(), options, progress)
    echo_report(report)
    if not options.crops:
        typer.echo("parts cut out of other images were not looked for; --crops does, with OpenCV", err=True)
    echo_funnel(opened, "start")


class _Source(NamedTuple):
    """Where items come from: what the record says of it, and what holds for all of them."""

    choices: Mapping[str, object]
    items: Callable[[], Iterator[SourceItem]]
    kind: str
    dataset: str | None
    licence: str | None


def _from_layout(src: Path, layout: str | None, kind: list[str] | None, selection: str | None) -> _Source:

    if selection is not None:
        raise InputError("--selection: is of failures; say with --from-failures RUNS whose.")
    if kind is not None and len(kind) > 1:
        raise InputError(f"--kind {' --kind '.join(kind)}: the items are of one kind; give one.")
    chosen = LAYOUTS[layout] if layout else find_layout(src)
    kind_of_data = "clinical" if kind is None else kind[0]
    return _Source({"layout": chosen.name}, lambda: chosen.read(src), kind_of_data, chosen.dataset, chosen.licence)


def _from_failures(src: Path, runs: Path, kind: list[str] | None, selection: str | None, unused: object) -> _Source:

    if unused:
        raise InputError("--from-failures: SRC is a benchmark, which needs no --layout and no --map; leave them out.")
    benchmark, kinds = load(src), tuple(kind or ("wrong",))
    cases = selected_cases(benchmark, runs, kinds, selection)
    choices = {"from_failures": str(runs), "failures": list(kinds), "selection": selection}
    dataset, licence = benchmark.meta.name, benchmark.meta.licence or None
    return _Source(choices, lambda: items_of_cases(benchmark, cases), benchmark.meta.kind, dataset, licence)


def echo_report(report: StartReport) -> None:
    """What was noticed and left nothing out, on stderr."""

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
