"""JupyterLab as `mrb lab` opens it: the views of a study shown in a notebook, used, and nothing else touched."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import mrb_lib as mrb
from mrb_lib import Table
from mrb_lib.benchmarks.benchmark import load
from mrb_lib.demo import write_demo
from mrb_lib.report.places import write_simulated_runs
from mrb_lib.review.records.store import open_store

from .conftest import Watched, unhurried
from .hostile import ATTACKS, harm, write_hostile
from .pages import settled
from .server import Served, lab_settings

CASES = 60
READY = """() => {
  const shown = window.jupyterapp?.shell?.currentWidget, kernel = shown?.sessionContext?.session?.kernel;
  return shown?.context?.isReady && shown?.sessionContext?.isReady && kernel?.connectionStatus === "connected"
    && kernel?.status === "idle";
}"""
STATE = """async place => {
  for (let i = 0; i < 1000 && document.querySelector(".mrb-changing"); i += 1) await new Promise(requestAnimationFrame);
  if (place && (!place.isConnected || !place.checkVisibility() || place.disabled)) return null;
  place?.focus();
  const cells = window.jupyterapp.shell.currentWidget.content.model.cells;
  return Array.from({length: cells.length}, (_, i) => [cells.get(i).type, cells.get(i).sharedModel.getSource()]);
}"""
DARK = "() => { window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'}); }"
RUN_ALL = "() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
VIEWS = (
    "import mrb_lib as mrb\nstudy = mrb.open(BENCH, resamples=200)",
    'study.controls("accuracy", dimension="overall", view="table")',
    "study.explore()",
)
_EXPLORER = """\
from pathlib import Path
from mrb_lib.benchmarks.benchmark import load
from mrb_lib.verdicts.store import load_verdicts
from mrb_lib.review.explorer import explore
b = load(Path(BENCH))
v = load_verdicts(Path(BENCH) / "runs", b.cases).assign(reply="because")
explore(b, v)"""
_CASE = """\
from IPython.display import HTML
from mrb_lib.benchmarks.votes import gold
from mrb_lib.review.case import case_html
HTML(case_html(b.cases.iloc[0], images=b.images, annotations=b.annotations, gold=gold(b), verdicts=v))"""
_ANNOTATION = """\
import pandas as pd
from pathlib import Path
from mrb_lib.benchmarks.benchmark import load
from mrb_lib.review.annotate import annotate
from mrb_lib.review.records.store import open_store
b = load(Path(BENCH))
store = open_store(Path(BENCH) / "lab.sqlite")
deal = {"case_id": b.cases["case_id"].head(2), "annotator": "Dr Lab", "position": range(2), "order": "AB"}
store.assign(b.meta.name, pd.DataFrame(deal))
annotate(b, store)"""
KEYS = (
    *"abcdfiklmorstvxyz0123", "Shift+M", "Enter", "ArrowDown", "ArrowUp", "Backspace", "Escape", "/",
)  # fmt: skip
"""What does something to the cells of a notebook or to the view of them, or is a key of the app."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty simulated cases with the verdicts of simulated judges."""
    folder = tmp_path_factory.mktemp("lab") / "bench"
    write_demo(folder, cases=CASES, seed=3)
    write_simulated_runs(folder, folder / "runs", seed=3)
    return folder


def write_notebook(path: Path, cells: Sequence[str], bench: Path) -> None:
    """A notebook of cells of code in which BENCH stands for the benchmark."""
    made = [nbformat.v4.new_code_cell(text.replace("BENCH", repr(str(bench)))) for text in cells]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=made, metadata=kernel), path)


@pytest.fixture(scope="module")
def address(bench: Path) -> Iterator[str]:
    """The address that `mrb lab` prints, with the notebook of the views in place of the first of the library's."""
    mine = bench.parent / "mine"
    with Served("lab", bench, "--folder", str(mine), **lab_settings(bench.parent)) as lab:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/lab/tree/00_start\.ipynb\?token=\S{43}", lab.address), lab.address
        assert "Warning" not in lab.log()
        write_notebook(mine / "views.ipynb", VIEWS, bench)
        yield lab.address.replace("00_start.ipynb", "views.ipynb")
    assert lab.process.exitcode == 0


@pytest.fixture(scope="module")
def lab(chromium: Browser, address: str) -> Iterator[Page]:
    """One page with the notebook for all who use it; what it complains about fails the last of them."""
    watched = Watched(chromium.new_context(viewport={"width": 1280, "height": 860}))
    page = watched.context.new_page()
    page.goto(f"{address}&reset", wait_until="domcontentloaded")
    yield page
    complaints = list(watched.complaints)
    watched.context.close()
    assert complaints == []


@pytest.fixture
def opened(lab: Page, monkeypatch: pytest.MonkeyPatch) -> Page:
    """The notebook with every cell run anew."""
    unhurried(lab, monkeypatch)
    lab.wait_for_function(READY)
    lab.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    expect(lab.locator(".mrb-explorer, .widget-dropdown")).to_have_count(0)
    lab.wait_for_function(READY)
    lab.evaluate(RUN_ALL)
    return _drawn(lab)


def run_notebook(page: Page, address: str, folder: Path, name: str, cells: Sequence[str], bench: Path) -> Page:
    """Write a notebook into the lab's folder, open it, and run its cells."""
    write_notebook(folder / "mine" / f"{name}.ipynb", cells, bench)
    page.goto(f"{address.replace('views.ipynb', f'{name}.ipynb')}&reset", wait_until="domcontentloaded")
    page.wait_for_function(READY)
    page.evaluate(RUN_ALL)
    return page


def _drawn(page: Page) -> Page:
    expect(controls_of(page).locator("tbody tr").first).to_be_visible()
    expect(page.locator(".mrb-explorer [data-case]").first).to_be_visible()
    return page


def keys_leave_the_notebook(page: Page, place: Locator, before: object) -> None:
    """Press every key on an element, each time anew, since a key may lead elsewhere."""
    element = place.element_handle()
    for key in ("", *KEYS):
        if key:
            page.keyboard.press(key)
        while (state := element.evaluate(STATE)) is None:  # the key has put another in its place
            element = place.element_handle()  # to look for it takes twice as long as to press a key
        assert state == before, key


def controls_of(page: Page) -> Locator:
    """The controls of a table with what they draw."""
    return page.locator(".jp-OutputArea-output", has=page.locator(".widget-dropdown")).first


def cells_of(frame: Locator) -> list[list[str]]:
    """The text of the rows of a table; an interval is beside its value, with or without a space."""
    rows = frame.locator("tbody tr").all()
    return [["".join(text.split()) for text in row.locator("th, td").all_inner_texts()] for row in rows]


def expected(table: Table) -> list[list[str]]:
    return [["".join(text.split()) for text in row] for row in table.show().text.rows]


def test_the_controls_draw_each_choice_no_key_edits_the_notebook_and_views_are_dark_where_it_is(
    opened: Page, bench: Path
) -> None:
    expect(
        opened.locator(".jp-RenderedText[data-mime-type*=stderr], .jp-OutputArea [data-mime-type*=error]")
    ).to_have_count(0)
    study, shown = mrb.open(bench, resamples=200), controls_of(opened)
    assert cells_of(shown) == expected(study.table("accuracy", dimension="overall"))
    shown.get_by_label("dimension").select_option("creativity")
    expect(shown.locator("caption")).to_contain_text("dimension = creativity")
    assert cells_of(shown) == expected(study.table("accuracy", dimension="creativity"))
    shown.get_by_label("policy").select_option("strict")
    expect(shown.locator("caption")).to_contain_text("policy: strict")
    assert cells_of(shown) == expected(study.with_(policy="strict").table("accuracy", dimension="creativity"))

    opened.wait_for_function(READY)
    before, where = opened.evaluate(STATE), shown.get_by_label("where")
    where.press_sequentially("organn == 'x'")  # no letter of it is the notebook's
    opened.keyboard.press("Enter")
    line = shown.locator(".jp-RenderedText")
    expect(line).to_contain_text("where: 'organn' is unknown; use one of")
    expect(shown.locator("table")).to_have_count(0)
    assert len(line.inner_text().strip().splitlines()) == 1
    filter_ = "modality != 'MRI' and length > 500"
    where.fill(filter_)
    where.press("Enter")
    expect(shown.locator("caption")).to_contain_text(f"where {filter_}")
    fewer = mrb.open(bench, resamples=200, policy="strict", where=filter_)
    assert cells_of(shown) == expected(fewer.table("accuracy", dimension="creativity"))
    shown.get_by_label("view").select_option("figure")
    figure = fewer.table("accuracy", dimension="creativity").plot()
    (size,) = figure._repr_mimebundle_()[1].values()
    expect(shown.locator("img")).to_have_attribute("height", str(size["height"]))
    expect(line).to_have_count(0)

    opened.wait_for_function(READY)
    for place in (shown.locator("select"), where, opened.locator(".mrb-explorer select")):
        keys_leave_the_notebook(opened, place.first, before)
    opened.evaluate(DARK)
    expect(opened.locator("body")).to_have_attribute("data-jp-theme-light", "false")
    expect(opened.locator(".mrb-explorer")).to_have_css("background-color", "rgb(21, 25, 27)")


def test_a_kernel_that_was_restarted_answers_nothing_and_the_explorer_says_so(opened: Page) -> None:
    opened.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    opened.locator(".mrb-explorer [data-filter=organ]").select_option("=chest")
    expect(opened.locator(".mrb-explorer .mrb-notice")).to_have_text(
        "The kernel behind this view has ended. Run its cell again."
    )


def test_no_key_pressed_in_a_view_edits_the_notebook_and_a_case_is_annotated_in_a_cell(
    new_page: Callable[..., Page], address: str, bench: Path
) -> None:
    cells = ("1", _EXPLORER, _CASE, _ANNOTATION, "2")
    page = run_notebook(new_page(hasty=True), address, bench.parent, "keys", cells, bench)
    explorer, case = page.locator(".mrb-explorer"), page.locator(".mrb-case:not(.mrb-explorer .mrb-case)")
    expect(explorer.locator(".mrb-case[data-case]")).to_be_visible()
    expect(case).to_be_visible()
    term = explorer.locator(".mrb-place dt").first
    lines = "one => one.getBoundingClientRect().height / parseFloat(getComputedStyle(one).lineHeight)"
    assert term.evaluate(lines) < 1.5
    page.wait_for_function(READY)
    before = page.evaluate(STATE)
    for place in ("button", "select", "[role=listbox]", "summary", ".mrb-answer-text", ".mrb-case"):
        keys_leave_the_notebook(page, explorer.locator(f"{place}:visible:not(:disabled)").first, before)
    for place in ("input", "summary", ".mrb-answer-text", ".mrb-wide"):
        keys_leave_the_notebook(page, case.locator(place).first, before)

    annotation = page.locator(".mrb-annotate")
    desk, saved = annotation.locator(".mrb-desk"), annotation.locator(".mrb-saved")
    annotation.locator(".mrb-person", has_text="Dr Lab").click()
    expect(desk.locator(".mrb-view.mrb-live").first).to_be_visible()
    settled(page)
    desk.locator(".mrb-pick").first.click()
    expect(saved).to_contain_text("Saved: Accuracy, first")
    for key in "btjk":
        settled(page)
        page.keyboard.press(key)
    expect(annotation.get_by_role("heading", name="Case 1 of 2")).to_be_visible()
    expect(desk.locator(".mrb-state", has_text="✓ saved")).to_have_count(3)
    assert page.evaluate(STATE) == before
    with open_store(bench / "lab.sqlite", create=False) as store:
        rows = store.answers(load(bench).meta.name)
    assert rows["choice"].tolist() == ["A", "B", "tie"]


def test_hostile_text_in_every_field_does_nothing(
    new_page: Callable[..., Page], address: str, tmp_path: Path, bench: Path
) -> None:
    hostile = write_hostile(tmp_path, long=20_000)
    page = run_notebook(new_page(), address, bench.parent, "hostile", VIEWS, hostile)
    _drawn(page)
    shown = controls_of(page)
    shown.get_by_label("view").select_option("figure")
    expect(shown.locator("img")).to_be_visible()
    for attack in ATTACKS[:4]:
        shown.get_by_label("where").fill(attack)
        shown.get_by_label("where").press("Enter")
        expect(shown.locator(".jp-RenderedText")).to_contain_text("where")
    assert harm(page) == []
    expect(page.locator(".jp-RenderedText[data-mime-type*=stderr], [data-mime-type*=error]")).to_have_count(0)
