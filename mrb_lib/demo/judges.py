"""Simulated judges: verdicts with probabilities, in both orders and twice, from the latent qualities.

Each has faults of its own that the statistics should find again: a leaning to a
position, to length, to its own responses, a department it is weak in, too much
confidence. Nothing of it says anything about a real judge.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.tables.schema import NO_PROBE, ORDERS, SIMULATED

REPEATS = 2
UNPARSED = 0.01
TIE_BELOW = 0.12


@dataclass(frozen=True)
class SimulatedJudge:
    """One simulated judge; leanings are in latent units, of which a case's two responses differ by about 1.4.

    Attributes
    ----------
    noise : standard deviation of what it misjudges about a case, the same however often it is asked
    jitter : standard deviation of what differs from verdict to verdict
    first : leaning to the response shown first
    length : leaning to the longer response, per doubling of its length
    loyalty : leaning to the responses of the responder `responder`
    weak_in : a department in which its noise is three times as large
    sharpness : how many times its log-odds are those that its errors allow; 1 is calibrated
    """

    name: str
    noise: float
    jitter: float
    first: float = 0.0
    length: float = 0.0
    responder: str = ""
    loyalty: float = 0.0
    weak_in: str = ""
    sharpness: float = 1.0


JUDGES = (
    SimulatedJudge("simulated-careful", noise=0.7, jitter=0.2),
    SimulatedJudge("simulated-hasty", noise=1.2, jitter=0.8, first=0.45, sharpness=3.0),
    SimulatedJudge("simulated-wordy", noise=0.9, jitter=0.3, length=0.9, sharpness=1.6),
    SimulatedJudge("simulated-specialist", noise=0.8, jitter=0.3, weak_in="Ophthalmology", sharpness=1.4),
    SimulatedJudge("Fictor-72B", noise=0.9, jitter=0.3, responder="Fictor-72B", loyalty=1.2, sharpness=2.0),
)


def simulated_verdicts(
    truth: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    seed: int = 0,
    judges: Sequence[SimulatedJudge] = JUDGES,
    repeats: int = REPEATS,
) -> pd.DataFrame:
    """The verdicts of every simulated judge on every case and dimension, in both orders, `repeats` times.

    Parameters
    ----------
    truth : `case_id, dimension, quality_a, quality_b`, as `write_demo` leaves them in `truth.parquet`
    cases : the cases table of the same benchmark
    seed : a whole number, at least 0
    judges : those that are simulated; what one of them says depends on its place among them

    Returns
    -------
    DataFrame
        The verdicts table with `p_a`; about one verdict in a hundred is unparsed. A probability within
        `TIE_BELOW` of one half, on the scale of -1 to 1, is a tie.

    Notes
    -----
    The probability of A is logistic in what the judge feels, 1.7 times over the spread of what it cannot
    see: for a sharpness of 1 that is close to the probability that A really is better. Validated by
    tests/demo/test_judges.py.
    """
    rows = truth[["case_id", "dimension", "quality_a", "quality_b"]].merge(cases, on="case_id", validate="m:1")
    frames = [_verdicts(judge, rows, (number, len(judges)), seed, repeats) for number, judge in enumerate(judges)]
    return pd.concat(frames, ignore_index=True)


def _verdicts(judge: SimulatedJudge, rows: pd.DataFrame, key: tuple[int, int], seed: int, repeats: int) -> pd.DataFrame:
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=key)))
    noise = np.where(rows["department"] == judge.weak_in, 3.0, 1.0) * judge.noise
    felt = (rows["quality_a"] - rows["quality_b"]).to_numpy(dtype=float) + noise * rng.normal(size=len(rows))
    lengths = [rows[side].str.len().to_numpy(dtype=np.float64) for side in ("response_a", "response_b")]
    felt += judge.length * np.log2(lengths[0] / lengths[1])
    if judge.responder:
        felt += judge.loyalty * (
            (rows["model_a"] == judge.responder) - (rows["model_b"] == judge.responder).astype(float)
        )
    spread = float(np.hypot(judge.noise, judge.jitter))
    frames = []
    for repeat in range(repeats):
        for order, sign in zip(ORDERS, (1.0, -1.0), strict=True):
            now = felt + sign * judge.first + judge.jitter * rng.normal(size=len(rows))
            p_a = 1 / (1 + np.exp(-1.7 * judge.sharpness * now / spread))
            lost = rng.random(len(rows)) < UNPARSED
            stated = np.where(lost, np.nan, p_a)
            frames.append(verdict_rows(judge.name, rows, choices(p_a), lost, order=order, repeat=repeat, p_a=stated))
    return pd.concat(frames, ignore_index=True)


def choices(p_a: NDArray[np.float64]) -> NDArray[np.str_]:
    """Return the choices of a judge with these probabilities of A: a tie where they are near one half."""
    return np.where(np.abs(2 * p_a - 1) < TIE_BELOW, "tie", np.where(p_a > 0.5, "A", "B"))


def verdict_rows(
    judge: str, rows: pd.DataFrame, choice: Sequence[str] | NDArray[np.str_], lost: NDArray[np.bool_], **columns: object
) -> pd.DataFrame:
    """Return verdicts on `case_id` and `dimension` of the rows, the lost ones unparsed.

    Parameters
    ----------
    columns : further columns, and `order`, `repeat` and `probe` where they are not AB, 0 and none
    """
    keys = {name: rows[name].to_numpy() for name in ("case_id", "dimension")}
    usual = {"order": "AB", "repeat": 0, "probe": NO_PROBE}
    chosen = pd.Series(np.asarray(choice), dtype="str").where(~lost)
    ends = {"status": np.where(lost, "unparsed", "ok"), "reply": SIMULATED}
    return pd.DataFrame({"judge": judge, **keys, **usual, **columns, "choice": chosen, **ends})
