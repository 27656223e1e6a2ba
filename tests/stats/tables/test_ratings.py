"""Ratings, their labels and steps, against scikit-learn, pingouin, loops and planted rates."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

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
from mrb_lib.stats.columns import NO_CASES
from mrb_lib.stats.tables import ratings as ratings_table
from mrb_lib.stats.tables.gains import NOT_BOTH
from mrb_lib.stats.tables.probes import NO_ORDERS
from mrb_lib.stats.tables.ratings import NO_F1, NO_PRECISION, NO_RECALL
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import category_numbers
from tests.stats.rated import SCALE, benchmark, simulated, verdicts
from tests.stats.small_tables import OF_RATINGS, Data, groups_of, part_of, prompts_of
from tests.training_records import recipes_of

PLACE = {name: i for i, name in enumerate(SCALE, 1)}
JUDGES = (RatingJudge("good"), RatingJudge("strict", leniency=0.9), RatingJudge("turned", reversed=True))


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # pingouin with pandas 3.1
def test_values_are_those_of_scikit_learn_and_pingouin() -> None:
    made, said = simulated(200, 3, JUDGES, repeats=1)
    rows = analyze(made, said, "ratings", resamples=100).set_index("judge")
    label = gold(made).set_index("case_id")["choice"].map(PLACE)
    votes = made.annotations["choice"].map(PLACE).groupby(made.annotations["case_id"])
    is_bad = (label > 2).where(label.notna(), votes.agg(lambda own: (own > 2).mean()) >= 0.5).astype(bool)
    for judge, own in said.dropna(subset="choice").groupby("judge"):
        place = own.set_index("case_id")["choice"].map(PLACE)
        both = pd.DataFrame({"said": place, "label": label}).dropna()
        beside = pd.DataFrame({"said": place, "people": votes.mean()}).dropna()
        bad, flagged = is_bad[place.index], place > 2
        icc = pingouin.intraclass_corr(beside.reset_index().melt("case_id"), "case_id", "variable", "value")
        expected = icc.set_index("Type")["ICC"][["ICC(A,1)", "ICC(C,1)"]].set_axis(["icc", "icc_consistency"]).to_dict()
        expected |= {
            "n": len(both), "n_excluded": 200 - len(both), "n_mean": len(beside),
            "n_unacceptable": (both["label"] > 2).sum(), "n_by_votes": label[place.index].isna().sum(),
            "exact": (both["said"] == both["label"]).mean(),
            "within_one": ((both["said"] - both["label"]).abs() <= 1).mean(),
            "weighted_kappa": cohen_kappa_score(both["said"], both["label"], weights="quadratic"),
            "sensitivity": recall_score(bad, flagged), "specificity": recall_score(~bad, ~flagged),
            "f1_unacceptable": f1_score(bad, flagged),
            "spearman": beside["said"].corr(beside["people"], "spearman"),
            "pearson": beside["said"].corr(beside["people"]),
            "mean_difference": (beside["said"] - beside["people"]).mean(),
        }  # fmt: skip
        for name, value in expected.items():
            assert rows.loc[judge, name] == pytest.approx(value, abs=1e-9), name
    for name in ("exact", "weighted_kappa", "icc", "spearman", "mean_difference", "sensitivity", "f1_unacceptable"):
        assert rows[name].between(rows[f"{name}_low"], rows[f"{name}_high"], inclusive="neither").all(), name


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
    plain, mixed = (rng.choice(names, 100).tolist() for names in (["none", "high"], SCALE))
    turned = [SCALE[3 - SCALE.index(name)] if i % 20 == 0 else name for i, name in enumerate(plain)]
    shifted = [SCALE[(SCALE.index(name) + 1) % 4] if i % 3 else name for i, name in enumerate(mixed)]
    said = verdicts({"partial": turned + [None] * 100, "full": plain + shifted})
    rows = analyze(benchmark({"a": plain + mixed}), said, "ratings", resamples=100).set_index("judge")
    assert rows.loc["partial", "weighted_kappa"] > rows.loc["full", "weighted_kappa"] + 0.2
    assert rows["with_best"].tolist() == [True, True]
    assert "cannot tell which of 2 judges" in ratings_table.sentence(rows.reset_index())


def rating(people: Benchmark, said: Mapping[Any, Sequence[str | None]], **options: object) -> pd.Series:
    """The row of one judge by its choices."""
    return analyze(people, verdicts(said), "ratings", **{"resamples": 0, **options}).iloc[0]


def test_repeats_of_a_case_are_one_case() -> None:
    """Asked three times, a judge is right in one; the label is "low" and the people's mean 2 1/3."""
    people = benchmark({"a": ["low", "high"], "b": ["low", "high"], "c": ["moderate", "high"]})
    row = rating(people, {("j", 0): ["low", "high"], ("j", 1): ["moderate", "high"], ("j", 2): ["high", None]})
    assert row["exact"] == pytest.approx((1 / 3 + 1) / 2)
    assert row["within_one"] == pytest.approx((2 / 3 + 1) / 2)
    assert row["mean_difference"] == pytest.approx(((2 + 3 + 4) / 3 - 7 / 3 + 0) / 2)
    assert row["coverage"] == pytest.approx((1 + 2 / 3) / 2)
    assert np.isnan(row["sensitivity"])
    assert ratings_table.ONE_SIDE in row["reason"]


def test_numbers_are_read_on_the_interval_level_only() -> None:
    categories = ("0", "1", "10")
    people = benchmark({"a": ["0", "1", "10", "1"]}, categories=categories, level="interval")
    by_number, by_place = (rating(people, {"j": ["1", "1", "10", "10"]}, level=each) for each in (None, "ordinal"))
    assert category_numbers(categories) == (0.0, 1.0, 10.0)
    assert (by_number["mean_difference"], by_place["mean_difference"]) == (2.5, 0.5)
    assert by_number["weighted_kappa"] == by_place["weighted_kappa"], "the weights are of places on either level"
    assert by_number["pearson"] == pytest.approx(np.corrcoef([1, 1, 10, 10], [0, 1, 10, 1])[0, 1])


def test_verdicts_of_a_case_count_singly_in_weighted_kappa() -> None:
    made, said = simulated(90, 6, JUDGES[:1], repeats=2)
    row = analyze(made, said, "ratings", resamples=0).iloc[0]
    both = said.merge(gold(made)[["case_id", "choice"]], on="case_id", suffixes=("", "_gold")).dropna()
    both = both[both.groupby("case_id")["choice"].transform("size") == 2]
    kept = made.cases["case_id"].isin(both["case_id"])
    alone = analyze(replace(made, cases=made.cases[kept]), both[said.columns], "ratings", resamples=0).iloc[0]
    pairs = [both[name].map(PLACE) for name in ("choice", "choice_gold")]
    assert alone["weighted_kappa"] == pytest.approx(cohen_kappa_score(*pairs, weights="quadratic"), abs=1e-12)
    assert row["n"] >= alone["n"]


@pytest.mark.parametrize("split", [["low", "high"], ["low", "moderate", "high"]])
def test_cases_without_a_majority_are_in_sensitivity(split: list[str]) -> None:
    """A judge that misses what annotators disagree about: without these cases its sensitivity is 1."""
    votes = {f"r{i}": ["high"] * 6 + ["none"] * 6 + [name] * 3 for i, name in enumerate(split)}
    people, said = benchmark(votes, acceptable=SCALE[:2]), {"j": ["high"] * 6 + ["none"] * 9}
    row, strict = (rating(people, said, gold=rule) for rule in ("majority", "unanimous"))
    assert (row["n"], row["n_unacceptable"], row["n_by_votes"]) == (12, 6, 3)
    assert row["sensitivity"] == pytest.approx(6 / 9)
    assert row["specificity"] == 1
    assert (strict["n_by_votes"], strict["sensitivity"]) == (0, 1)


def test_what_is_undefined_is_null_with_its_reason() -> None:
    people = benchmark({"a": ["no", "yes", "no"]}, categories=("no", "yes"), acceptable=("no",))
    row, nobody = (rating(people, {"j": [said] * 3}, resamples=50) for said in ("no", None))
    assert row[["within_one", "weighted_kappa", "icc", "pearson", "spearman"]].isna().all()
    assert row[["sensitivity", "specificity", "f1_unacceptable"]].tolist() == [0, 1, 0]
    assert row["specificity_low"] < 1, "three of three is not certainty"
    assert ratings_table.TWO_CATEGORIES in row["reason"]
    assert ratings_table.CONSTANT in row["reason"]
    assert (nobody["n"], nobody["coverage"]) == (0, 0)
    assert nobody[["exact", "mean_difference", "sensitivity"]].isna().all()
    assert NO_CASES in nobody["reason"]


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
    judges = RatingJudge("good"), RatingJudge("lenient", leniency=0.8), RatingJudge("wild", noise=2.0)
    made, said = simulated(N, 5, judges)
    made.cases["date"] = ["2022", "2025"] * (N // 2)
    made.cases["department"] = made.cases["dataset"] = ["eye", "eye", "lung", "lung"] * (N // 4)
    return made, said


def accuracies(made: Data, by: str | None = None) -> pd.Series:
    rows = analyze(*made, "accuracy", by=by, resamples=0)
    return rows[rows["kind"] == "judge"].set_index(["judge", "subfield"])["accuracy"]


@pytest.mark.parametrize("table", OF_RATINGS)
def test_every_table_that_speaks_of_ratings_is_made(made: Data, table: str) -> None:
    rows, spec = analyze(*made, table, **GIVEN), TABLES[table]
    assert list(rows.columns) == list(spec.columns)
    assert spec.says(rows).endswith(".")


def test_every_accuracy_is_that_of_the_table_accuracy(made: Data) -> None:
    whole, by = accuracies(made), accuracies(made, "date")
    known = whole.droplevel("subfield")
    cut = analyze(*made, "contamination", **GIVEN).set_index("judge")
    assert cut["accuracy_before"].to_dict() == pytest.approx(by.xs("2022", level=1).to_dict())
    assert cut["accuracy_after"].to_dict() == pytest.approx(by.xs("2025", level=1).to_dict())
    assert cut["coverage"].between(0.9, 1).all()
    subfields = accuracies(made, "department")
    domains = part_of(analyze(*made, "transfer", **GIVEN), "domain").set_index(["judge", "subfield"])["accuracy"]
    assert domains.to_dict() == pytest.approx(subfields[domains.index].to_dict())
    inside = analyze(*made, "dif", by="department").set_index(["judge", "subfield"])["accuracy_inside"]
    assert inside.to_dict() == pytest.approx(subfields[inside.index].to_dict(), abs=0.05)
    hard = part_of(analyze(*made, "difficulty"), "judge").set_index("judge")["accuracy"]
    assert hard.to_dict() == pytest.approx(known.to_dict())
    contrast = part_of(analyze(*made, "groups", **GIVEN), "contrast").set_index("group_2").loc["medical"]
    other = GROUPS.loc[GROUPS["group"] == contrast["group_1"], "judge"]
    assert contrast["difference"] == pytest.approx(known[other].mean() - known["good"], abs=0.02)
    gain = analyze(*made, "gains", **GIVEN, pairs=[("lenient", "good")]).set_index("part").loc["accuracy", "gain"]
    assert gain == pytest.approx(known["good"] - known["lenient"], abs=0.02)


def test_difficulty_names_categories_and_counts_annotators_votes(made: Data) -> None:
    rows = analyze(*made, "difficulty")
    cases, labels = part_of(rows, "case").set_index("case_id"), gold(made[0]).set_index("case_id")
    assert cases["gold"].to_dict() == labels["choice"].dropna().to_dict()
    for case, row in cases.iterrows():
        assert row["gold_votes"] == labels.loc[case, f"votes_{row['gold']}"]
        own = made[1].loc[made[1]["case_id"].eq(case), "choice"].dropna()
        assert row["n_verdicts"] == len(own)
        others = own[own != row["gold"]].value_counts()
        assert row["alternative_share"] == pytest.approx((others.max() if len(others) else 0) / len(own))
        assert pd.isna(row["alternative"]) or others[row["alternative"]] == others.max()
    assert part_of(rows, "judge")["ability"].notna().all()


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
    row = part_of(rows, "probe").set_index("judge").loc["good"]
    assert (row["changed"], row["accuracy_change"]) == (0, 0)
    assert pd.isna(row["target_shift"])
    assert "labels" not in set(rows["part"])


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
    rows = part_of(rows, "summary").set_index("judge")
    for judge, accuracy in (("right", 1), ("off", 0)):
        assert rows.loc[judge, "accuracy"] == accuracy
        assert np.isnan(rows.loc[judge, "auroc"])
        assert "of ratings, every verdict) is right, or every one is wrong" in rows.loc[judge, "reason"]


WRONG = ("wrong", "poor")


def steps(labels: Sequence[str | None], items: Sequence[str], said: Mapping[int, Sequence[str | None]]) -> Data:
    """A benchmark of steps of items with one annotator; said are the verdicts by repeat, "-" where there is none."""
    step = pd.Series(items).groupby(list(items)).cumcount() + 1
    rated = benchmark(
        {"a": labels}, categories=("wrong", "poor", "right"), acceptable=("right",), dimension="correctness",
        item=items, step=step, question=items, images=[[] for _ in items],
    )  # fmt: skip
    return rated, verdicts({("j", repeat): choices for repeat, choices in said.items()}, "correctness")


def of_meta(benchmark: Benchmark, **changed: object) -> Benchmark:
    return replace(benchmark, meta=replace(benchmark.meta, **changed))


def row_of(benchmark: Benchmark, verdicts: pd.DataFrame, **options: object) -> pd.Series:
    return part_of(analyze(benchmark, verdicts, "ratings", **{"resamples": 200, **options}), "step").iloc[0]


def drawn(n_items: int, hit: float, alarm: float, seed: int, **shares: float) -> tuple[list[str], list[str], list[str]]:
    """Items of 3 to 8 steps of which 20% are wrong, and what a judge with these rates says."""
    rng = np.random.default_rng(seed)
    items = [f"i{i}" for i in range(n_items) for _ in range(rng.integers(3, 9))]
    wrong = rng.random(len(items)) < 0.2
    flagged = rng.random(len(items)) < np.where(wrong, hit, alarm)
    names, kind = np.array(["right", *WRONG]), rng.integers(1, 3, size=(2, len(items)))
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
    row = row_of(*steps(gold, items, said))
    frame = pd.concat([pd.DataFrame({"place": range(len(items)), "gold": gold, "said": own}) for own in said.values()])
    frame = frame[frame["gold"].notna() & (frame["said"] != "-")]
    is_wrong, flagged, answered = frame["gold"] != "right", frame["said"].isin(WRONG), frame["said"].notna()
    hit, one = is_wrong & flagged, pd.Series(1, frame.index)
    ratios = {
        "coverage": (answered, one), "step_accuracy": (answered & (is_wrong == flagged), one),
        "precision": (hit, flagged), "recall": (hit, is_wrong), "f1": (2 * hit, is_wrong * 1 + flagged * 1),
    }  # fmt: skip
    for name, (top, bottom) in ratios.items():
        of_place = pd.DataFrame({"top": top, "bottom": bottom, "place": frame["place"]}).groupby("place").mean().sum()
        assert row[name] == pytest.approx(of_place["top"] / of_place["bottom"], abs=1e-12), name
    assert row["first_error_accuracy"] == pytest.approx(first_errors_found(gold, items, said), abs=1e-12)
    assert row["n"] == frame["place"].nunique()
    assert row["n"] + row["n_excluded"] == len(items)


def first_errors_found(gold: list[str | None], items: list[str], said: dict[int, list[str | None]]) -> float:
    """The share of items whose first error a judge names, where all up to there is labelled and judged."""
    found: dict[str, list[bool]] = {}
    for item, places in pd.Series(range(len(items))).groupby(items):
        first = next((place for place in places if gold[place] in WRONG), None)
        until = [place for place in places if first is None or place <= first]
        for choices in said.values():
            if all(gold[place] is not None and choices[place] != "-" for place in until):
                own = next((place for place in places if choices[place] in WRONG), None)
                right = own == first and all(choices[place] is not None for place in until)
                found.setdefault(item, []).append(right)
    return float(np.mean([np.mean(each) for each in found.values()]))


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
        row = row_of(*steps(labels, items, {0: said}), resamples=100)
        for name, value in truth.items():
            held[name] += row[f"{name}_low"] <= value <= row[f"{name}_high"]
    assert min(held.values()) >= 33, held


def test_a_judge_without_errors_to_find_has_nulls_and_reasons() -> None:
    benchmark, verdicts = steps(["right"] * 6, ["a", "a", "a", "b", "b", "b"], {0: ["right"] * 6})
    row = row_of(benchmark, verdicts)
    assert row[["recall", "precision", "f1"]].isna().all()
    assert (row["step_accuracy"], row["first_error_accuracy"], row["n_items"]) == (1, 1, 2)
    assert row["step_accuracy_low"] < 1
    for text in (NO_RECALL, NO_PRECISION, NO_F1):
        assert text in row["reason"]


def test_the_first_error_must_be_theirs_and_nothing_before_it_unanswered() -> None:
    labels = ["right", "wrong", "right"] * 4
    items = [name for name in "abcd" for _ in range(3)]
    said = ["right", "poor", "wrong", "wrong", "wrong", "right", None, "wrong", "right", "right", "wrong", None]
    row = row_of(*steps(labels, items, {0: said}), resamples=100)
    assert row["first_error_accuracy"] == 0.5  # a and d; b is too early, c does not say what step 1 is
    assert row["n_items"] == 4


def test_without_acceptable_categories_the_lowest_is_erroneous_and_nominal_ones_are_refused() -> None:
    labels = ["right", "poor", "wrong", "right"]
    benchmark, verdicts = steps(labels, list("aabb"), {0: labels})
    row = row_of(of_meta(benchmark, acceptable=()), verdicts)
    assert (row["n_positive"], row["n_flagged"]) == (1, 1)
    plain = of_meta(benchmark, acceptable=(), level="nominal")
    with pytest.raises(InputError, match=r"categories are nominal.*of steps without error as acceptable in benchmark"):
        row_of(plain, verdicts)
    assert row_of(plain, verdicts, level="ordinal")["n_positive"] == 1
    assert row_of(of_meta(benchmark, level="nominal"), verdicts)["n_positive"] == 2


def test_intervals_rest_on_items_even_where_they_are_few() -> None:
    labels, items, said = drawn(6, 0.8, 0.1, 3)
    assert row_of(*steps(labels, items, {0: said}))[["cluster", "n_clusters"]].tolist() == ["item", 6]


def test_rows_of_steps_are_there_where_cases_are_steps() -> None:
    benchmark, verdicts = steps(["right"] * 2, ["a", "a"], {0: ["right"] * 2})
    without = replace(benchmark, cases=benchmark.cases.drop(columns="step"))
    assert analyze(without, verdicts, "ratings", resamples=50)["part"].tolist() == ["rating"]
    assert analyze(benchmark, verdicts, "ratings", resamples=50)["part"].tolist() == ["rating", "step"]
    pairs = replace(benchmark, meta=BenchmarkMeta("pairs", "general", ("correctness",)))
    with pytest.raises(InputError, match="table ratings: it is about single responses"):
        row_of(pairs, verdicts.assign(choice="A"))
