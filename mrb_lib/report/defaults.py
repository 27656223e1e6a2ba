"""The options that all tables of a study share, and what a report sets where a notebook names nothing."""

from dataclasses import dataclass
from typing import Any, Final

from mrb_lib.stats.options import check_choice
from mrb_lib.stats.subfields import By


@dataclass(frozen=True)
class Options:
    """The options that all tables of a study share; see `mrb_lib.open`."""

    policy: str = "balanced"
    gold: str = "majority"
    by: By = None
    cluster: str | None = None
    where: str = ""
    resamples: int = 2000
    seed: int = 0


DEFAULTS: Final[dict[str, Any]] = {}
"""What `set_defaults` set."""


def set_defaults(**options: Any) -> None:
    """Set what `mrb_lib.open` takes where a notebook names nothing; `mrb report` does so in each notebook.

    Parameters
    ----------
    options : parameters of `open`, and `out`, the folder in which figures and tables are published
    """
    for name in options:
        check_choice("option", name, [*Options.__dataclass_fields__, "runs", "judges", "groups", "out"])
    DEFAULTS.update(options)
