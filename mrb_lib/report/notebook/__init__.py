"""What does a notebook need? A benchmark and its verdicts opened with one set of options; figures and tables published.

`open_workspace` is enough for most notebooks: what it opens analyses, draws, publishes and concludes. `conclusions`
has the sentences that notebooks end with, `one_judge` those of the page of one judge, `training_conclusions` those
about training; `live` has what is made while a notebook runs: judges, and figures drawn again while a reader chooses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mrb_lib.report.notebook.opening import open_workspace as open_workspace
    from mrb_lib.report.notebook.workspace import Workspace as Workspace

__all__ = ["Workspace", "open_workspace"]


def __getattr__(name: str) -> object:
    # Loaded when first used: commands ask this package for folders only, and it brings all that draws.
    module = {"Workspace": "workspace", "open_workspace": "opening"}.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mrb_lib.report.notebook.{module}"), name)
