"""The commands and snippets of the README and the guide run and print what the pages show; every link works."""

import re
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from runpy import run_path

import pytest

from mrb_lib.cli.main import main
from mrb_lib.demo import build
from mrb_lib.report import execute
from tests.report.conftest import run_in_this_process

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "notebooks" / "guide"
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(GUIDE.glob("*.md"))]
NEEDS = {"qwen2.5-vl-7b": "Qwen2.5-VL-7B", "path:my-model": "holds no config.json", "endpoint:MODEL": "127.0.0.1:8000"}
"""Judges of commands that cannot run here, and what their message names."""
_CASE = cache(build.simulate_case)


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the fenced blocks of a page: language and text."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def commands(text: str) -> Iterator[list[str]]:
    """Yield the `mrb` commands of a block, without comments."""
    for line in text.splitlines():
        if line.startswith("mrb "):
            yield shlex.split(line, comments=True)


@pytest.fixture
def mrb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command in an empty working folder and returns what it says; tests/cli/test_servers.py starts servers, and
    tests/report/test_pipeline.py kernels.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(build, "simulate_case", _CASE)  # pages write the same demo
    monkeypatch.setattr(execute, "run_notebooks", run_in_this_process)
    for place in ("mrb_lib.review.server.serve", "mrb_lib.cli.lab_server.serve_lab"):
        monkeypatch.setattr(place, lambda *_, **__: None)

    def run(line: list[str], lacks: str = "") -> str:
        monkeypatch.setattr(sys, "argv", line)
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        assert bool(stop.value.code) == bool(lacks), said.err
        assert "Usage" not in said.err and lacks in said.out + said.err
        return said.out

    return run


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_a_page_runs_from_top_to_bottom_and_prints_what_it_shows(
    page: Path, mrb: Callable[..., str], tmp_path: Path
) -> None:
    if page.name in ("judges.md", "review.md"):
        (tmp_path / "ratings.csv").write_text(next(text for language, text in blocks(README) if language == "csv"))
        mrb(["mrb", "import", "table", "ratings.csv", "my-bench", "--verdicts", "my_model"])
    printed = ""
    for language, text in blocks(page):
        if language == "csv":
            (tmp_path / "ratings.csv").write_text(text)
        elif language == "toml":
            (tmp_path / "judges.toml").write_text(text)
        elif language == "python":
            exec(text, {})  # noqa: S102  # our own text
        elif language == "text":
            lines = iter(printed.splitlines())
            assert all(line == "..." or line in lines for line in text.splitlines()), printed
        elif language == "sh":
            printed = ""
            for line in commands(text):
                printed += mrb(line, next((lack for name, lack in NEEDS.items() if name in " ".join(line)), ""))


@pytest.mark.slow
def test_the_servers_that_the_readme_names_start(mrb: Callable[..., str]) -> None:
    mrb(["mrb", "demo", "my-bench", "--cases", "26", "--verdicts"])
    named = re.findall(r"`(mrb (?:lab|review|annotate) [^`]+)`", README.read_text(encoding="utf-8"))
    assert {line.split()[1] for line in named} == {"lab", "review", "annotate"}
    for line in named:
        mrb(shlex.split(line))


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    for page in [*PAGES, *notebooks]:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text(encoding="utf-8")):
            if target.startswith(("http", "mailto:")):
                continue
            file = page.parent / target if target else page
            assert file.exists(), f"{page.name}: {target}"
            headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE) if anchor else []
            slugs = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
            assert not anchor or anchor in slugs, f"{page.name}: {target}#{anchor}"


def test_make_targets_that_pages_name_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {name for page in PAGES for name in re.findall(r"`make ([a-z]+)", page.read_text(encoding="utf-8"))}
    assert {"report", "docs", "test", "dist"} <= named
    first_screen = README.read_text(encoding="utf-8").splitlines()[:20]
    assert any(line.startswith("![") for line in first_screen)
    assert all(f"\n{name}:" in makefile for name in named)


def test_the_book_has_a_page_for_every_kind_and_every_table_and_command(tmp_path: Path) -> None:
    from mrb_lib.cli.app import _Mrb
    from mrb_lib.stats.analyze import TABLES

    run_path(str(ROOT / "notebooks" / "book.py"))["write_sources"](tmp_path, tmp_path / "book")
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "book").rglob("*.md")}
    assert {f"extending_{kind}" for kind in ("table", "format", "engine", "probe", "figure")} <= pages.keys()
    assert all(f"\n## {name}\n" in pages["tables"] for name in TABLES)
    assert all(f"\n## mrb {name}\n" in pages["commands"] for name in _Mrb.names)
    assert all(f"guide/{path.stem}\n" in pages["index"] for path in GUIDE.glob("*.md"))
