"""Accessibility violations that axe-core finds on a page; the package axe-playwright-python brings its script."""

from functools import cache
from importlib.resources import files

from playwright.sync_api import Page

_OF_COLOURS = ("color-contrast", "link-in-text-block")
_RUN = """async ({ within, only }) => {
  const rules = only && { runOnly: { type: "rule", values: only } };
  const found = await axe.run(within ?? document, { resultTypes: ["violations"], ...rules });
  return found.violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => {
    const [first] = one.nodes;
    return `${one.id} (${one.impact}, ${one.nodes.length}): ${first.html.slice(0, 160)} ${first.failureSummary}`;
  });
}"""


@cache
def _axe() -> str:
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def violations(page: Page, within: str | None = None, *, colours: bool = False) -> list[str]:
    """The serious and critical violations on a page, or inside of the elements that a selector names.

    With `colours` the rules about these alone are applied: the others find the same in every colour scheme.
    """
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(_axe())
    found: list[str] = page.evaluate(_RUN, {"within": within, "only": _OF_COLOURS if colours else None})
    return found


def violations_in_both_schemes(page: Page) -> list[str]:
    """Those in light and in dark colours, and leaves the page dark."""
    page.emulate_media(color_scheme="light")
    light = violations(page)
    page.emulate_media(color_scheme="dark")
    return light + violations(page, colours=True)
