"""`mrb construct start`: items from somebody's images and questions."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Literal

import typer

from mrb_lib.benchmarks.formats.mapping import mapped_columns
from mrb_lib.build.construct.layouts import LAYOUTS, SourceItem, find_layout
from mrb_lib.build.construct.start import StartOptions, StartReport, start
from mrb_lib.build.construct.work import begin, new_or_old_work
from mrb_lib.cli.construct.showing import echo_funnel
from mrb_lib.cli.findings import echo_findings
from mrb_lib.cli.listing import line
from mrb_lib.cli.options import declares, options_from
from mrb_lib.cli.presets import PLANS
from mrb_lib.cli.progress import bars
from mrb_lib.stats.options import check_choice
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.options import Option, Texts, checked_dataclass


@checked_dataclass
class SourceOptions:
    """Where items come from."""

    layout: Annotated[
        str | None, Option("Read SRC as table, huggingface, vqa_rad, slake, pmc_vqa or omnimedvqa.", "NAME")
    ] = None
    map: Annotated[Texts, Option("Read their column as ours; repeatable.", "THEIRS=OURS")] = ()
    name: Annotated[str | None, Option("Name the benchmark; default: WORK's name.", "NAME")] = None
    kind: Annotated[Literal["clinical", "general", "simulated"], Option("Say what the items are.")] = "clinical"
    preset: Annotated[
        str | None,
        Option("Write a plan into construction.toml, whose options `mrb construct status` prints; see paper.", "NAME"),
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
    layouts = {src: LAYOUTS[wanted.layout] if wanted.layout else find_layout(src) for src in sources}
    named = {src.resolve().name: src for src in sources}
    if len(named) < len(sources):
        raise InputError("construct start: two sources have one folder name, which names their items; rename one.")
    choices = {
        "sources": [{"source": str(src), "layout": one.name} for src, one in layouts.items()],
        "map": list(wanted.map),
        **asdict(options),
        "meanings": None if options.meanings is None else options.meanings.read_text(encoding="utf-8-sig"),
    }
    if wanted.preset is not None:
        check_choice("preset", wanted.preset, [*PLANS])
    plan = PLANS.get(wanted.preset or "", {})
    made = new_or_old_work(work, wanted.name, wanted.kind, plan)
    with made as opened, begin(opened, "start", choices, seed=0, again=again) as step:
        if step.is_done:
            typer.echo(f"{work}: start is done already with these choices; --again with others replaces it.", err=True)
            return
        with bars() as progress, mapped_columns(wanted.map) as columns:

            def items(src: Path) -> Iterator[SourceItem]:
                chosen = layouts[src]
                usual = {
                    "dataset": options.dataset or chosen.dataset,
                    "licence": options.licence or chosen.licence,
                }
                for item in chosen.read(src):
                    stated = {key: value for key, value in item.about.items() if value}
                    yield replace(item, about=usual | stated)
                columns.check(chosen.name)

            report = start(step, {name: items(src) for name, src in named.items()}, options, progress)
    echo_findings(columns.findings)
    echo_report(report)
    echo_funnel(opened, "start")


def echo_report(report: StartReport) -> None:
    """Print what was noticed and left nothing out, on stderr."""

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
