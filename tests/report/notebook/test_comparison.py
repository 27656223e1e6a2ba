"""Two sides in one notebook: what is named is found, what is shared is compared, and either side's mark is on all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.report.notebook import open_workspace
from mrb_lib.report.notebook.absent import Absent, reason_of
from mrb_lib.report.notebook.comparison import Comparison, compare, conclusion
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.basis import IN_REPORT, basis_of, write_basis
from mrb_lib.verdicts.manifest import read_manifest, write_manifest
from mrb_lib.verdicts.store import load_verdicts, save_imported

IDS = [f"c{i:02d}" for i in range(40)]


def write(
    folder: Path, *, ids: list[str] = IDS, kind: str = "clinical", name: str = "small", skill: float = 0.6
) -> Path:
    """A benchmark whose gold is A, with the judges `m` and `n`; `m` is right with a probability `skill`."""
    rng = np.random.default_rng(len(ids))
    cases = pd.DataFrame({"case_id": ids, "question": ids, "response_a": "one", "response_b": "two"})
    cases["organ"] = np.where(np.arange(len(ids)) % 2, "eye", "chest")
    votes = pd.DataFrame({"case_id": ids, "annotator": "r", "dimension": "overall", "choice": "A"})
    meta = BenchmarkMeta(name, kind, ("overall",))
    save(Benchmark(meta, cases, votes), folder)
    rows = [
        (judge, case, order, "A" if rng.random() < chance else "B")
        for judge, chance in (("m", skill), ("n", 0.5)) for case in ids for order in ("AB", "BA")
    ]  # fmt: skip
    said = pd.DataFrame(rows, columns=["judge", "case_id", "order", "choice"]).assign(dimension="overall")
    save_imported(said, folder / "runs", benchmark=name, kind=kind, source="test")
    return folder


def beside(now: Path, then: Path | str, runs: Path | str = "", **options: object) -> Comparison:
    w = open_workspace(str(now), resamples=100, **options)
    return compare(w, str(now), "", str(then), str(runs), judges=str(options.get("judges", "")))


@pytest.fixture
def now(tmp_path: Path) -> Path:
    return write(tmp_path / "now")


@pytest.fixture
def then(tmp_path: Path) -> Path:
    """Five cases less, one more, one with another text; `m` was worse."""
    folder = write(tmp_path / "then", ids=[*IDS[:35], "gone"], skill=0.2, name="before")
    cases = pd.read_parquet(folder / "cases.parquet")
    cases.loc[cases["case_id"] == "c03", "response_a"] = "another one"
    cases.to_parquet(folder / "cases.parquet")
    return folder


def test_cases_judges_and_moves_are_said_side_by_side(now: Path, then: Path) -> None:
    compared = beside(now, then)
    counts = compared.counts()
    n = dict(zip(counts["change"], counts["n"], strict=True))
    assert n == {"same": 34, "unlabelled": 0, "gold": 0, "text": 1, "images": 0, "added": 5, "removed": 1}
    moves = compared.moved()
    assert moves["n"].tolist() == [34, 34]
    better = moves[moves["judge"] == "m"].iloc[0]
    verdicts = {side: load_verdicts(side / "runs") for side in (now, then)}
    shared = [case for case in IDS[:35] if case != "c03"]
    for side, column in ((now, "accuracy_now"), (then, "accuracy_then")):
        said = verdicts[side]
        own = said[(said["judge"] == "m") & said["case_id"].isin(shared)]
        assert better[column] == pytest.approx((own["choice"] == "A").mean())
    assert better["difference"] > 0.1
    assert better["low"] > 0
    listed = compared.judges().set_index("judge")
    assert listed["n_then"].tolist() == [36, 36]
    assert listed["n_now"].tolist() == [40, 40]
    said = conclusion(moves, counts, compared.pairs, dimension="overall")
    assert "1 of 2 judges of both sides moved beyond chance (Holm-adjusted): m by +" in said
    assert "34 cases are the same" in said
    assert "1 with another text, 5 only now, 1 only then" in said


def test_a_report_stands_for_what_it_was_made_from(now: Path, then: Path, tmp_path: Path) -> None:
    write_basis(basis_of(load(then), then / "runs"), tmp_path / "report" / IN_REPORT)
    from_report, from_folder = beside(now, tmp_path / "report"), beside(now, then)
    pd.testing.assert_frame_equal(from_report.moved("organ"), from_folder.moved("organ"))
    pd.testing.assert_frame_equal(from_report.counts(), from_folder.counts())
    pd.testing.assert_frame_equal(from_report.judges(), from_folder.judges())
    with pytest.raises(InputError, match="keeps its own verdicts; leave it out"):
        beside(now, tmp_path / "report", then / "runs")


def test_two_prompts_of_one_judge_are_compared_by_naming_its_runs(now: Path, tmp_path: Path) -> None:
    said = load_verdicts(now / "runs", load(now).cases)
    one = said[said["judge"] == "m"].assign(choice="A")
    save_imported(one, tmp_path / "strict", benchmark="small", kind="clinical", source="test")
    for folder, prompt in ((now / "runs" / "m", "plain"), (tmp_path / "strict" / "m", "strict")):
        write_manifest(folder, replace(read_manifest(folder), prompt_id=prompt, prompt_hash=prompt * 4))
    for named in ((tmp_path / "strict", ""), ("", tmp_path / "strict")):
        compared = beside(now, *named)
        assert compared.moved()["judge"].tolist() == ["m"]
        assert compared.moved()["accuracy_then"].tolist() == [1.0]
        assert dict(zip(compared.pairs["judge"], compared.pairs["prompt"], strict=True)) == {
            "m": "another", "n": "only now"
        }  # fmt: skip
        said_of = conclusion(compared.moved(), compared.counts(), compared.pairs, dimension="overall")
        assert "1 judge is asked with another prompt. Only now: n." in said_of


def test_everything_says_simulated_where_either_side_is(now: Path, then: Path, tmp_path: Path) -> None:
    invented = write(tmp_path / "invented", kind="simulated", name="made-up")
    for one, other in ((now, invented), (invented, now)):
        w = beside(one, other).workspace
        assert w.simulated
        assert "SIMULATED data: the cases, responses and annotations of made-up" in w.note
        shown = replace(w, out=str(tmp_path / one.name))
        shown.table("sides", beside(one, other).sides(), title="Sides", caption="Both.")
        assert "SIMULATED" in (tmp_path / one.name / "tables" / "sides.csv").read_text()
    assert beside(now, then).workspace.note == ""


def test_a_filter_and_chosen_judges_leave_the_others_out(now: Path, then: Path) -> None:
    compared = beside(now, then, where="organ == 'eye'", judges="m")
    assert compared.moved()["judge"].tolist() == ["m"]
    counts = compared.counts().set_index("change")["n"]
    assert counts["same"] + counts["text"] + counts["added"] == 20
    assert "removed" not in counts.index, "whether a case that is gone met the filter is not known"


def test_without_another_side_everything_is_absent_with_the_reason(now: Path) -> None:
    compared = beside(now, "")
    for frame in (compared.sides(), compared.counts(), compared.judges(), compared.moved(), *compared.words().values()):
        assert isinstance(frame, Absent)
        assert "nothing to compare with" in reason_of(frame)
    assert not compared.workspace.simulated


def test_sides_without_a_shared_case_are_refused_in_one_line(now: Path, tmp_path: Path) -> None:
    strange = write(tmp_path / "strange", ids=["x1", "x2"], name="strange")
    with pytest.raises(InputError, match=r"shares no case with small \(2 cases of strange there, 40 here\)") as refused:
        beside(now, strange)
    assert "\n" not in str(refused.value)


def test_a_judge_on_neither_side_twice_leaves_the_cases_compared(now: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other")
    for judge in ("m", "n"):
        folder = other / "runs" / judge
        write_manifest(folder, replace(read_manifest(folder), judge=f"{judge}-old"))
        part = pd.read_parquet(folder / "part-00000.parquet").assign(judge=f"{judge}-old")
        part.to_parquet(folder / "part-00000.parquet")
    compared = beside(now, other)
    assert reason_of(compared.moved()) == "no judge is on both sides"
    assert compared.counts()["n"].tolist() == [40, 0, 0, 0, 0, 0, 0]
