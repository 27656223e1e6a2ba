"""Accuracies by the size of training, and what leaving a domain out costs, lie in their intervals. SIMULATED data."""

import numpy as np
import pytest
from scipy.special import ndtri

from mrb_lib.stats.tables.gains import OUT_OF_DOMAIN
from tests.stats.tables.test_left_out import ACCURACIES, CASES, GOLD, WITH, WITHOUT, leave_one_out, trained_on
from tests.training_records import recipes_of

from .panels import covered, frame_of, panel_of, rows_of, tables_of


@pytest.mark.parametrize(
    ("sizes", "asymptote", "amplitude", "exponent", "n", "clusters"),
    [((50, 100, 200, 400, 800), 0.15, 0.3, 0.6, 400, 200), ((50, 100, 200, 400), 0.2, 0.2, 0.4, 500, 500)],
)
def test_intervals_of_each_size_hold_the_truth(
    sizes: tuple[int, ...], asymptote: float, amplitude: float, exponent: float, n: int, clusters: int
) -> None:
    """Judges that find the same cases hard, and cases of a cluster alike."""

    def accuracy(size: float) -> float:
        return float(1 - asymptote - amplitude * (size / sizes[0]) ** -exponent)

    rng, benchmarks = np.random.default_rng(1), 120
    shared, own = (rng.normal(size=(benchmarks, clusters, m)) for m in (1, n // clusters))
    hard = (np.sqrt(0.3) * shared + np.sqrt(0.7) * own).reshape(benchmarks, n)
    felt = np.sqrt(0.4) * hard + np.sqrt(0.6) * rng.normal(size=(len(sizes), benchmarks, n))
    right = felt < ndtri([accuracy(size) for size in sizes])[:, None, None]
    panel, gold, cases = tables_of(np.repeat(right[..., None], 2, axis=3), cluster=np.arange(n) // (n // clusters))
    stated = recipes_of({name: {"n_cases": size} for name, size in zip(panel.judges, sizes, strict=True)})
    made = rows_of("gains", panel, gold, cases, records=stated, resamples=200, cluster="cluster")
    rows = made[made["part"] == "size"]
    truth = rows["n_training"].astype(float).map(accuracy)
    for size, own in rows.groupby("n_training"):
        assert 0.9 <= covered(own, accuracy(float(size)), "value_tuned_") <= 0.99
    assert (rows["value_tuned"] - truth).mean() == pytest.approx(0, abs=0.01)


def test_intervals_of_the_loss_out_of_domain_hold_the_truth_overall_and_in_each_domain() -> None:
    benchmarks, label = 60, (np.array(list(GOLD)) == "B").astype(np.int64)
    accuracy = np.stack(list(ACCURACIES.values()))[:, None, :, None]
    right = np.random.default_rng(1).random((len(ACCURACIES), benchmarks, len(label), 2)) < accuracy
    panel = panel_of(np.where(right, label[:, None], 1 - label[:, None]), judges=list(ACCURACIES))
    panel, gold = panel.without_seen(trained_on(), CASES["case_id"]), frame_of(np.tile(label, (benchmarks, 1)))
    made = rows_of("gains", panel, gold, CASES, records=leave_one_out(), cluster="cluster", resamples=200)
    lost = made[made["part"] == OUT_OF_DOMAIN]
    by_domain = lost.groupby(lost["subfield"].fillna("all"))
    assert by_domain.size().tolist() == [benchmarks] * 4
    for _, own in by_domain:
        assert 0.9 <= covered(own, WITHOUT - WITH) <= 0.99
