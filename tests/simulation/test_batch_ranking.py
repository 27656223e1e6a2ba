"""A judge that ranks a list and favours places in it: its true order and its bias are found. SIMULATED data."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from mrb_lib.judges.makers import RankingMaker, lineup_of
from mrb_lib.judges.prompts import RANKED, load_prompt
from mrb_lib.judges.settings import Settings
from mrb_lib.judges.tasks import Reply
from mrb_lib.verdicts.orders import to_case_frame
from mrb_lib.verdicts.protocol import VerdictRows
from tests.judges.item_cases import better_of, item_cases, shown_to_batch, worth
from tests.stats.small_tables import rows_of

K = 5
STEADY = np.linspace(1.8, 0.0, K)
"""What a place in the list is worth, from the first to the last; responses differ by 1."""
FIRST_ALONE = np.array([1.5, 0, 0, 0, 0])


def judged(
    cases: pd.DataFrame, weights: np.ndarray, *, noise: float, seed: int, repeats: int = 1
) -> tuple[pd.DataFrame, float]:
    """The verdicts of a judge that ranks by worth, place in the list and Gumbel noise; and its true position bias.

    With this noise the first of two is chosen with a logistic probability of the difference (Plackett and Luce).
    """
    generator = np.random.default_rng(seed)
    shown = shown_to_batch(cases, ("overall",), repeats=repeats)
    rows, leaning, prompts = VerdictRows(shown), [], np.zeros(len(shown), dtype=int)
    maker = RankingMaker(load_prompt("batch"), Settings(choices=("A", "B"), seed=seed))
    for number, task in enumerate(maker.tasks(shown)):
        lineup = lineup_of(task.record, seed)
        value = np.array([worth(text) for text in lineup]) + weights
        felt = value + noise * generator.gumbel(size=K)
        maker.put(rows, task, Reply(json.dumps({"overall": [RANKED[i] for i in np.argsort(-felt)]})))
        prompts[[position for position, _ in task.rows]] = number
        pairs = [[lineup.index(row[side]) for side in ("first", "second")] for _, row in task.rows]
        gaps = np.array([value[first] - value[second] for first, second in pairs])
        leaning += list(2 * expit(gaps / noise) - 1 if noise else np.sign(gaps))
    return to_case_frame(rows.frame()).assign(judge="x+batch", prompt=prompts), float(np.mean(leaning))


def gold_of_worth(cases: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"case_id": cases["case_id"], "dimension": "overall", "choice": better_of(cases)})


def items_row(verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame) -> pd.Series:
    rows = rows_of("ranking", cases, verdicts, gold, resamples=100)
    return rows[rows["part"] == "items"].iloc[0]


@pytest.mark.parametrize("weights", [STEADY, FIRST_ALONE])
def test_both_directions_together_recover_the_true_order_that_either_alone_misses(weights: np.ndarray) -> None:
    cases = item_cases(80, K)
    verdicts, _ = judged(cases, weights, noise=0.0, seed=1, repeats=K)
    gold = gold_of_worth(cases)
    item = verdicts["case_id"].str.split("-").str[0]
    is_one = verdicts["prompt"] == verdicts.groupby([item, "repeat"])["prompt"].transform("first")
    first = verdicts["repeat"] == 0
    all_repeats, both, one, other = (
        items_row(rows, gold, cases)
        for rows in (verdicts, verdicts[first], verdicts[first & is_one], verdicts[first & ~is_one])
    )
    assert all_repeats["kendall"] == 1, "rotated once round"
    assert both["kendall"] > 0.94, "what is left are places that the two directions make equal"
    for alone in (one, other):
        assert alone["n_items"] == 80
        assert alone["kendall_high"] < both["kendall_low"]


@pytest.mark.parametrize("weights", [STEADY, np.zeros(K)])
def test_the_position_effect_is_found_within_its_interval(weights: np.ndarray) -> None:
    held = []
    for seed in range(20):
        cases = item_cases(25, K, seed=seed)
        verdicts, truth = judged(cases, weights, noise=1.0, seed=seed)
        row = rows_of("consistency", cases, verdicts).iloc[0]
        held.append(row["position_bias_low"] <= truth <= row["position_bias_high"])
        if weights is STEADY:
            assert row["position_bias_low"] > 0, "the bias is shown"
    assert np.mean(held) >= 0.85  # with 95% each, 17 or more of 20 with 98%
