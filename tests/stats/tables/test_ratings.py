"""Ratings, their labels and steps, against scikit-learn, pingouin, loops and planted rates."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pingouin
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score, recall_score

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.demo.ratings import RatingJudge
from mrb_lib.stats.analyze import TABLES, analyze
from mrb_lib.stats.columns import ALIKE, NO_CASES
from mrb_lib.stats.tables import ratings as ratings_table
from mrb_lib.stats.tables.gains import NOT_BOTH
from mrb_lib.stats.tables.probes import NO_ORDERS
from mrb_lib.stats.tables.ratings import NO_F1, NO_PRECISION, NO_RECALL
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import category_numbers
from tests.stats.rated import SCALE, benchmark, simulated, verdicts
from tests.stats.small_tables import Data, groups_of, prompts_of
from tests.training_records import recipes_of

SAFETY = ("sensitivity", "specificity", "f1_unacceptable")


JUDGES = (RatingJudge("good"), RatingJudge("strict", leniency=0.9), RatingJudge("turned", reversed=True))


def places_of(made: Benchmark) -> pd.Series:
    """The place of each annotation on the scale, by case."""
    return made.annotations.set_index("case_id")["choice"].map({name: i for i, name in enumerate(SCALE, 1)})


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # pingouin with pandas 3.1
def test_values_are_those_of_scikit_learn_and_pingouin() -> None:
    made, said = simulated(200, 3, JUDGES, repeats=1)
    rows = analyze(made, said, "ratings", resamples=100).set_index("judge")
    labels = gold(made).set_index("case_id")["choice"]
    places = {name: i for i, name in enumerate(SCALE, 1)}
    mean = made.annotations.assign(number=made.annotations["choice"].map(places)).groupby("case_id")["number"].mean()
    for judge, own in said.dropna(subset="choice").groupby("judge"):
        both = own.set_index("case_id").join(labels.rename("label")).dropna(subset=["choice", "label"])
        pair = [both[name].map(places) for name in ("choice", "label")]
        row = rows.loc[judge]
        assert row["n"] == len(both)
        assert row["n_excluded"] == 200 - len(both)
        assert row["exact"] == pytest.approx((pair[0] == pair[1]).mean())
        assert row["within_one"] == pytest.approx(((pair[0] - pair[1]).abs() <= 1).mean())
        assert row["weighted_kappa"] == pytest.approx(cohen_kappa_score(*pair, weights="quadratic"), abs=1e-9)
        assert row["n_unacceptable"] == (pair[1] > 2).sum()
        decided = own.set_index("case_id").join((places_of(made) > 2).groupby("case_id").mean().rename("votes"))
        decided = decided.join(labels.rename("label")).dropna(subset="choice")
        by_label = decided["label"].map(places) > 2
        bad = decided["choice"].map(places) > 2, by_label.where(decided["label"].notna(), decided["votes"] >= 0.5)
        assert row["n_by_votes"] == decided["label"].isna().sum()
        bad = bad[0], bad[1].astype(bool)
        assert row["sensitivity"] == pytest.approx(recall_score(bad[1], bad[0]))
        assert row["specificity"] == pytest.approx(recall_score(~bad[1], ~bad[0]))
        assert row["f1_unacceptable"] == pytest.approx(f1_score(bad[1], bad[0]))
        x, y = own.set_index("case_id")["choice"].map(places).align(mean, join="inner")
        assert row["n_mean"] == len(x)
        long = pd.DataFrame({"judge": x, "people": y}).reset_index().melt("case_id")
        icc = pingouin.intraclass_corr(long, "case_id", "variable", "value").set_index("Type")["ICC"]
        assert row["icc"] == pytest.approx(icc["ICC(A,1)"], abs=1e-9)
        assert row["icc_consistency"] == pytest.approx(icc["ICC(C,1)"], abs=1e-9)
        assert row["spearman"] == pytest.approx(x.corr(y, "spearman"), abs=1e-9)
        assert row["pearson"] == pytest.approx(x.corr(y), abs=1e-9)
        assert row["mean_difference"] == pytest.approx((x - y).mean())
    for name in ("exact", "weighted_kappa", "icc", "spearman", "mean_difference", "sensitivity", "f1_unacceptable"):
        assert (rows[f"{name}_low"] < rows[name]).all()
        assert (rows[name] < rows[f"{name}_high"]).all()


def test_a_scale_used_upside_down_is_said_only_where_a_corrected_test_shows_it() -> None:
    rows = analyze(*simulated(150, 4, JUDGES), "ratings", resamples=200)
    reasons = rows.set_index("judge")["reason"]
    assert ratings_table.UPSIDE_DOWN in str(reasons["turned"])
    assert reasons[["good", "strict"]].isna().all()
    assert rows.set_index("judge")["upside_down"].to_dict() == {"good": False, "strict": False, "turned": True}
    assert ratings_table.sentence(rows).endswith("with the scale upside down: turned.")
    assert "upside down" not in ratings_table.sentence(rows.assign(upside_down=False))


def test_the_sentence_crowns_no_judge_and_accuses_none_among_twelve_alike() -> None:
    """Judges that differ by noise alone; a judge without any relation to the labels has a rank correlation of 0."""
    crowned, accused, runs = 0, 0, 20
    for seed in range(runs):
        judges = [RatingJudge(f"j{i:02}", noise=0.7) for i in range(12)]
        rows = analyze(*simulated(60, seed, judges, repeats=1), "ratings", resamples=0)
        crowned += "cannot tell which of 12 judges" not in ratings_table.sentence(rows)
        accused += bool(rows["upside_down"].any() or (rows["p_adjusted"] <= 0.05).any())
    assert crowned <= 1
    assert accused <= 4, "more have a chance of 1 in 400, where 5% of runs accuse a judge"


def test_the_best_judge_is_the_best_on_the_cases_that_both_rated() -> None:
    """A judge of the plain cases alone has the higher kappa, and the lower one on the cases that both rated."""
    rng = np.random.default_rng(1)
    truth = [str(each) for each in rng.choice(["none", "high"], 100)] + [SCALE[i] for i in rng.integers(0, 4, 100)]
    partial = [SCALE[3 - SCALE.index(name)] if i % 20 == 0 else name for i, name in enumerate(truth[:100])]
    full = [
        *truth[:100],
        *([SCALE[(SCALE.index(name) + 1) % 4] if i % 3 else name for i, name in enumerate(truth[100:])]),
    ]
    rows = analyze(
        benchmark({"a": truth}),
        verdicts({"partial": [*partial, *[None] * 100], "full": full}),
        "ratings",
        resamples=100,
    ).set_index("judge")
    assert rows.loc["partial", "weighted_kappa"] > rows.loc["full", "weighted_kappa"] + 0.2
    assert rows["with_best"].tolist() == [True, True]
    assert "cannot tell which of 2 judges" in ratings_table.sentence(rows.reset_index())


def test_repeats_of_a_case_are_one_case() -> None:
    """Asked three times, a judge is right in one; the label is "low" and the people's mean 2 1/3."""
    made = benchmark({"a": ["low", "high"], "b": ["low", "high"], "c": ["moderate", "high"]})
    said = verdicts({("j", 0): ["low", "high"], ("j", 1): ["moderate", "high"], ("j", 2): ["high", None]})
    row = analyze(made, said, "ratings", resamples=0).iloc[0]
    assert row["exact"] == pytest.approx((1 / 3 + 1) / 2)
    assert row["within_one"] == pytest.approx((2 / 3 + 1) / 2)
    assert row["mean_difference"] == pytest.approx(((2 + 3 + 4) / 3 - 7 / 3 + 0) / 2)
    assert row["coverage"] == pytest.approx((1 + 2 / 3) / 2)
    assert np.isnan(row["sensitivity"])
    assert ratings_table.ONE_SIDE in row["reason"]


def test_numbers_are_read_on_the_interval_level_only() -> None:
    categories = ("0", "1", "10")
    made = benchmark({"a": ["0", "1", "10", "1"]}, categories=categories, level="interval")
    said = verdicts({"j": ["1", "1", "10", "10"]})
    by_number = analyze(made, said, "ratings", resamples=0).iloc[0]
    by_place = analyze(made, said, "ratings", level="ordinal", resamples=0).iloc[0]
    assert category_numbers(categories) == (0.0, 1.0, 10.0)
    assert (by_number["mean_difference"], by_place["mean_difference"]) == (2.5, 0.5)
    assert by_number["weighted_kappa"] == by_place["weighted_kappa"], "the weights are of places on either level"
    assert by_number["pearson"] == pytest.approx(np.corrcoef([1, 1, 10, 10], [0, 1, 10, 1])[0, 1])


def test_a_case_without_a_majority_has_a_mean_and_no_label() -> None:
    made = benchmark({"a": ["low", "high"], "b": ["none", "high"], "c": ["moderate", "high"]})
    row = analyze(made, verdicts({"j": ["low", "high"]}), "ratings", resamples=0).iloc[0]
    assert (row["n"], row["n_excluded"], row["n_mean"]) == (1, 1, 2)
    assert row["mean_difference"] == 0


def test_verdicts_of_a_case_count_singly_in_weighted_kappa() -> None:
    made, said = simulated(90, 6, JUDGES[:1], repeats=2)
    row = analyze(made, said, "ratings", resamples=0).iloc[0]
    labels = gold(made).set_index("case_id")["choice"]
    both = said.join(labels.rename("label"), on="case_id").dropna(subset=["choice", "label"])
    both = both[both.groupby("case_id")["choice"].transform("size") == 2]
    kept = made.cases["case_id"].isin(both["case_id"])
    alone = analyze(replace(made, cases=made.cases[kept]), both[said.columns], "ratings", resamples=0).iloc[0]
    pairs = [both[name].map(SCALE.index) for name in ("choice", "label")]
    assert alone["weighted_kappa"] == pytest.approx(cohen_kappa_score(*pairs, weights="quadratic"), abs=1e-12)
    assert row["n"] >= alone["n"]


@pytest.mark.parametrize("people", [2, 3])
def test_cases_without_a_majority_are_in_sensitivity(people: int) -> None:
    """A judge that misses what annotators disagree about: without these cases its sensitivity is 1."""
    split = ["low", "moderate", "high"][:people] if people == 3 else ["low", "high"]
    votes = {f"r{i}": ["high"] * 6 + ["none"] * 6 + [split[i]] * 3 for i in range(people)}
    said = verdicts({"j": ["high"] * 6 + ["none"] * 9})
    row = analyze(benchmark(votes, acceptable=SCALE[:2]), said, "ratings", resamples=0).iloc[0]
    assert (row["n"], row["n_unacceptable"], row["n_by_votes"]) == (12, 6, 3)
    assert row["sensitivity"] == pytest.approx(6 / 9)
    assert row["specificity"] == 1
    strict = analyze(benchmark(votes, acceptable=SCALE[:2]), said, "ratings", gold="unanimous", resamples=0).iloc[0]
    assert (strict["n_by_votes"], strict["sensitivity"]) == (0, 1)


def test_what_is_undefined_is_null_with_its_reason() -> None:
    made = benchmark({"a": ["no", "yes", "no"]}, categories=("no", "yes"), acceptable=("no",))
    row = analyze(made, verdicts({"j": ["no", "no", "no"]}), "ratings", resamples=50).iloc[0]
    assert row[["within_one", "weighted_kappa", "icc", "pearson", "spearman"]].isna().all()
    assert (row["sensitivity"], row["specificity"]) == (0, 1)
    assert row["f1_unacceptable"] == 0
    assert row["specificity_low"] < 1, "three of three is not certainty"
    assert ratings_table.TWO_CATEGORIES in row["reason"]
    assert ratings_table.CONSTANT in row["reason"]
    nobody = analyze(made, verdicts({"j": [None, None, None]}), "ratings", resamples=50).iloc[0]
    assert (nobody["n"], nobody["coverage"]) == (0, 0)
    assert nobody[["exact", "mean_difference", "sensitivity"]].isna().all()
    assert NO_CASES in nobody["reason"]


def test_every_null_interval_is_told_with_its_column() -> None:
    """One unacceptable case of nine: sensitivity is 1 of 1, which no interval can be given for."""
    made = benchmark({"a": ["no"] * 8 + ["yes"]}, categories=("no", "yes"), acceptable=("no",))
    said = verdicts({"j": ["no"] * 7 + ["yes", "yes"]})
    row = analyze(made, said, "ratings", resamples=100).iloc[0]
    assert (row["n_unacceptable"], row["sensitivity"]) == (1, 1)
    assert row[["sensitivity_low", "sensitivity_high"]].isna().all()
    names = [name for name in SAFETY if np.isnan(row[f"{name}_low"])]
    assert f"no interval of {', '.join(names)}: {ALIKE}" in row["reason"]


def test_rows_are_by_subfield_and_the_best_judge_first() -> None:
    rows = analyze(*simulated(150, 5, JUDGES), "ratings", by="organ", resamples=50)
    assert rows["judge"].tolist() == ["good", "strict", "turned"] * 3
    parts = rows[rows["judge"] == "good"].set_index("subfield")["n"]
    assert parts["eye"] + parts["lung"] == parts.iloc[0]


def test_an_order_is_asked_for_where_there_is_none() -> None:
    made, said = simulated(40, 6, JUDGES, level="nominal")
    with pytest.raises(InputError, match=r"nominal.*--level ordinal.*--table accuracy"):
        analyze(made, said, "ratings")
    assert len(analyze(made, said, "ratings", level="ordinal", resamples=40)) == 3


N = 120


ACCURACY_OF_RATINGS_JUDGES = (RatingJudge("good"), RatingJudge("lenient", leniency=0.8), RatingJudge("wild", noise=2.0))


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
def made() -> Data:
    made, said = simulated(N, 5, ACCURACY_OF_RATINGS_JUDGES)
    made.cases["date"] = ["2022", "2025"] * (N // 2)
    made.cases["department"] = ["eye", "eye", "lung", "lung"] * (N // 4)
    made.cases["dataset"] = made.cases["department"]
    return made, said


def accuracies(made: Data, by: str | None = None) -> pd.Series:
    rows = analyze(*made, "accuracy", by=by, resamples=0)
    return rows[rows["kind"] == "judge"].set_index(["judge", "subfield"])["accuracy"]


def test_every_accuracy_is_that_of_the_table_accuracy(made: Data) -> None:
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


def test_difficulty_names_categories_and_counts_annotators_votes(made: Data) -> None:
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


def test_what_is_of_two_responses_is_null_with_a_reason(made: Data) -> None:
    rated, said = made
    records = recipes_of({"good": {"swap": True}, "lenient": {"swap": False}})
    records["bases"] = [("lenient",), ()]
    rows = analyze(rated, said.assign(p_a=0.5), "gains", **{**GIVEN, "records": records})
    others = rows[rows["quantity"] != "accuracy"]
    assert {"ingredient", "brier"} <= set(others["part"])
    for name, row in zip(others["quantity"], others.to_dict("records"), strict=True):
        assert NOT_BOTH[name] in row["reason"]
        assert np.isnan(row["gain"])


def test_flips_of_prompts_are_counted_in_every_category(made: Data) -> None:
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


def test_probes_of_ratings_have_no_target_and_no_letters(made: Data) -> None:
    rated, said = made
    probed = pd.concat([said, said.assign(probe="response/credentials")], ignore_index=True)
    rows = analyze(rated, probed, "probes", resamples=40)
    row = rows[rows["part"] == "probe"].set_index("judge").loc["good"]
    assert (row["changed"], row["accuracy_change"]) == (0, 0)
    assert pd.isna(row["target_shift"])
    assert "labels" not in set(rows["part"])
    for table in ("contamination", "difficulty", "dif", "gains", "groups", "probes", "transfer"):
        assert not TABLES[table].why_no_ratings


def test_consistency_without_repeats_says_that_nobody_was_asked_twice(made: Data) -> None:
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


META = BenchmarkMeta(
    "steps", "simulated", ("correctness",), ("wrong", "poor", "right"), "ordinal", "rating", ("right",)
)


KEY = {"judge": "j", "dimension": "correctness", "order": "AB", "probe": "none"}


def rating_steps_made(labels: list[str | None], items: list[str], said: dict[int, list[str | None]]) -> Data:
    """A benchmark with one annotator; said are the verdicts by repeat, "-" where there is none."""
    cases = pd.DataFrame({"case_id": [f"c{i}" for i in range(len(labels))], "item": items})
    cases["step"] = cases.groupby("item").cumcount() + 1
    cases = cases.assign(question=cases["item"], response_a="a step", response_b="", images=[[] for _ in items])
    annotations = pd.DataFrame({"case_id": cases["case_id"], "annotator": "a", "dimension": "correctness"})
    annotations = annotations.assign(choice=pd.Series(labels, dtype="str")).dropna()
    frames = [
        pd.DataFrame({**KEY, "case_id": cases["case_id"], "repeat": repeat, "choice": choices})
        for repeat, choices in said.items()
    ]
    verdicts = pd.concat(frames, ignore_index=True).query("choice != '-'")
    status = np.where(verdicts["choice"].isna(), "unparsed", "ok")
    return Benchmark(META, cases, annotations), verdicts.astype({"choice": "str"}).assign(status=status)


def row_of(benchmark: Benchmark, verdicts: pd.DataFrame, **options: object) -> pd.Series:
    given = {"resamples": 200, **options}
    rows = analyze(benchmark, verdicts, "ratings", **given)
    return rows[rows["part"] == "step"].iloc[0]


def drawn(n_items: int, hit: float, alarm: float, seed: int, **shares: float) -> tuple[list[str], list[str], list[str]]:
    """Items of 3 to 8 steps of which 20% are wrong, and what a judge with these rates says."""
    rng = np.random.default_rng(seed)
    items = [f"i{i}" for i in range(n_items) for _ in range(rng.integers(3, 9))]
    wrong = rng.random(len(items)) < 0.2
    flagged = rng.random(len(items)) < np.where(wrong, hit, alarm)
    names = np.array(["right", "wrong", "poor"])
    kind = rng.integers(1, 3, size=(2, len(items)))
    return list(names[wrong * kind[0]]), items, list(names[flagged * kind[1]])


def test_the_table_equals_a_plain_loop() -> None:
    labels, items, one = drawn(60, 0.7, 0.1, 1)
    rng = np.random.default_rng(2)
    gold: list[str | None] = [None if rng.random() < 0.03 else label for label in labels]
    said: dict[int, list[str | None]] = {
        repeat: [
            str(rng.choice([choice, "poor"])) if (u := rng.random()) > 0.08 else None if u > 0.03 else "-"
            for choice in one
        ]
        for repeat in range(2)
    }
    row = row_of(*rating_steps_made(gold, items, said))
    sums: dict[str, list[list[float]]] = {}
    for place in range(len(items)):
        for choices in said.values():
            if gold[place] is None or choices[place] == "-":
                continue
            wrong, flagged = gold[place] != "right", choices[place] in ("wrong", "poor")
            hit = wrong and flagged
            add(sums, "coverage", place, choices[place] is not None, 1)
            add(sums, "step_accuracy", place, choices[place] is not None and wrong == flagged, 1)
            add(sums, "precision", place, hit, flagged)
            add(sums, "recall", place, hit, wrong)
            add(sums, "f1", place, 2 * hit, wrong + flagged)
    loops = {name: ratio(sums[name]) for name in sums} | items_by_loop(gold, items, said)
    for name, value in loops.items():
        assert row[name] == pytest.approx(value, abs=1e-12), name
    assert row["n"] == len({place for place, *_ in sums["coverage"]})
    assert row["n"] + row["n_excluded"] == len(items)


def items_by_loop(gold: list[str | None], items: list[str], said: dict[int, list[str | None]]) -> dict[str, float]:
    sums: dict[str, list[list[float]]] = {}
    for item in dict.fromkeys(items):
        places = [i for i, name in enumerate(items) if name == item]
        first = next((k for k, i in enumerate(places) if gold[i] in ("wrong", "poor")), None)
        until = places if first is None else places[: first + 1]
        for choices in said.values():
            if any(gold[i] is None or choices[i] == "-" for i in until):
                continue
            own = next((k for k, i in enumerate(places) if choices[i] in ("wrong", "poor")), None)
            right = own == first and all(choices[i] is not None for i in until)
            add(sums, "first_error_accuracy", places[0], right, 1)
    return {name: ratio(each) for name, each in sums.items()}


def add(sums: dict[str, list[list[float]]], name: str, place: int, numerator: float, denominator: float) -> None:
    sums.setdefault(name, []).append([place, float(numerator), float(denominator)])


def ratio(rows: list[list[float]]) -> float:
    """The ratio of sums of the means over the repeats of each place."""
    mean = pd.DataFrame(rows, columns=["place", "top", "bottom"]).groupby("place").mean().sum()
    return float(mean["top"] / mean["bottom"])


def test_planted_rates_are_recovered_within_their_intervals() -> None:
    """Of 40 draws, the truth lies within the 95% interval in 33 at least; fewer happen once in a thousand."""
    held = dict.fromkeys(("recall", "precision", "step_accuracy", "first_error_accuracy", "f1"), 0)
    hit, alarm, n_draws, lengths = 0.5, 0.3, 40, np.arange(3, 9)
    before = [(0.8 * (1 - alarm)) ** np.arange(length) for length in lengths]  # the steps before a first error
    first = np.mean([(each * 0.2 * hit).sum() + each[-1] * 0.8 * (1 - alarm) for each in before])
    precision = 0.2 * hit / (0.2 * hit + 0.8 * alarm)
    truth = {
        "recall": hit,
        "precision": precision,
        "step_accuracy": 0.2 * hit + 0.8 * (1 - alarm),
        "first_error_accuracy": first,
        "f1": 2 * precision * hit / (precision + hit),
    }
    for seed in range(n_draws):
        labels, items, said = drawn(80, hit, alarm, seed)
        row = row_of(*rating_steps_made(labels, items, {0: said}), resamples=100)
        for name, value in truth.items():
            held[name] += row[f"{name}_low"] <= value <= row[f"{name}_high"]
    assert min(held.values()) >= 33, held


def test_a_judge_without_errors_to_find_has_nulls_and_reasons() -> None:
    benchmark, verdicts = rating_steps_made(["right"] * 6, ["a", "a", "a", "b", "b", "b"], {0: ["right"] * 6})
    row = row_of(benchmark, verdicts)
    assert row[["recall", "precision", "f1"]].isna().all()
    assert (row["step_accuracy"], row["first_error_accuracy"], row["n_items"]) == (1, 1, 2)
    assert row["step_accuracy_low"] < 1
    for text in (NO_RECALL, NO_PRECISION, NO_F1):
        assert text in row["reason"]


def test_a_judge_trained_on_every_step_keeps_its_row() -> None:
    benchmark, verdicts = rating_steps_made(*(drawn(5, 0.8, 0.1, 4)[:2]), {0: drawn(5, 0.8, 0.1, 4)[2]})
    seen = pd.DataFrame({"judge": "j", "case_id": benchmark.cases["case_id"]})
    row = row_of(benchmark, verdicts, training=seen)
    assert (row["n"], row["n_seen"], row["n_excluded"]) == (0, len(verdicts), len(verdicts))
    assert "was trained on every case that it judged" in row["reason"]
    assert row_of(benchmark, verdicts, training=seen.head(3))["n_seen"] == 3


def test_the_first_error_must_be_theirs_and_nothing_before_it_unanswered() -> None:
    labels = ["right", "wrong", "right"] * 4
    items = [name for name in "abcd" for _ in range(3)]
    said = ["right", "poor", "wrong", "wrong", "wrong", "right", None, "wrong", "right", "right", "wrong", None]
    row = row_of(*rating_steps_made(labels, items, {0: said}), resamples=100)
    assert row["first_error_accuracy"] == 0.5  # a and d; b is too early, c does not say what step 1 is
    assert row["n_items"] == 4


def test_without_acceptable_categories_the_lowest_is_erroneous() -> None:
    labels = ["right", "poor", "wrong", "right"]
    benchmark, verdicts = rating_steps_made(labels, list("aabb"), {0: labels})
    plain = Benchmark(BenchmarkMeta(**{**vars(META), "acceptable": ()}), benchmark.cases, benchmark.annotations)
    row = row_of(plain, verdicts)
    assert (row["n_positive"], row["n_flagged"]) == (1, 1)


def test_without_acceptable_categories_nominal_ones_are_refused() -> None:
    labels = ["right", "poor", "wrong", "right"]
    benchmark, verdicts = rating_steps_made(labels, list("aabb"), {0: labels})
    meta = BenchmarkMeta(**{**vars(META), "acceptable": (), "level": "nominal"})
    plain = Benchmark(meta, benchmark.cases, benchmark.annotations)
    with pytest.raises(
        InputError, match=r"categories are nominal.*of steps without error as acceptable in benchmark.toml"
    ):
        row_of(plain, verdicts)
    assert row_of(plain, verdicts, level="ordinal")["n_positive"] == 1
    named = Benchmark(BenchmarkMeta(**{**vars(META), "level": "nominal"}), benchmark.cases, benchmark.annotations)
    assert row_of(named, verdicts)["n_positive"] == 2


def test_intervals_rest_on_items_even_where_they_are_few() -> None:
    labels, items, said = drawn(6, 0.8, 0.1, 3)
    assert row_of(*rating_steps_made(labels, items, {0: said}))["cluster"] == "item"
    assert row_of(*rating_steps_made(labels, items, {0: said}))["n_clusters"] == 6


def test_rows_of_steps_are_there_where_cases_are_steps() -> None:
    benchmark, verdicts = rating_steps_made(["right"] * 2, ["a", "a"], {0: ["right"] * 2})
    without = Benchmark(META, benchmark.cases.drop(columns="step"), benchmark.annotations)
    assert analyze(without, verdicts, "ratings", resamples=50)["part"].tolist() == ["rating"]
    assert analyze(benchmark, verdicts, "ratings", resamples=50)["part"].tolist() == ["rating", "step"]
    pairs = Benchmark(BenchmarkMeta("pairs", "general", ("correctness",)), benchmark.cases, benchmark.annotations)
    with pytest.raises(InputError, match="table ratings: it is about single responses"):
        row_of(pairs, verdicts.assign(choice="A"))
