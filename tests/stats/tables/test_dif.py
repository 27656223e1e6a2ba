"""DIF: against statsmodels and other packages, and what is said where there is nothing to compare."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import StratifiedTable

from mrb_lib.stats.methods import mantel_haenszel
from mrb_lib.stats.methods.mantel_haenszel import discriminations, levels
from mrb_lib.stats.multiplicity import adjust
from mrb_lib.stats.tables.dif import CROSSED, NO_OTHERS, NO_SUBFIELDS, TOO_FEW, UNWEIGHTED
from tests.stats.small_tables import cases_of, dif, gold_of, rows_of, verdicts_of

N, JUDGES = 300, 5


@pytest.fixture(scope="module")
def world() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    ids = [f"c{i}" for i in range(N)]
    right = rng.random((JUDGES, N)) < 1 / (1 + np.exp(-(np.linspace(-1, 1, JUDGES)[:, None] - rng.normal(size=N))))
    verdicts = verdicts_of({(f"j{j}", "AB"): "".join(np.where(right[j], "A", "B")) for j in range(JUDGES)})
    cases = pd.DataFrame({"case_id": ids, "organ": np.array(["eye", "lung", "heart"])[rng.integers(0, 3, N)]})
    gold = pd.DataFrame({"case_id": ids, "dimension": "overall", "choice": "A"})
    return verdicts, gold, cases, right


def weighted(right: np.ndarray) -> np.ndarray:
    """How many judges are right, counted by their discrimination, to the nearest half."""
    weights = discriminations(right.astype(float))
    return np.round(2 * JUDGES * (weights @ right) / weights.sum()) / 2


@pytest.mark.parametrize("judge", [0, 2, 3])
def test_mantel_haenszel_is_that_of_statsmodels(world, judge: int) -> None:
    verdicts, gold, cases, right = world
    found = dif(verdicts, gold, cases, by="organ").set_index(["judge", "subfield"]).loc[(f"j{judge}", "eye")]
    assert found["n_matching"] == JUDGES
    inside, total = (cases["organ"] == "eye").to_numpy(), weighted(right)
    tables = []
    for level in np.unique(total):
        here = total == level
        cells = [[(right[judge] == r)[here & (inside == i)].sum() for r in (True, False)] for i in (True, False)]
        if min(map(sum, cells)) > 0:
            tables.append(np.array(cells, dtype=float))
    other = StratifiedTable(tables)
    assert found["mh_odds_ratio"] == pytest.approx(other.oddsratio_pooled, abs=1e-8)
    low, high = other.oddsratio_pooled_confint()
    assert (found["low"], found["high"]) == (pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6))
    test = other.test_null_odds(correction=False)
    assert found["p_value"] == pytest.approx(test.pvalue, abs=1e-8)
    assert found["ets_delta"] == pytest.approx(2.35 * other.logodds_pooled, abs=1e-8)


def test_the_columns_add_up(world) -> None:
    verdicts, gold, cases, right = world
    found = dif(verdicts, gold, cases, by="organ", correction="holm")
    assert len(found) == 3 * JUDGES
    np.testing.assert_allclose(found["p_adjusted"], adjust(found["p_value"].to_numpy(), "holm"))
    assert (found["family"] == 3 * JUDGES).all()
    for row in found.itertuples():
        inside = (cases["organ"] == row.subfield).to_numpy()
        value = right[int(row.judge[1:])]
        assert row.n_inside == inside.sum()
        assert row.accuracy_inside == pytest.approx(value[inside].mean())
        assert row.accuracy_outside == pytest.approx(value[~inside].mean())
    assert (found["n"] == N).all()


def test_two_subfields_mirror_each_other(world) -> None:
    verdicts, gold, cases, _ = world
    two = cases.assign(organ=cases["organ"].replace("heart", "lung"))
    found = dif(verdicts, gold, two, by="organ").pivot(index="judge", columns="subfield", values="ets_delta")
    np.testing.assert_allclose(found["eye"], -found["lung"], atol=1e-9)


def test_excluded_and_unassigned_cases_are_counted(world) -> None:
    verdicts, gold, cases, _ = world
    holes = cases.copy()
    holes.loc[:9, "organ"] = None
    found = dif(verdicts, gold.iloc[20:], holes, by="organ")
    assert (found["n_unassigned"] == 10).all()
    assert (found["n_excluded"] == 20).all()
    assert (found["n"] == N - 20).all()


def test_one_judge_alone_and_no_subfields(world) -> None:
    verdicts, gold, cases, _ = world
    alone = dif(verdicts[verdicts["judge"] == "j0"], gold, cases, by="organ")
    assert alone["reason"].str.startswith(NO_OTHERS).all()
    assert alone[["mh_odds_ratio", "excess"]].isna().all(axis=None)
    none = dif(verdicts, gold, cases)
    assert none["reason"].tolist() == [NO_SUBFIELDS]
    assert none["subfield"].isna().all()
    assert dif(verdicts.iloc[:0], gold, cases, by="organ").empty


def test_of_several_dimensions_the_main_one_is_compared(world) -> None:
    verdicts, gold, cases, _ = world
    both = [pd.concat([each, each.assign(dimension="accuracy")]) for each in (verdicts, gold)]
    found = rows_of("dif", cases, *both, by="organ")
    assert set(found["dimension"]) == {"overall"}
    assert set(dif(*both, cases, by="organ")["dimension"]) == {"overall", "accuracy"}


def test_clusters_that_cross_and_one_that_dominates_have_no_test(world) -> None:
    verdicts, gold, cases, _ = world
    rng = np.random.default_rng(5)
    two = cases.assign(question=rng.integers(0, 20, N).astype(str), item=rng.integers(0, 20, N).astype(str))
    found = dif(verdicts, gold, two.assign(images=[[f"{i}.png"] for i in rng.integers(0, 20, N)]), by="organ")
    assert found[["low", "p_value", "ets_class"]].isna().all(axis=None)
    assert found["reason"].str.contains(CROSSED).all()
    large = cases.assign(cluster=np.where(np.arange(N) < 0.8 * N, "one", cases["case_id"]))
    found = dif(verdicts, gold, large, by="organ", cluster="cluster")
    assert found[["low", "p_value", "ets_class"]].isna().all(axis=None)
    assert found["mh_odds_ratio"].notna().all()
    assert found["reason"].str.contains("three quarters").all()


def test_two_subfields_count_once_in_their_family(world) -> None:
    verdicts, gold, cases, _ = world
    two = cases.assign(organ=cases["organ"].replace("heart", "lung"))
    found = dif(verdicts, gold, two, by="organ", correction="holm")
    assert (found["family"] == JUDGES).all()
    eye, lung = (found[found["subfield"] == name].set_index("judge")["p_adjusted"] for name in ("eye", "lung"))
    np.testing.assert_allclose(eye, lung)
    np.testing.assert_allclose(eye, adjust(found[found["subfield"] == "eye"]["p_value"].to_numpy(), "holm"))


def test_a_cluster_of_one_case_each_is_nearly_the_same_and_copies_add_no_certainty(world) -> None:
    """Every case twice in a cluster of two: the standard error stays, where independence would shrink it by 1.41."""
    verdicts, gold, cases, _ = world
    plain = dif(verdicts, gold, cases, by="organ")
    ids = {f"c{i}": f"again{i}" for i in range(N)}
    again = [frame.assign(case_id=frame["case_id"].map(ids)) for frame in (verdicts, gold, cases)]
    both = [pd.concat([one, two], ignore_index=True) for one, two in zip((verdicts, gold, cases), again, strict=True)]
    both[2]["cluster"] = [*range(N), *range(N)]
    twice = dif(*both, by="organ")
    assert (twice["n_clusters"] == N).all()
    np.testing.assert_allclose(twice["mh_odds_ratio"], plain["mh_odds_ratio"], rtol=1e-9)
    width = [np.log(frame["high"] / frame["low"]) for frame in (plain, twice)]
    np.testing.assert_allclose(width[1], width[0], rtol=0.12)


def test_a_subfield_in_few_clusters_has_no_test(world) -> None:
    verdicts, gold, cases, _ = world
    one_source = cases.assign(cluster=np.where(cases["organ"] == "eye", "a", cases["case_id"]))
    found = dif(verdicts, gold, one_source, by="organ")
    eye = found[found["subfield"] == "eye"]
    assert eye[["low", "p_value", "ets_class"]].isna().all(axis=None)
    assert eye["reason"].str.contains(TOO_FEW).all()
    alone = dif(verdicts, gold, cases.assign(cluster="one"), by="organ")
    assert alone["p_value"].isna().all()
    assert alone["mh_odds_ratio"].notna().all()
    assert found.loc[found["subfield"] == "lung", "p_value"].notna().all()


def test_a_variance_that_few_clusters_make_negative_gives_no_interval_and_no_test() -> None:
    """Four judges, sixty cases in twelve clusters: the variance is not positive in some rows of some draws."""
    tables = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        easy = 1 / (1 + np.exp(-(0.5 + rng.normal(size=60))))
        right = rng.random((4, 60)) < easy
        said = {(f"j{i}", "AB"): "".join("AB"[1 - value] for value in row) for i, row in enumerate(right.astype(int))}
        cases = cases_of(60, organ=rng.choice(["eye", "lung", "heart"], 60), cluster=rng.integers(0, 12, 60))
        tables.append(dif(verdicts_of(said), gold_of("A" * 60), cases, by="organ"))
    found = pd.concat(tables)
    assert (found["low"] < found["high"])[found["low"].notna()].all()
    assert found["ets_class"].isna().equals(found["p_value"].isna())
    unknown = found[found["reason"].fillna("").str.contains(TOO_FEW, regex=False)]
    assert len(unknown)
    assert unknown[["low", "high", "p_value", "p_adjusted", "ets_class"]].isna().all(axis=None)
    assert unknown[["mh_odds_ratio", "ets_delta"]].notna().all(axis=None)


def test_two_judges_are_matched_by_their_number_and_the_rows_say_so(world) -> None:
    verdicts, gold, cases, _ = world
    for judges, alike in ((["j0", "j1"], True), (["j0", "j1", "j2", "j3"], False)):
        found = dif(verdicts[verdicts["judge"].isin(judges)], gold, cases, by="organ")
        assert found["reason"].fillna("").str.contains(UNWEIGHTED, regex=False).eq(alike).all()


def test_each_case_counts_at_the_level_of_the_judges_it_is_matched_by() -> None:
    rng = np.random.default_rng(3)
    value = rng.choice([0.0, 0.5, 1.0, np.nan], (JUDGES, 60), p=[0.3, 0.1, 0.4, 0.2])
    value[:, 0] = np.nan
    anchors, weights = np.array([True, True, False, True, True]), np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    found = levels(value, anchors, weights)
    for judge, case in np.ndindex(JUDGES, 60):
        if np.isnan(value[judge, case]):
            assert found[judge, case] == -1
            continue
        matching = [j for j in range(JUDGES) if anchors[j] or j == judge]
        here = [j for j in matching if np.isfinite(value[j, case])]
        share = weights[here] @ value[here, case] / weights[here].sum() if weights[here].sum() else 0.0
        assert found[judge, case] == round(2 * len(matching) * share)


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


def test_they_do_not_depend_on_how_often_the_cases_are_there_and_skip_missing_scores() -> None:
    value = drawn(400, 6)
    expected = discriminations(value)
    assert discriminations(np.hstack([value, value])) == pytest.approx(expected, abs=1e-9)
    assert discriminations(np.hstack([value, np.full((6, 50), np.nan)])) == pytest.approx(expected, abs=1e-9)
    absent = np.vstack([value, np.full((1, 400), np.nan)])
    assert discriminations(absent) == pytest.approx(np.append(expected, 0.0), abs=1e-9)


def test_an_algorithm_that_has_not_converged_gives_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    value = drawn(500, 7)
    assert discriminations(value) is not None
    monkeypatch.setattr(mantel_haenszel, "_STEPS", 1)
    assert discriminations(value) is None


def test_two_judges_have_no_weights_and_a_contrary_judge_counts_for_nothing() -> None:
    value = drawn(500, 7)
    assert discriminations(value[4:]) is None
    contrary = np.vstack([value[2:], 1 - value[5]])
    assert discriminations(contrary)[-1] == 0.0
    perfect = np.vstack([value, np.ones(500)])
    assert np.isfinite(discriminations(perfect)).all()
