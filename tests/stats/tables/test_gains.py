"""Gains over a base: those of the table `significance`, on cases that nobody was trained on."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.tables.gains import NO_RECORD, NO_WORDS
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import Manifest
from mrb_lib.verdicts.training import training_cases
from tests.stats.small_tables import cases_of, gains, gold_of, groups_of, random_verdicts, significance, with_first
from tests.training_records import record_of

N = 90
GENERATOR = np.random.default_rng(11)
VERDICTS = random_verdicts(GENERATOR, N, 4)
JUDGES = sorted(VERDICTS["judge"].unique())
BASE, TUNED, OTHER, LAST = JUDGES
GOLD = gold_of("".join(GENERATOR.choice(list("AB"), N)))
CASES = cases_of(N, organ=["eye", "lung", "heart"] * 30, patient=[str(i // 2) for i in range(N)])
GROUPS = groups_of({BASE: "open", TUNED: "medical", OTHER: "open", LAST: "critic"}, {TUNED: BASE, LAST: BASE})
SAME = {
    "n": "n", "n_clusters": "n_clusters", "difference": "gain", "low": "low", "high": "high", "interval": "interval",
    "standard_error": "standard_error", "test": "test", "p_value": "p_value", "equivalence_p": "equivalence_p",
}  # fmt: skip


BENCHMARK = Benchmark(
    BenchmarkMeta("here", "clinical", ("overall",)), CASES.assign(question=CASES["case_id"]), empty_annotations()
)


def trained(*cases: str, judge: str = TUNED) -> pd.DataFrame:
    provenance = {"training": record_of(BENCHMARK, cases)}
    return training_cases([Manifest("r", judge, provenance=provenance)], BENCHMARK)


@pytest.mark.parametrize("policy", ["balanced", "official", "answered"])
@pytest.mark.parametrize("cluster", [None, "patient"])
def test_a_gain_is_the_pair_of_the_table_significance(policy: str, cluster: str | None) -> None:
    options = {"policy": policy, "cluster": cluster, "by": "organ", "margin": 0.1, "resamples": 200, "seed": 5}
    rows = gains(VERDICTS, GOLD, CASES, GROUPS, **options)  # type: ignore[arg-type]  # one dictionary for both
    assert set(zip(rows["base"], rows["tuned"], strict=True)) == {(BASE, TUNED), (BASE, LAST)}
    for tuned in (TUNED, LAST):
        kept = VERDICTS[VERDICTS["judge"].isin([BASE, tuned])]
        renamed = kept.assign(judge=kept["judge"].map({tuned: "a", BASE: "b"}))
        pairs = significance(renamed, GOLD, CASES, **options)  # type: ignore[arg-type]  # likewise
        pairs, mine = (
            frame.assign(place=frame["subfield"].fillna("all")).set_index("place")
            for frame in (with_first(pairs[pairs["part"] == "pair"], "a"), rows[rows["tuned"] == tuned])
        )
        assert len(mine) == 4
        for theirs, ours in SAME.items():
            pd.testing.assert_series_equal(
                mine[ours], pairs.loc[mine.index, theirs], check_names=False, check_dtype=False, rtol=0, atol=1e-9
            )
        assert (mine["accuracy_tuned"] - mine["accuracy_base"]).to_numpy() == pytest.approx(mine["gain"].to_numpy())


def test_cases_that_were_trained_on_are_left_out_of_both_and_counted() -> None:
    seen = [f"c{i}" for i in range(30)]
    rows = gains(VERDICTS, GOLD, CASES, GROUPS, training=trained(*seen), resamples=100, policy="official")
    left = ~CASES["case_id"].isin(seen)
    fewer = gains(
        VERDICTS[~VERDICTS["case_id"].isin(seen)], GOLD[~GOLD["case_id"].isin(seen)],
        CASES[left].reset_index(drop=True), GROUPS, pairs=[(BASE, TUNED)], policy="official", resamples=100,
    ).iloc[0]  # fmt: skip
    whole = gains(VERDICTS, GOLD, CASES, GROUPS, pairs=[(BASE, TUNED)], policy="official", resamples=100).iloc[0]
    row = rows[rows["tuned"] == TUNED].iloc[0]
    assert row["n_seen"] == whole["n"] - fewer["n"] > 0
    assert row["n"] == fewer["n"]
    for name in ("gain", "accuracy_base", "accuracy_tuned", "p_value"):
        assert row[name] == pytest.approx(fewer[name])
    assert row["n_excluded"] == N - row["n"]
    assert pd.isna(row["reason"])


def test_without_a_record_of_the_training_what_was_seen_is_null_with_a_reason_and_never_none() -> None:
    rows = gains(VERDICTS, GOLD, CASES, GROUPS, training=trained("c1"), resamples=0).set_index("tuned")
    assert rows["n_seen"][TUNED] == 1
    assert pd.isna(rows["n_seen"][LAST])
    assert NO_RECORD in rows["reason"][LAST]
    nothing = gains(VERDICTS, GOLD, CASES, GROUPS, training=trained(), resamples=100).set_index("tuned")
    assert nothing["n_seen"][TUNED] == 0
    assert nothing["reason"][TUNED] == NO_WORDS
    assert pd.isna(gains(VERDICTS, GOLD, CASES, GROUPS, resamples=0)["n_seen"]).all()


def test_what_the_base_was_trained_on_is_left_out_as_well() -> None:
    mine, its = [f"c{i}" for i in range(10)], [f"c{i}" for i in range(8, 20)]
    known = pd.concat([trained(*mine), trained(*its, judge=BASE)])
    both, of_all = (
        gains(VERDICTS, GOLD, CASES, GROUPS, training=record, pairs=[(BASE, TUNED)], resamples=0).iloc[0]
        for record in (known, trained(*{*mine, *its}))
    )
    assert (both["n"], both["n_seen"]) == (of_all["n"], of_all["n_seen"])
    assert both["gain"] == of_all["gain"]


def test_a_base_is_asked_by_the_engine_that_asks_the_tuned_judge_where_there_is_one() -> None:
    names = {JUDGES[0]: "base", JUDGES[1]: "base+generative", JUDGES[2]: "tuned+generative", JUDGES[3]: "tuned"}
    verdicts = VERDICTS.assign(judge=VERDICTS["judge"].map(names))
    rows = [
        (n, "open", n.split("+")[0], n.split("+")[0], "base" if n.startswith("tuned") else None) for n in names.values()
    ]
    stated = pd.DataFrame(rows, columns=["judge", "group", "model", "entry", "base"])
    made = gains(verdicts, GOLD, CASES, stated, resamples=0)
    assert set(zip(made["base"], made["tuned"], strict=True)) == {
        ("base", "tuned"),
        ("base+generative", "tuned+generative"),
    }
    made = gains(verdicts[verdicts["judge"] != "base+generative"], GOLD, CASES, stated, resamples=0)
    assert set(zip(made["base"], made["tuned"], strict=True)) == {("base", "tuned"), ("base", "tuned+generative")}


def test_without_a_pair_there_is_no_row() -> None:
    made = gains(VERDICTS, GOLD, CASES, groups_of(dict.fromkeys(JUDGES, "open")))
    assert made.empty
    assert made["n_seen"].dtype == "Int64"


@pytest.mark.parametrize(
    ("pair", "said"),
    [(("nobody", TUNED), "judge 'nobody'"), ((BASE, "nobody"), "judge 'nobody'"), ((BASE, BASE), "its own base")],
)
def test_a_pair_that_cannot_be_is_refused_in_one_line(pair: tuple[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        gains(VERDICTS, GOLD, CASES, GROUPS, pairs=[pair])
    assert "\n" not in str(caught.value)


def test_a_record_without_a_list_of_cases_is_no_record() -> None:
    for training in ({"method": "sft"}, "yes"):
        assert training_cases([Manifest("r", TUNED, provenance={"training": training})], BENCHMARK).empty
    assert set(trained("c1")["judge"]) == {TUNED, f"{TUNED}@r"}
