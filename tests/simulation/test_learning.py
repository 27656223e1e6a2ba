"""Accuracies by the size of training hold the truth as often as they say, over draws of test cases."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

from mrb_lib.stats.panel import Panel
from tests.stats.small_tables import rows_of
from tests.training_records import recipes_of

from .rows import each_case

BENCHMARKS = 120


def simulated(
    accuracies: np.ndarray, sizes: tuple[int, ...], n: int, clusters: int
) -> tuple[Panel, pd.DataFrame, pd.DataFrame]:
    """Judges that find the same cases hard, and cases of a cluster alike; a benchmark a dimension."""
    rng = np.random.default_rng(1)
    shared, own = (rng.normal(size=(BENCHMARKS, clusters, m)) for m in (1, n // clusters))
    hard = (np.sqrt(0.3) * shared + np.sqrt(0.7) * own).reshape(BENCHMARKS, n)
    felt = np.sqrt(0.4) * hard + np.sqrt(0.6) * rng.normal(size=(len(sizes), BENCHMARKS, n))
    choice = np.where(felt < ndtri(accuracies)[:, None, None], 0, 1).astype(np.int8)
    both = np.repeat(choice[..., None], 2, axis=3)[..., None]
    names = [f"d{i:04d}" for i in range(BENCHMARKS)]
    costs = pd.DataFrame(columns=["judge", "dimension"])
    panel = Panel([f"n{size:05d}" for size in sizes], names, [0], both, None, costs)
    ids = [f"c{i}" for i in range(n)]
    gold = pd.DataFrame({**each_case(names, ids), "choice": "A"})
    cluster = [str(i // (n // clusters)) for i in range(n)]
    return panel, gold, pd.DataFrame({"case_id": ids, "question": "q", "cluster": cluster})


@pytest.mark.parametrize(
    ("sizes", "asymptote", "amplitude", "exponent", "n", "clusters"),
    [((50, 100, 200, 400, 800), 0.15, 0.3, 0.6, 400, 200), ((50, 100, 200, 400), 0.2, 0.2, 0.4, 500, 500)],
)
def test_intervals_of_each_size_hold_the_truth(
    sizes: tuple[int, ...], asymptote: float, amplitude: float, exponent: float, n: int, clusters: int
) -> None:
    def accuracy(size: float) -> float:
        return float(1 - asymptote - amplitude * (size / sizes[0]) ** -exponent)

    panel, gold, cases = simulated(np.array([accuracy(size) for size in sizes]), sizes, n, clusters)
    stated = recipes_of({f"n{size:05d}": {"n_cases": size} for size in sizes})
    options = {"records": stated, "resamples": 200, "cluster": "cluster"}
    made = rows_of("gains", cases, panel, gold, **options)
    rows = made[made["part"] == "size"]
    truth = rows["n_training"].astype(float).map(accuracy)
    holds = (rows["value_tuned_low"] <= truth) & (truth <= rows["value_tuned_high"])
    assert holds.groupby(rows["n_training"]).agg("mean").between(0.9, 0.99).all()
    assert (rows["value_tuned"] - truth).mean() == pytest.approx(0, abs=0.01)
