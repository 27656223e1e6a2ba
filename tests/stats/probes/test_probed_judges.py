"""Simulated judges under real probes, from the cases to the table. SIMULATED data."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mrb_lib.demo.probed_judges import ProbedJudge, simulated_probed_verdicts
from mrb_lib.probes import Probing, parse_probes
from mrb_lib.probes.probe import target
from mrb_lib.stats.panel import panels
from mrb_lib.tables.validation import conform
from tests.stats.probes.panels import cases_of, gold_of, probes

N = 200
JUDGES = (ProbedJudge("sound"), ProbedJudge("wordy", length=1.2))


def test_a_judge_that_likes_length_chooses_what_a_probe_made_longer() -> None:
    cases = cases_of(N, images=[[] for _ in range(N)])
    cases.loc[:9, ["response_a", "response_b"]] = ""  # to which the probe does not apply
    difference = np.random.default_rng(0).normal(size=N)
    truth = pd.DataFrame(
        {"case_id": cases["case_id"], "dimension": "overall", "quality_a": difference, "quality_b": 0.0}
    )
    ids = parse_probes("response/repeated")
    made = [simulated_probed_verdicts(truth, cases, Probing(cases), ids, JUDGES, seed=3) for _ in range(2)]
    pd.testing.assert_frame_equal(*made)
    verdicts = conform(made[0], "verdicts", "simulated")
    probed = verdicts[verdicts["probe"] == "response/repeated"]
    assert len(probed) == len(JUDGES) * (N - 10) * 4
    chosen = probed["choice"].eq(probed["case_id"].map(target))[probed["choice"].isin(["A", "B"])]
    share = chosen.groupby(probed["judge"]).mean()
    assert share["wordy"] > 0.7 > 0.6 > share["sound"]
    found = panels([made[0]], cases["case_id"])
    rows = probes(found, gold_of(list(np.where(difference > 0, "A", "B"))), cases, resamples=200)
    rows = rows[rows["part"] == "probe"].set_index("judge")
    assert rows["n"].between(N - 14, N - 10).all()
    assert rows["kept_expectation"].fillna(True)["sound"]
    assert not rows.loc["wordy", "kept_expectation"]
    assert rows.loc["wordy", "target_shift_low"] > 0.1
