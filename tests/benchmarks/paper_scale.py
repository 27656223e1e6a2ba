"""How long every table of `mrb analyze` takes at the size of the published benchmark. SIMULATED data.

1,026 cases x 32 judges x 2 orders x 6 dimensions, 10,000 resamples: overall, by organ and by department.
Run it by hand: `python tests/benchmarks/paper_scale.py`; the results are in RESULTS.md.
"""

from __future__ import annotations

import argparse
import resource
import time

from simulated import PAPER_CASES, PAPER_JUDGES, benchmark, verdicts

from mrb_lib.stats.tables import TABLES, analyze, asks_for, read_panels


def main() -> None:
    """Simulate, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--resamples", type=int, default=10_000)
    options = parser.parse_args()
    made, latent = benchmark(PAPER_CASES)
    start = time.perf_counter()
    panels = read_panels(made, verdicts(made, latent, PAPER_JUDGES))
    print(f"SIMULATED: {PAPER_CASES} cases, {PAPER_JUDGES} judges; simulated and laid out in", end=" ")
    print(f"{time.perf_counter() - start:.1f} s", flush=True)
    total = 0.0
    for table in options.tables:
        seconds = []
        for by in (None, "organ", "department") if "by" in asks_for(table) else (None,):
            start = time.perf_counter()
            analyze(made, panels, table, by=by, resamples=options.resamples)
            seconds.append(time.perf_counter() - start)
        total += sum(seconds)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        shown = "  ".join(f"{value:6.2f}" for value in seconds)
        print(f"{table:16} {shown}   peak {peak:.2f} GB", flush=True)
    print(f"all of them: {total:.1f} s")


if __name__ == "__main__":
    main()
