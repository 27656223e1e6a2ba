"""The pictures of the main screens that the README shows, taken from the embedded benchmark. SIMULATED data.

Run it by hand after `make report`: `make screenshots`. It writes figures/screens/*.png.
"""

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from mrb_lib.demo import write_demo
from mrb_lib.report.html.pdf import browser
from tests.browser.conftest import FLAGS
from tests.browser.pages import desk, explorer, press, told
from tests.browser.server import Served, lab_settings
from tests.browser.test_lab import READY, RUN_ALL

ROOT = Path(__file__).parent.parent.parent
SCREENS = ROOT / "figures" / "screens"
SIZE = (1280, 900)
COLOURS = 128
PATIENT = 120_000


def keep(page: Page, name: str) -> None:
    """Write the screen, in few enough colours to be small."""
    whole = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    whole.quantize(COLOURS, dither=Image.Dither.NONE).save(SCREENS / f"{name}.png", optimize=True)


def review(page: Page, folder: Path) -> None:
    """The failure explorer: a judge's confident errors, and a reviewer about to mark one."""
    query = "judge=simulated-specialist&dimension=overall&kind=wrong&sort=confidence&desc=1"
    with Served("review", Path("demo"), "--store", str(folder / "review.sqlite"), home=folder / "home") as served:
        explorer(page, served.address, query, "Dr Example")
        expect(page.locator(".mrb-case-pane .mrb-view.mrb-live").first).to_be_visible()
        page.keyboard.press("2")
        expect(page.locator(".mrb-list .mrb-thumb img").nth(7)).to_be_visible()
        keep(page, "review")


def annotate(page: Page, folder: Path) -> None:
    """The annotation of a case, two dimensions answered."""
    bench = folder / "demo"
    write_demo(bench, cases=60, seed=0)
    options = ("--annotators", "Dr Example,Dr Sample", "--overlap", "2", "--store", str(folder / "annotate.sqlite"))
    with Served("annotate", bench, *options) as served:
        desk(page, served.address, "Dr Example")
        press(page, "ab")
        told(page, "Saved: Relevance")
        keep(page, "annotate")


def lab(page: Page, folder: Path) -> None:
    """Controls in JupyterLab: the accuracy of each judge by organ, on the cases that a filter leaves."""
    options = ("--folder", str(folder / "lab"))
    with Served("lab", Path("demo"), *options, home=folder / "home", **lab_settings(folder)) as served:
        page.goto(f"{served.address.replace('00_start', '02_leaderboard')}&reset", wait_until="domcontentloaded")
        page.wait_for_function(READY)
        page.evaluate(RUN_ALL)
        controls, where = page.locator(".mrb-controls"), "modality != 'MRI' and length > 500"
        controls.get_by_label("view").select_option("table")
        controls.get_by_label("where").fill(where)
        controls.get_by_label("where").press("Enter")
        expect(controls.locator("caption")).to_contain_text(where)
        controls.get_by_label("by").select_option("organ")
        controls.get_by_label("view").select_option("figure")
        expect(controls.locator("img")).to_be_visible()
        controls.evaluate("box => box.scrollIntoView({block: 'start'})")
        keep(page, "lab")


def site(page: Page) -> None:
    """The first page of the report."""
    page.goto((ROOT / "report" / "index.html").as_uri())
    keep(page, "report")


def main() -> None:
    """Take them all."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=browser(), args=list(FLAGS))
        page = launched.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        page.set_default_timeout(PATIENT)
        expect.set_options(timeout=PATIENT)
        for take in (review, annotate, lab):
            take(page, Path(name))
        site(page)
        launched.close()


if __name__ == "__main__":
    main()
