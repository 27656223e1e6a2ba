"""The other runs of a judge, and how what they were made with differs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mrb_lib.verdicts.manifest import Manifest, read_manifest
from mrb_lib.verdicts.store import run_folders

_HASH = re.compile(r"[0-9a-f]{16,}")


@dataclass(frozen=True)
class OtherRun:
    """A run of the same judge that is kept beside this one.

    Attributes
    ----------
    run_id : the name of its folder
    differs : what it was made with and what this run is made with, by name, as
        `spec.temperature`, `prompt_hash` or `cases`; empty for a copy
    """

    run_id: str
    differs: Mapping[str, tuple[object, object]]

    def __str__(self) -> str:
        return f"{in_words(self.differs) or 'nothing'} differs from run {self.run_id}, which is kept beside it"


def in_words(differs: Mapping[str, tuple[object, object]]) -> str:
    """Differences as `temperature 0 -> 0.7, cases 1a2b3c4d -> 5e6f7a8b`; empty where there are none."""
    return ", ".join(
        f"{name.removeprefix('spec.')} {_short(there)} -> {_short(here)}" for name, (there, here) in differs.items()
    )


def differences(there: Mapping[str, object], here: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    """The two values of each name under which two mappings differ."""
    return {
        name: (there.get(name), here.get(name))
        for name in dict.fromkeys([*here, *there])
        if there.get(name) != here.get(name)
    }


def other_runs(runs: Path, manifest: Manifest) -> tuple[OtherRun, ...]:
    """The runs under a folder that hold the same judge as this one, by name."""
    manifests = [read_manifest(folder) for folder in run_folders(runs) if folder.name != manifest.run_id]
    return tuple(
        OtherRun(other.run_id, _differences(other, manifest)) for other in manifests if other.judge == manifest.judge
    )


def _differences(there: Manifest, here: Manifest) -> dict[str, tuple[object, object]]:
    if there.source != here.source:
        return {"source": (there.source or "judged", here.source or "judged")}
    return differences(_identity(there), _identity(here))


def _identity(manifest: Manifest) -> dict[str, object]:
    spec = flattened("spec", manifest.spec)
    return {**spec, "prompt_hash": manifest.prompt_hash, "cases": manifest.benchmark_fingerprint}


def flattened(name: str, value: object) -> dict[str, object]:
    """The values of nested mappings by their dotted names, which begin with `name`."""
    if not isinstance(value, Mapping):
        return {name: value}
    flat: dict[str, object] = {}
    for key, inner in value.items():
        flat.update(flattened(f"{name}.{key}", inner))
    return flat


def _short(value: object) -> str:
    if value is None or value == "":
        return "none"
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return text[:8] if _HASH.fullmatch(text) else text
