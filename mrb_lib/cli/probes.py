"""`mrb probes`: the list of probes."""

from json import dumps

import typer

from mrb_lib.cli.listing import line
from mrb_lib.cli.options import AsJson
from mrb_lib.probes import PROBES


def probes(as_json: AsJson = False) -> None:
    """List the probes: what each changes, its severities, and what a good judge should do."""
    if as_json:
        keys = ("name", "changes", "does", "expected", "severities", "source")
        typer.echo(dumps([{key: getattr(probe, key) for key in keys} for probe in PROBES.values()], indent=1))
        return
    width = max(map(len, PROBES))
    for probe in PROBES.values():
        steps = f":1-{probe.severities}" if probe.severities > 1 else ""
        only = f" Expects the same up to severity {probe.harmless}." if probe.harmless else ""
        source = f" [{probe.source}]" if probe.source else ""
        typer.echo(line(f"{probe.name + steps:<{width + 4}}  {probe.expected:<5}  {probe.does}.{only}{source}"))
