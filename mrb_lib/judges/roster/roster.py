"""The roster: which judges there are, and how a name becomes a judge."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Final, cast, get_args

import pandas as pd

from mrb_lib.judges.budget import Budget
from mrb_lib.judges.jury import is_jury, parse_jury
from mrb_lib.judges.roster.engines import ENGINES, Engine, JudgeRequest, public_engines
from mrb_lib.judges.roster.entry import Access, Domain, Entry, Thinking
from mrb_lib.judges.roster.hub import is_subfolder
from mrb_lib.judges.roster.source import ADAPTER, locate_weights, pinned_revision, trained_as
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.protocol import Judge

ROSTER_COLUMNS: Final = (
    "name", "model", "subfolder", "family", "access", "domain", "base", "size", "weights_gb", "size_from", "licence",
    "gated", "engine", "thinking", "context", "cutoff", "needs", "about", "source", "checked",
)  # fmt: skip
_FACTS: Final[Mapping[str, tuple[str, ...]]] = {
    "open": (
        "size", "parameters", "licence", "gated", "remote_code", "vision", "thinking", "context", "cutoff", "checked",
    ),
    "proprietary": ("vision", "thinking", "context", "cutoff", "checked"),
}  # fmt: skip
"""What is looked up of a judge, by its access."""
DEFAULT_ENGINE: Final = "packed"
_TYPES: Final = {"weights_gb": "float", "context": "Int64", "gated": "boolean"}
FOLDER: Final = "path:"
SERVED: Final = "endpoint:"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_TEXTS = (
    "name", "model", "subfolder", "path", "family", "access", "domain", "base", "size", "licence", "engine", "thinking",
    "base_url", "key_env", "cutoff", "source", "checked", "needs", "about",
)  # fmt: skip
_FLAGS = ("vision", "remote_code", "gated")
_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    **dict.fromkeys(_TEXTS, (str, "text in quotes")),
    **dict.fromkeys(_FLAGS, (bool, "true or false")),
    "parameters": (float, "a number of billions above 0, as 8.3"),
    "context": (int, "a number of tokens above 0, as 32768"),
    "chat": (dict, "an inline table, as { template = { enable_thinking = false } }"),
}
_VOCABULARIES: Final[Mapping[str, tuple[str, ...]]] = {
    "access": get_args(Access),
    "domain": get_args(Domain),
    "thinking": get_args(Thinking),
}


def _is_day(text: str) -> bool:
    """Whether a text is a day as 2026-11-25."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


_FORMS: Final[Mapping[str, tuple[Callable[[str], bool], str]]] = {
    "subfolder": (is_subfolder, "the path of a folder inside the repository, as VQA_CT"),
    "checked": (_is_day, "a day, as 2026-11-25"),
    "cutoff": (lambda text: _is_day(text) or _is_day(f"{text}-01"), "a month or a day, as 2026-11 or 2026-11-25"),
}


def entries(extra: Sequence[Path] = ()) -> list[Entry]:
    """The judges of the roster, those that are engines of their own, then those of the user's own roster files.

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
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            raise InputError(f"{file}: cannot be read as a roster ({error}); name a TOML file.") from error
        for entry in read_entries(text, str(file), file.parent):
            if entry.name in where:
                raise InputError(
                    f"{file}, judge {entry.name!r}, key 'name': is already in {where[entry.name]}; choose another name."
                )
            where[entry.name] = str(file)
            judges.append(entry)
    for entry in judges:
        if entry.base is not None and entry.base not in where:
            raise InputError(
                f"{where[entry.name]}, judge {entry.name!r}, key 'base': {entry.base!r} is no judge of the roster; "
                "name one, or leave the key out."
            )
    return judges


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
        `ROSTER_COLUMNS`; null where nothing could be checked. `model` is the folder where
        an entry names one; `weights_gb` is the memory of the weights alone in bfloat16, in
        10^9 bytes, by the number of parameters or else by the size in a name, as `size_from`
        says ("parameters", "name"); `context` is in tokens, `cutoff` and `checked` are dates.
    """
    rows = [
        {
            **{name: getattr(entry, name, None) for name in ROSTER_COLUMNS},
            "model": entry.model or (str(entry.path) if entry.path else None),
            "weights_gb": entry.weights_gb(),
        }
        for entry in entries(extra)
    ]
    types = {name: _TYPES.get(name, "str") for name in ROSTER_COLUMNS}
    return pd.DataFrame(rows, columns=list(ROSTER_COLUMNS)).astype(types)


def gaps(extra: Sequence[Path] = ()) -> pd.DataFrame:
    """What could not be checked of the models of the roster, a row a model of which something is unknown.

    Returns
    -------
    DataFrame
        `name`, `access`, `missing` (the keys, separated by ", "), `source`. What an endpoint does not publish
        (its size, its licence) is not missing; `checked` is missing where nobody noted the day.
    """
    rows = []
    for entry in entries(extra):
        missing = [key for key in _FACTS.get(entry.access or "", ()) if getattr(entry, key) is None]
        if missing:
            rows.append((entry.name, entry.access, ", ".join(missing), entry.source))
    return pd.DataFrame(rows, columns=["name", "access", "missing", "source"], dtype="str")


def resolve(
    name: str,
    *,
    runs: Path,
    images: Mapping[str, bytes],
    settings: Settings,
    extra: Sequence[Path] = (),
    budget: Budget | None = None,
) -> Judge:
    """The judge of a given name; its weights are located, and read only when it is to judge.

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

    Raises
    ------
    InputError
        No judge has that name, its weights are not at hand, it needs remote code that
        the user has not allowed, or a library is missing.
    """
    check_name(name, extra)
    entry = Entry(name, "jury") if is_jury(name) else entry_of(name, extra)
    engine = ENGINES[entry.engine]
    if engine.model == "weights" and entry.remote_code and not settings.trust_remote_code:
        raise InputError(
            f"judge {name!r}: {entry.model or entry.path} runs code from its own repository, which can do anything "
            "on this machine; read that code, then pass --trust-remote-code."
        )
    engine.check_packages(name)
    source = None
    if engine.model == "weights":
        revision = settings.revision or pinned_revision(runs, entry.name, model=entry.model)
        trusted = settings.trust_remote_code
        source = locate_weights(entry, revision=revision, download=settings.download, trust_remote_code=trusted)
    return engine.build(JudgeRequest(entry, settings, images, source, runs, budget))


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
    base, plus, ending = name.rpartition("+")
    engine = public_engines().get(ending) if plus else None
    if engine is None:
        base = name
    if base.startswith(FOLDER):
        return _folder_entry(name, Path(base.removeprefix(FOLDER)), engine)
    if base.startswith(SERVED) and len(base) > len(SERVED):
        engine = _through_server(engine)
        if engine is not None and engine.model != "server":
            raise InputError(
                f"judge {name!r}: a served model has no weights that {engine.name} could read; write {base}."
            )
        return Entry(name, engine.name if engine else "endpoint", model=base.removeprefix(SERVED))
    entry = {entry.name: entry for entry in entries(extra) if entry.engine != "jury"}.get(base)
    if entry is None:
        hint = f"; the engines are {', '.join(public_engines())}" if plus and engine is None else ""
        raise InputError(f"judge {name!r} is not in the roster; `mrb judges` lists those there are{hint}.")
    engine = _through_server(engine) if ENGINES[entry.engine].model == "server" else engine
    if engine is None:
        return entry
    _check_model(name, base, entry, engine)
    return replace(entry, name=name, engine=engine.name)


def _through_server(engine: Engine | None) -> Engine | None:
    """The engine that does the same through a server, where there is one."""
    return ENGINES[engine.served] if engine is not None and engine.served else engine


def _check_model(name: str, base: str, entry: Entry, engine: Engine) -> None:
    """Raise `InputError` where an entry's model cannot be had in the way that an engine asks it."""
    own = ENGINES[entry.engine].model
    if engine.model != "none" and (own == "none" or (own == "server" and engine.model == "weights")):
        raise InputError(f"judge {name!r}: {base} has no weights that {engine.name} could read; write {base} alone.")
    if engine.model == "server" and entry.model is None:
        raise InputError(f"judge {name!r}: {base} is a local folder; name what a server calls it, as endpoint:MODEL.")


def samples(name: str, extra: Sequence[Path] = ()) -> bool:
    """Whether a judge writes replies that can be drawn at random, so that repeats differ with a temperature."""
    return not is_jury(name) and ENGINES[entry_of(name, extra).engine].samples


def _folder_entry(name: str, folder: Path, engine: Engine | None) -> Entry:
    folder = folder.expanduser()
    if engine is not None and engine.model == "server":
        raise InputError(f"judge {name!r}: a folder is not a server; serve it, and write endpoint:MODEL with --url.")
    if not any((folder / config).is_file() for config in ("config.json", ADAPTER)):
        raise InputError(f"judge {name!r}: {folder} holds no config.json; name a folder that a model was saved to.")
    judge_name = folder.resolve().name + (f"+{engine.name}" if engine else "")
    return Entry(judge_name, engine.name if engine else _trained_engine(folder), path=folder)


def _trained_engine(folder: Path) -> str:
    """The engine that the weights in a folder were trained for; the usual one where nothing says."""
    stated = trained_as(folder).get("engine")
    return stated if isinstance(stated, str) and stated in public_engines() else DEFAULT_ENGINE


def read_entries(text: str, where: str, folder: Path | None) -> list[Entry]:
    """The entries of one roster file, in its order.

    Parameters
    ----------
    text : its content
    where : its name, for messages
    folder : what a relative `path` of an entry is relative to; None for the roster that
        comes with the library, which alone may hold judges of its internal engines

    Raises
    ------
    InputError
        It is not TOML, or an entry has an unknown key, a value of the wrong type or
        outside its vocabulary, or lacks a key it needs.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: is not TOML ({error}); correct it.") from error
    judges = tables.pop("judge", None)
    if tables or not isinstance(judges, list) or not all(isinstance(judge, dict) for judge in judges):
        what = f"the key {next(iter(tables))!r} is unknown" if tables else "it has no [[judge]]"
        raise InputError(f"{where}: {what}; a roster is a list of tables [[judge]], each with name, engine and model.")
    return [
        _entry(cast(dict[str, object], judge), f"{where}, judge {judge.get('name', number)!r}", folder)
        for number, judge in enumerate(judges, start=1)
    ]


def _entry(judge: dict[str, object], where: str, folder: Path | None) -> Entry:
    for key, value in judge.items():
        _check_value(key, value, where, built_in=folder is None)
    _check_complete(judge, where)
    values = dict(judge)
    if "path" in judge and folder is not None:
        values["path"] = folder / Path(str(judge["path"])).expanduser()
    if "parameters" in judge:
        values["parameters"] = float(cast(float, judge["parameters"]))
    return Entry(**values)  # type: ignore[arg-type]  # checked above, key by key


def _check_value(key: str, value: object, where: str, *, built_in: bool) -> None:
    if key not in _KINDS:
        raise InputError(f"{where}, key {key!r}: is unknown; the keys are {', '.join(_KINDS)}.")
    kind, description = _KINDS[key]
    # In Python true is also an integer; here it is not a number.
    kinds = (int, float) if kind is float else kind
    is_of_kind = isinstance(value, kinds) and (kind is bool or not isinstance(value, bool))
    if not is_of_kind or (isinstance(value, str) and not value.strip()):
        raise InputError(f"{where}, key {key!r}: {value!r} is not {description}; correct it, or leave the key out.")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not 0 < value < float("inf"):
        raise InputError(f"{where}, key {key!r}: {value!r} is not {description}; correct it.")
    if key in _FORMS and not _FORMS[key][0](str(value)):
        raise InputError(f"{where}, key {key!r}: {value!r} is not {_FORMS[key][1]}; correct it, or leave the key out.")
    if isinstance(value, dict) and (list(value) != ["template"] or not isinstance(value["template"], dict)):
        raise InputError(f"{where}, key {key!r}: {value!r} is not {description}; template is the one thing it holds.")
    allowed = (
        public_engines() if key == "engine" and not built_in else ENGINES if key == "engine" else _VOCABULARIES.get(key)
    )
    if allowed is not None and value not in allowed:
        raise InputError(f"{where}, key {key!r}: {value!r} is none of {', '.join(allowed)}; write one.")


def _check_complete(judge: Mapping[str, object], where: str) -> None:
    for key in ("name", "engine"):
        if key not in judge:
            raise InputError(f"{where}, key {key!r}: is missing; add it.")
    if not _NAME.fullmatch(str(judge["name"])):
        raise InputError(f"{where}, key 'name': use letters, digits, '.', '_' and '-' only.")
    model = ENGINES[str(judge["engine"])].model
    if model == "server" and ("model" not in judge or "path" in judge):
        raise InputError(f"{where}, key 'model': an endpoint needs the name by which its server knows the model.")
    if model == "weights" and ("model" in judge) == ("path" in judge):
        raise InputError(
            f"{where}, key 'model': name either a model on the Hub (model = \"owner/name\") or a local folder "
            '(path = "folder").'
        )
    if "subfolder" in judge and (model != "weights" or "model" not in judge):
        raise InputError(f"{where}, key 'subfolder': is of a model on the Hub whose weights are read; leave it out.")
