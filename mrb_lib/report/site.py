"""The static site: one page a notebook, and an index of all they published. It needs no network and no script."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import cast

from mrb_lib.files import sha256_of, write_atomic
from mrb_lib.report.clean import Json
from mrb_lib.report.figures import write_if_changed
from mrb_lib.report.provenance import Provenance, template_hash
from mrb_lib.report.records import CACHE, Record

STATE = ".site.json"
_TEMPLATES = Path(__file__).parent / "templates"


def write(out: Path, records: Sequence[Record], made_from: Provenance) -> set[str]:
    """Write the pages whose content changed.

    Parameters
    ----------
    out : the report's folder, everything that the records list in place
    records : in the order to show them

    Returns
    -------
    set of str
        The pages of the site, relative to `out`.

    Notes
    -----
    Validated by tests/report/test_site.py.
    """
    key = _key(records, made_from)
    state = _read_state(out)
    if state.get("key") == key:
        written = cast(dict[str, str], state["files"])
        if all((out / name).is_file() and sha256_of(out / name) == sha for name, sha in written.items()):
            return set(written)
    pages = dict(_render(out, records, made_from))
    for name, text in pages.items():
        write_if_changed(out / name, text)
    files = {name: sha256_of(out / name) for name in pages}
    write_atomic(out / CACHE / STATE, json.dumps({"key": key, "files": files}, indent=1) + "\n")
    return set(pages)


def _key(records: Sequence[Record], made_from: Provenance) -> str:
    everything = [[asdict(record) for record in records], made_from.key(), template_hash()]
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()


def _read_state(out: Path) -> Json:
    """What was written last; empty where that is not known, so that everything is written again."""
    try:
        state = json.loads((out / CACHE / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) and isinstance(state.get("files"), dict) else {}


def _render(out: Path, records: Sequence[Record], made_from: Provenance) -> Iterator[tuple[str, str]]:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # slow to import; not needed if nothing changed
    from markupsafe import Markup

    from mrb_lib.report.pages import blocks, lead

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    style = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
    environment.globals["style"] = Markup(style)  # noqa: S704  # our own file
    environment.globals["size_of"] = lambda name: _display_size(out / "figures" / Path(name).name)
    environment.filters["moment"] = lambda iso: iso[:16].replace("T", " ") + (" UTC" if iso else "")
    environment.globals["base_name"] = lambda name: Path(name).name
    links = {f"{record.notebook}.ipynb": record.page for record in records}
    notebooks = {record.notebook: _executed(out, record) for record in records}
    shared = {"provenance": made_from, "records": records, "made": max((r.made for r in records), default="")}
    page = environment.get_template("page.html.jinja")
    for place, record in enumerate(records):
        content = page.render(
            **shared,
            record=record,
            blocks=list(blocks(notebooks[record.notebook], record, out, links)),
            previous=records[place - 1] if place else None,
            following=records[place + 1] if place + 1 < len(records) else None,
            executed=_executed_name(record),
        )
        yield f"pages/{record.page}", content
    up = {name: f"pages/{page_name}" for name, page_name in links.items()}
    leads = {record.notebook: lead(notebooks[record.notebook], up) for record in records}
    yield "index.html", environment.get_template("index.html.jinja").render(**shared, leads=leads)


def _executed_name(record: Record) -> str:
    return next((name for name in record.files if name.startswith("executed/")), "")


def _executed(out: Path, record: Record) -> Json:
    name = _executed_name(record)
    return cast(Json, json.loads((out / name).read_text(encoding="utf-8"))) if name else {}


def _display_size(png: Path) -> tuple[int, int]:
    """Width and height in CSS pixels at which a figure has its printed size; the raw size where it states none."""
    data = png.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    at = data.find(b"pHYs", 0, 4096)
    if at < 0:
        return width, height
    per_metre = struct.unpack(">I", data[at + 4 : at + 8])[0]
    scale = 96 / (per_metre * 0.0254)
    return round(width * scale), round(height * scale)
