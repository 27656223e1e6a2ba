"""A report is made of what changed, loses nothing when a notebook fails, and says which cell did; so is its mirror."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mrb_lib.report import pipeline, provenance
from mrb_lib.report.pipeline import report
from mrb_lib.review.records.marks import Adjudication, CaseTag
from mrb_lib.review.records.store import open_store
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.files import sha256_of
from tests.report.conftest import Lab, ids_of, index_of

FAILING = 'half = 1\n\nraise ValueError(f"no gold in {benchmark} for {out}")'


def test_figures_tables_pages_and_index_are_there(two: Any) -> None:
    result = two.report()
    assert result.executed == ("one", "two")
    assert result.failed == result.skipped == ()
    expected = {f"figures/{name}.{kind}" for name in ("first", "second") for kind in ("png", "svg", "pdf", "csv")}
    expected |= {"tables/scores.csv", "tables/scores.tex", "figures/index.json", "index.html", "cases/c2.html"}
    expected |= {f"{kind}" for name in ("one", "two") for kind in (f"pages/{name}.html", f"executed/{name}.ipynb")}
    assert {name for name in two.states() if not name.startswith(".cache")} == expected
    index = index_of(two.out / "figures")
    assert [figure["id"] for figure in index["figures"]] == ["first", "second"]
    assert index["figures"][0]["notebook"] == "one"
    for entry in [*index["figures"], *index["tables"]]:
        assert all((two.out / "figures" / name).is_file() for name in entry["files"].values())


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, publish: str) -> Any:
    """A report of kernels, one at a time; most fail in a way of their own, and another `python3` is registered."""
    lab = Lab(tmp_path_factory.mktemp("ran"))
    lab.benchmark(kind="simulated")
    lab.notebook("a_bad", publish + 'publish_figure("early")', "# Prose", FAILING, "never = 1")
    lab.notebook("b_good", publish + 'publish_figure("kept")', "import os, sys", "print(sys.executable, runs, out)",
                 f"assert sys.executable == {sys.executable!r}, sys.executable",
                 "print('threads', os.environ['OMP_NUM_THREADS'])",
                 "print('policy', policy, 'dimension', dimension, 'seed', seed)")  # fmt: skip
    lab.notebook("c_plain", "x = 1", parameters="seed = 0")
    lab.notebook("d_dies", "x = 1", "import os; os._exit(3)")
    lacking = "import mrb_lib\ntable = mrb_lib.open(benchmark).table('criteria')"
    lab.notebook("e_lacks", publish, lacking, "table.plot()", 'publish_figure("after")')
    lab.notebook("f_path", "import sys, json; sys.stderr.write(json.__file__)", "json.loads(benchmark)", "x")
    (lab.notebooks / "g_none.ipynb").write_text("{")
    kernel = lab.folder / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    spec = {"argv": ["/bin/false", "{connection_file}"], "display_name": "Other", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(lab.folder / "jupyter"))
        lab.result = lab.report(figures=lab.folder / "mirror", jobs=1, policy="strict", dimension="clarity", seed=7)
    return lab


def test_a_failure_names_its_cell_and_does_not_stop_the_others(ran: Any) -> None:
    assert ran.result.executed == ("b_good", "e_lacks")
    failed = {failure.notebook: failure for failure in ran.result.failed}
    # Title, parameters, publishing and prose come before it; cells that papermill adds are not counted.
    assert {name: (failure.cell, failure.error) for name, failure in failed.items()} == {
        "a_bad": (5, "ValueError"), "c_plain": (None, "InputError"), "d_dies": (4, "DeadKernelError"),
        "f_path": (4, "JSONDecodeError"), "g_none": (None, "InputError"),
    }  # fmt: skip
    assert failed["a_bad"].source == FAILING
    assert failed["a_bad"].value.endswith("no gold in bench for out")
    assert "does not set benchmark" in failed["c_plain"].value and "is not a notebook" in failed["g_none"].value
    assert ids_of(ran.out / "figures") == ["kept", "after"], "what a failed notebook published is not shown"
    assert (ran.out / "executed" / "a_bad.ipynb").is_file()
    index = (ran.out / "index.html").read_text()
    assert "a_bad, cell 5 failed" in index and "no gold in bench" in index
    assert [one["notebook"] for one in index_of(ran.out / "figures")["failed"]] == [*failed]


def test_no_folder_of_this_machine_is_published(ran: Any) -> None:
    roots = [str(ran.folder), sys.prefix, sys.base_prefix, str(Path.home()), "/usr/", str(Path(json.__file__).parent)]
    for folder in (ran.out, ran.folder / "mirror"):
        for name, (_, content) in ran.states(folder).items():
            assert [root for root in roots if root.encode() in content] == [], name


def test_the_kernel_is_this_interpreter_with_its_share_of_cores_and_all_options(ran: Any) -> None:
    page = (ran.out / "pages" / "b_good.html").read_text()
    assert f"threads {os.cpu_count()}" in page
    assert "policy strict dimension clarity seed 7" in page


def test_what_does_not_apply_is_said_in_its_place_and_the_notebook_goes_on(ran: Any) -> None:
    [absent] = index_of(ran.out / "figures")["not_applicable"]
    assert absent["notebook"] == "e_lacks" and "rubric" in absent["reason"]
    page = (ran.out / "pages" / "e_lacks.html").read_text()
    assert page.count("<strong>Not applicable</strong>") == 1
    assert "Traceback" not in page


def test_two_notebooks_cannot_publish_the_same_figure(lab: Any, publish: str, quickly: None) -> None:
    lab.notebook("one", publish + 'publish_figure("same")')
    lab.notebook("two", publish + 'publish_figure("same")')
    result = lab.report()
    assert len(result.executed) == 1
    assert "publishes it too" in result.failed[0].value
    assert ids_of(lab.out / "figures") == ["same"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ('publish_figure("a"); Path(out, "figures/a.svg").unlink()', "announced but not written"),
        ('publish_figure("a", files={"png": "a.png"})', "cannot be shown ('svg')"),
        (
            'publish_figure("a", files={"png": "../../../a.png", "svg": "a.svg", "pdf": "a.pdf", "csv": ".."})',
            "leads out|not written",
        ),
        ('publish_figure("a", data=f"path\\n{benchmark}\\n")', "names a folder"),
    ],
)
def test_a_figure_that_is_not_whole_fails_its_notebook(
    code: str, message: str, lab: Any, publish: str, quickly: None
) -> None:
    lab.notebook("one", publish + code)
    failure = lab.report().failed[0]
    assert failure.error == "RunError"
    assert any(part in failure.value for part in message.split("|"))
    assert ids_of(lab.out / "figures") == []


def test_a_bad_option_is_refused_before_anything_is_written(lab: Any) -> None:
    lab.notebook("one", "x = 1")
    for name, wrong in {"policy": "fair", "dimension": "creativity", "jobs": 0, "seed": -1}.items():
        with pytest.raises(InputError, match=name):
            lab.report(**{name: wrong})
    assert not lab.out.exists()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40])


DAMAGES: dict[str, Callable[[Any], object]] = {
    "no benchmark": lambda lab: (lab.bench / "benchmark.toml").unlink(),
    "truncated cases": lambda lab: cut(lab.bench / "cases.parquet"),
    "truncated verdicts": lambda lab: cut(lab.bench / "runs" / "first" / "part-00000.parquet"),
    "no notebooks": lambda lab: (lab.notebooks / "one.ipynb").unlink(),
}


@pytest.mark.parametrize("damage", [*DAMAGES, "no runs"])
def test_bad_input_is_said_once_before_anything_is_written(damage: str, lab: Any) -> None:
    lab.notebook("one", "x = 1")
    DAMAGES.get(damage, str)(lab)
    with pytest.raises(InputError):
        report(lab.bench, lab.folder / "nowhere" if damage == "no runs" else None, lab.out, notebooks=lab.notebooks)
    assert not lab.out.exists()


def test_a_folder_that_holds_something_else_is_left_alone(lab: Any) -> None:
    lab.notebook("one", "x = 1")
    lab.out.mkdir()
    (lab.out / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="something else"):
        lab.report()
    assert [path.name for path in lab.out.iterdir()] == ["thesis.tex"]


def test_a_second_report_to_the_same_folder_is_refused_while_one_runs(lab: Any) -> None:
    lab.notebook("one", "x = 1")
    with pipeline._held(lab.out), pytest.raises(RunError, match="another report"):
        lab.report()


def test_an_interrupted_report_leaves_no_process_and_resumes(lab: Any, publish: str, quickly: None) -> None:
    mark = lab.folder / "kernel"
    lab.notebook("b_quick", publish + 'publish_figure("quick")')
    lab.notebook("a_slow", f"import os, time\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)")
    pin = "from mrb_lib.report import provenance; provenance.code_hash = lambda: 'the code'"
    call = f"report({str(lab.bench)!r}, None, {str(lab.out)!r}, notebooks=Path({str(lab.notebooks)!r}), jobs=1)"
    # A test run that was started in the background has Ctrl-C switched off, and its children inherit that.
    terminal = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{terminal}\nfrom pathlib import Path\nfrom mrb_lib.report.pipeline import report\n{pin}\n{call}"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 300
            while not mark.is_file() or not mark.read_text():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) != 0
        finally:
            process.kill()
    kernel = int(mark.read_text())
    while Path(f"/proc/{kernel}").exists() and "Z" not in Path(f"/proc/{kernel}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not (lab.out / ".cache" / "work").exists()
    lab.notebook("a_slow", "x = 1")
    result = lab.report()
    assert (result.executed, result.skipped) == (("a_slow",), ("b_quick",))


def test_nothing_changed_means_nothing_run_and_nothing_written(two: Any) -> None:
    two.report(figures=two.folder / "mirror")
    before = two.states(two.folder)
    result = two.report(figures=two.folder / "mirror")
    assert result.skipped == ("one", "two")
    assert result.executed == ()
    assert two.states(two.folder) == before
    before = two.states(two.folder / "mirror")
    assert two.report(figures=two.folder / "mirror", force=True).executed == ("one", "two")
    assert two.states(two.folder / "mirror") == before, "the same report is the same to the last bit"
    assert "created" not in (two.folder / "mirror" / "index.json").read_text()


def test_a_failed_notebook_runs_again_and_its_old_figures_are_gone_meanwhile(two: Any, publish: str) -> None:
    mirror = two.folder / "mirror"
    two.report(figures=mirror)
    two.notebook("two", publish + 'publish_figure("second")\n1 / 0')
    failed = two.report(figures=mirror)
    assert (failed.skipped, len(failed.failed)) == (("one",), 1)
    assert not (two.out / "figures" / "second.png").exists()
    assert not (mirror / "second.png").exists()
    two.notebook("two", publish + 'publish_figure("second")')
    mended = two.report(figures=mirror)
    assert (mended.executed, mended.skipped, mended.failed) == (("two",), ("one",), ())
    assert ids_of(mirror) == ["first", "second"]


def test_only_what_is_affected_by_a_change_runs_again(two: Any, publish: str, monkeypatch: pytest.MonkeyPatch) -> None:
    two.report()
    two.notebook("two", publish + 'publish_figure("other")')
    result = two.report()
    assert (result.executed, result.skipped) == (("two",), ("one",))
    assert not (two.out / "figures" / "second.png").exists(), "what it published before is gone"
    (two.notebooks / "one.ipynb").unlink()
    assert two.report().skipped == ("two",)
    assert ids_of(two.out / "figures") == ["other"]
    assert not (two.out / "tables" / "scores.csv").exists()
    assert not (two.out / "pages" / "one.html").exists()


def test_whatever_shapes_a_figure_makes_it_anew(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    two.report()
    for options in ({"policy": "strict"}, {"dimension": "clarity"}, {"seed": 1}):
        assert two.report(**options).executed == ("one", "two")
    for change in (
        lambda: two.benchmark(judge="longer"), lambda: two.benchmark(name="renamed"),
        lambda: monkeypatch.setattr(provenance, "code_hash", lambda: "other code"),
        lambda: monkeypatch.setattr(provenance, "versions", lambda: {"pandas": "0"}),
    ):  # fmt: skip
        assert two.report(seed=1).skipped == ("one", "two")
        change()
        assert two.report(seed=1).executed == ("one", "two")


def test_a_file_that_is_missing_or_altered_is_made_again(lab: Any, publish: str, quickly: None) -> None:
    lab.notebook("one", publish + 'publish_figure("first")')
    lab.report()
    png, record = lab.out / "figures" / "first.png", lab.out / ".cache" / "one.json"
    whole = sha256_of(png)
    for damage in (png.unlink, lambda: png.write_bytes(b"x"), lambda: record.write_text("{")):
        damage()
        assert lab.report().executed == ("one",)
        assert sha256_of(png) == whole


def test_a_page_that_is_missing_is_written_without_running_a_notebook(two: Any) -> None:
    two.report()
    before = two.states()
    (two.out / "pages" / "one.html").unlink()
    (two.out / "index.html").write_text("altered")
    assert two.report().skipped == ("one", "two")
    after = two.states()
    assert {name: content for name, (_, content) in after.items()} == {n: content for n, (_, content) in before.items()}


def test_case_pages_follow_the_number_that_was_asked_for(lab: Any, publish: str, quickly: None) -> None:
    lab.notebook("one", publish + 'publish_table("failures", "case_id,n\\nc4,1\\n")')
    lab.report()
    assert {path.name for path in (lab.out / "cases").iterdir()} == {"c2.html", "c4.html"}
    assert 'href="../cases/c4.html"' in (lab.out / "pages" / "one.html").read_text()
    assert 'href="cases/c2.html"' in (lab.out / "index.html").read_text()
    lab.report(cases=1)
    assert {path.name for path in (lab.out / "cases").iterdir()} == {"c4.html"}
    lab.report(cases=0)
    assert not list((lab.out / "cases").iterdir())
    assert '<li id="case-1" ' in (lab.out / "index.html").read_text()
    assert 'href="../index.html#case-1"' in (lab.out / "pages" / "one.html").read_text()
    with pytest.raises(InputError, match="cases -1"):
        lab.report(cases=-1)


def test_a_notebook_about_reviews_runs_again_when_someone_reviewed(
    lab: Any, publish: str, quickly: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MRB_STORE", raising=False)
    lab.notebook("one", publish)
    lab.notebook("two", publish + "asked = 'adjudication'")
    lab.report()
    assert lab.report().skipped == ("one", "two")
    with open_store(lab.bench / "reviews.sqlite") as store:
        store.add(Adjudication("small", "c1", "Dr A", "ambiguous"))
    assert lab.report().executed == ("two",)
    assert lab.report().skipped == ("one", "two")
    asking = {"parameters": {"where": "not tagged['artefact']"}}
    assert lab.report(**asking).executed == ("one", "two")
    assert lab.report(**asking).skipped == ("one", "two")
    with open_store(lab.bench / "reviews.sqlite") as store:
        store.add(CaseTag("small", "c1", "artefact", "Dr A"))
    assert lab.report(**asking).executed == ("one", "two"), "what the filter of one asks for has changed"
    assert lab.report().executed == ("one", "two")
    (lab.bench / "reviews.sqlite").write_text("no database at all")
    assert lab.report().executed == ("two",), "which says what is wrong with it"


def test_the_mirror_keeps_what_it_did_not_write(two: Any) -> None:
    mirror = two.folder / "mirror"
    (mirror / "tables").mkdir(parents=True)
    (mirror / "mine.txt").write_text("mine")
    two.report(figures=mirror)
    assert (mirror / "mine.txt").read_text() == "mine"
    assert set(two.states(mirror)) == {
        "mine.txt", "index.json", "tables/scores.csv", "tables/scores.tex",
        *(f"{name}.{kind}" for name in ("first", "second") for kind in ("png", "svg", "csv")),
    }  # fmt: skip
    for entry in [*index_of(mirror)["figures"], *index_of(mirror)["tables"]]:
        assert all((mirror / name).is_file() for name in entry["files"].values())
    (two.notebooks / "one.ipynb").unlink()
    two.report(figures=mirror)
    assert set(two.states(mirror)) == {"mine.txt", "index.json", "second.png", "second.svg", "second.csv"}


def test_the_mirror_refuses_to_write_over_a_file_of_yours(lab: Any, publish: str, quickly: None) -> None:
    lab.notebook("one", publish + 'publish_figure("first")')
    mirror = lab.folder / "mirror"
    mirror.mkdir()
    (mirror / "first.csv").write_text("my own notes")
    with pytest.raises(InputError, match=r"first\.csv"):
        lab.report(figures=mirror)
    assert [path.name for path in mirror.iterdir()] == ["first.csv"]
