"""The cases of a study, from the hardest on, and what is counted of them."""

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.report.defaults import Options
from mrb_lib.report.study import Study
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import annotations_of, cases_of, verdicts_of

VOTES = {"r1": "AABB", "r2": "AABT", "r3": "ABBB"}
SAID = {("j", "AB"): "ABBB", ("j", "BA"): "AB?B", ("k", "AB"): "BBBB", ("k", "BA"): "BBBB"}


def study_of(votes: dict[str, str] = VOTES, said: dict[tuple[str, str], str] = SAID) -> Study:
    benchmark = Benchmark(BenchmarkMeta("made", "general", ("overall",)), cases_of(4), annotations_of(votes))
    verdicts = verdicts_of(said)
    groups = pd.DataFrame({"judge": sorted(verdicts["judge"].unique()), "group": "open"})
    return Study(benchmark, verdicts, [], Options(resamples=200), groups)


def test_cases_come_from_the_hardest_on_with_votes_and_verdicts() -> None:
    cases = study_of().cases().set_index("case_id")
    assert cases.index.tolist() == ["c1", "c0", "c2", "c3"]
    assert cases["score"].tolist() == pytest.approx([0, 0.5, 0.75, 1])
    assert cases["gold"].tolist() == ["A", "A", "B", "B"]
    assert cases[["votes_gold", "n_annotators"]].to_numpy().tolist() == [[2, 3], [3, 3], [3, 3], [2, 3]]
    assert cases.loc["c2", ["A", "B", "tie", "none"]].tolist() == [0, 3, 0, 1]
    assert cases["n_judges"].tolist() == [2, 2, 2, 2]


def test_wrong_cases_are_those_below_one_half_of_one_judge_or_all() -> None:
    study = study_of()
    assert study.cases(wrong=True)["case_id"].tolist() == ["c1"]
    assert set(study.cases(wrong=False)["case_id"]) == {"c0", "c2", "c3"}
    assert set(study.cases(judge="k", wrong=True)["case_id"]) == {"c0", "c1"}
    with pytest.raises(InputError, match="judge"):
        study.cases(judge="nobody")


def test_the_bootstrap_takes_columns_for_their_means() -> None:
    study = study_of()
    frame = study.cases()[["case_id", "score"]].assign(wrong=[True, False, False, False])
    made = study.bootstrap(frame, ["score", "wrong"]).set_index("quantity")
    whole = study.bootstrap(frame, lambda rows: {"score": rows["score"].mean()})
    assert made["estimate"].to_dict() == pytest.approx({"score": frame["score"].mean(), "wrong": 0.25})
    assert made.loc["score", "low"] == pytest.approx(whole["low"].item())


def test_an_unknown_filter_of_the_explorer_names_those_it_has() -> None:
    with pytest.raises(InputError, match="dimension"):
        study_of().explore(dimensoin="overall")


def test_judges_come_in_one_order_in_every_table() -> None:
    study = study_of()
    assert study.order == ["j", "k"]
    turned = study_of(said={({"j": "k", "k": "j"}[judge], order): letters for (judge, order), letters in SAID.items()})
    assert turned.order == ["k", "j"]
    assert turned.table("consistency").frame["judge"].tolist() == ["k", "j"]


def test_n_counts_cases_only() -> None:
    """The rows of `consistency` count cases; those of `difficulty` count judges."""
    study = study_of()
    assert "n = 3 to 4 cases" in study.table("consistency").show("judge", "consistency").caption
    assert "n =" not in study.table("difficulty").show("part", "n").caption
