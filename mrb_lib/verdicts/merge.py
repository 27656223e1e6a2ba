"""The runs of several benchmarks as runs of the merged one: a judge whose settings are the same everywhere is one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.tables.files import slug
from mrb_lib.tables.validation import check_references
from mrb_lib.verdicts.manifest import (
    Manifest,
    differences,
    flattened,
    in_words,
    read_manifest,
    run_name,
    write_manifest,
)
from mrb_lib.verdicts.parts import damaged_parts
from mrb_lib.verdicts.store import append_part, read_run, run_folders
from mrb_lib.verdicts.training import after_merge

_SESSION: Final = ("spec", "device", "versions", "git_commit", "options")


@dataclass(frozen=True)
class MergedRuns:
    """What became of the runs of merged benchmarks.

    Attributes
    ----------
    verdicts, judges : how many there are
    apart : one line per run that stays apart from another run of its judge, and why
    """

    verdicts: int
    judges: int
    apart: tuple[str, ...]


@dataclass(frozen=True)
class _Run:
    """One run of a source.

    Attributes
    ----------
    settings : the values, by name, that the runs of one judge must share to become one
    probe_seeds : what its probes were drawn with, which must be the same where both runs have probes
    """

    source: str
    folder: Path
    manifest: Manifest
    settings: Mapping[str, object]
    probe_seeds: list[object]

    def joins(self, other: _Run) -> bool:
        """Whether the two become one run, if their settings are the same."""
        probed = bool(self.probe_seeds and other.probe_seeds)
        return self.source != other.source and not (probed and self.probe_seeds != other.probe_seeds)

    def apart_from(self, other: _Run) -> str:
        """Why the two stay apart."""
        here, there = ({**run.settings, "seed of probes": run.probe_seeds} for run in (self, other))
        changes = in_words(differences(there, here))
        return f"{changes} differs" if changes else "both are of one source"


def merge_runs(sources: Mapping[str, Benchmark], merged: Benchmark, runs: Path) -> MergedRuns:
    """Write the runs of several benchmarks as runs of the merged one.

    Parameters
    ----------
    sources : loaded from folders, whose `runs` are read, by the names that begin the new case ids
    merged : what `mrb_lib.benchmarks.merge.merge` made of them, loaded from its folder
    runs : the folder to write, which does not exist; wrap the call in `mrb_lib.tables.files.staged_folder`

    Returns
    -------
    MergedRuns
        Runs of one judge become one run where their manifests agree on all that shapes a verdict; digests of the cases
        do not count. Other runs keep their id after the name of their source, `NAME-ID`.

    Raises
    ------
    InputError
        A run is damaged, or contains a verdict on an unknown case.

    Notes
    -----
    Validated by tests/verdicts/test_merge.py.
    """
    fingerprint = merged.case_fingerprint()
    found = [run for name, source in sources.items() for run in _runs_of(name, source)]
    ids: dict[tuple[str, str], str] = {}
    verdicts, apart = 0, list[str]()
    # Juries come last: their settings name the runs of their members.
    for juries in (False, True):
        some = [_with_members(run, ids) for run in found if ("runs" in run.manifest.spec) is juries]
        groups = _groups(some)
        first: dict[str, tuple[str, _Run]] = {}
        for group in groups:
            judge = group[0].manifest.judge
            is_one = len(group) > 1 or sum(other[0].manifest.judge == judge for other in groups) == 1
            new = _manifest(group, sources, merged, fingerprint)
            run_id = _run_id(group[0], new, set(ids.values()), is_one=is_one)
            verdicts += _write(runs / run_id, group, sources, replace(new, run_id=run_id))
            ids |= {(run.source, run.folder.name): run_id for run in group}
            other, like = first.setdefault(judge, (run_id, group[0]))
            if other != run_id:
                apart.append(f"{judge}@{run_id} stays apart from {judge}@{other}: {group[0].apart_from(like)}")
    return MergedRuns(verdicts, len(set(ids.values())), tuple(apart))


def count_verdicts(sources: Iterable[Benchmark]) -> tuple[int, int]:
    """How many verdicts the runs of some benchmarks hold outside damaged parts, and how many judges made them."""
    folders = [folder for source in sources for folder in _folders(source)]
    rows = [len(read_run(folder, ["case_id"], without=damaged_parts(folder))) for folder in folders]
    return sum(rows), len({read_manifest(folder).judge for folder in folders})


def _folders(source: Benchmark) -> list[Path]:
    runs = None if source.path is None else source.path / "runs"
    return run_folders(runs) if runs is not None and runs.is_dir() else []


def _runs_of(name: str, source: Benchmark) -> list[_Run]:
    folders = _folders(source)
    fingerprint = source.case_fingerprint() if folders else ""
    runs = []
    for folder in folders:
        manifest = read_manifest(folder)
        seeds = {options.get("seed", 0) for options in manifest.sessions if options.get("probes")}
        runs.append(_Run(name, folder, manifest, _settings(manifest, fingerprint), sorted(seeds)))
    return runs


def _settings(manifest: Manifest, fingerprint: str) -> dict[str, object]:
    """All that shapes a verdict besides the cases; `cases` is empty unless the run judged others than there are now."""
    spec = flattened("spec", manifest.spec)
    training = json.dumps(manifest.provenance, sort_keys=True) if manifest.provenance else ""
    return {
        **{name: value for name, value in spec.items() if name != "spec.items" and not name.endswith(".sha256")},
        "prompt_id": manifest.prompt_id,
        "prompt_hash": manifest.prompt_hash,
        "source": manifest.source,
        "training": hashlib.sha256(training.encode()).hexdigest() if training else "",
        "cases": "" if manifest.benchmark_fingerprint == fingerprint else manifest.benchmark_fingerprint,
    }


def _with_members(run: _Run, ids: Mapping[tuple[str, str], str]) -> _Run:
    """The run of a jury with the new ids of its members' runs; any other run as it is."""
    members = run.manifest.spec.get("runs")
    if not isinstance(members, list):
        return run
    named = [ids.get((run.source, str(member)), member) for member in members]
    manifest = replace(run.manifest, spec={**run.manifest.spec, "runs": named})
    return replace(run, manifest=manifest, settings={**run.settings, "spec.runs": named})


def _groups(runs: Iterable[_Run]) -> list[list[_Run]]:
    """The runs that become one: of one judge with the same settings, at most one per source."""
    by_settings: dict[str, list[list[_Run]]] = {}
    for run in runs:
        alike = by_settings.setdefault(json.dumps([run.manifest.judge, run.settings], sort_keys=True), [])
        group = next((group for group in alike if all(run.joins(other) for other in group)), None)
        if group is None:
            alike.append([run])
        else:
            group.append(run)
    return [group for alike in by_settings.values() for group in alike]


def _manifest(group: Sequence[_Run], sources: Mapping[str, Benchmark], merged: Benchmark, fingerprint: str) -> Manifest:
    """The manifest of the first run; what differs in the others is recorded as sessions of the same run."""
    first, *others = [_without_limits(run.manifest) for run in group]
    sessions = list(first.resumed)
    for other in others:
        differs = {name: getattr(other, name) for name in _SESSION if getattr(other, name) != getattr(first, name)}
        sessions += [{"created": other.created, **differs}] if differs else []
        sessions += other.resumed
    is_current = first.benchmark_fingerprint != "" and group[0].settings["cases"] == ""
    return replace(
        first,
        benchmark=merged.meta.name,
        kind=merged.meta.kind,
        benchmark_fingerprint=fingerprint if is_current else first.benchmark_fingerprint,
        resumed=sessions,
        provenance=after_merge(first.provenance, sources, merged),
    )


def _without_limits(manifest: Manifest) -> Manifest:
    """The manifest without how many cases were asked for: these were the first of a source."""

    def unlimited(options: Mapping[str, object]) -> dict[str, object]:
        return {name: None if name == "limit" else value for name, value in options.items() if name != "cases"}

    resumed = [
        {
            name: unlimited(value) if isinstance(value, Mapping) and name == "options" else value
            for name, value in session.items()
        }
        for session in manifest.resumed
    ]
    return replace(manifest, options=unlimited(manifest.options), resumed=resumed)


def _run_id(run: _Run, new: Manifest, taken: set[str], *, is_one: bool) -> str:
    """The id under which `mrb judge` would go on with the run, or that of its source after the source's name."""
    usual = run_name(new.judge, new.spec, new.prompt_hash, new.benchmark_fingerprint)
    usual = usual if new.benchmark_fingerprint else slug(new.judge)
    return usual if is_one and usual not in taken else slug(f"{run.source}-{run.folder.name}")


def _write(folder: Path, group: Sequence[_Run], sources: Mapping[str, Benchmark], manifest: Manifest) -> int:
    frames = []
    for run in group:
        verdicts = read_run(run.folder)
        check_references(verdicts, sources[run.source].cases, str(run.folder))
        frames.append(verdicts.assign(case_id=f"{run.source}-" + verdicts["case_id"]))
    folder.mkdir(parents=True)
    verdicts = pd.concat(frames, ignore_index=True)
    if len(verdicts):
        append_part(folder, verdicts)
    write_manifest(folder, manifest)
    return len(verdicts)
