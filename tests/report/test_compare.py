"""`mrb report --compare`: what a report keeps, when notebooks that compare run, and what is refused in one line."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.report.pipeline import COMPARISON, compares, with_comparison
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import staged_folder
from mrb_lib.verdicts.basis import IN_REPORT, read_basis
from mrb_lib.verdicts.store import save_imported
from tests.report.conftest import PARAMETERS, ids_of

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
    other = lab_of_three.folder / "other"
    shutil.copytree(lab_of_three.bench, other)
    lab_of_three.report(compare=other)
    assert '<aside class="simulated"' not in (lab_of_three.out / "pages" / "three.html").read_text()
