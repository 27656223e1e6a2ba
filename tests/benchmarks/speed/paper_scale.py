"""How long every table of `mrb analyze` takes at the size of the published benchmark. SIMULATED data.

1,026 cases x 32 judges x 2 orders x 6 dimensions, 10,000 resamples: overall, by organ, by department, by both.
Run it by hand: `python tests/benchmarks/speed/paper_scale.py`; the results are in RESULTS.md.
"""

import argparse
import multiprocessing
import os
import resource
import time
from collections.abc import Sequence

from simulated import PAPER_CASES, PAPER_JUDGES, benchmark, peak, verdicts

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.stats.analyze import TABLES, analyze, read_panels
from mrb_lib.stats.panel import Panel

BY = ("organ", "department")
LONGEST = (
    "models", "significance", "ceiling", "calibration", "ranking", "gold_rules", "power", "accuracy", "jury",
    "difficulty", "agreement", "bias", "dif",
)  # fmt: skip


def alone(made: Benchmark, panels: dict[str, Panel], tables: Sequence[str], resamples: int) -> None:
    """Each table by itself: overall, by organ, by department, by both in one go."""
    for table in tables:
        seconds = []
        for by in (None, *BY, BY) if "by" in TABLES[table].parameters else (None,):
            start = time.perf_counter()
            analyze(made, panels, table, by=by, resamples=resamples)
            seconds.append(time.perf_counter() - start)
        shown = "  ".join(f"{value:6.2f}" for value in seconds)
        print(f"{table:16} {shown}   peak {peak(resource.RUSAGE_SELF):.2f} GB", flush=True)


def together(made: Benchmark, panels: dict[str, Panel], tables: Sequence[str], resamples: int) -> None:
    """All of them, by organ and department where a table asks, in two processes: the longest first, for balance."""
    by = {
        name: BY if "by" in TABLES[name].parameters else None for name in tables
    }  # imports what makes them, once for both
    jobs = sorted(tables, key=lambda name: LONGEST.index(name) if name in LONGEST else len(LONGEST))
    start = time.perf_counter()
    global run  # the processes inherit it with its data

    def run(name: str) -> None:
        analyze(made, panels, name, by=by[name], resamples=resamples)

    os.environ["OMP_NUM_THREADS"] = "1"  # the other process has the other core
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(run, jobs, chunksize=1)
    most = peak(resource.RUSAGE_SELF) + 2 * peak(resource.RUSAGE_CHILDREN)
    print(f"all of them, two at a time: {time.perf_counter() - start:.1f} s, at most {most:.2f} GB together")


def main() -> None:
    """Simulate, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tables", nargs="*", default=[name for name, each in TABLES.items() if not each.why_no_preferences]
    )
    parser.add_argument("--resamples", type=int, default=10_000)
    options = parser.parse_args()
    made, latent = benchmark(PAPER_CASES)
    start = time.perf_counter()
    panels = read_panels(made, verdicts(made, latent, PAPER_JUDGES))
    print(f"SIMULATED: {PAPER_CASES} cases, {PAPER_JUDGES} judges; simulated and laid out in", end=" ")
    print(f"{time.perf_counter() - start:.1f} s", flush=True)
    together(made, panels, options.tables, options.resamples)
    alone(made, panels, options.tables, options.resamples)


if __name__ == "__main__":
    main()
