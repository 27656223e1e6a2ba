"""The manifest of a run: everything that is needed to repeat it."""

import hashlib
import json
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from textwrap import shorten
from typing import Any, Final

from pydantic import TypeAdapter

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import slug, write_atomic
from mrb_lib.tables.schema import CHOICES
from mrb_lib.verdicts.parts import sync_folder
from mrb_lib.verdicts.protocol import Judge

FILE_NAME = "manifest.json"
_PACKAGES = (
    "mrb-workbench", "numpy", "pandas", "pyarrow", "scipy", "statsmodels", "scikit-learn", "krippendorff", "pillow",
    "matplotlib", "seaborn", "torch", "transformers", "accelerate", "tokenizers", "jinja2", "httpx", "ray",
)  # fmt: skip
_HASH = re.compile(r"[0-9a-f]{16,}")
_EXTRA: Final = re.compile(r"([A-Za-z0-9._-]+).*extra\s*==\s*['\"]([\w-]+)['\"]")
_LONGEST_REASON: Final = 150


@dataclass(frozen=True)
class Manifest:
    """The manifest of a run.

    Attributes
    ----------
    run_id : name of the run's folder
    judge : the judge's name, as in the verdicts
    spec : the judge's settings, JSON values only
    prompt_id, prompt_hash, prompt_text : the prompt template, its SHA-256 and its source;
        empty for judges without a prompt
    benchmark, benchmark_fingerprint, kind : the benchmark judged; the fingerprint is empty for imported verdicts
    source : where the verdicts came from, for a run that was imported instead of executed
    seed : the seed of everything random
    device : what the judge ran on
    options : what was asked for: `orders, repeats, limit` (null for all cases), `dimensions`,
        and the settings that were not left open; never a key
    sent_to : the address of the server that was shown the cases; empty where they stayed in the process
    provenance : what a local folder of weights says of itself: `architectures` and `base` (the model on the Hub that
        its configuration names), and `training`, what its `training.json` holds; empty for others
    resumed : later sessions that made verdicts of this run in another way: when, and which of
        `device, versions, git_commit, options` were different then
    """

    run_id: str
    judge: str
    spec: Mapping[str, object] = field(default_factory=dict)
    prompt_id: str = ""
    prompt_hash: str = ""
    prompt_text: str = ""
    benchmark: str = ""
    benchmark_fingerprint: str = ""
    kind: str = ""
    source: str = ""
    seed: int = 0
    device: str = "cpu"
    versions: Mapping[str, str] = field(default_factory=dict)
    git_commit: str = ""
    created: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    sent_to: str = ""
    provenance: Mapping[str, object] = field(default_factory=dict)
    resumed: Sequence[Mapping[str, object]] = field(default_factory=list)

    @property
    def choices(self) -> tuple[str, ...]:
        """The choices that the judge was offered, see `mrb_lib.judges.settings.Settings`; all, where it names none."""
        named = self.spec.get("choices")
        return tuple(str(name) for name in named) if isinstance(named, list | tuple) else CHOICES

    @property
    def name_of_run(self) -> str:
        """The name of the judge where several runs are of one judge."""
        return f"{self.judge}@{self.run_id}"

    @property
    def sessions(self) -> list[Mapping[str, Any]]:
        """The options of every session that made verdicts of the run."""
        every = [self.options, *(session.get("options") for session in self.resumed)]
        return [options for options in every if isinstance(options, Mapping)]

    def probe_files(self, name: str) -> set[str]:
        """Return the SHA-256 of the files that a probe of a name was in the run; none where it was none of a file."""
        of_sessions = [options.get("probe_files") for options in self.sessions]
        return {str(files[name]) for files in of_sessions if isinstance(files, Mapping) and name in files}


def run_id(judge: Judge, fingerprint: str) -> str:
    """Return the name of a run's folder: it follows from everything that shapes a verdict.

    Parameters
    ----------
    fingerprint : of the cases, see `Benchmark.case_fingerprint`
    """
    return run_name(judge.name, judge.spec, judge.prompt_hash, fingerprint)


def run_name(judge: str, spec: Mapping[str, object], prompt_hash: str, fingerprint: str) -> str:
    """Return the same as `run_id`, of a judge that a manifest describes."""
    identity = [judge, dict(spec), prompt_hash, fingerprint]
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return f"{slug(judge)}-{digest[:8]}"


def identity(spec: Mapping[str, object], prompt_hash: str, cases: str = "") -> dict[str, object]:
    """Return what shapes the verdicts of a judge, by name: `spec.temperature`, `prompt_hash`, `cases`."""
    return {**flattened("spec", spec), "prompt_hash": prompt_hash, "cases": cases}


def flattened(name: str, value: object) -> dict[str, object]:
    """Return the values of nested mappings by their dotted names, which begin with `name`."""
    if not isinstance(value, Mapping):
        return {name: value}
    return {key: leaf for part, inner in value.items() for key, leaf in flattened(f"{name}.{part}", inner).items()}


def differences(there: Mapping[str, object], here: Mapping[str, object]) -> str:
    """Return what differs, as `temperature 0 -> 0.7, cases 1a2b3c4d -> 5e6f7a8b`; empty where nothing does."""
    pairs = {name: (there.get(name), here.get(name)) for name in dict.fromkeys([*here, *there])}
    differs = [(name.removeprefix("spec."), old, new) for name, (old, new) in pairs.items() if old != new]
    return ", ".join(f"{name} {_short(old)} -> {_short(new)}" for name, old, new in differs)


def _short(value: object) -> str:
    if value is None or value == "":
        return "none"
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return text[:8] if _HASH.fullmatch(text) else text


@cache
def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that shape results; absent ones are left out.

    Read once: every run's manifest asks, and a package takes some milliseconds.
    """
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def missing_extras() -> dict[str, tuple[str, ...]]:
    """Return for each extra of this package the packages that are not installed."""
    try:
        wanted = metadata.requires(_PACKAGES[0]) or []
    except metadata.PackageNotFoundError:
        return {}
    installed = {dist.name.lower().replace("_", "-") for dist in metadata.distributions()}
    missing: dict[str, tuple[str, ...]] = {}
    for package, extra in (match.groups() for match in map(_EXTRA.match, wanted) if match):
        absent = () if package.lower().replace("_", "-") in {*installed, _PACKAGES[0]} else (package,)
        missing[extra] = (*missing.get(extra, ()), *absent)
    return missing


@cache
def git_commit() -> str:
    """Return the commit of this library's checkout, with `+changes` where files differ; empty outside a checkout.

    Asked once: what a process runs is what it has loaded, whatever becomes of the files.
    """
    here = Path(__file__).resolve().parent.parent
    command = ["git", "-C", str(here), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+changes"]
    try:
        if not (here.parent / ".git").exists():
            return ""
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def now() -> str:
    """Return the time in UTC, to the second, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest into the run's folder, to survive a power cut."""
    write_atomic(folder / FILE_NAME, json.dumps(asdict(manifest), indent=2, ensure_ascii=False) + "\n")
    sync_folder(folder)


def read_manifest(folder: Path) -> Manifest:
    """Read a run's manifest; keys this version does not know are ignored.

    The name of the folder is the run's id, whatever the file says: a copied run is a run of its own.

    Raises
    ------
    InputError
        The manifest is missing or is not what `write_manifest` writes.
    """
    path = folder / FILE_NAME
    try:
        return replace(_READER.validate_json(path.read_bytes(), strict=True), run_id=folder.resolve().name)
    except FileNotFoundError as error:
        raise InputError(f"{folder}: is not a run ({FILE_NAME} is missing); run `mrb judge` to make one.") from error
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: is damaged ({shorten(str(error), _LONGEST_REASON)}); restore it, or remove this file alone: the "
            "command that made the run writes it anew, and keeps the verdicts."
        ) from error


_READER = TypeAdapter(Manifest)
