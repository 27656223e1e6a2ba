"""`mrb judge`: run judges over a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from mrb_lib.benchmarks.benchmark import Benchmark
    from mrb_lib.cli.judged import JudgedRow
    from mrb_lib.judges.budget import Estimate
    from mrb_lib.judges.context import ExamplesBy, ReferenceLevel
    from mrb_lib.judges.settings import DType, Quantization
    from mrb_lib.runs.outcomes import Outcome, RunSummary
    from mrb_lib.runs.planned import PlannedJudge
    from mrb_lib.verdicts.run_totals import RunTotals

_ENGINES = ("local", "ray")
_LONGEST_REASON = 300
_DTYPES = ("auto", "float32", "bfloat16")


def judge(
    context: typer.Context,
    bench: Annotated[Path, typer.Argument(metavar="BENCH", help="The benchmark folder.")],
    runs: Annotated[Path, typer.Argument(metavar="RUNS", help="The folder of runs; created if needed.")],
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            metavar="NAME...",
            help="Judges, after one --judge or several: NAME or NAME+ENGINE of the roster, path:DIR, endpoint:MODEL or "
            "endpoint:MODEL+letters, or a jury as consensus-of:NAME,NAME.",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Judges, each in its own way, before those of --judge: a TOML file of tables [[judge]]; see above.",
        ),
    ] = None,
    more: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    orders: Annotated[str, typer.Option(help="Which response is shown first: AB, BA or AB,BA.")] = "AB,BA",
    repeats: Annotated[int, typer.Option(help="Verdicts for each case, dimension and order.")] = 1,
    limit: Annotated[int | None, typer.Option(help="Judge only the first so many cases.")] = None,
    probe: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help="Judge the cases as probes change them, too: image/blur:3,response/* (`mrb probes`)."
        ),
    ] = "",
    probe_files: Annotated[
        list[Path] | None,
        typer.Option(
            "--probe-file",
            metavar="FILE",
            help="A probe of your own: a table of case_id and of other texts (question, response_a, response_b) that "
            "should not change a verdict, such as translations; repeatable.",
        ),
    ] = None,
    probe_cases: Annotated[
        int | None, typer.Option(help="Probe so many cases, of every organ its share; default: all.")
    ] = None,
    retry: Annotated[
        str, typer.Option(metavar="STATUSES", help="Make verdicts of these again: unparsed,refused,error.")
    ] = "",
    rosters: Annotated[
        list[Path] | None,
        typer.Option("--roster", metavar="FILE", envvar="MRB_ROSTER", help="More judges, in a TOML file; repeatable."),
    ] = None,
    prompt: Annotated[
        str | None, typer.Option(metavar="ID|FILE", help="A prompt's id, or a template; default: the engine's.")
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="Show a reference answer in any prompt: strong (column reference), weak (column reference_weak, which "
            "the prompt says may be wrong) or none; a case without it is an error. Default: as the prompt is written.",
        ),
    ] = None,
    evidence: Annotated[
        bool,
        typer.Option(
            "--evidence",
            help="Show the passages in the column evidence (a text, or a JSON list of texts; [] states that none was "
            "found, which the prompt says); a case with an empty value is an error.",
        ),
    ] = False,
    examples: Annotated[
        int,
        typer.Option(
            metavar="K",
            help="Show K worked examples, at most 10: training cases (`mrb split`) and what annotators decided, of "
            "other items, clusters, images and texts than the case, without their images. Training cases are not "
            "judged.",
        ),
    ] = 0,
    examples_by: Annotated[
        str, typer.Option(metavar="RULE", help="Of --examples: nearest, by the words of the texts, or random (--seed).")
    ] = "nearest",
    preset: Annotated[
        str,
        typer.Option(metavar="NAME", help="paper: order AB, prompt official-form, temperature 0.1, where not set."),
    ] = "",
    seed: Annotated[int, typer.Option(min=0, help="The seed of everything drawn at random.")] = 0,
    temperature: Annotated[
        float | None, typer.Option(help="Of sampled replies; 0 is greedy, the default unless there are repeats.")
    ] = None,
    max_new_tokens: Annotated[int | None, typer.Option(help="Cut a reply off after so many tokens.")] = None,
    max_pixels: Annotated[int | None, typer.Option(help="Make images with more pixels smaller.")] = None,
    without_images: Annotated[
        bool, typer.Option("--without-images", help="Show no image: judges that read text only judge by the text.")
    ] = False,
    scale: Annotated[int, typer.Option(help="The highest rating, 5 or 10, of judges that rate.")] = 5,
    batch_size: Annotated[int | None, typer.Option(help="Cases at once; changes the speed only.")] = None,
    device: Annotated[
        str, typer.Option(help="auto (as many GPUs as the weights need), cpu, cuda:1, or several: cuda:0,cuda:1.")
    ] = "auto",
    dtype: Annotated[str, typer.Option(help="auto (bfloat16 on a GPU, else float32), float32 or bfloat16.")] = "auto",
    quantize: Annotated[
        str | None, typer.Option(metavar="BITS", help="Round the weights to 4bit or 8bit as they are loaded.")
    ] = None,
    revision: Annotated[
        str | None, typer.Option(help="Of a model on the Hub; default: that of earlier runs, else the newest.")
    ] = None,
    download: Annotated[bool, typer.Option("--download", help="Fetch weights that are not on this machine.")] = False,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that a model's repository brings.")
    ] = False,
    url: Annotated[str | None, typer.Option(help="An OpenAI-compatible server: http://127.0.0.1:8000/v1.")] = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Cases may be sent to a server that is not this machine.")
    ] = False,
    concurrency: Annotated[int, typer.Option(help="Requests to a server at a time, at most.")] = 8,
    timeout: Annotated[float, typer.Option(help="Seconds that a request to a server may take.")] = 120.0,
    price_prompt: Annotated[float | None, typer.Option(help="US dollars per million prompt tokens.")] = None,
    price_completion: Annotated[float | None, typer.Option(help="US dollars per million reply tokens.")] = None,
    budget: Annotated[
        float | None,
        typer.Option(metavar="USD", help="Stop before this call spends more on servers; needs the prices."),
    ] = None,
    requests_per_minute: Annotated[float | None, typer.Option(help="To a server, at most.")] = None,
    tokens_per_minute: Annotated[
        float | None, typer.Option(help="To a server, at most: of prompts, and as many as replies may have.")
    ] = None,
    trained_on: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Mark the cases that the judges learned from elsewhere, which no table then scores: the rows.toml of "
            "`mrb export`, or a training.json.",
        ),
    ] = None,
    engine: Annotated[str, typer.Option(help="local, or ray for many GPUs and machines.")] = "local",
    workers: Annotated[int | None, typer.Option(help="Of --engine ray: models loaded at once.")] = None,
    gpus_per_worker: Annotated[float | None, typer.Option(help="Of --engine ray: GPUs each of them takes.")] = None,
) -> None:
    """Run judges over a benchmark. Verdicts already in RUNS are kept and not made again.

    A judge that fails stops no other. A plan is a TOML file: each [[judge]] has a name, and any of these options as
    keys with underscores (timeout_s for --timeout), where it differs; engine may also be that of the judge. [common]
    is for all, and the options given here hold where the plan says nothing. All judges of a plan are checked before
    the first starts. At the end a table has what each did.
    """
    from dataclasses import replace
    from functools import partial
    from typing import cast

    from mrb_lib.benchmarks.benchmark import load
    from mrb_lib.judges.roster.roster import check_name
    from mrb_lib.judges.settings import Settings
    from mrb_lib.runs.juries import check_members
    from mrb_lib.runs.planned import PlannedJudge, read_judges
    from mrb_lib.tables.errors import InputError

    if preset:
        from mrb_lib.cli.presets import chosen

        own = chosen(preset, "judge", context)
        orders, prompt = own.get("orders", orders), own.get("prompt", prompt)
        temperature = own.get("temperature", temperature)
    settings = Settings(
        seed=seed, prompt=prompt, reference=cast("ReferenceLevel | None", reference), evidence=evidence,
        examples=examples, examples_by=cast("ExamplesBy", examples_by),
        temperature=temperature, max_new_tokens=max_new_tokens, max_pixels=max_pixels,
        without_images=without_images, batch_size=batch_size, device=device, dtype=dtype_named(dtype),
        quantize=cast("Quantization | None", quantize), revision=revision, download=download,
        trust_remote_code=trust_remote_code, url=url, allow_remote=allow_remote, concurrency=concurrency,
        timeout_s=timeout, scale=scale, price_prompt=price_prompt, price_completion=price_completion,
        budget=budget, requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute,
        trained_on=trained_on,
    )  # fmt: skip
    check_engine(engine, workers, gpus_per_worker)
    if budget is not None and engine == "ray":
        raise InputError("--budget: servers are asked by --engine local; leave out --engine ray.")
    extra = tuple(rosters or ())
    usual = PlannedJudge(
        "", settings, tuple(orders.split(",")), repeats, limit,
        tuple(status.strip() for status in retry.split(",") if status.strip()),
        tuple(name.strip() for name in probe.split(",") if name.strip()), probe_cases,
        tuple(map(str, probe_files or ())), "ray" if engine == "ray" else "local", workers, gpus_per_worker,
    )  # fmt: skip
    judges = [] if plan is None else read_judges(plan, usual, runs, extra)
    for name in [*(names or []), *(more or [])]:
        check_name(name, extra)
        check_members(name, runs, partial(check_name, extra=extra))
        judges.append(replace(usual, name=name))
    judges = [one for number, one in enumerate(judges) if one not in judges[:number]]
    if not judges:
        raise InputError("no judge is named; pass --judge NAME (`mrb judges` lists them), or --plan FILE.")
    _say_temperature(judges, extra)
    with_table = plan is not None or len(judges) > 1
    _run(load(bench), runs, judges, extra, with_table=with_table)


def _run(
    benchmark: Benchmark,
    runs: Path,
    judges: Sequence[PlannedJudge],
    extra: Sequence[Path],
    *,
    with_table: bool,
) -> None:
    """Run the judges, and say what became of them, also where somebody stops that."""
    from functools import partial

    from mrb_lib.cli.judged import JudgedRow
    from mrb_lib.cli.listing import line
    from mrb_lib.cli.progress import verdict_bars
    from mrb_lib.runs.local import run_locally
    from mrb_lib.runs.outcomes import FailedRunsError, RunSummary
    from mrb_lib.runs.planned import judge_plan
    from mrb_lib.tables.errors import RunError

    outcomes: list[tuple[PlannedJudge, Outcome]] = []

    def note(one: PlannedJudge, outcome: Outcome) -> None:
        outcomes.append((one, outcome))
        if not isinstance(outcome, RunSummary) and not outcome.is_interrupted and len(judges) > 1:
            typer.echo(line(f"{one.name}: failed: {outcome.reason}"), err=True)

    try:
        with verdict_bars() as step:
            judge_plan(
                benchmark, runs, judges, extra=extra, progress=step, finished=note,
                backend=partial(run_locally, approve=_approve),
            )  # fmt: skip
    except FailedRunsError as error:
        n = f"{len(error.failed)} of {error.n_judges}"
        raise RunError(f"{n} judges failed, see above; what the others did is kept.") from error
    finally:
        rows = [next((JudgedRow(*pair) for pair in outcomes if pair[0] == one), JudgedRow(one)) for one in judges]
        if outcomes:
            _report_all(benchmark, rows, extra, with_table=with_table)
    _fail_if_hopeless(rows)


def dtype_named(text: str) -> DType:
    """The type of numbers that `--dtype` names."""
    from typing import cast

    from mrb_lib.tables.errors import InputError

    if text not in _DTYPES:
        raise InputError(f"--dtype {text!r}: use {', '.join(_DTYPES)}.")
    return cast("DType", text)


def check_engine(engine: str, workers: int | None, gpus_per_worker: float | None) -> None:
    """Raise `InputError` unless the options of `--engine` go together, and Ray is there where it is named."""
    from importlib.util import find_spec

    from mrb_lib.tables.errors import InputError

    if engine not in _ENGINES:
        raise InputError(f"--engine {engine!r}: use {' or '.join(_ENGINES)}.")
    for option, value in (("--workers", workers), ("--gpus-per-worker", gpus_per_worker)):
        if value is not None and engine != "ray":
            raise InputError(f"{option}: needs --engine ray; add it, or leave {option} out.")
        if value is not None and value < 0:
            raise InputError(f"{option} {value}: must not be less than 0.")
    if workers == 0:
        raise InputError("--workers 0: at least 1 is needed.")
    if engine == "ray" and find_spec("ray") is None:
        raise InputError("--engine ray: needs ray; install it with `pip install 'mrb-workbench[scaleout]'`.")


def _approve(name: str, estimate: Estimate) -> None:
    """Say what requests may cost, and ask whether to go on where that may be more than the budget."""
    import sys

    from mrb_lib.tables.errors import RunError

    typer.echo(f"{name}: {estimate}", err=True)
    if not estimate.may_exceed or not sys.stdin.isatty():
        return
    # A whole line: bars are drawn below it.
    typer.echo(
        f"{name}: that may exceed the budget, at which the run stops and can go on later; start? [y/N]", err=True
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise RunError(f"judge {name}: nothing was sent; name another --budget, or answer y.")


def _say_temperature(judges: Sequence[PlannedJudge], extra: Sequence[Path]) -> None:
    """Say with which temperature repeats are drawn, where the user set none."""
    from mrb_lib.judges.settings import for_repeats

    drawn = {
        one.repeats: for_repeats(one.settings, one.repeats).temperature
        for one in judges
        if for_repeats(one.settings, one.repeats) != one.settings and _samples(one.name, extra)
    }
    for repeats, temperature in drawn.items():
        typer.echo(
            f"temperature {temperature} for all {repeats} repeats: greedy replies would be the same every time "
            "(--temperature sets another)",
            err=True,
        )


def _samples(name: str, extra: Sequence[Path]) -> bool:
    from mrb_lib.judges.roster.roster import samples
    from mrb_lib.tables.errors import InputError

    try:
        return samples(name, extra)
    except InputError:
        return False  # there is no such folder, which the check before the start says


def _fail_if_hopeless(rows: Sequence[JudgedRow]) -> None:
    from mrb_lib.tables.errors import RunError

    hopeless = [row.outcome.judge for row in rows if row.outcome and set(row.totals.statuses) == {"error"}]
    if hopeless:
        raise RunError(
            f"{', '.join(hopeless)}: every verdict is an error; see above, fix that, then use --retry error."
        )


def _report_all(benchmark: Benchmark, rows: Sequence[JudgedRow], extra: Sequence[Path], *, with_table: bool) -> None:
    """What became of the judges, line by line, and as a table."""
    from mrb_lib.cli.judged import judged_table, measured
    from mrb_lib.cli.listing import line
    from mrb_lib.runs.outcomes import RunSummary
    from mrb_lib.tables.errors import InputError

    folders = list(dict.fromkeys(row.folder for row in rows if row.folder is not None))
    try:
        measures = measured(benchmark, folders)
    except InputError as error:
        typer.echo(line(f"how well they judge is not known: {error}"), err=True)
        measures = measured(benchmark, [])
    for row in rows:
        if isinstance(row.outcome, RunSummary):
            _report(row.outcome, row.totals, " SIMULATED" if benchmark.meta.kind == "simulated" else "")
            _report_habits(row, measures, extra)
    if with_table:
        typer.echo("\n" + judged_table(benchmark, rows, measures))


def _report_habits(row: JudgedRow, measures: pd.DataFrame, extra: Sequence[Path]) -> None:
    """What a judge does whatever it is shown."""
    from mrb_lib.cli.judged import measures_of, packed_instead, position_bias

    if row.outcome is None or row.folder is None:
        return
    for text in (
        position_bias(measures_of(measures, row.folder)),
        packed_instead(row.planned.name, row.totals.statuses, extra),
    ):
        if text:
            typer.echo(f"{row.outcome.judge}: {text}", err=True)


def _report(done: RunSummary, held: RunTotals, mark: str) -> None:
    """What became of one judge: the result on stdout, what else its user should know on stderr."""
    from textwrap import shorten

    from mrb_lib.runs.plan import RETRIABLE
    from mrb_lib.verdicts.run_totals import totals

    for member in done.members:
        _report(member, totals(member.folder), mark)
    again = f" ({done.retried} of them again)" if done.retried else ""
    typer.echo(
        f"{done.judge}: {done.made}{mark} verdicts made{again} in {done.seconds:.1f} s, "
        f"{done.before} were there, in {done.folder}"
    )
    typer.echo(f"{done.judge}: {held}")
    if held.usual_error is not None:
        typer.echo(f"{done.judge}: most errors: {shorten(held.usual_error, _LONGEST_REASON)}", err=True)
    failed = [status for status in RETRIABLE if held.statuses.get(status)]
    if failed:
        typer.echo(f"{done.judge}: --retry {','.join(failed)} makes the verdicts without a choice again", err=True)
    if done.waiting:
        typer.echo(f"{done.judge}: {done.waiting} verdicts wait for members that have not judged them", err=True)
    for text in (*done.notices, *done.other_runs):
        typer.echo(f"{done.judge}: {text}", err=True)
