"""The published benchmark a hundred times over, from parquet on disk. SIMULATED data.

102,600 cases, 39 million verdicts, 10,000 resamples: accuracy, consistency, agreement and significance,
each as `mrb analyze` makes it, reading a judge at a time; and how the cost grows with the cases.
Run it by hand: `python tests/benchmarks/hundredfold.py FOLDER`; the results are in RESULTS.md.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

from simulated import PAPER_CASES, PAPER_JUDGES, write

from mrb_lib.data.benchmark import load
from mrb_lib.runs.store import iter_verdicts
from mrb_lib.stats.tables import analyze, columns_for, read_panels

TABLES = ("accuracy", "consistency", "agreement", "significance")


def measure(folder: Path, resamples: int) -> None:
    """Print the seconds of every table, reading included, and the peak of memory so far."""
    total = 0.0
    for table in TABLES:
        start = time.perf_counter()
        made = load(folder)
        columns = columns_for(table)
        panels = read_panels(made, iter_verdicts(folder / "runs", made.cases, columns)) if columns else None
        read = time.perf_counter() - start
        analyze(made, panels, table, resamples=resamples)
        seconds = time.perf_counter() - start
        total += seconds
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{len(made.cases)} cases: {table:13} {seconds:6.1f} s (reading {read:.1f}), peak {peak:.2f} GB", flush=True
        )
    print(f"{folder.name}: {total:.1f} s together", flush=True)


def main() -> None:
    """Write what is missing, then measure from the smallest to the largest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", nargs="*", type=int, default=[1, 10, 30, 100])
    parser.add_argument("--resamples", type=int, default=10_000)
    options = parser.parse_args()
    for times in options.times:
        folder = options.folder / f"times-{times}"
        if not folder.exists():
            write(folder, times * PAPER_CASES, PAPER_JUDGES)
        measure(folder, options.resamples)


if __name__ == "__main__":
    main()
