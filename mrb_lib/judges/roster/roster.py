"""The roster: which judges there are, and how a name becomes a judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module, resources
from importlib.util import find_spec
from pathlib import Path
from typing import Final, cast

import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.judges.heuristic import heuristics
from mrb_lib.judges.jury import Jury, is_jury, parse_jury
from mrb_lib.judges.roster.entry import Engine, Entry
from mrb_lib.judges.roster.entry_file import read_entries
from mrb_lib.judges.roster.source import locate, pinned_revision
from mrb_lib.judges.settings import Settings
from mrb_lib.verdicts.protocol import Judge

ROSTER_COLUMNS: Final = (
    "name", "model", "family", "access", "domain", "size", "licence", "engine", "thinking", "weights_gb", "needs",
    "about",
)  # fmt: skip
_NUMBERS: Final = ("weights_gb",)
# Engines that read weights, and those that call a server: where each lives. Imported only when one is used.
_WITH_WEIGHTS: Final[Mapping[str, tuple[str, str]]] = {
    "generative": ("mrb_lib.judges.local.generative", "GenerativeJudge"),
    "packed": ("mrb_lib.judges.local.packed", "PackedJudge"),
    "reward": ("mrb_lib.judges.local.reward", "RewardJudge"),
    "rating": ("mrb_lib.judges.local.rating", "RatingJudge"),
}
_ENDPOINT: Final = ("mrb_lib.judges.endpoint.judge", "EndpointJudge")
ENGINES: Final = (*_WITH_WEIGHTS, "endpoint")
_SAMPLE: Final = ("generative", "endpoint")
_FOLDER: Final = "path:"
_SERVED: Final = "endpoint:"


def entries(extra: Sequence[Path] = ()) -> list[Entry]:
    """The judges of the roster, then those of the user's own roster files.

    Parameters
    ----------
    extra : TOML files of the same form as the roster; `path` in them is relative to the file

    Raises
    ------
    InputError
        A file cannot be read, is not a roster, or names a judge that is there already.
    """
    found = list(_built_in())
    home = {entry.name: "the roster" for entry in found}
    for file in extra:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InputError(f"{file}: cannot be read as a roster ({error}); name a TOML file.") from error
        for entry in read_entries(text, str(file), file.parent):
            if entry.name in home:
                raise InputError(
                    f"{file}, judge {entry.name!r}, key 'name': is already in {home[entry.name]}; choose another name."
                )
            home[entry.name] = str(file)
            found.append(entry)
    return found


@lru_cache(maxsize=1)
def _built_in() -> tuple[Entry, ...]:
    text = resources.files("mrb_lib.judges.roster").joinpath("roster.toml").read_text(encoding="utf-8")
    return tuple(read_entries(text, "roster.toml", None))


def roster(extra: Sequence[Path] = ()) -> pd.DataFrame:
    """The judges that can be named, one row each, in the roster's order.

    Parameters
    ----------
    extra : the user's own roster files

    Returns
    -------
    DataFrame
        `name, model, family, access, domain, size, licence, engine, thinking,
        weights_gb, needs, about`; null where nothing could be checked. `model` is the
        folder where an entry names one; `weights_gb` is the memory of the weights alone
        in bfloat16, in 10^9 bytes.
    """
    rows = [
        {
            **{name: getattr(entry, name, None) for name in ROSTER_COLUMNS},
            "model": entry.model or (str(entry.path) if entry.path else None),
            "weights_gb": entry.weights_gb(),
        }
        for entry in entries(extra)
    ]
    types = {name: "float" if name in _NUMBERS else "str" for name in ROSTER_COLUMNS}
    return pd.DataFrame(rows, columns=list(ROSTER_COLUMNS)).astype(types)


def resolve(
    name: str, *, runs: Path, images: Mapping[str, bytes], settings: Settings, extra: Sequence[Path] = ()
) -> Judge:
    """The judge of a given name; its weights are located, and read only when it is to judge.

    Parameters
    ----------
    name : a name of the roster (`NAME`), with another engine (`NAME+ENGINE`), a folder of
        weights (`path:DIR` or `path:DIR+ENGINE`), a model of a server (`endpoint:MODEL`), or a jury
    runs : the folder of runs, where a model finds the revision it had. A jury is returned without
        its members, whose runs `mrb_lib.runs.juries` finds.
    images : the benchmark's images, by name
    settings : what the user set
    extra : the user's own roster files

    Raises
    ------
    InputError
        No judge has that name, its weights are not at hand, it needs remote code that
        the user has not allowed, or a library is missing.
    """
    check_name(name, extra)
    if is_jury(name):
        return Jury(name)
    entry = entry_of(name, extra)
    if entry.engine == "heuristic":
        return {judge.name: judge for judge in heuristics(settings.seed)}[name]
    if entry.remote_code and entry.engine in _WITH_WEIGHTS and not settings.trust_remote_code:
        raise InputError(
            f"judge {name!r}: {entry.model or entry.path} runs code from its own repository, which can do anything "
            "on this machine; read that code, then pass --trust-remote-code."
        )
    if entry.engine == "endpoint":
        return _load(_ENDPOINT, name, ())(entry.name, entry, settings, images)
    build = _load(_WITH_WEIGHTS[entry.engine], name, ("torch", "transformers"))
    revision = settings.revision or pinned_revision(runs, entry.name, model=entry.model)
    source = locate(entry, revision=revision, download=settings.download, trust_remote_code=settings.trust_remote_code)
    return build(entry.name, entry, source, settings, images)


def check_name(name: str, extra: Sequence[Path] = ()) -> None:
    """Raise `InputError` unless `name` is that of a judge, or a well-formed name of a jury.

    A jury's members are looked for among the runs when it is to judge: they may have been imported.
    """
    if parse_jury(name) is None:
        entry_of(name, extra)


def entry_of(name: str, extra: Sequence[Path] = ()) -> Entry:
    """The entry behind a judge's name, under the name it has in the verdicts and with the engine it will use.

    Raises
    ------
    InputError
        There is no such judge or folder, or it cannot use that engine.
    """
    base, plus, tail = name.rpartition("+")
    engine = cast(Engine, tail) if plus and tail in ENGINES else None
    if engine is None:
        base = name
    if base.startswith(_FOLDER):
        return _folder_entry(name, Path(base.removeprefix(_FOLDER)), engine)
    if base.startswith(_SERVED) and len(base) > len(_SERVED):
        if engine is not None:
            raise InputError(f"judge {name!r}: a served model uses no other engine; write {base}.")
        return Entry(name, "endpoint", model=base.removeprefix(_SERVED))
    found = {entry.name: entry for entry in entries(extra) if entry.engine != "jury"}.get(base)
    if found is None:
        hint = f"; the engines are {', '.join(ENGINES)}" if plus and engine is None else ""
        raise InputError(f"judge {name!r} is not in the roster; `mrb judges` lists those there are{hint}.")
    if engine is None:
        return found
    if found.engine == "heuristic" or (found.engine == "endpoint" and engine != "endpoint"):
        raise InputError(f"judge {name!r}: {base} has no weights that {engine} could read; write {base} alone.")
    if engine == "endpoint" and found.model is None:
        raise InputError(f"judge {name!r}: {base} is a local folder; name what a server calls it, as endpoint:MODEL.")
    return replace(found, name=name, engine=engine)


def samples(name: str, extra: Sequence[Path] = ()) -> bool:
    """Whether a judge writes replies that can be drawn at random, so that repeats differ with a temperature."""
    return not is_jury(name) and entry_of(name, extra).engine in _SAMPLE


def _folder_entry(name: str, folder: Path, engine: Engine | None) -> Entry:
    folder = folder.expanduser()
    if engine == "endpoint":
        raise InputError(f"judge {name!r}: a folder is no server; serve it, and write endpoint:MODEL with --url.")
    if not (folder / "config.json").is_file():
        raise InputError(f"judge {name!r}: {folder} holds no config.json; name a folder that a model was saved to.")
    called = folder.resolve().name + (f"+{engine}" if engine else "")
    return Entry(called, engine or "packed", path=folder)


def _load(where: tuple[str, str], name: str, packages: Sequence[str]) -> Callable[..., Judge]:
    """An engine, imported now; `packages` are those it needs and would miss only later."""
    missing = [package for package in packages if find_spec(package) is None]
    try:
        if not missing:
            return cast(Callable[..., Judge], getattr(import_module(where[0]), where[1]))
    except ModuleNotFoundError as error:
        missing = [error.name or str(error)]
        if missing[0].startswith("mrb_lib"):
            raise
    raise InputError(f"judge {name!r}: needs {missing[0]}; install it with `pip install 'mrb-workbench[judges]'`.")
