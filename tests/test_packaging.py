"""The three lists of packages (pyproject.toml, constraints.txt, environment.yml) say the same, and cores stay light."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import distributions, metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from tests.parsed import LIBRARY, import_nodes, tree

ROOT = Path(__file__).parent.parent


def _normal(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().split()
    return {_normal(line): line.split("==")[1] for line in lines}


def _direct() -> set[str]:
    project = _project()
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    return {_normal(entry) for group in groups for entry in group} - {"mrb-workbench"}


def test_every_direct_dependency_is_pinned_without_local_version_or_address() -> None:
    assert _direct() - _pins().keys() == set()
    assert not set("+/") & set((ROOT / "constraints.txt").read_text())


def test_conda_environment_lists_exactly_the_direct_dependencies_at_their_pins() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    [pip] = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    listed = {_normal(line): line.split("==")[1] for line in pip if not line.startswith("--")}
    pins = _pins()
    assert listed == {name: pins[name] for name in _direct()}


def test_every_pinned_package_can_be_installed_with_the_oldest_python() -> None:
    """Debian 12 and many others never came beyond the first releases of 3.11."""
    oldest = _project()["requires-python"].removeprefix(">=") + ".0"
    here = {re.sub(r"[-_.]+", "-", each.metadata["Name"]).lower() for each in distributions()}  # docs may not be
    wanted = {name: metadata(name)["Requires-Python"] for name in _pins().keys() & here}
    assert {name: said for name, said in wanted.items() if said and not SpecifierSet(said).contains(oldest)} == {}


def test_all_is_every_other_extra_but_those_of_docs_and_dist() -> None:
    extras = _project()["optional-dependencies"]
    [everything] = extras["all"]
    assert set(re.findall(r"[a-z-]+", everything.split("[")[1])) == extras.keys() - {"all", "docs", "release"}


@cache
def _imported() -> set[str]:
    """The top-level packages that shipped code imports, in functions and for type checkers, too."""
    trees = [tree(path) for path in LIBRARY.rglob("*.py")]
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        trees += [ast.parse("".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]
    nodes = [node for parsed in trees for node in import_nodes(parsed)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.split(".")[0] for name in names}


def test_every_package_that_is_installed_with_the_library_is_imported_by_it() -> None:
    modules = {"markdown-it-py": "markdown_it", "pillow": "PIL", "scikit-learn": "sklearn"}
    core = {_normal(entry) for entry in _project()["dependencies"]}
    assert {modules.get(name, name.replace("-", "_")) for name in core} <= _imported()


def test_the_packages_that_the_workbench_is_built_on_are_at_work() -> None:
    at_work = {"ipywidgets", "papermill", "torch", "transformers", "pandas", "seaborn", "statsmodels", "krippendorff"}
    assert {*at_work, "PIL"} <= _imported()
    assert '"-m", "jupyterlab"' in (ROOT / "mrb_lib" / "cli" / "lab_server.py").read_text(encoding="utf-8")


def test_torch_is_pinned_and_not_a_core_dependency() -> None:
    assert _pins()["torch"] == "2.13.0"
    core = {_normal(entry) for entry in _project()["dependencies"]}
    heavy = {"torch", "transformers", "accelerate", "jupyterlab", "papermill", "ray"}
    assert core.isdisjoint(heavy | {"matplotlib", "seaborn", "huggingface-hub", "latex2mathml", "httpx", "sqlalchemy"})


def loaded(first: str, rooms: tuple[str, ...] = (), heavy: Iterable[str] = ()) -> str:
    """Which heavy packages a process has loaded that runs one line, and imports every module of these rooms."""
    code = (
        f"import importlib, pkgutil, sys\n{first}\n"
        f"for room in map(importlib.import_module, {rooms}):\n"
        "    for module in pkgutil.walk_packages(room.__path__, f'{room.__name__}.'):\n"
        "        importlib.import_module(module.name)\n"
        f"print(*sys.modules.keys() & {set(heavy)})"
    )
    return subprocess.check_output([sys.executable, "-c", code], text=True).strip()


def test_importing_the_library_and_all_analysis_code_never_imports_torch() -> None:
    first = "import mrb_lib.cli.app, mrb_lib.stats.analyze, mrb_lib.benchmarks.audit.folder, mrb_lib.runs.execute"
    assert loaded(first, ("mrb_lib.stats", "mrb_lib.figures"), {"torch", "transformers"}) == ""


def test_no_module_needs_what_windows_lacks_to_be_imported() -> None:
    lacks = "import mrb_lib; sys.modules.update(fcntl=None, resource=None, pwd=None, termios=None)"
    loaded(f"{lacks}; import mrb_lib.report.pipeline, mrb_lib.report.places, mrb_lib.cli.app",
           ("mrb_lib.tables", "mrb_lib.benchmarks", "mrb_lib.verdicts"))  # fmt: skip


def test_the_core_commands_need_no_extra(tmp_path: Path) -> None:
    """As `make dist` does in new environments: here the packages of the extras are hidden instead."""
    for_users = {k: v for k, v in _project()["optional-dependencies"].items() if k not in ("dev", "docs", "release")}
    extras = {_normal(name).replace("-", "_") for names in for_users.values() for name in names}
    core = {_normal(name).replace("-", "_") for name in _project()["dependencies"]}
    code = (
        "import sys\n"
        "from importlib.machinery import PathFinder\n"
        "class Others(PathFinder):\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n"
        f"        return None if name.split('.')[0] in {extras - core} else super().find_spec(name, path, target)\n"
        "sys.meta_path[sys.meta_path.index(PathFinder)] = Others\n"
        "from mrb_lib.cli.main import main\n"
        "for line in sys.argv[1:]:\n"
        "    sys.argv = ['mrb', *line.split()]\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as stop:\n"
        "        assert not stop.code, line\n"
    )
    lines = ("demo bench --cases 8 --verdicts", "check bench", "judge bench bench/runs --judge longer",
             "analyze bench --table accuracy", "export table bench - copied", "judges --domain medical",
             "doctor")  # fmt: skip
    ran = subprocess.run([sys.executable, "-c", code, *lines], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("mrb_lib.cli.app", {"numpy", "pandas", "pydantic", "scipy", "matplotlib"}),
        ("mrb_lib.cli.review", {"sklearn", "torch", "matplotlib", "statsmodels"}),
        ("mrb_lib.cli.annotate", {"sklearn", "torch", "matplotlib", "statsmodels"}),
    ],
)
def test_importing_loads_no_package_that_is_not_needed(module: str, heavy: set[str]) -> None:
    assert loaded(f"import {module}", heavy=heavy) == ""


def test_the_version_is_stated_alike_everywhere() -> None:
    from mrb_lib import __version__

    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == __version__
    assert f"version = {{{__version__}}}" in (ROOT / "notebooks" / "guide" / "citing.md").read_text()
    assert _project()["dynamic"] == ["version"]
