"""One case as a self-contained piece of HTML: its images, the responses, the votes, the gold, verdicts and replies.

Everything from the data is escaped, images are decoded and drawn anew, and no script is used; what a hostile case
says can therefore be read but does nothing.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Hashable, Iterable, Iterator, Mapping
from math import isnan

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
.mrb-case table{border-collapse:collapse;font:inherit}
.mrb-case td,.mrb-case th{border:1px solid #ddd;padding:2px 8px;text-align:left}
.mrb-case .mrb-gold{background:#FCEFC9}.mrb-case .mrb-wide{overflow-x:auto;white-space:nowrap}
.mrb-case .mrb-p{color:#555;margin-left:.5em}.mrb-case .mrb-status{color:#B00020;font-style:italic}
.mrb-case details{margin:4px 0}.mrb-case summary{cursor:pointer}.mrb-case summary span{color:#666}
.mrb-case .mrb-reply{background:#F6F6F6;border:1px solid #ddd;border-radius:4px;padding:6px 10px;margin:4px 0 8px;
max-height:320px;overflow:auto;font:12px/1.45 ui-monospace,monospace}
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
    annotations, gold, verdicts : the tables, of this case or of all; only rows of this case are shown. Verdicts with
        `p_a` show the probability of what they chose; those with `reply` and `error` show these, whole, on demand.
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
        "<h4>Judges</h4>" + _verdicts(said, labels) + _replies(said),
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
    rows = []
    for judge, how, part in _presented(verdicts):
        said = {str(row["dimension"]): row for row in part.to_dict("records")}
        cells = [_verdict(said.get(str(name)), gold.get(name)) for name in dimensions]
        rows.append([_cell(judge), _cell(how), *cells])
    return f'<div class="mrb-wide">{_table(["judge", "shown", *dimensions], rows)}</div>'


def _presented(verdicts: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """The verdicts of each judge, order, repeat and probe, with the judge's name and how the case was shown."""
    keys = ["judge", "order", "repeat", "probe"]
    for key, part in verdicts.sort_values([*keys, "dimension"]).groupby(keys, sort=False):
        judge, order, repeat, probe = map(str, key)
        how = f"{order[0]} first"
        how += f", repeat {repeat}" if repeat != "0" else ""
        how += f", probe {probe}" if probe != NO_PROBE else ""
        yield judge, how, part


def _verdict(row: Mapping[Hashable, object] | None, gold: object) -> str:
    """The choice, how probable the judge held it, and the status unless all went well."""
    if row is None:
        return _cell(None)
    choice, status, p_a = row["choice"], str(row["status"]), row.get("p_a")
    mark = f' <span class="mrb-status">({_text(status)})</span>' if status != "ok" else ""
    if not _is_text(choice):
        return f"<td>{mark.strip() or '&ndash;'}</td>"
    sure = {"A": p_a, "B": 1 - p_a}.get(str(choice)) if isinstance(p_a, float) and not isnan(p_a) else None
    small = "" if sure is None else f' <small class="mrb-p">{sure:.2f}</small>'
    shaded = ' class="mrb-gold"' if choice == gold else ""
    return f"<td{shaded}>{_text(choice)}{small}{mark}</td>"


def _replies(verdicts: pd.DataFrame) -> str:
    """What each judge wrote, and why it failed, to open one by one; dimensions that share a reply share its place."""
    shown = []
    for judge, how, part in _presented(verdicts):
        texts = part.reindex(columns=["reply", "error"])
        found: dict[tuple[object, object], list[str]] = {}
        for dimension, reply, error in zip(part["dimension"], texts["reply"], texts["error"], strict=True):
            if isinstance(reply, str) or isinstance(error, str):
                found.setdefault((reply, error), []).append(str(dimension))
        if not found:
            continue
        names = [", ".join(dimensions) if len(found) > 1 else "" for dimensions in found.values()]
        body = "".join(_reply(name, reply, error) for name, (reply, error) in zip(names, found, strict=True))
        amount = _amount(reply for reply, _ in found)
        head = f"<bdi>{_text(judge)}</bdi>, <bdi>{_text(how)}</bdi> <span>&middot; {amount}</span>"
        shown.append(f"<details><summary>{head}</summary>{body}</details>")
    return "<h4>Replies</h4>" + "".join(shown) if shown else ""


def _amount(replies: Iterable[object]) -> str:
    lengths = [len(reply) for reply in replies if isinstance(reply, str)]
    if not lengths:
        return "no reply"
    return f"{'1 reply' if len(lengths) == 1 else f'{len(lengths)} replies'}, {sum(lengths):,} characters"


def _reply(dimensions: str, reply: object, error: object) -> str:
    parts = [
        f'<p class="mrb-place">{_text(dimensions)}</p>' if dimensions else "",
        f'<div class="mrb-text mrb-reply">{_text(reply) or "(empty)"}</div>' if isinstance(reply, str) else "",
        f'<p class="mrb-text mrb-status">error: {_text(error)}</p>' if isinstance(error, str) else "",
    ]
    return "".join(parts)


def _cell(value: object, *, mark: bool = False) -> str:
    if not _is_text(value):
        return "<td>&ndash;</td>"
    return f'<td class="mrb-gold">{_text(value)}</td>' if mark else f"<td>{_text(value)}</td>"


def _table(head: Iterable[object], rows: Iterable[Iterable[str]]) -> str:
    titles = "".join(f"<th>{_text(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
