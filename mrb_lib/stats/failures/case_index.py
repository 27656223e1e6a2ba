"""What the reviewer's app reads: verdicts, kinds of failure, difficulties and replies, laid out once for quick looks.

The index lies in a folder named by what it was made from, so that it is made again when a run grows, and
never otherwise. Its arrays are mapped into memory: opening takes no time, and processes share them.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.analysis import read_panels
from mrb_lib.stats.core.panel import NO_COSTS, Panel, as_panel
from mrb_lib.stats.difficulty.table import difficulty
from mrb_lib.stats.failures.changed import ChangedByProbe, changed_by_probe
from mrb_lib.stats.failures.failure_kinds import Kinds, Scale, difficulty_of, failure_kinds, scale_of
from mrb_lib.stats.options import FloatArray
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES, NO_PROBE
from mrb_lib.verdicts.manifest import FILE_NAME as MANIFEST
from mrb_lib.verdicts.manifest import Manifest, read_manifest
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.replies import Replies, lay_out, open_replies
from mrb_lib.verdicts.store import empty_verdicts, run_folders
from mrb_lib.verdicts.training import mark_seen, training_cases

POLICY: Final = "balanced"
_FORMAT: Final = 6
_STATED: Final = "index.json"
_NAMES: Final = ("judges", "dimensions", "policy", "probes", "scale")
_ARRAYS: Final = tuple(each.name for each in fields(Kinds) if each.name not in _NAMES)
StepProgress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class CaseIndex:
    """An opened index.

    Attributes
    ----------
    folder : where it lies
    case_ids : the ids of the cases, in the benchmark's order
    panel : the verdicts on the plain cases, mapped into memory; its `costs` have no rows
    difficulty : of each case by the Rasch model, shape (dimensions, cases); NaN where it has none
    gold : the gold labels it was made with
    replies : the verdicts of one case, see `verdicts`
    n_probed : how many verdicts are on cases that a probe changed: `verdicts` has them, and `changed` what differs
    changed : what each probe changed, mapped into memory
    training : the cases that judges were trained on, see `mrb_lib.verdicts.training.training_cases`
    scale : of ratings; None of preferences
    """

    folder: Path
    case_ids: list[str]
    panel: Panel
    difficulty: FloatArray
    gold: pd.DataFrame
    replies: Replies
    n_probed: int
    changed: ChangedByProbe
    training: pd.DataFrame
    scale: Scale | None = None
    _kinds: dict[str, Kinds] = field(default_factory=dict, repr=False)

    def kinds(self, policy: str = POLICY) -> Kinds:
        """The kinds of failure under a policy and the index's own gold, kept once they are made."""
        if policy not in self._kinds:
            self._kinds[policy] = _stored(self) if policy == POLICY else self.kinds_by(self.gold, policy)
        return self._kinds[policy]

    def kinds_by(self, labels: pd.DataFrame, policy: str = POLICY) -> Kinds:
        """The kinds of failure by other gold labels, such as adjudicated ones."""
        cases = pd.DataFrame({"case_id": pd.Series(self.case_ids, dtype="str")})
        kinds = failure_kinds(self.panel, labels, cases, policy=policy, estimated=self.difficulty, scale=self.scale)
        return kinds.with_probes(self.changed)

    @property
    def manifests(self) -> Mapping[str, Manifest]:
        """The manifests of the runs, by the judge's name in the verdicts."""
        return self.replies.manifests

    def verdicts(self, position: int, *, texts: bool = True) -> pd.DataFrame:
        """All verdicts on one case, with replies; see `mrb_lib.verdicts.replies.Replies.of_case`.

        Those of judges that were trained on it are marked, see `mrb_lib.verdicts.training.mark_seen`.
        """
        return mark_seen(self.replies.of_case(position, texts=texts), self.training)


def build_index(runs: Path | None, benchmark: Benchmark, folder: Path, progress: StepProgress | None = None) -> Path:
    """Make the index of a benchmark and its runs, if it is not there yet.

    Parameters
    ----------
    runs : a folder of runs, or one run; None for a benchmark that nobody judged
    folder : a folder for indices of this benchmark; those of earlier states are removed from it
    progress : called with a step's name, how much of it is done, and of how much

    Returns
    -------
    Path
        The index's own folder, for `open_index`.

    Raises
    ------
    InputError
        A run is damaged, or speaks of a case or a dimension that the benchmark does not have, or its judge was trained
        on what `mrb_lib.verdicts.training.training_cases` refuses.

    Notes
    -----
    It appears whole or not at all; several processes may build the same one at once. Validated by
    tests/stats/failures/test_case_index.py; timings by tests/benchmarks/speed/review_speed.py.
    """
    labels = gold(benchmark)
    manifests = [] if runs is None else [read_manifest(run) for run in run_folders(runs)]
    training = training_cases(manifests, benchmark)
    target = folder / _key(runs, benchmark, labels, training)
    if (target / _STATED).is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=".index-", dir=folder))
    try:
        _write(stage, runs, benchmark, labels, training, progress)
        try:
            stage.rename(target)
        except OSError:
            if not (target / _STATED).is_file():
                raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    for other in folder.iterdir():
        if other != target and (other / _STATED).is_file() and not other.name.startswith("."):
            shutil.rmtree(other, ignore_errors=True)
    return target


def cached_index(
    benchmark: Benchmark, folder: Path, runs: Path | None, cache: Path, *, progress: StepProgress | None = None
) -> CaseIndex:
    """The verdicts and replies laid out for quick looks, made where they are missing or out of date.

    Parameters
    ----------
    benchmark, folder : the benchmark, and where it lies
    runs : the folder of its runs; None where nobody judged
    cache : the folder of all such indices
    progress : called with a step's name, how much of it is done, and of how much

    Raises
    ------
    InputError
        As `build_index`.
    """
    name = hashlib.sha256(f"{folder.absolute()}\n{runs.absolute() if runs else ''}".encode()).hexdigest()[:16]
    return open_index(build_index(runs, benchmark, cache / name, progress))


def _key(runs: Path | None, benchmark: Benchmark, labels: pd.DataFrame, training: pd.DataFrame) -> str:
    """A name that follows from the state of the runs, the cases' ids, the gold labels and what judges have seen."""
    digest = hashlib.sha256(f"{_FORMAT} {version('mrb-workbench')} {benchmark.meta.dimensions}".encode())
    digest.update(repr(scale_of(benchmark.meta)).encode())
    for frame in (benchmark.cases[["case_id"]], labels, training):
        digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes())
        digest.update(repr([*frame.columns, len(frame)]).encode())
    for run in run_folders(runs) if runs is not None else []:
        for path in [run / MANIFEST, *part_paths(run)]:
            state = path.stat()
            digest.update(f"{run.name}/{path.name} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:32]


def _write(
    folder: Path,
    runs: Path | None,
    benchmark: Benchmark,
    labels: pd.DataFrame,
    training: pd.DataFrame,
    progress: StepProgress | None,
) -> None:
    cases, dimensions = benchmark.cases, list(benchmark.meta.one_choice)
    scale = scale_of(benchmark.meta)
    if not benchmark.meta.is_judged:
        labels = labels.assign(choice=pd.Series(None, index=labels.index, dtype="str"))
    n_probed = 0

    def counted(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        nonlocal n_probed
        for frame in frames:
            n_probed += int((frame["probe"] != NO_PROBE).sum())
            yield frame

    def report(done: int, total: int) -> None:
        if progress is not None:
            progress("verdicts", done, total)

    read = {}
    if runs is not None:
        read = read_panels(benchmark, counted(lay_out(runs, cases, folder, report)), training)
    offered = CHOICES if scale is None else scale.categories
    panel = read.get(NO_PROBE, as_panel(empty_verdicts(), cases["case_id"], dimensions, offered))
    if progress is not None:
        progress("difficulty", 0, 1)
    hard = None  # the model of difficulty is one of preferences
    if scale is None:
        hard = difficulty_of(difficulty(panel, labels, cases, policy=POLICY, dimensions=dimensions), cases, dimensions)
    changed = changed_by_probe(panel, read, labels, cases["case_id"])
    kinds = failure_kinds(panel, labels, cases, policy=POLICY, estimated=hard, scale=scale)
    kinds = kinds.with_probes(changed)
    for name in _ARRAYS:
        np.save(folder / f"kinds.{name}.npy", getattr(kinds, name))
    np.save(folder / "choice.npy", panel.choice)
    if panel.p_a is not None:
        np.save(folder / "p_a.npy", panel.p_a)
    for judge, own in panel.seen.items():
        np.save(folder / f"seen.{panel.judges.index(judge)}.npy", own)
    labels.to_parquet(folder / "gold.parquet", index=False)
    training.to_parquet(folder / "training.parquet", index=False)
    stated = {"judges": panel.judges, "dimensions": panel.dimensions, "repeats": panel.repeats, "n_probed": n_probed}
    stated |= {"probes": changed.probes, "case_ids": cases["case_id"].tolist(), "replies": runs is not None}
    stated |= {"scale": None if scale is None else asdict(scale)}
    (folder / _STATED).write_text(json.dumps(stated), encoding="utf-8")
    if progress is not None:
        progress("difficulty", 1, 1)


def _stored(index: CaseIndex) -> Kinds:
    """The kinds of failure that `build_index` has made."""
    arrays = {name: _mapped(index.folder / f"kinds.{name}.npy") for name in _ARRAYS}
    panel, probes = index.panel, index.changed.probes
    return Kinds(
        judges=panel.judges, dimensions=panel.dimensions, policy=POLICY, probes=probes, scale=index.scale, **arrays
    )


def _mapped(path: Path) -> NDArray[Any]:
    array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def open_index(folder: Path) -> CaseIndex:
    """Open what `build_index` made.

    Raises
    ------
    InputError
        There is not a whole index in the folder.
    """
    try:
        stated = json.loads((folder / _STATED).read_text(encoding="utf-8"))
        chances = folder / "p_a.npy"
        choice, p_a = _mapped(folder / "choice.npy"), _mapped(chances) if chances.is_file() else None
        hard = _mapped(folder / "kinds.difficulty.npy")
        labels = pd.read_parquet(folder / "gold.parquet")
        case_ids = stated["case_ids"]
        replies = open_replies(folder, case_ids) if stated["replies"] else Replies(case_ids, [])
        laid_aside = {int(path.name.split(".")[1]): _mapped(path) for path in folder.glob("seen.*.npy")}
        seen = {stated["judges"][i]: own for i, own in sorted(laid_aside.items())}
        named = stated["scale"]
        scale = None if named is None else Scale(
            tuple(named["categories"]), named["is_ordered"], tuple(named["acceptable"]),
            {name: tuple(own) for name, own in named["labels"].items()},
        )  # fmt: skip
        offered = CHOICES if scale is None else scale.categories
        panel = Panel(
            stated["judges"], stated["dimensions"], stated["repeats"], choice, p_a, NO_COSTS, seen, categories=offered
        )
        changed = ChangedByProbe(stated["probes"], _mapped(folder / "kinds.changed.npy"))
        training = pd.read_parquet(folder / "training.parquet")
        return CaseIndex(folder, case_ids, panel, hard, labels, replies, stated["n_probed"], changed, training, scale)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{folder}: is not a whole index ({error}); remove the folder and build the index again."
        ) from error
