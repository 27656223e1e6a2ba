"""What a report was made from: the benchmark, the runs, the code, the versions, the seed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.benchmark import Benchmark, FolderImages, empty_annotations
from mrb_lib.benchmarks.meta import read_meta
from mrb_lib.report.places import hash_of_source
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import sha256_of
from mrb_lib.verdicts.manifest import FILE_NAME, library_versions, read_manifest
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.store import run_folders

LOOK = ("report/html/templates/*", "review/assets/tokens.css", "review/case/*.css", "review/case/*.js")
_REPORT_PACKAGES = ("papermill", "nbclient", "ipykernel", "jinja2", "markdown-it-py")
# What decides the look and the numbers of a figure; the interpreter's patch level and torch do not.
_FIGURE_PACKAGES = (
    "mrb-workbench", "numpy", "pandas", "scipy", "statsmodels", "scikit-learn", "krippendorff", "matplotlib", "seaborn",
)  # fmt: skip


@dataclass(frozen=True)
class BenchmarkFacts:
    """A benchmark as provenance names it; the fingerprints are SHA-256."""

    name: str
    kind: str
    n_cases: int
    dimensions: tuple[str, ...]
    fingerprint: str
    case_fingerprint: str
    source: str
    licence: str
    revision: str


@dataclass(frozen=True)
class RunFacts:
    """A run as provenance names it.

    Attributes
    ----------
    same_cases : whether it judged the cases this benchmark has now; None where the run does not say
    sha256 : over the manifest and the parts
    """

    judge: str
    run_id: str
    seed: int
    device: str
    prompt_id: str
    source: str
    created: str
    git_commit: str
    same_cases: bool | None
    sha256: str


@dataclass(frozen=True)
class Provenance:
    """Everything that shapes a report. No path is part of it."""

    benchmark: BenchmarkFacts
    runs: tuple[RunFacts, ...]
    policy: str
    dimension: str
    seed: int
    parameters: dict[str, str]
    versions: dict[str, str]
    code: str

    @property
    def simulated(self) -> bool:
        """Whether everything made from it has to say so."""
        return self.benchmark.kind == "simulated"

    def key(self) -> dict[str, object]:
        """All of it, as JSON values: two reports with the same key show the same."""
        return asdict(self)

    def stable(self) -> dict[str, object]:
        """What does not change when the same report is made again later, elsewhere or from another commit.

        This is what `figures/index.json`, which is kept under version control, states.
        """
        of_benchmark = ("name", "kind", "n_cases", "fingerprint", "source", "licence", "revision")
        of_run = ("judge", "run_id", "seed", "prompt_id", "source")
        return {
            "benchmark": {name: getattr(self.benchmark, name) for name in of_benchmark},
            "runs": [{name: getattr(run, name) for name in of_run} for run in self.runs],
            **{name: getattr(self, name) for name in ("policy", "dimension", "seed")},
            **({"parameters": self.parameters} if self.parameters else {}),
            "versions": {name: self.versions[name] for name in _FIGURE_PACKAGES if name in self.versions},
        }


def provenance(
    benchmark: Path, runs: Path | None, *, policy: str, dimension: str, seed: int,
    parameters: Mapping[str, str] | None = None,
) -> Provenance:  # fmt: skip
    """Gather the provenance of a report.

    Parameters
    ----------
    benchmark : the benchmark folder
    runs : the folder of runs, or None
    parameters : what the user set besides, as text

    Raises
    ------
    InputError
        A folder is not what it should be.

    Notes
    -----
    Validated by tests/report/test_provenance.py.
    """
    facts = _benchmark_facts(benchmark)
    judged = tuple(_run_facts(folder, facts.case_fingerprint) for folder in (run_folders(runs) if runs else []))
    return Provenance(facts, judged, policy, dimension, seed, dict(parameters or {}), versions(), code_hash())


def _benchmark_facts(folder: Path) -> BenchmarkFacts:
    meta = read_meta(folder / "benchmark.toml")
    cases = folder / "cases.parquet"
    try:
        n_cases = pq.read_metadata(cases).num_rows
        # The tables are hashed, not read: only the handle's path matters here.
        handle = Benchmark(meta, empty_annotations(), empty_annotations(), FolderImages(folder / "images"), folder)
        fingerprint, case_fingerprint = handle.fingerprint(), handle.case_fingerprint()
    except FileNotFoundError as error:
        raise InputError(f"{error.filename}: the file is missing; import the benchmark again.") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{cases}: is truncated or not a parquet file ({error}); restore it from its source or import it again."
        ) from error
    own = {"n_cases": n_cases, "fingerprint": fingerprint, "case_fingerprint": case_fingerprint}
    return BenchmarkFacts(**_same(BenchmarkFacts, meta), **own)


def _run_facts(folder: Path, case_fingerprint: str) -> RunFacts:
    manifest = read_manifest(folder)
    digest = hashlib.sha256()
    for path in [folder / FILE_NAME, *part_paths(folder)]:
        digest.update(path.name.encode() + b"\0" + sha256_of(path).encode())
    judged = manifest.benchmark_fingerprint
    own = {"run_id": folder.name, "source": Path(manifest.source).name, "sha256": digest.hexdigest()}
    same_cases = judged == case_fingerprint if judged else None
    return RunFacts(**_same(RunFacts, manifest) | own, same_cases=same_cases)


def _same(facts: type, source: object) -> dict[str, Any]:
    """The values of a source for the fields of a dataclass that it has by the same name."""
    return {each.name: getattr(source, each.name) for each in fields(facts) if hasattr(source, each.name)}


@cache
def versions() -> dict[str, str]:
    """The versions of everything that shapes a report."""
    return library_versions() | {name: metadata.version(name) for name in _REPORT_PACKAGES}


def code_hash() -> str:
    """SHA-256 over the library's source and what notebooks show cases with.

    The site's templates are left out: they change pages, not figures.
    """
    return hash_of_source("**/*.py", "**/*.toml", "review/**/*.css", "review/**/*.js")


def template_hash() -> str:
    """SHA-256 over the site's templates, its style and its scripts."""
    return hash_of_source(*LOOK)
