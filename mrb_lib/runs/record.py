"""The manifest of a run: written when the run starts, and extended when it is resumed in another way."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from mrb_lib.judges.settings import Settings
from mrb_lib.runs.plan import Plan
from mrb_lib.tables.errors import InputError, without_secrets
from mrb_lib.tables.schema import NO_PROBE, ORDERS
from mrb_lib.verdicts.manifest import FILE_NAME, Manifest, read_manifest, write_manifest
from mrb_lib.verdicts.parts import sync_folder
from mrb_lib.verdicts.training import with_record

# What the benchmark says, where it shapes a verdict, and what the manifest's provenance holds.
_ELSEWHERE = ("task", "is_ordered", "definitions", "items", "labels", "shown", "trained_on")
_SESSION = ("device", "versions", "git_commit", "options")


def run_options(plan: Plan, limit: int | None, settings: Settings) -> dict[str, object]:
    """Return the options of a run; settings that the user left open are left out.

    Parameters
    ----------
    limit : of cases, as the user gave it
    """
    chosen = {field.name: getattr(settings, field.name) for field in fields(settings) if field.name not in _ELSEWHERE}
    chosen |= {name: without_secrets(str(chosen[name])) for name in ("url", "proxy") if chosen[name] is not None}
    # The text of a prompt is in the manifest; where a file lies is nobody else's business.
    chosen |= {name: Path(str(chosen[name])).name for name in ("ca_file", "prompt") if chosen[name] is not None}
    probed: dict[str, object] = {}
    if plan.probing is not None:
        files = {name: one.sha256 for name, one in plan.probing.files.items()}
        probed = {"probes": list(plan.probes), "cases": len(plan.cases), **({"probe_files": files} if files else {})}
    return {
        **{name: value for name, value in chosen.items() if value is not None},
        "orders": list(plan.orders),
        "repeats": plan.repeats,
        "limit": limit,
        "dimensions": list(plan.dimensions),
        **probed,
    }


def check_covers(folder: Path, plan: Plan, n_cases: int, damaged: Mapping[Path, str]) -> None:
    """Raise `InputError` unless a plan asks for all that a run with damaged parts was asked for.

    What a damaged part held cannot be known: were less made again, verdicts would be missing without a word.

    Parameters
    ----------
    n_cases : of the whole benchmark that may be judged
    damaged : see `mrb_lib.verdicts.parts.damaged_parts`
    """
    if not damaged or not (folder / FILE_NAME).is_file():
        return
    manifest = read_manifest(folder)
    sessions = manifest.sessions
    cases = max(min(options.get("cases") or options.get("limit") or n_cases, n_cases) for options in sessions)
    repeats = max(options.get("repeats", 1) for options in sessions)
    usual = {"orders": ORDERS, "dimensions": (), "probes": ()}
    asked = {name: {one for options in sessions for one in options.get(name, usual[name])} for name in usual}
    is_less = any(asked[name] - set(getattr(plan, name)) for name in usual)
    if cases <= len(plan.cases) and repeats <= plan.repeats and not is_less:
        return
    path, reason = next(iter(damaged.items()))
    probes = sorted(asked["probes"] - {NO_PROBE})
    raise InputError(
        f"{path}: is truncated or damaged ({reason}), and this command does not ask for all that its run was to hold; "
        f"ask for {cases} cases, --orders {','.join(sorted(asked['orders']))} --repeats {repeats} on "
        f"{', '.join(sorted(asked['dimensions']))}{' with the probes ' * bool(probes)}{', '.join(probes)}, which makes "
        "its verdicts again, or remove the file."
    )


def check_probes(folder: Path, plan: Plan, seed: int) -> None:
    """Raise `InputError` where verdicts of a run are about other cases than those that the plan's probes make.

    Its probes were drawn with another seed, or a file of changed texts has been edited since.
    """
    if plan.probing is None or not (folder / FILE_NAME).is_file():
        return
    manifest = read_manifest(folder)
    seeds = {options.get("seed", 0) for options in manifest.sessions if options.get("probes")}
    if seeds - {seed}:
        raise InputError(
            f"{folder}: its probes were drawn with --seed {min(seeds - {seed})}; use that seed, or another RUNS."
        )
    for name, one in plan.probing.files.items():
        for sha256 in sorted(manifest.probe_files(name) - {one.sha256}):
            raise InputError(
                f"{folder}: its probe {name} was a file of SHA-256 {sha256[:12]!r}..., which is now "
                f"{one.sha256[:12]!r}...; restore that file, give this one another name, or use another RUNS."
            )


def with_records(provenance: Mapping[str, object], records: Sequence[Mapping[str, object]]) -> Mapping[str, object]:
    """Return the provenance of a judge with further training records."""
    for one in records:
        provenance = {**provenance, "training": with_record(provenance.get("training"), one)}
    return provenance


def mark_trained_on(folder: Path, records: Sequence[Mapping[str, object]]) -> None:
    """Add training records to the manifest of a run, where it lacks one."""
    old = read_manifest(folder)
    new = replace(old, provenance=with_records(old.provenance, records))
    if new != old:
        write_manifest(folder, new)


def record(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a new run; to that of an older one, add what is different about this session.

    A session like the first, or like the one before, adds nothing.
    """
    if not (folder / FILE_NAME).is_file():
        write_manifest(folder, manifest)
        sync_folder(folder.parent)
        return
    old = read_manifest(folder)
    session = {name: getattr(manifest, name) for name in _SESSION if getattr(manifest, name) != getattr(old, name)}
    sessions = [{name: value for name, value in other.items() if name != "created"} for other in old.resumed]
    if session and session not in sessions:
        write_manifest(folder, replace(old, resumed=[*old.resumed, {"created": manifest.created, **session}]))
