"""A judge that is better where its model knows the answer is found to be so by as much, and no other is."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.build.construct.tables import write_work_table
from mrb_lib.build.construct.work import create_work
from mrb_lib.cli.main import main
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.tables.models import NO_CASES, NO_ITEM, NO_MODEL, NO_SPREAD, knowledge_rows
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.store import save_imported
from tests.simulation.panels import panel_of
from tests.stats.small_tables import analysis_of, cases_of, gold_of, judged, rows_of, table_of, tables_of

GROUPS = pd.DataFrame({"judge": ["small+packed", "other"], "model": ["small", "other"]})
knowledge = table_of("models", part="knowledge", groups=GROUPS, resamples=0)


def drawn(n_items: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Verdicts of a judge that is right more often where its model is, gold, two cases of each item, and the marks.

    The cases of an item share how hard it is, so that they are not independent.
    """
    rng = np.random.default_rng(seed)
    right, item = rng.random(n_items) < 0.5, np.repeat(np.arange(n_items), 2)
    p = np.clip(0.55 + 0.3 * right + rng.choice([-0.3, 0.3], n_items), 0, 1)
    is_right, gold = rng.random(2 * n_items) < p[item], rng.choice(["A", "B"], 2 * n_items)
    tables = judged({"small+packed": is_right}, "".join(gold), item=[f"i{i}" for i in item])
    marks = pd.DataFrame({"item_id": [f"i{i}" for i in range(n_items)], "model": "small", "correct": right * 1.0})
    return *tables, marks


def test_the_numbers_are_those_of_plain_arithmetic() -> None:
    verdicts, gold, cases, marks = drawn(60, 0)
    row = knowledge(verdicts, gold, cases, marks=marks, cluster="item", resamples=200).iloc[0]
    table = cases.merge(gold, on="case_id").merge(verdicts[["case_id", "choice"]], on="case_id", suffixes=("_gold", ""))
    table = table.merge(marks, left_on="item", right_on="item_id")
    table["y"] = (table["choice"] == table["choice_gold"]).astype(float)
    means = table.groupby("correct")["y"].mean()
    assert row["answered_by"] == "small"
    expected = [means[1.0], means[0.0], means[1.0] - means[0.0]]
    assert row[["accuracy_right", "accuracy_wrong", "difference"]].tolist() == pytest.approx(expected)
    assert row[["n_right", "n_wrong"]].tolist() == [(table["correct"] == 1).sum(), (table["correct"] == 0).sum()]
    variance = 0.0
    for _, side in table.groupby("correct"):
        by_item = (side["y"] - side["y"].mean()).groupby(side["item"]).sum()
        m = len(by_item)
        variance += m / (m - 1) * (by_item**2).sum() / len(side) ** 2
    reach = stats.t.ppf(0.975, row["df"])
    assert (row["difference_high"] - row["difference_low"]) / (2 * reach) == pytest.approx(np.sqrt(variance), rel=1e-3)


def compared(value: np.ndarray, right: np.ndarray, item: np.ndarray) -> pd.DataFrame:
    """The rows of judges that are right on cases where `value` (judges, cases) is 1 and whose model is right alike."""
    cases = cases_of(value.shape[1], item=[f"i{i}" for i in item])
    panel = panel_of(np.where(value > 0, 0, 1)[:, None], judges=[f"j{i:03d}" for i in range(len(value))])
    marks = pd.DataFrame({"item_id": cases["item"], "model": "m", "correct": right * 1.0})
    groups = pd.DataFrame({"judge": panel.judges, "model": "m"})
    gold = gold_of("A" * len(cases), panel.dimensions[0])
    analysis = analysis_of(cases, panel, gold, groups=groups, marks=marks, cluster="item", resamples=0)
    return knowledge_rows(analysis, marks)


def test_a_planted_difference_is_covered_and_none_is_seldom_found() -> None:
    item = np.repeat(np.arange(60), 2)

    def inference(effect: float, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        right = rng.random(60) < 0.5
        p = 0.55 + effect * right + rng.choice([-0.3, 0.3], (25, 60))
        return compared((rng.random((25, 120)) < p[:, item]).astype(float), right[item], item)

    rows = pd.concat([inference(0.15, seed) for seed in range(24)])
    inside = (rows["difference_low"] <= 0.15) & (rows["difference_high"] >= 0.15)
    assert len(rows) == 600
    assert 0.93 <= inside.mean() <= 0.97, f"95% intervals that cover: {inside.mean():.3f}"
    size = (pd.concat([inference(0.0, 1000 + seed) for seed in range(24)])["p_value"] <= 0.05).mean()
    assert 0.03 <= size <= 0.07, f"differences found where there are none: {size:.3f}"


def test_a_side_of_two_alike_says_nothing_however_many_are_on_the_other() -> None:
    value, right = np.r_[1.0, 1.0, np.tile([0.0, 1.0], 50)], np.arange(102) < 2
    for kept in (slice(0, 102), slice(1, 102)):
        row = compared(value[None, kept], right[kept], np.arange(102)[kept]).iloc[0]
        assert row["difference"] == 0.5
        assert row[["difference_low", "difference_high", "p_value"]].isna().all()
        assert row["lacks"] == NO_SPREAD


@pytest.mark.parametrize("per_item", [1, 4])
def test_three_items_on_a_side_seldom_show_a_difference_that_is_not_there(per_item: int) -> None:
    """At a level of .05; a regression with cluster-robust errors and all clusters as degrees rejects a quarter."""
    rng = np.random.default_rng(per_item)
    item = np.repeat(np.arange(103), per_item)
    value = rng.random((400, len(item))) < rng.choice([0.3, 0.7], (400, 103))[:, item]
    rows = compared(value.astype(float), item < 3, item)
    assert (rows["p_value"] <= 0.05).sum() / 400 <= 0.07


def test_an_item_that_is_answered_right_and_wrong_counts_by_the_majority() -> None:
    *tables, marks = drawn(20, 1)
    others = marks.assign(correct=1 - marks["correct"])
    plain, same, halves = (
        knowledge(*tables, marks=pd.concat(each)) for each in ([marks], [marks, marks, others], [marks, others])
    )
    pd.testing.assert_frame_equal(same, plain)
    assert halves.iloc[0][["n", "n_excluded", "reason"]].tolist() == [0, 40, NO_CASES]
    assert halves["difference"].isna().all()


def test_what_is_not_known_is_null_with_a_reason() -> None:
    verdicts, gold, cases, marks = drawn(20, 2)

    def reason(marks: pd.DataFrame, cases: pd.DataFrame = cases) -> str:
        [row] = knowledge(verdicts, gold, cases, marks=marks).to_dict("records")
        assert np.isnan(row["p_value"])
        return row["reason"]

    assert reason(marks.assign(model="stranger")) == NO_MODEL
    assert reason(marks.assign(correct=np.nan)) == NO_CASES
    assert reason(marks.assign(correct=1.0)) == "no difference: the model answered every item right"
    assert reason(marks, cases.drop(columns="item")) == NO_ITEM
    with pytest.raises(InputError, match="must be 1 for right and 0 for wrong"):
        reason(marks.assign(correct=0.5))


def test_a_judge_is_known_by_its_model_whatever_its_engine_and_run() -> None:
    verdicts, gold, cases, marks = drawn(20, 3)
    for name in ("small", "small+packed", "small@run-1", "small+packed@run-1"):
        rows = knowledge(verdicts.assign(judge=name), gold, cases, groups=GROUPS.head(0), marks=marks)
        assert rows["answered_by"].tolist() == ["small"]
    both = pd.concat([verdicts, verdicts.assign(judge="other")])
    rows = knowledge(both, gold, cases, marks=marks).set_index("judge")
    assert rows["reason"]["other"] == NO_MODEL
    assert rows["n"].to_dict() == {"small+packed": 40, "other": 0}


def test_the_command_reads_the_marks_of_a_work_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verdicts, gold, cases, marks = drawn(30, 4)
    meta = BenchmarkMeta("knows", "general", ("overall",))
    save(Benchmark(meta, cases.assign(question=cases["item"]), gold.assign(annotator="r")), tmp_path / "bench")
    said = verdicts.assign(status="ok")
    save_imported(said, tmp_path / "runs", benchmark="knows", kind="general", source="s")
    create_work(tmp_path / "work", "knows", "general")
    command = ["mrb", "analyze", str(tmp_path / "bench"), str(tmp_path / "runs"), "--table", "models", "--json"]
    command += ["--work", str(tmp_path / "work")]
    assert called(command, monkeypatch) == 2
    assert "no model has answered its items; run `mrb construct filter" in capsys.readouterr().err
    write_work_table(tmp_path / "work" / "answers.parquet", "answers", marks.assign(sample=0))
    assert called(command, monkeypatch) == 0
    [row] = [row for row in json.loads(capsys.readouterr().out)["rows"] if row["part"] == "knowledge"]
    assert row["n"] == 60
    assert row["difference"] == pytest.approx(knowledge(verdicts, gold, cases, marks=marks)["difference"].iloc[0])
    assert called(command[:-2], monkeypatch) == 0
    plain = json.loads(capsys.readouterr().out)
    assert "knowledge" not in {row["part"] for row in plain["rows"]}
    assert plain["policy"] is None
    assert called([*command[:4], "--work", str(tmp_path / "bench")], monkeypatch) == 2


def test_cases_that_are_unscored_or_trained_on_are_counted_apart() -> None:
    """Items i0 right, i1 wrong, i2 unmarked, i3 half, of four cases each."""
    verdicts, gold, cases = tables_of(
        {("small", "AB"): "AAAA-AAAA-AA-AAA"}, "?AATAAAA?TAAAAAA", item=[f"i{i // 4}" for i in range(16)]
    )
    training = pd.DataFrame({"judge": "small", "case_id": ["c0", "c1", "c5", "c8", "c13"]})
    answers = [("i0", 1.0), ("i1", 0.0), ("i2", np.nan), ("i3", 1.0), ("i3", 0.0)]
    marks = pd.DataFrame(answers, columns=["item_id", "correct"]).assign(model="small")
    row, own = (knowledge(verdicts, gold, cases, marks=marks, training=seen).iloc[0] for seen in (None, training))
    assert own[["n_right", "n_wrong"]].tolist() == [2, 2], "c2, c3 and c6, c7"
    assert own["n_seen"] == 5
    assert own["n_excluded"] == 16 - own["n"] == 12
    assert row[["n_right", "n_wrong", "n_seen"]].tolist() == [3, 3, 0], "c0 has no label"


@pytest.fixture(scope="module")
def both_tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The whole table without marks, and with them, of two judges of which one's model answered."""
    verdicts, gold, cases, marks = drawn(40, 5)
    verdicts = pd.concat([verdicts, verdicts.assign(judge="other", choice=verdicts["choice"].iloc[::-1].to_numpy())])
    options = {"groups": GROUPS, "resamples": 50}
    plain, full = (rows_of("models", cases, verdicts, gold, marks=each, **options) for each in (None, marks))
    return plain, full


def test_the_rows_follow_those_of_the_regressions_which_do_not_change(
    both_tables: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    plain, full = both_tables
    assert "knowledge" not in set(plain["part"])
    pd.testing.assert_frame_equal(full.head(len(plain)), plain)
    own = full[len(plain) :]
    assert own["part"].eq("knowledge").all()
    assert own["judge"].tolist() == ["other", "small+packed"]
    assert own[["term", "level", "estimate", "marginal_effect"]].isna().all(axis=None)
    assert plain[["answered_by", "policy", "n_right", "n_wrong", "n_seen"]].isna().all(axis=None)
    [tested] = own.dropna(subset="p_value").to_dict("records")
    assert (tested["judge"], tested["family"], tested["p_adjusted"]) == ("small+packed", 1, tested["p_value"])


def test_the_sentence_tells_of_knowledge_only_where_it_is_in_the_table(
    both_tables: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    without, table = both_tables
    of_part = table["part"] == "knowledge"
    plain, unclear, clear = (
        TABLES["models"].says(each)
        for each in (without, table, table.assign(p_adjusted=table["p_adjusted"].mask(of_part, 0.01)))
    )
    assert "can answer" not in plain
    assert unclear == f"{plain} Cannot tell overall whether judges judge better what their own model can answer."
    assert clear.startswith(plain)
    assert "significantly more accurate where their own model can answer, small+packed most: +" in clear


def called(command: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)
