"""The files that the reviewer's app reads: verdicts, kinds of failure and replies, laid out once for quick access.

An index is in a folder named by the state of the runs, so a new one is made when a run grows, and only then.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.votes import gold
from mrb_lib.review.failures.kinds import Kinds, Scale, difficulty_of, failure_kinds, indexed, scale_of
from mrb_lib.stats.analysis import Analysis, read_panels
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.panel import NO_COSTS, Panel, as_panel
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES, NO_PROBE
from mrb_lib.verdicts.manifest import FILE_NAME as MANIFEST
from mrb_lib.verdicts.manifest import Manifest, read_manifest
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.replies import Replies, lay_out, open_replies
from mrb_lib.verdicts.store import empty_verdicts, run_folders
from mrb_lib.verdicts.training import mark_seen, training_cases

POLICY: Final = "balanced"
_FORMAT: Final = 8
_FACTS: Final = "index.json"
_ARRAYS: Final = "arrays"
StepProgress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class CaseIndex:
    """An open index.

    Attributes
    ----------
    folder : of its files
    case_ids : in the benchmark's order
    panel : the verdicts on the plain cases; its `costs` have no rows
    gold : the gold labels
    replies : of one case, see `verdicts`
    training : the cases that judges were trained on, see `mrb_lib.verdicts.training.training_cases`
    """

    folder: Path
    case_ids: list[str]
    panel: Panel
    gold: pd.DataFrame
    replies: Replies
    training: pd.DataFrame
    _kinds: dict[str, Kinds] = field(repr=False)

    def kinds(self, policy: str = POLICY) -> Kinds:
        """The kinds of failure under a policy, kept once they are made."""
        if policy not in self._kinds:
            stored, cases = self._kinds[POLICY], pd.DataFrame({"case_id": pd.Series(self.case_ids, dtype="str")})
            made = failure_kinds(
                self.panel, self.gold, cases, policy=policy, estimated=stored.grid("difficulty")[-1], scale=stored.scale
            )
            self._kinds[policy] = replace(made, probes=stored.probes, changed=stored.changed)
        return self._kinds[policy]

    @property
    def manifests(self) -> Mapping[str, Manifest]:
        """The manifests of the runs, by the judge's name in the verdicts."""
        return self.replies.manifests

    def verdicts(self, position: int, *, texts: bool = True) -> pd.DataFrame:
        """All verdicts on one case, with replies; see `mrb_lib.verdicts.replies.Replies.of_case`.

        Those of judges that were trained on it are marked, see `mrb_lib.verdicts.training.mark_seen`.
        """
        return mark_seen(self.replies.of_case(position, texts=texts), self.training)


def scored_labels(benchmark: Benchmark) -> pd.DataFrame:
    """Return the gold labels, without choices if these are neither preferences nor ratings."""
    labels = gold(benchmark)
    return labels if benchmark.meta.is_judged else labels.assign(choice=pd.Series(None, labels.index, dtype="str"))


def benchmark_kinds(
    benchmark: Benchmark, panels: Mapping[str, Panel], labels: pd.DataFrame, policy: str = POLICY
) -> tuple[Panel, Kinds]:
    """Return the panel of the plain verdicts, and the kinds of failure of a benchmark with difficulty and probes.

    Parameters
    ----------
    panels : the verdicts, by probe; empty if nobody judged
    labels : see `scored_labels`
    """
    cases, dimensions, scale = benchmark.cases, list(benchmark.meta.one_choice), scale_of(benchmark.meta)
    offered = CHOICES if scale is None else scale.categories
    plain = panels.get(NO_PROBE) or as_panel(empty_verdicts(), cases["case_id"], dimensions, offered)
    estimated = None  # the model of difficulty is one of preferences
    if scale is None:
        given = Analysis.from_frames(cases, gold=labels, policy=policy, meta=benchmark.meta)
        table = TABLES["difficulty"].of(replace(given, probes={NO_PROBE: plain}, dimensions=dimensions))
        estimated = difficulty_of(table, cases, dimensions)
    made = failure_kinds(plain, labels, cases, policy=policy, estimated=estimated, scale=scale, probed=panels)
    return plain, made


def build_index(runs: Path | None, benchmark: Benchmark, folder: Path, progress: StepProgress | None = None) -> Path:
    """Make the index of a benchmark and its runs, unless it exists, and return its folder for `open_index`.

    Parameters
    ----------
    runs : a folder of runs, or one run; None for a benchmark that nobody judged
    folder : of the indices of this benchmark; those of earlier states are removed
    progress : called with the name of a step, the amount done, and the total

    Raises
    ------
    InputError
        A run is damaged, or has an unknown case or dimension, or its judge was trained on data that
        `mrb_lib.verdicts.training.training_cases` refuses.

    Notes
    -----
    An index appears whole or not at all; several processes may build the same one at once. Validated by
    tests/review/failures/test_index.py; timings by tests/benchmarks/speed/review_speed.py.
    """
    labels = scored_labels(benchmark)
    manifests = [] if runs is None else [read_manifest(run) for run in run_folders(runs)]
    training = training_cases(manifests, benchmark)
    target = folder / _key(runs, benchmark, labels, training)
    if (target / _FACTS).is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=".index-", dir=folder))
    try:
        _write(stage, runs, benchmark, labels, training, progress or (lambda *_: None))
        try:
            stage.rename(target)
        except OSError:
            if not (target / _FACTS).is_file():
                raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    for other in folder.iterdir():
        if other != target and (other / _FACTS).is_file() and not other.name.startswith("."):
            shutil.rmtree(other, ignore_errors=True)
    return target


def cached_index(
    benchmark: Benchmark, folder: Path, runs: Path | None, cache: Path, *, progress: StepProgress | None = None
) -> CaseIndex:
    """Return the index of a benchmark, made if it is missing or out of date.

    Parameters
    ----------
    folder : of the benchmark
    cache : of all such indices
    runs, progress : as in `build_index`, which also says what it raises
    """
    name = hashlib.sha256(f"{folder.absolute()}\n{runs.absolute() if runs else ''}".encode()).hexdigest()[:16]
    return open_index(build_index(runs, benchmark, cache / name, progress))


def _key(runs: Path | None, benchmark: Benchmark, labels: pd.DataFrame, training: pd.DataFrame) -> str:
    """A name that follows from the runs, the cases' ids, the gold labels and the judges' training."""
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
    folder: Path, runs: Path | None, benchmark: Benchmark, labels: pd.DataFrame, training: pd.DataFrame,
    progress: StepProgress,
) -> None:  # fmt: skip
    read: Mapping[str, Panel] = {}
    if runs is not None:
        laid_out = lay_out(runs, benchmark.cases, folder, lambda done, total: progress("verdicts", done, total))
        read = read_panels(benchmark, laid_out, training)
    progress("difficulty", 0, 1)
    panel, kinds = benchmark_kinds(benchmark, read, labels)
    arrays: dict[str, NDArray[Any]] = {"choice": panel.choice, "changed": kinds.changed}
    arrays |= {name: own for name, own in (("p_a", panel.p_a), ("seen", panel.seen)) if own is not None}
    (folder / _ARRAYS).mkdir()
    for name, array in arrays.items():
        np.save(folder / _ARRAYS / f"{name}.npy", array)
    kinds.table.to_parquet(folder / "kinds.parquet", index=False)
    labels.to_parquet(folder / "gold.parquet", index=False)
    training.to_parquet(folder / "training.parquet", index=False)
    facts = {"judges": panel.judges, "dimensions": panel.dimensions, "repeats": panel.repeats}
    facts |= {"probes": kinds.probes, "case_ids": benchmark.cases["case_id"].tolist(), "replies": runs is not None}
    facts |= {"scale": None if kinds.scale is None else asdict(kinds.scale)}
    (folder / _FACTS).write_text(json.dumps(facts), encoding="utf-8")
    progress("difficulty", 1, 1)


def open_index(folder: Path) -> CaseIndex:
    """Open an index that `build_index` made.

    Raises
    ------
    InputError
        The folder does not contain a whole index.
    """
    try:
        facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
        paths = (folder / _ARRAYS).glob("*.npy")
        arrays = {path.stem: np.load(path, mmap_mode="r", allow_pickle=False) for path in paths}
        table, labels, training = (
            pd.read_parquet(folder / f"{name}.parquet") for name in ("kinds", "gold", "training")
        )
        case_ids, judges, dimensions, scale = (facts[name] for name in ("case_ids", "judges", "dimensions", "scale"))
        replies = open_replies(folder, case_ids) if facts["replies"] else Replies(case_ids, [])
        if scale is not None:
            of_labels = {name: tuple(own) for name, own in scale["labels"].items()}
            scale = Scale(tuple(scale["categories"]), scale["is_ordered"], tuple(scale["acceptable"]), of_labels)
        table = indexed(table, judges, dimensions, pd.Series(case_ids, dtype="str"))
        kinds = Kinds(table, judges, dimensions, POLICY, facts["probes"], arrays["changed"], scale)
        panel = Panel(
            judges, dimensions, facts["repeats"], arrays["choice"], arrays.get("p_a"), NO_COSTS, arrays.get("seen"),
            categories=kinds.categories,
        )  # fmt: skip
        return CaseIndex(folder, case_ids, panel, labels, replies, training, {POLICY: kinds})
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{folder}: is not a whole index ({error}); remove the folder and build the index again."
        ) from error
