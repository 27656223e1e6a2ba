"""Build the book: the executed notebooks, the pages of `guide/`, and pages that are generated from the library.

    python notebooks/book.py EXECUTED OUT

EXECUTED is the folder `executed` of a report; the book is OUT/index.html. `make docs` runs both.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
WRITTEN = ("quickstart", "your_data", "judges", "review", "building", "training")
INJECTED = {"injected-parameters", "options"}
"""Tags of the cells that a report adds to a notebook."""
LAST = ("glossary", "faq", "citing")


def tables_page() -> str:
    """Return the page of all tables: the question, the columns and the options of each."""
    from mrb_lib.stats.analyze import TABLES

    lines = [
        "# Reading the tables",
        "",
        "`mrb analyze BENCH --table NAME` prints a table, and `--explain NAME` this page's part.",
    ]
    for name, spec in TABLES.items():
        lines += ["", f"## {name}", "", f"{spec.question[0].upper()}{spec.question[1:]}?", ""]
        lines += ["| column | unit | meaning | null if |", "|---|---|---|---|"]
        lines += [
            f"| `{one.name}` | {one.unit} | {_cell(one.meaning)} | {_cell(one.null)} |"
            for one in filter(None, map(spec.column, spec.columns))
        ]
        lines += ["", *(f"- `--{key.replace('_', '-')}`: {option.help}" for key, option in spec.options.items())]
    return "\n".join(lines)


def sources_page() -> str:
    """Return the methods page with the sources of each quantity."""
    from mrb_lib.stats.analyze import TABLES

    lines = [
        _with_formulas((HERE / "guide" / "methods.md").read_text(encoding="utf-8")),
        "## Sources",
        "",
        "| quantity | table | source |",
        "|---|---|---|",
    ]
    for name, spec in TABLES.items():
        columns = filter(None, map(spec.column, spec.columns))
        lines += [f"| `{one.name}` | `{name}` | {_cell(one.source)} |" for one in columns if one.source]
    return "\n".join(lines)


def commands_page() -> str:
    """Return the help of every command, with its rare options."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from mrb_lib.cli.app import app

    def page(words: list[str], depth: int) -> list[str]:
        command = get_command(app)
        for word in words:
            command = command.get_command(None, word)
        inner = command.list_commands(None) if hasattr(command, "list_commands") else []
        text = CliRunner().invoke(app, [*words, "--help" if inner else "--help-all"], prog_name="mrb").output
        head = [f"{'#' * depth} {' '.join(['mrb', *words])}", "", "```text", text.strip(), "```", ""]
        return [*head, *(line for name in inner for line in page([*words, name], 2))]

    return "\n".join(["# Command reference", "", *page([], 2)])


def extending_pages() -> dict[str, str]:
    """Return one page per kind of extension, from the tested examples of CONTRIBUTING.md."""
    text = (HERE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### (An? [a-z ]+)\n(.*?)(?=^##)", text, flags=re.DOTALL | re.MULTILINE)
    return {f"extending_{title.split()[-1]}": f"# {title}\n{body}" for title, body in sections}


def index_page(notebooks: list[str], extensions: list[str]) -> str:
    """Return the first page, with the contents of the book."""
    parts = {
        "Guide": [f"guide/{name}" for name in WRITTEN],
        "Notebooks": notebooks,
        "Reference": [f"guide/{name}" for name in ("tables", "methods", "commands")],
        "Extending": [f"guide/{name}" for name in extensions],
        "More": [f"guide/{name}" for name in LAST],
    }
    trees = [
        f"```{{toctree}}\n:caption: {title}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```"
        for title, names in parts.items()
    ]
    first = "Can this model be trusted to judge medical answers as clinicians do? The notebooks show SIMULATED data."
    return "\n\n".join(["# Med-RewardBench workbench", first, *trees])


def write_sources(executed: Path, folder: Path) -> None:
    """Write all pages and notebooks of the book into a folder, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "guide", folder / "guide")
    notebooks = sorted(executed.glob("*.ipynb"))
    for path in notebooks:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook["cells"] = [cell for cell in notebook["cells"] if not INJECTED & set(cell["metadata"].get("tags", ()))]
        (folder / path.name).write_text(json.dumps(notebook), encoding="utf-8")
    extensions = extending_pages()
    made = {"tables": tables_page(), "methods": sources_page(), "commands": commands_page(), **extensions}
    for name, text in made.items():
        (folder / "guide" / f"{name}.md").write_text(text + "\n", encoding="utf-8")
    index = index_page([path.stem for path in notebooks], list(extensions))
    (folder / "index.md").write_text(index + "\n", encoding="utf-8")


def _with_formulas(text: str) -> str:
    """Return a page whose formulas are MathML, which browsers show without a script from elsewhere."""
    from latex2mathml.converter import convert

    text = re.sub(r"\$\$\n(.*?)\n\$\$", lambda found: convert(found[1], display="block"), text, flags=re.DOTALL)
    return re.sub(r"\$([^$\n]+)\$", lambda found: convert(found[1]), text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def main(executed: Path, out: Path) -> None:
    """Write the sources beside the book and build it; a warning is an error."""
    from sphinx.application import Sphinx

    sources = out.with_name(f"{out.name}-sources")
    write_sources(executed, sources)
    settings = {
        "project": "Med-RewardBench workbench",
        "extensions": ["myst_nb"],
        "html_theme": "sphinx_book_theme",
        "html_title": "Med-RewardBench workbench",
        "nb_execution_mode": "off",
        "myst_enable_extensions": ["deflist"],
        "myst_heading_anchors": 3,
        "suppress_warnings": ["mystnb.unknown_mime_type", "misc.highlighting_failure"],
    }
    book = Sphinx(sources, None, out, out.with_name(f"{out.name}-cache"), "html", settings, warningiserror=True)
    book.build()
    sys.exit(book.statuscode)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
