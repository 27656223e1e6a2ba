"""No table scores what a judge says of a case that it was trained on: as if it had not said it, but counted."""

from typing import Any

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.failures.kinds import failure_kinds
from mrb_lib.stats.analysis import labels
from mrb_lib.stats.analyze import ALL_SEEN, analyze, read_panels
from mrb_lib.stats.columns import TABLES
from mrb_lib.stats.panel import as_panel
from mrb_lib.stats.where import OUTCOMES
from mrb_lib.tables.schema import NO_PROBE
from mrb_lib.verdicts.training import mark_seen
from tests.stats.every_table import KNOWN, full_benchmark
from tests.stats.small_tables import OF_PREFERENCES, Data

N = 60
SEEN = [f"c{i}" for i in range(0, N, 3)]
READ_VERDICTS = [name for name in OF_PREFERENCES if "verdicts" in TABLES[name].parameters]
COUNTED = {"n_seen", "reason", "in_training", "accuracy_words", "accuracy_words_low", "accuracy_words_high"}
"""What differs: the baseline of words learns from the cases that a judge has seen."""


def training(cases: list[str], judge: str = "j1") -> pd.DataFrame:
    return pd.DataFrame({"judge": judge, "case_id": cases, "use": "training"}).astype("str")


@pytest.fixture(scope="module")
def bench() -> Data:
    """The full benchmark, with verdicts of two probes, of which one changes the probabilities alone."""
    benchmark, verdicts = full_benchmark()
    verdicts = verdicts[verdicts["probe"] == NO_PROBE].reset_index(drop=True)
    return benchmark, pd.concat([verdicts, verdicts.assign(probe="blank", p_a=verdicts["p_a"] / 2)])


@pytest.fixture(scope="module")
def panels(bench: Data) -> tuple[object, object]:
    """The verdicts as panels, in which nothing is laid aside, and in which what was seen is."""
    benchmark, verdicts = bench
    return read_panels(benchmark, [verdicts]), read_panels(benchmark, [verdicts], training(SEEN))


def made(bench: Benchmark, verdicts: Any, table: str, **options: Any) -> pd.DataFrame:
    return analyze(bench, verdicts, table, resamples=40, **KNOWN, **options)


@pytest.mark.parametrize("table", READ_VERDICTS)
def test_what_was_seen_is_as_if_it_were_not_there(bench: Data, panels: tuple[object, object], table: str) -> None:
    benchmark, verdicts = bench
    whole_panels, hidden = panels
    kept = verdicts[~((verdicts["judge"] == "j1") & verdicts["case_id"].isin(SEEN))].reset_index(drop=True)
    by = {"by": "organ"} if "by" in TABLES[table].parameters else {}
    without = made(benchmark, kept, table, **by)
    ways: list[tuple[object, pd.DataFrame | None]] = [(verdicts, training(SEEN))]
    if table == "accuracy" or "training" in TABLES[table].parameters:
        marked = mark_seen(verdicts, training(SEEN))
        ways += [(marked, None), (whole_panels, training(SEEN)), (hidden, training(SEEN)), (hidden, None)]
    for given, told in ways:
        rows = made(benchmark, given, table, training=told, **by)
        same = [name for name in rows.columns if name not in COUNTED]
        pd.testing.assert_frame_equal(rows[same], without[same])
        # `models` counts them in rows of part "knowledge", which need marks: tests/stats/tables/test_knowledge.py.
        if "n_seen" in rows and "judge" in rows and table != "models":
            is_j1 = rows["judge"] == "j1"
            assert set(rows.loc[is_j1 & rows["subfield"].isna(), "n_seen"].dropna()) == {len(SEEN)}
            assert rows.loc[~is_j1, "n_seen"].fillna(0).eq(0).all()


@pytest.mark.parametrize(
    ("table", "value", "names"),
    [
        ("accuracy", "accuracy", ["judge"]), ("consistency", "consistency", ["judge"]), ("bias", "estimate", ["judge"]),
        ("calibration", "ece", ["judge"]), ("transfer", "accuracy", ["judge"]), ("selective", "coverage", ["judge"]),
        ("significance", "p_value", ["judge_1", "judge_2"]), ("gains", "p_value", ["base", "tuned"]),
    ],
)  # fmt: skip
def test_where_a_judge_has_seen_every_case_its_quantities_are_null_with_the_reason(
    bench: Data, table: str, value: str, names: list[str]
) -> None:
    rows = made(*bench, table, training=training([f"c{i}" for i in range(N)]))
    own = rows[rows[names].eq("j1").any(axis=1)]
    assert len(own)
    assert own[value].isna().all()
    assert own["reason"].str.contains(ALL_SEEN.format("j1")).all()


def test_a_pair_counts_what_it_would_be_scored_on_but_for_training(bench: Data) -> None:
    seen = {"j1": SEEN, "j2": [*SEEN[:2], "c1"]}
    both = pd.concat([training(cases, judge) for judge, cases in seen.items()])

    def by_pair(**options: Any) -> pd.DataFrame:
        rows = made(*bench, "significance", by="organ", **options)
        kept = rows[rows["part"] == "pair"].fillna({"subfield": ""})
        names = [" ".join(sorted(pair)) for pair in zip(kept["judge_1"], kept["judge_2"], strict=True)]
        return kept.assign(names=names).set_index(["names", "subfield"]).sort_index()

    before, after = by_pair(), by_pair(training=both)
    assert before["n_seen"].eq(0).all()
    assert after["n_seen"].tolist() == (before["n"] - after["n"]).tolist()
    labelled = labels(bench[0]).dropna(subset="choice")["case_id"]
    for judge, cases in seen.items():
        assert after.loc[(f"{judge} j3", ""), "n_seen"] == labelled.isin(cases).sum()


def test_what_a_judge_said_of_a_seen_case_is_shown_and_is_neither_right_nor_wrong(bench: Data) -> None:
    benchmark, verdicts = bench
    plain, ids = verdicts[verdicts["probe"] == NO_PROBE], benchmark.cases["case_id"]
    kinds, before = (
        failure_kinds(as_panel(each, ids), labels(benchmark), benchmark.cases)
        for each in (mark_seen(plain, training(SEEN)), plain)
    )
    is_seen = ids.isin(SEEN).to_numpy()
    assert {OUTCOMES[code] for code in kinds.grid("outcome")[0, 0, is_seen]} == {"trained on"}
    assert (kinds.grid("outcome")[0, 0, ~is_seen] == before.grid("outcome")[0, 0, ~is_seen]).all()
    assert (kinds.grid("outcome")[1:] == before.grid("outcome")[1:]).all()
    assert (kinds.grid("said") == before.grid("said")).all()
    assert not kinds.grid("wrong")[0, 0, is_seen].any()


def test_a_filter_on_outcomes_knows_no_right_or_wrong_of_seen_cases(bench: Data) -> None:
    benchmark, verdicts = bench
    where = "outcome['j1'] == 'trained on'"
    for given, told in ((verdicts, training(SEEN)), (read_panels(benchmark, [verdicts], training(SEEN)), None)):
        rows = analyze(benchmark, given, "composition", where=where, training=told)
        assert rows["n_cases"].sum() == len(SEEN)
