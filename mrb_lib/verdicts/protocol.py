"""The protocol of judges: a name, settings that are recorded, and a function from shown rows to picks; and the rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, Protocol

import pandas as pd

from mrb_lib.replies.answers import read_answer
from mrb_lib.tables.errors import RunError
from mrb_lib.tables.schema import Status
from mrb_lib.verdicts.orders import FIRST, KEYS

BatchAnswer = Callable[[], pd.DataFrame]


class Judge(Protocol):
    """The protocol between a judge and the code that runs it.

    Attributes
    ----------
    name : as in the verdicts
    spec : everything that shapes a verdict besides the prompt; a change starts a new run.
        Text, numbers, booleans, and lists and mappings of these only.
    provenance : what is known of where its weights come from, for the manifest; shapes no verdict
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
    def provenance(self) -> Mapping[str, object]: ...
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

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
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
            or null) or, where one response is rated, `category` (one of the benchmark's, or null), `status`, and
            optionally `p_first, score_first, score_second, reply,
            prompt_tokens, completion_tokens, latency_s, cost_usd, error` (why a status is
            `error`), `finish` ("length" where an answer was cut off), `p_first_bound` ("at least"
            or "at most" where `p_first` is a bound), `criteria_first, criteria_second` (JSON lists of
            what was decided of each criterion of the rubric: 1 met, 0 not met, or the
            probability that it is, null where nothing was decided). A row that cannot be
            judged yet is left out and stays pending; one
            that failed has a null pick and its status.
        """
        ...


class PromptlessJudge(ABC):
    """The part of the protocol that all judges without a prompt and without weights share.

    A subclass has a `name`, and states in `spec` what shapes its verdicts.
    """

    name: str
    spec: Mapping[str, object] = {}
    provenance: Mapping[str, object] = {}
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

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """Nothing to prepare; see `Judge.prepare`."""
        return partial(self.judge, shown)

    @abstractmethod
    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """See `Judge.judge`."""


_TEXTS = (
    "pick", "category", "status", "reply", "error", "finish", "p_first_bound", "p_categories", "criteria_first",
    "criteria_second",
)  # fmt: skip
_NUMBERS = (
    "p_first", "score_first", "score_second", "answer_mass", "latency_s", "prompt_tokens", "completion_tokens",
    "cost_usd",
)  # fmt: skip
_COLUMNS: Final = dict.fromkeys(_TEXTS, "str") | dict.fromkeys(_NUMBERS, "float64")


class VerdictRows:
    """The verdicts of a batch.

    Parameters
    ----------
    shown : the rows asked for; a row is named by its position in them
    rated : one response a case is rated: what is picked is a category, not one of two responses
    """

    def __init__(self, shown: pd.DataFrame, *, rated: bool = False) -> None:
        self._pick = "category" if rated else "pick"
        self._keys = shown[list(KEYS)].reset_index(drop=True)
        self._rows: list[dict[str, object] | None] = [None] * len(shown)

    def put(self, position: int, status: Status, pick: str | None, **values: object) -> None:
        """State a row's verdict; `values` are further columns of `Judge.judge`, None where there is nothing."""
        self._rows[position] = {"status": status, self._pick: pick, **values}

    def put_answer(
        self, position: int, reply: str, *, is_cut_off: bool = False, is_refused: bool = False, **values: object
    ) -> None:
        """State that a row was answered in the model's own words; the reply is kept as it is.

        The store wants a choice of whoever answered, so its pick is the first: the answer is all that was shown.
        """
        status = "refused" if is_refused else read_answer(reply).status
        pick = FIRST if status == "ok" else None
        self.put(position, status, pick, reply=reply, finish="length" if is_cut_off else None, **values)

    def fail(self, positions: Iterable[int], reason: str) -> None:
        """State that rows could not be judged, and why."""
        for position in positions:
            self.put(position, "error", None, error=reason)

    def failures(self) -> dict[str, str]:
        """Why rows could not be judged, by case id."""
        case_ids = self._keys["case_id"].tolist()
        return {
            case: str(row["error"])
            for case, row in zip(case_ids, self._rows, strict=True)
            if row is not None and row["status"] == "error"
        }

    def frame(self, *, partial: bool = False) -> pd.DataFrame:
        """Return the rows in the order asked for, with every column of `Judge.judge` that holds anything.

        Parameters
        ----------
        partial : rows that have not been stated are left out, and stay pending

        Raises
        ------
        RunError
            A row has not been stated, and `partial` does not allow it.
        """
        rows = [row for row in self._rows if row is not None]
        if len(rows) != len(self._rows) and not partial:
            raise RunError(f"{len(self._rows) - len(rows)} rows got neither a verdict nor a reason; report this.")
        stated = [position for position, row in enumerate(self._rows) if row is not None]
        out = self._keys.iloc[stated].reset_index(drop=True)
        for name, kind in _COLUMNS.items():
            values = [row.get(name) for row in rows]
            if name in (self._pick, "status", "error") or any(value is not None for value in values):
                out[name] = pd.Series(values, dtype=kind)
        return out
