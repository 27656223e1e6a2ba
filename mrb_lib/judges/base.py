"""What every judge is: a name, settings that are recorded, and a function from shown rows to picks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pandas as pd


class Judge(Protocol):
    """The protocol between a judge and the code that runs it.

    Attributes
    ----------
    name : as in the verdicts
    spec : everything that shapes a verdict besides the prompt; a change starts a new run.
        Text, numbers, booleans, and lists and mappings of these only.
    prompt_id, prompt_hash : the prompt template; empty for a judge without one
    device : what it runs on, for the manifest
    """

    @property
    def name(self) -> str: ...
    @property
    def spec(self) -> Mapping[str, object]: ...
    @property
    def prompt_id(self) -> str: ...
    @property
    def prompt_hash(self) -> str: ...
    @property
    def device(self) -> str: ...

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """Judge a batch.

        Parameters
        ----------
        shown : one row a verdict asked for: `case_id, dimension, order, repeat, probe`,
            `question`, `first`, `second` (the responses as shown), and the columns of
            `mrb_lib.judges.orders.SHOWN` that the cases have.

        Returns
        -------
        DataFrame
            `case_id, dimension, order, repeat, probe`, `pick` (`first`, `second`, `tie`
            or null), `status`, and optionally `p_first, score_first, score_second, reply,
            prompt_tokens, completion_tokens`. A row that cannot be judged yet is left
            out and stays pending; one that failed has a null pick and its status.
        """
        ...


class PromptlessJudge:
    """The part of the protocol that all judges without a prompt and without weights share."""

    prompt_id = ""
    prompt_hash = ""
    device = "cpu"
