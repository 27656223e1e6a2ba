"""`mrb construct respond`: the pool of responders answers the items."""

from __future__ import annotations

from typing import Annotated

import typer

from mrb_lib.cli.construct import answering_options as option


def command(
    work: option.WorkFolder,
    names: Annotated[
        list[str] | None,
        typer.Option("--responder", metavar="NAME", help="A responder: as for mrb judge --judge; repeatable."),
    ] = None,
    plan: option.PoolFile = None,
    samples: option.Samples = 1,
    prompt: Annotated[
        str, typer.Option(metavar="ID|FILE", help="The responders' prompt: its id, or a template.")
    ] = "open-answer",
    rosters: option.Rosters = None,
    retry: option.Retry = "",
    seed: option.Seed = 0,
    temperature: option.Temperature = None,
    max_new_tokens: option.MaxNewTokens = None,
    max_pixels: option.MaxPixels = None,
    without_images: option.WithoutImages = False,
    batch_size: option.BatchSize = None,
    device: option.Device = "auto",
    dtype: option.DTypeName = "auto",
    revision: option.Revision = None,
    download: option.Download = False,
    trust_remote_code: option.Trust = False,
    url: option.Url = None,
    allow_remote: option.AllowRemote = False,
    concurrency: option.Concurrency = 8,
    timeout: option.Timeout = 120.0,
    engine: option.Engine = "local",
    workers: option.Workers = None,
    gpus_per_worker: option.GpusPerWorker = None,
    again: option.Again = False,
    as_json: option.AsJson = False,
) -> None:
    """Have the pool of responders answer the items. Responses are kept and not made again; refused, empty, cut-off and
    near-identical ones are flagged and counted."""
    from mrb_lib.build.construct.respond import STEP, respond
    from mrb_lib.build.construct.work import open_work
    from mrb_lib.cli.construct.tables import show_tables
    from mrb_lib.cli.judge import dtype_named
    from mrb_lib.cli.listing import line
    from mrb_lib.cli.progress import verdict_bars
    from mrb_lib.judges.settings import Settings

    folder = open_work(work)
    settings = Settings(
        seed=seed, prompt=prompt, temperature=temperature, max_new_tokens=max_new_tokens, max_pixels=max_pixels,
        without_images=without_images, batch_size=batch_size, device=device, dtype=dtype_named(dtype),
        revision=revision, download=download, trust_remote_code=trust_remote_code, url=url, allow_remote=allow_remote,
        concurrency=concurrency, timeout_s=timeout,
    )  # fmt: skip
    models = option.pool(names or [], plan, settings, engine=engine, workers=workers, gpus_per_worker=gpus_per_worker)
    with verdict_bars("responses") as step:
        result = respond(
            folder, models, samples=samples, seed=seed, again=again, extra=rosters or (), retry=option.statuses(retry),
            progress=step,
        )  # fmt: skip
    simulated = folder.meta.kind == "simulated"
    option.say_runs(result.runs, " SIMULATED" if simulated else "")
    for one in result.responders[result.responders["usable"] == 0].itertuples():
        text = f"{one.model}: none of its {one.n} responses can be paired ({one.refused} refused, {one.empty} empty)"
        typer.echo(line(f"warning: {text}"), err=True)
    funnel = folder.funnel()
    tables = {"responders": result.responders, "funnel": funnel[funnel["step"] == STEP]}
    left = f"{result.n_out} of {result.n_in} items go on"
    show_tables(STEP, tables, left, simulated=simulated, as_json=as_json)
