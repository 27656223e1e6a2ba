"""Two sides of a study: what is named is found, what is shared is compared, and either side's mark is on all."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mrb_lib as mrb
from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.report.comparison import Comparison, case_changes, judge_pairs
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
    meta = BenchmarkMeta(name, kind, ("overall",))  # type: ignore[arg-type]  # one of the kinds
    save(Benchmark(meta, cases, votes), folder)
    rows = [
        (judge, case, order, "A" if rng.random() < chance else "B")
        for judge, chance in (("m", skill), ("n", 0.5)) for case in ids for order in ("AB", "BA")
    ]  # fmt: skip
    said = pd.DataFrame(rows, columns=["judge", "case_id", "order", "choice"]).assign(dimension="overall")
    save_imported(said, folder / "runs", benchmark=name, kind=kind, source="test")
    return folder


def beside(now: Path, then: Path | str, **options: object) -> Comparison:
    return mrb.compare(mrb.open(now, resamples=100, **options), str(then))  # type: ignore[arg-type]  # of `open`


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


def test_cases_judges_and_changes_are_side_by_side(now: Path, then: Path) -> None:
    compared = beside(now, then)
    shown = {change: (int(n), ids) for change, _, n, ids in compared.cases().text.rows}
    n = {change: count for change, (count, _) in shown.items()}
    assert n == {"same": 34, "unlabelled": 0, "gold": 0, "text": 1, "images": 0, "added": 5, "removed": 1}
    assert sum(n.values()) == len({*IDS, "gone"})
    assert [shown[change][1] for change in ("same", "text", "added")] == ["", "c03", "c35, c36, c37"]
    moves = compared.moves()
    assert moves["n"].tolist() == [34, 34]
    better = moves[moves["judge"] == "m"].iloc[0]
    shared = [case for case in IDS[:35] if case != "c03"]
    for side, column in ((now, "accuracy_now"), (then, "accuracy_then")):
        said = load_verdicts(side / "runs")
        own = said[(said["judge"] == "m") & said["case_id"].isin(shared)]
        assert better[column] == pytest.approx((own["choice"] == "A").mean())
    assert better["low"] > 0
    assert "1 of 2 judges changed significantly (Holm-adjusted): m +" in compared.sentence
    assert "34 cases are the same with the same gold label (others: 1 text, 5 added, 1 removed)." in compared.sentence


def test_the_page_shows_all_of_it_in_percent(now: Path, then: Path) -> None:
    compared = beside(now, then)
    rows = {row[0]: row[1:] for row in compared.sides().text.rows}
    assert rows == {
        "benchmark": ("before", "small"), "kind": ("clinical", "clinical"), "cases": ("36", "40"),
        "judges": ("2", "2"), "verdicts": ("144", "160"),
    }  # fmt: skip
    assert [row[0] for row in compared.judges().text.rows] == ["m", "n"]
    first = compared.moves().iloc[0]
    assert compared.moved().text.rows[0][2:4] == (
        f"{100 * first['accuracy_then']:.1f}",
        f"{100 * first['accuracy_now']:.1f}",
    )
    assert {row[1] for row in compared.moved("organ").text.rows} == {"eye", "chest"}
    assert [names for names, _ in compared.plot().boxes()] == [{"judge": name} for name in compared.moves()["judge"]]


def test_the_gold_label_of_another_dimension_changes_nothing(now: Path, tmp_path: Path) -> None:
    shutil.copytree(now, tmp_path / "then")
    for folder, choice in ((now, "A"), (tmp_path / "then", "B")):
        votes = pd.read_parquet(folder / "annotations.parquet")
        more = votes.assign(dimension="accuracy", choice=choice)
        pd.concat([votes, more], ignore_index=True).to_parquet(folder / "annotations.parquet")
        meta = (folder / "benchmark.toml").read_text()
        (folder / "benchmark.toml").write_text(meta.replace('"overall"', '"accuracy", "overall"'))
    assert beside(now, tmp_path / "then").changes["change"].value_counts().to_dict() == {"same": 40}


def test_a_report_stands_for_what_it_was_made_from(now: Path, then: Path, tmp_path: Path) -> None:
    write_basis(basis_of(load(then), then / "runs"), tmp_path / "report" / IN_REPORT)
    from_report, from_folder = beside(now, tmp_path / "report"), beside(now, then)
    pd.testing.assert_frame_equal(from_report.moves("organ"), from_folder.moves("organ"))
    pd.testing.assert_frame_equal(from_report.changes, from_folder.changes)
    pd.testing.assert_frame_equal(from_report.pairs, from_folder.pairs)


def test_two_prompts_of_one_judge_are_compared_by_naming_its_runs(now: Path, tmp_path: Path) -> None:
    said = load_verdicts(now / "runs", load(now).cases)
    one = said[said["judge"] == "m"].assign(choice="A")
    save_imported(one, tmp_path / "strict", benchmark="small", kind="clinical", source="test")
    for folder, prompt in ((now / "runs" / "m", "plain"), (tmp_path / "strict" / "m", "strict")):
        write_manifest(folder, replace(read_manifest(folder), prompt_id=prompt, prompt_hash=prompt * 4))
    compared = beside(now, tmp_path / "strict")
    assert compared.moves()["judge"].tolist() == ["m"]
    assert compared.moves()["accuracy_then"].tolist() == [1.0]
    assert dict(zip(compared.pairs["judge"], compared.pairs["prompt"], strict=True)) == {
        "m": "another",
        "n": "only now",
    }
    assert "1 judge is asked with another prompt." in compared.sentence


def test_everything_says_simulated_where_either_side_is(now: Path, then: Path, tmp_path: Path) -> None:
    invented = write(tmp_path / "invented", kind="simulated", name="made-up")
    for one, other in ((now, invented), (invented, now)):
        shown = beside(one, other).sides()
        assert "SIMULATED data: the cases, responses and annotations of made-up" in shown.caption
    assert "SIMULATED" not in beside(now, then).sides().caption


def test_a_filter_and_chosen_judges_leave_the_others_out(now: Path, then: Path) -> None:
    compared = beside(now, then, where="organ == 'eye'", judges="m")
    assert compared.moves()["judge"].tolist() == ["m"]
    counts = compared.changes["change"].value_counts()
    assert counts["same"] + counts["text"] + counts["added"] == 20
    assert "removed" not in counts, "whether a case that is gone met the filter is not known"


def test_what_cannot_be_compared_is_said_in_one_line(now: Path, tmp_path: Path) -> None:
    with pytest.raises(mrb.NotApplicable, match="nothing to compare with"):
        beside(now, "")
    strange = write(tmp_path / "strange", ids=["x1", "x2"], name="strange")
    with pytest.raises(mrb.InputError, match=r"shares no case with small \(2 cases of strange there, 40 here\)"):
        beside(now, strange)


def digests(**texts: str) -> pd.DataFrame:
    rows = [(case, *value.split("/")) for case, value in texts.items()]
    return pd.DataFrame(rows, columns=["case_id", "text", "images"], dtype="str")


def gold(**labels: str | None) -> pd.DataFrame:
    return pd.DataFrame({"case_id": list(labels), "choice": list(labels.values())}).astype("str")


THEN = digests(a="1/x", b="2/x", c="3/x", d="4/x", e="5/x", g="7/x", h="8/x")
NOW = digests(h="8/x", a="1/x", b="2/x", c="3!/x", d="4/y", f="6/x", g="7/x")


def test_each_case_has_the_change_that_happened_to_it() -> None:
    before = gold(a="A", b="A", c="A", d="A", e="A", h="B")
    after = gold(a="A", b="B", c="B", d="A", f="A")
    changes = case_changes(THEN, NOW, before, after)
    assert dict(zip(changes["case_id"], changes["change"], strict=True)) == {
        "a": "same", "b": "gold", "c": "text", "d": "images", "e": "removed", "f": "added", "g": "unlabelled",
        "h": "gold",
    }  # fmt: skip
    assert changes["case_id"].tolist() == [*NOW["case_id"], "e"]


def test_swapping_the_sides_swaps_added_and_removed_only() -> None:
    labels = gold(a="A", b="B", h="tie")
    there, back = (
        case_changes(*sides, labels, labels).set_index("case_id")["change"] for sides in ((THEN, NOW), (NOW, THEN))
    )
    swapped = back.replace({"added": "removed", "removed": "added"})
    assert there.sort_index().equals(swapped.sort_index())


def runs(*rows: tuple[str, str, str, str]) -> pd.DataFrame:
    """Runs of `name, run_id, prompt_id, prompt_hash`, shown as `name@run_id` where there are several of a name."""
    frame = pd.DataFrame(rows, columns=["name", "run_id", "prompt_id", "prompt_hash"], dtype="str")
    several = frame["name"].duplicated(keep=False)
    return frame.assign(judge=frame["name"].mask(several, frame["name"] + "@" + frame["run_id"]))


def listed(then: pd.DataFrame, now: pd.DataFrame) -> list[tuple[object, ...]]:
    pairs = judge_pairs(then, now)[["judge_then", "judge_now", "prompt"]]
    return [tuple(None if pd.isna(value) else value for value in row) for row in pairs.itertuples(index=False)]


def test_a_judge_is_paired_with_itself_and_its_prompt_is_compared() -> None:
    then = runs(("m", "m-1", "plain", "aa"), ("n", "n-1", "plain", "aa"), ("o", "o-1", "", ""), ("p", "p-1", "", ""))
    now = runs(("m", "m-2", "plain", "bb"), ("n", "n-1", "plain", "aa"), ("o", "o-1", "", ""), ("p", "p-2", "x", "cc"))
    assert listed(then, now) == [
        ("m", "m", "another"), ("n", "n", "same"), ("o", "o", "same"), ("p", "p", "not known")
    ]  # fmt: skip


def test_a_judge_of_one_side_is_listed_alone() -> None:
    assert listed(runs(("m", "1", "", "")), runs(("n", "1", "", ""))) == [
        ("m", None, "only then"), (None, "n", "only now")
    ]  # fmt: skip


def test_two_prompts_in_one_folder_are_each_compared_with_the_judge_then() -> None:
    now = runs(("m", "a", "plain", "aa"), ("m", "b", "strict", "bb"))
    assert listed(runs(("m", "old", "plain", "aa")), now) == [("m", "m@a", "same"), ("m", "m@b", "another")]


def test_runs_that_are_on_both_sides_are_paired_with_themselves_only() -> None:
    two = runs(("m", "a", "plain", "aa"), ("m", "b", "strict", "bb"))
    assert listed(two, two) == [("m@a", "m@a", "same"), ("m@b", "m@b", "same")]
    assert listed(runs(("m", "a", "plain", "aa")), two) == [("m", "m@a", "same"), (None, "m@b", "only now")]
    three = runs(("m", "a", "plain", "aa"), ("m", "c", "strict", "cc"))
    assert listed(two, three) == [("m@a", "m@a", "same"), ("m@b", "m@c", "another")]


def test_the_label_says_both_names_where_they_differ() -> None:
    pairs = judge_pairs(runs(("m", "old", "plain", "aa")), runs(("m", "a", "p", "aa"), ("m", "b", "q", "bb")))
    assert pairs["judge"].tolist() == ["m@a (then m)", "m@b (then m)"]
    assert pairs["prompt_then"].tolist() == ["plain (aa)", "plain (aa)"]
