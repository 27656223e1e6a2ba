"""Reading a roster file: TOML in, entries out, and every mistake named by file, judge and key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast, get_args

from mrb_lib.errors import InputError
from mrb_lib.judges.roster.entry import Access, Domain, Engine, Entry, Thinking

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
WITHOUT_WEIGHTS: Final = ("heuristic", "jury", "endpoint")

_TEXTS = (
    "name", "model", "path", "family", "access", "domain", "size", "licence", "engine", "thinking", "base_url",
    "key_env", "source", "needs", "about",
)  # fmt: skip
_FLAGS = ("vision", "remote_code", "gated")
_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    **dict.fromkeys(_TEXTS, (str, "text in quotes")),
    **dict.fromkeys(_FLAGS, (bool, "true or false")),
    "parameters": (float, "a number of billions, as 8.3"),
    "chat": (dict, "an inline table, as { template = { enable_thinking = false } }"),
}
_VOCABULARIES: Final[Mapping[str, tuple[str, ...]]] = {
    "engine": get_args(Engine),
    "access": get_args(Access),
    "domain": get_args(Domain),
    "thinking": get_args(Thinking),
}


def read_entries(text: str, where: str, folder: Path | None) -> list[Entry]:
    """The entries of one roster file, in its order.

    Parameters
    ----------
    text : its content
    where : its name, for messages
    folder : what a relative `path` of an entry is relative to; None for the roster that
        comes with the library, which alone may hold judges without weights and without a server

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
        what = f"the key {next(iter(tables))!r} is not known" if tables else "it has no [[judge]]"
        raise InputError(f"{where}: {what}; a roster is a list of tables [[judge]], each with name, engine and model.")
    return [
        _entry(cast(dict[str, object], judge), f"{where}, judge {judge.get('name', number)!r}", folder)
        for number, judge in enumerate(judges, start=1)
    ]


def _entry(judge: dict[str, object], where: str, folder: Path | None) -> Entry:
    for key, value in judge.items():
        _check_value(key, value, where)
    _check_complete(judge, where, built_in=folder is None)
    values = dict(judge)
    if "path" in judge and folder is not None:
        values["path"] = folder / Path(str(judge["path"])).expanduser()
    if "parameters" in judge:
        values["parameters"] = float(cast(float, judge["parameters"]))
    return Entry(**values)  # type: ignore[arg-type]  # checked above, key by key


def _check_value(key: str, value: object, where: str) -> None:
    if key not in _KINDS:
        raise InputError(f"{where}, key {key!r}: is not known; the keys are {', '.join(_KINDS)}.")
    kind, description = _KINDS[key]
    # In Python true is also an integer; here it is no number.
    right = isinstance(value, kind) or (kind is float and isinstance(value, int) and not isinstance(value, bool))
    if not right or (isinstance(value, str) and not value.strip()):
        raise InputError(f"{where}, key {key!r}: {value!r} is not {description}; correct it, or leave the key out.")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not 0 < value < float("inf"):
        raise InputError(f"{where}, key {key!r}: {value!r} is not a number of billions above 0; correct it.")
    if isinstance(value, dict) and (list(value) != ["template"] or not isinstance(value["template"], dict)):
        raise InputError(f"{where}, key {key!r}: {value!r} is not {description}; template is the one thing it holds.")
    if key in _VOCABULARIES and value not in _VOCABULARIES[key]:
        raise InputError(f"{where}, key {key!r}: {value!r} is none of {', '.join(_VOCABULARIES[key])}; write one.")


def _check_complete(judge: Mapping[str, object], where: str, *, built_in: bool) -> None:
    for key in ("name", "engine"):
        if key not in judge:
            raise InputError(f"{where}, key {key!r}: is missing; add it.")
    if not NAME.fullmatch(str(judge["name"])):
        raise InputError(f"{where}, key 'name': use letters, digits, '.', '_' and '-' only.")
    engine = str(judge["engine"])
    if engine in ("heuristic", "jury"):
        if not built_in:
            raise InputError(
                f"{where}, key 'engine': {engine!r} is for judges that come with the library; "
                "use packed, generative, reward, rating or endpoint."
            )
        return
    if engine == "endpoint" and ("model" not in judge or "path" in judge):
        raise InputError(f"{where}, key 'model': an endpoint needs the name by which its server knows the model.")
    if engine not in WITHOUT_WEIGHTS and ("model" in judge) == ("path" in judge):
        raise InputError(
            f"{where}, key 'model': name either a model on the Hub (model = \"owner/name\") or a local folder "
            '(path = "folder").'
        )
