"""Plain pages for tests: cases with their script, under the rules that the site's pages have."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
import pandas as pd
from PIL import Image
from playwright.sync_api import Page, expect

from mrb_lib.widgets.bundle import csp_hash, script, style
from mrb_lib.widgets.case import SCRIPTS, STYLES, case_html

_BOOT = "\nfor (const root of document.querySelectorAll('.mrb-case')) mrbCase.attach(root);\n"
_VERDICTS = ("judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "p_a", "status", "reply", "error")


def document(*bodies: str, theme: str = "", title: str = "cases") -> str:
    """A whole page of HTML that may run `case.js` and nothing else, and may ask for nothing."""
    code = script(*SCRIPTS) + _BOOT
    rules = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{csp_hash(code)}'"
    return (
        f'<!doctype html><html lang="en"{theme}><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{rules}">'
        f"<style>{style(*STYLES)}body {{ margin: 1rem }}</style></head>"
        f'<body class="mrb"><main><h1>Cases</h1>{"".join(bodies)}</main><script>{code}</script></body></html>'
    )


def plain_case(images: Mapping[str, bytes], **fields: object) -> str:
    """A case about some images, with two annotators and a judge."""
    case = pd.Series(
        {"case_id": "c1", "question": "Which side?", "response_a": "Left, 5 mm.", "response_b": "Right, 7 mm.",
         "images": list(images), "organ": "lung", "modality": "CT", **fields}
    )  # fmt: skip
    here = str(case["case_id"])
    votes = [(here, who, "overall", said) for who, said in (("r1", "A"), ("r2", "B"))]
    said = [("judge", here, "overall", order, 0, "none", "A", 0.7, "ok", "because", None) for order in ("AB", "BA")]
    return case_html(
        case,
        images=images,
        annotations=pd.DataFrame(votes, columns=["case_id", "annotator", "dimension", "choice"]),
        gold=pd.DataFrame({"case_id": [here], "dimension": ["overall"], "choice": ["A"]}),
        verdicts=pd.DataFrame(said, columns=list(_VERDICTS)),
        style=False,
    )


def stored(values: np.ndarray) -> bytes:
    """An array as PNG, 8 or 16 bits a channel as it has."""
    stream = io.BytesIO()
    Image.fromarray(values).save(stream, format="PNG")
    return stream.getvalue()


def in_one_view(page: Page, within: str) -> None:
    """The image and both answers are in sight at once, on a small screen and on a smaller one."""
    for width, height in ((1280, 800), (1024, 768)):
        page.set_viewport_size({"width": width, "height": height})
        page.locator(".mrb-case-pane").evaluate_all("panes => panes.forEach(pane => { pane.scrollTop = 0; })")
        for at in (".mrb-view", ".mrb-answer:first-child .mrb-answer-text", ".mrb-answer:last-child .mrb-answer-text"):
            expect(page.locator(f"{within} {at}").first).to_be_in_viewport(ratio=0.95)


def show(page: Page, html: str) -> None:
    """Open a page of HTML, and wait until each of its images answers."""
    page.set_content(html, wait_until="load")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.mrb-view')].every(view => view.style.getPropertyValue('--zoom'))"
    )
