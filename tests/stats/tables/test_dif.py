"""DIF: against statsmodels and other packages, and what is said where there is nothing to compare."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import StratifiedTable

from mrb_lib.stats.methods.mantel_haenszel import discriminations
from mrb_lib.stats.multiplicity import adjust
from mrb_lib.stats.tables.dif import CROSSED, NO_SUBFIELDS, TOO_FEW, UNWEIGHTED
from tests.stats.small_tables import judged, rows_of, table_of

N, JUDGES = 300, 5
dif = table_of("dif", every_dimension=1, by="organ")


RNG = np.random.default_rng(0)
RIGHT = RNG.random((JUDGES, N)) < 1 / (1 + np.exp(-(np.linspace(-1, 1, JUDGES)[:, None] - RNG.normal(size=N))))
ORGAN = np.array(["eye", "lung", "heart"])[RNG.integers(0, 3, N)]
VERDICTS, GOLD, CASES = judged({f"j{j}": row for j, row in enumerate(RIGHT)}, organ=ORGAN)
TWO_ORGANS = CASES.assign(organ=CASES["organ"].replace("heart", "lung"))


def weighted(right: np.ndarray) -> np.ndarray:
    """How many judges are right, counted by their discrimination, to the nearest half."""
    weights = discriminations(right.astype(float))
    return np.round(2 * JUDGES * (weights @ right) / weights.sum()) / 2


@pytest.mark.parametrize("judge", [0, 2, 3])
def test_mantel_haenszel_is_that_of_statsmodels(judge: int) -> None:
    found = dif(VERDICTS, GOLD, CASES).set_index(["judge", "subfield"]).loc[(f"j{judge}", "eye")]
    assert found["n_matching"] == JUDGES
    inside, total = (CASES["organ"] == "eye").to_numpy(), weighted(RIGHT)
    tables = []
    for level in np.unique(total):
        here = total == level
        cells = [[(RIGHT[judge] == r)[here & (inside == i)].sum() for r in (True, False)] for i in (True, False)]
        if min(map(sum, cells)) > 0:
            tables.append(np.array(cells, dtype=float))
    other = StratifiedTable(tables)
    assert found["mh_odds_ratio"] == pytest.approx(other.oddsratio_pooled, abs=1e-8)
    low, high = other.oddsratio_pooled_confint()
    assert (found["low"], found["high"]) == (pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6))
    test = other.test_null_odds(correction=False)
    assert found["p_value"] == pytest.approx(test.pvalue, abs=1e-8)
    assert found["ets_delta"] == pytest.approx(2.35 * other.logodds_pooled, abs=1e-8)


def test_the_columns_add_up() -> None:
    found = dif(VERDICTS, GOLD, CASES, correction="holm")
    assert len(found) == 3 * JUDGES
    np.testing.assert_allclose(found["p_adjusted"], adjust(found["p_value"].to_numpy(), "holm"))
    assert (found["family"] == 3 * JUDGES).all()
    for row in found.itertuples():
        inside = (CASES["organ"] == row.subfield).to_numpy()
        value = RIGHT[int(row.judge[1:])]
        assert row.n_inside == inside.sum()
        assert row.accuracy_inside == pytest.approx(value[inside].mean())
        assert row.accuracy_outside == pytest.approx(value[~inside].mean())
    assert (found["n"] == N).all()


def test_two_subfields_mirror_each_other() -> None:
    found = dif(VERDICTS, GOLD, TWO_ORGANS).pivot(index="judge", columns="subfield", values="ets_delta")
    np.testing.assert_allclose(found["eye"], -found["lung"], atol=1e-9)


def test_excluded_and_unassigned_cases_are_counted() -> None:
    holes = CASES.copy()
    holes.loc[:9, "organ"] = None
    found = dif(VERDICTS, GOLD.iloc[20:], holes)
    assert (found["n_unassigned"] == 10).all()
    assert (found["n_excluded"] == 20).all()
    assert (found["n"] == N - 20).all()


def test_without_subfields_or_verdicts_there_is_nothing_to_compare() -> None:
    none = dif(VERDICTS, GOLD, CASES, by=None)
    assert none["reason"].tolist() == [NO_SUBFIELDS]
    assert none["subfield"].isna().all()
    assert dif(VERDICTS.iloc[:0], GOLD, CASES).empty


def test_of_several_dimensions_the_main_one_is_compared() -> None:
    both = [pd.concat([each, each.assign(dimension="accuracy")]) for each in (VERDICTS, GOLD)]
    found = rows_of("dif", CASES, *both, by="organ")
    assert set(found["dimension"]) == {"overall"}
    assert set(dif(*both, CASES)["dimension"]) == {"overall", "accuracy"}


def test_clusters_that_cross_and_one_that_dominates_have_no_test() -> None:
    rng = np.random.default_rng(5)
    two = CASES.assign(question=rng.integers(0, 20, N).astype(str), item=rng.integers(0, 20, N).astype(str))
    found = dif(VERDICTS, GOLD, two.assign(images=[[f"{i}.png"] for i in rng.integers(0, 20, N)]))
    assert found[["low", "p_value", "ets_class"]].isna().all(axis=None)
    assert found["reason"].str.contains(CROSSED).all()
    large = CASES.assign(cluster=np.where(np.arange(N) < 0.8 * N, "one", CASES["case_id"]))
    found = dif(VERDICTS, GOLD, large, cluster="cluster")
    assert found[["low", "p_value", "ets_class"]].isna().all(axis=None)
    assert found["mh_odds_ratio"].notna().all()
    assert found["reason"].str.contains("three quarters").all()


def test_two_subfields_count_once_in_their_family() -> None:
    found = dif(VERDICTS, GOLD, TWO_ORGANS, correction="holm")
    assert (found["family"] == JUDGES).all()
    eye, lung = (found[found["subfield"] == name].set_index("judge")["p_adjusted"] for name in ("eye", "lung"))
    np.testing.assert_allclose(eye, lung)
    np.testing.assert_allclose(eye, adjust(found[found["subfield"] == "eye"]["p_value"].to_numpy(), "holm"))


def test_a_cluster_of_one_case_each_is_nearly_the_same_and_copies_add_no_certainty() -> None:
    """Every case twice in a cluster of two: the standard error stays, where independence would shrink it by 1.41."""
    plain = dif(VERDICTS, GOLD, CASES)
    ids = {f"c{i}": f"again{i}" for i in range(N)}
    again = [frame.assign(case_id=frame["case_id"].map(ids)) for frame in (VERDICTS, GOLD, CASES)]
    both = [pd.concat([one, two], ignore_index=True) for one, two in zip((VERDICTS, GOLD, CASES), again, strict=True)]
    both[2]["cluster"] = [*range(N), *range(N)]
    twice = dif(*both)
    assert (twice["n_clusters"] == N).all()
    np.testing.assert_allclose(twice["mh_odds_ratio"], plain["mh_odds_ratio"], rtol=1e-9)
    width = [np.log(frame["high"] / frame["low"]) for frame in (plain, twice)]
    np.testing.assert_allclose(width[1], width[0], rtol=0.12)


def test_a_subfield_in_few_clusters_has_no_test() -> None:
    one_source = CASES.assign(cluster=np.where(CASES["organ"] == "eye", "a", CASES["case_id"]))
    found = dif(VERDICTS, GOLD, one_source)
    eye = found[found["subfield"] == "eye"]
    assert eye[["low", "p_value", "ets_class"]].isna().all(axis=None)
    assert eye["reason"].str.contains(TOO_FEW).all()
    alone = dif(VERDICTS, GOLD, CASES.assign(cluster="one"))
    assert alone["p_value"].isna().all()
    assert alone["mh_odds_ratio"].notna().all()
    assert found.loc[found["subfield"] == "lung", "p_value"].notna().all()


def test_two_judges_are_matched_by_their_number_and_the_rows_say_so() -> None:
    for judges, alike in ((["j0", "j1"], True), (["j0", "j1", "j2", "j3"], False)):
        found = dif(VERDICTS[VERDICTS["judge"].isin(judges)], GOLD, CASES)
        assert found["reason"].fillna("").str.contains(UNWEIGHTED, regex=False).eq(alike).all()


def drawn(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    slope = np.array([0, 0.5, 1, 1, 1.5, 2.0])[:, None]
    eta = np.linspace(-0.5, 0.5, 6)[:, None] + slope * rng.normal(size=n)
    return (rng.random((6, n)) < 1 / (1 + np.exp(-eta))).astype(float)


def test_discriminations_are_those_of_other_packages() -> None:
    """girth 0.8.0 `twopl_mml(y[1:])["Discrimination"]`, which knows none below .2, and R 4.2.2, lavaan 0.6.14,
    `l = lavInspect(cfa("e =~ j0+...+j5", d, ordered = names(d), std.lv = TRUE, estimator = "DWLS"), "std")$lambda`,
    `l / sqrt(1 - l^2)`: a normal ogive from pairs of judges. Either over its mean.
    """
    value = drawn(1500, 5)
    girth = np.array([0.45035445, 1.01319289, 1.01241073, 1.72337916, 2.20762184])
    assert discriminations(value[1:]) == pytest.approx(girth / girth.mean(), abs=0.05)
    lavaan = np.array([0.0458, 0.4420, 0.9629, 0.9533, 1.5804, 2.0156])
    assert discriminations(value) == pytest.approx(lavaan, abs=0.08)
