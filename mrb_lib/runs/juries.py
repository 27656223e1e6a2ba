"""Members of a jury: the run of each whose verdicts count, and the judge to ask for missing ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mrb_lib.judges.jury import Jury, is_jury, parse_jury
from mrb_lib.judges.roster.roster import entry_of
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import FILE_NAME, Manifest, read_manifest, run_id
from mrb_lib.verdicts.protocol import Judge
from mrb_lib.verdicts.store import run_folders


@dataclass(frozen=True)
class Seat:
    """One member of a jury.

    Attributes
    ----------
    name : as the jury names it
    folder : the run whose verdicts count; it need not exist yet
    judge : who makes verdicts that are missing there; None where they are only read
    notice : what the user should know about this choice, or nothing
    """

    name: str
    folder: Path
    judge: Judge | None
    notice: str = ""


def check_known(name: str, runs: Path, extra: Sequence[Path] = ()) -> None:
    """Raise `InputError` unless a name is a judge's, or that of a jury whose members are judges or have runs."""
    entry_of(name, extra)
    for member in parse_jury(name) or ():
        try:
            entry_of(member, extra)
        except InputError as error:
            if not has_run(member, runs):
                raise InputError(f"judge {name!r}: {error}") from error


def has_run(name: str, runs: Path) -> bool:
    """Return whether a judge of this name has judged anything."""
    return any(manifest.judge == name for manifest in _manifests(runs))


def convene(jury: Jury, runs: Path, fingerprint: str, make: Callable[[str], Judge]) -> list[Seat]:
    """Choose the run of each member of a jury.

    The choice must not depend on whether the jury has sat before, or a second call
    would start another jury. So it is, in this order: the run that the present
    settings make, where it is there; the newest run on the same cases, imported runs
    among them; the run that the present settings would make, which is then made.
    A jury that names no members counts all judges but juries that have runs, the
    newest run of each, and asks nobody.

    Parameters
    ----------
    fingerprint : of the cases, see `Benchmark.case_fingerprint`
    make : makes the judge of a name, or raises `InputError`

    Raises
    ------
    InputError
        A member can neither be asked nor has a run, or fewer than two are left.
    """
    made = [manifest for manifest in _manifests(runs) if manifest.benchmark_fingerprint in ("", fingerprint)]
    if jury.members:
        return [_seat(jury.name, member, runs, fingerprint, made, make) for member in jury.members]
    names = sorted({manifest.judge for manifest in made if not is_jury(manifest.judge)})
    if len(names) < 2:
        raise InputError(
            f"{jury.name}: needs at least two judges with runs on these cases under {runs}; name its members."
        )
    return [_newest(name, runs, [manifest for manifest in made if manifest.judge == name]) for name in names]


def common_dimensions(seats: Sequence[Seat], dimensions: Sequence[str]) -> tuple[str, ...]:
    """Return those of the dimensions that every member that can be asked can judge."""
    limits = [seat.judge.dimensions for seat in seats if seat.judge is not None and seat.judge.dimensions is not None]
    return tuple(name for name in dimensions if all(name in limit for limit in limits))


def _seat(
    jury: str, member: str, runs: Path, fingerprint: str, made: list[Manifest], make: Callable[[str], Judge]
) -> Seat:
    try:
        judge = make(member)
    except InputError as error:
        candidates = [manifest for manifest in made if manifest.judge == member]
        if not candidates:
            raise InputError(f"judge {jury!r}: {member} has no run on these cases under {runs}, and {error}") from error
        return _newest(member, runs, candidates)
    own = runs / run_id(judge, fingerprint)
    candidates = [manifest for manifest in made if manifest.judge == judge.name]
    if (own / FILE_NAME).is_file() or not candidates:
        return Seat(member, own, judge)
    seat = _newest(member, runs, candidates)
    return Seat(member, seat.folder, None, f"{member}: run {seat.folder.name} is counted, which other settings made")


def _newest(member: str, runs: Path, candidates: list[Manifest]) -> Seat:
    chosen = max(candidates, key=lambda manifest: (manifest.created, manifest.run_id))
    others = sorted(manifest.run_id for manifest in candidates if manifest is not chosen)
    notice = f"{member}: run {chosen.run_id} is counted, the newest; not {', '.join(others)}" if others else ""
    return Seat(member, runs / chosen.run_id, None, notice)


def _manifests(runs: Path) -> list[Manifest]:
    return [read_manifest(folder) for folder in run_folders(runs)] if runs.is_dir() else []
