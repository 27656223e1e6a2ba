"""What a worker of the Ray engine does: it builds its judge, and answers batches that bring their cases along.

A batch and its answer travel as one row of a table each. The images a batch needs
are asked of the machine that the run was started on, so a worker needs nothing but
the library and the weights.
"""

from __future__ import annotations

import hashlib
import os
import platform
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import pyarrow as pa

from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import WeightsSource, check_folder, loaded_bytes, locate_weights
from mrb_lib.judges.settings import Settings
from mrb_lib.probes import Case
from mrb_lib.runs.local import answer_rows, prepare_rows
from mrb_lib.runs.plan import Plan
from mrb_lib.runs.ray.cluster import WorkerPool
from mrb_lib.runs.ray.image_server import RESTARTS, ImageServer, RemoteImageServer, ServedImages
from mrb_lib.tables.errors import InputError, MrbError, RunError
from mrb_lib.verdicts.manifest import library_versions
from mrb_lib.verdicts.orders import CONTEXT, SHOWN
from mrb_lib.verdicts.protocol import Judge

GREETING: Final = -1
"""The number of a batch without verdicts, which a worker answers as soon as its judge is loaded."""
ANSWER: Final = pa.schema(
    {
        "worker": pa.string(),
        "batch": pa.int64(),
        "verdicts": pa.large_binary(),
        "failure": pa.string(),
        "bad_input": pa.bool_(),
        "notices": pa.list_(pa.string()),
        "device": pa.string(),
    }
)
_MEMORY: Final = ", as when the memory does not suffice; use fewer workers or a smaller --batch-size"
_CASE_COLUMNS: Final = (*SHOWN, *CONTEXT, "response_a", "response_b")
_MATTERS: Final = (".safetensors", ".json", ".jinja", ".model")
_BESIDE: Final = 1.2  # of the weights, with what is read beside them
_SAMPLES, _SAMPLE_BYTES = 16, 64 * 1024

Recipe = Callable[[Mapping[str, bytes]], Judge]
"""Makes the judge from the images it is to see."""


@runtime_checkable
class WithWeights(Protocol):
    """A judge that reads weights, and can be built anew from its parts."""

    @property
    def parts(self) -> tuple[Entry, WeightsSource, Settings]: ...


@dataclass(frozen=True)
class Assignment:
    """What all workers are told about one judge.

    Attributes
    ----------
    spec, prompt_hash : what the judge must be like, or its verdicts would belong to another run
    plan : with no cases, which come with the batches; its probes have their cases and the texts of files with them
    pool : all workers, and what each has
    versions : of the libraries where the run was started
    """

    name: str
    recipe: Recipe
    spec: Mapping[str, object]
    prompt_hash: str
    plan: Plan
    pool: WorkerPool
    versions: Mapping[str, str]


def assignment(judge: Judge, plan: Plan, pool: WorkerPool) -> Assignment:
    """What the workers must know to answer for a judge that is not loaded yet."""
    probing = plan.probing
    if probing is not None:
        seen = [field.name for field in fields(Case) if field.name in probing.cases]
        probing = replace(probing, cases=probing.cases[seen])
    bare = replace(plan, cases=plan.cases.head(0), probing=probing, applies=None)
    spec, versions = dict(judge.spec), library_versions()
    return Assignment(judge.name, _recipe(judge), spec, judge.prompt_hash, bare, pool, versions)


def _recipe(judge: Judge) -> Recipe:
    if not isinstance(judge, WithWeights):
        return partial(_as_it_is, judge)
    entry, source, settings = judge.parts
    return partial(_rebuild, type(judge), judge.name, entry, source, settings, quick_digests(source.folder))


def _as_it_is(judge: Judge, images: Mapping[str, bytes]) -> Judge:
    return judge


def _rebuild(
    build: Callable[..., Judge],
    name: str,
    entry: Entry,
    source: WeightsSource,
    settings: Settings,
    seen: Mapping[str, str],
    images: Mapping[str, bytes],
) -> Judge:
    """The same judge here, its weights found anew but not read through to compare them."""
    if entry.path is None:
        # A commit never changes, so the Hub's own bookkeeping says that the weights are the same.
        trust = settings.trust_remote_code
        located = locate_weights(entry, revision=source.revision, download=False, trust_remote_code=trust)
        return build(name, entry, located, settings, images)
    check_folder(entry.path, f"judge {name!r}: {entry.path}")
    here = quick_digests(entry.path)
    if here != seen:
        other = sorted(file for file in here.keys() | seen.keys() if here.get(file) != seen.get(file))
        raise RunError(
            f"judge {name!r}: {entry.path} holds another {other[0]} than where the run was started; "
            "copy the weights there again."
        )
    return build(name, entry, source, settings, images)


def memory_of(judge: Judge) -> float:
    """Roughly the bytes of main memory that a judge's weights take on a machine without a GPU; 0 without weights."""
    return _BESIDE * weights_bytes(judge, "float32")


def weights_bytes(judge: Judge, usual: str) -> float:
    """The bytes that a judge's weights take once they are loaded, of the type `usual` unless one is set; 0 without."""
    if not isinstance(judge, WithWeights):
        return 0.0
    _, source, settings = judge.parts
    return loaded_bytes(source.folder, usual if settings.dtype == "auto" else settings.dtype, settings.quantize)


def quick_digests(folder: Path) -> dict[str, str]:
    """A quick digest of each file of a model: its size, and its content at sixteen places, or all of a small file.

    Weights that were trained differ nearly everywhere, so the places tell other
    weights apart; a few bytes that are damaged they do not.
    """
    names = [path for path in sorted(folder.iterdir()) if path.suffix in _MATTERS and path.is_file()]
    return {path.name: _quick_digest(path) for path in names}


def _quick_digest(path: Path) -> str:
    size = path.stat().st_size
    digest = hashlib.blake2b(str(size).encode(), digest_size=16)
    with path.open("rb") as stream:
        if size <= _SAMPLES * _SAMPLE_BYTES:
            digest.update(stream.read())
        else:
            for start in np.linspace(0, size - _SAMPLE_BYTES, _SAMPLES).astype(int):
                stream.seek(start)
                digest.update(stream.read(_SAMPLE_BYTES))
    return digest.hexdigest()


def batch_table(plan: Plan, number: int, verdicts: np.ndarray) -> pa.Table:
    """One row: a batch's number, its cases without what no judge may see, and its verdicts counted among these cases.

    Parameters
    ----------
    verdicts : array of numbers of verdicts; empty for the greeting
    """
    case_positions, local = np.unique(verdicts // plan.per_case, return_inverse=True)
    cases = plan.cases.iloc[case_positions]
    content = encode_frame(cases[[name for name in cases.columns if name in _CASE_COLUMNS]])
    numbers = local * plan.per_case + verdicts % plan.per_case
    return pa.table(
        {
            "batch": pa.array([number], pa.int64()),
            "cases": pa.array([content], pa.large_binary()),
            "numbers": pa.array([numbers.tolist()], pa.large_list(pa.int64())),
        }
    )


def encode_frame(frame: pd.DataFrame) -> bytes:
    """A table as bytes that `decode_frame` reads, without its index."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def decode_frame(content: bytes) -> pd.DataFrame:
    """The table behind `encode_frame`; lists come as lists."""
    with pa.ipc.open_stream(content) as stream:
        frame: pd.DataFrame = stream.read_pandas()
    if "images" in frame.columns:
        frame["images"] = pd.Series([list(names) for names in frame["images"]], index=frame.index, dtype=object)
    return frame


class Worker:
    """One judge, loaded once. Called by two threads, it prepares a batch while it answers another.

    Whatever goes wrong is an answer, too: Ray would wrap it in pages of its own.
    Ray starts a worker that died anew, and gives it the same batches, without end;
    the server counts, so that there is one.
    """

    def __init__(self, assigned: Assignment, server: ImageServer | RemoteImageServer) -> None:
        self._assigned, self._server = assigned, server
        self._preparing, self._answering = threading.Lock(), threading.Lock()
        self._remarks = _other_versions(assigned)
        self._failure: Exception | None = None
        try:
            if server.start_worker() > assigned.pool.workers + RESTARTS:
                raise RunError(f"judge {assigned.name}: the workers die while they load it{_MEMORY}.")
            self._judge = assigned.recipe(ServedImages(server))
            _check_equal(assigned, self._judge)
            if assigned.pool.gpus and self._judge.device.startswith("cpu"):
                raise RunError(f"judge {assigned.name}: has a GPU that torch cannot use; `mrb doctor` says more there.")
            self._judge.load()
            server.worker_is_ready()
        except Exception as error:  # noqa: BLE001  # reported with the first batch
            self._failure = error

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Answer one batch: a row as in `ANSWER`."""
        [row] = batch.to_pylist()
        number: int = row["batch"]
        if self._failure is not None:
            return self._failed(number, self._failure, "cannot be loaded")
        try:
            verdicts = None if number == GREETING else self._answer(number, row["cases"], row["numbers"])
        except Exception as error:  # noqa: BLE001  # whatever a judge raises
            return self._failed(number, error, "failed")
        notices = [*self._remarks, *self._judge.notices]
        return _answer_table(batch=number, verdicts=verdicts, notices=notices, device=self._judge.device)

    def _answer(self, number: int, cases: bytes, numbers: Sequence[int]) -> bytes:
        if self._server.start_batch(number) > RESTARTS + 1:
            raise RunError(f"judge {self._assigned.name}: a batch made its worker die {RESTARTS + 1} times{_MEMORY}.")
        plan = replace(self._assigned.plan, cases=decode_frame(cases))
        with self._preparing:
            prepared = prepare_rows(self._judge, plan.rows(np.array(numbers, dtype=np.int64)))
        with self._answering:
            return encode_frame(answer_rows(self._judge, prepared, plan.ratings, plan.labels))

    def _failed(self, number: int, error: Exception, what: str) -> pa.Table:
        if isinstance(error, MrbError):
            text = f"{error} (on {platform.node()})"
        else:
            text = (
                f"judge {self._assigned.name}: {what} on {platform.node()} "
                f"({type(error).__name__}: {' '.join(str(error).split())}); --engine local shows where."
            )
        return _answer_table(batch=number, failure=text, bad_input=isinstance(error, InputError))


def _answer_table(**values: object) -> pa.Table:
    return pa.Table.from_pylist([{"worker": f"{platform.node()} {os.getpid()}", **values}], schema=ANSWER)


def _check_equal(assigned: Assignment, judge: Judge) -> None:
    """Raise `RunError` unless the judge is what it is where the run was started."""
    spec = dict(judge.spec)
    names = [*assigned.spec, *(name for name in spec if name not in assigned.spec)]
    differences = [
        f"{name} is {spec.get(name)!r} there and {assigned.spec.get(name)!r} where the run was started"
        for name in names
        if spec.get(name) != assigned.spec.get(name)
    ]
    if judge.prompt_hash != assigned.prompt_hash:
        differences.append("its prompt is another")
    if differences:
        raise RunError(
            f"judge {assigned.name}: is not the same on {platform.node()}: {'; '.join(differences)}. Install the same "
            "versions of the libraries on every machine, and the same weights."
        )


def _other_versions(assigned: Assignment) -> list[str]:
    """A notice about libraries that are in another version here."""
    here = library_versions()
    other = [
        f"{name} {version} (not {assigned.versions[name]})"
        for name, version in here.items()
        if assigned.versions.get(name, version) != version
    ]
    return [f"{platform.node()} has {', '.join(other)}: its verdicts may differ a little"] if other else []
