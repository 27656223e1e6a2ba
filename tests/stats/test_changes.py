"""What moved is what `significance` says of the two sides as two judges, on the cases that stayed the same alone."""

from collections.abc import Collection

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.methods.changes import accuracy_changes
from mrb_lib.stats.multiplicity import adjust
from mrb_lib.tables.schema import DIMENSIONS, ORDERS, POLICIES
from tests.stats.small_tables import significance

DIMS = list(DIMENSIONS[:2])
PAIRS = pd.DataFrame({"judge": ["m", "n"], "judge_then": ["m", "n"], "judge_now": ["m", "n"]}, dtype="str")


def benchmark(n: int = 90) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(3)
    ids = [f"c{i:03d}" for i in range(n)]
    cases = pd.DataFrame(
        {"case_id": ids, "question": [f"q{i // 2}" for i in range(n)], "organ": rng.choice(list("xyz"), n)}
    )
    labels = pd.DataFrame([(case, d) for case in ids for d in DIMS], columns=["case_id", "dimension"])
    return cases, labels.assign(choice=rng.choice(["A", "B", "tie", None], len(labels), p=(0.4, 0.4, 0.1, 0.1)))


CASES, GOLD = benchmark()


def verdicts(seed: int, skill: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = pd.MultiIndex.from_product([PAIRS["judge"], CASES["case_id"], DIMS, ORDERS]).to_frame(index=False)
    rows.columns = ["judge", "case_id", "dimension", "order"]
    label = rows.merge(GOLD, on=["case_id", "dimension"])["choice"].fillna("A")
    guess = rng.choice(["A", "B", "tie"], len(rows))
    return rows.assign(choice=np.where(rng.random(len(rows)) < skill, label, guess), repeat=0, probe="none")


THEN, NOW = verdicts(1, 0.6), verdicts(2, 0.7)


def changes(
    then: pd.DataFrame = THEN, now: pd.DataFrame = NOW, pairs: pd.DataFrame = PAIRS, changed: Collection[str] = (),
    **options: object,
) -> pd.DataFrame:  # fmt: skip
    """The table where these cases changed and the others stayed the same."""
    gold = GOLD[~GOLD["case_id"].isin(list(changed))]
    return accuracy_changes(then, now, pairs, gold, CASES, **{"dimensions": DIMS, "resamples": 0, **options})


def both_as_judges(judge: str) -> pd.DataFrame:
    named = [side[side["judge"] == judge].assign(judge=name) for side, name in ((NOW, "1 now"), (THEN, "2 then"))]
    return pd.concat(named, ignore_index=True)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_difference_is_that_of_two_judges_with_its_interval_and_test(policy: str) -> None:
    options = {"policy": policy, "by": "organ", "resamples": 200, "seed": 4}
    table = changes(correction="none", **options)
    assert len(table) == 2 * 2 * 4
    for judge in PAIRS["judge"]:
        pairs = significance(both_as_judges(judge), GOLD, CASES, dimensions=DIMS, **options)
        expected = pairs[pairs["part"] == "pair"].set_index(["dimension", "subfield"]).sort_index()
        turned = expected["judge_1"].eq("2 then").to_numpy()  # the better one is first there
        rows = table[table["judge"] == judge].set_index(["dimension", "subfield"]).sort_index()
        names = ["n", "n_clusters", "p_value", "test", "interval"]
        pd.testing.assert_frame_equal(rows[names], expected[names], check_dtype=False)
        for own, as_first, as_second, sign in (
            ("difference", "difference", "difference", -1), ("low", "low", "high", -1), ("high", "high", "low", -1),
            ("gained", "only_1", "only_2", 1), ("lost", "only_2", "only_1", 1),
        ):  # fmt: skip
            theirs = np.where(turned, sign * expected[as_second].astype(float), expected[as_first].astype(float))
            np.testing.assert_allclose(rows[own], theirs, atol=1e-12)
        np.testing.assert_allclose(rows["accuracy_now"] - rows["accuracy_then"], rows["difference"], atol=1e-12)


def test_only_cases_that_stayed_the_same_count() -> None:
    altered, rest = CASES["case_id"][:30], CASES["case_id"][30:]
    table = changes(changed=altered)
    assert (table["n"] < changes()["n"]).all()
    wild = NOW.assign(choice=NOW["choice"].where(NOW["case_id"].isin(rest), "B"))
    pd.testing.assert_frame_equal(table, changes(now=wild, changed=altered))
    n = GOLD[GOLD["case_id"].isin(rest)].dropna(subset="choice")["dimension"].value_counts()
    assert (table["n"] == table["dimension"].map(n)).all()


def test_cases_without_a_verdict_then_or_now_are_counted() -> None:
    ids = CASES["case_id"]
    row = changes(THEN[~THEN["case_id"].isin(ids[:10])], NOW[~NOW["case_id"].isin(ids[5:12])]).iloc[0]
    labelled = GOLD[(GOLD["dimension"] == DIMS[0]) & GOLD["choice"].notna()]["case_id"]
    assert row["n_unscored_then"] == labelled.isin(ids[:10]).sum()
    assert row["n_unscored_now"] == labelled.isin(ids[5:12]).sum()
    assert row["n"] == len(labelled) - labelled.isin(ids[:12]).sum()


def test_the_same_verdicts_have_no_interval_and_no_test_and_the_reason_is_said() -> None:
    table = changes(THEN, THEN, resamples=200)
    assert (table["difference"] == 0).all()
    assert table[["low", "high", "p_value", "p_adjusted", "interval"]].isna().all(axis=None)
    assert set(table["reason"]) == {"no interval of difference: no score changed"}


def test_without_a_shared_case_all_is_null_with_a_reason() -> None:
    table = changes(changed=CASES["case_id"], resamples=200)
    assert (table["n"] == 0).all()
    assert table[["difference", "accuracy_then", "low", "p_value"]].isna().all(axis=None)
    assert table["reason"].str.contains("no case that stayed the same").all()


def test_p_values_are_corrected_over_the_judges_that_could_be_tested() -> None:
    for _, rows in changes().groupby("dimension"):
        np.testing.assert_allclose(rows["p_adjusted"], adjust(rows["p_value"].to_numpy(), "holm"))
    half = pd.concat([NOW[NOW["judge"] == "m"], THEN[THEN["judge"] == "n"]])
    assert set(changes(now=half)["family"]) == {2}


def test_a_judge_that_was_renamed_is_compared_and_one_of_one_side_is_not() -> None:
    names = [("m2 (then m)", "m", "m2"), ("n", None, "n"), ("o", "o", None)]
    pairs = pd.DataFrame(names, columns=["judge", "judge_then", "judge_now"])
    table = changes(now=NOW.assign(judge=NOW["judge"].replace("m", "m2")), pairs=pairs)
    assert set(table["judge"]) == {"m2 (then m)"}
    np.testing.assert_allclose(table["difference"], changes(pairs=PAIRS[:1])["difference"])
    nobody = changes(pairs=pairs[1:])
    assert nobody.empty
    assert "p_adjusted" in nobody.columns


def test_other_probes_and_cases_that_are_gone_change_nothing() -> None:
    more = pd.concat([THEN, THEN.assign(probe="blank", choice="B"), THEN[:4].assign(case_id="gone")])
    pd.testing.assert_frame_equal(changes(), changes(more))
