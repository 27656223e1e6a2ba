"""Whether a notebook may show widgets, or plain views: HTML that needs nothing else."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec

STATIC = "MRB_STATIC"
_BY_PROGRAM = re.compile(r"_\d+_\d+$")


def can_run() -> bool:
    """Return whether widgets may be shown.

    Not where MRB_STATIC asks for plain views, anywidget is not installed, or a program such as papermill or nbconvert
    runs the notebook: no page will be there to answer, and the HTML made of it later would hold an empty place.
    """
    return os.environ.get(STATIC, "") in ("", "0") and find_spec("anywidget") is not None and not _is_batch()


def _is_batch() -> bool:
    """Return whether the running cell was sent by Python's client of Jupyter, which a batch job uses, and no page does.

    That client numbers its messages `SESSION_PROCESS_COUNT`.
    """
    ipython = sys.modules.get("IPython")
    kernel = getattr(ipython and ipython.get_ipython(), "kernel", None)
    if kernel is None:
        return False
    return _BY_PROGRAM.search(str(kernel.get_parent().get("header", {}).get("msg_id", ""))) is not None
