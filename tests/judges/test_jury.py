"""Tests of what juries promise: their rules, whose verdicts they count, and whom they ask."""

import itertools
import json
import shutil
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.jury import Jury, parse_jury
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.runs.outcomes import RunSummary
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.validation import conform
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.store import append_part, load_verdicts, read_run, run_folders, save_imported

from ..runs.scripted import Scripted, comparable, little_benchmark, use

VOTES = ("A", "B", "tie", None)
ROW = ["case_id", "dimension", "order"]


@pytest.fixture
def little(tmp_path: Path) -> Benchmark:
    return little_benchmark(tmp_path / "bench")


def decide(
    folder: Path,
    name: str,
    votes: list[tuple[str | None, ...]],
    p_a: list[float] | None = None,
    bounds: tuple[str | None, ...] = (None,) * 7,
) -> pd.DataFrame:
    """The jury's verdicts on cases 0, 1, ... about which its members a, b, c, ... voted; "-" is no verdict."""
    members = {}
    for place, letter in enumerate("abcdefg"[: len(votes[0])]):
        members[letter] = folder / letter
        rows = [(str(case), row[place]) for case, row in enumerate(votes) if row[place] != "-"]
        frame = pd.DataFrame(rows, columns=["case_id", "choice"]).astype("str")
        frame = frame.assign(judge=letter, dimension="overall", order="AB")
        if p_a is not None:
            frame = frame.assign(p_a=p_a[place], p_a_bound=pd.Series([bounds[place]] * len(frame), dtype="str"))
        shutil.rmtree(members[letter], ignore_errors=True)
        members[letter].mkdir(parents=True)
        append_part(members[letter], conform(frame, "verdicts", "test"))
    jury = Jury(name, members)
    jury.load()
    keys = {"case_id": [str(case) for case in range(len(votes))], "dimension": "overall", "order": "AB", "repeat": 0}
    found = jury.judge(pd.DataFrame({**keys, "probe": "none"}))
    picks = {"first": "A", "second": "B"}
    return found.set_index("case_id").assign(choice=lambda frame: frame["pick"].replace(picks).astype(object))


def chosen(found: pd.DataFrame) -> list[str | None]:
    return [None if pd.isna(choice) else str(choice) for choice in found["choice"]]


def test_the_majority_of_three_for_every_combination_of_votes(tmp_path: Path) -> None:
    votes = list(itertools.product(VOTES, repeat=3))
    found = decide(tmp_path, "consensus-of:a,b,c", votes)
    for row, choice, status in zip(votes, chosen(found), found["status"], strict=True):
        counts = Counter(vote for vote in row if vote is not None)
        modes = [vote for vote, count in counts.items() if count == max(counts.values())]
        assert choice == (None if not modes else modes[0] if len(modes) == 1 else "tie"), row
        assert status == ("unparsed" if choice is None else "ok")


def test_a_verdict_waits_for_a_member_that_is_asked_and_has_none(tmp_path: Path) -> None:
    votes = [("A", "-", "A"), ("A", "A", "-"), ("A", "B", "-"), ("A", "B", "B")]
    assert decide(tmp_path, "consensus-of:a,b,c", votes).index.tolist() == ["3"]


def test_the_probability_is_the_mean_of_those_asked_if_all_gave_one(tmp_path: Path) -> None:
    votes = [("A", "A", "B")]
    assert decide(tmp_path, "consensus-of:a,b,c", votes, [0.9, 0.6, 0.3])["p_first"].tolist() == [pytest.approx(0.6)]
    assert decide(tmp_path, "consensus-of:a,b,c", votes, [0.9, 0.6, np.nan])["p_first"].isna().all()
    bound = decide(tmp_path, "consensus-of:a,b", [("A", "A")], [0.8, 0.8], (None, "at least"))
    assert bound["p_first"].isna().all(), "a bound is no probability"


@pytest.mark.parametrize(
    "name", ["consensus-of:", "consensus-of:a", "consensus-of:a,a", "consensus-of:a,,b", "consensus-of:a,consensus-of"]
)
def test_a_jury_that_is_not_well_formed_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="judge "):
        parse_jury(name)


def test_a_name_may_hold_what_names_of_judges_hold() -> None:
    assert parse_jury("consensus-of:endpoint:org/model,path:a=b") == ("endpoint:org/model", "path:a=b")
    assert parse_jury("longer") is None


def _table(runs: Path) -> pd.DataFrame:
    table = load_verdicts(runs).pivot(index=ROW, columns="judge", values="choice")
    return table.astype(object).where(table.notna(), None)


def test_members_that_have_not_judged_are_run_first_and_a_second_call_goes_on(
    little: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = Scripted("one"), Scripted("two", lambda key: {"pick": "first", "status": "ok"})
    use(monkeypatch, one, two)
    judge(little, tmp_path, ["one"], limit=10)
    [done] = judge(little, tmp_path, ["consensus-of:one,two"], limit=30)
    assert [(member.judge, member.made, member.before) for member in done.members] == [("one", 80, 0), ("two", 120, 0)]
    assert (done.made, done.before, done.waiting) == (120, 0, 0)
    [again] = judge(little, tmp_path, ["consensus-of:one,two"], limit=30)
    assert (again.folder, again.made, again.before, again.members) == (done.folder, 0, 120, ())
    assert again.other_runs == ()
    assert (one.asked, two.asked) == (120, 120)
    [rest] = judge(little, tmp_path, ["consensus-of:one,two"])
    assert (rest.folder, rest.made, rest.before) == (done.folder, 40, 120)
    whole = comparable(load_verdicts(tmp_path, replies=True))
    judge(little, tmp_path / "whole", ["two", "one", "consensus-of:one,two"])
    pd.testing.assert_frame_equal(comparable(load_verdicts(tmp_path / "whole", replies=True)), whole)


def test_an_imported_member_is_read_and_what_it_lacks_waits(little: Benchmark, tmp_path: Path) -> None:
    [home] = judge(little, tmp_path / "other", ["longer"], limit=10)
    theirs = read_run(home.folder).assign(judge="theirs")
    save_imported(theirs, tmp_path / "runs", benchmark="little", kind="general", source="elsewhere")
    [partial] = judge(little, tmp_path / "runs", ["consensus-of:first,theirs"])
    assert (partial.made, partial.waiting) == (40, 120)
    assert [(member.judge, member.made) for member in partial.members] == [("first", 160)]
    [again] = judge(little, tmp_path / "runs", ["consensus-of:first,theirs"])
    assert (again.made, again.before, again.waiting, again.members) == (0, 40, 120, ())


def test_of_several_runs_of_a_member_one_is_counted_and_named(
    little: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed, day in ((1, "3"), (2, "1"), (3, "2")):
        with monkeypatch.context() as patch:
            patch.setattr("mrb_lib.runs.execute.now", partial(str, f"1970-01-0{day}T00:00:00+00:00"))
            judge(little, tmp_path, ["random"], settings=Settings(seed=seed))
    folder = {read_manifest(path).seed: path.name for path in run_folders(tmp_path)}

    def counted(done: RunSummary) -> object:
        return read_manifest(done.folder).spec["runs"][0]

    [own] = judge(little, tmp_path, ["consensus-of:random,first"], settings=Settings(seed=2))
    assert (counted(own), own.notices) == (folder[2], ()), "the run that these settings make comes first"
    [other] = judge(little, tmp_path, ["consensus-of:random,first"], settings=Settings(seed=9))
    assert counted(other) == folder[1], "then the newest"
    assert other.notices == (f"random: run {folder[1]} is counted, which other settings made",)
    [everybody] = judge(little, tmp_path, ["consensus-of"])
    assert folder[1] in read_manifest(everybody.folder).spec["runs"]
    assert everybody.notices == (
        f"random: run {folder[1]} is counted, the newest; not {', '.join(sorted([folder[2], folder[3]]))}",
    )
    assert own.other_runs == ()
    [line] = other.other_runs
    assert line.startswith("runs ")


def test_a_verdict_whose_members_changed_their_choice_is_made_again(
    little: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = Scripted("one"), Scripted("two", lambda key: {"pick": "first", "status": "ok"})
    use(monkeypatch, one, two)
    [done] = judge(little, tmp_path, ["consensus-of:one,two"])
    one.say = lambda key: {"pick": "second", "status": "ok"}
    [member] = judge(little, tmp_path, ["one"], retry=["refused"])
    [again] = judge(little, tmp_path, ["consensus-of:one,two"])
    assert (again.folder, again.retried, again.made) == (done.folder, member.retried, member.retried)
    assert member.retried > 5
    said = read_run(again.folder).set_index(ROW)["reply"].map(lambda reply: json.loads(reply)["one"] or "-")
    now = read_run(member.folder).set_index(ROW)["choice"].fillna("-")
    assert said.sort_index().tolist() == now.sort_index().tolist()
    assert judge(little, tmp_path, ["consensus-of:one,two"])[0].retried == 0
