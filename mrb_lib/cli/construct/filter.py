"""`mrb construct filter`: models answer the items, and a rule keeps what is hard."""

from dataclasses import replace
from typing import Annotated

import typer

from mrb_lib.build.construct.answers.marking import MarkOptions
from mrb_lib.build.construct.answers.pool import pool_of
from mrb_lib.build.construct.filter import STEP, FilterOptions, filter_items
from mrb_lib.build.construct.work import open_work
from mrb_lib.cli.construct import answering_options as option
from mrb_lib.cli.construct.showing import show_tables
from mrb_lib.cli.options import AsJson, Rosters, WorkFolder, declares, options_from
from mrb_lib.cli.progress import verdict_bars
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.planned import PlannedModel

USUAL = PlannedModel(settings=Settings(prompt="short-answer"))
COMMAND = declares(MarkOptions(), USUAL, without=option.NOT_HERE)


def command(
    context: typer.Context,
    work: WorkFolder,
    names: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="A model that answers: as for mrb judge --judge; repeatable."),
    ] = None,
    plan: option.PoolFile = None,
    samples: option.Samples = 1,
    keep: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="Keep by a rule: correct <= 2 (right models), share_correct, organ; default: all.",
        ),
    ] = "",
    marking_judge: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A model that marks, with the reference, what no rule finds right."),
    ] = None,
    marking_prompt: Annotated[
        str, typer.Option(metavar="ID|FILE", help="Its prompt's id, or a template.")
    ] = "mark-answer",
    rosters: Rosters = None,
    retry: option.Retry = "",
    again: option.Again = False,
    as_json: AsJson = False,
) -> None:
    """Have models answer the items, mark their answers, and keep what a rule keeps. Answers are kept and not asked for
    again, also under another rule."""
    folder = open_work(work)
    usual = options_from(USUAL, context)
    models, seed = pool_of(names or [], plan, usual), usual.settings.seed
    marks = replace(usual.settings, prompt=marking_prompt, temperature=None, max_new_tokens=None)
    marker = replace(usual, name=marking_judge, settings=marks) if marking_judge is not None else None
    marking = options_from(MarkOptions(), context)
    options = FilterOptions(models, samples, keep, marking, marker)
    with verdict_bars("answers") as step:
        result = filter_items(
            folder, options, seed=seed, again=again, extra=rosters or (), retry=option.statuses(retry), progress=step
        )
    mark_of_data = " SIMULATED" if folder.meta.kind == "simulated" else ""
    option.say_runs(result.runs, mark_of_data)
    if marker is not None:
        shown = load_prompt(marking_prompt)
        typer.echo(f"prompt {shown.id} of the judge that marks:\n{shown.text}", err=True)
    funnel = folder.funnel()
    tables = {"models": result.models, "funnel": funnel[funnel["step"] == STEP]}
    left = f"{result.n_out} of {result.n_in} items go on"
    show_tables(STEP, tables, left, simulated=folder.meta.kind == "simulated", as_json=as_json)
