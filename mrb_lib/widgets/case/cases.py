"""One view of a case, for notebooks, the app and the site: its images, the answers, the votes, the gold, the judges.

Everything from the data is escaped, images are decoded and drawn anew, and it is whole without a script; what a hostile
case says can therefore be read but does nothing. `assets/case.js` adds zoom, pan and the window of grey images.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from mrb_lib.widgets.bundle import style as style_of
from mrb_lib.widgets.case.case_images import SIDE, image_html
from mrb_lib.widgets.case.case_parts import answers_html, is_text, place_html, votes_html
from mrb_lib.widgets.case.case_verdicts import replies_html, verdicts_html
from mrb_lib.widgets.text import OWN_KEYS, escaped, isolated

STYLES = ("case",)


def case_html(
    case: pd.Series,
    *,
    images: Mapping[str, bytes],
    annotations: pd.DataFrame,
    gold: pd.DataFrame,
    verdicts: pd.DataFrame,
    note: str = "",
    blind: bool = False,
    level: int = 3,
    style: bool = True,
    side: int = SIDE,
    quick: bool = False,
) -> str:
    """Show one case.

    Parameters
    ----------
    case : one row of the cases table
    images : the bytes of the images by name; what is missing or cannot be read is said in its place
    annotations, gold, verdicts : the tables, of this case or of all; only rows of this case are shown. Verdicts with
        `p_a` show the probability of what they chose; those with `reply` and `error` show these, whole, on demand.
    note : a sentence to show above it, as for simulated data
    blind : for who has yet to judge: no vote, no gold, no judge, no responder, no reference, nothing marked
    level : of the heading; the parts have the next one
    style : put the style sheet into it. A page with several cases needs it in one of them, or has
        `bundle.style(*STYLES)` of its own.
    side : the longest side of an image, in pixels
    quick : for a page that is kept nowhere: its images are made sooner, and are larger

    Returns
    -------
    str
        A `<section>` that needs nothing else. Validated by tests/widgets/test_cases.py.
    """
    here = str(case["case_id"])
    title, part = f"h{level}", f"h{level + 1}"
    pictures = "".join(image_html(name, images, side, quick=quick) for name in case["images"])
    several = "" if len(case["images"]) == 1 else " mrb-wide-top"
    body = [
        f"<style>{style_of(*STYLES)}</style>" if style else "",
        f'<p class="mrb-simulated mrb-note">{isolated(note)}</p>' if note else "",
        f'<header><{title} class="mrb-title">Case {isolated(here)}</{title}>{place_html(case)}</header>',
        f'<div class="mrb-stage"><div class="mrb-top{several}">',
        f'<div class="mrb-images">{pictures}</div>' if pictures else "",
        f'<div class="mrb-asked"><{part}>Question</{part}>{_text(case["question"])}',
        "" if blind else _reference(case.get("reference"), part),
        f"</div></div>{answers_html(case, part, blind=blind)}</div>",
    ]
    if not blind:
        votes, labels, said = (_rows_of(table, here) for table in (annotations, gold, verdicts))
        body += [
            f"<{part}>Annotators</{part}>{votes_html(votes, labels)}",
            f"<{part}>Judges</{part}>{verdicts_html(said, labels)}{replies_html(said, part)}",
        ]
    name = escaped(here)
    return (
        f'<section class="mrb mrb-case" data-case="{name}" aria-label="case {name}" tabindex="-1" '
        f"{OWN_KEYS}>{''.join(body)}</section>"
    )


def _rows_of(table: pd.DataFrame, case_id: str) -> pd.DataFrame:
    column = table["case_id"]
    return table[(column if pd.api.types.is_string_dtype(column) else column.astype("str")) == case_id]


def _text(value: object) -> str:
    return f'<div class="mrb-text mrb-question" dir="auto">{escaped(value)}</div>'


def _reference(value: object, heading: str) -> str:
    if not is_text(value):
        return ""
    body = f'<div class="mrb-text" dir="auto" tabindex="0" {OWN_KEYS}>{escaped(value)}</div>'
    return f"<{heading}>Reference</{heading}>{body}"
