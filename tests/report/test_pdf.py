"""The report as one PDF: pages with numbers, an outline, every figure, marks where data are simulated."""

import os
import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from mrb_lib.report import execute
from mrb_lib.report.html import pdf
from mrb_lib.report.html.case_pages import CasePage
from mrb_lib.report.html.site import Content
from mrb_lib.report.pipeline import report
from mrb_lib.report.provenance import provenance
from mrb_lib.report.records import read_record
from mrb_lib.tables.errors import InputError, RunError
from tests.report.conftest import Lab, run_in_this_process

pytestmark = pytest.mark.browser

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">'


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory, publish: str) -> Any:
    lab = Lab(tmp_path_factory.mktemp("printed"))
    lab.benchmark(kind="simulated", name=f"bench {HOSTILE}")
    lab.notebook(
        "01_first",
        publish + 'publish_figure("first", title="The first figure", caption="A first caption.", simulated=True)',
        "# Part\n\n## Deeper\n\nWords in between.",
        "publish_table('scores', 'judge,accuracy\\n' + 'x,0.25\\n' * 60)",
    )
    lab.notebook("02_next", publish + 'publish_figure("second", title="The second figure")')
    lab.notebook("03_fails", f"raise ValueError({HOSTILE!r})")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "run_notebooks", run_in_this_process)
        report(lab.bench, None, lab.out, notebooks=lab.notebooks, pdf=True)
    lab.first_pdf = (
        lab.out / "report.pdf"
    ).read_bytes()  # a test below removes the file, and may run before the others
    return lab


@pytest.fixture(scope="module")
def reader(printed: Any) -> PdfReader:
    return PdfReader(BytesIO(printed.first_pdf))


def test_every_page_says_which_of_how_many_it_is_and_that_it_is_simulated(reader: PdfReader) -> None:
    n_pages = len(reader.pages)
    assert n_pages >= 5
    for number, page in enumerate(reader.pages, start=1):
        text = page.extract_text()
        assert f"{number} of {n_pages}" in text
        assert "SIMULATED DATA" in text


def test_the_title_and_the_outline_name_the_notebooks_in_order(reader: PdfReader) -> None:
    assert reader.metadata is not None
    assert reader.metadata.title == f"Report on bench {HOSTILE} (SIMULATED)"
    titles = [entry.title for entry in _flat(reader.outline)]
    wanted = ["The title of 01_first", "Part", "Deeper", "The title of 02_next", "The title of 03_fails", "Provenance"]
    assert [title for title in titles if title in wanted] == wanted


def _flat(entries: Any) -> list[Any]:
    return [found for entry in entries for found in (_flat(entry) if isinstance(entry, list) else [entry])]


def test_figures_captions_prose_tables_and_failures_are_in_it(printed: Any, reader: PdfReader) -> None:
    text = re.sub(r"\s+", " ", " ".join(page.extract_text() for page in reader.pages))
    for words in ("The first figure. A first caption.", "The second figure.", "How to read it.", "Words in between."):
        assert words in text
    assert "The first 40 of 60 rows; tables/scores.csv has all of them." in text
    assert "ValueError" in text
    assert "alert(1)" in text, "hostile text is shown as text"
    runs = provenance(printed.bench, printed.bench / "runs", policy="balanced", dimension="overall", seed=0).runs
    assert runs and all(run["sha256"] in text.replace(" ", "") for run in runs)


def test_the_chosen_cases_are_printed_whole(reader: PdfReader) -> None:
    text = re.sub(r"\s+", " ", " ".join(page.extract_text() for page in reader.pages))
    assert "Cases to read" in text
    assert "1 of 1 · a judge is wrong case c2" in text.casefold()
    assert "On the site: cases/c2.html" in text
    outline = [entry.title for entry in _flat(reader.outline)]
    assert outline.index("Cases to read") < outline.index("Case c2") < outline.index("Provenance")


def _printed_html(printed: Any, cases: Sequence[CasePage] = ()) -> str:
    made_from = provenance(printed.bench, None, policy="balanced", dimension="overall", seed=0)
    records = [read_record(printed.out, path.stem) for path in sorted(printed.notebooks.glob("*.ipynb"))]
    return pdf.print_html(Content(printed.out, [record for record in records if record], made_from, cases), {})


def test_what_is_printed_has_no_script_and_asks_nobody(printed: Any) -> None:
    text = _printed_html(printed)
    assert "<script" not in text
    assert "default-src 'none'" in text
    assert not re.search(r'src="(?!figures/)|href="(?!#)', text), "a link to a file would name a folder of this machine"
    assert "opened from disk" not in text
    assert not list(printed.out.glob(".print-*"))


def test_it_is_printed_again_only_where_something_changed_and_removed_where_it_is_not_wanted(
    printed: Any, quickly: None
) -> None:
    made = (printed.out / "report.pdf").stat().st_mtime_ns
    assert printed.report(pdf=True).failed
    again = (printed.out / "report.pdf").stat().st_mtime_ns
    assert again > made, "the notebook that failed ran again"
    (printed.notebooks / "03_fails.ipynb").unlink()
    printed.report(pdf=True)
    third = (printed.out / "report.pdf").stat().st_mtime_ns
    printed.report(pdf=True)
    assert (printed.out / "report.pdf").stat().st_mtime_ns == third > again
    assert 'href="report.pdf"' in (printed.out / "index.html").read_text()
    printed.report()
    assert not (printed.out / "report.pdf").exists()
    assert 'href="report.pdf"' not in (printed.out / "index.html").read_text()


def test_without_a_chromium_it_says_which_package_to_install_and_writes_nothing(
    lab: Any, publish: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.notebook("one", publish)
    monkeypatch.delenv("MRB_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match="Debian package chromium"):
        lab.report(pdf=True)
    monkeypatch.setenv("MRB_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(InputError, match="MRB_CHROMIUM: /nowhere/chromium"):
        lab.report(pdf=True)
    assert not lab.out.exists()


def test_a_browser_that_prints_nothing_is_said(
    lab: Any, publish: str, quickly: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.write_text(f"#!{os.environ.get('SHELL', '/bin/sh')}\necho it has no display >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("MRB_CHROMIUM", str(broken))
    lab.notebook("one", publish)
    with pytest.raises(RunError, match=r"printed nothing \(it has no display"):
        lab.report(pdf=True)
    assert not (lab.out / "report.pdf").exists()
    index = (lab.out / "index.html").read_text(encoding="utf-8")
    assert "The title of one" in index, "the site does not wait for a printer"
    assert "report.pdf" not in index


def test_the_contents_name_the_page_on_which_each_part_begins(reader: PdfReader) -> None:
    contents = reader.pages[0].extract_text()
    for title in (
        "The title of 01_first",
        "The title of 02_next",
        "The title of 03_fails",
        "Cases to read",
        "Provenance",
    ):
        begins = next(
            number for number, page in enumerate(reader.pages, 1) if number > 1 and title in page.extract_text()
        )
        line = contents[contents.index(title) :]
        stated = re.match(rf"{title}(?: \(failed\)|, \d+)?\s+(\d+)(?:\s|$)", line)
        assert stated, line[:80]
        assert int(stated[1]) == begins
