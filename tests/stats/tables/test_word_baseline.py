"""The bag-of-words baseline: what it learns, from which cases, and what the table `gains` says of it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

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


def made(cases: pd.DataFrame = CASES, gold: str = "".join(GOLD), **options: Any) -> pd.DataFrame:
    found = gains(VERDICTS, gold_of(gold), cases, groups=GROUPS, training=TRAINING, resamples=0, **options)
    return found.set_index(found["subfield"].fillna("all"))


@pytest.mark.parametrize("policy", ["balanced", "official", "strict"])
def test_it_is_scored_by_the_same_policy_on_the_same_cases_as_the_judge(policy: str) -> None:
    rows, unseen, eye = made(policy=policy, by="organ"), USE == "", np.arange(N) < 100
    for place, kept in {"all": unseen, "eye": unseen & eye, "lung": unseen & ~eye}.items():
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


def test_response_a_may_win_in_every_case() -> None:
    """As data of chosen and rejected responses come: two sides of a case tell as much as two cases."""
    learnt, telling = np.flatnonzero(TOLD[:60] == "A"), CASES["response_a"] == "clear consolidation"
    assert (prefers_a(CASES, learnt, np.ones(len(learnt))) == telling).all()
    turned = CASES.rename(columns={"response_a": "response_b", "response_b": "response_a"})
    half = pd.concat([CASES.iloc[learnt[::2]], turned.iloc[learnt[1::2]]], ignore_index=True)
    wins = (np.arange(len(learnt)) < len(learnt[::2])) * 1.0
    both = pd.concat([half, CASES], ignore_index=True)
    assert (prefers_a(both, np.arange(len(learnt)), wins)[len(learnt) :] == telling).all()


def test_as_scikit_learn_with_one_side_of_each_case() -> None:
    """Learning both sides with half the weight is learning one: the same answers as the plain regression."""
    rng = np.random.default_rng(8)
    texts = {f"response_{side}": [" ".join(rng.choice(list("stuvwxyz"), 4) + "o") for _ in range(80)] for side in "ab"}
    cases, learnt, wins = pd.DataFrame(texts), np.arange(50), (rng.uniform(size=50) < 0.5) * 1.0
    weight = rng.uniform(0.5, 2, 50)
    words = sorted({word for text in (*texts["response_a"], *texts["response_b"]) for word in text.split()})
    holds = [np.array([[word in text.split() for word in words] for text in own], float) for own in texts.values()]
    plain = LogisticRegression(C=0.1, max_iter=1000, fit_intercept=False)
    plain.fit((holds[0] - holds[1])[:50], wins, sample_weight=weight)
    differs = (holds[0] != holds[1]).any(axis=1)
    assert (prefers_a(cases, learnt, wins, weight)[differs] == plain.predict(holds[0] - holds[1])[differs]).all()


def test_each_judge_has_the_baseline_of_its_own_training_cases() -> None:
    """One judge has no record, and one was trained on cases whose labels say the opposite of the telling word."""
    named = [VERDICTS, *(VERDICTS[VERDICTS["judge"] == "tuned"].assign(judge=name) for name in ("early", "wrong"))]
    groups = groups_of({"base": "open", "early": "critic", "tuned": "critic", "wrong": "critic"},
                       dict.fromkeys(["early", "tuned", "wrong"], "base"))  # fmt: skip
    misled = CASES.loc[(USE == "training") & (TOLD != GOLD), "case_id"]
    training = pd.concat([TRAINING, pd.DataFrame({"judge": "wrong", "case_id": misled, "use": "training"})])
    options = {"groups": groups, "training": training, "by": "organ", "resamples": 0}
    found = gains(pd.concat(named), gold_of("".join(GOLD)), CASES, **options)
    for organ, place in (("eye", np.arange(N) < 100), ("lung", np.arange(N) >= 100)):
        words = found[found["subfield"] == organ].set_index("tuned")["accuracy_words"]
        unseen = {"tuned": USE == "", "wrong": ~CASES["case_id"].isin(misled)}
        assert pd.isna(words["early"])
        assert words["tuned"] == pytest.approx((TOLD == GOLD)[place & unseen["tuned"]].mean())
        assert words["wrong"] == pytest.approx((TOLD != GOLD)[place & unseen["wrong"]].mean())
