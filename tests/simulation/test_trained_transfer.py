"""The interval of what leaving a domain out of training costs holds the truth as often as it says."""

import numpy as np
import pandas as pd

from mrb_lib.stats.panel import Panel
from mrb_lib.stats.tables.gains import OUT_OF_DOMAIN
from tests.stats.small_tables import rows_of
from tests.stats.tables.test_left_out import ACCURACIES, CASES, GOLD, WITH, WITHOUT, leave_one_out, trained_on

BENCHMARKS = 60


def test_intervals_of_the_loss_out_of_domain_hold_the_truth_overall_and_in_each_domain() -> None:
    """Each simulated benchmark is a dimension of one call."""
    label = (np.array(list(GOLD)) == "B").astype(np.int64)
    accuracy = np.stack(list(ACCURACIES.values()))[:, None, :, None]
    right = np.random.default_rng(1).random((len(ACCURACIES), BENCHMARKS, len(label), 2)) < accuracy
    choice = np.where(right, label[:, None], 1 - label[:, None]).astype(np.int8)[..., None]
    names = [f"d{i:02d}" for i in range(BENCHMARKS)]
    panel = Panel(list(ACCURACIES), names, [0], choice, None, pd.DataFrame())
    panel = panel.without_seen(trained_on(), CASES["case_id"])
    gold = pd.DataFrame(
        {"case_id": np.tile(CASES["case_id"], BENCHMARKS), "dimension": np.repeat(names, len(label)),
         "choice": np.tile(list(GOLD), BENCHMARKS)}
    )  # fmt: skip
    options = {"records": leave_one_out(), "cluster": "cluster", "resamples": 200}
    made = rows_of("gains", CASES, panel, gold, **options)
    lost = made[made["part"] == OUT_OF_DOMAIN]
    holds = (lost["low"] <= WITHOUT - WITH) & (lost["high"] >= WITHOUT - WITH)
    held = holds.groupby(lost["subfield"].fillna("all")).agg(["mean", "size"])
    assert held["size"].tolist() == [BENCHMARKS] * 4
    assert held["mean"].between(0.9, 0.99).all(), held
