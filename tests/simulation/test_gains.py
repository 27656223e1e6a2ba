"""What leaving a domain out of training costs lies in its intervals. SIMULATED data of known truth."""

import numpy as np

from mrb_lib.stats.tables.gains import OUT_OF_DOMAIN
from tests.stats.tables.test_left_out import ACCURACIES, CASES, GOLD, WITH, WITHOUT, leave_one_out, trained_on

from .panels import covered, frame_of, panel_of, rows_of


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
