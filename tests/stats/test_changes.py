"""What moved is what `significance` says of the two sides as two judges, on the cases that stayed the same alone."""

from collections.abc import Collection

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.methods.changes import accuracy_changes
from mrb_lib.tables.errors import InputError
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


def verdicts(seed: int, ids: list[str] | None = None, skill: float = 0.6) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = pd.MultiIndex.from_product([PAIRS["judge"], CASES["case_id"], DIMS, ORDERS]).to_frame(index=False)
    rows.columns = ["judge", "case_id", "dimension", "order"]
    rows = rows.merge(GOLD.rename(columns={"choice": "gold"}), on=["case_id", "dimension"])
    guess = rng.choice(["A", "B", "tie"], len(rows))
    choice = np.where(rng.random(len(rows)) < skill, rows["gold"].fillna("A"), guess)
    rows = rows.assign(choice=choice, repeat=0, probe="none").drop(columns="gold")
    return rows if ids is None else rows[rows["case_id"].isin(ids)].reset_index(drop=True)


THEN, NOW = verdicts(1), verdicts(2, skill=0.7)


def unchanged(without: Collection[str] = ()) -> pd.DataFrame:
    """The gold labels of the cases that stayed the same."""
    return GOLD[~GOLD["case_id"].isin(list(without))]


def both_as_judges(judge: str) -> pd.DataFrame:
    named = [side[side["judge"] == judge].assign(judge=name) for side, name in ((NOW, "1 now"), (THEN, "2 then"))]
    return pd.concat(named, ignore_index=True)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_difference_is_that_of_two_judges_with_its_interval_and_test(policy: str) -> None:
    options = {"policy": policy, "by": "organ", "dimensions": DIMS, "resamples": 200, "seed": 4}
    table = accuracy_changes(THEN, NOW, PAIRS, unchanged(), CASES, correction="none", **options)
    assert len(table) == 2 * 2 * 4
    for judge in PAIRS["judge"]:
        pairs = significance(both_as_judges(judge), GOLD, CASES, **options)
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
    altered = dict.fromkeys(CASES["case_id"][:30], "text")
    options = {"dimensions": DIMS, "resamples": 0}
    table = accuracy_changes(THEN, NOW, PAIRS, unchanged(altered), CASES, **options)
    rest = CASES["case_id"][30:]
    kept = accuracy_changes(THEN, NOW, PAIRS, unchanged(), CASES, **options)
    assert (table["n"] < kept["n"]).all()
    wild = NOW.assign(choice=NOW["choice"].where(NOW["case_id"].isin(rest), "B"))
    pd.testing.assert_frame_equal(table, accuracy_changes(THEN, wild, PAIRS, unchanged(altered), CASES, **options))
    labelled = GOLD[GOLD["case_id"].isin(rest)].dropna(subset="choice")
    assert table.set_index(["judge", "dimension"])["n"].to_dict() == {
        (judge, d): int((labelled["dimension"] == d).sum()) for judge in PAIRS["judge"] for d in DIMS
    }


def test_cases_without_a_verdict_then_or_now_are_counted() -> None:
    few = THEN[~THEN["case_id"].isin(CASES["case_id"][:10])]
    fewer = NOW[~NOW["case_id"].isin(CASES["case_id"][5:12])]
    row = accuracy_changes(few, fewer, PAIRS, unchanged(), CASES, dimensions=DIMS, resamples=0).iloc[0]
    labelled = GOLD[(GOLD["dimension"] == DIMS[0]) & GOLD["choice"].notna()]["case_id"]
    assert row["n_unscored_then"] == labelled.isin(CASES["case_id"][:10]).sum()
    assert row["n_unscored_now"] == labelled.isin(CASES["case_id"][5:12]).sum()
    assert row["n"] == len(labelled) - labelled.isin(CASES["case_id"][:12]).sum()


def test_swapping_then_and_now_turns_the_sign() -> None:
    options = {"dimensions": DIMS, "resamples": 200}
    there = accuracy_changes(THEN, NOW, PAIRS, unchanged(), CASES, **options)
    back = accuracy_changes(NOW, THEN, PAIRS, unchanged(), CASES, **options)
    np.testing.assert_allclose(there["difference"], -back["difference"])
    np.testing.assert_allclose(there["low"], -back["high"], atol=1e-6)
    np.testing.assert_allclose(there["p_value"], back["p_value"])
    assert (there["gained"] == back["lost"]).all()


def test_the_same_verdicts_have_no_interval_and_no_test_and_the_reason_is_said() -> None:
    table = accuracy_changes(THEN, THEN, PAIRS, unchanged(), CASES, dimensions=DIMS, resamples=200)
    assert (table["difference"] == 0).all()
    assert table[["low", "high", "p_value", "p_adjusted", "interval"]].isna().all(axis=None)
    assert set(table["reason"]) == {"no interval of difference: no score changed"}


def test_without_a_shared_case_all_is_null_with_a_reason() -> None:
    gone = dict.fromkeys(CASES["case_id"], "text")
    table = accuracy_changes(THEN, NOW, PAIRS, unchanged(gone), CASES, dimensions=DIMS, resamples=200)
    assert (table["n"] == 0).all()
    assert table[["difference", "accuracy_then", "low", "p_value"]].isna().all(axis=None)
    assert table["reason"].str.contains("no case that stayed the same").all()


def test_p_values_are_corrected_over_the_judges_that_could_be_tested() -> None:
    options = {"dimensions": DIMS, "resamples": 0}
    table = accuracy_changes(THEN, NOW, PAIRS, unchanged(), CASES, **options)
    for _, rows in table.groupby("dimension"):
        ordered = rows.sort_values("p_value")
        holm = np.minimum(np.maximum.accumulate(ordered["p_value"].to_numpy() * [2, 1]), 1)
        np.testing.assert_allclose(ordered["p_adjusted"], holm)
    half = pd.concat([NOW[NOW["judge"] == "m"], THEN[THEN["judge"] == "n"]])
    assert set(accuracy_changes(THEN, half, PAIRS, unchanged(), CASES, **options)["family"]) == {2}


def test_a_judge_that_was_renamed_is_compared_and_one_of_one_side_is_not() -> None:
    pairs = pd.DataFrame(
        [("m2 (then m)", "m", "m2"), ("n", None, "n"), ("o", "o", None)], columns=["judge", "judge_then", "judge_now"]
    )
    renamed = NOW.assign(judge=NOW["judge"].replace("m", "m2"))
    table = accuracy_changes(THEN, renamed, pairs, unchanged(), CASES, dimensions=DIMS, resamples=0)
    plain = accuracy_changes(THEN, NOW, PAIRS[:1], unchanged(), CASES, dimensions=DIMS, resamples=0)
    assert set(table["judge"]) == {"m2 (then m)"}
    np.testing.assert_allclose(table["difference"], plain["difference"])
    nobody = accuracy_changes(THEN, NOW, pairs[1:], unchanged(), CASES, dimensions=DIMS)
    assert nobody.empty
    assert "p_adjusted" in nobody.columns


def test_other_probes_and_cases_that_are_gone_change_nothing() -> None:
    options = {"dimensions": DIMS, "resamples": 0}
    plain = accuracy_changes(THEN, NOW, PAIRS, unchanged(), CASES, **options)
    more = pd.concat([THEN, THEN.assign(probe="blank", choice="B"), THEN[:4].assign(case_id="gone")])
    pd.testing.assert_frame_equal(plain, accuracy_changes(more, NOW, PAIRS, unchanged(), CASES, **options))


def test_an_unknown_option_is_one_message() -> None:
    with pytest.raises(InputError, match="correction 'luck'"):
        accuracy_changes(THEN, NOW, PAIRS, unchanged(), CASES, dimensions=DIMS, correction="luck")
    with pytest.raises(InputError, match="by 'colour'"):
        accuracy_changes(THEN, NOW, PAIRS, unchanged(), CASES, dimensions=DIMS, by="colour")
