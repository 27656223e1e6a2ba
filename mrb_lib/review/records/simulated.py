"""Simulated reviewers: adjudications of the embedded benchmark's gold labels, from the latent qualities.

No person looked at anything. They let the table and the figures of adjudication be tried; who reads them must be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
import pandas as pd

from mrb_lib.demo.judges import MARK
from mrb_lib.tables.questions import REASONS, adjudication_columns, list_columns

REVIEWERS = tuple(f"{MARK} reviewer {number}" for number in (1, 2, 3))
N_REVIEWED = 200
SEES_TIE_BELOW = 0.25
_NOISE, _AMBIGUOUS, _UNUSABLE, _NOTICED, _GAVE_A_REASON = 0.25, 0.06, 0.03, 0.75, 0.85
_MOMENT = "2000-01-01T00:00:00.000Z"


def simulated_adjudications(
    truth: pd.DataFrame,
    labels: pd.DataFrame,
    *,
    benchmark: str,
    judges: Sequence[str] = (),
    cases: int = N_REVIEWED,
    seed: int = 0,
) -> pd.DataFrame:
    """What simulated reviewers say about gold labels, all three of them on each of some cases.

    Parameters
    ----------
    truth : `case_id, dimension, quality_a, quality_b`, as `write_demo` leaves them in `truth.parquet`
    labels : the gold table
    benchmark : the benchmark's name
    judges : of whom one is in view at each look; its failures are given a reason at random
    cases : how many are reviewed, drawn without regard to any verdict
    seed : any whole number from 0 on

    Returns
    -------
    DataFrame
        The table of adjudications. A reviewer sees the difference of the qualities with an error of their own, and
        calls a label wrong where they clearly would make another choice. Six cases in a hundred are ambiguous, and
        the images of three unusable, which three reviewers in four notice.

    Notes
    -----
    Validated by tests/demo/test_reviews.py.
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
            head = {"benchmark": benchmark, "case_id": case, "reviewer": reviewer, "note": MARK}
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
        mark: dict[str, object] = {"dimension": dimension, "verdict": "gold_wrong" if wrong else "gold_right"}
        marks.append(mark | {"choice": choice if wrong else None, "reasons": reasons})
    return marks
