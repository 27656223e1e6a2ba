"""`mrb annotate`: assign cases to clinicians, who annotate them in a browser without seeing who wrote the answers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from pydantic import Field

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.build.construct.pair import annotation_blocks
from mrb_lib.cli.listing import count
from mrb_lib.cli.options import Bench, Store, check_at_most_one, declares, options_from, where
from mrb_lib.cli.render import MARK, as_json, as_text
from mrb_lib.cli.serving import ServerOptions, app_address
from mrb_lib.review.annotate.answers import annotate as app_of
from mrb_lib.review.annotate.answers import ranked_items
from mrb_lib.review.annotate.coordination import agreement_so_far, coordinate
from mrb_lib.review.annotate.forms import form_of
from mrb_lib.review.records.assignment import assign, choose_cases, whole_groups
from mrb_lib.review.records.exchange import (
    CHOICE,
    COMMENT,
    PEOPLE,
    SKIP,
    add_people,
    annotations_of,
    answer_log,
    by_annotator,
    case_states,
    skipped_cases,
    write_annotations,
    write_rows,
)
from mrb_lib.review.records.store import REVIEW, open_store, without_password
from mrb_lib.review.records.store import Store as ReviewStore
from mrb_lib.stats.analyze import analyze
from mrb_lib.stats.methods.until import Target, read_target, until
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.names import spellings, visible
from mrb_lib.tables.options import Option, checked_dataclass
from mrb_lib.tables.schema import CONSENSUS


@checked_dataclass
class DealOptions:
    """Options of assigning cases to people."""

    overlap: Annotated[int | None, Field(ge=1), Option("Give each case to N people; default: to all.", "N")] = None
    shared: Annotated[int, Field(ge=0), Option("Give everybody the same N cases first.", "N")] = 0
    seed: Annotated[int, Field(ge=0), Option("Set the seed of the assignment and of the orders shown.")] = 0


@checked_dataclass
class AnnotateOptions(DealOptions):
    """Options of `mrb annotate`."""

    annotators: Annotated[str | None, Option("Assign cases to these people; earlier ones stay.", "NAME,NAME")] = None
    cases: Annotated[int | None, Field(ge=1), Option("Assign a random choice of N cases; default: all.", "N")] = None
    export: Annotated[Path | None, Option("Write the annotations so far: .parquet or .csv; no page.", "OUT")] = None
    full: Annotated[bool, Option("With --export, write every choice, skip and comment, replaced ones too.")] = False
    agreement: Annotated[bool, Option("Show progress and agreement; no page.")] = False
    until: Annotated[
        str | None, Option("Say whether they agree well enough: alpha>=0.6 (or fleiss, kappa, ac1); no page.", "RULE")
    ] = None
    adjudicate: Annotated[
        str | None, Option("Assign cases without a majority to these reviewers, for mrb review; no page.", "NAME,NAME")
    ] = None
    people: Annotated[
        Path | None, Option("Read annotator, qualification, years and consent from this CSV.", "FILE")
    ] = None
    as_json: Annotated[bool, Option("With --until, print JSON.", flag="json")] = False
    assign_only: Annotated[bool, Option("Assign the cases; no page.")] = False
    ranking: Annotated[bool, Option("Show all responses of an item at once, to be ranked.")] = False
    coordinator: Annotated[bool, Option("Open the coordinator's page: progress, agreement, comments.")] = False

    @property
    def opens_page(self) -> bool:
        """Return True where the command opens a page."""
        return not any((self.export, self.agreement, self.assign_only, self.until, self.adjudicate))


COMMAND = declares(AnnotateOptions(), ServerOptions())


def annotate(context: typer.Context, bench: Bench, store: Store = None) -> None:
    """Annotate preferences, ratings or rankings in a browser, blinded: assign cases, collect and export answers."""
    from mrb_lib.review.server import serve

    options, server = options_from(AnnotateOptions(), context), options_from(ServerOptions(), context)
    check_at_most_one(context, "export", "agreement", "coordinator", "assign_only", "until", "adjudicate")
    if options.full and options.export is None:
        raise InputError("--full: says what to export; name the file with --export OUT.")
    if options.as_json and options.until is None:
        raise InputError("--json: goes with --until.")
    target = None if options.until is None else read_target(options.until)
    reviewers = None if options.adjudicate is None else names_in(options.adjudicate, "--adjudicate")
    names = None if options.annotators is None else names_in(options.annotators, "--annotators")
    used = where(bench, store)
    if names is None and "://" not in str(used) and not Path(used).is_file():
        raise InputError(f"{used}: nothing is assigned yet; name people with --annotators NAME,NAME.")
    if options.opens_page:  # before cases are assigned, which stays
        address = app_address(bench, "coordinate" if options.coordinator else "annotate", server)
    benchmark = load(bench)
    form_of(benchmark.meta).check(benchmark.meta)
    together = {item.case_ids[0]: item.case_ids for item in ranked_items(benchmark)} if options.ranking else None
    if options.people is not None:
        typer.echo(f"{bench / PEOPLE}: {count(len(add_people(bench, options.people)), 'annotator')}", err=True)
    with open_store(used, create=names is not None) as opened:
        if names is not None:
            assign_cases(
                benchmark, opened, names, overlap=options.overlap, n_cases=options.cases, shared=options.shared,
                seed=options.seed, blocks=annotation_blocks(bench), together=together,
            )  # fmt: skip
        if options.export is not None:
            (_export_log if options.full else _export)(benchmark, opened, options.export)
        elif options.agreement:
            show_agreement(benchmark, opened)
        elif target is not None:
            show_until(benchmark, opened, target, in_json=options.as_json)
        elif reviewers is not None:
            deal_disputed(benchmark, opened, reviewers, seed=options.seed)
    if not options.opens_page:
        return
    typer.echo(f"answers are kept in {without_password(str(used))}", err=True)
    with open_store(used, create=False) as opened:
        app = (
            coordinate(benchmark, opened) if options.coordinator else app_of(benchmark, opened, ranked=options.ranking)
        )
        serve(app, address, browse=server.browser)


def names_in(text: str, option: str) -> list[str]:
    """Return names that are separated by commas, checked by `check_names`."""
    names = [name.strip() for name in text.split(",")]
    check_names(names, option)
    return names


def check_names(names: Sequence[str], option: str) -> None:
    """Refuse names that are reserved or alike, or that a spreadsheet would run as a formula."""
    for name in names:
        if not name or not name[0].isalnum() or not name.isprintable() or len(name) > 100:
            raise InputError(f"{option} {name!r}: start a name with a letter or digit; use 100 at most.")
        if name.lower() == CONSENSUS:
            raise InputError(f"{option} {name!r}: stands for labels that several people agreed on; take another.")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{option} {name!r}: occurs twice; name each once.")
    refuse_alike(names, option)


def refuse_alike(names: Sequence[str], option: str, known: Collection[str] = ()) -> None:
    """Refuse new names of which one looks like another, or like a known one."""
    for group in spellings([*known, *names]):
        if not set(group) <= set(known):
            alike = " and ".join(map(visible, group))
            raise InputError(f"{option}: {alike} look alike; name each person once, or tell them apart by more.")


def assign_cases(
    benchmark: Benchmark,
    store: ReviewStore,
    names: list[str],
    *,
    overlap: int | None,
    n_cases: int | None,
    shared: int,
    seed: int,
    blocks: Mapping[str, int] | None = None,
    together: Mapping[str, Sequence[str]] | None = None,
    options: tuple[str, str] = ("--annotators", "--cases"),
) -> None:
    """Assign cases, and report how many each annotator has.

    Parameters
    ----------
    blocks : see `mrb_lib.review.records.assignment.assign`
    together : the pairs of an item to rank, which go to the same people in this sequence, by the first of them; all
        numbers are then of these groups. None assigns each case by itself
    options : for names and numbers, in messages
    """
    meta = benchmark.meta
    ids = benchmark.cases["case_id"].tolist() if together is None else list(together)

    def assigned() -> pd.DataFrame:
        frame = store.assignments(meta.name)
        return frame if together is None else frame[frame["case_id"].isin(ids)]

    def keep(dealt: pd.DataFrame) -> None:
        rows = whole_groups(dealt, together)
        store.assign(meta.name, rows.assign(order="AB") if meta.is_rating else rows)  # one response has no order

    before = assigned()
    refuse_alike(names, options[0], before["annotator"].unique().tolist())
    people = len(set(names) | set(before["annotator"]))
    if shared:
        # By the seed alone: who comes later gets the same ones.
        common = choose_cases(ids, shared, seed=seed, blocks=blocks)
        dealt = assign(common, names, overlap=people, seed=seed, assigned=before, blocks=blocks)
        keep(dealt)
        before = assigned()
    wanted = people if overlap is None else overlap
    having = before["case_id"].unique().tolist()
    chosen = choose_cases(ids, n_cases or len(ids), seed=seed, first=having, blocks=blocks)
    dealt = assign(chosen, names, overlap=wanted, seed=seed, assigned=before, blocks=blocks)
    keep(dealt)
    after = assigned()
    of, cases_of = after.groupby("annotator").size(), store.assignments(meta.name).groupby("annotator").size()
    for name in names:
        items = "" if together is None else f"{count(of.get(name, 0), 'item')}, "
        typer.echo(f"{name}: {items}{count(cases_of.get(name, 0), 'case')}", err=True)
    short = int((after.groupby("case_id").size().reindex(chosen, fill_value=0) < wanted).sum())
    if short:
        have = "has" if short == 1 else "have"
        typer.echo(f"{count(short, 'case')} {have} fewer than {wanted} annotators; name more of them.", err=True)
    if any(of.get(name, 0) == 0 for name in names):
        typer.echo(f"Every case has its {wanted} annotators already; raise --overlap or {options[1]}.", err=True)


def _export(benchmark: Benchmark, store: ReviewStore, out: Path) -> None:
    frame, left_out = annotations_of(benchmark, store)
    write_annotations(frame, out)
    parts = [count(len(frame), "annotation"), count(frame["case_id"].nunique(), "case")]
    people = count(frame["annotator"].nunique(), "annotator")
    typer.echo(f"{out}: {' of '.join(parts)} by {people}{_mark(benchmark)}")
    if left_out:
        typer.echo(f"{left_out} annotations of cases or dimensions that are not in the benchmark left out", err=True)


def _export_log(benchmark: Benchmark, store: ReviewStore, out: Path) -> None:
    frame, left_out = answer_log(benchmark, store)
    write_rows(frame, out)
    number = frame["kind"].value_counts()
    parts = [count(int(number.get(kind, 0)), kind) for kind in (CHOICE, SKIP, COMMENT)]
    replaced = int((~frame["counts"]).sum())
    typer.echo(f"{out}: {', '.join(parts)}, {replaced} of them replaced by later answers{_mark(benchmark)}")
    if left_out:
        gone = f"{count(left_out, 'row')} about cases, dimensions or choices that are not in the benchmark left out"
        typer.echo(gone, err=True)


def show_agreement(benchmark: Benchmark, store: ReviewStore) -> None:
    """Progress, agreement and what was skipped; as on the coordinator's page, of the cases in the benchmark."""
    meta, here = benchmark.meta, benchmark.cases["case_id"]
    assignments, answers = (
        frame[frame["case_id"].isin(here)] for frame in (store.assignments(meta.name), store.answers(meta.name))
    )
    people = by_annotator(case_states(assignments, answers, meta.dimensions))
    skipped = skipped_cases(answers, meta.dimensions)
    typer.echo(f"{meta.name}{_mark(benchmark)}")
    typer.echo(as_text(people) if len(people) else "nothing is assigned yet")
    typer.echo(f"\n{as_text(agreement_so_far(benchmark, annotations_of(benchmark, store)[0]))}")
    typer.echo(f"\nskipped\n{as_text(skipped)}" if len(skipped) else "\nnothing was skipped")


def show_until(benchmark: Benchmark, store: ReviewStore, target: Target, *, in_json: bool = False) -> None:
    """Print what is wanted of the agreement on each dimension of one choice, what it is, and what would help."""
    annotations, _ = annotations_of(benchmark, store)
    several = list(benchmark.meta.labels)
    benchmark = replace(benchmark, annotations=annotations).of_one_choice
    meta = benchmark.meta
    table = until(analyze(benchmark, None, "agreement", pairwise=0), target)
    simulated = meta.kind == "simulated"
    if in_json:
        typer.echo(as_json(table, table="until", policy=None, simulated=simulated))
        return
    typer.echo(f"{meta.name}{_mark(benchmark)}: {target.measure} >= {target.value:g}")
    shown = table[["dimension", "n_cases", "annotators_per_case", "value", "low", "high", "state", "reliability"]]
    typer.echo(as_text(shown))
    if several:
        typer.echo(f"left out, as several labels may apply: {', '.join(several)}")
    for row in table.itertuples():
        typer.echo(f"{row.dimension}: {row.advice}")


def deal_disputed(benchmark: Benchmark, store: ReviewStore, reviewers: list[str], *, seed: int) -> None:
    """Assign the cases whose annotators leave some dimension without a majority to reviewers, one each."""
    name = benchmark.meta.name
    annotations, _ = annotations_of(benchmark, store)
    votes = gold(replace(benchmark, annotations=annotations))
    disputed = votes[votes["choice"].isna() & (votes["n_annotators"] > 1)]
    ids = disputed["case_id"].drop_duplicates().tolist()
    if not ids:
        raise InputError(f"{name}: annotators leave no case without a majority; there is nothing to adjudicate.")
    before = store.assignments(name, task=REVIEW)
    store.assign(name, assign(ids, reviewers, overlap=1, seed=seed, assigned=before), task=REVIEW)
    after = store.assignments(name, task=REVIEW)
    each = ", ".join(f"{dimension} {n}" for dimension, n in disputed["dimension"].value_counts().items())
    typer.echo(f"{count(len(ids), 'case')} without a majority ({each})")
    for reviewer in reviewers:
        typer.echo(f"{reviewer}: {count(int((after['annotator'] == reviewer).sum()), 'case')} to review", err=True)
    typer.echo("Next: mrb annotate BENCH --export BENCH/annotations.parquet, then mrb review BENCH", err=True)


def _mark(benchmark: Benchmark) -> str:
    return f" ({MARK} data)" if benchmark.meta.kind == "simulated" else ""
