"""`mrb probes`: the list of probes, and a case side by side with what a probe makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.images import open_image, png
from mrb_lib.cli.listing import line
from mrb_lib.cli.options import AsJson, Bench, Command, Seed
from mrb_lib.probes import PROBES, Case, ProbedImages, ProbeId, Probing, parse_probes
from mrb_lib.probes.from_file import file_probes
from mrb_lib.probes.marking import marked
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import write_atomic

app = typer.Typer(
    help="What changes a verdict that should not, and what should and does not: the list of probes.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def probes(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """List the probes: what each changes, its severities, and what should follow."""
    if context.invoked_subcommand is not None:
        return

    if as_json:
        keys = ("name", "changes", "does", "expected", "severities", "source", "modalities")
        typer.echo(dumps([{key: getattr(probe, key) for key in keys} for probe in PROBES.values()], indent=1))
        return
    width = max(map(len, PROBES))
    for probe in PROBES.values():
        steps = f":1-{probe.severities}" if probe.severities > 1 else ""
        only = f" Only {', '.join(probe.modalities)}." if probe.modalities else ""
        only += f" Expects the same up to severity {probe.harmless}." if probe.harmless else ""
        source = f" [{probe.source}]" if probe.source else ""
        typer.echo(line(f"{probe.name + steps:<{width + 4}}  {probe.expected:<5}  {probe.does}.{only}{source}"))


@app.command(cls=Command)
def show(
    bench: Bench,
    case: Annotated[str, typer.Argument(metavar="CASE", help="The case's id.")],
    probe: Annotated[
        str,
        typer.Argument(metavar="PROBE", show_default=False, help="One probe, with its severity: image/blur:3."),
    ] = "",
    probe_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The probe of this file, see `mrb judge --probe-file`.")
    ] = None,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write the pictures, before and after, as PNG files.")
    ] = None,
) -> None:
    """Show a case as a probe changes it: what is taken out in [-brackets-], what is put in as {+these+}."""
    files = file_probes([] if probe_file is None else [probe_file])
    name, one = _one_probe(probe, list(files))
    benchmark = load(bench)
    probing = Probing(benchmark.cases, seed, files)
    before, after = probing.case(case), probing.probed(case, one)
    if isinstance(after, str):
        raise InputError(f"case {case}: {name} does not apply to it: {after}.")
    _print_texts(before, after)
    if before.images != after.images:
        _print_pictures(benchmark, before, after, one, out)


def _one_probe(text: str, of_file: Sequence[str]) -> tuple[str, ProbeId]:
    """The probe that is to be shown, that of a file where there is one, with its name."""
    if of_file:
        if text not in ("", *of_file):
            raise InputError(
                f"probe {text!r}: --probe-file gives {of_file[0]}; name that or none, or leave out the file."
            )
        return of_file[0], ProbeId(of_file[0])
    ids = parse_probes(text)
    if len(ids) != 1:
        named = f" ({', '.join(map(str, ids[:5]))})" if ids else ""
        raise InputError(f"probe {text!r}: names {len(ids)} probes{named}; name one, with its severity.")
    return str(ids[0]), ids[0]


def _print_texts(before: Case, after: Case) -> None:
    for name in ("question", "response_a", "response_b"):
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            typer.echo(f"{name}: unchanged")
        else:
            typer.echo("\n".join([f"{name}:", *map(line, marked(old, new).splitlines())]))
    for sentence in after.of_the_prompt:
        typer.echo(line(sentence))


def _print_pictures(benchmark: Benchmark, before: Case, after: Case, probe: ProbeId, out: Path | None) -> None:
    shown = [name for name in after.images if name in benchmark.images]
    typer.echo(line(f"images: {len(before.images)} before, {len(after.images)} after {', '.join(shown)}".rstrip()))
    if out is None:
        typer.echo("images: --out DIR writes them")
        return
    out.mkdir(parents=True, exist_ok=True)
    images = ProbedImages(benchmark.images, benchmark.cases)
    for when, names in (("before", before.images), ("after", after.images)):
        for number, name in enumerate(names, 1):
            path = out / f"{when}-{number}.png"
            write_atomic(path, png(open_image(images[name], name)))
            typer.echo(line(f"{path}: {when}, {probe}"))
