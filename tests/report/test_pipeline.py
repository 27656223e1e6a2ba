"""A report is made of what changed, loses nothing when a notebook fails, and says which cell did."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mrb_lib.report import pipeline
from mrb_lib.report.pipeline import report
from mrb_lib.tables.errors import InputError, RunError
from tests.report.conftest import ids_of, index_of

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


def test_a_failure_names_its_cell_and_does_not_stop_the_others(lab: Any, publish: str) -> None:
    lab.notebook("a_bad", publish + 'publish_figure("early")', "# Prose", FAILING, "never = 1")
    lab.notebook("b_good", publish + 'publish_figure("kept")')
    lab.notebook("c_plain", "x = 1", parameters="seed = 0")
    result = lab.report()
    assert result.executed == ("b_good",)
    bad, plain = result.failed
    # Title, parameters, publishing and prose come before it; cells that papermill adds are not counted.
    assert (bad.notebook, bad.cell, bad.error) == ("a_bad", 5, "ValueError")
    assert bad.source == FAILING
    assert bad.value.endswith("no gold in bench for out")
    assert (plain.notebook, plain.cell, plain.error) == ("c_plain", None, "InputError")
    assert "does not set benchmark" in plain.value
    assert ids_of(lab.out / "figures") == ["kept"], "what a failed notebook published is not shown"
    assert (lab.out / "executed" / "a_bad.ipynb").is_file()
    index = (lab.out / "index.html").read_text()
    assert "a_bad, cell 5 failed" in index
    assert "no gold in bench" in index
    assert [failed["notebook"] for failed in index_of(lab.out / "figures")["failed"]] == ["a_bad", "c_plain"]


def test_no_folder_of_this_machine_is_published(lab: Any, publish: str) -> None:
    lab.benchmark(kind="simulated")
    lab.notebook(
        "one", publish + 'publish_figure("first")', "import sys, os; print(sys.executable, benchmark, runs, out)"
    )
    lab.notebook("two", "import json\njson.loads(out)", "x")
    lab.notebook("three", "import sys, json; sys.stderr.write(json.__file__)", "open(benchmark + '/nothing')")
    assert len(lab.report(figures=lab.folder / "mirror").failed) == 2
    roots = [str(lab.folder), sys.prefix, sys.base_prefix, str(Path.home()), "/usr/", str(Path(json.__file__).parent)]
    for folder in (lab.out, lab.folder / "mirror"):
        for name, (_, content) in lab.states(folder).items():
            assert [root for root in roots if root.encode() in content] == [], name


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


def test_a_kernel_that_dies_is_a_failure_of_its_cell(lab: Any) -> None:
    lab.notebook("one", "x = 1", "import os; os._exit(3)")
    failure = lab.report().failed[0]
    assert (failure.cell, failure.error) == (4, "DeadKernelError")


def test_the_kernel_is_this_interpreter_whatever_the_machine_has_registered(
    lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tmp_path / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    spec = {"argv": ["/bin/false", "{connection_file}"], "display_name": "Other", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    lab.notebook("one", f"import sys; assert sys.executable == {sys.executable!r}, sys.executable")
    assert lab.report().failed == ()


def test_what_is_not_a_notebook_fails_alone(lab: Any, publish: str) -> None:
    (lab.notebooks / "broken.ipynb").write_text("{")
    lab.notebook("good", publish + 'publish_figure("kept")')
    result = lab.report()
    assert result.executed == ("good",)
    assert "is not a notebook" in result.failed[0].value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "fair"}, "policy"),
        ({"dimension": "creativity"}, "dimension"),
        ({"jobs": 0}, "jobs"),
        ({"seed": -1}, "seed"),
    ],
)
def test_a_bad_option_is_refused_before_anything_is_written(options: Any, message: str, lab: Any) -> None:
    lab.notebook("one", "x = 1")
    with pytest.raises(InputError, match=message):
        lab.report(**options)
    assert not lab.out.exists()


@pytest.mark.parametrize("damage", ["no benchmark", "truncated cases", "truncated verdicts", "no runs", "no notebooks"])
def test_bad_input_is_said_once_before_anything_is_written(damage: str, lab: Any) -> None:
    lab.notebook("one", "x = 1")
    runs = None
    if damage == "no benchmark":
        (lab.bench / "benchmark.toml").unlink()
    elif damage == "truncated cases":
        content = (lab.bench / "cases.parquet").read_bytes()
        (lab.bench / "cases.parquet").write_bytes(content[: len(content) // 2])
    elif damage == "truncated verdicts":
        runs = lab.bench / "runs"
        text = (runs / "first" / "part-00000.parquet").read_bytes()
        (runs / "first" / "part-00000.parquet").write_bytes(text[:40])
    elif damage == "no runs":
        runs = lab.folder / "nowhere"
    else:
        (lab.notebooks / "one.ipynb").unlink()
    with pytest.raises(InputError):
        report(lab.bench, runs, lab.out, notebooks=lab.notebooks)
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


def test_an_interrupted_report_leaves_no_process_and_resumes(lab: Any, publish: str) -> None:
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
            deadline = time.monotonic() + 60
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


def test_the_thread_count_shares_the_cores(lab: Any) -> None:
    lab.notebook("one", "import os; print('threads', os.environ['OMP_NUM_THREADS'])")
    lab.report(jobs=1)
    assert f"threads {os.cpu_count()}" in (lab.out / "pages" / "one.html").read_text()


def test_what_does_not_apply_is_said_in_its_place_and_the_notebook_goes_on(lab: Any, publish: str) -> None:
    lab.notebook(
        "one", publish, "import mrb_lib\ntable = mrb_lib.open(benchmark).table('criteria')", "table.plot()",
        'publish_figure("after")',
    )  # fmt: skip
    lab.notebook("two", publish, "unheard_of + 1")
    result = lab.report()
    assert result.executed == ("one",)
    assert [(each.notebook, each.error) for each in result.failed] == [("two", "NameError")]
    [absent] = index_of(lab.out / "figures")["not_applicable"]
    assert absent["notebook"] == "one"
    assert "rubric" in absent["reason"]
    page = (lab.out / "pages" / "one.html").read_text()
    assert page.count("<strong>Not applicable</strong>") == 1
    assert "Traceback" not in page
    assert ids_of(lab.out / "figures") == ["after"]
