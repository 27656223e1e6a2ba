"""A report that is quickly made, for every module that opens it: 26 simulated cases, notebooks without a kernel."""

import re
from functools import cache
from pathlib import Path

import pytest

from mrb_lib.demo import write_demo
from mrb_lib.report import execute, pipeline
from mrb_lib.report.places import write_simulated_runs
from tests.report.conftest import Lab, run_in_this_process

N_CASES = 26
UNFOLD = "for (const fold of document.querySelectorAll('details')) fold.open = true"
SCORES = {"ash": 0.9, "birch": 10.25, "cedar": -1.5, "dogwood": None, "elm": 2.0, "fir": 0.95, "gorse": 0.35}
OPEN = """
import json
from pathlib import Path
import pandas as pd
import mrb_lib as mrb
from mrb_lib.figures.intervals import panels
study = mrb.open(benchmark)
def draw(id, title, caption, names):
    frame = pd.DataFrame({"judge": names, "dimension": "overall", "accuracy": 0.5, "low": 0.4, "high": 0.6})
    drawn = panels(frame, value="accuracy", axis_label="accuracy (%)")
    study.publisher.figure(drawn, id, title=title, caption=caption, reading="Right is more.", data=frame,
                           policy=study.options.policy, n=26)
"""
COMPOSITION = 'draw("composition-organs", "Cases by organ", "How many cases show which organ.", ["one", "two"])'
LEADERBOARD = f"""
draw("leaderboard", "Leaderboard", "Accuracy of every judge, with Krippendorff's alpha beside it.", ["ash", "elm"])
scores = {SCORES!r}
frame = pd.DataFrame({{"judge": list(scores), "group": ["tree"] * 4 + ["shrub"] * 3}})
frame["accuracy"] = list(scores.values())
frame["accuracy_low"], frame["accuracy_high"] = frame["accuracy"] - 0.1, frame["accuracy"] + 0.1
study.tabulate(frame, id="leaderboard", title="Leaderboard", caption="Best in bold.", best={{"accuracy": "max"}})
"""
FAILURES = """
rows = study.benchmark.cases[["case_id"]].iloc[[3, 8]]
study.tabulate(rows, id="failures", title="Cases with the lowest scores", caption="Two.")
"""


@cache
def shared_site(base: Path) -> Path:
    """The report that all modules of a process open, made under the folder of its tests; nobody writes to it."""
    (base / "shared-site").mkdir()
    return small_site(base / "shared-site")


def address(site: Path, name: str = "index.html") -> str:
    """Where a browser finds a page of a site, with the part that is named after `#`."""
    path, _, part = name.partition("#")
    return (site / path).as_uri() + (f"#{part}" if part else "")


def first_case(site: Path) -> str:
    """The first case that has a page, as the index lists them."""
    first = re.search(r'href="(cases/[^"]+)"', (site / "index.html").read_text(encoding="utf-8"))
    assert first
    return first[1]


def small_site(folder: Path) -> Path:
    """Make the report under `folder`; returns its own folder."""
    lab = Lab(folder)
    write_demo(lab.bench, cases=N_CASES, seed=0)
    write_simulated_runs(lab.bench, lab.bench / "runs", seed=0)
    lab.notebook("01_composition", OPEN + COMPOSITION, "# More\n\nWhat kappa is, and a [page](03_leaderboard.ipynb).")
    lab.notebook("03_leaderboard", OPEN + LEADERBOARD)
    lab.notebook("07_failures", OPEN + FAILURES)
    return stub_report(lab, cases=6)


def stub_report(lab: Lab, *, cases: int) -> Path:
    """The report of a lab whose notebooks need no kernel; returns its folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MRB_HOME", str(lab.folder / "home"))
        patch.setattr(execute, "run_notebooks", run_in_this_process)
        pipeline.report(lab.bench, None, lab.out, notebooks=lab.notebooks, cases=cases)
    return lab.out
