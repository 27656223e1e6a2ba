"""The interval of what leaving a domain out of training costs holds the truth as often as it says."""

from __future__ import annotations

import numpy as np

from mrb_lib.stats.core.panel import as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.significance.paired import PairOptions
from mrb_lib.stats.transfer.trained import OUT_OF_DOMAIN, trained_rows
from tests.stats.small_tables import gold_of
from tests.stats.transfer.test_trained import ACCURACIES, CASES, GOLD, WITH, WITHOUT, judged, leave_one_out, trained_on

BENCHMARKS = 60


def test_intervals_of_the_loss_out_of_domain_hold_the_truth_overall_and_in_each_domain() -> None:
    training, codes, records = trained_on(), cluster_codes(CASES, "cluster"), leave_one_out()
    labels = encode_gold(gold_of(GOLD), CASES["case_id"], ["overall"])
    options = PairOptions("balanced", "none", "dimension", None, 200, 0)
    held = np.zeros(4)
    for seed in range(BENCHMARKS):
        panel = as_panel(judged(ACCURACIES, seed), CASES["case_id"]).without_seen(training, CASES["case_id"])
        frames = trained_rows(panel, score(panel, labels, "balanced").score, CASES, records, codes, options)
        (lost,) = [frame for frame in frames if (frame["part"] == OUT_OF_DOMAIN).all()]
        low, high = lost["difference_low"].to_numpy(), lost["difference_high"].to_numpy()
        held += (low <= WITHOUT - WITH) & (high >= WITHOUT - WITH)
    assert (held >= 0.9 * BENCHMARKS).all()
    assert (held <= 0.99 * BENCHMARKS).all()
