"""`mrb judge`: run judges over a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mrb_lib.judges.budget import Estimate
    from mrb_lib.judges.settings import DType, Quantization, Settings
    from mrb_lib.runs.execute import RunSummary

    Run = Callable[..., list[RunSummary]]

_ENGINES = ("local", "ray")
_LONGEST_REASON = 300
_DTYPES = ("auto", "float32", "bfloat16")


def judge(
    context: typer.Context,
    bench: Annotated[Path, typer.Argument(metavar="BENCH", help="The benchmark folder.")],
    runs: Annotated[Path, typer.Argument(metavar="RUNS", help="The folder of runs; created if needed.")],
    names: Annotated[
        list[str],
        typer.Option(
            "--judge",
            metavar="NAME...",
            help="Judges, after one --judge or several: NAME or NAME+ENGINE of the roster, path:DIR, endpoint:MODEL or "
            "endpoint:MODEL+letters, or a jury as consensus-of:NAME,NAME.",
        ),
    ],
    more: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    orders: Annotated[str, typer.Option(help="Which response is shown first: AB, BA or AB,BA.")] = "AB,BA",
    repeats: Annotated[int, typer.Option(help="Verdicts for each case, dimension and order.")] = 1,
    limit: Annotated[int | None, typer.Option(help="Judge only the first so many cases.")] = None,
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
    engine: Annotated[str, typer.Option(help="local, or ray for many GPUs and machines.")] = "local",
    workers: Annotated[int | None, typer.Option(help="Of --engine ray: models loaded at once.")] = None,
    gpus_per_worker: Annotated[float | None, typer.Option(help="Of --engine ray: GPUs each of them takes.")] = None,
) -> None:
    """Run judges over a benchmark. Verdicts already in RUNS are kept and not made again."""
    from typing import cast

    from mrb_lib.cli.progress import verdict_bars
    from mrb_lib.data.benchmark import load
    from mrb_lib.errors import InputError
    from mrb_lib.judges.settings import Settings

    if preset:
        from mrb_lib.cli.presets import chosen

        own = chosen(preset, "judge", context)
        orders, prompt = own.get("orders", orders), own.get("prompt", prompt)
        temperature = own.get("temperature", temperature)
    settings = Settings(
        seed=seed, prompt=prompt, temperature=temperature, max_new_tokens=max_new_tokens, max_pixels=max_pixels,
        without_images=without_images, batch_size=batch_size, device=device, dtype=dtype_named(dtype),
        quantize=cast("Quantization | None", quantize), revision=revision, download=download,
        trust_remote_code=trust_remote_code, url=url, allow_remote=allow_remote, concurrency=concurrency,
        timeout_s=timeout, scale=scale, price_prompt=price_prompt, price_completion=price_completion,
        budget=budget, requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute,
    )  # fmt: skip
    check_engine(engine, workers, gpus_per_worker)
    if budget is not None and engine == "ray":
        raise InputError("--budget: servers are asked by --engine local; leave out --engine ray.")
    run = _on_ray(workers, gpus_per_worker) if engine == "ray" else _here()
    judges = [*names, *(more or [])]
    extra = tuple(rosters or ())
    _say_temperature(judges, extra, settings, repeats)
    benchmark = load(bench)
    with verdict_bars() as step:
        summaries = run(
            benchmark,
            runs,
            judges,
            orders=orders.split(","),
            repeats=repeats,
            limit=limit,
            settings=settings,
            extra=extra,
            retry=tuple(status.strip() for status in retry.split(",") if status.strip()),
            progress=step,
        )
    for done in summaries:
        _report(done, " SIMULATED" if benchmark.meta.kind == "simulated" else "")
    _fail_if_hopeless(summaries)


def dtype_named(text: str) -> DType:
    """The type of numbers that `--dtype` names."""
    from typing import cast

    from mrb_lib.errors import InputError

    if text not in _DTYPES:
        raise InputError(f"--dtype {text!r}: use {', '.join(_DTYPES)}.")
    return cast("DType", text)


def check_engine(engine: str, workers: int | None, gpus_per_worker: float | None) -> None:
    """Raise `InputError` unless the options of `--engine` go together, and Ray is there where it is named."""
    from importlib.util import find_spec

    from mrb_lib.errors import InputError

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


def _here() -> Run:
    from functools import partial

    from mrb_lib.runs.execute import judge
    from mrb_lib.runs.local import run_locally

    return partial(judge, backend=partial(run_locally, approve=_approve))


def _approve(name: str, estimate: Estimate) -> None:
    """Say what requests may cost, and ask whether to go on where that may be more than the budget."""
    import sys

    from mrb_lib.errors import RunError

    typer.echo(f"{name}: {estimate}", err=True)
    if not estimate.may_exceed or not sys.stdin.isatty():
        return
    # A whole line: bars are drawn below it.
    typer.echo(
        f"{name}: that may exceed the budget, at which the run stops and can go on later; start? [y/N]", err=True
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise RunError(f"judge {name}: nothing was sent; name another --budget, or answer y.")


def _on_ray(workers: int | None, gpus_per_worker: float | None) -> Run:
    from functools import partial

    from mrb_lib.runs.ray.scaleout import judge_on_ray

    return partial(judge_on_ray, workers=workers, gpus_per_worker=gpus_per_worker)


def _say_temperature(judges: Sequence[str], extra: Sequence[Path], settings: Settings, repeats: int) -> None:
    from mrb_lib.judges.roster.roster import samples
    from mrb_lib.judges.settings import for_repeats

    used = for_repeats(settings, repeats)
    if used != settings and any(samples(name, extra) for name in judges):
        typer.echo(
            f"temperature {used.temperature} for all {repeats} repeats: greedy replies would be the same every time "
            "(--temperature sets another)",
            err=True,
        )


def _fail_if_hopeless(summaries: Sequence[RunSummary]) -> None:
    from mrb_lib.errors import RunError
    from mrb_lib.verdicts.run_totals import totals

    hopeless = [done.judge for done in summaries if set(totals(done.folder).statuses) == {"error"}]
    if hopeless:
        raise RunError(
            f"{', '.join(hopeless)}: every verdict is an error; see above, fix that, then use --retry error."
        )


def _report(done: RunSummary, mark: str) -> None:
    """What became of one judge: the result on stdout, what else its user should know on stderr."""
    from textwrap import shorten

    from mrb_lib.runs.plan import RETRIABLE
    from mrb_lib.verdicts.run_totals import totals

    for member in done.members:
        _report(member, mark)
    again = f" ({done.retried} of them again)" if done.retried else ""
    typer.echo(
        f"{done.judge}: {done.made}{mark} verdicts made{again} in {done.seconds:.1f} s, "
        f"{done.before} were there, in {done.folder}"
    )
    held = totals(done.folder)
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
