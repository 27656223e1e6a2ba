"""Find problems that would keep a judge from running, before the first of many starts."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.endpoint.address import address
from mrb_lib.judges.jury import parse_jury
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.judges.roster.engines import ENGINES
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.machine import misfit
from mrb_lib.judges.roster.roster import entry_of, pinned_revision, resolve
from mrb_lib.judges.roster.source import locate_weights
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.juries import has_run
from mrb_lib.runs.planned import PlannedJudge, is_complete, settings_for
from mrb_lib.runs.scaleout import check_installed
from mrb_lib.tables.errors import InputError

TIMEOUT_S: Final = 5.0
"""Seconds that a server may take to answer."""


def problems(benchmark: Benchmark, runs: Path, one: PlannedJudge, extra: Sequence[Path] = ()) -> list[str]:
    """Return everything that is known to keep a judge from running; empty where nothing is.

    Its packages, prompt, weights and device; memory, where its weights are larger than all that the device has; the
    key of its server, and whether that answers. Of a jury those of its members that have no run. Nothing is
    downloaded, and no server is asked but the judge's own, for the list of its models.

    Parameters
    ----------
    benchmark, runs, extra : see `mrb_lib.runs.judge`
    """
    jury = parse_jury(one.name)
    if jury is not None:
        members = [replace(one, name=member) for member in jury if not has_run(member, runs)]
        return list(dict.fromkeys(text for member in members for text in problems(benchmark, runs, member, extra)))
    name, settings = one.name, settings_for(benchmark, one.settings, one.repeats)
    try:
        entry = entry_of(name, extra)
    except InputError as error:
        return [str(error)]
    engine = ENGINES[entry.engine]
    told = _told(check_installed) if one.engine == "ray" else []
    told += _told(partial(engine.check_packages, name))
    if settings.prompt is not None and not told:
        told += _told(partial(load_prompt, settings.prompt))
    if engine.model == "weights" and settings.server_command is None:
        source, absent = None, list[str]()
        try:
            revision = settings.revision or pinned_revision(runs, entry.name, model=entry.model)
            source = locate_weights(entry, revision=revision, download=False)
        except InputError as error:
            absent = [str(error)]
        wrong = misfit(entry, settings, None if source is None else source.folder) if one.engine == "local" else None
        told += [] if wrong is None else [wrong]
        if source is None and settings.download:
            return told  # making the judge would fetch them
        told += absent
    try:
        kept = replace(settings, download=False)  # what is not here yet is fetched when the judge's turn has come
        judge = resolve(name, runs=runs, images=benchmark.images, settings=kept, extra=extra)
    except InputError as error:
        texts = list(dict.fromkeys([str(error), *told]))
        return [text for text in texts if not any(more != text and more.startswith(text) for more in texts)]
    needs_server = engine.model == "server" and settings.server_command is None
    if needs_server and not told and not is_complete(benchmark, runs, one, judge):
        told = _server(entry, settings)
    return list(dict.fromkeys(told))


def _told(act: Callable[[], object]) -> list[str]:
    """Return the message of the `InputError` that a check raises, if any."""
    try:
        act()
    except InputError as error:
        return [str(error)]
    return []


def _server(entry: Entry, settings: Settings) -> list[str]:
    """That a server does not answer, or not to this key; any other answer will do, as many have no list of models."""
    import httpx

    from mrb_lib.judges.endpoint.client import http_client

    try:
        server = address(entry, settings)
        with http_client(server, TIMEOUT_S) as http, http.stream("GET", f"{server.url}/models") as answer:
            status = answer.status_code
    except InputError as error:
        return [str(error)]
    except httpx.RequestError as error:
        why = server.without_key(str(error) or type(error).__name__)
        return [f"judge {entry.name!r}: no server answers at {server.host} ({why}); start it, or correct its url."]
    if status == httpx.codes.UNAUTHORIZED:
        state = "is rejected" if server.key else "is not set"
        return [f"judge {entry.name!r}: {server.host} answers HTTP 401: the key in {server.key_env} {state}."]
    return []
