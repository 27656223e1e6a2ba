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

import pandas as pd
from simulated import PAPER_CASES, PAPER_JUDGES, peak, write

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.stats.analyze import analyze, read_panels, verdict_columns
from mrb_lib.verdicts.store import iter_verdicts

TABLES = ("accuracy", "consistency", "agreement", "significance")


def measure(folder: Path, resamples: int) -> dict[str, float]:
    """Return the seconds of every table, reading included; prints them with the peak of memory so far."""
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
    return found


def draw(found: pd.DataFrame, resamples: int, path: Path) -> None:
    """The seconds of each table against the cases, both on logarithmic axes, beside a line of constant cost a case."""
    together = found.sum(axis=1)
    constant = together.iloc[-1] * found.index / found.index[-1]
    title = f"SIMULATED data: {PAPER_JUDGES} judges, 2 orders, 6 dimensions, {resamples:,} resamples"
    shown = found.assign(**{"together": together, "constant cost a case": constant})
    axes = shown.plot(
        loglog=True, style=["o-", "s-", "D-", "^-", "kX-", ":"], figsize=(6.4, 4.4), grid=True, title=title,
        xlabel="cases", ylabel="seconds, reading included",
    )  # fmt: skip
    axes.set_xticks(found.index, [f"{n:,}" for n in found.index])
    axes.set_xticks([], minor=True)
    axes.figure.savefig(path, dpi=120, metadata={"Software": None}, bbox_inches="tight")


def main() -> None:
    """Write what is missing, then measure from the smallest to the largest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", nargs="*", type=int, default=[1, 10, 30, 100])
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--figure", type=Path, help="where to draw how the cost grows")
    options = parser.parse_args()
    found: dict[int, dict[str, float]] = {}
    for times in sorted(options.times):
        folder = options.folder / f"times-{times}"
        if not folder.exists():
            write(folder, times * PAPER_CASES, PAPER_JUDGES)
        found[times * PAPER_CASES] = measure(folder, options.resamples)
    if options.figure:
        draw(pd.DataFrame(found).T, options.resamples, options.figure)


if __name__ == "__main__":
    main()
