"""What reviewers said of a benchmark, for the notebook on adjudication and for whether it is up to date."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, read_table
from mrb_lib.benchmarks.votes import gold
from mrb_lib.review.records.questions import REASONS, adjudication_columns, list_columns
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import REVIEWS
from mrb_lib.tables.schema import SIMULATED

TRUTH = "truth.parquet"
REVIEWERS = tuple(f"{SIMULATED} reviewer {number}" for number in (1, 2, 3))
SEES_TIE_BELOW = 0.25
_NOISE, _AMBIGUOUS, _UNUSABLE, _NOTICED, _GAVE_A_REASON = 0.25, 0.06, 0.03, 0.75, 0.85
_MOMENT = "2000-01-01T00:00:00.000Z"
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
    Validated by tests/review/records/test_exchange.py.
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
    where = store_of(benchmark)
    if where is None:
        return None
    from mrb_lib.review.records.exchange import reviews_from  # SQLAlchemy is slow to import

    return reviews_from(where, benchmark.meta.name)


def simulated_adjudications(
    truth: pd.DataFrame, labels: pd.DataFrame, *, benchmark: str, judges: Sequence[str], cases: int = 200, seed: int = 0
) -> pd.DataFrame:
    """Return what simulated reviewers say about gold labels, all three of them on each of some cases; no person looked.

    Parameters
    ----------
    truth : `case_id, dimension, quality_a, quality_b`, as `write_demo` leaves them in `truth.parquet`
    labels : the gold table
    benchmark : the benchmark's name
    judges : of whom one is in view at each look; its failures are given a reason at random
    cases : how many are reviewed, drawn without regard to any verdict
    seed : a whole number, at least 0

    Returns
    -------
    DataFrame
        The table of adjudications. A reviewer sees the difference of the qualities with an error of their own, and
        calls a label wrong where they clearly would make another choice. Six cases in a hundred are ambiguous, and
        the images of three unusable, which three reviewers in four notice.

    Notes
    -----
    Validated by tests/demo/test_judges.py.
    """
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(0x5EE, cases))))
    decided = labels[labels["choice"].notna()].merge(truth, on=["case_id", "dimension"], validate="1:1")
    ids = np.array(sorted(decided["case_id"].unique()), dtype=object)
    drawn = set(rng.permutation(ids)[:cases])
    rows = []
    for case, truths in decided[decided["case_id"].isin(drawn)].groupby("case_id", sort=True):
        lot = rng.random()
        flaw = "ambiguous" if lot < _AMBIGUOUS else "image_unusable" if lot < _AMBIGUOUS + _UNUSABLE else None
        for reviewer in REVIEWERS:
            head = {"benchmark": benchmark, "case_id": case, "reviewer": reviewer, "note": SIMULATED}
            judge = str(rng.choice(list(judges))) if judges else None
            rows += [head | {"judge": judge} | mark for mark in _looked_at(truths, flaw, rng)]
    for number, row in enumerate(rows):
        row |= {"adjudication_id": str(UUID(int=number + 1)), "created": _MOMENT, "case_fingerprint": ""}
        row |= {name: [] for name in list_columns() if name not in row}
    frame = pd.DataFrame(rows, columns=list(adjudication_columns()))
    return frame.astype({name: "str" for name in frame.columns if name not in list_columns()})


def _looked_at(truths: pd.DataFrame, flaw: str | None, rng: np.random.Generator) -> list[dict[str, object]]:
    """One reviewer's marks on the dimensions of one case, which may have a flaw."""
    if flaw is not None and rng.random() < _NOTICED:
        return [{"dimension": None, "verdict": flaw, "choice": None, "reasons": []}]
    reasons = [str(rng.choice(REASONS))] if rng.random() < _GAVE_A_REASON else []
    marks: list[dict[str, object]] = []
    felt = (truths["quality_a"] - truths["quality_b"]).to_numpy(dtype=float) + _NOISE * rng.normal(size=len(truths))
    for dimension, label, seen in zip(truths["dimension"], truths["choice"], felt, strict=True):
        choice = "tie" if abs(seen) < SEES_TIE_BELOW else "A" if seen > 0 else "B"
        wrong = choice != label and (abs(seen) > 2 * SEES_TIE_BELOW or abs(seen) < SEES_TIE_BELOW / 2)
        verdict, better = ("gold_wrong", choice) if wrong else ("gold_right", None)
        marks.append({"dimension": dimension, "verdict": verdict, "choice": better, "reasons": reasons})
    return marks
