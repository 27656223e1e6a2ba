"""Which models answer, and how each is asked: named with one way for all, or in a file; and what is recorded of it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Final, cast, get_args

from mrb_lib.construct.answers.answering import Answerer, Spread
from mrb_lib.errors import InputError
from mrb_lib.judges.prompts import Prompt, answering_ids, load_prompt
from mrb_lib.judges.settings import Settings, for_repeats
from mrb_lib.runs.record import without_secrets

_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "str | None": (str,), "str": (str,), "DType": (str,), "Quantization | None": (str,), "bool": (bool,),
    "int": (int,), "int | None": (int,), "float": (float, int), "float | None": (float, int),
}  # fmt: skip
_NOT_HERE: Final = ("dimensions", "choices", "scale")
_RECORDED: Final = (
    "temperature",
    "max_new_tokens",
    "max_pixels",
    "without_images",
    "dtype",
    "quantize",
    "revision",
    "seed",
)


def read_pool(path: Path, usual: Answerer) -> list[Answerer]:
    """The models of a file: tables `[[model]]` with `name` and, where they differ from the usual, settings.

    The settings are those of `mrb_lib.judges.settings.Settings` (`prompt`, `temperature`, `device`, `url`, ...), and
    `engine` ("local" or "ray"), `workers`, `gpus_per_worker`. A prompt's file is relative to the file of models.

    Parameters
    ----------
    usual : what holds where a model says nothing

    Raises
    ------
    InputError
        The file cannot be read, or a key is unknown or of the wrong type; names the file and the model.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as a plan of models ({error}); name a TOML file.") from error
    tables = raw.pop("model", None)
    if raw or not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{path}: a plan is a list of tables [[model]], each with a name; correct it.")
    return [_answerer(table, f"{path}, model {number}", path.parent, usual) for number, table in enumerate(tables, 1)]


def _answerer(table: Mapping[str, object], where: str, folder: Path, usual: Answerer) -> Answerer:
    values = dict(table)
    name = values.pop("name", None)
    if not isinstance(name, str) or not name:
        raise InputError(f'{where}, key name: is missing; write name = "...", as for --model.')
    engine = values.pop("engine", usual.spread)
    if engine not in get_args(Spread):
        raise InputError(f"{where}, key engine: {engine!r} is unknown; use {' or '.join(get_args(Spread))}.")
    workers = values.pop("workers", usual.workers)
    gpus = values.pop("gpus_per_worker", usual.gpus_per_worker)
    if not isinstance(workers, int | None) or not isinstance(gpus, int | float | None):
        raise InputError(f"{where}: workers and gpus_per_worker are numbers; correct them.")
    kinds = {field.name: str(field.type) for field in fields(Settings) if field.name not in _NOT_HERE}
    for key, value in values.items():
        if key not in kinds:
            raise InputError(f"{where}, key {key!r}: is unknown; use name, engine, {', '.join(kinds)}.")
        if not isinstance(value, _KINDS[kinds[key]]) or (isinstance(value, bool) and kinds[key] != "bool"):
            raise InputError(f"{where}, key {key!r}: {value!r} is not of its type ({kinds[key]}); correct it.")
    prompt = values.get("prompt")
    if isinstance(prompt, str) and prompt not in answering_ids():
        values["prompt"] = str(folder / prompt)
    settings = replace(usual.settings, **values)  # type: ignore[arg-type]  # checked above, key by key
    return Answerer(name, settings, cast("Spread", engine), workers, gpus)


def prompt_of(one: Answerer) -> Prompt:
    """The prompt of a model.

    Raises
    ------
    InputError
        It names none, or one that asks for something else than an answer.
    """
    prompt = load_prompt(one.settings.prompt or "")
    if prompt.asks != "answer":
        raise InputError(
            f"prompt {prompt.id}: asks for verdicts, and answers are wanted; name {' or '.join(answering_ids())}, or a "
            "template that begins {# asks: answer #}."
        )
    return prompt


def recorded(models: Mapping[str, Answerer], samples: int) -> list[dict[str, object]]:
    """How each model is asked, for the record of choices; where its weights lie is nobody else's business.

    Parameters
    ----------
    samples : of each model and item; several are drawn with a temperature, whoever set it
    """
    return [_recorded(model, one, samples) for model, one in models.items()]


def _recorded(model: str, one: Answerer, samples: int) -> dict[str, object]:
    prompt, used = prompt_of(one), for_repeats(one.settings, samples)
    settings = {name: getattr(used, name) for name in _RECORDED}
    url = {"url": without_secrets(one.settings.url)} if one.settings.url is not None else {}
    known = {name: value for name, value in settings.items() if value not in (None, False)}
    return {"model": model, "prompt": prompt.id, "prompt_hash": prompt.hash, **known, **url}


def pool_of(names: Sequence[str], plan: Path | None, usual: Answerer) -> list[Answerer]:
    """The models that are named, then those of the file; `usual` says how they are asked where nothing else does."""
    named = [replace(usual, name=name) for name in names]
    return [*named, *(read_pool(plan, usual) if plan is not None else [])]
