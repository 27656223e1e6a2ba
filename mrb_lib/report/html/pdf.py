"""The report as one PDF with page numbers, printed by a Chromium that is installed on the machine."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from urllib.parse import unquote

from mrb_lib.report.html.site import Content, blocks, shown_everywhere, template
from mrb_lib.report.records import PRINTED
from mrb_lib.report.tabular import TEMPLATES
from mrb_lib.review.case import STYLES
from mrb_lib.review.pages import style as style_of
from mrb_lib.tables.errors import InputError, RunError

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
        There is none.
    """
    named = os.environ.get("MRB_CHROMIUM", "")
    program = next(filter(None, map(shutil.which, (named,) if named else BROWSERS)), None)
    if program:
        return program
    found = f"MRB_CHROMIUM: {named} cannot be run" if named else "report --pdf: no Chromium was found to print with"
    raise InputError(
        f"{found}; name a Chromium or Chrome in MRB_CHROMIUM, or install the Debian package chromium-headless-shell."
    )


def printed(content: Content, program: str) -> bytes:
    """Print the report.

    Parameters
    ----------
    program : see `browser`

    Raises
    ------
    RunError
        The browser failed, or took longer than `SECONDS`.

    Notes
    -----
    Validated by tests/report/test_pdf.py.
    """
    for left in content.out.glob(f"{_PAGE}*.html"):  # an earlier report was killed
        left.unlink()
    made, pages = b"", dict[str, int]()
    # Chromium cannot write the number of another page: the contents take theirs from the print before.
    for _ in range(_MOST_PRINTS):
        # It lies beside the figures' folder, which its addresses are relative to.
        with NamedTemporaryFile("w", encoding="utf-8", prefix=_PAGE, suffix=".html", dir=content.out) as page:
            page.write(print_html(content, pages))
            page.flush()
            made = _print(Path(page.name), program)
        before, pages = pages, page_numbers(made)
        if pages == before:
            break
    return made


def page_numbers(made: bytes) -> dict[str, int]:
    """The page on which each part that a link leads to begins, counted from 1, by its id."""
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(made))
    found = {name: reader.get_destination_page_number(place) for name, place in reader.named_destinations.items()}
    return {unquote(str(name)).lstrip("/"): page + 1 for name, page in found.items() if page is not None}


def print_html(content: Content, pages: Mapping[str, int]) -> str:
    """The whole report as one page to print, without a script.

    `pages` are the numbers to write into the contents, see `page_numbers`; of one that it lacks the place stays empty.

    Prose, figures with captions, and the first rows of tables, in the order of the notebooks, then the cases whole;
    no code, no outputs.
    """
    from markupsafe import Markup

    sheets = ((TEMPLATES / name).read_text(encoding="utf-8") for name in ("style.css", "print.css"))
    links = {name: f"#{page[:-5]}" for name, page in content.links.items()}
    return template("print.html.jinja").render(
        shown_everywhere(content),
        look={"style": Markup("\n".join([style_of(*STYLES), *sheets])), "script": ""},  # noqa: S704  # our own files
        up="",
        blocks={each.notebook: blocks(content.notebooks[each.notebook], each, links, {}) for each in content.records},
        most_rows=MOST_ROWS,
        pages=pages,
    )


def _print(page: Path, program: str) -> bytes:
    with TemporaryDirectory(prefix="mrb-print-") as folder:
        result = Path(folder) / PRINTED
        # Chromium cannot build its sandbox for root, as in a container.
        root = ("--no-sandbox",) if os.geteuid() == 0 else ()
        command = [program, *_FLAGS, *root, f"--user-data-dir={folder}/profile", f"--print-to-pdf={result}"]
        try:
            done = subprocess.run([*command, page.as_uri()], capture_output=True, timeout=SECONDS, cwd=folder)
        except subprocess.TimeoutExpired as error:
            raise RunError(f"{PRINTED}: not printed within {SECONDS} s; print index.html yourself.") from error
        if not result.is_file() or not result.read_bytes().startswith(b"%PDF"):
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no message"]
            raise RunError(f"{PRINTED}: {program} printed nothing ({last[0]}); try another with MRB_CHROMIUM.")
        return result.read_bytes()
