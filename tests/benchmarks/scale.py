"""How long accuracy and consistency take on 100,000 cases, and how much memory. SIMULATED data.

Run it by hand: `python tests/benchmarks/scale.py [CASES]`; the results are in RESULTS.md.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from mrb_lib.schema import CHOICES, DIMENSIONS, ORGANS
from mrb_lib.stats.accuracy import accuracy
from mrb_lib.stats.consistency import consistency

JUDGES = ("simulated-1", "simulated-2", "simulated-3")


def simulate(n: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Verdicts (three judges, both orders, six dimensions), gold and cases, drawn at random."""
    generator = np.random.default_rng(seed)
    ids = np.array([f"SIMULATED-{i:07d}" for i in range(n)])
    cases = pd.DataFrame({"case_id": ids, "organ": generator.choice(ORGANS, n)}).astype("str")
    shape = (len(JUDGES), len(DIMENSIONS), 2, n)
    label = generator.integers(0, 3, (len(DIMENSIONS), n))
    right = generator.random(shape) < np.array([0.5, 0.6, 0.7])[:, None, None, None]
    choice = np.where(right, label[None, :, None, :], generator.integers(0, 3, shape))
    judge, dimension, order, case = (axis.ravel() for axis in np.indices(shape))
    verdicts = pd.DataFrame(
        {
            "judge": pd.Index(JUDGES, dtype="str").take(judge),
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
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    verdicts, gold, cases = simulate(n)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"SIMULATED: {n} cases, {len(verdicts)} verdict rows, peak while simulating {peak:.2f} GB", flush=True)
    measure("accuracy", lambda: accuracy(verdicts, gold, cases))
    measure("consistency", lambda: consistency(verdicts, cases))
    measure("accuracy by organ", lambda: accuracy(verdicts, gold, cases, by="organ"))


if __name__ == "__main__":
    main()
