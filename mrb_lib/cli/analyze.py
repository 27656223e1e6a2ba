"""`mrb analyze`: one table of statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import pandas as pd
import typer
from pydantic import Field

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.build.construct.work import open_work
from mrb_lib.cli import render
from mrb_lib.cli.findings import echo_groups, echo_stale_runs
from mrb_lib.cli.listing import line
from mrb_lib.cli.options import DeclaredCommand, Rosters, Runs, embedded, options_from, parameters, where
from mrb_lib.cli.overview import as_overview, main_columns
from mrb_lib.cli.progress import status_of
from mrb_lib.report.tabular import explained
from mrb_lib.stats import analyze as tables
from mrb_lib.stats.analysis import ADJUDICATED, rule_in_words
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.clusters import CASE, resampling_unit
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.where import asks_for_tags, restricted
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.options import Names, Option, Texts, checked_dataclass, options_of
from mrb_lib.tables.schema import NO_PROBE
from mrb_lib.verdicts.manifest import Manifest, read_manifest
from mrb_lib.verdicts.store import iter_verdicts, run_folders, run_prompts
from mrb_lib.verdicts.training import seen_notes, training_cases, training_records

if TYPE_CHECKING:
    from typer._click.core import Context  # the copy of click that Typer's own classes speak of
    from typer._click.formatting import HelpFormatter


@checked_dataclass
class AnalysisOptions:
    """The options that all tables share."""

    table: Annotated[str, Option("Print one of the tables below.", "TABLE")] = "accuracy"
    policy: Annotated[str, Option("Score by official, balanced, strict, net or answered.", "POLICY")] = "balanced"
    by: Annotated[
        Names, Option("Break down also by a column of the cases, or by model_pair; repeatable.", "COLUMN")
    ] = ()
    dimension: Annotated[str | None, Option("Take one dimension; default: all.", "NAME")] = None
    gold: Annotated[str, Option("Make gold by majority, unanimous, posterior or adjudicated.", "RULE")] = "majority"
    adjudications: Annotated[
        str | None, Option("Read reviews here; default: BENCH/reviews.sqlite.", "PATH|URL", variable="MRB_STORE")
    ] = None
    where: Annotated[str, Option("Take only some cases: \"organ == 'eye' and length > 700\".", "FILTER")] = ""
    judges: Annotated[str, Option("Take only these judges; group:medical for all of a group.", "A,B")] = ""
    groups: Annotated[Path | None, Option("Read groups of judges from a CSV: judge,group.", "FILE")] = None
    base: Annotated[Texts, Option("Compare this judge in table gains; repeatable.", "JUDGE", is_rare=True)] = ()
    tuned: Annotated[Texts, Option("Name the judge trained from it; repeatable.", "JUDGE", is_rare=True)] = ()
    work: Annotated[Path | None, Option("Read answers for table models from this folder.", "WORK", is_rare=True)] = None
    correction: Annotated[
        str | None, Option("Correct by holm, hochberg, bonferroni, bh, by or none; default: the table's own.", "METHOD")
    ] = None
    family: Annotated[
        str, Option("Correct together the tests of a dimension (and subfield), or all.", "FAMILY", is_rare=True)
    ] = "dimension"
    level: Annotated[str | None, Option("Read labels as nominal, ordinal, interval.", "LEVEL", is_rare=True)] = None
    cluster: Annotated[
        str | None, Option("Cluster by this column; case_id for none; default: the coarsest that repeats.", "COLUMN")
    ] = None
    probe: Annotated[str, Option("Analyse the verdicts of this probe.", "PROBE")] = NO_PROBE
    versus: Annotated[str | None, Option("Compare every other judge with this one.", "JUDGE")] = None
    resamples: Annotated[int, Option("Draw N bootstrap resamples.", "N")] = 2000
    seed: Annotated[int, Field(ge=0), Option("Set the seed of the resampling.")] = 0
    as_json: Annotated[bool, Option("Print JSON on stdout.", flag="json")] = False
    as_csv: Annotated[bool, Option("Print CSV on stdout.", flag="csv")] = False
    as_latex: Annotated[
        bool, Option("Print a LaTeX table on stdout; its main columns, unless --wide.", flag="latex")
    ] = False
    wide: Annotated[bool, Option("Print every column and row as text; default: what fits 100 columns.")] = False
    explain: Annotated[bool, Option("Print what each column means: `--explain accuracy`.")] = False


class AnalyzeCommand(DeclaredCommand):
    """`mrb analyze`, with the options that single tables have."""

    @property
    def declared(self) -> Iterable[Parameter]:
        """See `DeclaredCommand`."""
        yield from parameters(options_of(AnalysisOptions()).values())
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
        Path | None, typer.Argument(metavar="BENCH", help="The benchmark, or demo; with --explain, none or a table.")
    ] = None,
    runs: Runs = None,
    rosters: Rosters = None,
) -> None:
    """Print one table of statistics, as text, JSON, CSV or LaTeX."""
    options = options_from(AnalysisOptions(), ctx)
    if options.as_json + options.as_csv + options.as_latex > 1:
        raise InputError("--json, --csv and --latex: choose one.")
    if options.explain:
        last = runs or bench
        is_folder = last is None or (str(last) not in TABLES and last.exists())
        typer.echo(explained(TABLES[options.table if is_folder or "table" in ctx.obj else str(last)]))
        return
    if bench is None:
        raise InputError("BENCH: name the folder of a benchmark; `mrb demo DIR` makes one.")
    TABLES[options.table]  # refused before the demo is made
    bench = embedded(bench)
    if runs is None and (bench / "runs").is_dir():
        runs = bench / "runs"
    analysis = _Analysis(options, load(bench), runs, tuple(rosters or ()), ctx.obj)
    frame = analysis.frame()
    source = ctx.get_parameter_source("rosters")
    analysis.warn(frame, has_rosters=source is not None and source.name == "COMMANDLINE")
    analysis.show(frame)


class _Analysis:
    """A table and the data that it is made from.

    Parameters
    ----------
    given : the options that the user set, those of single tables too
    """

    def __init__(
        self,
        options: AnalysisOptions,
        benchmark: Benchmark,
        runs: Path | None,
        rosters: Sequence[Path],
        given: Mapping[str, Any],
    ) -> None:
        self.options, self.benchmark, self.given = options, benchmark, given
        self.spec = TABLES[options.table]
        self.reads = self.spec.parameters_read(has_marks=options.work is not None)
        self.own = {name: value for name, value in given.items() if name not in vars(options)}
        if len(options.base) != len(options.tuned):
            raise InputError(
                f"--base is given {len(options.base)} times, --tuned {len(options.tuned)}; name as many of one as of "
                "the other."
            )
        self.pairs = list(zip(options.base, options.tuned, strict=True)) or None
        self.verdicts: dict[str, Panel] | None = None
        self.training: pd.DataFrame | None = None
        self.manifests: list[Manifest] = []
        columns = tables.verdict_columns(options.table)
        if runs is not None and columns and benchmark.meta.is_judged:
            self.manifests = [read_manifest(folder) for folder in run_folders(runs)]
            self.training = training_cases(self.manifests, benchmark)
            verdicts = iter_verdicts(runs, benchmark.cases, columns)
            self.verdicts = tables.read_panels(benchmark, verdicts, self.training)
        echo_stale_runs(runs, benchmark)
        self.groups = self._groups(rosters)
        self.reviews, self.tags = self._reviews()

    def _groups(self, rosters: Sequence[Path]) -> pd.DataFrame | None:
        """Return the groups of the judges if they are read, and keep the verdicts of the wanted judges."""
        options, groups = self.options, None
        if self.verdicts and (options.judges or options.groups is not None or "groups" in self.reads):
            from mrb_lib.judges.roster.groups import chosen_judges, judge_groups, read_group_file
            from mrb_lib.judges.roster.roster import entries

            found = [name for panel in self.verdicts.values() for name in panel.judges]
            stated = None if options.groups is None else read_group_file(options.groups)
            groups = judge_groups(found, self.manifests, roster_entries=entries(tuple(rosters)), override=stated)
            wanted = chosen_judges(options.judges, groups)
            kept = {probe: panel.of_judges(wanted) for probe, panel in self.verdicts.items()}
            self.verdicts = {probe: panel for probe, panel in kept.items() if panel.judges}
            if options.judges or "groups" in self.reads:
                echo_groups(groups)
        if self.verdicts and self.training is not None:
            names = dict.fromkeys(name for panel in self.verdicts.values() for name in panel.judges)
            for note in seen_notes(self.training, names, len(self.benchmark.cases)):
                typer.echo(line(f"note: {note}"), err=True)
        return groups

    def _reviews(self) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
        """Return the adjudications and the tags of the store, each None where it is not read."""
        options, name = self.options, self.benchmark.meta.name
        store = str(where(cast("Path", self.benchmark.path), options.adjudications))
        there = "://" in store or Path(store).exists()
        reads_reviews = "adjudications" in self.spec.parameters or "review" in options.where
        needs_reviews = options.gold == ADJUDICATED or (reads_reviews and options.adjudications is not None)
        is_asked_for = options.table == "adjudication" or "review" in options.where
        if is_asked_for and not there and not needs_reviews:
            typer.echo(f"warning: there are no reviews: {store} does not exist; `mrb review` creates it", err=True)
        reads_tags = asks_for_tags(options.where) and there
        if not (needs_reviews or (reads_reviews and there) or reads_tags):
            return None, None
        from mrb_lib.review.records.exchange import reviews_from

        reviews, tags = reviews_from(store, name)
        return reviews if needs_reviews or reads_reviews else None, tags if reads_tags else None

    def frame(self) -> pd.DataFrame:
        """Return the rows of the table."""
        options = self.options
        chosen = {name: value for name, value in vars(options).items() if name in signature(tables.analyze).parameters}
        chosen |= {name: value for name, value in self.own.items() if name in self.spec.options}
        chosen |= {
            "by": list(options.by) or None,
            "adjudications": self.reviews,
            "tags": self.tags,
            "groups": self.groups,
            "training": self.training,
            "records": training_records(self.manifests),
            "pairs": self.pairs,
            "prompts": run_prompts(self.manifests),
            "marks": None if options.work is None else _marks(options.work),
        }
        del chosen["table"]
        with status_of("mrb_lib.stats"):
            return tables.analyze(self.benchmark, self.verdicts, options.table, **chosen)

    @property
    def unread(self) -> list[str]:
        """The options that the table does not read."""
        options = self.options
        common = set(signature(tables.analyze).parameters) & set(vars(options)) - {"adjudications", "where"}
        if options.judges:
            common -= {"groups"}  # the file says whom --judges names
        return tables.unread(options.table, [*sorted(common), *self.own], has_marks=options.work is not None)

    def warn(self, frame: pd.DataFrame, *, has_rosters: bool) -> None:
        """Name the options that changed nothing, and the reason why there are no rows of groups."""
        options, spec = self.options, self.spec
        unused = [_flag(name) for name in self.unread if name in self.given]
        unused += ["--work"] if options.work is not None and "marks" not in spec.parameters else []
        unused += ["--roster"] if self.groups is None and has_rosters else []
        if self.pairs and "pairs" not in spec.parameters:
            typer.echo(f"warning: --base and --tuned change nothing: table {spec.name} does not read them", err=True)
        for flag in unused:
            typer.echo(f"warning: {flag} changes nothing: table {spec.name} does not read it", err=True)
        if "groups" in self.reads and frame.empty:
            hint = "no judge here is known to be trained from another; --base A --tuned B names a pair"
            if "pairs" not in spec.parameters:
                hint = "the judges are of fewer than two groups; --groups FILE states others"
            typer.echo(f"note: {hint}", err=True)

    def show(self, frame: pd.DataFrame) -> None:
        """Print the table."""
        options, benchmark = self.options, self.benchmark
        policy = None if "policy" in self.unread else options.policy
        parts = [f"{benchmark.meta.name}: {options.table}", *([f"policy {policy}"] if policy else [])]
        if "gold" in self.spec.parameters:
            parts.append(f"gold: {rule_in_words(benchmark, options.gold, options.dimension)}")
        parts += [f"judges {options.judges}"] if options.judges else []
        if options.where:
            benchmark, _ = restricted(
                benchmark, self.verdicts, options.where, policy=options.policy, adjudications=self.reviews,
                tags=self.tags,
            )  # fmt: skip
            n = f"{len(benchmark.cases):,} of {len(self.benchmark.cases):,} cases"
            parts.append(f"where {options.where} ({n})")
        simulated = benchmark.meta.kind == "simulated"
        title = ", ".join(parts) + (f" ({render.MARK} data)" if simulated else "")
        unit = None if "cluster" in self.unread else resampling_unit(benchmark.cases_by_image, options.cluster)
        if options.as_json:
            text = render.as_json(
                frame, table=options.table, policy=policy, cluster=None if unit is None else unit.name,
                simulated=simulated, where=options.where,
            )  # fmt: skip
            typer.echo(text)
        elif options.as_csv:
            filtered = frame.assign(where=options.where) if options.where else frame
            typer.echo(render.as_csv(filtered, simulated=simulated), nl=False)
        elif options.as_latex:
            printed = frame if options.wide else main_columns(frame, self.spec)
            typer.echo(render.as_latex(printed, caption=title, label=options.table), nl=False)
        else:
            title += f"; {unit.statement}" if unit else ""
            if unit and options.cluster is None and unit.name != CASE:
                title += "; --cluster case_id takes each case alone"
            typer.echo(
                f"{title}\n\n{render.as_text(frame)}" if options.wide else as_overview(frame, self.spec, title=title)
            )


def _marks(work: Path) -> pd.DataFrame:
    """Return who answered which item of a work folder right: `item_id, model, correct`."""
    answers = open_work(work).answers()[["item_id", "model", "correct"]]
    if answers.empty:
        raise InputError(f"--work {work}: no model has answered its items; run `mrb construct filter {work}` first.")
    return answers
