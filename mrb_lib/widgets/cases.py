"""One case as a self-contained piece of HTML: its images, the two responses, the votes, the gold and the verdicts.

Everything from the data is escaped, images are decoded and drawn anew, and no script is used; what a hostile case
says can therefore be read but does nothing.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping

import pandas as pd

from mrb_lib.data.pictures import png, thumbnail
from mrb_lib.errors import InputError
from mrb_lib.plots.style import COLOURS
from mrb_lib.schema import NO_PROBE

_STYLE = """
.mrb-case{font:14px/1.45 system-ui,sans-serif;color:#222;background:#fff;border:1px solid #ccc;border-radius:6px;
padding:12px 16px;margin:12px 0;max-width:1100px}
.mrb-case h3{font-size:15px;margin:0 0 6px}.mrb-case h4{font-size:13px;margin:12px 0 4px}
.mrb-case .mrb-note{color:#B00020;font-weight:bold}.mrb-case .mrb-place{color:#666;font-weight:normal}
.mrb-case .mrb-text{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate}
.mrb-case .mrb-pair{display:grid;grid-template-columns:1fr 1fr;gap:12px}
.mrb-case .mrb-pair>div{border-left:4px solid;padding-left:10px}
.mrb-case img{max-width:320px;max-height:320px;margin:4px 8px 4px 0;vertical-align:top}
.mrb-case table{border-collapse:collapse}
.mrb-case td,.mrb-case th{border:1px solid #ddd;padding:2px 8px;text-align:left}
.mrb-case .mrb-gold{background:#FCEFC9}
""".replace("\n", "")
_SIDE = 640
_PLACE = ("organ", "department", "modality", "dataset")


def case_html(
    case: pd.Series,
    *,
    images: Mapping[str, bytes],
    annotations: pd.DataFrame,
    gold: pd.DataFrame,
    verdicts: pd.DataFrame,
    note: str = "",
) -> str:
    """Show one case.

    Parameters
    ----------
    case : one row of the cases table
    images : the bytes of the images by name; what is missing or cannot be read is said in its place
    annotations, gold, verdicts : the tables, of this case or of all; only rows of this case are shown
    note : a sentence to show above it, as for simulated data

    Returns
    -------
    str
        A `<section>` that needs nothing else. Validated by tests/widgets/test_cases.py.
    """
    here = str(case["case_id"])
    votes, labels, said = (table[table["case_id"].astype("str") == here] for table in (annotations, gold, verdicts))
    place = " · ".join(str(case[name]) for name in _PLACE if _is_text(case.get(name)))
    reference = case.get("reference")
    parts = [
        f"<style>{_STYLE}</style>",
        f'<p class="mrb-note">{_text(note)}</p>' if note else "",
        f'<h3>{_text(here)} <span class="mrb-place">{_text(place)}</span></h3>',
        f'<p class="mrb-text">{_text(case["question"])}</p>',
        "<p>" + "".join(_image(name, images) for name in case["images"]) + "</p>",
        f'<div class="mrb-pair">{_response("A", case)}{_response("B", case)}</div>',
        f'<h4>Reference</h4><p class="mrb-text">{_text(reference)}</p>' if _is_text(reference) else "",
        "<h4>Annotators</h4>" + _votes(votes, labels),
        "<h4>Judges</h4>" + _verdicts(said, labels),
    ]
    return f'<section class="mrb-case">{"".join(parts)}</section>'


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _text(value: object) -> str:
    """Escaped text; letters that reorder their surroundings cannot reach beyond their element (see the style)."""
    return html.escape(str(value).replace("\0", "\ufffd"))


def _response(side: str, case: pd.Series) -> str:
    column = f"response_{side.lower()}"
    model = case.get(f"model_{side.lower()}")
    by = f' <span class="mrb-place">{_text(model)}</span>' if _is_text(model) else ""
    return (
        f'<div style="border-color:{COLOURS[side]}"><h4>Response {side}{by}</h4>'
        f'<div class="mrb-text">{_text(case[column])}</div></div>'
    )


def _image(name: str, images: Mapping[str, bytes]) -> str:
    try:
        picture = png(thumbnail(images[name], _SIDE, name))
    except KeyError:
        return f"<em>[the image {_text(name)} is missing]</em> "
    except InputError as error:
        return f"<em>[{_text(error)}]</em> "
    encoded = base64.b64encode(picture).decode("ascii")
    return f'<img alt="{_text(name)}" src="data:image/png;base64,{encoded}">'


def _votes(votes: pd.DataFrame, labels: pd.DataFrame) -> str:
    """A row a dimension: the gold choice, then what each annotator chose."""
    if votes.empty:
        return "<p>none</p>"
    annotators = sorted(votes["annotator"].unique())
    chosen = votes.set_index(["dimension", "annotator"])["choice"]
    gold = labels.set_index("dimension")["choice"]
    rows = []
    for dimension in dict.fromkeys([*labels["dimension"], *votes["dimension"]]):
        cells = [chosen.get((dimension, annotator)) for annotator in annotators]
        rows.append([_cell(dimension), _cell(gold.get(dimension), mark=True), *map(_cell, cells)])
    return _table(["dimension", "gold", *annotators], rows)


def _verdicts(verdicts: pd.DataFrame, labels: pd.DataFrame) -> str:
    """A row a judge and order, a column a dimension; the gold choice is shaded."""
    if verdicts.empty:
        return "<p>none</p>"
    gold = labels.set_index("dimension")["choice"]
    dimensions = list(dict.fromkeys([*labels["dimension"], *verdicts["dimension"]]))
    keys = ["judge", "order", "repeat", "probe"]
    rows = []
    shown = verdicts.sort_values([*keys, "dimension"])
    for key, part in shown.groupby(keys, sort=False):
        judge, order, repeat, probe = map(str, key)
        said = part.set_index("dimension")
        how = f"{order[0]} first"
        how += f", repeat {repeat}" if repeat != "0" else ""
        how += f", probe {probe}" if probe != NO_PROBE else ""
        cells = [_verdict(said, dimension, gold.get(dimension)) for dimension in dimensions]
        rows.append([_cell(judge), _cell(how), *cells])
    return _table(["judge", "shown", *dimensions], rows)


def _verdict(said: pd.DataFrame, dimension: str, gold: object) -> str:
    if dimension not in said.index:
        return _cell(None)
    choice, status = said.loc[dimension, "choice"], str(said.loc[dimension, "status"])
    return _cell(choice if _is_text(choice) else f"({status})", mark=_is_text(choice) and choice == gold)


def _cell(value: object, *, mark: bool = False) -> str:
    if not _is_text(value):
        return "<td>&ndash;</td>"
    return f'<td class="mrb-gold">{_text(value)}</td>' if mark else f"<td>{_text(value)}</td>"


def _table(head: Iterable[object], rows: Iterable[Iterable[str]]) -> str:
    titles = "".join(f"<th>{_text(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
