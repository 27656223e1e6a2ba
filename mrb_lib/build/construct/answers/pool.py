"""Which models answer, and how each is asked: named with one way for all, or in a file; and what is recorded of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, cast, get_args, get_type_hints

from mrb_lib.build.construct.answers.answering import Answerer, Spread
from mrb_lib.judges.plan_file import checked, read_plan
from mrb_lib.judges.prompt_files import builtin_ids, load_prompt
from mrb_lib.judges.prompts import Prompt
from mrb_lib.judges.settings import Settings, for_repeats
from mrb_lib.tables.errors import InputError, without_secrets

_NOT_HERE: Final = (
    "dimensions", "choices", "scale", "reference", "evidence", "examples", "examples_by", "shown",
)  # fmt: skip
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
    """The models of a file: tables `[[model]]` with `name` and settings that differ from the usual, `[common]` for all.

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
    common, tables = read_plan(path, "model")
    named = [{**common, **table} for table in tables]
    return [_answerer(table, f"{path}, model {number}", path.parent, usual) for number, table in enumerate(named, 1)]


def _answerer(table: Mapping[str, object], where: str, folder: Path, usual: Answerer) -> Answerer:
    settings = {key: kind for key, kind in get_type_hints(Settings).items() if key not in _NOT_HERE}
    own = {"name": str, "engine": str, "workers": int, "gpus_per_worker": float}
    values, wrong = checked(table, {**own, **settings}, where)
    if wrong:
        raise InputError("\n".join(wrong))
    name = values.pop("name", "")
    if not name:
        raise InputError(f'{where}, key name: is missing; write name = "...", as for --model.')
    engine = values.pop("engine", usual.spread)
    if engine not in get_args(Spread):
        raise InputError(f"{where}, key engine: {engine!r} is unknown; use {' or '.join(get_args(Spread))}.")
    spread = {key: values.pop(key) for key in ("workers", "gpus_per_worker") if key in values}
    prompt = values.get("prompt")
    if isinstance(prompt, str) and prompt not in builtin_ids("answering"):
        values["prompt"] = str(folder / prompt)
    changed = replace(usual.settings, **values)  # type: ignore[arg-type]  # checked above, key by key
    return replace(usual, name=str(name), settings=changed, spread=cast("Spread", engine), **spread)  # type: ignore[arg-type]  # likewise


def prompt_of(one: Answerer) -> Prompt:
    """The prompt of a model.

    Raises
    ------
    InputError
        It names none, or one that asks for something else than an answer.
    """
    prompt = load_prompt(one.settings.prompt or "")
    if prompt.asks != "answer":
        known = " or ".join(builtin_ids("answering"))
        raise InputError(
            f"prompt {prompt.id}: asks for verdicts, and answers are wanted; name {known}, or a template that begins "
            "{# asks: answer #}."
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
    known = {name: value for name, value in settings.items() if value is not None and value is not False}
    return {"model": model, "prompt": prompt.id, "prompt_hash": prompt.hash, **known, **url}


def pool_of(names: Sequence[str], plan: Path | None, usual: Answerer) -> list[Answerer]:
    """The models that are named, then those of the file; `usual` says how they are asked where nothing else does."""
    named = [replace(usual, name=name) for name in names]
    return [*named, *(read_pool(plan, usual) if plan is not None else [])]
