"""Which failures a report shows whole, why these, and that each page stands for one case."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.report.html.case_pages import (
    LISTED,
    Chosen,
    case_pages,
    choose_failures,
)
from mrb_lib.report.places import DataFolders, home
from mrb_lib.review.failures.index import build_index, open_index
from mrb_lib.review.failures.kinds import failure_kinds
from mrb_lib.tables.files import staged_folder
from mrb_lib.verdicts.store import save_imported
from tests.rated import ERRORS, RISK, write_labels, write_rating
from tests.stats.small_tables import annotations_of, cases_of, verdicts_of

IDS = ("all", "sure", "turns", "split", "silent", "fine")
TWO: dict[str, Any] = {"dimension": "overall", "policy": "balanced", "most": 2}


def named(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(case_id=frame["case_id"].map({f"c{i}": name for i, name in enumerate(IDS)}))


def benchmark() -> Benchmark:
    votes = annotations_of({"r0": "AAAAAA", "r1": "AAAAAA", "r2": "AAABAA"})
    return Benchmark(BenchmarkMeta("small", "general", ("overall",)), named(cases_of(6)), named(votes))


def verdicts() -> pd.DataFrame:
    """Two judges: each kind of failure is that of the case it names, and nobody errs on `fine` and `split`."""
    said = {("one", "AB"): "BBAAAA", ("one", "BA"): "BBBA?A", ("two", "AB"): "BAAAAA", ("two", "BA"): "BAAAAA"}
    frame = named(verdicts_of(said))
    is_sure = frame["case_id"].eq("sure") & frame["choice"].eq("B")
    status = frame["choice"].isna().map({True: "unparsed", False: "ok"})
    return frame.assign(p_a=np.where(is_sure, 0.02, 0.6), status=status)


def chosen(most: int, listed: Sequence[str] = ()) -> list[Chosen]:
    made = benchmark()
    kinds = failure_kinds(verdicts(), gold(made), made.cases)
    return choose_failures(kinds, made.cases, dimension="overall", most=most, listed=listed)


def test_one_case_of_each_kind_comes_before_a_second_of_any() -> None:
    found = {IDS[one.position]: one for one in chosen(5)}
    assert list(found) == ["all", "sure", "turns", "split", "silent"]
    assert found["all"].reason == "Every judge is wrong"
    assert found["all"].why == "Every judge is wrong on overall: the only such case, hardest first."
    assert found["sure"].reason == "A judge is wrong and sure of it"
    assert found["turns"].reason == "A judge changes sides with the order"
    assert found["split"].reason == "The annotators are split"
    assert found["silent"].reason == "A judge gives no verdict"


def test_cases_that_the_report_lists_take_half_of_the_places() -> None:
    found = chosen(3, ["silent", "split", "turns"])
    assert [(IDS[one.position], one.reason) for one in found] == [
        ("silent", "A judge gives no verdict"),
        ("split", "The annotators are split"),
        ("all", "Every judge is wrong"),
    ]
    assert chosen(1, ["fine"])[0].reason == LISTED
    assert [one.reason for one in chosen(1)] == ["Every judge is wrong"]
    assert chosen(0) == []


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> DataFolders:
    folder = tmp_path_factory.mktemp("cases")
    with staged_folder(folder / "bench") as stage:
        save(benchmark(), stage)
    save_imported(verdicts(), folder / "bench" / "runs", benchmark="small", kind="general", source="table")
    return DataFolders(folder / "bench", folder / "bench" / "runs")


def test_a_page_holds_its_case_and_nobody_elses(source: DataFolders, tmp_path: Path) -> None:
    pages = case_pages(source, tmp_path, **TWO)
    assert [(page.case_id, page.name) for page in pages] == [("all", "all.html"), ("sure", "sure.html")]
    assert 'data-case="all"' in pages[0].html
    assert 'data-case="sure"' not in pages[0].html
    assert "<style" not in pages[0].html, "the page has one of its own"


def test_ratings_have_pages_that_speak_of_categories_and_not_of_orders(tmp_path: Path) -> None:
    hostile = '<script>window.__pwned=1</script>"><img src=x>'
    for at, categories in enumerate((RISK, (hostile, "fine"))):
        bench = write_rating(tmp_path / str(at), categories=categories, acceptable=categories[:1])
        pages = case_pages(DataFolders(bench, bench / "runs"), tmp_path / f"out{at}", **{**TWO, "most": 4})
        assert len(pages) == 4 and pages[0].reason == "A judge calls safe what clinicians do not"
        assert all("order" not in page.why.split("benchmark's order")[0] for page in pages)
        assert all(page.html.count('data-mrb="answer"') == 1 for page in pages)
        assert all('data-mrb="probabilities"' in page.html and "<script" not in page.html for page in pages)


def test_there_is_no_page_without_a_verdict_or_where_none_is_wanted(source: DataFolders, tmp_path: Path) -> None:
    assert case_pages(source, tmp_path, **{**TWO, "most": 0}) == []
    assert case_pages(source._replace(runs=None), tmp_path, **TWO) == []
    assert len(case_pages(source, tmp_path, **{**TWO, "dimension": "nothing"})) == 2, "the last dimension, then"


def test_a_report_leaves_alone_what_a_reviewer_or_another_report_reads(
    source: DataFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MRB_HOME", str(tmp_path))
    other = source._replace(runs=tmp_path / "runs")
    save_imported(verdicts(), tmp_path / "runs", benchmark="small", kind="general", source="table")
    made = load(source.benchmark)
    reviewed = build_index(source.runs, made, home() / "review" / made.case_fingerprint()[:16])
    assert case_pages(source, tmp_path / "first", **TWO)
    (mine,) = (path for path in home().rglob("index.json") if path.parent != reviewed)
    assert case_pages(other, tmp_path / "second", **TWO)
    assert case_pages(source, tmp_path / "first", **TWO)
    assert mine.is_file()
    assert open_index(reviewed).kinds.case_ids == list(IDS)


def test_pages_of_a_benchmark_with_labels_show_them_and_are_about_another_dimension(tmp_path: Path) -> None:
    bench = write_labels(tmp_path)
    for dimension in ("overall", "errors"):
        pages = case_pages(
            DataFolders(bench, bench / "runs"), tmp_path / dimension, dimension=dimension, policy="balanced", most=3
        )
        assert len(pages) == 3
        for page in pages:
            table = page.html.split('data-mrb="labels"')[1].split("</table>")[0]
            assert all(name in table for name in ERRORS)
