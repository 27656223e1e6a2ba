"""`mrb doctor`: the judges that this machine can run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mrb_lib.cli.options import AsJson, Rosters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from mrb_lib.judges.roster.machine import Machine

_WIDTH = 100
_CACHES = ("demo", "demo-ratings", "matplotlib", "report", "review")
"""The folders that the workbench keeps in `mrb_lib.report.places.home`."""


def doctor(
    rosters: Rosters = None,
    as_json: AsJson = False,
    clean: Annotated[bool, typer.Option("--clean", help="Empty the cache folder; reviews are kept.")] = False,
) -> None:
    """Say what this machine can run: GPU, memory, versions, offline state, which judges fit, and what to run next.

    Whether a judge fits is an estimate: its weights and 20% more, on a GPU in bfloat16 or rounded (--quantize), else
    on the CPU. The network is not asked, and no key is shown.
    """
    if clean:
        _clean()
        return
    import os

    from mrb_lib.judges.endpoint.address import KEY_ENV
    from mrb_lib.judges.roster.machine import inspect_machine, next_step, survey
    from mrb_lib.judges.roster.roster import entries

    judges = entries(rosters or ())
    machine = inspect_machine()
    table = survey(judges, machine)
    variables = [*(entry.key_env for entry in judges if entry.key_env), KEY_ENV]
    keys = {name: bool(os.environ.get(name)) for name in variables}
    step, hub = next_step(judges, machine), _hub()
    if as_json:
        typer.echo(_as_json(machine, table, {"hub": hub, "keys": keys, "next": step}))
        return
    for line in (*_describe(machine, hub), _keys(keys), "", *_judges(table), "", _line("next", step)):
        typer.echo(line)


def _clean() -> None:
    """Delete what can be made again, and keep an embedded benchmark that somebody has reviewed."""
    import shutil

    from mrb_lib.report.places import home
    from mrb_lib.tables.files import REVIEWS

    for path in (home() / name for name in _CACHES if (home() / name).is_dir()):
        if any(path.rglob(f"{REVIEWS}*")):
            typer.echo(f"{path}: kept, for it holds reviews; export them with `mrb adjudications`, then delete it")
            continue
        size = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
        shutil.rmtree(path)
        typer.echo(f"{path}: {size / 1e6:.1f} MB deleted")
    typer.echo(f"{home()}: holds nothing else that can be made again")


def _hub() -> dict[str, object]:
    """Return the Hub as this machine sees it, of a token whether there is one; empty without huggingface_hub."""
    import os
    from importlib.util import find_spec
    from pathlib import Path
    from shutil import disk_usage

    from mrb_lib.benchmarks.hub import hub_address, is_offline

    if find_spec("huggingface_hub") is None:
        return {}
    from huggingface_hub import constants, get_token

    cache = Path(constants.HF_HUB_CACHE).expanduser()
    there = next(path for path in (cache, *cache.parents) if path.exists())
    return {
        "offline": is_offline(), "endpoint": hub_address(), "token": get_token() is not None, "cache": cache,
        "writable": os.access(there, os.W_OK), "free_gb": disk_usage(there).free / 1e9,
    }  # fmt: skip


def _as_json(machine: Machine, table: pd.DataFrame, others: Mapping[str, object]) -> str:
    import json
    from dataclasses import asdict

    from mrb_lib.cli.render import as_json

    judges = json.loads(as_json(table, table="judges", policy="", simulated=False))["rows"]
    return json.dumps({**asdict(machine), **others, "judges": judges}, default=str)


def _line(label: str, text: str) -> str:
    from textwrap import fill

    return fill(text, _WIDTH, initial_indent=f"{label:<10}", subsequent_indent=" " * 10, break_on_hyphens=False)


def _describe(machine: Machine, hub: Mapping[str, Any]) -> Iterator[str]:
    if machine.gpus is None:
        yield _line("GPU", "unknown: torch is not installed")
    elif not machine.gpus:
        yield _line("GPU", "none that torch can use")
    for gpu in machine.gpus or ():
        yield _line("GPU", f"{gpu.name}, {gpu.total_gb:.1f} GB, {gpu.free_gb:.1f} GB free")
    yield _line("memory", _gb(machine.ram_total_gb))
    yield _line("CPU", f"{machine.cpus} usable")
    yield _line("versions", ", ".join(f"{name} {version}" for name, version in machine.versions.items()))
    lacking = {extra: packages for extra, packages in machine.extras.items() if packages}
    complete = [extra for extra in machine.extras if extra not in lacking]
    yield _line("extras", f"complete: {', '.join(complete) or 'none'}")
    for extra, packages in lacking.items():
        yield _line("", f"{extra} lacks {', '.join(packages)}: pip install 'mrb-workbench[{extra}]'")
    if hub:
        state = "offline (HF_HUB_OFFLINE is set)" if hub["offline"] else "asked only with --download"
        yield _line("Hub", f"{hub['endpoint']}, {state}, token {'set' if hub['token'] else 'not set'}")
        writable = "writable" if hub["writable"] else "NOT writable"
        yield _line("cache", f"{hub['cache']}, {writable}, {_gb(hub['free_gb'])} free")
    for note in machine.notes:
        yield _line("note", note)


def _keys(keys: Mapping[str, bool]) -> str:
    return _line("keys", ", ".join(f"{name} {'set' if is_set else 'not set'}" for name, is_set in keys.items()))


def _judges(table: pd.DataFrame) -> Iterator[str]:
    from textwrap import wrap

    from mrb_lib.cli.listing import listing, terminal_width
    from mrb_lib.judges.roster.machine import BASIS

    weights = table[table["device"].notna()]
    fits = ~weights["device"].isin(["no", "unknown"])
    unknown = weights["weights_gb"].isna().sum()
    yield f"{fits.sum()} of {len(weights)} judges with weights fit, {unknown} of unknown size"
    yield from wrap(BASIS, _WIDTH)
    yield ""
    shown = weights.rename(columns={"weights_gb": "GB_bf16", "memory_gb": "GB", "stored": "as"})
    columns = ["name", "GB_bf16", "device", "as", "GB", "minutes", "cached", "needs"]
    yield listing(shown[columns], width=terminal_width(_WIDTH))


def _gb(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1f} GB"
