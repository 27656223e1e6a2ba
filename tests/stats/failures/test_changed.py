"""What a probe changed, verdict by verdict, is what the table `probes` counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.core.panel import Panel, panels
from mrb_lib.stats.failures.changed import changed_by_probe
from mrb_lib.stats.probes import probes
from tests.stats.small_tables import cases_of, gold_of, random_verdicts, verdicts_of

N = 40


def _panels(*tables: pd.DataFrame, n: int) -> dict[str, Panel]:
    return panels([pd.concat(tables)], cases_of(n)["case_id"], ["overall"])


def test_only_answers_in_the_same_order_and_repeat_are_compared() -> None:
    plain = verdicts_of({("a", "AB"): "AAAA?", ("a", "BA"): "AB-AA", ("b", "AB"): "AAAAA"})
    probed = verdicts_of({("a", "AB"): "ABBBB", ("a", "BA"): "BBA--", ("late", "AB"): "BBBBB"}).assign(probe="p/x")
    again = verdicts_of({("a", "AB", 1): "BBBBB"}).assign(probe="p/y")
    found = _panels(plain, probed, again, n=5)
    changed = changed_by_probe(found["none"], found, gold_of("AAAAA"), cases_of(5)["case_id"])
    assert changed.probes == ["p/x", "p/y"]
    assert changed.share.shape == (2, 2, 1, 5)
    np.testing.assert_array_equal(changed.share[0, 0, 0], [0.5, 0.5, 1, 1, np.nan])
    assert np.isnan(changed.share[0, 1]).all()  # without verdicts under the probe, nothing is known
    assert np.isnan(changed.share[1]).all()  # another repeat is no pair


def test_the_mean_over_cases_is_what_the_table_of_probes_says() -> None:
    generator = np.random.default_rng(3)
    plain, probed = (random_verdicts(generator, N, 2) for _ in range(2))
    found, gold = _panels(plain, probed.assign(probe="image/removed"), n=N), gold_of("AB" * (N // 2))
    changed = changed_by_probe(found["none"], found, gold, cases_of(N)["case_id"])
    table = probes(found["none"], gold, cases_of(N), probes=found, resamples=20)
    expected = table[table["part"] == "probe"].sort_values("judge")["changed"]
    means = np.nanmean(changed.share[0, :, 0].astype(np.float64), axis=1)
    assert means.tolist() == pytest.approx(expected.tolist(), abs=1e-3)
