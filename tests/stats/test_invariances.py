"""What every table of preferences keeps: under another order of rows, other names, copies, clusters and subfields."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.stats.analyze import TABLES, analyze
from mrb_lib.stats.phrases import human_level
from tests.stats.every_table import KNOWN, full_benchmark, full_table
from tests.stats.small_tables import OF_PREFERENCES

Data = tuple[Benchmark, pd.DataFrame]
FULL = full_benchmark()
FLIP = {"A": "B", "B": "A", "tie": "tie"}
SIDES = {"response_a": "response_b", "response_b": "response_a", "model_a": "model_b", "model_b": "model_a"}


COMMON = {"cluster": "case_id"}


def made(data: Data, table: str, **options: object) -> pd.DataFrame:
    if data is FULL and "adjudications" not in options:
        return full_table(table, **{**COMMON, **options})
    return analyze(*data, table, **{"resamples": 40, **COMMON, **KNOWN, **options})


def ends_of(table: str) -> list[str]:
    return [end for column in TABLES[table].declared for end in column.ends]


def estimates_of(table: str) -> list[str]:
    return [column.name for column in TABLES[table].declared if column.ends]


def tables_but(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on every table, but for those of which it cannot be true."""
    return pytest.mark.parametrize("table", [name for name in OF_PREFERENCES if name not in names])


@tables_but()
def test_the_order_of_verdicts_and_annotations_changes_nothing(table: str) -> None:
    bench, verdicts = FULL
    mixed = replace(bench, annotations=bench.annotations.sample(frac=1, random_state=1, ignore_index=True))
    other = (mixed, verdicts.groupby("probe", sort=False).sample(frac=1, random_state=2).reset_index(drop=True))
    pd.testing.assert_frame_equal(made(FULL, table), made(other, table), atol=1e-12)


# Folds and subsets are drawn by the place of a case, and `difficulty` lists cases.
@tables_but("calibration", "difficulty", "jury", "ppi", "selective")
def test_the_order_of_cases_changes_nothing(table: str) -> None:
    bench, verdicts = FULL
    other = (replace(bench, cases=bench.cases.sample(frac=1, random_state=3, ignore_index=True)), verdicts)
    pd.testing.assert_frame_equal(made(FULL, table, resamples=0), made(other, table, resamples=0), atol=1e-8)


@tables_but()
def test_naming_the_responses_the_other_way_round_changes_nothing(table: str) -> None:
    """But for rows and columns that are about A and B, and the sign of the term `order`."""
    bench, verdicts = FULL
    annotations = bench.annotations.assign(choice=bench.annotations["choice"].map(FLIP))
    other = verdicts.assign(
        choice=verdicts["choice"].map(FLIP), order=verdicts["order"].map({"AB": "BA", "BA": "AB"}),
        p_a=1 - verdicts["p_a"], criteria='{"a": [0], "b": [1]}',
    )  # fmt: skip
    renamed = replace(bench, cases=bench.cases.rename(columns=SIDES)[[*bench.cases]], annotations=annotations)
    turned = KNOWN["adjudications"].assign(choice=KNOWN["adjudications"]["choice"].map(FLIP))
    one, two = (
        _without_sides(made(data, table, **said), table)
        for data, said in ((FULL, {}), ((renamed, other), {"adjudications": turned}))
    )
    pd.testing.assert_frame_equal(one, two, atol=1e-5)


def _without_sides(rows: pd.DataFrame, table: str) -> pd.DataFrame:
    rows = _judges(rows)
    if table == "gold_rules":
        rows = rows[~rows["part"].isin(["confusion", "prevalence"])]
    if table == "models":
        ends = ["estimate", "low", "high", "marginal_effect", "marginal_effect_low", "marginal_effect_high"]
        rows = rows.assign(**{name: rows[name].where(rows["term"] != "order") for name in ends})
    if table == "probes":  # which response a probe speaks for is drawn by the case's name
        rows = rows.drop(columns=[name for name in rows if name.startswith("target_shift")])
    if table == "difficulty":
        rows = rows.drop(columns=["gold", "alternative", "suspicion", "rank"]).sort_values(["judge", "case_id"])
    return rows.reset_index(drop=True)


# By table: the columns whose corrections for few cases count cases, and by how much they may differ.
FEW_CASES = {
    "accuracy": ("decisive_accuracy", 0.005), "agreement": ("krippendorff_alpha", 0.01), "bias": ("", 0.04),
    "ceiling": ("", 0.03), "criteria": ("decisive_share", 0.02), "gold_rules": ("", 0.02),
    "jury": ("decisive_accuracy", 0.005), "models": ("", 0.0005),
}  # fmt: skip


# Odds ratios are in test_dif, few cases are reviewed, the others draw or weigh cases.
@tables_but("adjudication", "dif", "difficulty", "power", "ppi", "transfer")
def test_copies_of_cases_in_one_cluster_add_no_certainty(table: str) -> None:
    def thrice(rows: pd.DataFrame) -> pd.DataFrame:
        copies = (rows.assign(case_id=rows["case_id"] + mark) for mark in ("-x", "-y"))
        return pd.concat([rows, *copies], ignore_index=True)

    bench, verdicts = FULL
    cases = thrice(bench.cases.assign(cluster=bench.cases["case_id"], original_id=bench.cases["case_id"]))
    copied = replace(bench, cases=cases, annotations=thrice(bench.annotations)), thrice(verdicts)
    reviews = thrice(KNOWN["adjudications"])
    one, three = made(FULL, table), made(copied, table, cluster="cluster", adjudications=reviews)
    loose, tolerance = FEW_CASES.get(table, ("none", 0.0))
    for name in {*estimates_of(table), *ends_of(table)} - {"probability_low", "probability_high"}:  # of a model
        allowed = tolerance if not loose or name.startswith(loose) else 1e-4
        np.testing.assert_allclose(three[name].astype(float), one[name].astype(float), atol=allowed, err_msg=name)


# Folds, domains and anchors are chosen by clusters; `power` is about one pair.
@tables_but("composition", "dif", "difficulty", "jury", "power", "ppi", "selective", "transfer")
def test_clusters_move_no_estimate(table: str) -> None:
    one, other = made(FULL, table), made(FULL, table, cluster="item")
    names = [name for name in estimates_of(table) if not name.endswith("_temperature")]
    pd.testing.assert_frame_equal(one[names], other[names], check_dtype=False, atol=1e-12, rtol=0)
    ends = ends_of(table)
    if table not in ("adjudication", "best_of_n", "groups"):
        assert not np.allclose(one[ends].astype(float), other[ends].astype(float), equal_nan=True)


# These compare with the other cases, or standardise over all of them; others have no subfields.
@tables_but(
    "bias", "dif", "models", "transfer", *(name for name in OF_PREFERENCES if "by" not in TABLES[name].parameters)
)
def test_a_subfield_has_the_rows_that_its_cases_have_alone(table: str) -> None:
    rows = made(FULL, table, by="organ", cluster="item", resamples=0)
    rows = rows[rows["subfield"] == "eye"]
    alone = made(FULL, table, cluster="item", resamples=0, where="organ == 'eye'")
    if "part" in alone:
        alone = alone[alone["part"].isin(rows["part"])].reset_index(drop=True)
    names = ["judge", "part", "n", "reason", *estimates_of(table), *ends_of(table)]
    names = [each for each in names if each in alone and not each.startswith(("ece_t", "brier_t", "macro", "above"))]
    # The weights of annotators in their mean are those of all cases.
    allowed = 0.005 if table == "ceiling" else 1e-9
    one, other = (_judges(frame)[names].reset_index(drop=True) for frame in (rows, alone))
    pd.testing.assert_frame_equal(one, other, atol=allowed, rtol=0)


CORRECTED = [name for name in OF_PREFERENCES if {"family", "p_adjusted"} <= {*TABLES[name].columns}]


@pytest.mark.parametrize("table", CORRECTED)
def test_p_values_are_corrected_by_the_number_of_tests_that_each_row_states(table: str) -> None:
    none, bonferroni, holm = (made(FULL, table, by="organ", correction=name) for name in ("none", "bonferroni", "holm"))
    for name in [name for name in TABLES[table].columns if name.endswith("p_adjusted")]:
        of_test = "p_value" if name == "p_adjusted" else name.removesuffix("_adjusted")
        known = none[name].notna()
        p, most, between = (rows.loc[known, name].astype(float).to_numpy() for rows in (none, bonferroni, holm))
        np.testing.assert_allclose(p, none.loc[known, of_test].astype(float))
        np.testing.assert_allclose(most, np.minimum(1, none.loc[known, "family"].astype(float) * p))
        assert ((p <= between) & (between <= most + 1e-12)).all()


@pytest.mark.parametrize("family", ["dimension", "all"])
@pytest.mark.parametrize(
    "table", ["calibration", "consistency", "contamination", "criteria", "gains", "models", "significance"]
)
def test_tests_of_one_part_and_subfield_or_of_one_part_are_a_family(table: str, family: str) -> None:
    """Each is corrected as statsmodels does by Holm. Other tables have families of their own, see their files."""
    rows = made(FULL, table, by="organ", family=family, correction="holm")
    within = [name for name in ("part", *(["subfield"] * (family == "dimension"))) if name in rows]
    if table == "models":
        within = ["part"]
    tested = rows[rows["p_adjusted"].notna()]  # the test of all judges together is not corrected
    for _, own in tested.groupby(within or np.zeros(len(tested)), dropna=False):
        assert (own["family"] == len(own)).all()
        expected = multipletests(own["p_value"].astype(float), method="holm")[1]
        np.testing.assert_allclose(own["p_adjusted"].astype(float), expected, atol=1e-12)


@pytest.mark.parametrize("table", ["accuracy", "gold_rules", "jury", "transfer"])
def test_neither_a_constant_nor_a_judge_of_few_cases_ranks_first(table: str) -> None:
    bench, verdicts = FULL
    is_tied, is_j3 = bench.annotations["case_id"] >= "c3", verdicts["judge"] == "j3"
    tied = bench.annotations.assign(choice=bench.annotations["choice"].mask(is_tied, "tie"))
    constant = verdicts.assign(choice=verdicts["choice"].mask(is_j3, "tie"))
    rows = made((replace(bench, annotations=tied), constant), table, resamples=0)
    rows = rows[rows["judge"].isin(["j1", "j3"])].dropna(subset=["rank", "accuracy"])
    best = rows.groupby("judge")[["accuracy", "rank"]].min()
    assert best.loc["j3", "accuracy"] > best.loc["j1", "accuracy"] and best.loc["j3", "rank"] > best.loc["j1", "rank"]
    partial = verdicts[~is_j3 | verdicts["case_id"].isin(bench.cases["case_id"].head(20))]
    rows = made((bench, partial), table, resamples=0)
    assert rows.loc[rows["judge"] == "j3", "rank"].isna().all()


@pytest.mark.parametrize("table", ["agreement", "ceiling", "gold_rules", "selective"])
def test_the_sentence_says_where_annotators_are_measured_in_other_ways(table: str) -> None:
    assert TABLES[table].says(made(FULL, table)).endswith(human_level(table))


def _judges(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["kind"] == "judge"] if "kind" in rows else rows
