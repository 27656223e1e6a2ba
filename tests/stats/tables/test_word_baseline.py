"""The bag-of-words baseline: what it learns, from which cases, and what the table `gains` says of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.methods.word_baseline import prefers_a
from mrb_lib.stats.tables.gains import better_than_base
from tests.stats.small_tables import cases_of, gains, gold_of, groups_of, verdicts_of

N = 200
RNG = np.random.default_rng(5)
GOLD = RNG.choice(list("AB"), N)
TOLD = np.where(RNG.uniform(size=N) < 0.8, GOLD, np.where(GOLD == "A", "B", "A"))
"""The side whose response holds the telling word: of four cases in five the better one."""
USE = np.array(["training", "related", "", ""] * (N // 4))
CASES = cases_of(N, organ=["eye"] * 100 + ["lung"] * 100).assign(
    response_a=np.where(TOLD == "A", "clear consolidation", "nothing"),
    response_b=np.where(TOLD == "B", "clear consolidation", "nothing"),
)
TRAINING = pd.DataFrame({"judge": "tuned", "case_id": CASES["case_id"], "use": USE})[USE != ""]
VERDICTS = verdicts_of({
    (judge, order): "".join(RNG.choice(list("AB"), N)) for judge in ("base", "tuned") for order in ("AB", "BA")
})  # fmt: skip
GROUPS = groups_of({"base": "open", "tuned": "critic"}, {"tuned": "base"})


def made(cases: pd.DataFrame = CASES, gold: str = "".join(GOLD), **options: object) -> pd.DataFrame:
    found = gains(VERDICTS, gold_of(gold), cases, GROUPS, training=TRAINING, resamples=0, **options)  # type: ignore[arg-type]
    return found.set_index(found["subfield"].fillna("all"))


@pytest.mark.parametrize("policy", ["balanced", "official", "strict"])
def test_it_is_scored_by_the_same_policy_on_the_same_cases_as_the_judge(policy: str) -> None:
    rows, unseen = made(policy=policy, by="organ"), USE == ""
    for place, kept in {
        "all": unseen,
        "eye": unseen & (np.arange(N) < 100),
        "lung": unseen & (np.arange(N) >= 100),
    }.items():
        assert rows["n"][place] == kept.sum()
        assert rows["accuracy_words"][place] == pytest.approx((TOLD == GOLD)[kept].mean())
    assert f"{100 * rows['accuracy_words']['all']:.0f}%" in better_than_base(rows.reset_index(drop=True))


def test_a_tie_is_half_right() -> None:
    tied = np.where(np.arange(N) % 8 == 2, "T", GOLD)
    unseen = USE == ""
    right = np.where(tied == "T", 0.5, TOLD == GOLD)[unseen].mean()
    assert made(gold="".join(tied))["accuracy_words"]["all"] == pytest.approx(right)


def test_it_learns_from_the_training_cases_alone() -> None:
    """Where only the related cases are told from words, there is nothing to learn."""
    silent = CASES.copy()
    silent.loc[USE == "training", ["response_a", "response_b"]] = "+"
    row = made(silent).loc["all"]
    assert pd.isna(row["accuracy_words"])
    assert "no word of training cases" in row["reason"]


def test_swapped_responses_swap_the_prediction() -> None:
    learnt, wins = np.arange(60), (GOLD[:60] == "A") * 1.0
    swapped = CASES.rename(columns={"response_a": "response_b", "response_b": "response_a"})
    assert (prefers_a(CASES, learnt, wins) != prefers_a(swapped, learnt, 1 - wins)).all()
    assert not len(prefers_a(CASES, learnt, np.ones(60)))
