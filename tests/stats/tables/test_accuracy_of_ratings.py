"""Tables about accuracy alone say of ratings what the table `accuracy` says of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.votes import gold
from mrb_lib.demo.ratings import RatingJudge
from mrb_lib.stats.analyze import TABLES, analyze
from mrb_lib.stats.tables.gains import NOT_BOTH
from mrb_lib.stats.tables.probes import NO_ORDERS
from tests.stats.rated import SCALE, benchmark, simulated, verdicts
from tests.stats.small_tables import groups_of, prompts_of
from tests.training_records import recipes_of

N = 120
JUDGES = (RatingJudge("good"), RatingJudge("lenient", leniency=0.8), RatingJudge("wild", noise=2.0))
GROUPS = groups_of({"good": "medical", "lenient": "open", "wild": "open"}, {"good": "lenient"}).assign(
    cutoff="2023-12", cutoff_of=["good", "lenient", "wild"]
)
GIVEN = {
    "groups": GROUPS,
    "records": recipes_of({"good": {"swap": True}, "lenient": {"swap": False}}),
    "prompts": prompts_of({"good": "j", "lenient": "j", "wild": "w"}),
    "resamples": 40,
}


@pytest.fixture(scope="module")
def made() -> tuple[Benchmark, pd.DataFrame]:
    made, said = simulated(N, 5, JUDGES)
    made.cases["date"] = ["2022", "2025"] * (N // 2)
    made.cases["department"] = ["eye", "eye", "lung", "lung"] * (N // 4)
    made.cases["dataset"] = made.cases["department"]
    return made, said


def accuracies(made: tuple[Benchmark, pd.DataFrame], by: str | None = None) -> pd.Series:
    rows = analyze(*made, "accuracy", by=by, resamples=0)
    return rows[rows["kind"] == "judge"].set_index(["judge", "subfield"])["accuracy"]


def test_every_accuracy_is_that_of_the_table_accuracy(made: tuple[Benchmark, pd.DataFrame]) -> None:
    whole, by = accuracies(made), accuracies(made, "date")
    known = whole.droplevel("subfield")
    cut = analyze(*made, "contamination", **GIVEN).set_index("judge")
    for judge in known.index:
        assert cut.loc[judge, "accuracy_before"] == pytest.approx(by[judge, "2022"])
        assert cut.loc[judge, "accuracy_after"] == pytest.approx(by[judge, "2025"])
        assert 0.9 < cut.loc[judge, "coverage"] <= 1
    subfields = accuracies(made, "department")
    domains = analyze(*made, "transfer", **GIVEN)
    for row in domains[domains["part"] == "domain"].itertuples():
        assert row.accuracy == pytest.approx(subfields[row.judge, row.subfield])
    inside = analyze(*made, "dif", by="department")
    for row in inside.itertuples():
        assert row.accuracy_inside == pytest.approx(subfields[row.judge, row.subfield], abs=0.05)
    hard = analyze(*made, "difficulty")
    pd.testing.assert_series_equal(
        hard[hard["part"] == "judge"].set_index("judge")["accuracy"].sort_index(), known.sort_index()
    )
    contrast = analyze(*made, "groups", **GIVEN)
    first = contrast[contrast["part"] == "contrast"].set_index("group_2").loc["medical"]
    other = GROUPS.loc[GROUPS["group"] == first["group_1"], "judge"]
    assert first["difference"] == pytest.approx(known[other].mean() - known["good"], abs=0.02)
    gain = analyze(*made, "gains", **GIVEN, pairs=[("lenient", "good")]).set_index("part").loc["accuracy", "gain"]
    assert gain == pytest.approx(known["good"] - known["lenient"], abs=0.02)


def test_difficulty_names_categories_and_counts_annotators_votes(made: tuple[Benchmark, pd.DataFrame]) -> None:
    rows = analyze(*made, "difficulty")
    cases = rows[rows["part"] == "case"].set_index("case_id")
    labels = gold(made[0]).set_index("case_id").dropna(subset="choice")
    assert set(cases["gold"]) == set(SCALE)
    assert cases["gold"].to_dict() == labels["choice"].to_dict()
    for case, row in cases.iterrows():
        assert row["gold_votes"] == labels.loc[case, f"votes_{row['gold']}"]
        own = made[1].loc[made[1]["case_id"].eq(case), "choice"].dropna()
        assert row["n_verdicts"] == len(own)
        others = own[own != row["gold"]].value_counts()
        assert row["alternative_share"] == pytest.approx((others.max() if len(others) else 0) / len(own))
        assert pd.isna(row["alternative"]) or others[row["alternative"]] == others.max()
    assert rows.loc[rows["part"] == "judge", "ability"].notna().all()


def test_what_is_of_two_responses_is_null_with_a_reason(made: tuple[Benchmark, pd.DataFrame]) -> None:
    rated, said = made
    records = recipes_of({"good": {"swap": True}, "lenient": {"swap": False}})
    records["bases"] = [("lenient",), ()]
    rows = analyze(rated, said.assign(p_a=0.5), "gains", **{**GIVEN, "records": records})
    others = rows[rows["quantity"] != "accuracy"]
    assert {"ingredient", "brier"} <= set(others["part"])
    for name, row in zip(others["quantity"], others.to_dict("records"), strict=True):
        assert NOT_BOTH[name] in row["reason"]
        assert np.isnan(row["gain"])


def test_flips_of_prompts_are_counted_in_every_category(made: tuple[Benchmark, pd.DataFrame]) -> None:
    rated, said = made
    rows = analyze(rated, said, "probes", **GIVEN)
    row = rows.set_index("judge_1").loc["good"]
    wide = said.pivot_table(index="case_id", columns=["judge", "repeat"], values="choice", aggfunc="first")
    both = wide[["good", "lenient"]].dropna()
    assert set(SCALE) == set(both["good"][0])
    within = np.mean([(both[name][0] != both[name][1]).mean() for name in ("good", "lenient")])
    across = np.mean([(both["good"][i] != both["lenient"][1 - i]).mean() for i in (0, 1)])
    assert row["n"] >= len(both)
    assert row["changed_beyond_noise"] == pytest.approx(across - within)
    assert pd.isna(row["shared_flips"])
    assert NO_ORDERS in row["reason"]


def test_probes_of_ratings_have_no_target_and_no_letters(made: tuple[Benchmark, pd.DataFrame]) -> None:
    rated, said = made
    probed = pd.concat([said, said.assign(probe="response/credentials")], ignore_index=True)
    rows = analyze(rated, probed, "probes", resamples=40)
    row = rows[rows["part"] == "probe"].set_index("judge").loc["good"]
    assert (row["changed"], row["accuracy_change"]) == (0, 0)
    assert pd.isna(row["target_shift"])
    assert "labels" not in set(rows["part"])
    for table in ("contamination", "difficulty", "dif", "gains", "groups", "probes", "transfer"):
        assert not TABLES[table].why_no_ratings


def test_consistency_without_repeats_says_that_nobody_was_asked_twice(made: tuple[Benchmark, pd.DataFrame]) -> None:
    rated, said = made
    once = analyze(rated, said[said["repeat"] == 0], "consistency")
    said_once = TABLES["consistency"].says(once)
    assert said_once.startswith("There is nothing to show: ratings of one response have one order; only repeats are")
    assert "asked again" in TABLES["consistency"].says(analyze(rated, said, "consistency"))


def test_calibration_of_a_judge_that_is_always_right_says_so() -> None:
    labels = [*SCALE, *SCALE]
    people = benchmark({"one": labels, "two": labels})
    said = verdicts({"right": labels, "off": [*SCALE[1:], SCALE[0]] * 2}).assign(p_categories="[0.7, 0.1, 0.1, 0.1]")
    rows = analyze(people, said, "calibration", resamples=0)
    rows = rows[rows["part"] == "summary"].set_index("judge")
    for judge, accuracy in (("right", 1), ("off", 0)):
        assert rows.loc[judge, "accuracy"] == accuracy
        assert np.isnan(rows.loc[judge, "auroc"])
        assert "of ratings, every verdict) is right, or every one is wrong" in rows.loc[judge, "reason"]
