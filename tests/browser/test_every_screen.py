"""Every screen can be read by everyone: nothing serious for axe-core, light and dark, from a phone to a wide screen."""

from collections.abc import Callable
from pathlib import Path

import pydicom
import pytest
from playwright.sync_api import Page, expect

from tests.pictures import png

from .axe import violations, violations_in_both_schemes
from .pages import desk, document, explorer, plain_case, press, show, sign_in
from .server import Served, path_of, simulated
from .small_site import UNFOLD, address, first_case, shared_site
from .test_image import RAMPS

WIDTHS = (400, 1024, 1280, 1920)
PAGES = ("01_composition", "03_leaderboard", "07_failures")
CT = Path(pydicom.__file__).parent / "data" / "test_files" / "CT_small.dcm"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return path_of(simulated(tmp_path_factory.mktemp("screens"), 12, seed=3, judged=True))


def readable(page: Page, name: str) -> None:
    """All rules at the narrowest, those of colours in both schemes; no width is too small for it."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        if width == WIDTHS[0]:
            assert violations_in_both_schemes(page) == [], f"{name}, {width} wide"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name}, {width} wide"


def test_the_review(page: Page, bench: Path) -> None:
    with Served("review", bench) as served:
        page.goto(served.address.split("?")[0])
        expect(page.get_by_role("heading", name="The address is not complete")).to_be_visible()
        readable(page, "door")
        explorer(page, served.address, "judge=longer&dimension=overall")
        readable(page, "not signed in")
        sign_in(page, "Dr A")
        page.get_by_role("button", name="more for the image").click()
        page.evaluate(UNFOLD)
        press(page, ("Escape", "2", "Escape", "m", "Enter", "ArrowRight", "ArrowDown", "Enter"))
        expect(page.locator(".mrb-regions li")).to_have_count(1)
        readable(page, "a review")
        press(page, ("Escape", "?"))
        expect(page.get_by_role("dialog", name="Keys")).to_contain_text("next case")
        readable(page, "the keys")


def test_annotation(page: Page, bench: Path) -> None:
    with Served("annotate", bench, "--annotators", "Dr One,Dr Two") as served:
        page.goto(served.address)
        expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
        readable(page, "who are you")
        desk(page, served.address, "Dr One")
        page.keyboard.press("a")
        page.get_by_role("button", name="more for the image").click()
        readable(page, "a case")
        page.keyboard.press("x")
        expect(page.get_by_role("dialog")).to_be_visible()
        readable(page, "to skip it")


def test_coordination(page: Page, bench: Path) -> None:
    with Served("annotate", bench, "--annotators", "Dr One,Dr Two", "--coordinator") as served:
        page.goto(served.address)
        expect(page.get_by_role("row", name="Dr One").first).to_be_visible()
        readable(page, "coordination")


def test_the_report(new_page: Callable[..., Page], tmp_path_factory: pytest.TempPathFactory) -> None:
    site = shared_site(tmp_path_factory.getbasetemp())
    page = new_page()
    for name in ("index.html", *(f"pages/{name}.html" for name in PAGES), first_case(site)):
        page.goto(address(site, name))
        page.evaluate(UNFOLD)
        readable(page, name)


def cases() -> str:
    """Two cases: one with a deep, a plain and a damaged image, one without any."""
    images = {"ct.dcm": CT.read_bytes(), "grey.png": png(RAMPS["8 bits"]), "torn.png": b"no image"}
    long = "No fracture of the left femur, 5 mm. " * 80
    full = {"response_a": long, "model_a": "responder-1", "reference": "Left.", "dataset": "teaching files"}
    first = plain_case(images, **full)
    return document(first, plain_case({}, case_id="c2"))


def test_the_case_view(page: Page) -> None:
    show(page, cases())
    page.evaluate(UNFOLD)
    readable(page, "a plain case")
    page.goto("about:blank")
    page.emulate_media(color_scheme="light")
    show(page, cases().replace("</style>", ".mrb-case .mrb-text { color: #bbb; }</style>", 1))
    assert any(found.startswith("color-contrast") for found in violations(page)), "the check would not see it"


@pytest.mark.parametrize(("system", "jupyter", "dark"), [("dark", "true", False), ("light", "false", True)])
def test_in_jupyterlab_its_theme_decides_and_paper_is_white(
    new_page: Callable[..., Page], system: str, jupyter: str, dark: bool
) -> None:
    page = new_page(color_scheme=system)
    show(page, cases().replace('<body class="mrb">', f'<body data-jp-theme-light="{jupyter}">'))
    case = page.locator(".mrb-case").first
    expect(case).to_have_css("background-color", "rgb(21, 25, 27)" if dark else "rgb(252, 252, 250)")
    page.emulate_media(media="print")
    expect(case).to_have_css("background-color", "rgb(252, 252, 250)")
