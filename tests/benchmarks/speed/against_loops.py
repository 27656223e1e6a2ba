"""The resampling engine against the obvious loops, side by side in one run. SIMULATED data.

Agreement (Krippendorff's alpha) of 6 dimensions x 22 groups of cases and accuracy of 32 judges in
each of them, with 95% percentile intervals: once by `mrb_lib`, once by looping `krippendorff.alpha`
and `scipy.stats.bootstrap`. The loops are measured on a share of the work, in every group of cases, and
scaled up. Both must give the same intervals, up to the chance of their own resamples.
Run it by hand: `python tests/benchmarks/speed/against_loops.py`; the results are in RESULTS.md.
"""

import time
from collections.abc import Callable
from functools import partial

import krippendorff
import numpy as np
import pandas as pd
from scipy.stats import bootstrap
from simulated import PAPER_CASES, PAPER_JUDGES, benchmark, verdicts

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.stats.analysis import labels
from mrb_lib.stats.analyze import analyze, read_panels
from mrb_lib.stats.columns import TABLES
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.scoring import score
from mrb_lib.stats.verdicts import Verdicts, labels_of
from mrb_lib.tables.schema import CHOICES, DIMENSIONS

RESAMPLES = 10_000
ALPHAS = 200
"""The resamples of the loop over `krippendorff.alpha` in a round, which are a fiftieth of all."""
ROUNDS = 5
DIMENSION, JUDGE = DIMENSIONS[0], 0
FAR = 0.25
"""The most by which an end may differ, as a share of the interval's width: 200 resamples place an end so well."""
Part, Ends = tuple[str, str | None], tuple[float, float]
Intervals = dict[Part, Ends]


def quick(made: Benchmark, panels: dict[str, Panel]) -> tuple[float, Intervals, Intervals]:
    """All intervals by the library: the seconds, and those of one dimension and judge."""
    options = {"agreement": {"pairwise": 0}, "accuracy": {"references": 0}}  # the loops have neither
    for table in options:
        TABLES[table]  # imports what makes it, as those of the loops are imported
    start = time.perf_counter()
    found = {
        table: analyze(made, panels, table, by=["organ", "department"], resamples=RESAMPLES, **own)
        for table, own in options.items()
    }
    seconds = time.perf_counter() - start
    judge = panels["none"].judges[JUDGE]
    accuracy = found["accuracy"][found["accuracy"]["judge"] == judge]
    return seconds, _ends(found["agreement"], "krippendorff_alpha_"), _ends(accuracy, "")


def _ends(rows: pd.DataFrame, prefix: str) -> Intervals:
    rows = rows[rows["dimension"] == DIMENSION]
    is_whole = rows["subfield"].isna()
    parts = zip(rows["by"].mask(is_whole, "all"), rows["subfield"].astype(object).mask(is_whole, None), strict=True)
    return dict(zip(parts, zip(rows[f"{prefix}low"], rows[f"{prefix}high"], strict=True), strict=True))


def groups(cases: pd.DataFrame) -> dict[Part, np.ndarray]:
    """The positions of the cases of the whole benchmark, of each organ and each department."""
    out: dict[Part, np.ndarray] = {("all", None): np.arange(len(cases))}
    for by in ("organ", "department"):
        out |= {(by, str(name)): np.flatnonzero(cases[by] == name) for name in cases[by].dropna().unique()}
    return out


def looped(parts: dict[Part, np.ndarray], interval: Callable[[np.ndarray], Ends]) -> tuple[float, Intervals]:
    """The seconds of a loop over groups of cases, and their intervals."""
    start = time.perf_counter()
    out = {part: interval(cases) for part, cases in parts.items()}
    return time.perf_counter() - start, out


def alpha_interval(ratings: np.ndarray, cases: np.ndarray) -> Ends:
    """A bootstrap that calls `krippendorff.alpha` for every resample."""
    draws = np.random.default_rng(0).integers(0, len(cases), (ALPHAS, len(cases)))
    drawn = [krippendorff.alpha(ratings[:, cases[draw]], level_of_measurement="nominal") for draw in draws]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return low, high


def accuracy_interval(scored: np.ndarray, cases: np.ndarray) -> Ends:
    """`scipy.stats.bootstrap` of one judge's accuracy."""
    values = scored[cases][np.isfinite(scored[cases])]
    given = bootstrap((values,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(0))
    return given.confidence_interval.low, given.confidence_interval.high


def compare(name: str, slow: Intervals, fast: Intervals) -> None:
    """Stop where an interval of the library is another than the loop's."""
    far = {
        part: max(abs(a - b) for a, b in zip(slow[part], fast[part], strict=True)) / (slow[part][1] - slow[part][0])
        for part in slow
    }
    worst = max(far, key=lambda part: far[part])
    print(f"{name}: {len(far)} intervals; the ends differ by at most {far[worst]:.0%} of an interval's width", end=" ")
    print(f"({worst[1] or 'all cases'})", flush=True)
    if far[worst] > FAR:
        raise SystemExit(f"{name} of {worst}: loop {slow[worst]}, mrb_lib {fast[worst]}")


def main() -> None:
    """Measure both, compare the numbers, and say how many times faster one is."""
    made, latent = benchmark(PAPER_CASES)
    panels = read_panels(made, verdicts(made, latent, PAPER_JUDGES))
    parts = groups(made.cases)
    panel = panels["none"]
    gold = labels_of(labels(made), made.cases["case_id"], panel.dimensions, CHOICES)
    cell = JUDGE * len(panel.dimensions) + panel.dimensions.index(DIMENSION)
    votes = made.annotations.pivot(index=["dimension", "annotator"], columns="case_id", values="choice")
    coded = votes.replace({name: float(i) for i, name in enumerate(CHOICES)}).astype(float)
    ratings = coded.loc[DIMENSION, made.cases["case_id"]].to_numpy()
    scored = score(Verdicts.of(panel), gold, "balanced").score[:, cell]
    print(f"SIMULATED: {len(parts)} groups, {len(DIMENSIONS)} dimensions, {PAPER_JUDGES} judges, {RESAMPLES} resamples")
    seconds = np.zeros((ROUNDS, 3))
    for i in range(ROUNDS):  # in turns, since a machine is not always as fast
        seconds[i, 0], alphas, accuracies = quick(made, panels)
        seconds[i, 1], slow_alphas = looped(parts, partial(alpha_interval, ratings))
        seconds[i, 2], slow = looped(parts, partial(accuracy_interval, scored))
    compare("alpha", slow_alphas, alphas)
    compare("accuracy", slow, accuracies)
    fast, alpha, mean = seconds.mean(axis=0)
    alpha *= RESAMPLES / ALPHAS * len(DIMENSIONS)
    mean *= len(DIMENSIONS) * PAPER_JUDGES
    print(f"mean of {ROUNDS} rounds: mrb_lib {fast:.2f} s; loops, scaled up, {alpha:.0f} s for alpha", end=" ")
    print(f"and {mean:.0f} s for accuracy: {(alpha + mean) / fast:.0f} times as long")


if __name__ == "__main__":
    main()
