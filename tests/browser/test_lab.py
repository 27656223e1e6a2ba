"""JupyterLab as `mrb lab` opens it: the views of a study shown in a notebook, used, and nothing else touched."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.demo import write_demo
from mrb_lib.report.places import write_simulated_runs
from mrb_lib.review.boards import browse_heatmap, browse_leaderboard
from mrb_lib.review.plain import PlainView
from mrb_lib.stats.analyze import analyze
from mrb_lib.stats.where import restricted
from mrb_lib.verdicts.store import load_verdicts

from .axe import violations
from .conftest import Watched, unhurried
from .hostile import harm, write_hostile
from .server import MRB

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
LIGHT, DARK = (
    f"() => {{ window.jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {name}'}}); }}"
    for name in ("Light", "Dark")
)
VIEWS = (
    "import mrb_lib as mrb\nstudy = mrb.open(BENCH)",
    'study.explore("leaderboard")',
    'explorer = study.explore()\nstudy.explore("heatmap", by="organ", explorer=explorer)',
    "explorer",
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
KEYS = (
    *"abcdefghijklmnopqrstuvwxyz0123456789", "D", "J", "K", "M", "Shift+M", "Enter", "ArrowDown", "ArrowUp", "Delete",
    "Backspace", "Escape", "/", "?",
)  # fmt: skip


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
    """The address that `mrb lab` prints, with the notebook of the views in place of the first of the library's.

    The tests' own settings let scripts reach the app of JupyterLab.
    """
    work = bench.parent
    settings = work / "config"
    settings.mkdir()
    config = {"LabApp": {"expose_app_in_browser": True}}
    (settings / "jupyter_lab_config.json").write_text(json.dumps(config), encoding="utf-8")
    own = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "run"}
    own |= {"JUPYTERLAB_SETTINGS_DIR": "set", "JUPYTERLAB_WORKSPACES_DIR": "spaces", "IPYTHONDIR": "ipython"}
    environment = {**os.environ, "MRB_HOME": str(work / "home"), "OMP_NUM_THREADS": "1"}
    environment |= {name: str(work / folder) for name, folder in own.items()}
    words = ("lab", str(bench), "--no-browser", "--folder", str(work / "mine"))
    with (work / "log.txt").open("w") as log:
        server = subprocess.Popen([MRB, *words], env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
    assert server.stdout is not None
    with server.stdout:
        line = server.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/lab/tree/00_start\.ipynb\?token=\S{43}", line), line + (
            work / "log.txt"
        ).read_text(encoding="utf-8")
        assert "Warning" not in (work / "log.txt").read_text(encoding="utf-8")
        write_notebook(work / "mine" / "views.ipynb", VIEWS, bench)
        yield line.replace("00_start.ipynb", "views.ipynb")
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0


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
    lab.wait_for_function(READY, timeout=90_000)
    lab.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    expect(lab.locator(".mrb-heatmap, .mrb-board")).to_have_count(0)
    return run_all(lab)


@pytest.fixture
def shown(lab: Page, monkeypatch: pytest.MonkeyPatch) -> Page:
    """The notebook as the test before left it, in light colours."""
    unhurried(lab, monkeypatch)
    lab.wait_for_function(READY, timeout=90_000)
    lab.evaluate(LIGHT)
    return lab if lab.locator(".mrb-board tbody tr").count() else run_all(lab)


def run_all(page: Page) -> Page:
    """Run every cell of the notebook that is open."""
    page.wait_for_function(READY, timeout=90_000)
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    expect(page.locator(".mrb-heatmap [data-row]").first).to_be_visible(timeout=90_000)
    expect(page.locator(".mrb-board tbody tr").first).to_be_visible(timeout=30_000)
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


def judges(page: Page) -> list[str]:
    rows = page.locator(".mrb-board tbody.mrb-judges > tr:visible > th")
    return [text.strip() for text in rows.all_text_contents()]


def numbers(page: Page, column: int) -> list[float]:
    cells = page.locator(f".mrb-board tbody.mrb-judges > tr:visible > td:nth-child({column})")
    return [float(cell.get_attribute("data-v") or "nan") for cell in cells.all()]


def settled(widget: Locator) -> None:
    expect(widget).not_to_have_attribute("aria-busy", "true", timeout=30_000)


def test_the_views_answer_and_no_key_edits_the_notebook(opened: Page, bench: Path) -> None:
    expect(
        opened.locator(".jp-RenderedText[data-mime-type*=stderr], .jp-OutputArea [data-mime-type*=error]")
    ).to_have_count(0)
    benchmark, verdicts = load(bench), load_verdicts(bench / "runs", load(bench).cases)
    board = opened.locator(".mrb-board")
    settled(board)

    for policy in ("balanced", "strict"):
        board.get_by_label("Policy").select_option(policy)
        expect(board.locator(".mrb-about")).to_contain_text(f"policy {policy}")
        settled(board)
        table = analyze(benchmark, verdicts, "accuracy", policy=policy, dimension="overall", references=0)
        assert judges(opened) == table["judge"].tolist()
        assert numbers(opened, 5) == pytest.approx(table["accuracy"].tolist(), abs=0)

    board.get_by_role("button", name="Judge", exact=True).click()
    assert judges(opened) == sorted(table["judge"])
    expect(board.locator("th[aria-sort]")).to_have_attribute("data-key", "judge")
    board.get_by_role("button", name="Accuracy, 95% interval").click()
    board.get_by_role("button", name="Accuracy, 95% interval").click()
    assert numbers(opened, 5) == sorted(table["accuracy"])
    board.get_by_label("Judges whose name has").fill("hasty")
    expect(board.get_by_role("status")).to_have_text(f"1 of {len(table)} judges")
    assert judges(opened) == [name for name in table["judge"] if "hasty" in name]

    opened.wait_for_function(READY, timeout=60_000)
    before = opened.evaluate(STATE)
    explorer = opened.locator(".mrb-explorer")
    for place in (
        board.locator("button.mrb-sort"),
        opened.locator(".mrb-heatmap [data-row]"),
        explorer.locator("select"),
    ):
        keys_leave_the_notebook(opened, place.first, before)
    board.get_by_label("Judges whose name has").fill("")
    board.get_by_label("Judges whose name has").press_sequentially("aabdd")
    expect(board.get_by_label("Judges whose name has")).to_have_value("aabdd")
    assert opened.evaluate(STATE) == before


def test_a_click_on_a_cell_lists_the_cases_that_its_number_counts(opened: Page, bench: Path) -> None:
    heat = opened.locator(".mrb-heatmap")
    settled(heat)
    benchmark, verdicts = load(bench), load_verdicts(bench / "runs", load(bench).cases)
    table = analyze(benchmark, verdicts, "accuracy", by="organ", dimension="overall")
    row = table[table["subfield"] == "chest"].iloc[0]
    cell = heat.get_by_role("button", name=re.compile(rf"^{re.escape(row['judge'])}, chest: "))
    expect(cell).to_have_attribute("title", re.compile(rf" of {row['n']} cases"))
    cell.click()
    behind = heat.locator(".mrb-behind")
    expect(behind.locator("h4")).to_contain_text(row["judge"])
    settled(heat)
    expect(behind.locator("[data-position]")).to_have_count(int(row["n"]))
    ids = [text.strip() for text in behind.locator("[data-position] button").all_text_contents()]
    organ = benchmark.cases.set_index("case_id")["organ"]
    assert len(set(ids)) == row["n"]
    assert {organ[name] for name in ids} == {"chest"}

    behind.locator("[data-case]").first.click()
    case = behind.locator(".mrb-one-case .mrb-case")
    expect(case).to_have_attribute("data-case", ids[0])
    opened.keyboard.press("j")
    expect(case).to_have_attribute("data-case", ids[1])
    opened.keyboard.press("Escape")
    expect(case).to_have_count(0)

    behind.get_by_role("button", name="Open these in the explorer").click()
    explorer = opened.locator(".jp-OutputArea-output", has=opened.locator("[data-case]")).last
    expect(explorer).to_contain_text(ids[0], timeout=30_000)

    heat.locator("[data-row='0'][data-column='0']").focus()
    opened.keyboard.press("ArrowRight")
    opened.keyboard.press("ArrowDown")
    expect(heat.locator("[data-row='1'][data-column='1']")).to_be_focused()
    opened.keyboard.press("Enter")
    settled(heat)
    expect(heat.locator("[data-row='1'][data-column='1']")).to_have_attribute("data-open", "")


def test_a_filter_typed_into_the_boards_goes_along_to_the_explorer(opened: Page, bench: Path) -> None:
    board, heat, explorer = (opened.locator(f".mrb-{name}") for name in ("board", "heatmap", "explorer"))
    where = "modality != 'MRI' and length > 500"
    left = len(restricted(load(bench), None, where)[0].cases)
    for one in (board, heat):
        settled(one)
        one.get_by_label("Where", exact=True).press_sequentially(where)  # no letter of it is the notebook's
        opened.keyboard.press("Enter")
        expect(one.locator(".mrb-about")).to_contain_text(f"where {where}: {left} of {CASES} cases", timeout=30_000)
        settled(one)
    heat.locator("[data-row='0'][data-column='0']").click()
    settled(heat)
    n = int(heat.locator(".mrb-behind [data-outcome=scored] b").inner_text())
    assert 0 < n <= left
    heat.get_by_role("button", name="Open these in the explorer").click()
    expect(explorer.locator(".mrb-position")).to_contain_text(f"of {n} cases", timeout=30_000)
    expect(explorer.locator("[data-filter=where]")).to_have_value(where)


def test_widgets_are_dark_where_the_lab_is(shown: Page) -> None:
    board = shown.locator(".mrb-board")
    light = board.evaluate("root => getComputedStyle(root).backgroundColor")
    shown.evaluate(DARK)
    expect(shown.locator("body")).to_have_attribute("data-jp-theme-light", "false")
    expect(board).not_to_have_css("background-color", light)
    red, green, blue = map(
        int, re.findall(r"\d+", board.evaluate("root => getComputedStyle(root).backgroundColor"))[:3]
    )
    assert max(red, green, blue) < 60


def test_a_kernel_that_was_restarted_answers_nothing_and_the_views_say_so(opened: Page) -> None:
    board = opened.locator(".mrb-board")
    settled(board)
    opened.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    board.get_by_label("Policy").select_option("strict")
    expect(board.get_by_role("alert")).to_have_text("The kernel behind this view has ended. Run its cell again.")
    expect(board).not_to_have_attribute("aria-busy", "true")
    heat = opened.locator(".mrb-heatmap")
    heat.get_by_label("Policy").select_option("strict")
    said = heat.get_by_role("status")
    expect(said).to_have_text("The kernel behind this view has ended. Run its cell again.")
    expect(heat.locator(".mrb-heat")).to_have_css("opacity", "0.45")
    heat.locator("[data-row]").first.click()  # a cell of the table before tells nothing of what is chosen now
    expect(heat.locator("[data-open]")).to_have_count(0)


def test_no_key_pressed_in_the_explorer_or_in_a_plain_case_edits_the_notebook(
    new_page: Callable[..., Page], address: str, bench: Path
) -> None:
    write_notebook(bench.parent / "mine" / "keys.ipynb", ("1", _EXPLORER, _CASE, "2"), bench)
    page = new_page(hasty=True)
    page.goto(f"{address.replace('views.ipynb', 'keys.ipynb')}&reset", wait_until="domcontentloaded")
    page.wait_for_function(READY, timeout=90_000)
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    explorer, case = page.locator(".mrb-explorer"), page.locator(".mrb-case:not(.mrb-explorer .mrb-case)")
    expect(explorer.locator(".mrb-case[data-case]")).to_be_visible(timeout=60_000)
    expect(case).to_be_visible(timeout=60_000)
    term = explorer.locator(".mrb-place dt").first
    lines = "one => one.getBoundingClientRect().height / parseFloat(getComputedStyle(one).lineHeight)"
    assert term.evaluate(lines) < 1.5
    page.wait_for_function(READY, timeout=60_000)
    before = page.evaluate(STATE)
    for place in ("button", "select", "[role=listbox]", "summary", ".mrb-answer-text", ".mrb-case"):
        keys_leave_the_notebook(page, explorer.locator(f"{place}:visible:not(:disabled)").first, before)
    for place in ("input", "summary", ".mrb-answer-text", ".mrb-wide"):
        keys_leave_the_notebook(page, case.locator(place).first, before)


def test_hostile_text_in_every_field_does_nothing(
    new_page: Callable[..., Page], address: str, tmp_path: Path, bench: Path
) -> None:
    hostile = write_hostile(tmp_path, long=20_000)
    write_notebook(bench.parent / "mine" / "hostile.ipynb", VIEWS, hostile)
    page = new_page()
    page.goto(f"{address.replace('views.ipynb', 'hostile.ipynb')}&reset", wait_until="domcontentloaded")
    run_all(page)
    heat = page.locator(".mrb-heatmap")
    settled(heat)
    heat.locator("[data-row='0'][data-column='0']").click()
    heat.locator(".mrb-behind [data-case]").first.click()
    expect(heat.locator(".mrb-one-case .mrb-case")).to_be_visible()
    assert harm(page) == []
    expect(page.locator(".jp-RenderedText[data-mime-type*=stderr], [data-mime-type*=error]")).to_have_count(0)


def test_the_tables_fit_the_output_of_a_notebook_1280_wide(
    page: Page, bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MRB_STATIC", "1")
    benchmark = load(bench)
    verdicts = load_verdicts(bench / "runs", benchmark.cases)
    kinds = pd.DataFrame({"judge": verdicts["judge"].unique()}).assign(group="SIMULATED")
    board = browse_leaderboard(benchmark, verdicts, groups=kinds, by="organ", resamples=50)
    heat = browse_heatmap(benchmark, verdicts, by="organ", resamples=50)
    assert isinstance(board, PlainView)
    assert isinstance(heat, PlainView)
    body = f'<body style="margin: 0; width: 848px">{board.html}{heat.html}</body>'
    page.set_content(f'<!doctype html><html lang="en"><title>tables</title>{body}</html>')
    wide = page.locator(".mrb-scroll").evaluate_all("all => all.map(one => one.scrollWidth - one.clientWidth)")
    assert wide == [0, 0]
    page.evaluate("() => { document.body.style.width = '480px'; }")
    assert violations(page) == []
