"""Case studies are chosen by the rule that their caption states, and by nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.failures.studies import FAILURE, RULE, SUCCESS, case_studies
from mrb_lib.stats.scoring import correctness
from tests.stats.small_tables import annotations_of, cases_of, verdicts_of

ORGANS = ["eye", "eye", "eye", "lung", "lung", "brain", None, "heart"]
# c2 is split, and all call c7 a tie.
VOTES = {"r1": "AAABBBAT", "r2": "AAABBBAT", "r3": "AABBBBAT"}
SAID = {("j", "AB"): "ABAAABAA", ("k", "AB"): "ABABAABA", ("j", "BA"): "BBBBBBBB"}


@pytest.fixture
def made() -> tuple[Benchmark, pd.DataFrame]:
    cases = cases_of(8, organ=list(ORGANS))
    return Benchmark(BenchmarkMeta("made", "general", ("overall",)), cases, annotations_of(VOTES)), verdicts_of(SAID)


def test_one_case_an_organ_is_the_best_or_the_worst_of_those_that_all_annotators_agree_on(
    made: tuple[Benchmark, pd.DataFrame],
) -> None:
    benchmark, verdicts = made
    rows = case_studies(verdicts, gold(benchmark), benchmark.cases, dimension="overall", by="organ")
    chosen = {kind: part["case_id"].tolist() for kind, part in rows.groupby("kind")}
    # Right by order AB: c0 both, c1 none, c3 k alone, c4 none, c5 j alone; of equal scores the first organ by name.
    assert chosen[SUCCESS] == ["c0", "c5", "c3"]
    assert chosen[FAILURE] == ["c1", "c4", "c5"]
    assert rows.loc[rows["case_id"] == "c3", ["A", "B", "tie", "none"]].iloc[0].tolist() == [1, 1, 0, 0]
    assert set(rows["gold"]) <= {"A", "B"}
    assert len(case_studies(verdicts, gold(benchmark), benchmark.cases, dimension="overall", by="organ", n=1)) == 2


def test_the_rule_holds_on_drawn_data() -> None:
    rng = np.random.default_rng(0)
    n = 200
    votes = {name: "".join(rng.choice(list("AB"), n)) for name in ("r1", "r2")}
    cases = cases_of(n, organ=list(rng.choice(["eye", "lung", "heart"], n)))
    benchmark = Benchmark(BenchmarkMeta("drawn", "general", ("overall",)), cases, annotations_of(votes))
    verdicts = verdicts_of({(f"j{i}", "AB"): "".join(rng.choice(list("AB"), n)) for i in range(5)})
    rows = case_studies(verdicts, gold(benchmark), cases, dimension="overall", by="organ")
    agreed = {f"c{i}" for i, pair in enumerate(zip(*votes.values(), strict=True)) if len(set(pair)) == 1}
    means = correctness(verdicts, gold(benchmark), "official").groupby("case_id")["score"].mean()
    organs = cases.set_index("case_id")["organ"]
    for kind, best in ((SUCCESS, max), (FAILURE, min)):
        for organ, part in rows[rows["kind"] == kind].groupby("organ"):
            own = {case: means[case] for case in agreed if organs[case] == organ}
            assert part["case_id"].tolist() == [min(case for case in own if own[case] == best(own.values()))]


def test_without_a_case_that_all_agree_on_there_is_none(made: tuple[Benchmark, pd.DataFrame]) -> None:
    benchmark, verdicts = made
    split = gold(benchmark).assign(n_annotators=9)
    assert case_studies(verdicts, split, benchmark.cases, dimension="overall", by="organ").empty


def test_the_rule_is_a_sentence_without_a_full_stop() -> None:
    said = RULE.format(by="organ", n=4)
    assert "organ by organ" in said
    assert not said.endswith(".")
