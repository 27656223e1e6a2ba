"""The run store: a folder a run, append-only parquet parts and a manifest.

`RUNS/<run_id>/manifest.json` and `RUNS/<run_id>/part-00000.parquet`, ... A part is
written under a temporary name and renamed, so a reader sees all of it or none, and
carries a checksum (see `mrb_lib.verdicts.parts`). Verdicts that are judged again are
moved to `retried-00000.parquet`, ... (see `set_aside`). A damaged part stops every reader
until its verdicts are made again, and is then moved to `damaged-00000.parquet`, ...; no
table is made from either.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
from filelock import FileLock, Timeout

from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.files import slug
from mrb_lib.tables.schema import KEYS, STATUSES, VERDICTS, Task
from mrb_lib.tables.validation import check_references, conform
from mrb_lib.verdicts.manifest import (
    FILE_NAME,
    Manifest,
    differences,
    identity,
    library_versions,
    now,
    read_manifest,
    write_manifest,
)
from mrb_lib.verdicts.parts import next_path, part_paths, read_part, sync_folder, write_part

_ARROW = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
SCHEMA = pa.schema([pa.field(column.name, _ARROW[column.type]) for column in VERDICTS])
COSTS = ("latency_s", "prompt_tokens", "completion_tokens")
_PROMPT_COLUMNS = ["judge", "name", "prompt_id", "prompt_hash", "settings"]
ANALYSIS_COLUMNS = [
    *KEYS["verdicts"], "choice", "p_a", "p_a_bound", "p_categories", "score_a", "score_b", "criteria", "status",
]  # fmt: skip


def empty_verdicts() -> pd.DataFrame:
    """Return a verdicts table without rows."""
    frame: pd.DataFrame = SCHEMA.empty_table().to_pandas()
    return frame


def clear_leftovers(folder: Path) -> None:
    """Remove what a killed process left half-written; call it while holding the run."""
    for pattern in (".*.parquet.partial", f".{FILE_NAME}.*"):
        for leftover in folder.glob(pattern):
            leftover.unlink()


def append_part(folder: Path, verdicts: pd.DataFrame) -> Path:
    """Add a batch of verdicts to a run, atomically and durably.

    Parameters
    ----------
    verdicts : a verdicts table that conforms; unknown columns are kept.

    Raises
    ------
    InputError
        An unknown column holds values that parquet cannot.
    """
    path = next_path(folder, "part")
    extra = [name for name in verdicts.columns if name not in SCHEMA.names]
    frame = verdicts.reindex(columns=[*SCHEMA.names, *extra])
    schema = SCHEMA
    try:
        for name in extra:
            # A column without any value takes the type that other parts give it.
            if frame[name].isna().all():
                frame[name] = pd.Series(None, index=frame.index, dtype=object)
            schema = schema.append(pa.field(name, pa.Array.from_pandas(frame[name]).type))
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        write_part(path, table)
    except (pa.ArrowException, OverflowError) as error:
        raise InputError(
            f"verdicts: a column cannot be stored ({error}); make its values plain and alike, or leave it out."
        ) from error
    return path


def set_aside(folder: Path, chosen: np.ndarray, without: Collection[Path] = ()) -> int:
    """Move verdicts out of a run's parts, so that they count as not yet made.

    First all of them are copied to the next `retried-00000.parquet`; then each part
    that held some is replaced by what is left of it. Killed in between, a verdict is
    still in its part, or already pending: never lost, never there twice.

    Parameters
    ----------
    folder : the run, held by this process
    chosen : array of bool with shape (rows of `read_run(folder, without=without)`,), which rows to move
    without : parts to leave as they are

    Returns
    -------
    int
        How many were moved.
    """
    if not chosen.any():
        return 0
    moved, changed, start = [], [], 0
    for path in _whole(folder, without):
        table = read_part(path)
        mask = chosen[start : start + table.num_rows]
        start += table.num_rows
        if mask.any():
            moved.append(table.filter(pa.array(mask)))
            changed.append((path, table.filter(pa.array(~mask))))
    write_part(next_path(folder, "retried"), pa.concat_tables(moved, promote_options="permissive"))
    for path, rest in changed:
        if rest.num_rows:
            write_part(path, rest)
        else:
            path.unlink()
    sync_folder(folder)
    return int(chosen.sum())


@contextmanager
def exclusive(folder: Path, what: str = "run") -> Iterator[None]:
    """Hold a run for writing; a second process is refused. The folder is created, and removed if no run came of it.

    The lock is the process's own: it ends with the process, however that ends.

    Parameters
    ----------
    what : the folder is called in messages

    Raises
    ------
    RunError
        Another process holds the run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / ".lock"
    try:
        held = FileLock(lock, timeout=0)
        held.acquire()
    except Timeout as error:
        raise RunError(f"{folder}: another process is writing this {what}; wait for it or stop it.") from error
    try:
        yield
    finally:
        if folder.is_dir() and {path.name for path in folder.iterdir()} == {lock.name}:
            lock.unlink()
            folder.rmdir()
        held.release()


def run_folders(runs: Path) -> list[Path]:
    """Return the runs under a folder (or the folder itself, if it is one), by name."""
    if (runs / FILE_NAME).is_file():
        return [runs]
    if not runs.is_dir():
        raise InputError(
            f"{runs}: there is no such folder of runs; make one with `mrb judge BENCH {runs} --judge NAME`."
        )
    return sorted(path for path in runs.iterdir() if (path / FILE_NAME).is_file())


def read_run(folder: Path, columns: Sequence[str] | None = None, *, without: Collection[Path] = ()) -> pd.DataFrame:
    """Return all verdicts of one run, in the order they were written.

    Parameters
    ----------
    columns : the columns to read; None reads all of the contract and any others.
    without : parts to leave out

    Raises
    ------
    InputError
        A part is damaged, or lacks a column.
    """
    names = list(columns or SCHEMA.names)
    tables = [_read_part(path, columns) for path in _whole(folder, without)] or [SCHEMA.empty_table().select(names)]
    try:
        frame: pd.DataFrame = pa.concat_tables(tables, promote_options="permissive").to_pandas()
    except pa.ArrowException as error:
        raise InputError(
            f"{folder}: its parts hold a column of different types ({error}); remove the part that is wrong."
        ) from error
    return frame


def _whole(folder: Path, without: Collection[Path]) -> list[Path]:
    return [path for path in part_paths(folder) if path not in without]


def _read_part(path: Path, columns: Sequence[str] | None) -> pa.Table:
    table = read_part(path, columns)
    absent = [name for name in columns or SCHEMA.names if name not in table.column_names]
    if absent:
        raise InputError(f"{path}, column {absent[0]}: is missing, so it is not a part of a run; remove the file.")
    return table


def load_verdicts(
    runs: str | Path, cases: pd.DataFrame | None = None, *, replies: bool = False, costs: bool = False
) -> pd.DataFrame:
    """Return the verdicts of every run under a folder.

    Where several runs hold the same judge (its settings changed between them), each
    is shown as a judge of its own, `judge@run`, so that none hides another.

    Parameters
    ----------
    runs : a folder of runs, or one run
    cases : the benchmark's cases; verdicts about any other case are refused. None does not check.
    replies : also read the replies and their cost, which are large
    costs : also read the cost, without the replies

    Returns
    -------
    DataFrame
        The verdicts table; judge, dimension, order, probe, choice and status as
        text, sorted as written.

    Raises
    ------
    InputError
        There is no such folder, a file is damaged, or a verdict speaks of an unknown case.
    """
    columns = None if replies else [*ANALYSIS_COLUMNS, *COSTS] if costs else ANALYSIS_COLUMNS
    return pd.concat([*_frames(runs, cases, columns)] or [empty_verdicts()], ignore_index=True)


def _frames(runs: str | Path, cases: pd.DataFrame | None, columns: Sequence[str] | None) -> Iterator[pd.DataFrame]:
    for folder, name in named_runs(Path(runs)):
        frame = read_run(folder, columns)
        if cases is not None:
            check_references(frame, cases, str(folder))
        yield frame if name is None else frame.assign(judge=name)


def named_runs(runs: Path) -> list[tuple[Path, str | None]]:
    """Return each run with the name to show its judge by: None for its own, or another to tell runs apart."""
    folders = run_folders(runs)
    manifests = [read_manifest(folder) for folder in folders]
    shown = zip(folders, manifests, _names_shown(manifests), strict=True)
    return [(folder, None if name == manifest.judge else name) for folder, manifest, name in shown]


def _names_shown(runs: Sequence[Manifest]) -> list[str]:
    """Return the name by which the judge of each run is shown: `judge@run` where several runs are of one judge."""
    names = [run.judge for run in runs]
    return [run.name_of_run if names.count(run.judge) > 1 else run.judge for run in runs]


def iter_verdicts(
    runs: str | Path, cases: pd.DataFrame, columns: Sequence[str] = ANALYSIS_COLUMNS
) -> Iterator[pd.DataFrame]:
    """Return the verdicts of every run under a folder, a run at a time, so that only one's need be in memory.

    Parameters
    ----------
    runs, cases : as in `load_verdicts`
    columns : those to read

    Yields
    ------
    DataFrame
        The verdicts of one run; text columns are categorical.

    Raises
    ------
    InputError
        As in `load_verdicts`.
    """
    texts = [name for name in columns if SCHEMA.field(name).type == pa.string()]
    return (frame.astype(dict.fromkeys(texts, "category")) for frame in _frames(runs, cases, columns))


def runs_on_other_cases(runs: Path, fingerprint: str) -> list[str]:
    """Return the runs that were made on other cases or images than those of a fingerprint.

    Parameters
    ----------
    fingerprint : see `Benchmark.case_fingerprint`

    Returns
    -------
    list of str
        Their ids, by name. Imported runs do not know their cases, and are not among them.
    """
    made_on = {folder.name: read_manifest(folder).benchmark_fingerprint for folder in run_folders(runs)}
    return sorted(name for name, fingerprint_of_run in made_on.items() if fingerprint_of_run not in ("", fingerprint))


def other_runs(runs: Path, manifest: Manifest) -> tuple[str, ...]:
    """Return a line per run of the same judge that is kept beside this one: what differs in its settings or cases."""
    lines = []
    for folder in run_folders(runs):
        other = read_manifest(folder)
        if other.judge != manifest.judge or folder.name == manifest.run_id:
            continue
        settings = [identity(one.spec, one.prompt_hash, one.benchmark_fingerprint) for one in (other, manifest)]
        if other.source != manifest.source:
            settings = [{"source": one.source or "judged"} for one in (other, manifest)]
        words = differences(*settings) or "nothing"
        lines.append(f"{words} differs from run {other.run_id}, which is kept beside it")
    return tuple(lines)


def save_imported(
    verdicts: pd.DataFrame,
    runs: Path,
    *,
    benchmark: str,
    kind: str,
    source: str,
    ratings: Sequence[str] = (),
    labels: Mapping[str, Sequence[str]] | None = None,
) -> list[Path]:
    """Write verdicts that were made elsewhere as one run a judge.

    Parameters
    ----------
    ratings : the categories that they choose from, where they rate one response a case
    labels : those of the dimensions in which several may apply

    Returns
    -------
    list of Path
        The folders written, in order of the judges' names.
    """
    task: Task = "rating" if ratings else "preference"
    verdicts = conform(verdicts, "verdicts", source, categories=ratings or None, task=task, labels=labels)
    folders = []
    for judge, rows in verdicts.groupby("judge", sort=True):
        folder = runs / slug(str(judge))
        folder.mkdir(parents=True)
        append_part(folder, rows)
        prompts = rows["prompt_id"].dropna().unique().tolist() if "prompt_id" in rows else []
        manifest = Manifest(
            run_id=folder.name,
            judge=str(judge),
            spec={"choices": list(ratings)} if ratings else {},
            prompt_id=str(prompts[0]) if len(prompts) == 1 else "",
            benchmark=benchmark,
            kind=kind,
            source=source,
            device="unknown",
            versions=library_versions(),
            created=now(),
        )
        write_manifest(folder, manifest)
        folders.append(folder)
    return folders


def run_prompts(manifests: Iterable[Manifest]) -> pd.DataFrame:
    """Return the prompt of each run, as far as the manifests say.

    Returns
    -------
    DataFrame
        One row a run, text: `judge`, as its verdicts are shown where several runs are of one judge (`judge@run`), else
        the judge's own name; `name`, that name; `prompt_id` and `prompt_hash`, null where the run states none;
        `settings`, what else shaped its verdicts, as JSON.
    """
    runs = list(manifests)
    rows = [
        (name, run.judge, run.prompt_id or None, run.prompt_hash or None, json.dumps(dict(run.spec), sort_keys=True))
        for name, run in zip(_names_shown(runs), runs, strict=True)
    ]
    return pd.DataFrame(rows, columns=_PROMPT_COLUMNS, dtype="str")


_TOKENS: Final = ("prompt_tokens", "completion_tokens")
_READ: Final = ("status", "error", *_TOKENS, "cost_usd")


@dataclass(frozen=True)
class RunTotals:
    """Sums over the verdicts of a run, those of earlier sessions included.

    Attributes
    ----------
    statuses : how many verdicts have each status, in the vocabulary's order; those that do not occur are left out
    prompt_tokens, completion_tokens : None where no verdict counts any
    cost_usd : None where no price was known
    usual_error : the reason that most verdicts of status `error` give, the first in the alphabet of equally
        frequent ones; None where none gives one
    """

    statuses: Mapping[str, int] = field(default_factory=dict)
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    usual_error: str | None = None

    def __str__(self) -> str:
        parts = [", ".join(f"{count:,} {status}" for status, count in self.statuses.items()) or "no verdicts"]
        tokens = [(self.prompt_tokens, "prompt"), (self.completion_tokens, "reply")]
        counted = " and ".join(f"{number:,} {what}" for number, what in tokens if number is not None)
        if counted:
            parts.append(f"{counted} tokens")
        if self.cost_usd is not None:
            parts.append(f"{self.cost_usd:.4f} USD")
        return "; ".join(parts)


def totals(folder: Path) -> RunTotals:
    """Return the totals of one run; replies are not read.

    Parameters
    ----------
    folder : of the run

    Raises
    ------
    InputError
        A part is damaged.
    """
    parts = [read_part(path, _READ).to_pandas() for path in part_paths(folder)]
    held = pd.concat([pd.DataFrame(columns=list(_READ), dtype=object), *parts])
    statuses = held["status"].value_counts().to_dict()
    reasons = held.loc[held["status"] == "error", "error"].dropna().astype("str").value_counts()
    tokens = [None if held[name].isna().all() else int(held[name].sum()) for name in _TOKENS]
    return RunTotals(
        {status: statuses[status] for status in STATUSES if status in statuses},
        tokens[0],
        tokens[1],
        None if held["cost_usd"].isna().all() else float(held["cost_usd"].sum()),
        min(reasons.index[reasons == reasons.max()], default=None),
    )
