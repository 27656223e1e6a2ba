"""The published benchmark a hundred times over, from parquet on disk. SIMULATED data.

102,600 cases, 39 million verdicts, 2,000 resamples: accuracy, consistency, agreement and significance,
each as `mrb analyze` makes it, reading a judge at a time; and how the cost grows with the cases.
Run it by hand: `python tests/benchmarks/speed/hundredfold.py FOLDER`; the results are in RESULTS.md.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import matplotlib.pyplot as plt
from simulated import PAPER_CASES, PAPER_JUDGES, write

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.stats.analyze import analyze, read_panels, verdict_columns
from mrb_lib.verdicts.store import iter_verdicts

TABLES = ("accuracy", "consistency", "agreement", "significance")
TOGETHER = "together"


Measured = dict[str, dict[int, float]]


def measure(folder: Path, resamples: int, found: Measured) -> None:
    """Print, and add to `found`, the seconds of every table, reading included, and the peak of memory so far."""
    total = 0.0
    for table in TABLES:
        start = time.perf_counter()
        made = load(folder)
        columns = verdict_columns(table)
        panels = read_panels(made, iter_verdicts(folder / "runs", made.cases, columns)) if columns else None
        read = time.perf_counter() - start
        analyze(made, panels, table, resamples=resamples)
        seconds = time.perf_counter() - start
        total += seconds
        found.setdefault(table, {})[len(made.cases)] = seconds
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{len(made.cases)} cases: {table:13} {seconds:6.1f} s (reading {read:.1f}), peak {peak:.2f} GB", flush=True
        )
    found.setdefault(TOGETHER, {})[len(made.cases)] = total
    print(f"{folder.name}: {total:.1f} s together", flush=True)


def draw(found: Measured, resamples: int, path: Path) -> None:
    """The seconds of each table against the cases, both on logarithmic axes, beside a line of constant cost a case."""
    fig, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    for table, marker in zip((*TABLES, TOGETHER), "osD^X", strict=True):
        cases, seconds = zip(*sorted(found[table].items()), strict=True)
        ax.plot(cases, seconds, marker=marker, label=table, color="black" if table == TOGETHER else None)
    cases, seconds = zip(*sorted(found[TOGETHER].items()), strict=True)
    ax.plot(cases, [seconds[-1] * n / cases[-1] for n in cases], ":", color="grey", label="constant cost a case")
    ax.set(xscale="log", yscale="log", xlabel="cases", ylabel="seconds, reading included", xticks=cases)
    ax.set_xticks([], minor=True)
    ax.set_xticklabels([f"{n:,}" for n in cases])
    ax.set_title(f"SIMULATED data: {PAPER_JUDGES} judges, 2 orders, 6 dimensions, {resamples:,} resamples", fontsize=10)
    ax.legend(frameon=False)
    ax.grid(alpha=0.3)
    fig.savefig(path, dpi=120, metadata={"Software": None})


def main() -> None:
    """Write what is missing, then measure from the smallest to the largest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", nargs="*", type=int, default=[1, 10, 30, 100])
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--figure", type=Path, help="where to draw how the cost grows")
    options = parser.parse_args()
    found: Measured = {}
    for times in sorted(options.times):
        folder = options.folder / f"times-{times}"
        if not folder.exists():
            write(folder, times * PAPER_CASES, PAPER_JUDGES)
        measure(folder, options.resamples, found)
    if options.figure:
        draw(found, options.resamples, options.figure)


if __name__ == "__main__":
    main()
