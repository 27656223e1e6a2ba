"""Two sides of a study: what is shared is compared. `mrb report --compare`: what a report keeps, what is refused."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mrb_lib as mrb
from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.report.comparison import Comparison, judge_pairs
from mrb_lib.report.pipeline import COMPARISON, compares, with_comparison
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import staged_folder
from mrb_lib.verdicts.basis import IN_REPORT, basis_of, read_basis, write_basis
from mrb_lib.verdicts.manifest import read_manifest, write_manifest
from mrb_lib.verdicts.store import load_verdicts, save_imported
from tests.pictures import png
from tests.report.conftest import PARAMETERS, ids_of

IDS = [f"c{i:02d}" for i in range(40)]


def write(
    folder: Path, *, ids: list[str] = IDS, kind: str = "clinical", name: str = "small", skill: float = 0.6,
    shade: int = 9,
) -> Path:  # fmt: skip
    """A benchmark whose gold is A but of c06, with the judges `m` and `n`; `m` is right with a probability `skill`."""
    rng = np.random.default_rng(len(ids))
    cases = pd.DataFrame({"case_id": ids, "question": ids, "response_a": "one", "response_b": "two"})
    cases["organ"] = np.where(np.arange(len(ids)) % 2, "eye", "chest")
    cases["images"] = [["x.png"] if case == "c04" else [] for case in ids]
    votes = pd.DataFrame({"case_id": ids, "annotator": "r", "dimension": "overall", "choice": "A"})
    meta = BenchmarkMeta(name, kind, ("overall",))  # type: ignore[arg-type]  # one of the kinds
    images = {"x.png": png(np.full((4, 4), shade, "uint8"))}
    save(Benchmark(meta, cases, votes[votes["case_id"] != "c06"], images), folder)
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
    """Five cases less, one more; c03 with another text, c04 with another image, c05 with another label; `m` worse."""
    folder = write(tmp_path / "then", ids=[*IDS[:35], "gone"], skill=0.2, name="before", shade=200)
    for name, case, column, text in (("cases", "c03", "response_a", "other"), ("annotations", "c05", "choice", "B")):
        rows = pd.read_parquet(folder / f"{name}.parquet")
        rows.loc[rows["case_id"] == case, column] = text
        rows.to_parquet(folder / f"{name}.parquet")
    return folder


def test_cases_judges_and_changes_are_side_by_side(now: Path, then: Path) -> None:
    compared = beside(now, then)
    shown = {change: (int(n), ids) for change, _, n, ids in compared.cases().text.rows}
    n = {change: count for change, (count, _) in shown.items()}
    assert n == {"same": 31, "unlabelled": 1, "gold": 1, "text": 1, "images": 1, "added": 5, "removed": 1}
    ids = {change: shown[change][1] for change in ("same", "text", "images", "gold", "unlabelled", "added")}
    assert [*ids.values()] == ["", "c03", "c04", "c05", "c06", "c35, c36, c37"]
    back = beside(then, now).changes["change"].value_counts()
    assert back.to_dict() == {**n, "added": 1, "removed": 5}, "from the other side"
    moves = compared.moves()
    assert moves["n"].tolist() == [31, 31]
    better = moves[moves["judge"] == "m"].iloc[0]
    shared = [case for case in IDS[:35] if case not in ("c03", "c04", "c05", "c06")]
    for side, column in ((now, "accuracy_now"), (then, "accuracy_then")):
        said = load_verdicts(side / "runs")
        own = said[(said["judge"] == "m") & said["case_id"].isin(shared)]
        assert better[column] == pytest.approx((own["choice"] == "A").mean())
    assert better["low"] > 0
    assert "1 of 2 judges changed significantly (Holm-adjusted): m +" in compared.sentence
    assert "31 cases are the same with the same gold label (others: " in compared.sentence
    assert "1 text" in compared.sentence and "5 added, 1 removed)." in compared.sentence


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
    assert len(compared.changes) == 20
    assert "removed" not in set(compared.changes["change"]), "whether a case that is gone met the filter is not known"


def test_what_cannot_be_compared_is_said_in_one_line(now: Path, tmp_path: Path) -> None:
    with pytest.raises(mrb.NotApplicable, match="nothing to compare with"):
        beside(now, "")
    strange = write(tmp_path / "strange", ids=["x1", "x2"], name="strange")
    with pytest.raises(mrb.InputError, match=r"shares no case with small \(2 cases of strange there, 40 here\)"):
        beside(now, strange)


def runs(*rows: str) -> pd.DataFrame:
    """Runs of `name run_id prompt_id prompt_hash`, shown as `name@run_id` where there are several of a name."""
    columns = ["name", "run_id", "prompt_id", "prompt_hash"]
    frame = pd.DataFrame([(*row.split(), "", "")[:4] for row in rows], columns=columns, dtype="str")
    several = frame["name"].duplicated(keep=False)
    return frame.assign(judge=frame["name"].mask(several, frame["name"] + "@" + frame["run_id"]))


TWO, THREE = ("m a plain aa", "m b strict bb"), ("m a plain aa", "m c strict cc")
PAIRED = {
    "each with itself": (
        ("m m1 plain aa", "n n1 plain aa", "o o1", "p p1"), ("m m2 plain bb", "n n1 plain aa", "o o1", "p p2 x cc"),
        [("m", "m", "another"), ("n", "n", "same"), ("o", "o", "same"), ("p", "p", "not known")],
    ),
    "one side alone": (("m 1",), ("n 1",), [("m", None, "only then"), (None, "n", "only now")]),
    "two prompts now": (("m old plain aa",), TWO, [("m", "m@a", "same"), ("m", "m@b", "another")]),
    "runs of both sides": (TWO, TWO, [("m@a", "m@a", "same"), ("m@b", "m@b", "same")]),
    "a run of both sides": (TWO[:1], TWO, [("m", "m@a", "same"), (None, "m@b", "only now")]),
    "another second run": (TWO, THREE, [("m@a", "m@a", "same"), ("m@b", "m@c", "another")]),
}  # fmt: skip


@pytest.mark.parametrize("kind", PAIRED)
def test_judges_are_paired_and_their_prompts_compared(kind: str) -> None:
    then, now, expected = PAIRED[kind]
    pairs = judge_pairs(runs(*then), runs(*now))[["judge_then", "judge_now", "prompt"]]
    assert [tuple(row) for row in pairs.astype(object).where(pairs.notna(), None).to_numpy()] == expected


TAKES = PARAMETERS + 'other_benchmark = ""\n'
SHOWS = """
from mrb_lib.report.comparison import other_side
then = other_side(benchmark, other_benchmark) if other_benchmark else None
drawn = then is not None and then.benchmark.meta.kind == "simulated"
publish_figure("sides", data=f"n\\n{0 if then is None else len(then.verdicts)}\\n", simulated=drawn)
"""


@pytest.fixture
def lab_of_three(two: Any, publish: str) -> Any:
    """Two plain notebooks, and one that compares and publishes how many verdicts the other side has."""
    two.notebook("three", publish + SHOWS, parameters=TAKES)
    return two


@pytest.fixture
def earlier(lab_of_three: Any) -> Path:
    """An earlier report of the same benchmark, whose judge has been judged anew since."""
    lab_of_three.report()
    old = lab_of_three.folder / "old"
    shutil.copytree(lab_of_three.out, old)
    shutil.rmtree(lab_of_three.out)
    lab_of_three.benchmark(judge="second")
    return old


def compared(lab: Any) -> str:
    return str((lab.out / "figures" / "sides.csv").read_text().split()[1])


def test_a_notebook_that_compares_is_left_out_where_there_is_nothing_to_compare_with(lab_of_three: Any) -> None:
    assert lab_of_three.report().executed == ("one", "two")
    assert not (lab_of_three.out / "pages" / "three.html").exists()


def test_an_earlier_report_is_compared_by_what_it_kept(lab_of_three: Any, earlier: Path) -> None:
    result = lab_of_three.report(compare=earlier)
    assert sorted(result.executed) == ["one", "three", "two"]
    assert compared(lab_of_three) == "4"
    assert set(read_basis(earlier / IN_REPORT).runs["judge"]) == {"first"}
    assert set(read_basis(lab_of_three.out / IN_REPORT).runs["judge"]) == {"second"}
    for _, content in lab_of_three.states().values():
        assert str(earlier).encode() not in content


def test_only_what_compares_runs_again_when_the_other_side_changes(lab_of_three: Any, earlier: Path) -> None:
    lab_of_three.report(compare=earlier)
    assert lab_of_three.report(compare=earlier).executed == ()
    moved = lab_of_three.folder / "moved"
    earlier.rename(moved)
    assert lab_of_three.report(compare=moved).executed == (), "where it lies shapes nothing"
    verdicts = moved / IN_REPORT / "verdicts.parquet"
    pd.read_parquet(verdicts).head(3).to_parquet(verdicts)
    assert lab_of_three.report(compare=moved).executed == ("three",)
    assert compared(lab_of_three) == "3"
    assert lab_of_three.report().skipped == ("one", "two")
    assert "sides" not in ids_of(lab_of_three.out / "figures"), "it is gone where nothing is compared"


def test_another_benchmark_or_other_runs_can_be_compared_with(lab_of_three: Any) -> None:
    other = lab_of_three.folder / "other"
    shutil.copytree(lab_of_three.bench, other)
    lab_of_three.report(compare=other)
    assert compared(lab_of_three) == "4"
    rows = pd.DataFrame({"judge": "first", "case_id": ["c1"], "dimension": "overall", "order": "AB", "choice": "B"})
    save_imported(rows, lab_of_three.folder / "runs", benchmark="small", kind="general", source="table")
    lab_of_three.report(compare=lab_of_three.folder / "runs")
    assert compared(lab_of_three) == "1"


def test_a_report_is_not_compared_with_itself_nor_with_what_shares_no_case(lab_of_three: Any, earlier: Path) -> None:
    lab_of_three.report()
    before = lab_of_three.states()
    strange = lab_of_three.folder / "strange"
    loaded = load(lab_of_three.bench)
    with staged_folder(strange) as stage:
        save(Benchmark(loaded.meta, loaded.cases.assign(question="Another?"), loaded.annotations), stage)
    (lab_of_three.folder / "empty").mkdir()
    shutil.rmtree(earlier / IN_REPORT)
    for old, message in {
        lab_of_three.out: "is the folder that is written to",
        strange: "shares no case with small (4 cases of small there, 4 here; 4 ids occur in both, with other texts",
        lab_of_three.folder / "nowhere": "is neither an earlier report nor a benchmark nor a folder of runs",
        lab_of_three.folder / "empty": "is neither an earlier report nor a benchmark nor a folder of runs",
        earlier: "does not hold what it was made from; make it again",
    }.items():
        with pytest.raises(InputError) as refused:
            lab_of_three.report(compare=old)
        assert message in str(refused.value)
        assert "\n" not in str(refused.value)
    assert lab_of_three.states() == before, "nothing was written"


def test_a_page_that_compares_is_added_whatever_else_is_run(lab_of_three: Any, earlier: Path) -> None:
    assert lab_of_three.report(compare=earlier, only=["one"]).executed == ("one", "three")
    plain = [lab_of_three.notebooks / "one.ipynb"]
    assert with_comparison(plain, earlier) == [*plain, COMPARISON]
    assert compares(COMPARISON)
    with pytest.raises(InputError, match="parameter other_benchmark: the report sets it; use --compare"):
        lab_of_three.report(parameters={"other_benchmark": "x"})


def test_a_page_that_compares_with_simulated_data_says_so_and_others_do_not(lab_of_three: Any) -> None:
    now = load(lab_of_three.bench)
    simulated = lab_of_three.folder / "simulated"
    with staged_folder(simulated) as stage:
        save(replace(now, meta=replace(now.meta, kind="simulated")), stage)
    lab_of_three.report(compare=simulated)
    says = {name: (lab_of_three.out / "pages" / f"{name}.html").read_text() for name in ("one", "three")}
    assert '<aside class="simulated"' in says["three"]
    assert '<aside class="simulated"' not in says["one"]
