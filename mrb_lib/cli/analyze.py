"""`mrb analyze`: one table of statistics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TABLES = (
    "composition", "agreement", "annotator_pairs", "ceiling", "annotators", "gold_rules", "accuracy", "significance",
    "letters", "models", "dif", "consistency", "bias", "calibration", "selective", "ranking", "ppi", "difficulty",
    "jury", "power", "transfer", "adjudication",
)  # fmt: skip
_OPTIONS = (
    "policy", "by", "dimension", "gold", "correction", "family", "margin", "epsilon", "target", "level", "cluster",
    "probe", "resamples", "seed",
)  # fmt: skip


def analyze(
    ctx: typer.Context,
    bench: Annotated[Path, typer.Argument(metavar="BENCH", help="The benchmark folder.")],
    runs: Annotated[Path | None, typer.Argument(metavar="[RUNS]", help="The runs; default: BENCH/runs.")] = None,
    table: Annotated[
        str,
        typer.Option(help=f"{', '.join(TABLES)}."),
    ] = "accuracy",
    policy: Annotated[str, typer.Option(help="official, balanced, strict, net or answered.")] = "balanced",
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Also by organ, department, modality, dataset, model_pair or another column of the cases; repeatable."
        ),
    ] = None,
    dimension: Annotated[str | None, typer.Option(help="One dimension; default: all.")] = None,
    gold: Annotated[
        str, typer.Option(help="majority, unanimous, posterior (Dawid and Skene) or adjudicated.")
    ] = "majority",
    adjudications: Annotated[
        str | None,
        typer.Option(
            envvar="MRB_STORE",
            help="--gold adjudicated, table adjudication: their store or file; default: BENCH/reviews.sqlite.",
        ),
    ] = None,
    correction: Annotated[
        str | None, typer.Option(help="holm, hochberg, bonferroni, bh, by or none; default: the table's own.")
    ] = None,
    family: Annotated[
        str,
        typer.Option(help="Tests corrected together: dimension (and subfield), or all."),
    ] = "dimension",
    margin: Annotated[float, typer.Option(help="significance: differences of accuracy below it count as none.")] = 0.05,
    epsilon: Annotated[
        float,
        typer.Option(help="ceiling: the cost-benefit penalty of the alternative annotator test."),
    ] = 0.15,
    target: Annotated[
        float, typer.Option(help="selective: the agreement with clinicians wanted where the judge answers.")
    ] = 0.9,
    level: Annotated[str | None, typer.Option(help="Read the labels as nominal, ordinal or interval.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="The column of the cases whose values are resampled together.")
    ] = None,
    probe: Annotated[str, typer.Option(help="The probe whose verdicts are analysed.")] = "none",
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the resampling.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV on stdout.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="A LaTeX table on stdout.")] = False,
) -> None:
    """Print one table of statistics, as text, JSON, CSV or LaTeX."""
    from mrb_lib.cli import render
    from mrb_lib.cli.adjudications import where
    from mrb_lib.cli.findings import echo_stale_runs
    from mrb_lib.data.benchmark import load
    from mrb_lib.errors import InputError
    from mrb_lib.stats import tables
    from mrb_lib.stats.inputs import ADJUDICATED
    from mrb_lib.verdicts.store import iter_verdicts

    if as_json + as_csv + as_latex > 1:
        raise InputError("--json, --csv and --latex: choose one.")
    benchmark = load(bench)
    if runs is None and (bench / "runs").is_dir():
        runs = bench / "runs"
    tables.check_table(table)
    columns = tables.columns_for(table)
    verdicts = None
    if runs is not None and columns and benchmark.meta.is_preference:
        verdicts = tables.read_panels(benchmark, iter_verdicts(runs, benchmark.cases, columns))
    echo_stale_runs(runs, benchmark)
    reviewed = None
    store = str(where(bench, adjudications))
    wanted = "adjudications" in tables.asks_for(table)
    if wanted and gold != ADJUDICATED and adjudications is None and not Path(store).exists():
        typer.echo(f"warning: nobody reviewed anything: there is no {store}; `mrb review` makes it", err=True)
    elif wanted or gold == ADJUDICATED:
        from mrb_lib.reviews.exchange import adjudications_from

        reviewed = adjudications_from(store, benchmark.meta.name)
    frame = tables.analyze(
        benchmark, verdicts, table, policy=policy, by=by, dimension=dimension, gold=gold, correction=correction,
        family=family, margin=margin, epsilon=epsilon, target=target,
        resamples=resamples, seed=seed, cluster=cluster, level=level, probe=probe,
        adjudications=reviewed,
    )  # fmt: skip
    unread = tables.unread(table, ctx.params)
    for name in _OPTIONS:
        source = ctx.get_parameter_source(name)
        if name in unread and source is not None and source.name == "COMMANDLINE":
            typer.echo(f"warning: --{name} changes nothing: table {table} does not read it", err=True)
    scored_by = None if "policy" in unread else policy
    simulated = benchmark.meta.kind == "simulated"
    what = f"{benchmark.meta.name}: {table}" + (f", policy {policy}" if scored_by else "")
    what += f" ({render.MARK} data)" if simulated else ""
    if as_json:
        typer.echo(render.as_json(frame, table=table, policy=scored_by, simulated=simulated))
    elif as_csv:
        typer.echo(render.as_csv(frame, simulated=simulated), nl=False)
    elif as_latex:
        typer.echo(render.as_latex(frame, caption=what, label=table), nl=False)
    else:
        typer.echo(f"{what}\n\n{render.as_text(frame)}")
