"""Groups of judges in a notebook: told from the runs, stated by a file, and chosen by."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.report.notebook import conclusions, open_workspace
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.store import save_imported

JUDGES = ("Qwen2-VL-7B", "Qwen2-VL-7B-dpo", "Lingshu-7B", "HuatuoGPT", "somebody")


@pytest.fixture
def bench(tmp_path: Path) -> str:
    ids = [f"c{i}" for i in range(24)]
    cases = pd.DataFrame({"case_id": ids, "question": ids, "response_a": "a", "response_b": "b"})
    votes = pd.DataFrame({"case_id": ids, "annotator": "r", "dimension": "overall", "choice": ["A", "B"] * 12})
    save(Benchmark(BenchmarkMeta("b", "general", ("overall",)), cases, votes), tmp_path / "b")
    rows = [
        (judge, case, "overall", "AB", 0, "none", "AB"[(i * (j + 2)) % 7 % 2], "ok")
        for j, judge in enumerate(JUDGES)
        for i, case in enumerate(ids)
    ]
    columns = ["judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "status"]
    save_imported(
        pd.DataFrame(rows, columns=columns), tmp_path / "b" / "runs", benchmark="b", kind="general", source="t"
    )
    return str(tmp_path / "b")


def test_groups_are_told_from_the_runs_and_reach_the_tables(bench: str) -> None:
    w = open_workspace(bench, resamples=40)
    groups = w.groups().set_index("judge")["group"]
    assert groups.to_dict() == {
        "HuatuoGPT": "medical", "Lingshu-7B": "medical", "Qwen2-VL-7B": "open", "Qwen2-VL-7B-dpo": "open",
        "somebody": "other",
    }  # fmt: skip
    assert "Lingshu-7B as lingshu-7b" in w.group_notes()
    (row,) = w.analyze("groups").to_dict("records")
    assert (row["group_1"], row["group_2"], row["n_judges_1"], row["n_judges_2"]) == ("open", "medical", 2, 2)
    assert w.analyze("gains")[["base", "tuned"]].to_numpy().tolist() == [["Qwen2-VL-7B", "Qwen2-VL-7B-dpo"]]


def test_judges_of_a_group_can_be_chosen(bench: str) -> None:
    assert open_workspace(bench, judges="group:medical, somebody").judges == ["HuatuoGPT", "Lingshu-7B", "somebody"]
    with pytest.raises(InputError, match="group 'critic'"):
        open_workspace(bench, judges="group:critic")


def test_a_file_of_groups_holds_also_where_its_judges_are_not_shown(bench: str, tmp_path: Path) -> None:
    file = tmp_path / "groups.toml"
    file.write_text('somebody = "ours"\n', encoding="utf-8")
    assert open_workspace(bench, groups=str(file), judges="group:ours").judges == ["somebody"]
    shown = open_workspace(bench, groups=str(file), judges="Lingshu-7B").groups()
    assert shown["group"].tolist() == ["medical"]
    file.write_text('nobody = "ours"\n', encoding="utf-8")
    with pytest.raises(InputError, match="names no judge"):
        open_workspace(bench, groups=str(file))


def test_the_conclusions_about_groups_say_what_there_is_not(bench: str) -> None:
    w = open_workspace(bench, judges="group:medical", resamples=40)
    said = [
        w.conclude(make, w.analyze(table), dimension="overall").text
        for make, table in ((conclusions.groups, "groups"), (conclusions.gains, "gains"))
    ]
    assert said == [
        "The judges are of fewer than two groups.",
        "No judge here is known to be trained further from another.",
    ]
