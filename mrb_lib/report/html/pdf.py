"""The report as one PDF with page numbers, printed by a Chromium that is installed on the machine."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote

from mrb_lib.report.html.case_pages import CasePage
from mrb_lib.report.html.pages import blocks, conclusion
from mrb_lib.report.html.site import TEMPLATES, Content, shown_everywhere, templates
from mrb_lib.report.provenance import Provenance, template_hash
from mrb_lib.report.records import CACHE, PageRecord
from mrb_lib.review.bundle import style as style_of
from mrb_lib.review.case import STYLES
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.files import sha256_of, write_atomic

NAME = "report.pdf"
STATE = ".pdf.json"
_PAGE = ".print-"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MOST_ROWS = 40
SECONDS = 600
_MOST_PRINTS = 3
_FLAGS = (
    "--headless", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-pdf-header-footer", "--generate-pdf-document-outline",
)  # fmt: skip


def browser() -> str:
    """The Chromium that prints: `$MRB_CHROMIUM`, or the first of the usual names.

    Raises
    ------
    InputError
        There is none, or pypdf, which reads the numbers of pages, is not installed.
    """
    if not find_spec("pypdf"):
        raise InputError("report --pdf: pypdf is not installed; pip install 'mrb-workbench[report]' brings it.")
    named = os.environ.get("MRB_CHROMIUM", "")
    program = shutil.which(named) if named else next(filter(None, map(shutil.which, BROWSERS)), None)
    if program:
        return program
    if named:
        raise InputError(f"MRB_CHROMIUM: {named} cannot be run; name a Chromium or Chrome.")
    raise InputError(
        "report --pdf: no Chromium was found to print with; install the Debian package "
        "chromium-headless-shell, or name a Chromium or Chrome in MRB_CHROMIUM."
    )


def write_pdf(
    out: Path,
    records: Sequence[PageRecord],
    made_from: Provenance,
    program: str,
    *,
    most: int = 0,
    cases: Callable[[], Sequence[CasePage]] = list,
) -> Path:
    """Print the report, unless what is there was printed from the same.

    Parameters
    ----------
    out : the report's folder, everything that the records list in place
    records : in the order to show them
    program : see `browser`
    most : how many cases are shown at its end, at most
    cases : makes them; asked only where something changed

    Returns
    -------
    Path
        `report.pdf` in `out`.

    Raises
    ------
    RunError
        The browser failed, or took longer than `SECONDS`.

    Notes
    -----
    Validated by tests/report/test_pdf.py.
    """
    target = out / NAME
    shown = [[record.key, record.made, dict(record.files)] for record in records]
    everything = json.dumps([shown, made_from.key(), template_hash(), most], sort_keys=True)
    key = hashlib.sha256(everything.encode()).hexdigest()
    if target.is_file() and _state(out) == {"key": key, "sha256": sha256_of(target)}:
        return target
    for left in out.glob(f"{_PAGE}*.html"):  # an earlier report was killed
        left.unlink()
    shown_cases = cases()
    pages: dict[str, int] = {}
    # Chromium cannot write the number of another page: the contents take theirs from the print before.
    for _ in range(_MOST_PRINTS):
        printed = _print_beside(out, print_html(out, records, made_from, shown_cases, pages), program)
        before, pages = pages, page_numbers(printed)
        if pages == before:
            break
    write_atomic(target, printed)
    write_atomic(out / CACHE / STATE, json.dumps({"key": key, "sha256": sha256_of(target)}) + "\n")
    return target


def page_numbers(printed: bytes) -> dict[str, int]:
    """The page on which each part that a link leads to begins, counted from 1, by its id."""
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(printed))
    found = {name: reader.get_destination_page_number(place) for name, place in reader.named_destinations.items()}
    return {unquote(str(name)).lstrip("/"): page + 1 for name, page in found.items() if page is not None}


def _print_beside(out: Path, content: str, program: str) -> bytes:
    """Print a page that lies beside the figures' folder, which its addresses are relative to."""
    handle, name = tempfile.mkstemp(prefix=_PAGE, suffix=".html", dir=out)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(content)
        return _print(Path(name), program)
    finally:
        Path(name).unlink(missing_ok=True)


def remove_pdf(out: Path) -> None:
    """Remove the PDF that an earlier report wrote; another file of that name stays."""
    target, state = out / NAME, _state(out)
    if target.is_file() and state.get("sha256") == sha256_of(target):
        target.unlink()
    (out / CACHE / STATE).unlink(missing_ok=True)


def print_html(
    out: Path,
    records: Sequence[PageRecord],
    made_from: Provenance,
    cases: Sequence[CasePage] = (),
    pages: Mapping[str, int] | None = None,
) -> str:
    """The whole report as one page to print, without a script.

    `pages` are the numbers to write into the contents, see `page_numbers`; without them their place stays empty.

    Prose, figures with captions, and the first rows of tables, in the order of the notebooks, then the cases whole;
    no code, no outputs.
    """
    from markupsafe import Markup

    content = Content(out, records, made_from, cases)
    sheets = [
        style_of(*STYLES),
        *((TEMPLATES / name).read_text(encoding="utf-8") for name in ("style.css", "print.css")),
    ]
    links = {name: f"#{page[:-5]}" for name, page in content.links().items()}
    template = templates().get_template("print.html.jinja")
    return template.render(
        **shown_everywhere(content),
        style=Markup("\n".join(sheets)),  # noqa: S704  # our own files
        blocks={record.notebook: list(blocks(content.executed(record), record, out, links)) for record in records},
        findings={record.notebook: conclusion(content.executed(record)) for record in records},
        most_rows=MOST_ROWS,
        pages=pages or {},
    )


def _state(out: Path) -> dict[str, str]:
    try:
        state = json.loads((out / CACHE / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _print(page: Path, program: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="mrb-print-") as folder:
        result = Path(folder) / NAME
        # Chromium cannot build its sandbox for root, as in a container.
        root = ("--no-sandbox",) if os.geteuid() == 0 else ()
        command = [program, *_FLAGS, *root, f"--user-data-dir={folder}/profile", f"--print-to-pdf={result}"]
        try:
            done = subprocess.run(  # a program the user has installed, and a page of our own
                [*command, page.as_uri()], capture_output=True, timeout=SECONDS, check=False, cwd=folder
            )
        except subprocess.TimeoutExpired as error:
            raise RunError(
                f"{NAME}: {program} did not print within {SECONDS} s; try again, or print it yourself."
            ) from error
        if not result.is_file() or not result.read_bytes().startswith(b"%PDF"):
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no message"]
            raise RunError(f"{NAME}: {program} printed nothing ({last[0]}); try another with MRB_CHROMIUM.")
        return result.read_bytes()
