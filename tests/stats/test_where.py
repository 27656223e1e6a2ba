"""Filters by gold, by what judges say and by who reviewed; and tables of the cases that they leave."""

from dataclasses import replace

import pandas as pd
import pytest

from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.analyze import analyze, read_panels
from mrb_lib.stats.scoring import correctness
from mrb_lib.stats.where import restricted
from mrb_lib.tables.errors import InputError
from tests.review.judged import judged

BENCHMARK, VERDICTS = judged()
REVIEWS = pd.DataFrame(
    {"case_id": ["c00", "c00", "c03"], "reviewer": ["Dr A", "Dr B", "Dr A"], "verdict": "gold_right"}
)


def kept(where: str) -> list[str]:
    smaller, _ = restricted(BENCHMARK, VERDICTS, where, adjudications=REVIEWS)
    return smaller.cases["case_id"].tolist()


def test_outcomes_are_those_that_scoring_gives() -> None:
    table = correctness(VERDICTS, gold(BENCHMARK))
    mine = table[(table["judge"] == "j1") & (table["dimension"] == "overall")]
    assert kept("outcome['j1'] == 'wrong'") == sorted(mine.loc[mine["score"] < 0.5, "case_id"])
    both = "outcome['j1', 'accuracy'] == 'right' and outcome['j0', 'accuracy'] == 'wrong'"
    on = table[table["dimension"] == "accuracy"].pivot(index="case_id", columns="judge", values="score")
    assert kept(both) == sorted(on.index[(on["j1"] > 0.5) & (on["j0"] < 0.5)])
    assert kept(both) != []


def test_gold_and_reviews() -> None:
    labels = gold(BENCHMARK)
    on = labels[labels["dimension"] == "accuracy"].set_index("case_id")["choice"]
    assert kept("gold['accuracy'] == 'B'") == sorted(on.index[on == "B"])
    assert kept("gold is None") == sorted(BENCHMARK.cases.loc[BENCHMARK.cases["organ"] == "foot", "case_id"])
    assert kept("reviewers > 1") == ["c00"]
    assert kept("reviewed_by['Dr A']") == ["c00", "c03"]
    said = VERDICTS[(VERDICTS["judge"] == "j0") & (VERDICTS["dimension"] == "overall")].groupby("case_id")["choice"]
    assert {said.get_group(case).mode()[0] for case in kept("says['j0'] == 'A'")} == {"A"}


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("outcome['nobody'] == 'wrong'", "judge 'nobody' is unknown"),
        ("outcome['j0', 'beauty'] == 'wrong'", "dimension 'beauty' is unknown"),
        ("organ == 'heart'", "leaves none of 48 cases"),
        ("outcome == 'wrong'", "'outcome' is unknown"),
        ("tag == 'artefact'", r"'tag' is unknown.*tagged\['a tag'\]"),
    ],
)
def test_what_there_is_not_is_named(where: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kept(where)


def test_what_a_filter_needs_is_named() -> None:
    with pytest.raises(InputError, match="there are no verdicts"):
        restricted(BENCHMARK, None, "outcome['j0'] == 'wrong'")
    with pytest.raises(InputError, match="there is no store of reviews"):
        restricted(BENCHMARK, VERDICTS, "reviewers > 0")
    with pytest.raises(InputError, match="asks for tags"):
        restricted(BENCHMARK, VERDICTS, "tagged['artefact']")


def test_tags_choose_cases_in_a_table_too() -> None:
    tags = pd.DataFrame({"case_id": ["c01", "c01", "c02", "gone"], "tag": ["artefact", "marker", "marker", "marker"]})
    smaller, _ = restricted(BENCHMARK, None, "tagged['marker']", tags=tags)
    assert smaller.cases["case_id"].tolist() == ["c01", "c02"]
    table = analyze(BENCHMARK, VERDICTS, "accuracy", where="not tagged['marker']", tags=tags, resamples=0, references=0)
    assert table["n"].add(table["n_excluded"]).max() == 46


@pytest.mark.parametrize("table", ["accuracy", "agreement", "significance", "consistency", "composition", "difficulty"])
def test_a_table_of_some_cases_is_that_of_a_benchmark_of_them(table: str) -> None:
    lungs = BENCHMARK.cases["organ"] == "lung"
    ids = BENCHMARK.cases.loc[lungs, "case_id"]
    alone = replace(
        BENCHMARK,
        cases=BENCHMARK.cases[lungs].reset_index(drop=True),
        annotations=BENCHMARK.annotations[BENCHMARK.annotations["case_id"].isin(ids)].reset_index(drop=True),
    )
    expected = analyze(alone, VERDICTS[VERDICTS["case_id"].isin(ids)].reset_index(drop=True), table, resamples=100)
    for given in (VERDICTS, read_panels(BENCHMARK, [VERDICTS])):
        found = analyze(BENCHMARK, given, table, where="organ == 'lung'", resamples=100)
        pd.testing.assert_frame_equal(found, expected)
