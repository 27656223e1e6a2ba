"""What a report was made from: the benchmark, the runs, the code, the versions, the seed."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.report.places import hash_of_source
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

# What provenance names of `benchmark.toml` and of a manifest, and what of it is kept under version control.
_OF_META = ("name", "kind", "dimensions", "source", "licence", "revision")
_OF_RUN = ("judge", "run_id", "seed", "device", "prompt_id", "source", "created", "git_commit")
_STABLE_OF_META = ("name", "kind", "n_cases", "fingerprint", "source", "licence", "revision")
_STABLE_OF_RUN = ("judge", "run_id", "seed", "prompt_id", "source")
Facts = Mapping[str, object]


@dataclass(frozen=True)
class Provenance:
    """Everything that shapes a report. No path is part of it.

    Attributes
    ----------
    benchmark : `name, kind, source, licence, revision, dimensions` of `benchmark.toml`; `n_cases`; and the SHA-256
        `fingerprint` of all its files and `case_fingerprint` of its cases
    runs : of each run `judge, run_id, seed, prompt_id, source, device, created, git_commit` of its manifest;
        `same_cases`, whether it judged the cases that the benchmark has now, None where it does not say; and `sha256`
        of the manifest and the parts
    """

    benchmark: Facts
    runs: tuple[Facts, ...]
    policy: str
    dimension: str
    seed: int
    parameters: dict[str, str]
    versions: dict[str, str]
    code: str

    @property
    def simulated(self) -> bool:
        """Whether everything made from it has to say so."""
        return self.benchmark["kind"] == "simulated"

    def key(self) -> dict[str, object]:
        """All of it, as JSON values: two reports with the same key show the same."""
        return asdict(self)

    def stable(self) -> dict[str, object]:
        """Return what does not change when the same report is made again later, elsewhere or from another commit.

        This is what `figures/index.json`, which is kept under version control, states.
        """
        return {
            "benchmark": {name: self.benchmark[name] for name in _STABLE_OF_META},
            "runs": [{name: run[name] for name in _STABLE_OF_RUN} for run in self.runs],
            **{name: getattr(self, name) for name in ("policy", "dimension", "seed")},
            **({"parameters": self.parameters} if self.parameters else {}),
            "versions": {name: self.versions[name] for name in _FIGURE_PACKAGES if name in self.versions},
        }


def provenance(
    benchmark: Path,
    runs: Path | None,
    *,
    policy: str,
    dimension: str,
    seed: int,
    parameters: Mapping[str, str] | None = None,
) -> Provenance:
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
    Validated by tests/report/test_parameters.py.
    """
    facts = _benchmark_facts(benchmark)
    judged = tuple(_run_facts(folder, facts["case_fingerprint"]) for folder in (run_folders(runs) if runs else []))
    return Provenance(facts, judged, policy, dimension, seed, dict(parameters or {}), versions(), code_hash())


def _benchmark_facts(folder: Path) -> Facts:
    loaded = load(folder)
    return {name: getattr(loaded.meta, name) for name in _OF_META} | {
        "n_cases": len(loaded.cases),
        "fingerprint": loaded.fingerprint(),
        "case_fingerprint": loaded.case_fingerprint(),
    }


def _run_facts(folder: Path, case_fingerprint: object) -> Facts:
    manifest = read_manifest(folder)
    digest = hashlib.sha256()
    for path in [folder / FILE_NAME, *part_paths(folder)]:
        digest.update(path.name.encode() + b"\0" + sha256_of(path).encode())
    judged = manifest.benchmark_fingerprint
    return {name: getattr(manifest, name) for name in _OF_RUN} | {
        "run_id": folder.name,
        "source": Path(manifest.source).name,
        "same_cases": judged == case_fingerprint if judged else None,
        "sha256": digest.hexdigest(),
    }


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
