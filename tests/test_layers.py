"""Imports point downwards only; drawing and analysis stay clean."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parent.parent / "mrb_lib"
LAYERS = (
    "errors", "files", "schema", "validation", "parse", "data", "construct", "judges_base", "runs_store",
    "judges", "runs", "probes",
    "stats", "training", "plots", "widgets", "report", "cli",
)  # fmt: skip
# A jury reads earlier verdicts, so the store lies below the judges and the execution above them.
# Replies are parsed wherever they come from, published result files included, so the parser lies below the data.
PLACED = {
    "mrb_lib.verdicts.store": "runs_store",
    "mrb_lib.verdicts.manifest": "runs_store",
    "mrb_lib.verdicts.protocol": "judges_base",
    "mrb_lib.verdicts.orders": "judges_base",
}


def _modules() -> list[Path]:
    return sorted(LIBRARY.rglob("*.py"))


def _layer(module: str) -> int | None:
    if module in ("mrb_lib", "mrb_lib.runs", "mrb_lib.judges"):
        return None
    if module.startswith("mrb_lib.replies.parse"):
        return LAYERS.index("parse")
    return LAYERS.index(PLACED.get(module, module.split(".")[1]))


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def _name(path: Path) -> str:
    return ".".join(("mrb_lib", *path.relative_to(LIBRARY).with_suffix("").parts)).removesuffix(".__init__")


# The face of a package reaches all of it lazily, and has no layer of its own.
@pytest.mark.parametrize("path", [path for path in _modules() if _layer(_name(path)) is not None], ids=_name)
def test_imports_point_downwards(path: Path) -> None:
    here = _layer(_name(path))
    assert here is not None
    packages = {_name(module) for module in _modules()}
    for imported in _imports(path) & packages:
        there = _layer(imported)
        assert there is None or there <= here, f"{_name(path)} imports {imported}, which lies above it"


@pytest.mark.parametrize("path", sorted((LIBRARY / "plots").glob("*.py")), ids=_name)
def test_plots_hold_no_statistics(path: Path) -> None:
    roots = {name.split(".")[0] for name in _imports(path)}
    assert roots.isdisjoint({"scipy", "statsmodels", "sklearn", "krippendorff", "torch"})
    assert not any(name.startswith("mrb_lib.stats") for name in _imports(path))
