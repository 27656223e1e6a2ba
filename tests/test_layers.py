"""Imports point downwards only, in no circle; drawing and analysis stay clean; tests that are named exist."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from tests.parsed import LIBRARY, import_nodes, tree

FLOORS = (
    "tables", "replies", "benchmarks", "demo", "verdicts", "judges", "probes", "runs", "stats", "figures", "review",
    "build", "report", "cli",
)  # fmt: skip
STATISTICS = {"scipy", "statsmodels", "sklearn", "krippendorff", "torch"}


def _module(path: Path) -> str:
    return ".".join(("mrb_lib", *path.relative_to(LIBRARY).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {_module(path): path for path in sorted(LIBRARY.rglob("*.py"))}
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}


@cache
def _imports(path: Path) -> set[str]:
    """Every name that a file imports, inside functions and for type checkers only, too."""
    imported: set[str] = set()
    for node in import_nodes(tree(path)):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif node.module:
            assert node.level == 0, f"{path.name}: a relative import hides where it points"
            imported.update(f"{node.module}.{alias.name}" for alias in node.names)
    return imported


def _own(name: str) -> str | None:
    """The module of the library behind an imported name; None for other packages'."""
    if name in MODULES:
        return name
    parent = name.rpartition(".")[0]
    return parent if parent in MODULES else None


@cache
def _graph() -> dict[str, set[str]]:
    """The modules that each module imports.

    `mrb_lib` itself is the face of all: it loads what is asked of it, and nothing below may import it for that.
    """
    return {
        name: {own for own in map(_own, _imports(path)) if own not in (None, name, "mrb_lib")}
        for name, path in MODULES.items()
        if name != "mrb_lib"
    }


def _room(module: str) -> str:
    """The package of a module; a file beside packages is a room of its own."""
    package = module if module in PACKAGES else module.rpartition(".")[0]
    has_rooms = any(other.startswith(f"{package}.") for other in PACKAGES)
    return module if has_rooms else package


def test_only_the_upper_floors_import_the_face_of_the_library() -> None:
    upper = FLOORS[FLOORS.index("report") :]
    users = {name for name, path in MODULES.items() if "mrb_lib" in _imports(path) or _from_face(path)}
    assert {name.split(".")[1] for name in users} <= set(upper)


def _from_face(path: Path) -> bool:
    """Whether a file imports a name of `mrb_lib` itself."""
    return any(isinstance(node, ast.ImportFrom) and node.module == "mrb_lib" for node in import_nodes(tree(path)))


def test_the_library_is_its_floors_and_nothing_else() -> None:
    found = {path.name for path in LIBRARY.iterdir() if path.name != "__pycache__"}
    assert found == {*FLOORS, "__init__.py", "py.typed"}


def test_no_import_runs_upwards() -> None:
    upwards = [
        (name, other)
        for name, others in _graph().items()
        for other in others
        if FLOORS.index(other.split(".")[1]) > FLOORS.index(name.split(".")[1])
    ]
    assert not upwards


def test_no_files_import_each_other_in_a_circle() -> None:
    TopologicalSorter(_graph()).prepare()  # raises and names the circle


def test_no_rooms_import_each_other_in_a_circle() -> None:
    rooms: dict[str, set[str]] = {}
    for name, others in _graph().items():
        rooms.setdefault(_room(name), set()).update(_room(other) for other in others if _room(other) != _room(name))
    TopologicalSorter(rooms).prepare()


def test_figures_hold_no_statistics() -> None:
    for name, path in MODULES.items():
        if name.startswith("mrb_lib.figures"):
            imported = _imports(path)
            assert STATISTICS.isdisjoint(other.split(".")[0] for other in imported), name
            assert not any(other.startswith("mrb_lib.stats") for other in imported), name


def test_statistics_never_import_torch() -> None:
    for name, path in MODULES.items():
        if name.startswith("mrb_lib.stats"):
            assert "torch" not in {other.split(".")[0] for other in _imports(path)}, name


ROOT = Path(__file__).parents[1]
_TEST = re.compile(r"tests/[\w/]*\w\.py")
_SOURCES = sorted([*(ROOT / "mrb_lib").rglob("*.py"), *(ROOT / "notebooks").glob("*.ipynb")])
_NAMED = sorted({name for path in _SOURCES for name in _TEST.findall(path.read_text(encoding="utf-8"))})


def test_validations_are_named_and_exist() -> None:
    assert len(_NAMED) > 10
    assert [name for name in _NAMED if not (ROOT / name).is_file()] == []
