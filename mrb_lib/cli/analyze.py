"""`mrb analyze`: one table of statistics."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pandas as pd
import typer

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.build.construct.work import open_work
from mrb_lib.cli import render
from mrb_lib.cli.findings import echo_stale_runs
from mrb_lib.cli.judge_groups import echo_groups, grouped, named_pairs, of_judges, training_of
from mrb_lib.cli.listing import line
from mrb_lib.cli.options import AsJson, DeclaredCommand, Rosters, Runs, Seed, embedded, is_given
from mrb_lib.cli.progress import status_of
from mrb_lib.report.tabular import explained
from mrb_lib.stats import analyze as tables
from mrb_lib.stats.analysis import ADJUDICATED, rule_in_words
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.clusters import CASE, resampling_unit
from mrb_lib.stats.columns import MOVED, table_named
from mrb_lib.stats.where import asks_for_tags, restricted
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import Manifest
from mrb_lib.verdicts.prompts import run_prompts
from mrb_lib.verdicts.store import iter_verdicts
from mrb_lib.verdicts.training import seen_notes, training_records

if TYPE_CHECKING:
    from typer._click.core import Context  # the copy of click that Typer's own classes speak of
    from typer._click.formatting import HelpFormatter


class AnalyzeCommand(DeclaredCommand):
    """`mrb analyze`, with the options that single tables have."""

    @property
    def declared(self) -> Iterable[Parameter]:
        """See `DeclaredCommand`."""

        helps: dict[str, list[str]] = {}
        switches: set[str] = set()
        for spec in TABLES.values():
            for name, option in spec.options.items():
                text, default = f"Table {spec.name}: {option.help}", spec.default_text(name)
                if option.is_switch:
                    switches.add(name)
                    text, default = text.replace(" (1)", "").replace(" (0)", ""), "yes" if default == "1" else "no"
                helps.setdefault(name, []).append(f"{text} (default: {default}).")
        for name, texts in helps.items():
            kind, flag = (bool, f"{_flag(name)}/--no-{_flag(name)[2:]}") if name in switches else (float, _flag(name))
            read = Annotated[kind | None, typer.Option(flag, help=" ".join(texts))]  # type: ignore[valid-type]
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=read)

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the tables with their questions."""

        super().format_epilog(ctx, formatter)
        with formatter.section("Tables"):
            formatter.write_dl([(spec.name, spec.question) for spec in TABLES.values()])


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


COMMAND = AnalyzeCommand


def analyze(
    ctx: typer.Context,
    bench: Annotated[
        Path | None,
        typer.Argument(
            metavar="BENCH",
            callback=embedded,
            help="The benchmark folder, or demo for the embedded one; with --explain, none or a table.",
        ),
    ] = None,
    runs: Runs = None,
    table: Annotated[str, typer.Option(help="One of the tables below.")] = "accuracy",
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
    only: Annotated[
        str,
        typer.Option("--where", metavar="FILTER", help="Only some cases: \"organ == 'eye' and length > 700\"."),
    ] = "",
    judges: Annotated[
        str, typer.Option(metavar="A,B", help="Only these judges; group:medical for all of a group. Default: all.")
    ] = "",
    groups: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='Groups of judges: CSV (judge,group) or TOML ("judge" = "group").'),
    ] = None,
    rosters: Rosters = None,
    base: Annotated[
        list[str] | None,
        typer.Option(metavar="JUDGE", help="Table gains: compare this judge; repeatable.", hidden=True),
    ] = None,
    tuned: Annotated[
        list[str] | None,
        typer.Option(metavar="JUDGE", help="Table gains: with this one, trained from it; repeatable.", hidden=True),
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(metavar="WORK", help="Table models: read the answers in this work folder.", hidden=True),
    ] = None,
    correction: Annotated[
        str | None, typer.Option(help="holm, hochberg, bonferroni, bh, by or none; default: the table's own.")
    ] = None,
    family: Annotated[
        str, typer.Option(help="Correct together the tests of a dimension (and subfield), or all.", hidden=True)
    ] = "dimension",
    level: Annotated[
        str | None, typer.Option(help="Read the labels as nominal, ordinal or interval.", hidden=True)
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="The column of the cases whose values are taken as clusters, case_id for none; default: cluster, "
            "else the coarsest of item, question, images and dataset that repeats, if it has ten values."
        ),
    ] = None,
    probe: Annotated[str, typer.Option(help="The probe whose verdicts are analysed.")] = "none",
    versus: Annotated[
        str | None, typer.Option(metavar="JUDGE", help="Compare every other judge with this one.")
    ] = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples.")] = 2000,
    seed: Seed = 0,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV on stdout.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="A LaTeX table on stdout.")] = False,
    wide: Annotated[
        bool, typer.Option("--wide", help="As text, every column and row; default: what fits 100 columns.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Print what each column means, its unit and its source: `--explain accuracy`."),
    ] = False,
) -> None:
    """Print one table of statistics, as text, JSON, CSV or LaTeX."""
    from mrb_lib.cli.adjudications import where
    from mrb_lib.cli.overview import as_overview

    if as_json + as_csv + as_latex > 1:
        raise InputError("--json, --csv and --latex: choose one.")
    if explain:
        last = runs or bench
        is_folder = last is None or (str(last) not in (*tables.TABLES, *MOVED) and last.exists())
        typer.echo(explained(table_named(table if is_folder or is_given(ctx, "table") else str(last))))
        return
    if bench is None:
        raise InputError("BENCH: name the folder of a benchmark; `mrb demo DIR` makes one.")
    spec = table_named(table)
    parameters = spec.parameters_read(has_marks=work is not None)
    benchmark = load(bench)
    if runs is None and (bench / "runs").is_dir():
        runs = bench / "runs"
    columns = tables.verdict_columns(table)
    verdicts, training = None, None
    manifests: list[Manifest] = []
    if runs is not None and columns and benchmark.meta.is_judged:
        manifests, training = training_of(runs, benchmark)
        verdicts = tables.read_panels(benchmark, iter_verdicts(runs, benchmark.cases, columns), training)
    echo_stale_runs(runs, benchmark)
    pairs, stated = named_pairs(base or [], tuned or []), None
    if verdicts and (judges or groups is not None or "groups" in parameters):
        stated = grouped(verdicts, manifests, groups, rosters or ())
        verdicts = of_judges(verdicts, judges, stated)
        if judges or "groups" in parameters:
            echo_groups(stated)
    if verdicts and training is not None:
        names = dict.fromkeys(name for panel in verdicts.values() for name in panel.judges)
        for note in seen_notes(training, names, len(benchmark.cases)):
            typer.echo(line(f"note: {note}"), err=True)
    reviewed = None
    store = str(where(bench, adjudications))
    wanted = "adjudications" in spec.parameters or "review" in only
    if wanted and gold != ADJUDICATED and adjudications is None and not Path(store).exists():
        if table == "adjudication" or "review" in only:
            typer.echo(f"warning: there are no reviews: {store} does not exist; `mrb review` creates it", err=True)
    elif wanted or gold == ADJUDICATED:
        from mrb_lib.review.records.exchange import reviews_from

        reviewed, _ = reviews_from(store, benchmark.meta.name)
    tags = None
    if asks_for_tags(only) and ("://" in store or Path(store).is_file()):
        from mrb_lib.review.records.exchange import reviews_from

        _, tags = reviews_from(store, benchmark.meta.name)
    marks = None if work is None else _marks(work)
    own: dict[str, float] = ctx.obj
    with status_of("mrb_lib.stats"):
        frame = tables.analyze(
            benchmark, verdicts, table, policy=policy, by=by, dimension=dimension, gold=gold, correction=correction,
            family=family, resamples=resamples, seed=seed, cluster=cluster, level=level, probe=probe,
            adjudications=reviewed, where=only, tags=tags, groups=stated, training=training,
            records=training_records(manifests), pairs=pairs, prompts=run_prompts(manifests), marks=marks,
            versus=versus,
            **{name: value for name, value in own.items() if name in spec.options},
        )  # fmt: skip
    common = set(signature(tables.analyze).parameters) & set(ctx.params)
    if judges:
        common -= {"groups"}  # the file says whom --judges names
    unread = tables.unread(table, [*sorted(common - {"adjudications"}), *own], has_marks=work is not None)
    if pairs and "pairs" not in spec.parameters:
        typer.echo(f"warning: --base and --tuned change nothing: table {table} does not read them", err=True)
    if work is not None and "marks" not in spec.parameters:
        typer.echo(f"warning: --work changes nothing: table {table} does not read it", err=True)
    if stated is None and is_given(ctx, "rosters"):
        typer.echo(f"warning: --roster changes nothing: table {table} does not read it", err=True)
    if "groups" in parameters and frame.empty:
        hint = "no judge here is known to be trained from another; --base A --tuned B names a pair"
        if "pairs" not in spec.parameters:
            hint = "the judges are of fewer than two groups; --groups FILE states others"
        typer.echo(f"note: {hint}", err=True)
    for name in unread:
        if name in own or is_given(ctx, name):
            typer.echo(f"warning: {_flag(name)} changes nothing: table {table} does not read it", err=True)
    scored_by = None if "policy" in unread else policy
    simulated = benchmark.meta.kind == "simulated"
    what = f"{benchmark.meta.name}: {table}" + (f", policy {policy}" if scored_by else "")
    if "gold" in spec.parameters:
        what += f", gold: {rule_in_words(benchmark, gold, dimension)}"
    what += f", judges {judges}" if judges else ""
    if only:
        n = len(benchmark.cases)
        benchmark, _ = restricted(benchmark, verdicts, only, policy=policy, adjudications=reviewed, tags=tags)
        what += f", where {only} ({len(benchmark.cases):,} of {n:,} cases)"
    what += f" ({render.MARK} data)" if simulated else ""
    unit = None if "cluster" in unread else resampling_unit(benchmark.cases_by_image, cluster)
    if as_json:
        by_unit = None if unit is None else unit.name
        text = render.as_json(frame, table=table, policy=scored_by, cluster=by_unit, simulated=simulated, where=only)
        typer.echo(text)
    elif as_csv:
        filtered = frame.assign(where=only) if only else frame
        typer.echo(render.as_csv(filtered, simulated=simulated), nl=False)
    elif as_latex:
        typer.echo(render.as_latex(frame, caption=what, label=table), nl=False)
    else:
        title = what + (f"; {unit.statement}" if unit else "")
        title += "; --cluster case_id takes each case alone" if unit and cluster is None and unit.name != CASE else ""
        text = f"{title}\n\n{render.as_text(frame)}" if wide else as_overview(frame, spec, title=title)
        typer.echo(text)


def _marks(work: Path) -> pd.DataFrame:
    """Which model answered which item of a work folder right: `item_id, model, correct`."""

    chunks = list(open_work(work).chunks("answers", ["item_id", "model", "correct"]))
    if not chunks:
        raise InputError(f"--work {work}: no model has answered its items; run `mrb construct filter {work}` first.")
    return pd.concat(chunks, ignore_index=True)
