"""What every judge is: a name, settings that are recorded, and a function from shown rows to picks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

import pandas as pd

Answer = Callable[[], pd.DataFrame]


class Judge(Protocol):
    """The protocol between a judge and the code that runs it.

    Attributes
    ----------
    name : as in the verdicts
    spec : everything that shapes a verdict besides the prompt; a change starts a new run.
        Text, numbers, booleans, and lists and mappings of these only.
    prompt_id, prompt_hash, prompt_text : the prompt's template; empty for a judge without one
    device : what it runs on, for the manifest
    cases_per_batch : how many cases to hand over at once; verdicts are kept after every batch
    sorts_by_length : whether cases of like length should share a batch (padding costs time); the longest
        then come first. Verdicts never depend on it
    dimensions : those it can judge; None for all of the benchmark's
    notices : what its user should know, as that it fell back to a slower way; grows while it judges
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
    def prompt_text(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def cases_per_batch(self) -> int: ...
    @property
    def sorts_by_length(self) -> bool: ...
    @property
    def dimensions(self) -> tuple[str, ...] | None: ...
    @property
    def notices(self) -> list[str]: ...

    def load(self) -> None:
        """Get ready, as by reading weights: called once, before the first batch, and only if there is one."""
        ...

    def prepare(self, shown: pd.DataFrame) -> Answer:
        """Do the part of a batch that needs no accelerator; the answer is finished when it is called.

        While one batch is answered, the next may be prepared in another thread.

        Parameters
        ----------
        shown : see `judge`
        """
        ...

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """Judge a batch.

        Parameters
        ----------
        shown : one row a verdict asked for: `case_id, dimension, order, repeat, probe`,
            `question`, `first`, `second` (the responses as shown), and the columns of
            `mrb_lib.verdicts.orders.SHOWN` that the cases have.

        Returns
        -------
        DataFrame
            `case_id, dimension, order, repeat, probe`, `pick` (`first`, `second`, `tie`
            or null), `status`, and optionally `p_first, score_first, score_second, reply,
            prompt_tokens, completion_tokens, latency_s, cost_usd, error` (why a status is
            `error`). A row that cannot be judged yet is left out and stays pending; one
            that failed has a null pick and its status.
        """
        ...


class PromptlessJudge(ABC):
    """The part of the protocol that all judges without a prompt and without weights share.

    A subclass has a `name`, and states in `spec` what shapes its verdicts.
    """

    name: str
    spec: Mapping[str, object] = {}
    prompt_id = ""
    prompt_hash = ""
    prompt_text = ""
    device = "cpu"
    cases_per_batch = 2048
    sorts_by_length = False
    dimensions: tuple[str, ...] | None = None

    @property
    def notices(self) -> list[str]:
        """Nothing to know."""
        return []

    def load(self) -> None:
        """Nothing to get ready: there are no weights."""
        return

    def prepare(self, shown: pd.DataFrame) -> Answer:
        """Nothing to prepare; see `Judge.prepare`."""
        return partial(self.judge, shown)

    @abstractmethod
    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """See `Judge.judge`."""
