"""The prompt of each run, so that runs of one judge can be compared by it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

import pandas as pd

from mrb_lib.verdicts.manifest import Manifest

PROMPT_COLUMNS: Final = ("judge", "name", "prompt_id", "prompt_hash", "settings")


def run_prompts(manifests: Iterable[Manifest]) -> pd.DataFrame:
    """Return the prompt of each run, as far as the manifests say.

    Returns
    -------
    DataFrame
        One row a run, text: `judge`, as its verdicts are shown where several runs are of one judge (`judge@run`), else
        the judge's own name; `name`, that name; `prompt_id` and `prompt_hash`, null where the run states none;
        `settings`, what else shaped its verdicts, as JSON.
    """
    runs = list(manifests)
    names = [run.judge for run in runs]
    shown = [f"{run.judge}@{run.run_id}" if names.count(run.judge) > 1 else run.judge for run in runs]
    rows = [
        (name, run.judge, run.prompt_id or None, run.prompt_hash or None, json.dumps(dict(run.spec), sort_keys=True))
        for name, run in zip(shown, runs, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(PROMPT_COLUMNS), dtype="str")
