"""`mrb construct start`: items from somebody's images and questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from textwrap import shorten
from typing import Annotated, NamedTuple, cast

import typer

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.benchmarks.formats.mapping import mapped_columns
from mrb_lib.build.construct.failures import items_of_cases, selected_cases
from mrb_lib.build.construct.layouts import LAYOUTS, SourceItem, find_layout
from mrb_lib.build.construct.start import StartOptions, StartReport, start
from mrb_lib.build.construct.work import begin, new_or_old_work
from mrb_lib.cli.construct.showing import echo_funnel
from mrb_lib.cli.listing import line
from mrb_lib.cli.options import declares, options_from
from mrb_lib.cli.progress import bars
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.options import Names, Option, Texts, checked_dataclass


@checked_dataclass
class SourceOptions:
    """Where items come from."""

    layout: Annotated[
        str | None, Option("Read SRC as table, huggingface, vqa_rad, slake, pmc_vqa or omnimedvqa.", "NAME")
    ] = None
    map: Annotated[Texts, Option("Read their column as ours; repeatable.", "THEIRS=OURS")] = ()
    name: Annotated[str | None, Option("Call the benchmark so; default: WORK's name.", "NAME")] = None
    kind: Annotated[
        Names,
        Option(
            "Call the items clinical (default), general or simulated; with --from-failures take wrong (default), "
            "confidently_wrong, inconsistent, unparsed, all_wrong or split; repeatable.",
            "KIND",
        ),
    ] = ()
    from_failures: Annotated[
        Path | None, Option("Take the cases of SRC, a benchmark, that judges fail on in RUNS.", "RUNS")
    ] = None
    selection: Annotated[
        str | None, Option("With --from-failures, take a selection of the explorer: address or CSV.", "ADDRESS")
    ] = None


_LONGEST = 300
COMMAND = declares(SourceOptions(), StartOptions())


def command(
    context: typer.Context,
    sources: Annotated[list[Path], typer.Argument(metavar="SRC", help="The folders, or files of questions, to read.")],
    work: Annotated[Path, typer.Argument(metavar="WORK", help="The work folder to make.")],
    again: Annotated[bool, typer.Option("--again", help="Replace what other choices gave.")] = False,
) -> None:
    """Make a work folder of the items in all SRC: what is unreadable, tiny or there twice is left out and counted."""
    wanted, options = options_from(SourceOptions(), context), options_from(StartOptions(), context)
    read = _from_layout if wanted.from_failures is None else _from_failures
    found = {src.resolve().name: read(src, wanted) for src in sources}
    if len(found) < len(sources) or (wanted.from_failures is not None and len(sources) > 1):
        raise InputError("construct start: with --from-failures, and of one folder name, there can be one SRC only.")
    choices = {
        "sources": [
            {"source": str(src), **{key: value for key, value in one.choices.items() if value is not None}}
            for src, one in zip(sources, found.values(), strict=True)
        ],
        "map": list(wanted.map),
        **asdict(options),
        "meanings": None if options.meanings is None else options.meanings.read_text(encoding="utf-8-sig"),
        "not_in": [str(bench) for bench in options.not_in],
    }
    made = new_or_old_work(work, wanted.name, next(iter(found.values())).kind)
    with made as opened, begin(opened, "start", choices, seed=0, again=again) as step:
        if step.is_done:
            typer.echo(f"{work}: start is done already with these choices; --again with others replaces it.", err=True)
            return
        with bars() as progress, mapped_columns(wanted.map) as columns:

            def items(source: _Source) -> Iterator[SourceItem]:
                usual = {
                    "dataset": options.dataset or source.dataset,
                    "licence": options.licence or source.licence,
                }
                for item in source.items():
                    stated = {key: value for key, value in item.about.items() if value}
                    yield replace(item, about=usual | stated)
                columns.check(str(source.choices.get("layout")))

            report = start(step, {key: items(one) for key, one in found.items()}, options, progress)
    echo_report(report)
    echo_funnel(opened, "start")


class _Source(NamedTuple):
    """Where items come from: what the record says of it, and what holds for all of them."""

    choices: Mapping[str, object]
    items: Callable[[], Iterator[SourceItem]]
    kind: str
    dataset: str | None
    licence: str | None


def _from_layout(src: Path, wanted: SourceOptions) -> _Source:
    if wanted.selection is not None:
        raise InputError("--selection: is of failures; say with --from-failures RUNS whose.")
    if len(wanted.kind) > 1:
        raise InputError(f"--kind {' --kind '.join(wanted.kind)}: the items are of one kind; give one.")
    chosen = LAYOUTS[wanted.layout] if wanted.layout else find_layout(src)
    [kind] = wanted.kind or ("clinical",)
    return _Source({"layout": chosen.name}, lambda: chosen.read(src), kind, chosen.dataset, chosen.licence)


def _from_failures(src: Path, wanted: SourceOptions) -> _Source:
    if wanted.layout or wanted.map:
        raise InputError("--from-failures: SRC is a benchmark, which needs no --layout and no --map; leave them out.")
    benchmark, kinds, runs = load(src), wanted.kind or ("wrong",), cast("Path", wanted.from_failures)
    cases = selected_cases(benchmark, runs, kinds, wanted.selection)
    choices = {"from_failures": str(runs), "failures": list(kinds), "selection": wanted.selection}
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
    if report.altered:
        typer.echo(
            f"{report.altered:,} items show an altered copy of another's image (items.copy_of): they share its "
            "cluster, so that no split parts them",
            err=True,
        )
    for what, names in report.notes.items():
        named = shorten(", ".join(names), _LONGEST, placeholder=" ... (all in items.notes)")
        typer.echo(line(f"{what} ({len(names):,}): {named}"), err=True)
    if report.without:
        typer.echo(f"items without: {counts(report.without)}", err=True)
    if report.body_parts:
        shown = counts(dict(report.body_parts.most_common(8)))
        typer.echo(line(f"body parts that are no organ of the vocabulary: {shown}; say with --meanings"), err=True)
