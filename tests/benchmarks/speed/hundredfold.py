"""The published benchmark a hundred times over, from parquet on disk. SIMULATED data.

102,600 cases, 39 million verdicts, 2,000 resamples: accuracy, consistency, agreement and significance,
each as `mrb analyze` makes it, reading a judge at a time.
Run it by hand: `python tests/benchmarks/speed/hundredfold.py FOLDER`; the results are in RESULTS.md.
"""

import argparse
import resource
import time
from pathlib import Path

from simulated import PAPER_CASES, PAPER_JUDGES, peak, write

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.stats.analyze import analyze, read_panels, verdict_columns
from mrb_lib.verdicts.store import iter_verdicts

TABLES = ("accuracy", "consistency", "agreement", "significance")


def measure(folder: Path, resamples: int) -> None:
    """Print the seconds of every table, reading included, with the peak of memory so far."""
    found: dict[str, float] = {}
    for table in TABLES:
        start = time.perf_counter()
        made = load(folder)
        columns = verdict_columns(table)
        panels = read_panels(made, iter_verdicts(folder / "runs", made.cases, columns)) if columns else None
        read = time.perf_counter() - start
        analyze(made, panels, table, resamples=resamples)
        found[table] = time.perf_counter() - start
        took = f"{found[table]:6.1f} s (reading {read:.1f})"
        print(f"{len(made.cases)} cases: {table:13} {took}, peak {peak(resource.RUSAGE_SELF):.2f} GB", flush=True)
    print(f"{folder.name}: {sum(found.values()):.1f} s together", flush=True)


def main() -> None:
    """Write what is missing, then measure from the smallest to the largest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", nargs="*", type=int, default=[1, 10, 30, 100])
    parser.add_argument("--resamples", type=int, default=2000)
    options = parser.parse_args()
    for times in sorted(options.times):
        folder = options.folder / f"times-{times}"
        if not folder.exists():
            write(folder, times * PAPER_CASES, PAPER_JUDGES)
        measure(folder, options.resamples)


if __name__ == "__main__":
    main()
