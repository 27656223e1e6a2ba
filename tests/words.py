"""Check shipped prose: no banned phrase, and at most 22 words per sentence on average: `python tests/words.py`.

It reads pages, notebooks, captions, column meanings, the help of commands, and error messages. `make lint` runs it.
"""

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).parent.parent
LONGEST_MEAN = 22.0
BANNED = re.compile(
    r"(?<!regardless )(?<!one )\b(?:shown (?:to be|to have|equal)|the same of|of them|those of|as of|of which|one half"
    r"|hangs? on|at hand|mend(?:s|ed)?|understands? nothing|mean annotator|broken off|dealt|whatever|is sure)\b",
    re.IGNORECASE,
)
ERRORS = ("InputError", "RunError", "MrbError", "NotApplicable", "Finding")


def pages() -> Iterator[tuple[str, str]]:
    """Yield the paragraphs of README, CONTRIBUTING, SECURITY and the guide, without code and tables."""
    for path in [*ROOT.glob("*.md"), *ROOT.glob("notebooks/guide/*.md")]:
        if path.name != "CHANGELOG.md":
            yield from ((path.name, text) for text in paragraphs(path.read_text(encoding="utf-8")))


def notebooks() -> Iterator[tuple[str, str]]:
    """Yield the paragraphs of the notebooks."""
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                yield from ((path.name, text) for text in paragraphs("".join(cell["source"])))


def captions() -> Iterator[tuple[str, str]]:
    """Yield captions and readings of figures."""
    for path in sorted(ROOT.glob("mrb_lib/figures/captions/*.toml")):
        for figure in tomllib.loads(path.read_text(encoding="utf-8")).values():
            yield from ((path.name, text) for name, text in figure.items() if name in ("caption", "reading"))


def tables() -> Iterator[tuple[str, str]]:
    """Yield questions of tables and meanings of columns."""
    from mrb_lib.stats.analyze import TABLES

    for name, spec in TABLES.items():
        yield name, spec.question
        for column in spec.declared:
            yield f"{name}.{column.name}", column.meaning
            yield f"{name}.{column.name}", column.null


def helps() -> Iterator[tuple[str, str]]:
    """Yield the descriptions of commands and options."""
    from typer._click.core import Command, Context
    from typer.main import get_command

    from mrb_lib.cli.app import app

    def walk(command: Command, path: str) -> Iterator[tuple[str, str]]:
        yield path, command.help or ""
        inner = getattr(command, "list_commands", lambda _: [])(Context(command))
        for option in [] if inner else command.get_params(Context(command)):
            yield f"{path} {option.name}", getattr(option, "help", None) or ""
        for name in inner:
            yield from walk(command.get_command(Context(command), name), f"{path} {name}")  # type: ignore[attr-defined]

    yield from walk(get_command(app), "mrb")


def errors() -> Iterator[tuple[str, str]]:
    """Yield the messages of errors and findings; a value in a message is the word "x"."""
    for path in sorted(ROOT.glob("mrb_lib/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS:
                for argument in node.args:
                    text = literal(argument)
                    if len(text.split()) > 2:
                        yield str(path.relative_to(ROOT / "mrb_lib")), text


def literal(node: ast.expr) -> str:
    """Return the text of a literal, with x for values in it; empty for anything else."""
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) if isinstance(part, ast.Constant) else "x" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs and list entries of Markdown, without code, formulas, tables, pictures and addresses."""
    text = re.sub(
        r"^(?:```|\$\$).*?^(?:```|\$\$)$|^\|.*?$|!\[[^]]*\]\([^)]*\)|^#.*?$", "", text, flags=re.DOTALL | re.MULTILINE
    )
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return [
        " ".join(each.split())
        for each in re.split(r"\n\s*\n|^ *(?:[-*:]|\d+\.) ", text, flags=re.MULTILINE)
        if each.strip()
    ]


def sentences(text: str) -> list[str]:
    """Split a text into sentences of at least one word."""
    return [each for each in re.split(r"(?<=[.!?])\s+(?=[\w`'\"(*\[-])", text) if re.search(r"[A-Za-z]{2}", each)]


def main() -> int:
    """Print what is wrong; return 1 if anything is."""
    wrong = 0
    for kind in (pages, notebooks, captions, tables, helps, errors):
        found = [(where, sentence) for where, text in kind() for sentence in sentences(text)]
        average = mean(len(sentence.split()) for _, sentence in found)
        print(f"{kind.__name__}: {len(found)} sentences, {average:.1f} words on average")
        banned = [(where, sentence) for where, sentence in found if BANNED.search(sentence)]
        for where, sentence in banned:
            print(f"  {where}: {BANNED.search(sentence)[0]!r} in: {sentence}")  # type: ignore[index]
        wrong += len(banned) + (average > LONGEST_MEAN)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
