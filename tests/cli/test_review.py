"""`mrb review`: what it prepares before it serves; `mrb adjudications`: from a store to a file and back."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.report.places import write_simulated_runs
from mrb_lib.review.app import File
from mrb_lib.review.records.marks import Adjudication, CaseTag, case_fingerprint
from mrb_lib.review.records.store import REVIEW, open_store
from mrb_lib.stats.scoring import correctness
from mrb_lib.tables.files import REVIEWS
from mrb_lib.verdicts.store import load_verdicts

from .conftest import Mrb


def _answer(served: dict[str, Any], what: str = "initial_state", **question: object) -> dict[str, Any]:
    answer = served["app"].answer(what, question)
    assert not isinstance(answer, File)
    return answer


def test_the_app_opens_on_what_was_prepared(mrb: Mrb, bench: Path, served: dict[str, Any]) -> None:
    done = mrb("review", bench, "--no-browser", "--port", 8123).ok
    assert done.out == ""
    assert str(bench / "reviews.sqlite") in done.err
    assert (served["address"].port, served["browse"], served["address"].host) == (8123, False, "127.0.0.1")
    assert served["app"].title == f"Failures: {load(bench).meta.name}"
    first = _answer(served)
    assert (first["n"], first["judges"], first["store"]) == (18, [], "")


def test_the_judges_of_the_runs_are_there_and_the_index_is_made_once(
    mrb: Mrb, bench: Path, served: dict[str, Any]
) -> None:
    assert mrb("judge", bench, bench / "runs", "--judge", "longer", "--judge", "shorter").code == 0
    assert mrb("review", bench, "--store", bench / "other.sqlite").code == 0
    made = {path: path.stat().st_mtime_ns for path in (bench.parent / "home" / "review").rglob("*.npy")}
    first = _answer(served)
    assert first["judges"] == ["longer", "shorter"]
    assert "Did you mean longer?" in mrb("review", bench, "--query", "judge=longr").err
    assert (bench / "other.sqlite").is_file()
    assert mrb("review", bench, bench / "runs").code == 0
    assert {path: path.stat().st_mtime_ns for path in (bench.parent / "home" / "review").rglob("*.npy")} == made != {}


def test_failures_are_dealt_out_and_earlier_ones_stay(mrb: Mrb, bench: Path, served: dict[str, Any]) -> None:
    assert mrb("judge", bench, bench / "runs", "--judge", "longer").code == 0
    wrong = "judge=longer&dimension=overall&kind=wrong"
    done = mrb("review", bench, "--assign", "Dr A, Dr B", "--query", wrong, "--open").ok
    assert served["fragment"] == f"{wrong}&review=queue", "the page opens at what was dealt, with the judge chosen"
    with open_store(bench / "reviews.sqlite", create=False) as store:
        name = load(bench).meta.name
        dealt = store.assignments(name, task=REVIEW)
        assert store.assignments(name).empty, "nothing was dealt to annotators"
    verdicts = load_verdicts(bench / "runs", load(bench).cases)
    table = correctness(verdicts, gold(load(bench)))
    missed = table[(table["dimension"] == "overall") & (table["score"] < 0.5)]
    assert sorted(dealt["case_id"]) == sorted(missed["case_id"])
    assert dealt.groupby("annotator").size().max() - dealt.groupby("annotator").size().min() <= 1
    assert f"Dr A: {(dealt['annotator'] == 'Dr A').sum()} cases to review" in done.err
    assert mrb("review", bench, "--assign", "Dr C", "--query", wrong, "--overlap", 2).code == 0
    with open_store(bench / "reviews.sqlite", create=False) as store:
        more = store.assignments(name, task=REVIEW)
    assert sorted(more.loc[more["annotator"] == "Dr C", "case_id"]) == sorted(dealt["case_id"])
    assert len(more) == 2 * len(dealt)
    for query, message in (("review=mine", "leave review out"), ("text=xyzzy", "leaves no case")):
        assert message in mrb("review", bench, "--assign", "Dr A", "--query", query).refusal


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("where=organ ==", "where 'organ ==': cannot be read"),
        ("where=organ == 'eyee'", "leaves none of 18 cases"),
        ("organ=eyee", "Did you mean eye?"),
        ("judge=nobody", "judge 'nobody' is unknown"),
        ("case=none", "no case 'none'"),
    ],
)
def test_a_query_that_asks_for_what_is_not_here_is_refused_before_anything_is_served(
    mrb: Mrb, bench: Path, served: dict[str, Any], query: str, message: str
) -> None:
    assert message in mrb("review", bench, "--query", query).refusal
    assert served == {}


@pytest.mark.parametrize("query", ["review=mine", "where=tagged['artefact']", "where=reviewed_by['Dr A']"])
def test_a_query_that_reviewers_may_fill_yet_is_served(
    mrb: Mrb, bench: Path, served: dict[str, Any], query: str
) -> None:
    assert mrb("review", bench, "--query", query).code == 0
    assert served["fragment"] != ""


def test_a_password_is_not_printed(mrb: Mrb, bench: Path, served: dict[str, Any]) -> None:
    done = mrb("review", bench, "--store", "postgresql://me:secret@host/name").ok
    assert "secret" not in done.out + done.err
    trouble = _answer(served)["store"]
    assert "host" in trouble and "secret" not in trouble


@pytest.fixture
def reviewed(bench: Path) -> Benchmark:
    """A small benchmark whose first two cases two reviewers looked at."""
    benchmark = load(bench)
    cases = benchmark.cases.to_dict("records")
    with open_store(bench / REVIEWS) as store:
        for reviewer, verdict in (("Dr A", "gold_right"), ("Dr B", "ambiguous")):
            for case in cases[:2]:
                mark = Adjudication(
                    benchmark.meta.name, case["case_id"], reviewer, "gold_right", answers={"reasons": ("other",)}
                )
                store.add(replace(mark, case_fingerprint=case_fingerprint(case)))
            store.add(Adjudication(benchmark.meta.name, cases[0]["case_id"], reviewer, verdict))
        store.add(Adjudication(benchmark.meta.name, "gone", "Dr B", "ambiguous", case_fingerprint="x"))
        store.add(Adjudication(benchmark.meta.name, cases[3]["case_id"], "Dr B", "ambiguous", case_fingerprint="x"))
        store.add(CaseTag(benchmark.meta.name, cases[5]["case_id"], "old film", "Dr A"))
    return benchmark


def test_out_of_one_store_and_into_another(
    mrb: Mrb, bench: Path, reviewed: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, other = tmp_path / "said.csv", tmp_path / "other.sqlite"
    run = partial(mrb, "adjudications")
    assert "8 adjudications" in run("export", bench, out).ok.out
    assert "6 adjudications, 1 row of tags" in run("export", bench, tmp_path / "now.parquet", "--current").ok.out
    told = run("import", bench, out, "--store", other).ok
    assert "8 new adjudications, 1 new row of tags" in told.out and "1 cases are not in" in told.out + told.err
    monkeypatch.setenv("MRB_STORE", str(other))
    assert "0 new adjudications, 0 new rows of tags" in run("import", bench, out).ok.out
    with open_store(other, create=False) as store:
        assert len(store.adjudications(reviewed.meta.name, history=True)) == 8
        assert store.tags(reviewed.meta.name)["tag"].tolist() == ["old film"]


def test_the_leaderboard_by_the_gold_that_reviewers_corrected(mrb: Mrb, bench: Path) -> None:
    benchmark = load(bench)
    assert mrb("judge", bench, bench / "runs", "--judge", "first").code == 0
    missing = mrb("analyze", bench, "--gold", "adjudicated")
    assert "there is no store" in missing.refusal, missing
    case = gold(benchmark).query("dimension == 'overall' and choice in ('A', 'B')").iloc[0]
    other = "B" if case["choice"] == "A" else "A"
    with open_store(bench / REVIEWS) as store:
        store.add(
            Adjudication(benchmark.meta.name, case["case_id"], "Dr A", "gold_wrong", choice=other, dimension="overall")
        )
    rows = {
        rule: mrb("analyze", bench, "--policy", "official", "--gold", rule, "--json", "--resamples", 0).rows
        for rule in ("majority", "adjudicated")
    }
    right = {
        rule: next(row["accuracy"] * row["n"] for row in found if row["dimension"] == "overall")
        for rule, found in rows.items()
    }
    # "first" names A when A is shown first: a label turned to A is one more hit, turned to B one less.
    assert right["adjudicated"] - right["majority"] == pytest.approx(1 if other == "A" else -1)


def test_the_tables_of_reviews_read_the_store_and_say_where_there_is_none(
    reviewed: Benchmark, mrb: Mrb, bench: Path, tmp_path: Path
) -> None:
    write_simulated_runs(bench, bench / "runs", seed=0)
    told = mrb("analyze", bench, "--table", "adjudication", "--resamples", "40", "--json")
    assert (told.code, told.err) == (0, "")
    assert "reviewers" in {row["part"] for row in told.rows}
    rules = mrb("analyze", bench, "--table", "gold_rules", "--resamples", "40", "--json")
    moved = [row for row in rules.rows if row["rule"] == "adjudicated" and row["part"] == "rule"]
    assert {row["n_adjudicated"] for row in moved if row["dimension"] == "overall"} == {3}
    (bench / REVIEWS).unlink()
    told = mrb("analyze", bench, "--table", "adjudication", "--resamples", "40", "--json")
    assert "warning: there are no reviews" in told.err
    [row] = told.rows
    assert row["reason"] == "no label was reviewed"
    rules = mrb("analyze", bench, "--table", "gold_rules", "--resamples", "40", "--json")
    assert "warning: there are no reviews" not in rules.err
    assert "adjudicated" not in {row["rule"] for row in rules.rows}
    named = mrb("analyze", bench, "--table", "adjudication", "--adjudications", tmp_path / "no.sqlite")
    assert "no.sqlite" in named.refusal


@pytest.fixture
def tagged(bench: Path) -> None:
    """Three of the cases are tagged."""
    made = load(bench)
    with open_store(bench / "reviews.sqlite") as store:
        for case in made.cases["case_id"].head(3):
            store.add(CaseTag(made.meta.name, str(case), "artefact", "Dr A"))


@pytest.mark.usefixtures("tagged")
def test_tables_are_of_the_tagged_cases(mrb: Mrb, bench: Path) -> None:
    done = mrb("analyze", bench, "--table", "composition", "--where", "tagged['artefact']", "--json").ok
    counts = [row["n_cases"] for row in done.rows if row.get("n_cases") is not None]
    assert sum(counts) == 3
    assert mrb("adjudications", "export", bench, bench / "said.parquet").code == 0
    of_file = mrb("analyze", bench, "--table", "composition", "--where", "tagged['artefact']", "--json",
                  "--adjudications", bench / "said.parquet")  # fmt: skip
    assert of_file.out == done.out
    refused = mrb("analyze", bench, "--table", "composition", "--where", "tagged['nothing']")
    assert refused.code != 0
    assert "leaves none of 18 cases" in refused.err
    (bench / "reviews.sqlite").unlink()
    refused = mrb("analyze", bench, "--table", "composition", "--where", "tagged['artefact']")
    assert "there is no store of reviews" in refused.err
