"""Gains over a base: those of the table `significance`, on cases that nobody was trained on."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.tables.gains import NO_RECORD, NO_WORDS
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import Manifest
from mrb_lib.verdicts.training import training_cases
from tests.stats import small_tables as small
from tests.training_records import record_of

N = 90
GENERATOR = np.random.default_rng(11)
VERDICTS = small.random_verdicts(GENERATOR, N, 4)
JUDGES = sorted(VERDICTS["judge"].unique())
BASE, TUNED, OTHER, LAST = JUDGES
GOLD = small.gold_of("".join(GENERATOR.choice(list("AB"), N)))
CASES = small.cases_of(N, organ=["eye", "lung", "heart"] * 30, patient=[str(i // 2) for i in range(N)])
GROUPS = small.groups_of({BASE: "open", TUNED: "medical", OTHER: "open", LAST: "critic"}, {TUNED: BASE, LAST: BASE})
SAME = {
    "n": "n", "n_clusters": "n_clusters", "difference": "gain", "low": "low", "high": "high", "interval": "interval",
    "standard_error": "standard_error", "test": "test", "p_value": "p_value", "equivalence_p": "equivalence_p",
}  # fmt: skip


BENCHMARK = Benchmark(
    BenchmarkMeta("here", "clinical", ("overall",)), CASES.assign(question=CASES["case_id"]), empty_annotations()
)


def made(**options: Any) -> pd.DataFrame:
    return small.gains(VERDICTS, GOLD, CASES, **{"groups": GROUPS, "resamples": 0, **options})


def trained(*cases: str, judge: str = TUNED) -> pd.DataFrame:
    provenance = {"training": record_of(BENCHMARK, cases)}
    return training_cases([Manifest("r", judge, provenance=provenance)], BENCHMARK)


@pytest.mark.parametrize("policy", ["balanced", "official", "answered"])
@pytest.mark.parametrize("cluster", [None, "patient"])
def test_a_gain_is_the_pair_of_the_table_significance(policy: str, cluster: str | None) -> None:
    options = {"policy": policy, "cluster": cluster, "by": "organ", "margin": 0.1, "resamples": 200, "seed": 5}
    rows = made(**options)
    assert set(zip(rows["base"], rows["tuned"], strict=True)) == {(BASE, TUNED), (BASE, LAST)}
    for tuned in (TUNED, LAST):
        kept = VERDICTS[VERDICTS["judge"].isin([BASE, tuned])]
        renamed = kept.assign(judge=kept["judge"].map({tuned: "a", BASE: "b"}))
        pairs = small.part_of(small.significance(renamed, GOLD, CASES, **options), "pair")
        pairs, mine = (
            frame.assign(place=frame["subfield"].fillna("all")).set_index("place")
            for frame in (small.with_first(pairs, "a"), rows[rows["tuned"] == tuned])
        )
        assert len(mine) == 4
        for theirs, ours in SAME.items():
            pd.testing.assert_series_equal(
                mine[ours], pairs.loc[mine.index, theirs], check_names=False, check_dtype=False, rtol=0, atol=1e-9
            )
        assert (mine["accuracy_tuned"] - mine["accuracy_base"]).to_numpy() == pytest.approx(mine["gain"].to_numpy())


def test_without_a_record_of_the_training_what_was_seen_is_null_with_a_reason_and_never_none() -> None:
    rows = made(training=trained("c1")).set_index("tuned")
    assert rows["n_seen"][TUNED] == 1
    assert pd.isna(rows["n_seen"][LAST])
    assert NO_RECORD in rows["reason"][LAST]
    nothing = made(training=trained(), resamples=100).set_index("tuned")
    assert nothing["n_seen"][TUNED] == 0
    assert nothing["reason"][TUNED] == NO_WORDS
    assert pd.isna(made()["n_seen"]).all()


def test_what_either_judge_was_trained_on_is_left_out_of_both_and_counted() -> None:
    mine, its = [f"c{i}" for i in range(10)], [f"c{i}" for i in range(8, 20)]
    known = pd.concat([trained(*mine), trained(*its, judge=BASE)])
    whole, both, of_all = (
        made(training=record, pairs=[(BASE, TUNED)]).iloc[0] for record in (None, known, trained(*{*mine, *its}))
    )
    assert both[["n", "n_seen", "gain"]].tolist() == of_all[["n", "n_seen", "gain"]].tolist()
    assert both["n_seen"] == whole["n"] - both["n"] > 0
    assert both["n_excluded"] == N - both["n"]


def test_a_base_is_asked_by_the_engine_that_asks_the_tuned_judge_where_there_is_one() -> None:
    names = {JUDGES[0]: "base", JUDGES[1]: "base+generative", JUDGES[2]: "tuned+generative", JUDGES[3]: "tuned"}
    verdicts = VERDICTS.assign(judge=VERDICTS["judge"].map(names))
    stated = small.groups_of(
        dict.fromkeys(names.values(), "open"), dict.fromkeys(["tuned", "tuned+generative"], "base")
    )
    stated["model"] = stated["entry"] = stated["judge"].str.split("+").str[0]
    for kept, base in ((verdicts, "base+generative"), (verdicts[verdicts["judge"] != "base+generative"], "base")):
        rows = small.gains(kept, GOLD, CASES, groups=stated, resamples=0)
        assert set(zip(rows["base"], rows["tuned"], strict=True)) == {("base", "tuned"), (base, "tuned+generative")}


@pytest.mark.parametrize(
    ("pair", "said"),
    [(("nobody", TUNED), "judge 'nobody'"), ((BASE, "nobody"), "judge 'nobody'"), ((BASE, BASE), "its own base")],
)
def test_a_pair_that_cannot_be_is_refused_in_one_line(pair: tuple[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        made(pairs=[pair])
    assert "\n" not in str(caught.value)


def test_a_record_without_a_list_of_cases_is_no_record() -> None:
    for training in ({"method": "sft"}, "yes"):
        assert training_cases([Manifest("r", TUNED, provenance={"training": training})], BENCHMARK).empty
    assert set(trained("c1")["judge"]) == {TUNED, f"{TUNED}@r"}
