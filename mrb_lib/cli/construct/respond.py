"""`mrb construct respond`: the pool of responders answers the items."""

from typing import Annotated

import typer

from mrb_lib.build.construct.answers.pool import pool_of
from mrb_lib.build.construct.respond import STEP, respond
from mrb_lib.build.construct.work import open_work
from mrb_lib.cli.construct import answering_options as option
from mrb_lib.cli.construct.showing import show_tables
from mrb_lib.cli.listing import line
from mrb_lib.cli.options import AsJson, Rosters, WorkFolder, declares, options_from
from mrb_lib.cli.progress import verdict_bars
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.planned import PlannedModel

USUAL = PlannedModel(settings=Settings(prompt="open-answer"))
COMMAND = declares(USUAL, without=option.NOT_HERE)


def command(
    context: typer.Context,
    work: WorkFolder,
    names: Annotated[
        list[str] | None,
        typer.Option("--responder", metavar="NAME", help="A responder: as for mrb judge --judge; repeatable."),
    ] = None,
    plan: option.PoolFile = None,
    samples: option.Samples = 1,
    rosters: Rosters = None,
    retry: option.Retry = "",
    again: option.Again = False,
    as_json: AsJson = False,
) -> None:
    """Have the pool of responders answer the items. Responses are kept and not made again; refused, empty, cut-off and
    near-identical ones are flagged and counted."""
    folder = open_work(work)
    usual = options_from(USUAL, context)
    models, seed = pool_of(names or [], plan, usual), usual.settings.seed
    with verdict_bars("responses") as step:
        result = respond(
            folder, models, samples=samples, seed=seed, again=again, extra=rosters or (), retry=option.statuses(retry),
            progress=step,
        )  # fmt: skip
    simulated = folder.meta.kind == "simulated"
    option.say_runs(result.runs, " SIMULATED" if simulated else "")
    for one in result.models[result.models["usable"] == 0].itertuples():
        text = f"{one.model}: none of its {one.n} responses can be paired ({one.refused} refused, {one.empty} empty)"
        typer.echo(line(f"warning: {text}"), err=True)
    funnel = folder.funnel()
    tables = {"responders": result.models, "funnel": funnel[funnel["step"] == STEP]}
    left = f"{result.n_out} of {result.n_in} items go on"
    show_tables(STEP, tables, left, simulated=simulated, as_json=as_json)
