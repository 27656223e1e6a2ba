"""Runs of one judge by different prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

import pandas as pd

UNKNOWN_PROMPTS: Final = "the prompts of the two runs are not known: something else may differ between them"
OTHER_SETTINGS: Final = "the runs differ in more than the prompt: {}"
_HASH_SHOWN: Final = 8


class PromptPair(NamedTuple):
    """Two runs of one judge.

    Attributes
    ----------
    judge : its own name
    first, second : the names of the runs, in the order of the verdicts
    prompts : their prompts; None where unknown
    reason : why a difference may not be the prompt's; empty where nothing says so
    """

    judge: str
    first: str
    second: str
    prompts: tuple[str | None, str | None]
    reason: str


def prompt_pairs(judges: Sequence[str], prompts: pd.DataFrame | None) -> list[PromptPair]:
    """Return every two runs of one judge that are not known to have the same prompt.

    Parameters
    ----------
    judges : as the verdicts name them
    prompts : see `mrb_lib.verdicts.prompts.run_prompts`. Without it, or for a run that it does not name, only the
        judge's own name is known, which is what stands before the last `@`
    """
    stated = {} if prompts is None else {str(row["judge"]): row for row in prompts.to_dict("records")}
    runs = [stated.get(name, {"name": name.rpartition("@")[0] or name}) for name in judges]
    pairs = []
    for i, j in combinations(range(len(judges)), 2):
        one, other = runs[i], runs[j]
        if one["name"] != other["name"]:
            continue
        marks = [_mark(run) for run in (one, other)]
        if None not in marks and marks[0] == marks[1]:
            continue
        names = [_text(run, "prompt_id") for run in (one, other)]
        if names[0] is not None and names[0] == names[1]:
            names = [f"{names[0]} ({str(mark)[:_HASH_SHOWN]})" for mark in marks]
        reason = UNKNOWN_PROMPTS if None in marks else _other_settings(one, other)
        pairs.append(PromptPair(str(one["name"]), judges[i], judges[j], (names[0], names[1]), reason))
    return pairs


def _mark(run: Mapping[object, object]) -> str | None:
    """Return what tells a prompt from others: the hash of its text, else its id."""
    return _text(run, "prompt_hash") or _text(run, "prompt_id")


def _text(run: Mapping[object, object], key: str) -> str | None:
    value = run.get(key)
    return value if isinstance(value, str) and value else None


def _other_settings(one: Mapping[object, object], other: Mapping[object, object]) -> str:
    first, second = (json.loads(_text(run, "settings") or "{}") for run in (one, other))
    differ = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
    return OTHER_SETTINGS.format(", ".join(differ)) if differ else ""
