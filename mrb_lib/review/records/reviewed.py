"""What reviewers said of a benchmark, for the notebook on adjudication and for whether it is up to date."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, read_table
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import REVIEWS
from mrb_lib.tables.questions import adjudication_columns

TRUTH = "truth.parquet"
SIMULATED_NOTE = (
    "SIMULATED adjudications: nobody reviewed this benchmark, so simulated reviewers stand in, who see its latent "
    "qualities with errors; what they say shows how to read the figures, and nothing else."
)


@dataclass(frozen=True)
class Reviewed:
    """Adjudications and what has to be said with them.

    Attributes
    ----------
    adjudications : those that count now; without rows where nobody reviewed anything
    note : the sentence to show with them; empty where people made them
    reason : why there are none; empty where there are
    """

    adjudications: pd.DataFrame
    note: str = ""
    reason: str = ""


def reviewed(benchmark: Benchmark, judges: Sequence[str], *, seed: int = 0) -> Reviewed:
    """The adjudications of a benchmark.

    They are read from the store that MRB_STORE names, or from `reviews.sqlite` in the benchmark's folder. Where neither
    holds any, simulated ones, about `judges`, are made from `seed`, but only for the embedded benchmark of preferences.

    Raises
    ------
    InputError
        The store cannot be read.

    Notes
    -----
    Validated by tests/review/records/test_reviewed.py.
    """
    name, said, path = benchmark.meta.name, _said(benchmark), benchmark.path
    if said is None:
        reason = f"nobody has reviewed {name}: it has no {REVIEWS}, which `mrb review` makes"
        adjudications = pd.DataFrame(columns=list(adjudication_columns()), dtype="str")
    else:
        reason, adjudications = f"nobody has reviewed {name}: its store holds nothing", said[0]
    if len(adjudications):
        return Reviewed(adjudications)
    is_demo = benchmark.meta.kind == "simulated" and benchmark.meta.is_preference
    if not is_demo or path is None or not (path / TRUTH).is_file():
        return Reviewed(adjudications, reason=reason)
    from mrb_lib.review.records.simulated import simulated_adjudications  # only where nobody reviewed the demo

    truth = read_table(path / TRUTH)
    made = simulated_adjudications(truth, gold(benchmark), benchmark=name, judges=list(judges), seed=seed)
    return Reviewed(made, note=SIMULATED_NOTE)


def store_of(benchmark: Benchmark) -> str | None:
    """Where the reviews of a benchmark are: the store that MRB_STORE names, else its own; None without one."""
    if named := os.environ.get("MRB_STORE"):
        return named
    own = None if benchmark.path is None else benchmark.path / REVIEWS
    return str(own) if own is not None and own.is_file() else None


def tags_of(benchmark: Benchmark) -> pd.DataFrame | None:
    """The tags that reviewers gave the cases of a benchmark; None where there is no store."""
    said = _said(benchmark)
    return None if said is None else said[1]


def stamp(benchmark: Benchmark) -> str:
    """A digest of the adjudications and tags that count now: what was made from others is out of date.

    Empty without a store. A store that cannot be read is said by the notebook that reads it.
    """
    try:
        said = _said(benchmark)
    except InputError as error:
        return str(error)
    if said is None:
        return ""
    ids = said[0][["adjudication_id", "created"]].sort_values("adjudication_id").to_csv(index=False)
    given = said[1][["case_id", "tag"]].sort_values(["case_id", "tag"]).to_csv(index=False)
    return hashlib.sha256(f"{ids}\n{given}".encode()).hexdigest()


def _said(benchmark: Benchmark) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """The adjudications and the tags that count now; None where there is no store."""
    where, name = store_of(benchmark), benchmark.meta.name
    if where is None:
        return None
    from mrb_lib.review.records.exchange import reviews_at  # SQLAlchemy is slow to import

    with reviews_at(where, name) as store:
        return store.adjudications(name), store.tags(name)
