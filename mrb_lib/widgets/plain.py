"""What a notebook shows where no widget can run: HTML that needs nothing else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec

STATIC = "MRB_STATIC"


@dataclass(frozen=True)
class Plain:
    """A view without a kernel behind it: for papermill, for a report, for where the extra `lab` is not installed.

    Attributes
    ----------
    html : whole in itself
    """

    html: str

    def _repr_html_(self) -> str:
        return self.html

    def _repr_mimebundle_(self, **_options: object) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": "<a plain view>"}


def can_run() -> bool:
    """Whether widgets may be shown: anywidget is installed, and MRB_STATIC does not ask for plain views."""
    return os.environ.get(STATIC, "") in ("", "0") and find_spec("anywidget") is not None
