"""Which judges are on both sides, and whether they were asked with the same prompt."""

from __future__ import annotations

from itertools import product

import pandas as pd

COLUMNS = ["judge", "judge_then", "judge_now", "prompt", "prompt_then", "prompt_now"]
SAME_PROMPT, OTHER_PROMPT, UNKNOWN_PROMPT = "same", "another", "not known"
ONLY_THEN, ONLY_NOW = "only then", "only now"


def judge_pairs(then: pd.DataFrame, now: pd.DataFrame) -> pd.DataFrame:
    """Every judge of either side, those of both sides paired.

    Parameters
    ----------
    then, now : one row a judge that is shown: `judge`, its own `name` (several runs of one judge are shown as
        `name@run`), `run_id`, `prompt_id`, `prompt_hash`; empty text where there is none

    Returns
    -------
    DataFrame
        `judge` to show; `judge_then` and `judge_now`, one of them null for a judge of one side; `prompt`: "same",
        "another", "not known" (nothing says with which one a side was asked), "only then" or "only now"; `prompt_then`,
        `prompt_now`. Runs of one name are paired by their ids; those whose id is on one side only, each with each: so
        are two prompts of one judge.

    Notes
    -----
    Validated by tests/stats/changes/test_judges.py.
    """
    rows: list[tuple[str | None, ...]] = []
    for name in sorted({*then["name"], *now["name"]}):
        before, after = (side[side["name"] == name].to_dict("records") for side in (then, now))
        ids = {run["run_id"] for run in before} & {run["run_id"] for run in after}
        same = [(one, two) for one, two in product(before, after) if one["run_id"] == two["run_id"]]
        old, new = ([run for run in side if run["run_id"] not in ids] for side in (before, after))
        if not same or (old and new):
            same += list(product(old, new))
            old, new = ([], []) if old and new else (old, new)
        rows += [_pair(one, two) for one, two in same]
        rows += [(run["judge"], run["judge"], None, ONLY_THEN, _prompt(run), None) for run in old]
        rows += [(run["judge"], None, run["judge"], ONLY_NOW, None, _prompt(run)) for run in new]
    return pd.DataFrame(rows, columns=COLUMNS, dtype="str")


def _pair(then: dict[str, str], now: dict[str, str]) -> tuple[str, ...]:
    label = now["judge"] if now["judge"] == then["judge"] else f"{now['judge']} (then {then['judge']})"
    known = [(run["prompt_id"], run["prompt_hash"]) for run in (then, now)]
    changed = OTHER_PROMPT if all(map(any, known)) else UNKNOWN_PROMPT
    prompt = SAME_PROMPT if known[0] == known[1] else changed
    return label, then["judge"], now["judge"], prompt, _prompt(then), _prompt(now)


def _prompt(run: dict[str, str]) -> str:
    short = run["prompt_hash"][:8]
    return f"{run['prompt_id']} ({short})" if short else run["prompt_id"] or "none stated"
