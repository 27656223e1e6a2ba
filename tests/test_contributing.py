"""The examples of CONTRIBUTING.md, installed as the modules of a small package, work through the commands."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from PIL import Image
from scipy.stats import norm
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from mrb_lib.probes import target
from mrb_lib.review.records.questions import QUESTIONS, Question

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MODULES = {"A table": "ties", "A format": "lines", "An engine": "program", "A probe": "shouted",
           "A figure": "tie_rates"}  # fmt: skip
Command = Callable[..., subprocess.CompletedProcess[str]]
HOST = """
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from mrb_lib.cli.main import main

for line in sys.stdin:
    sys.argv, out, err = ["mrb", *json.loads(line)], StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""
PROGRAM = '''#!{python}
"""Prefers the response that comes first in the alphabet, and keeps what it was shown."""

import json, re, sys
from PIL import Image

prompt = sys.stdin.read()
found = re.findall(r"<<<response (\\w+) \\w+>>>\\n(.*?)\\n<<<end", prompt, re.DOTALL)
texts = [text for _, text in found]
label = "tie" if texts[0] == texts[1] else found[texts.index(min(texts))][0]
with open({log!r}, "a") as log:
    print(json.dumps({{"prompt": prompt, "images": [Image.open(path).size for path in sys.argv[1:]]}}), file=log)
keys = re.search("Its keys are (.*?);", prompt)[1].split(", ")
print(json.dumps(dict.fromkeys(keys, label)))
'''


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package `toy` and what pip would write beside it."""
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "toy").mkdir()
    (folder / "toy" / "__init__.py").touch()
    program = PROGRAM.format(python=sys.executable, log=str(folder / "asked.jsonl"))
    (folder / "program").write_text(program, encoding="utf-8")
    (folder / "program").chmod(0o755)
    points = ["[mrb_lib.plugins]"]
    for heading, name in MODULES.items():
        section = TEXT.split(f"\n### {heading}\n")[1].split("\n## ")[0].split("\n### ")[0]
        [code] = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
        (folder / "toy" / f"{name}.py").write_text(code, encoding="utf-8")
        points.append(f"{name} = toy.{name}")
    about = folder / "toy-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("\n".join(points) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def mrb(plugins: Path) -> Iterator[Command]:
    """Runs commands where the package is installed; in a process of their own, since features register once."""
    paths = os.pathsep.join(filter(None, [str(plugins), os.environ.get("PYTHONPATH", "")]))
    own = {**os.environ, "PYTHONPATH": paths, "MRB_STATIC": "1", "MRB_PROGRAM": str(plugins / "program")}
    line = [sys.executable, "-c", HOST]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=own) as host:
        assert host.stdin is not None and host.stdout is not None

        def run(*arguments: object) -> subprocess.CompletedProcess[str]:
            print(json.dumps([*map(str, arguments)]), file=host.stdin, flush=True)
            code, out, err = json.loads(host.stdout.readline())
            assert code == 0, err
            return subprocess.CompletedProcess(arguments, code, out, err)

        yield run
        host.stdin.close()


@pytest.fixture(scope="module")
def bench(mrb: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three cases read by the example's format, and judged by its engine."""
    folder = tmp_path_factory.mktemp("bench")
    rows = [("why", "a", "b", "first"), ("how", "d", "c", "equal"), ("who", "e", "e", "second")]
    records = [dict(zip(("question", "first", "second", "better"), row, strict=True)) for row in rows]
    (folder / "cases.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    mrb("import", "lines", folder / "cases.jsonl", folder / "b", "--annotator", "Dr A")
    mrb("judge", folder / "b", folder / "b" / "runs", "--judge", "program")
    return folder / "b"


def test_the_help_lists_what_was_added(mrb: Command) -> None:
    assert "how often does a judge call a tie" in " ".join(mrb("analyze", "--help").stdout.split())
    for name in ("import", "export"):
        assert "one JSON object a line" in " ".join(mrb(name, "--help").stdout.split())


def test_the_roster_entry_is_listed_and_the_review_question_has_free_keys(mrb: Command, tmp_path: Path) -> None:
    [entry] = re.findall(r"```toml\n(.*?)```", TEXT, flags=re.DOTALL)
    (tmp_path / "mine.toml").write_text(entry, encoding="utf-8")
    assert "\nradiant-7b " in mrb("judges", "--roster", tmp_path / "mine.toml").stdout
    [code] = re.findall(r"```python\n(Question.*?)```", TEXT, flags=re.DOTALL)
    question = eval(code, {"Question": Question})  # noqa: S307  # our own text
    assert isinstance(question, Question)
    assert not set(question.keys) & {key for other in QUESTIONS for key in other.keys}


def test_the_format_reads_and_writes(mrb: Command, bench: Path, tmp_path: Path) -> None:
    composition = json.loads(mrb("analyze", bench, "--table", "composition", "--json").stdout)
    assert [row["n_cases"] for row in composition["rows"]] == [3]
    said = mrb("export", "lines", bench, bench / "runs", tmp_path / "out")
    assert "6 verdicts and 3 annotations are left out" in said.stdout + said.stderr
    lines = [json.loads(line) for line in (tmp_path / "out" / "lines.jsonl").read_text().splitlines()]
    assert lines[1] == {"question": "how", "first": "d", "second": "c"}


def test_the_engine_judges_and_the_table_counts_its_ties(mrb: Command, bench: Path) -> None:
    [row] = json.loads(mrb("analyze", bench, "--table", "ties", "--json").stdout)["rows"]
    assert {name: row[name] for name in ("judge", "dimension", "subfield", "n", "n_clusters", "reason")} == {
        "judge": "program", "dimension": "overall", "subfield": None, "n": 3, "n_clusters": 3, "reason": None,
    }  # fmt: skip
    assert row["tie_rate"] == pytest.approx(1 / 3)
    # as many independent cases as have the error: 2; beyond Student's t of 2 degrees of freedom
    ends = proportion_confint(2 / 3, 2, alpha=2 * norm.sf(student.ppf(0.975, 2)), method="wilson")
    assert [row["tie_rate_low"], row["tie_rate_high"]] == pytest.approx(list(ends))


def test_the_table_is_short_and_read_by_people(mrb: Command, plugins: Path, bench: Path) -> None:
    lines = (plugins / "toy" / "ties.py").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip() and '"""' not in line]) < 25
    shown = mrb("analyze", bench, "--table", "ties").stdout
    assert "\n\nprogram calls a tie most often, in 33% of its verdicts on overall.\n" in shown
    assert "share of ties among the verdicts on a case, mean over cases\n" in mrb("analyze", "--explain", "ties").stdout


def test_the_engine_is_short_and_shows_images_reference_probe_and_both_orders(
    mrb: Command, plugins: Path, bench: Path, tmp_path: Path
) -> None:
    lines = (plugins / "toy" / "program.py").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip() and '"""' not in line]) < 25
    cases = pd.DataFrame({"case_id": ["one"], "question": ["Which?"], "response_a": ["zebra"], "response_b": ["ape"]})
    cases.assign(reference="It is an ape.", images=["film.png"]).to_csv(tmp_path / "cases.csv", index=False)
    (tmp_path / "images").mkdir()
    Image.new("L", (31, 17)).save(tmp_path / "images" / "film.png")
    mrb("import", "table", tmp_path, tmp_path / "b")
    (plugins / "asked.jsonl").unlink(missing_ok=True)
    mrb("judge", tmp_path / "b", tmp_path / "runs", "--judge", "program", "--reference", "strong",
        "--probe", "prompt/labels")  # fmt: skip
    asked = [json.loads(line) for line in (plugins / "asked.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [one["images"] for one in asked] == [[[31, 17]]] * len(asked)
    assert all("It is an ape." in one["prompt"] for one in asked)
    firsts = [re.findall(r"<<<response (\w+) \w+>>>\n(\w+)", one["prompt"])[0] for one in asked]
    assert {("A", "zebra"), ("A", "ape"), ("1", "zebra"), ("1", "ape")} <= set(firsts)
    verdicts = pd.concat(map(pd.read_parquet, (tmp_path / "runs").rglob("*.parquet")))
    assert set(verdicts["status"]) == {"ok"}
    assert set(verdicts["choice"]) == {"B"}  # the ape, whichever is shown first and whatever it is called


def test_each_example_passes_the_checks_of_the_library(plugins: Path) -> None:
    for check in (("ruff", "check"), ("ruff", "format", "--check"), ("mypy",)):
        line = [sys.executable, "-m", *check, "--config-file" if check[0] == "mypy" else "--config", "pyproject.toml"]
        files = [plugins / "toy" / f"{name}.py" for name in MODULES.values()]
        done = subprocess.run([*line, *files], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_figure_is_short_and_drawn_by_a_notebook_of_a_report(
    mrb: Command, plugins: Path, bench: Path, tmp_path: Path
) -> None:
    assert len((plugins / "toy" / "tie_rates.py").read_text(encoding="utf-8").splitlines()) < 30
    parameters = nbformat.v4.new_code_cell('benchmark = "demo"', metadata={"tags": ["parameters"]})
    cell = nbformat.v4.new_code_cell('import mrb_lib as mrb\n\nmrb.open(benchmark).table("ties").plot()')
    (tmp_path / "notebooks").mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=[parameters, cell]), tmp_path / "notebooks" / "ties.ipynb")
    mrb("report", bench, "--out", tmp_path / "report", "--notebooks", tmp_path / "notebooks")
    [entry] = json.loads((tmp_path / "report" / "figures" / "index.json").read_text())["figures"]
    assert (entry["id"], entry["title"]) == ("tie-rates", "How often judges call a tie")
    assert entry["caption"].startswith("Share of ties among the verdicts with a choice, on overall.")
    drawn = pd.read_csv(tmp_path / "report" / "figures" / "tie-rates.csv")
    assert drawn["tie_rate"].tolist() == [pytest.approx(1 / 3)]


def test_the_probe_is_listed_and_changes_what_a_judge_is_shown(mrb: Command, bench: Path, tmp_path: Path) -> None:
    [line] = [line for line in mrb("probes").stdout.splitlines() if line.startswith("response/shouted ")]
    assert line.split(maxsplit=2)[1:] == ["same", "Write one response in capital letters."]
    mrb("judge", bench, tmp_path, "--judge", "program", "--probe", "response/shouted")
    table = json.loads(mrb("analyze", bench, tmp_path, "--table", "probes", "--json").stdout)["rows"]
    changed = [row["changed"] for row in table if row["part"] == "probe" and row["probe"] == "response/shouted"]
    cases = pd.read_parquet(bench / "cases.parquet")
    ab = [(row.response_a, row.response_b) for row in cases.itertuples()]
    shown = [
        (a.upper(), b) if target(case_id) == "A" else (a, b.upper())
        for case_id, (a, b) in zip(cases["case_id"], ab, strict=True)
    ]
    moved = [_first(*before) != _first(*after) for before, after in zip(ab, shown, strict=True)]
    assert changed == [pytest.approx(sum(moved) / 3)]


def _first(a: str, b: str) -> str:
    """What the example's engine chooses: the response that comes first in the alphabet; a tie where they are equal."""
    return "tie" if a == b else "A" if a < b else "B"
