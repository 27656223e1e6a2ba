"""The models that answer, named or in a file, with the settings of each; and what is recorded of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from mrb_lib.judges.plan_file import changed_by_table, read_plan
from mrb_lib.judges.prompts import builtin_ids, load_prompt
from mrb_lib.judges.settings import for_repeats
from mrb_lib.runs.planned import PlannedModel
from mrb_lib.tables.errors import InputError, without_secrets

FOR_JUDGES: Final = ("reference", "examples", "trained_on")
"""Options that mean nothing where models answer."""
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


def pool_of(names: Sequence[str], plan: Path | None, usual: PlannedModel) -> list[PlannedModel]:
    """Return the models that are named, then those of a file: tables `[[model]]` with a `name` and their differences.

    A key is any option of `PlannedModel` but `FOR_JUDGES`; `[common]` is for all. A prompt's file may be named from the
    folder of the file.

    Parameters
    ----------
    usual : what holds where a model says nothing

    Raises
    ------
    InputError
        The file cannot be read, or a key is unknown or of the wrong type; names the file and the model.
    """
    models = [replace(usual, name=name) for name in names]
    wrong: list[str] = []
    common, tables = read_plan(plan, "model") if plan is not None else ({}, [])
    for number, table in enumerate(tables, 1):
        where, folder = f"{plan}, model {number}", Path(plan or "").parent
        one, more = changed_by_table(replace(usual, name=""), {**common, **table}, where, folder, FOR_JUDGES)
        if not one.name and not more:
            more = [f'{where}, key name: is missing; write name = "...", as for --model.']
        wrong += more
        models.append(one)
    if wrong:
        raise InputError("\n".join(wrong))
    return models


def recorded(models: Mapping[str, PlannedModel], samples: int) -> list[dict[str, object]]:
    """Return how each model is asked, for the record of choices, without the places of weights and servers' secrets.

    Parameters
    ----------
    samples : of each model and item; several are drawn with a temperature, whoever set it

    Raises
    ------
    InputError
        A prompt asks for verdicts.
    """
    rows: list[dict[str, object]] = []
    for model, one in models.items():
        prompt, used = load_prompt(one.settings.prompt or ""), for_repeats(one.settings, samples)
        if prompt.asks != "answer":  # refused before any model is asked
            ids = " or ".join(builtin_ids("answering"))
            raise InputError(f"prompt {prompt.id}: asks for verdicts, and answers are wanted; name {ids}.")
        settings = {name: getattr(used, name) for name in _RECORDED}
        url = {} if used.url is None else {"url": without_secrets(used.url)}
        known = {name: value for name, value in settings.items() if value is not None and value is not False}
        rows.append({"model": model, "prompt": prompt.id, "prompt_hash": prompt.hash, **known, **url})
    return rows
