"""What a report is compared with, and what it keeps so that a later one can be compared with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mrb_lib.report.comparison import NOTEBOOK, check_shared, other_side, this_side
from mrb_lib.report.places import DEMO, DataFolders
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.basis import IN_REPORT, write_basis

PARAMETER: Final = "other_benchmark"
"""The parameter of a notebook that compares."""


@dataclass(frozen=True)
class Compared:
    """What to compare with; empty where there is nothing.

    Attributes
    ----------
    parameters : for the notebook that compares
    folders : the name to show for its folder
    fingerprint : of all that is compared with
    """

    parameters: dict[str, str] = field(default_factory=dict)
    folders: dict[Path, str] = field(default_factory=dict)
    fingerprint: str = ""


def compares(notebook: Path) -> bool:
    """Whether a notebook takes something to compare with."""
    return PARAMETER.encode() in notebook.read_bytes()


def with_comparison(sources: Sequence[Path], old: str | Path | None) -> list[Path]:
    """The notebooks without those that compare, or, where something is to be compared with, with one that does."""
    if old is None:
        return [path for path in sources if not compares(path)]
    return [*sources] if any(map(compares, sources)) else [*sources, NOTEBOOK]


def compared_with(old: str | Path | None, folders: DataFolders, out: Path) -> Compared:
    """Find what to compare with.

    Parameters
    ----------
    old : an earlier report, a benchmark or a folder of runs, see `comparison.other_side`; None for
        nothing
    folders : of now
    out : the folder of the report

    Raises
    ------
    InputError
        It cannot be read, shares no case with the benchmark, or is the folder that is written to.
    """
    if old is None:
        return Compared()
    if Path(old).resolve() == out.resolve():
        raise InputError(f"--compare {old}: is the folder that is written to; name another one with --out.")
    place = DEMO if str(old) == DEMO else str(Path(old).absolute())
    then = other_side(str(folders.benchmark), place)
    check_shared(then, this_side(str(folders.benchmark), str(folders.runs or "")), f"--compare {old}")
    return Compared({PARAMETER: place}, {Path(place): Path(place).name}, then.fingerprint())


def keep_basis(folders: DataFolders, out: Path) -> None:
    """Keep what a report is made from inside its folder; see `mrb_lib.verdicts.basis`."""
    write_basis(this_side(str(folders.benchmark), str(folders.runs or "")), out / IN_REPORT)
