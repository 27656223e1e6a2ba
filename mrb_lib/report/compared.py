"""What a report is compared with, and what it keeps so that a later one can be compared with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mrb_lib.report.notebook.comparison import check_shared, other_side, this_side
from mrb_lib.report.places import DEMO, DataFolders
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.basis import IN_REPORT, write_basis

PARAMETERS: Final = ("other_benchmark", "other_runs")
"""The parameters of a notebook that compares."""


@dataclass(frozen=True)
class Compared:
    """What to compare with; empty where there is nothing.

    Attributes
    ----------
    parameters : for the notebooks that compare
    folders : the name to show for its folder
    fingerprint : of all that is compared with
    """

    parameters: dict[str, str] = field(default_factory=dict)
    folders: dict[Path, str] = field(default_factory=dict)
    fingerprint: str = ""


def compares(notebook: Path) -> bool:
    """Whether a notebook takes something to compare with."""
    return PARAMETERS[0].encode() in notebook.read_bytes()


def only_useful(sources: Sequence[Path], only: Sequence[str], old: str | Path | None) -> list[Path]:
    """The notebooks without those that compare, where there is nothing to compare with and nobody names them."""
    named = {name.removesuffix(".ipynb") for name in only}
    return [path for path in sources if old is not None or path.stem in named or not compares(path)]


def compared_with(old: str | Path | None, folders: DataFolders, out: Path, chosen: Sequence[Path]) -> Compared:
    """Find what to compare with.

    Parameters
    ----------
    old : an earlier report, a benchmark or a folder of runs, see `comparison.other_side`; None for
        nothing
    folders : of now
    out : the folder of the report
    chosen : the notebooks that are run

    Raises
    ------
    InputError
        It cannot be read, shares no case with the benchmark, is the folder that is written to, or no notebook that is
        run compares.
    """
    if old is None:
        return Compared()
    if not any(map(compares, chosen)):
        raise InputError(
            f"--compare {old}: no notebook that is run compares; leave it out, or add 24_comparison to them."
        )
    if Path(old).resolve() == out.resolve():
        raise InputError(f"--compare {old}: is the folder that is written to; name another one with --out.")
    place = DEMO if str(old) == DEMO else str(Path(old).absolute())
    then = other_side(str(folders.benchmark), place, "")
    check_shared(then, this_side(str(folders.benchmark), str(folders.runs or "")), f"--compare {old}")
    return Compared(
        dict(zip(PARAMETERS, (place, ""), strict=True)), {Path(place): Path(place).name}, then.fingerprint()
    )


def keep_basis(folders: DataFolders, out: Path) -> None:
    """Keep what a report is made from inside its folder; see `mrb_lib.verdicts.basis`."""
    write_basis(this_side(str(folders.benchmark), str(folders.runs or "")), out / IN_REPORT)
