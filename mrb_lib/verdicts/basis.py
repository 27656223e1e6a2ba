"""The verdicts and labels behind a report, without a text, so that a later report can be compared with it.

A case is known by digests of its texts and of its images, which tell whether it is still the same; annotators other
than the consensus are numbers. Replies, questions, responses and pictures are not kept, nor where anything lay.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations, read_table
from mrb_lib.benchmarks.case_digests import image_digests
from mrb_lib.benchmarks.meta import read_meta, write_meta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import write_atomic
from mrb_lib.tables.schema import CONSENSUS, KEYS, NO_PROBE
from mrb_lib.tables.validation import check_references, conform
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.store import empty_verdicts, named_runs, read_run

IN_REPORT: Final = Path(".cache", "basis")
"""Where a report keeps its basis, inside its folder."""
VERDICT_COLUMNS: Final = [*KEYS["verdicts"], "choice"]
RUN_COLUMNS: Final = ["judge", "name", "run_id", "prompt_id", "prompt_hash"]
_TEXTS = ("question", "response_a", "response_b")
_TABLES = ("cases", "annotations", "verdicts", "runs")


@dataclass(frozen=True)
class Basis:
    """A benchmark and the verdicts about it, as far as it takes to say what moved.

    Attributes
    ----------
    benchmark : its metadata, its annotations and at least the ids of its cases
    digests : one row a case: `case_id`, and the digests `text` of what it asks and answers and `images` of its pictures
    verdicts : `VERDICT_COLUMNS`, those on the cases as they are (probe none)
    runs : one row a judge that is shown, `RUN_COLUMNS`: `judge` as in the verdicts, its own `name`, and the prompt;
        text, empty where it is not known or there is none
    """

    benchmark: Benchmark
    digests: pd.DataFrame
    verdicts: pd.DataFrame
    runs: pd.DataFrame

    def fingerprint(self) -> str:
        """SHA-256 over all of it: two with the same one say the same."""
        meta = self.benchmark.meta
        digest = hashlib.sha256(json.dumps([meta.name, meta.kind, meta.dimensions, meta.categories]).encode())
        for frame in (self.digests, _without_names(self.benchmark.annotations), self.verdicts, self.runs):
            digest.update(pd.util.hash_pandas_object(frame.astype("str"), index=False).to_numpy().tobytes())
        return digest.hexdigest()


def basis_of(benchmark: Benchmark, runs: Path | None) -> Basis:
    """Return the basis of a benchmark and its runs.

    Raises
    ------
    InputError
        A run is damaged, or a verdict speaks of an unknown case.
    """
    frames, rows = [], []
    for folder, shown in named_runs(runs) if runs is not None else []:
        manifest = read_manifest(folder)
        frame = read_run(folder, [*VERDICT_COLUMNS, "prompt_id"])
        check_references(frame, benchmark.cases, str(folder))
        judge = shown or manifest.judge
        named = frame["prompt_id"].dropna().unique()
        prompt = manifest.prompt_id or (str(named[0]) if len(named) == 1 else "")
        rows.append((judge, manifest.judge, folder.name, prompt, manifest.prompt_hash))
        frames.append(frame.loc[frame["probe"] == NO_PROBE, VERDICT_COLUMNS].assign(judge=judge))
    none = empty_verdicts()[VERDICT_COLUMNS]
    verdicts = pd.concat(frames or [none], ignore_index=True)
    return Basis(benchmark, digests_of(benchmark), verdicts, pd.DataFrame(rows, columns=RUN_COLUMNS, dtype="str"))


def digests_of(benchmark: Benchmark) -> pd.DataFrame:
    """Return the digests of what a judge sees of each case, `case_id, text, images`; a missing image counts as none."""
    cases = benchmark.cases
    known = image_digests(benchmark.images, (name for listed in cases["images"] for name in listed))
    rows = zip(*(cases[name].tolist() for name in _TEXTS), strict=True)
    texts = [hashlib.blake2b(json.dumps(row).encode("utf-8"), digest_size=16).hexdigest() for row in rows]
    images = [" ".join(known.get(name, "absent") for name in listed) for listed in cases["images"]]
    return pd.DataFrame({"case_id": cases["case_id"], "text": texts, "images": images}).astype("str")


def write_basis(basis: Basis, folder: Path) -> None:
    """Write a basis into a folder, over one that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    annotations = _without_names(basis.benchmark.annotations)
    for name, frame in zip(_TABLES, (basis.digests, annotations, basis.verdicts, basis.runs), strict=True):
        write_atomic(folder / f"{name}.parquet", frame.to_parquet(index=False, compression="zstd"))
    write_meta(replace(basis.benchmark.meta, extra={}), folder / "benchmark.toml")


def read_basis(folder: Path) -> Basis:
    """Read what `write_basis` wrote.

    Raises
    ------
    InputError
        A file is missing or damaged.
    """
    meta = read_meta(folder / "benchmark.toml")
    digests, annotations, verdicts, runs = (read_table(folder / f"{name}.parquet") for name in _TABLES)
    for name, frame, columns in (("cases", digests, ["case_id", "text", "images"]), ("runs", runs, RUN_COLUMNS)):
        if list(frame.columns) != columns:
            raise InputError(f"{folder / name}.parquet: is not what a report keeps; make that report again.")
    where, choices = str(folder / "annotations.parquet"), meta.categories
    annotations = conform(annotations, "annotations", where, dimensions=meta.dimensions, categories=choices)
    benchmark = Benchmark(meta, digests[["case_id"]], annotations)
    return Basis(benchmark, digests, verdicts, runs)


def _without_names(annotations: pd.DataFrame) -> pd.DataFrame:
    """Annotations whose annotators are numbers, in the order of their names."""
    names = sorted(set(annotations["annotator"]) - {CONSENSUS})
    numbers = {name: f"{number:03d}" for number, name in enumerate(names, start=1)}
    kept = annotations[list(empty_annotations().columns)]
    return kept.assign(annotator=kept["annotator"].map(numbers).fillna(CONSENSUS).astype("str"))
