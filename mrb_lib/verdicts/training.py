"""The cases of a benchmark that judges have seen in training, by the records of `mrb train` and of exported rows.

A record is the `training.json` beside a judge's weights, or the `rows.toml` of exported rows that it learned from
elsewhere; the manifest of each of its runs holds it. Cases are known again by the digest of their content, so that
merging and renaming hide none.
"""

import hashlib
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.case_digests import case_digests
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import Manifest

_DICTS: Final = ("recipe", "settings")
_CURVE: Final = ("step", "epoch", "loss", "accuracy", "consistency", "seconds")
_RECORD_COLUMNS: Final = (
    "judge", "bases", "base_revision", "benchmark", "benchmark_kind", "method", "engine", "warm_up", "left_out_column",
    "left_out", "n_cases", *_DICTS,
)  # fmt: skip
_HELD_BACK: Final = ("validation", "test")
# What a manifest keeps of a `rows.toml`.
_OF_ROWS: Final = ("benchmark", "cases", "digests", "cases_digest")
# By rank: a case that was used in several ways is of the last.
_LISTS: Final = {"related": "related_digests", "validation": "validation_digests", "training": "digests"}


def records_of(provenance: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the training record of a judge and those of the judges it was continued from, the latest first.

    Parameters
    ----------
    provenance : as in a run's manifest: `training` is the record
    """
    records: list[Mapping[str, object]] = []
    record = provenance.get("training")
    while isinstance(record, Mapping):
        records.append(record)
        record = record.get("started_from")
    return records


def read_record(path: Path) -> dict[str, object]:
    """Return the record in a `rows.toml`, which `mrb export` writes beside rows to train on, or in a `training.json`.

    Raises
    ------
    InputError
        The file cannot be read, has no digests of cases, or was changed.
    """
    try:
        text = path.read_text(encoding="utf-8")
        record: object = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is no training record ({error}); name a rows.toml or a training.json.") from error
    digests = record.get("digests") if isinstance(record, dict) else None
    if not isinstance(record, dict) or not isinstance(digests, list) or not digests:
        raise InputError(
            f"{path}: has no digests of the cases trained on; name the rows.toml that `mrb export sft|dpo|reward` "
            "wrote, or a training.json of `mrb train`."
        )
    kept = record if path.suffix != ".toml" else {name: record[name] for name in _OF_ROWS if name in record}
    kept = {"method": record.get("format"), "cases_digest": cases_digest(digests), **kept}
    if not _is_sound(kept):
        raise InputError(f"{path}: was changed: its cases_digest does not fit its digests; restore the file.")
    return kept


def with_record(training: object, record: Mapping[str, object]) -> dict[str, object]:
    """Return a training record with another as the earliest step before it, unless it is among the steps already."""
    if not isinstance(training, Mapping):
        return dict(record)
    if training.get("cases_digest") == record["cases_digest"]:
        return dict(training)
    return {**training, "started_from": with_record(training.get("started_from"), record)}


def seen_notice(records: Iterable[Mapping[str, object]], benchmark: Benchmark) -> list[str]:
    """Return a line on how many cases of a benchmark are in training records; none without a record."""
    used = {str(digest) for record in records for digest in _list(record.get("digests"))}
    if not used:
        return []
    n_seen = int(case_digests(benchmark).isin(used).sum())
    return [f"{n_seen:,} of {len(benchmark.cases):,} cases are in its training data, and no table scores these"]


def cases_digest(digests: Iterable[object]) -> str:
    """Return one digest of the content digests of cases, whatever their order."""
    return hashlib.sha256("\n".join(sorted(map(str, digests))).encode()).hexdigest()


def _is_sound(record: Mapping[str, object]) -> bool:
    """Return whether the lists of a record are as they were written."""
    digests, cases = _list(record.get("digests")), record.get("cases")
    return record.get("cases_digest") == cases_digest(digests) and len(_list(cases)) == len(digests)


def _dict(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def training_cases(manifests: Iterable[Manifest], benchmark: Benchmark) -> pd.DataFrame:
    """Return the cases of a benchmark that judges were trained on or could know: none of these may be scored.

    Parameters
    ----------
    manifests : of the runs. A jury has seen what its members have, where their runs are among these
    benchmark : whose cases are looked for, by the digests of their content

    Returns
    -------
    DataFrame
        `judge` (also as `judge@run`), `case_id` and `use`: "training"; "validation" for cases by which early stopping
        chose; "related" for the others of the training part, which may share a cluster with cases trained on. A case
        of several uses has the first. A row with a null case says that there is a record, which names none of these
        cases. A judge without a record is not there.

    Raises
    ------
    InputError
        A record was changed by hand, or a judge was trained on cases that the split of the benchmark keeps for
        validation or test.

    Notes
    -----
    Images are read only where there is a record. Validated by tests/verdicts/test_training.py.
    """
    runs = list(manifests)
    digests = cache(partial(case_digests, benchmark))  # images are read only where there is a record
    known = {run.run_id: _known(run, digests, benchmark) for run in runs if _listing(run)}
    for run in runs:
        members = [known[str(name)] for name in _list(run.spec.get("runs")) if str(name) in known]
        if members:
            pairs = [pair for uses in members for pair in uses.items()]
            known[run.run_id] = {case: use for rank in _LISTS for case, use in pairs if use == rank}
    rows: list[tuple[str, str | None, str | None]] = []
    for run in runs:
        if run.run_id in known:
            for name in _names(run):
                rows += [(name, case, use) for case, use in known[run.run_id].items()] or [(name, None, None)]
    return pd.DataFrame(rows, columns=["judge", "case_id", "use"], dtype="str").drop_duplicates(ignore_index=True)


def training_records(manifests: Iterable[Manifest]) -> pd.DataFrame:
    """Return how judges were trained, as far as the runs' manifests say.

    Returns
    -------
    DataFrame
        One row a judge with a record (also as `judge@run`): `judge`; `bases`, the judges among these runs whose weights
        it was trained further from, step by step back to the first (tuple of names, `judge` and `judge@run` both);
        `base_revision`, of the first weights; `benchmark`, `benchmark_kind`, `method`, `engine`; `warm_up`, the methods
        of the steps before, the latest first; `left_out_column` and `left_out`, what it was not shown, null where that
        is nothing; `n_cases`, how many cases it was trained on in its last step; `recipe` and `settings`, as
        `mrb train` wrote them (dict).

    Notes
    -----
    Weights are known again by `base_revision`, which is the digest of a folder or a commit on the Hub, and by the
    record of the judge that it was continued from. Of several runs of the base those by the engine that asks the tuned
    judge are taken; where there are none and that engine is "reward", which a base has no head for, those of "packed";
    else all.
    """
    runs = list(manifests)
    rows = []
    for run in runs:
        records = records_of(run.provenance)
        if not records:
            continue
        latest = records[0]
        named, left_out = (_dict(latest.get(name)) for name in ("benchmark", "left_out"))
        column, value = next(iter(left_out.items()), (None, None))
        row = {
            "bases": tuple(name for record in records for name in _bases(run, record, runs)),
            "base_revision": records[-1].get("base_revision"),
            "benchmark": named.get("name"),
            "benchmark_kind": named.get("kind"),
            "method": latest.get("method"),
            "engine": latest.get("engine"),
            "warm_up": ", ".join(str(record.get("method")) for record in records[1:]) or None,
            "left_out_column": column,
            "left_out": value,
            "n_cases": len(_list(latest["cases"])) if "cases" in latest else None,
            **{name: _dict(latest.get(name)) for name in _DICTS},
        }
        rows += [{"judge": name, **row} for name in _names(run)]
    frame = pd.DataFrame(rows, columns=list(_RECORD_COLUMNS)).drop_duplicates("judge", keep=False, ignore_index=True)
    texts = [name for name in _RECORD_COLUMNS if name not in ("bases", "n_cases", *_DICTS)]
    return frame.astype({**dict.fromkeys(texts, "str"), "n_cases": "Int64"})


def training_curves(manifests: Iterable[Manifest]) -> pd.DataFrame:
    """Return the curves of training, one row per step: `judge`, `stage` (0 the first), and the columns of `curve`."""
    rows = []
    for run in manifests:
        for stage, record in enumerate(reversed(records_of(run.provenance))):
            points = [point for point in _list(record.get("curve")) if isinstance(point, Mapping)]
            rows += [{"judge": run.judge, "stage": stage, **point} for point in points]
    frame = pd.DataFrame(rows, columns=["judge", "stage", *_CURVE]).astype({"judge": "str", "stage": "int64"})
    return frame.astype(dict.fromkeys(_CURVE, "float64")).drop_duplicates(ignore_index=True)


def _names(run: Manifest) -> tuple[str, str]:
    """Return the names that the judge of a run may have among verdicts."""
    return run.judge, run.name_of_run


def _bases(tuned: Manifest, record: Mapping[str, object], runs: list[Manifest]) -> list[str]:
    """Return the judges whose weights one step of a judge's training started from."""
    revision, before = record.get("base_revision"), record.get("started_from")
    others = [run for run in runs if run is not tuned]
    same = [run for run in others if revision and run.spec.get("revision") == revision]
    same += [run for run in others if before and run not in same and run.provenance.get("training") == before]
    engine = tuned.spec.get("engine")
    by_engine = [run for run in same if run.spec.get("engine") == engine]
    packed = [run for run in same if run.spec.get("engine") == "packed"] if engine == "reward" else []
    return [name for run in by_engine or packed or same for name in _names(run)]


def mark_seen(verdicts: pd.DataFrame, training: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts with a column `seen`: whether the judge may know the case; unchanged where none does.

    What lays verdicts out (`mrb_lib.stats.panel.panels`) keeps such a verdict out of every score.

    Parameters
    ----------
    verdicts : `judge`, `case_id`, and more
    training : see `training_cases`
    """
    seen = pd.Series(False, index=verdicts.index)
    for judge, cases in training.dropna(subset="case_id").groupby("judge")["case_id"]:
        seen |= (verdicts["judge"] == judge) & verdicts["case_id"].isin(cases)
    return verdicts.assign(seen=seen) if seen.any() else verdicts


def seen_notes(training: pd.DataFrame, judges: Iterable[str], n_cases: int) -> list[str]:
    """Return a line per judge on the cases left out of every quantity because it has seen them; empty for none.

    Parameters
    ----------
    training : see `training_cases`
    judges : as in the verdicts
    n_cases : of the benchmark
    """
    known = training.dropna(subset="case_id")
    notes = []
    for judge in judges:
        own = known[known["judge"] == judge]
        every, learnt = own["case_id"].nunique(), own.loc[own["use"] == "training", "case_id"].nunique()
        others = f", and {every - learnt:,} more are validation cases or related" if every > learnt else ""
        if every:
            notes.append(f"{judge}: {every:,} of {n_cases:,} cases are left out: {learnt:,} were trained on{others}")
    return notes


def _listing(run: Manifest) -> list[Mapping[str, object]]:
    """Return the training records of a run's judge that list cases."""
    return [record for record in records_of(run.provenance) if {"cases", "digests"} & record.keys()]


def _known(run: Manifest, digests: Callable[[], pd.Series], benchmark: Benchmark) -> dict[str, str]:
    """Return the use of each case in the training of a run's judge.

    Raises
    ------
    InputError
        The lists of a record are not as they were written, or the split keeps a case trained on for validation or test.
    """
    uses: dict[str, str] = {}
    for record in _listing(run):
        if not _is_sound(record):
            raise InputError(
                f"run {run.run_id}: the training record of judge {run.judge} was changed: its cases_digest does not "
                f"fit its {len(_list(record.get('digests'))):,} digests; restore training.json as `mrb train` wrote "
                "it, and judge again."
            )
    for use, name in _LISTS.items():
        listed = {str(digest) for record in _listing(run) for digest in _list(record.get(name))}
        uses |= dict.fromkeys(digests().index[digests().isin(listed)] if listed else (), use)
    held = benchmark.cases[benchmark.cases["case_id"].map(uses).eq("training")]
    leaked = held[held["split"].isin(_HELD_BACK)] if "split" in held else held.head(0)
    if len(leaked):
        first = leaked.iloc[0]
        raise InputError(
            f"run {run.run_id}: judge {run.judge} was trained on {len(leaked):,} cases that the split of "
            f"{benchmark.meta.name} keeps for validation or test, first {first['case_id']} ({first['split']}); train "
            "it again on this split with `mrb train`, or move the run out of the folder of runs."
        )
    return uses
