"""The resampling engine against the obvious loops, side by side in one run. SIMULATED data.

Agreement (Krippendorff's alpha) of 6 dimensions x 22 groups of cases and accuracy of 32 judges in
each of them, with 95% percentile intervals: once by `mrb_lib`, once by looping `krippendorff.alpha`
and `scipy.stats.bootstrap`. The loops are measured on a share of the work and scaled up, which is
printed. The numbers of both are compared.
Run it by hand: `python tests/benchmarks/against_loops.py`; the results are in RESULTS.md.
"""

from __future__ import annotations

import time

import krippendorff
import numpy as np
import pandas as pd
from scipy.stats import bootstrap
from simulated import PAPER_CASES, PAPER_JUDGES, benchmark, verdicts

from mrb_lib.data.benchmark import Benchmark
from mrb_lib.schema import CHOICES, DIMENSIONS
from mrb_lib.stats.accuracy import correctness
from mrb_lib.stats.inputs import labels
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.tables import analyze, read_panels

RESAMPLES = 10_000
GROUPS = (None, "organ", "department")
MEASURED = 3


def quick(made: Benchmark, panels: dict[str, Panel]) -> tuple[float, dict[tuple[str | None, str], pd.DataFrame]]:
    """All intervals by the library."""
    start = time.perf_counter()
    found = {
        (by, table): analyze(made, panels, table, by=by, resamples=RESAMPLES)
        for by in GROUPS
        for table in ("agreement", "accuracy")
    }
    return time.perf_counter() - start, found


def main() -> None:
    """Measure both, compare the numbers, and say how many times faster one is."""
    made, latent = benchmark(PAPER_CASES)
    panels = read_panels(made, verdicts(made, latent, PAPER_JUDGES))
    seconds, found = quick(made, panels)
    n_groups = 1 + made.cases["organ"].nunique() + made.cases["department"].nunique()
    print(f"SIMULATED: {n_groups} groups, {len(DIMENSIONS)} dimensions, {PAPER_JUDGES} judges, {RESAMPLES} resamples")
    print(f"mrb_lib: {seconds:.2f} s for all", flush=True)
    generator = np.random.default_rng(0)
    votes = made.annotations.pivot(index=["dimension", "annotator"], columns="case_id", values="choice")
    coded = votes.replace({name: float(i) for i, name in enumerate(CHOICES)}).astype(float)[made.cases["case_id"]]
    start = time.perf_counter()
    for dimension in DIMENSIONS[:MEASURED]:
        ratings = coded.loc[dimension].to_numpy()
        drawn = [
            krippendorff.alpha(
                ratings[:, generator.integers(0, PAPER_CASES, PAPER_CASES)], level_of_measurement="nominal"
            )
            for draw in generator.integers(0, PAPER_CASES, (RESAMPLES // 50, PAPER_CASES))
        ]
        low, high = np.quantile(drawn, [0.025, 0.975])
        row = found[None, "agreement"].set_index("dimension").loc[dimension]
        print(f"alpha of {dimension}: loop {low:.3f} to {high:.3f} ({len(drawn)} resamples), mrb_lib", end=" ")
        print(f"{row['krippendorff_alpha_low']:.3f} to {row['krippendorff_alpha_high']:.3f}")
    alpha = (time.perf_counter() - start) / MEASURED * 50 * len(DIMENSIONS) * n_groups
    first = next(iter(verdicts(made, latent, 1)))
    scored = correctness(first.assign(choice=first["choice"].astype("str")), labels(made)).dropna(subset="score")
    start = time.perf_counter()
    for dimension in DIMENSIONS[:MEASURED]:
        values = scored.loc[scored["dimension"] == dimension, "score"].to_numpy()
        given = bootstrap((values,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=generator)
        table = found[None, "accuracy"]
        row = table[(table["judge"] == scored["judge"].iloc[0]) & (table["dimension"] == dimension)].iloc[0]
        print(f"accuracy of one judge on {dimension}: loop {given.confidence_interval.low:.3f} to", end=" ")
        print(f"{given.confidence_interval.high:.3f}, mrb_lib {row['low']:.3f} to {row['high']:.3f}")
    # A whole benchmark is as many cases as its organs, or its departments, together: three times the overall work.
    one = (time.perf_counter() - start) / MEASURED
    mean = one * len(DIMENSIONS) * PAPER_JUDGES * len(GROUPS)
    print(f"loops, scaled up: alpha {alpha:.0f} s (small groups cost krippendorff.alpha as much as large ones)", end="")
    print(f", accuracy {mean:.0f} s; together {(alpha + mean) / seconds:.0f} times as long")


if __name__ == "__main__":
    main()
