"""The roster: its judges, and how a name becomes a judge."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import pandas as pd
from pydantic import ValidationError

from mrb_lib.judges.budget import Budget
from mrb_lib.judges.jury import parse_jury
from mrb_lib.judges.plan_file import read_plan
from mrb_lib.judges.roster.engines import ENGINES, Engine, JudgeRequest, public_engines, split_engine
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.machine import misfit, plan_text
from mrb_lib.judges.roster.source import ADAPTER, LOCAL, WeightsSource, is_cached, locate_weights, trained_as
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError, nearest
from mrb_lib.tables.options import in_plain_words
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.protocol import Judge
from mrb_lib.verdicts.store import run_folders

ROSTER_COLUMNS: Final = (
    "name", "model", "subfolder", "family", "access", "domain", "base", "size", "weights_gb", "licence", "gated",
    "engine", "thinking", "context", "cutoff", "needs", "about", "source", "checked",
)  # fmt: skip
_TYPES: Final = {"weights_gb": "float", "context": "Int64", "gated": "boolean"}
DEFAULT_ENGINE: Final = "packed"
FOLDER: Final = "path:"
SERVED: Final = "endpoint:"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def entries(extra: Sequence[Path] = ()) -> list[Entry]:
    """Return the judges of the roster, the engines that are judges, then the judges of the user's roster files.

    Parameters
    ----------
    extra : TOML files of the same form as the roster; `path` in them is relative to the file

    Raises
    ------
    InputError
        A file cannot be read, is not a roster, names a judge that is there already, or a base that is not.
    """
    judges = [
        *_built_in(),
        *(Entry(e.name, e.name, about=e.about) for e in public_engines().values() if e.model == "none"),
    ]
    where = {entry.name: "the roster" for entry in judges}
    for file in extra:
        for entry in _read(file, public_engines()):
            if entry.name in where:
                raise InputError(
                    f"{file}, judge {entry.name!r}, key 'name': is already in {where[entry.name]}; choose another name."
                )
            where[entry.name] = str(file)
            judges.append(entry)
    for entry in judges:
        if entry.base is not None and entry.base not in where:
            raise InputError(
                f"{where[entry.name]}, judge {entry.name!r}, key 'base': {entry.base!r} is not in the roster; "
                f"name a judge of it, or leave the key out.{nearest(entry.base, where)}"
            )
    return judges


@lru_cache(maxsize=1)
def _built_in() -> list[Entry]:
    return _read(Path(__file__).with_name("roster.toml"), ENGINES)


def roster(extra: Sequence[Path] = ()) -> pd.DataFrame:
    """Return the judges that can be named, one row per judge, in the roster's order.

    Parameters
    ----------
    extra : the user's own roster files

    Returns
    -------
    DataFrame
        `ROSTER_COLUMNS`; null where nothing could be checked. `model` is the folder where an entry names one;
        `weights_gb` is the memory of the weights alone in bfloat16, in 10^9 bytes; `context` is in tokens, `cutoff`
        and `checked` are dates.
    """
    rows = [
        {
            **{name: getattr(entry, name, None) for name in ROSTER_COLUMNS},
            "model": entry.model or (str(entry.path) if entry.path else None),
            "weights_gb": entry.weights_gb(),
            "needs": needs(entry),
        }
        for entry in entries(extra)
    ]
    types = {name: _TYPES.get(name, "str") for name in ROSTER_COLUMNS}
    return pd.DataFrame(rows, columns=list(ROSTER_COLUMNS)).astype(types)


def needs(entry: Entry) -> str | None:
    """Return what a judge needs besides its weights, the program that serves it first; None for nothing."""
    program = ENGINES[entry.engine].program
    named = [f"{program} (as {entry.name}+{program})" if program else "", entry.needs or ""]
    return "; ".join(filter(None, named)) or None


def resolve(
    name: str,
    *,
    runs: Path,
    images: Mapping[str, bytes],
    settings: Settings,
    extra: Sequence[Path] = (),
    budget: Budget | None = None,
    fingerprint: str = "",
) -> Judge:
    """Return the judge of a given name; its weights are located, and read only when it is to judge.

    Parameters
    ----------
    name : a name of the roster (`NAME`), with another engine (`NAME+ENGINE`), a folder of
        weights (`path:DIR` or `path:DIR+ENGINE`), a model of a server (`endpoint:MODEL` or
        `endpoint:MODEL+letters`, `endpoint:MODEL+batch`), or a jury
    runs : the folder of runs, where a model finds the revision it had, and a server's earlier replies. A jury is
        returned without its members, whose runs `mrb_lib.runs.juries` finds.
    images : the benchmark's images, by name
    settings : what the user set
    extra : the user's own roster files
    budget : what the judges of a call may spend together; None for one of this judge's own, if the settings have one
    fingerprint : of the cases that it is to judge, by which its run is known

    Raises
    ------
    InputError
        No judge has that name, its weights are not at hand or do not fit this machine, it needs remote code that the
        user has not allowed, or a library or a program is missing.
    """
    entry, (base, _) = entry_of(name, extra), split_engine(name)
    engine = ENGINES[entry.engine]
    is_started = settings.server_command is not None and engine.model != "none"
    if engine.model == "weights" and entry.remote_code and not settings.trust_remote_code:
        served = f" (in {engine.program}, as {base}+{engine.program})" if engine.program else ""
        raise InputError(
            f"judge {name!r}: {entry.model or entry.path} runs code from its own repository{served}, which can do "
            "anything on this machine; read that code, then pass --trust-remote-code."
        )
    engine.check_packages(name)
    if engine.program and not is_started:
        engine.check_program(name)
    source = _weights(entry, settings, runs, is_started) if engine.model == "weights" else None
    usual = entry_of(base, extra).engine
    request = JudgeRequest(entry, settings, images, source, runs, budget, usual, fingerprint)
    return (ENGINES["vllm"] if is_started else engine).build(request)


def _weights(entry: Entry, settings: Settings, runs: Path, is_started: bool) -> WeightsSource | None:
    """Locate an entry's weights; None where a server that the user names may have its own."""
    is_absent = entry.path is None and not is_cached(entry)
    if is_absent and settings.download and not is_started and (wrong := misfit(entry, settings)) is not None:
        raise InputError(wrong)
    revision = settings.revision or pinned_revision(runs, entry.name, model=entry.model)
    trusted = settings.trust_remote_code
    try:
        return locate_weights(entry, revision=revision, download=settings.download, trust_remote_code=trusted)
    except InputError as error:
        if settings.download or not is_absent:
            raise
        if is_started:
            return None
        raise InputError(f"{error}{plan_text(entry)}") from error


def pinned_revision(runs: Path, judge_name: str, *, model: str | None = None) -> str | None:
    """Return the revision of a judge's latest run, which later runs keep; None where there is none.

    Parameters
    ----------
    runs : the folder of runs; it may not exist yet
    judge_name : as in the verdicts. A judge keeps its revision with every engine, so
        that engines are compared on the same weights.
    model : the model's id; runs whose manifest names another do not count

    Raises
    ------
    InputError
        A manifest is damaged.
    """
    if not runs.is_dir():
        return None
    revisions = []
    for folder in run_folders(runs):
        manifest = read_manifest(folder)
        revision = manifest.spec.get("revision")
        same = split_engine(manifest.judge)[0] == split_engine(judge_name)[0]
        same_model = model is None or manifest.spec.get("model", model) == model
        if same and same_model and isinstance(revision, str) and revision and not revision.startswith(LOCAL):
            revisions.append((manifest.created, revision))
    return max(revisions)[1] if revisions else None


def entry_of(name: str, extra: Sequence[Path] = ()) -> Entry:
    """Return the entry behind a judge's name, under its name in the verdicts and with the engine it will use.

    A jury's members are looked for among the runs when it is to judge: they may have been imported.

    Raises
    ------
    InputError
        There is no such judge or folder, it cannot use that engine, or it is no well-formed name of a jury.
    """
    if parse_jury(name) is not None:
        return Entry(name, "jury")
    base, engine = split_engine(name)
    if base.startswith(FOLDER):
        return _folder_entry(name, Path(base.removeprefix(FOLDER)), engine)
    if base.startswith(SERVED) and len(base) > len(SERVED):
        engine = _through_server(engine)
        if engine is not None and engine.model != "server":
            raise InputError(
                f"judge {name!r}: a served model has no weights that {engine.name} could read; write {base}."
            )
        return Entry(name, engine.name if engine else "endpoint", model=base.removeprefix(SERVED))
    judges = {entry.name: entry for entry in entries(extra) if entry.engine != "jury"}
    entry = judges.get(base)
    if entry is None:
        hint = f"; the engines are {', '.join(public_engines())}" if "+" in name and engine is None else ""
        raise InputError(
            f"judge {name!r} is not in the roster; `mrb judges` lists those there are{hint}.{nearest(base, judges)}"
        )
    engine = _through_server(engine) if ENGINES[entry.engine].model == "server" else engine
    if engine is None:
        return entry
    _check_model(name, base, entry, engine)
    return replace(entry, name=name, engine=engine.name)


def _through_server(engine: Engine | None) -> Engine | None:
    """Return the engine that does the same through a server, where there is one."""
    return ENGINES[engine.served] if engine is not None and engine.served else engine


def _check_model(name: str, base: str, entry: Entry, engine: Engine) -> None:
    """Raise `InputError` where an entry's model cannot be had in the way that an engine asks it."""
    own = ENGINES[entry.engine]
    if engine.model != "none" and (own.model == "none" or (own.model == "server" and engine.model == "weights")):
        raise InputError(f"judge {name!r}: {base} has no weights that {engine.name} could read; write {base} alone.")
    if engine.model == "server" and entry.model is None:
        raise InputError(f"judge {name!r}: {base} is a local folder; name what a server calls it, as endpoint:MODEL.")
    if engine.model == "weights" and own.program and not engine.program:
        raise InputError(
            f"judge {name!r}: this library cannot show {entry.model} images, and {own.program} can; name it "
            f"{base}+{own.program} (`mrb judges` lists what each judge needs)."
        )


def _folder_entry(name: str, folder: Path, engine: Engine | None) -> Entry:
    folder = folder.expanduser()
    if engine is not None and engine.model == "server":
        raise InputError(
            f"judge {name!r}: a folder is not a server; write {FOLDER}{folder}+vllm to serve it, or endpoint:MODEL "
            "with --url for a server that runs already."
        )
    if not any((folder / config).is_file() for config in ("config.json", ADAPTER)):
        raise InputError(f"judge {name!r}: {folder} holds no config.json; name a folder that a model was saved to.")
    judge_name = folder.resolve().name + (f"+{engine.name}" if engine else "")
    return Entry(judge_name, engine.name if engine else _trained_engine(folder), path=folder)


def _trained_engine(folder: Path) -> str:
    """Return the engine that the weights in a folder were trained for; the usual one where nothing says."""
    stated = trained_as(folder).get("engine")
    return stated if isinstance(stated, str) and stated in public_engines() else DEFAULT_ENGINE


def _read(file: Path, engines: Mapping[str, Engine]) -> list[Entry]:
    """Return the entries of one roster file, in its order.

    Parameters
    ----------
    engines : those that it may name: only the roster that comes with the library has judges of internal engines

    Raises
    ------
    InputError
        It cannot be read or is not TOML, or an entry has an unknown key, a value of the wrong type or outside its
        vocabulary, or lacks a key it needs.
    """
    common, judges = read_plan(file, "judge", "roster")
    made = []
    for number, judge in enumerate(({**common, **own} for own in judges), start=1):
        where = f"{file}, judge {judge.get('name', number)!r}"
        try:
            entry = Entry(**judge)
        except ValidationError as error:
            raise InputError(f"{where}, {_first_problem(error)}") from error
        _check_complete(entry, where, engines)
        made.append(entry if entry.path is None else replace(entry, path=file.parent / entry.path.expanduser()))
    return made


def _first_problem(error: ValidationError) -> str:
    """Return the first thing that is wrong with an entry: the key, its value, and what it should be."""
    first = error.errors(include_url=False)[0]
    key = str(first["loc"][0])
    if first["type"] == "unexpected_keyword_argument":
        known = [field.name for field in fields(Entry)]
        return f"key {key!r}: is unknown; the keys are {', '.join(known)}.{nearest(key, known)}"
    if first["type"] == "missing":
        return f"key {key!r}: is missing; add it."
    return f"key {key!r}: is {first['input']!r}; it {in_plain_words(first['msg'])}; correct it."


def _check_complete(entry: Entry, where: str, engines: Mapping[str, Engine]) -> None:
    """Raise `InputError` where the keys of an entry do not go together."""
    if entry.engine not in engines:
        raise InputError(f"{where}, key 'engine': {entry.engine!r} is none of {', '.join(engines)}; write one.")
    if not _NAME.fullmatch(entry.name):
        raise InputError(f"{where}, key 'name': use letters, digits, '.', '_' and '-' only.")
    fitting = {"server": [["model"]], "weights": [["model"], ["model", "subfolder"], ["path"]]}
    stated = [name for name in ("model", "subfolder", "path") if getattr(entry, name) is not None]
    if stated not in fitting.get(engines[entry.engine].model, [stated]):
        raise InputError(
            f"{where}, key 'model': name either a model on the Hub (model = \"owner/name\", with the subfolder where "
            'there are several), a local folder (path = "folder"), or for an endpoint what its server calls the model.'
        )
