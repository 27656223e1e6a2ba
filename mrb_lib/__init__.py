"""Can this model be trusted to judge medical multimodal answers the way clinicians do?

The names below are loaded when they are first used, so that importing the
library costs next to nothing and never loads torch.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mrb_lib.benchmarks.benchmark import Benchmark as Benchmark
    from mrb_lib.benchmarks.benchmark import load as load
    from mrb_lib.benchmarks.votes import gold as gold
    from mrb_lib.report.comparison import compare as compare
    from mrb_lib.report.defaults import set_defaults as set_defaults
    from mrb_lib.report.paper import paper as paper
    from mrb_lib.report.probed import probe_cases as probe_cases
    from mrb_lib.report.probed import with_probes as with_probes
    from mrb_lib.report.study import Study as Study
    from mrb_lib.report.study import open as open  # read as mrb.open
    from mrb_lib.report.table import Table as Table
    from mrb_lib.stats.analyze import analyze as analyze
    from mrb_lib.stats.bootstrap import bootstrap as bootstrap
    from mrb_lib.tables.errors import InputError as InputError
    from mrb_lib.tables.errors import MrbError as MrbError
    from mrb_lib.tables.errors import NotApplicable as NotApplicable
    from mrb_lib.tables.errors import RunError as RunError
    from mrb_lib.verdicts.store import load_verdicts as load_verdicts

# bitsandbytes advises everybody who imports transformers to install a package for 4-bit weights on processors.
logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)

_HOME = {
    "Benchmark": "mrb_lib.benchmarks.benchmark",
    "gold": "mrb_lib.benchmarks.votes",
    "load": "mrb_lib.benchmarks.benchmark",
    "InputError": "mrb_lib.tables.errors",
    "MrbError": "mrb_lib.tables.errors",
    "RunError": "mrb_lib.tables.errors",
    "load_verdicts": "mrb_lib.verdicts.store",
    "NotApplicable": "mrb_lib.tables.errors",
    "compare": "mrb_lib.report.comparison",
    "open": "mrb_lib.report.study",
    "paper": "mrb_lib.report.paper",
    "probe_cases": "mrb_lib.report.probed",
    "with_probes": "mrb_lib.report.probed",
    "set_defaults": "mrb_lib.report.defaults",
    "Study": "mrb_lib.report.study",
    "Table": "mrb_lib.report.table",
    "analyze": "mrb_lib.stats.analyze",
    "bootstrap": "mrb_lib.stats.bootstrap",
}

__version__ = "1.0.0"
__all__ = ["__version__", *_HOME]  # the table above is the one list of names


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
