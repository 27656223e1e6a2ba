"""The runs of several benchmarks as runs of the merged one: a judge whose settings are the same everywhere is one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.tables.files import slug
from mrb_lib.tables.validation import check_references
from mrb_lib.verdicts.manifest import Manifest, differences, identity, read_manifest, run_name, write_manifest
from mrb_lib.verdicts.parts import damaged_parts
from mrb_lib.verdicts.store import append_part, read_run, run_folders

_SESSION: Final = ("spec", "device", "versions", "git_commit", "options")


@dataclass(frozen=True)
class MergedRuns:
    """The outcome of merging runs.

    Attributes
    ----------
    verdicts, judges : how many there are
    apart : one line per run that stays apart from another run of its judge, and why
    """

    verdicts: int
    judges: int
    apart: tuple[str, ...]


class _Run(NamedTuple):
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
        """Return whether the two become one run, if their settings are the same."""
        seeds = self.probe_seeds, other.probe_seeds
        return self.source != other.source and (not all(seeds) or seeds[0] == seeds[1])


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
            new = _manifest(group, merged, fingerprint)
            run_id = _run_id(group[0], new, set(ids.values()), is_one=is_one)
            verdicts += _write(runs / run_id, group, sources, replace(new, run_id=run_id))
            ids |= {(run.source, run.folder.name): run_id for run in group}
            other, like = first.setdefault(judge, (run_id, group[0]))
            if other != run_id:
                settings = [{**run.settings, "seed of probes": run.probe_seeds} for run in (like, group[0])]
                changes = differences(*settings)
                why = f"{changes} differs" if changes else "both are of one source"
                apart.append(f"{judge}@{run_id} stays apart from {judge}@{other}: {why}")
    return MergedRuns(verdicts, len(set(ids.values())), tuple(apart))


def verdicts_in(source: Benchmark) -> int:
    """Return how many verdicts the runs of a benchmark hold, damaged parts aside."""
    folders = _folders(source)
    return sum(len(read_run(folder, ["case_id"], without=damaged_parts(folder))) for folder in folders)


def _folders(source: Benchmark) -> list[Path]:
    runs = None if source.path is None else source.path / "runs"
    return run_folders(runs) if runs is not None and runs.is_dir() else []


def _runs_of(name: str, source: Benchmark) -> Iterator[_Run]:
    for folder in _folders(source):
        manifest = read_manifest(folder)
        seeds = sorted({options.get("seed", 0) for options in manifest.sessions if options.get("probes")})
        yield _Run(name, folder, manifest, _settings(manifest, source.case_fingerprint()), seeds)


def _settings(manifest: Manifest, fingerprint: str) -> dict[str, object]:
    """Return all that shapes a verdict besides the cases; `cases` is empty unless others were judged than there are."""
    cases = "" if manifest.benchmark_fingerprint == fingerprint else manifest.benchmark_fingerprint
    shaping = identity(manifest.spec, manifest.prompt_hash, cases)
    training = json.dumps(manifest.provenance, sort_keys=True) if manifest.provenance else ""
    return {
        **{name: value for name, value in shaping.items() if name != "spec.items" and not name.endswith(".sha256")},
        "prompt_id": manifest.prompt_id,
        "source": manifest.source,
        "training": hashlib.sha256(training.encode()).hexdigest() if training else "",
    }


def _with_members(run: _Run, ids: Mapping[tuple[str, str], str]) -> _Run:
    """Return the run of a jury with the new ids of its members' runs; any other run as it is."""
    members = run.manifest.spec.get("runs")
    if not isinstance(members, list):
        return run
    named = [ids.get((run.source, str(member)), member) for member in members]
    manifest = replace(run.manifest, spec={**run.manifest.spec, "runs": named})
    return run._replace(manifest=manifest, settings={**run.settings, "spec.runs": named})


def _groups(runs: Iterable[_Run]) -> list[list[_Run]]:
    """Return the runs that become one: of one judge with the same settings, at most one per source."""
    groups: list[list[_Run]] = []
    for run in runs:
        same = (run.manifest.judge, run.settings)
        alike = (group for group in groups if (group[0].manifest.judge, group[0].settings) == same)
        group = next((group for group in alike if all(run.joins(other) for other in group)), None)
        if group is None:
            groups.append([run])
        else:
            group.append(run)
    return groups


def _manifest(group: Sequence[_Run], merged: Benchmark, fingerprint: str) -> Manifest:
    """Return the manifest of the first run; what differs in the others is recorded as sessions of the same run."""
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
    )


def _without_limits(manifest: Manifest) -> Manifest:
    """Return the manifest without how many cases were asked for: these were the first of a source."""

    def unlimited(session: Mapping[str, Any]) -> Mapping[str, Any]:
        options = session.get("options")
        if not isinstance(options, Mapping):
            return session
        kept = {name: None if name == "limit" else value for name, value in options.items() if name != "cases"}
        return {**session, "options": kept}

    return replace(manifest, **unlimited({"options": manifest.options}), resumed=[*map(unlimited, manifest.resumed)])


def _run_id(run: _Run, new: Manifest, taken: set[str], *, is_one: bool) -> str:
    """Return the id under which `mrb judge` would go on with the run, or that of its source after the source's name."""
    usual = run_name(new.judge, new.spec, new.prompt_hash, new.benchmark_fingerprint)
    usual = usual if new.benchmark_fingerprint else slug(new.judge)
    return usual if is_one and usual not in taken else slug(f"{run.source}-{run.folder.name}")


def _write(folder: Path, group: Sequence[_Run], sources: Mapping[str, Benchmark], manifest: Manifest) -> int:
    frames = [read_run(run.folder) for run in group]
    for run, frame in zip(group, frames, strict=True):
        check_references(frame, sources[run.source].cases, str(run.folder))
        frame["case_id"] = f"{run.source}-" + frame["case_id"]
    folder.mkdir(parents=True)
    verdicts = pd.concat(frames, ignore_index=True)
    if len(verdicts):
        append_part(folder, verdicts)
    write_manifest(folder, manifest)
    return len(verdicts)
