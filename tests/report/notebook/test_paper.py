"""The frames and texts of a paper's pages: in order, complete, and nothing made up."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.judges.prompt_files import load_prompt
from mrb_lib.report.notebook import paper
from mrb_lib.report.notebook.absent import Absent, reason_of
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import DIMENSIONS
from mrb_lib.verdicts.manifest import Manifest

CASES = pd.DataFrame(
    {
        "case_id": ["c2", "c1"],
        "question": ["Which side?", "Where?"],
        "response_a": ["left", "apex"],
        "response_b": ["right", "base"],
        "images": [[], ["x.png"]],
    }
)
VOTES = pd.DataFrame([("c1", "r1", "overall", "A")], columns=["case_id", "annotator", "dimension", "choice"])
STEPS = pd.DataFrame([("start", 9, 7, "duplicate", 2)], columns=["step", "n_in", "n_out", "reason", "n"])


def benchmark(*categories: str) -> Benchmark:
    meta = BenchmarkMeta("made", "general", DIMENSIONS, categories or ("A", "B", "tie"))
    return Benchmark(meta, CASES, VOTES)


def scores(judges: dict[str, float], kind: str = "judge", subfield: str | None = None) -> list[dict[str, object]]:
    ends = {"by": None, "subfield": subfield, "n": 9, "coverage": 1.0, "kind": kind}
    return [{"judge": name, "accuracy": value, "low": 0.1, "high": 0.9, **ends} for name, value in judges.items()]


class TestTheFunnel:
    def test_is_read_from_the_work_folder(self, tmp_path: Path) -> None:
        STEPS.assign(more=1).to_parquet(tmp_path / "funnel.parquet")
        assert paper.funnel(str(tmp_path)).to_dict("records") == STEPS.to_dict("records")

    def test_is_absent_with_a_reason_where_no_folder_is_named(self) -> None:
        assert "no work folder is named" in reason_of(paper.funnel(""))

    def test_that_is_not_one_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"funnel\.parquet: is missing"):
            paper.funnel(str(tmp_path))
        STEPS.drop(columns="n_out").to_parquet(tmp_path / "funnel.parquet")
        with pytest.raises(InputError, match="has no column 'n_out'"):
            paper.funnel(str(tmp_path))


def test_every_neighbour_has_a_source_and_what_it_does_not_say_is_missing() -> None:
    table = paper.neighbours()
    assert table["name"].is_unique
    assert table["source"].str.fullmatch(r"arXiv \d{4}\.\d{5}").all()
    assert set(table["medical"]) == {"yes", "no"}
    assert table["annotators"].isna().any()
    assert table[["name", "size", "modality", "form"]].notna().all(axis=None)


class TestTheMainTable:
    @pytest.fixture
    def table(self) -> pd.DataFrame:
        judges = {"m": 0.6, "o1": 0.5, "o2": 0.7, "p": 0.8, "z": 0.9, "jury-of": 0.95}
        rows = [{**row, "dimension": name} for name in ("accuracy", "overall") for row in scores(judges)]
        rows += [{**row, "dimension": "overall"} for row in scores({"always A": 0.99}, "reference")]
        means = [*scores(judges), *scores({"always A": 0.99}, "reference")]
        rows += [{**row, "dimension": "average"} for row in means]
        groups = pd.DataFrame(
            {"judge": list(judges), "group": ["medical", "open", "open", "proprietary", "zebra", "jury"]}
        )
        return paper.on_all_dimensions(pd.DataFrame(rows), groups)

    def test_stands_by_group_then_by_the_average_with_references_last(self, table: pd.DataFrame) -> None:
        rows = table[table["dimension"] == "average"]
        assert list(zip(rows["group"], rows["judge"], strict=True)) == [
            ("open", "o2"), ("open", "o1"), ("proprietary", "p"), ("medical", "m"), ("zebra", "z"),
            ("jury", "jury-of"), ("reference", "always A"),
        ]  # fmt: skip
        assert table["dimension"].tolist()[:3] == ["accuracy", "overall", "average"]

    def test_is_absent_where_a_part_is(self) -> None:
        assert reason_of(paper.on_all_dimensions(Absent("why"), pd.DataFrame())) == "why"

    def test_concludes_with_the_first_of_all_and_of_each_group(self, table: pd.DataFrame) -> None:
        agreement = pd.DataFrame({"percent_agreement": [0.7, 0.8]})
        said = paper.conclusion(table, agreement, policy="official")
        assert "Of 5 judges z (zebra) has the highest accuracy on average over 2 dimensions" in said
        assert "p of proprietary (80%), o2 of open (70%), m of medical (60%)" in said
        assert "always A" not in said
        assert "jury-of" not in said
        assert paper.not_competing(table) == ["jury-of", "always A"]
        assert said.endswith("on 70% to 80% of the cases, by dimension.")


def test_pairs_are_those_that_a_file_of_groups_states_among_the_judges(tmp_path: Path) -> None:
    file = tmp_path / "groups.csv"
    file.write_text("judge,group,base\nb,open,\nt,medical,b\ngone,open,b\n")
    assert paper.stated_pairs(str(file), ["b", "t"]) == [("b", "t")]
    file.write_text("judge,group\nb,open\n")
    assert paper.stated_pairs(str(file), ["b", "t"]) is None
    assert paper.stated_pairs("", ["b"]) is None
    assert paper.stated_pairs(str(tmp_path / "groups.toml"), ["b"]) is None


class TestThePrompt:
    def test_is_that_of_the_run_once_for_all_judges_that_were_asked_it(self) -> None:
        prompt = load_prompt("official-form")
        spec = {"engine": "endpoint", "dimensions": list(DIMENSIONS), "choices": ["A", "B"], "temperature": 0.1}
        asked = {"prompt_id": prompt.id, "prompt_hash": prompt.hash, "prompt_text": prompt.text, "spec": spec}
        runs = [Manifest("r", "j", **asked), Manifest("s", "k", **asked), Manifest("t", "longer")]
        said = paper.prompts_sent(runs, benchmark("A", "B"), "overall")
        assert said.startswith("Case c1, order AB, dimension overall.")
        assert "j (prompt official-form, temperature 0.1), k (prompt official-form, temperature 0.1): " in said
        assert said.count("exactly 7 keys") == 1
        assert '"tie"' not in said
        assert "longer: this judge takes no prompt." in said

    def test_that_no_run_holds_is_not_made_up_but_named_for_what_it_is(self) -> None:
        said = paper.prompts_sent([Manifest("r", "j", source="a table")], benchmark("A", "B"), "overall")
        assert "j: the run does not say what was asked." in said
        assert "would be asked by --prompt official-form" in said
        assert '"tie"' not in said
        assert '"tie"' in paper.prompts_sent([], benchmark(), "overall")


def test_what_no_case_states_is_named() -> None:
    counts = pd.DataFrame({"column": ["organ"], "value": ["eye"], "n_cases": [2]})
    assert paper.unstated(counts, ["organ", "question_type"]) == "Not shown, since no case states it: question type."
    assert paper.unstated(counts, ["organ"]) == ""
