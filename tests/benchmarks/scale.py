"""How long the statistics take at the sizes they are made for, and how much memory. SIMULATED data.

Run it by hand: `python tests/benchmarks/scale.py`; the results are in RESULTS.md.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from mrb_lib.schema import CHOICES, DIMENSIONS, ORGANS
from mrb_lib.stats.accuracy import accuracy
from mrb_lib.stats.consistency import consistency
from mrb_lib.stats.paired import significance


def simulate(n: int, judges: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Verdicts (both orders, six dimensions), gold and cases, drawn at random."""
    generator = np.random.default_rng(seed)
    ids = np.array([f"SIMULATED-{i:07d}" for i in range(n)])
    cases = pd.DataFrame({"case_id": ids, "organ": generator.choice(ORGANS, n)}).astype("str")
    names = [f"simulated-{i:02d}" for i in range(judges)]
    shape = (judges, len(DIMENSIONS), 2, n)
    label = generator.integers(0, 3, (len(DIMENSIONS), n))
    right = generator.random(shape) < np.linspace(0.5, 0.7, judges)[:, None, None, None]
    choice = np.where(right, label[None, :, None, :], generator.integers(0, 3, shape))
    judge, dimension, order, case = (axis.ravel() for axis in np.indices(shape))
    verdicts = pd.DataFrame(
        {
            "judge": pd.Index(names, dtype="str").take(judge),
            "case_id": pd.Index(ids, dtype="str").take(case),
            "dimension": pd.Index(DIMENSIONS, dtype="str").take(dimension),
            "order": pd.Index(["AB", "BA"], dtype="str").take(order),
            "repeat": np.zeros(len(case), dtype=np.int64),
            "probe": pd.Series(["none"], dtype="str").repeat(len(case)).to_numpy(),
            "choice": pd.Index(CHOICES, dtype="str").take(choice.ravel()),
        }
    )
    gold = pd.DataFrame(
        {
            "case_id": pd.Index(ids, dtype="str").take(np.tile(np.arange(n), len(DIMENSIONS))),
            "dimension": pd.Index(DIMENSIONS, dtype="str").repeat(n),
            "choice": pd.Index(CHOICES, dtype="str").take(label.ravel()),
        }
    )
    return verdicts, gold, cases


def measure(name: str, call: Callable[[], pd.DataFrame]) -> None:
    """Print the seconds a call takes and the peak memory of the process so far."""
    start = time.perf_counter()
    rows = len(call())
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name}: {seconds:.1f} s, {rows} rows, peak {peak:.2f} GB", flush=True)


def main() -> None:
    """Simulate, then measure."""
    for n, judges, resamples in ((1_026, 32, 10_000), (100_000, 3, 2_000)):
        verdicts, gold, cases = simulate(n, judges)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"SIMULATED: {n} cases, {judges} judges, {len(verdicts)} verdict rows, {resamples} resamples")
        print(f"peak while simulating {peak:.2f} GB", flush=True)
        tables = (verdicts, gold, cases)
        measure("accuracy", partial(accuracy, *tables, resamples=resamples))
        measure("consistency", partial(consistency, verdicts, cases, resamples=resamples))
        measure("significance", partial(significance, *tables, resamples=resamples))
        measure("accuracy by organ", partial(accuracy, *tables, by="organ", resamples=resamples))


if __name__ == "__main__":
    main()
