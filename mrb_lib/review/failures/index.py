"""The files that the reviewer's app reads: kinds of failure, verdicts and replies, laid out once for quick access.

An index is in a folder named by the state of the runs, so a new one is made when a run grows, and only then.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.votes import gold
from mrb_lib.review.failures.kinds import Kinds, Scale, failure_kinds, scale_of
from mrb_lib.stats.analysis import Analysis, read_panels
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.panel import Panel, as_panel
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES, NO_PROBE
from mrb_lib.verdicts.manifest import FILE_NAME as MANIFEST
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.replies import Replies, lay_out, open_replies
from mrb_lib.verdicts.store import empty_verdicts, run_folders
from mrb_lib.verdicts.training import mark_seen, training_cases

POLICY: Final = "balanced"
_FORMAT: Final = 10
_FACTS: Final = "index.json"
_ARRAYS: Final = "arrays"
StepProgress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class CaseIndex:
    """An open index.

    Attributes
    ----------
    gold : the gold labels
    training : the cases that judges were trained on, see `mrb_lib.verdicts.training.training_cases`
    replies : the verdicts as they were written, with the manifests of the runs; see also `verdicts`
    kinds : of failure, under one scoring policy
    """

    gold: pd.DataFrame
    training: pd.DataFrame
    replies: Replies
    kinds: Kinds = field(repr=False)

    def verdicts(self, position: int) -> pd.DataFrame:
        """All verdicts on one case, with replies; those of judges that were trained on it are marked."""
        return mark_seen(self.replies.of_case(position), self.training)


def scored_labels(benchmark: Benchmark) -> pd.DataFrame:
    """Return the gold labels, without choices if these are neither preferences nor ratings."""
    labels = gold(benchmark)
    return labels if benchmark.meta.is_judged else labels.assign(choice=pd.Series(None, labels.index, dtype="str"))


def benchmark_kinds(
    benchmark: Benchmark, panels: Mapping[str, Panel], labels: pd.DataFrame, policy: str = POLICY
) -> Kinds:
    """Return the kinds of failure of a benchmark with difficulty and probes.

    Parameters
    ----------
    panels : the verdicts, by probe; empty if nobody judged
    labels : see `scored_labels`
    """
    cases, dimensions, scale = benchmark.cases, list(benchmark.meta.one_choice), scale_of(benchmark.meta)
    offered = CHOICES if scale is None else scale.categories
    plain = panels.get(NO_PROBE) or as_panel(empty_verdicts(), cases["case_id"], dimensions, offered)
    hard = None  # the model of difficulty is one of preferences
    if scale is None:
        given = Analysis.from_frames(cases, gold=labels, policy=policy, meta=benchmark.meta)
        hard = TABLES["difficulty"].of(replace(given, probes={NO_PROBE: plain}, dimensions=dimensions))
    return failure_kinds(plain, labels, cases, policy=policy, difficulty=hard, scale=scale, probed=panels)


def build_index(
    runs: Path | None, benchmark: Benchmark, folder: Path, progress: StepProgress | None = None, policy: str = POLICY
) -> Path:
    """Make the index of a benchmark and its runs, unless it exists, and return its folder for `open_index`.

    Parameters
    ----------
    runs : a folder of runs, or one run; None for a benchmark that nobody judged
    folder : of the indices of this benchmark; those of earlier states are removed
    progress : called with the name of a step, the amount done, and the total
    policy : the scoring policy that says what is wrong

    Raises
    ------
    InputError
        A run is damaged, or has an unknown case or dimension, or its judge was trained on data that
        `mrb_lib.verdicts.training.training_cases` refuses.

    Notes
    -----
    An index appears whole or not at all; several processes may build the same one at once. Validated by
    tests/review/failures/test_index.py.
    """
    folders = [] if runs is None else run_folders(runs)
    training = training_cases([read_manifest(run) for run in folders], benchmark)
    tables = {"gold": scored_labels(benchmark), "training": training}
    target = folder / _key(folders, benchmark, tables, policy)
    if (target / _FACTS).is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    step = progress or (lambda *_: None)
    with tempfile.TemporaryDirectory(prefix=".index-", dir=folder, ignore_cleanup_errors=True) as name:
        stage, panels = Path(name), dict[str, Panel]()
        if runs is not None:
            laid_out = lay_out(runs, benchmark.cases, stage, lambda done, total: step("verdicts", done, total))
            panels = dict(read_panels(benchmark, laid_out, training))
        step("difficulty", 0, 1)
        kinds = benchmark_kinds(benchmark, panels, tables["gold"], policy)
        (stage / _ARRAYS).mkdir()
        for grid, array in {**kinds.grids, "changed": kinds.changed}.items():
            np.save(stage / _ARRAYS / f"{grid}.npy", array)
        for title, table in tables.items():
            table.to_parquet(stage / f"{title}.parquet", index=False)
        facts = {each.name: getattr(kinds, each.name) for each in fields(Kinds) if each.repr}
        facts |= {"scale": kinds.scale and asdict(kinds.scale), "grids": list(kinds.grids), "replies": runs is not None}
        (stage / _FACTS).write_text(json.dumps(facts), encoding="utf-8")
        step("difficulty", 1, 1)
        try:
            stage.rename(target)
        except OSError:
            if not (target / _FACTS).is_file():
                raise
    for other in folder.glob(f"[!.]*/{_FACTS}"):
        if other.parent != target:
            shutil.rmtree(other.parent, ignore_errors=True)
    return target


def _key(runs: list[Path], benchmark: Benchmark, tables: Mapping[str, pd.DataFrame], policy: str) -> str:
    """A name that follows from the runs, the cases' ids, the gold labels, the judges' training and the policy."""
    meta = benchmark.meta
    digest = hashlib.sha256(repr((_FORMAT, version("mrb-workbench"), meta.dimensions, scale_of(meta), policy)).encode())
    for frame in (benchmark.cases[["case_id"]], *tables.values()):
        digest.update(frame.to_parquet(index=False))
    for path in (path for run in runs for path in (run / MANIFEST, *part_paths(run))):
        state = path.stat()
        digest.update(f"{path.parent.name}/{path.name} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:32]


def open_index(folder: Path) -> CaseIndex:
    """Open an index that `build_index` made; its arrays are mapped into memory.

    Raises
    ------
    InputError
        The folder does not contain a whole index.
    """
    try:
        facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
        labels, training = (pd.read_parquet(folder / f"{name}.parquet") for name in ("gold", "training"))
        grids = {
            name: np.load(folder / _ARRAYS / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            for name in (*facts.pop("grids"), "changed")
        }
        scale = TypeAdapter(Scale | None).validate_python(facts.pop("scale"))
        replies = open_replies(folder, facts["case_ids"]) if facts.pop("replies") else Replies(facts["case_ids"], [])
        kinds = Kinds(**facts, scale=scale, changed=grids.pop("changed"), grids=grids)
        return CaseIndex(labels, training, replies, kinds)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{folder}: is not a whole index ({error}); remove it and build the index again.") from error
