"""The library's files as Python reads them, once a process: to parse them all takes a second."""

import ast
from functools import cache
from pathlib import Path

LIBRARY = Path(__file__).parent.parent / "mrb_lib"


@cache
def tree(path: Path) -> ast.Module:
    """What a file holds."""
    return ast.parse(path.read_text(encoding="utf-8"))


def import_nodes(module: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """Every import, inside functions and for type checkers only, too."""
    return [node for node in ast.walk(module) if isinstance(node, ast.Import | ast.ImportFrom)]
