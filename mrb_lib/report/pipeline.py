"""The report: every notebook run headless, what changed only, and the static site of what they published."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.judges.roster.group_file import read_group_file
from mrb_lib.judges.roster.groups import judge_groups
from mrb_lib.report.clean import FolderNames
from mrb_lib.report.compared import PARAMETER as COMPARED_BY
from mrb_lib.report.compared import compared_with, compares, keep_basis, with_comparison
from mrb_lib.report.execute import NotebookFailure, Task, Value, parameters_of
from mrb_lib.report.html import pdf as printed
from mrb_lib.report.html.assemble import assemble
from mrb_lib.report.html.case_pages import CaseSource
from mrb_lib.report.lab import own_notebooks
from mrb_lib.report.places import locate
from mrb_lib.report.provenance import Provenance, provenance
from mrb_lib.report.records import CACHE, PageRecord, install, read_record
from mrb_lib.report.workers import Finished, run_notebooks
from mrb_lib.review.records.reviewed import stamp
from mrb_lib.stats.analysis import ADJUDICATED
from mrb_lib.stats.where import asks_for_reviews
from mrb_lib.tables.errors import InputError, RunError, nearest
from mrb_lib.tables.files import sha256_of
from mrb_lib.tables.schema import POLICIES
from mrb_lib.verdicts.basis import IN_REPORT
from mrb_lib.verdicts.manifest import git_commit, now, read_manifest
from mrb_lib.verdicts.store import load_verdicts, run_folders
from mrb_lib.verdicts.training import training_cases

DEFAULT_DIMENSION = "overall"
_MARK = "CACHEDIR.TAG"
_GROUPS, _WORK = "groups", "work"  # parameters that name a file or folder
_MARK_TEXT = """Signature: 8a477f597d28d172789f06886806bc55
# What `mrb report` needs to skip unchanged notebooks, and to compare reports.
"""
DEFAULT_CASES = 12
KEEP_RUNS = "keep_runs"
"""The parameter of a notebook that judges, and keeps what it made there."""
_WORKS_WITH_MODELS = (b"study.judge(", b".with_probes(")
# Parameters that the report sets itself.
_PLACES = {
    "benchmark": "name it as the first argument",
    "runs": "name it as the second argument",
    "out": "name the folder of the site (--out)",
    COMPARED_BY: "name what to compare with (--compare)",
}
_ELSEWHERE = _PLACES | {
    "dimension": "it has an argument of its own",
    "policy": "it has an argument of its own",
    "seed": "it has an argument of its own",
}

OPTIONS: Final[Mapping[str, Value]] = {
    "judges": "", "by": "", "where": "", "gold": "majority", "cluster": "", "resamples": 2000, "groups": "",
}  # fmt: skip
"""The options of `mrb_lib.open` that `mrb report -p` sets for all notebooks, with a value of their type."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class ReportResult:
    """What became of a report.

    Attributes
    ----------
    executed : the notebooks that ran to their end, by name
    skipped : those that had not changed
    failed : those that did not run to their end, and why
    index : the page to open
    pdf : the report as one PDF; None where it was not asked for
    """

    executed: tuple[str, ...]
    skipped: tuple[str, ...]
    failed: tuple[NotebookFailure, ...]
    index: Path
    pdf: Path | None = None


def report(
    benchmark: str | Path,
    runs: str | Path | None,
    out: str | Path,
    *,
    figures: str | Path | None = None,
    notebooks: Path | None = None,
    only: Sequence[str] = (),
    policy: str = "balanced",
    dimension: str = DEFAULT_DIMENSION,
    seed: int = 0,
    parameters: Mapping[str, str] | None = None,
    compare: str | Path | None = None,
    jobs: int = 2,
    cases: int = DEFAULT_CASES,
    pdf: bool = False,
    force: bool = False,
    progress: Say | None = None,
) -> ReportResult:
    """Run the notebooks that changed, and write figures, tables and the static site.

    A notebook is run again when anything it is made from has changed: its own source,
    the library, the benchmark, the runs, a parameter or a library's version; or when a
    file it published is missing or altered; or when it failed. One that fails does not
    stop the others, and shows nothing but its failure.

    Parameters
    ----------
    benchmark : a benchmark folder, or "demo" for the embedded one
    runs : a folder of runs; None for `runs` inside the benchmark, or none at all
    out : the folder of the site; new, empty, or one that an earlier report wrote
    figures : a folder that is to hold the same figures and tables as well; only files
        that an earlier report put there are replaced or removed
    notebooks : the folder of notebooks; None for the library's own
    only : the notebooks to run, by name; those of others that an earlier report left stay as they are. Empty runs all
    policy, dimension, seed : given to every notebook
    parameters : others, as text, given to the notebooks that take them, in the type of the notebook's own value
    compare : an earlier report, another benchmark, or other runs of this one, for a page of what changed; None makes
        none
    jobs : notebooks at a time
    cases : how many failures have a page of their own, at most
    pdf : also print it all as `report.pdf`, which takes a Chromium on this machine; one that an earlier
        report printed is removed where it is not asked for
    force : run every notebook, changed or not
    progress : told, a line at a time, what happens

    Raises
    ------
    InputError
        The benchmark, the runs or an option is wrong, or nothing can print; nothing was written.
    RunError
        Another report is being written to the same folder, or printing failed.

    Notes
    -----
    Validated by tests/report/test_pipeline.py and tests/report/test_rebuild.py.
    """
    say = progress or (lambda line: None)
    folders = locate(str(benchmark), "" if runs is None else str(runs), progress=say)
    given, kept = _with_kept_runs(parameters or {}, folders.runs, Path(out))
    sources = with_comparison(_sources(notebooks or own_notebooks()), compare)
    chosen = _chosen(sources, only)
    if only and figures is not None:
        raise InputError("only and figures: the copy of the figures would lose those of all other notebooks; use one.")
    files = {name: Path(given[name]).absolute() for name in (_GROUPS, _WORK) if given.get(name)}
    made_from = _checked(
        folders.benchmark, folders.runs, policy=policy, dimension=dimension, seed=seed, jobs=jobs, cases=cases,
        parameters={name: kept.get(Path(value), value) for name, value in given.items()}
        | {name: file.name for name, file in files.items()},
    )  # fmt: skip
    compared = compared_with(compare, folders, Path(out))
    _check_files(files, folders.runs)
    given.update({name: str(file) for name, file in files.items()})
    shared: dict[str, Value] = {"benchmark": str(folders.benchmark.absolute())}
    if dimension != DEFAULT_DIMENSION:  # a notebook takes "overall", or the first dimension, by itself
        shared["dimension"] = dimension
    options: dict[str, Value] = {
        "runs": "" if folders.runs is None else str(folders.runs.absolute()),
        "policy": policy,
        "seed": seed,
        **{name: _as_type(name, value, OPTIONS[name]) for name, value in given.items() if name in OPTIONS},
    }
    parameters_of_notebook = {}
    for path, own in zip(chosen, _typed(chosen, given), strict=True):
        taken = _taken_by(path)
        every = {**shared, **own, **(compared.parameters if compares(path) else {})}
        parameters_of_notebook[path.stem] = {name: value for name, value in every.items() if name in taken}
    source = CaseSource(folders.benchmark, folders.runs, dimension, policy, cases)
    program = printed.browser() if pdf else ""
    out, mirror = Path(out).absolute(), None if figures is None else Path(figures).absolute()
    _refuse_foreign(out)
    keys = {
        path.stem: _key(
            path, made_from, options | parameters_of_notebook[path.stem], folders.benchmark, compared.fingerprint
        )
        for path in chosen
    }
    records = {} if force else _current(out, keys)
    others = [path.stem for path in sources if path not in chosen]
    records |= {name: record for name in others if (record := read_record(out, name)) and record.is_whole(out)}
    todo = sorted((path for path in chosen if path.stem not in records), key=_expected_work, reverse=True)
    if todo:
        _validate(folders.benchmark, folders.runs)
    with _held(out):
        places = _folder_names(folders.benchmark, folders.runs, out, sources) | compared.folders | kept
        names = FolderNames({**places, **{file: file.name for file in files.values()}})
        if todo or not (out / IN_REPORT).is_dir():
            keep_basis(folders, out)
        tasks = {name: {"parameters": own, "options": options} for name, own in parameters_of_notebook.items()}
        for record in _run(todo, out, tasks, keys, dict(records), names, jobs, say):
            records[record.notebook] = record
        ordered = [records[path.stem] for path in sources if path.stem in records]
        assemble(out, ordered, made_from, source, mirror=mirror, program=program)
    ran = {path.stem for path in todo}
    return ReportResult(
        executed=tuple(r.notebook for r in ordered if r.notebook in ran and r.failure is None),
        skipped=tuple(r.notebook for r in ordered if r.notebook not in ran),
        failed=tuple(r.failure for r in ordered if r.failure is not None),
        index=out / "index.html",
        pdf=out / printed.NAME if pdf else None,
    )


def _with_kept_runs(
    parameters: Mapping[str, str], runs: Path | None, out: Path
) -> tuple[dict[str, str], dict[Path, str]]:
    """The parameters with the folder in which verdicts are kept named in full, and the name to show for it.

    Raises
    ------
    InputError
        It is one that the report is made from or written to, which is not to change while notebooks read it.
    """
    if not parameters.get(KEEP_RUNS):
        return dict(parameters), {}
    folder = Path(parameters[KEEP_RUNS]).resolve()
    if folder == out.resolve() or out.resolve() in folder.parents or (runs is not None and folder == runs.resolve()):
        raise InputError(
            f"parameter {KEEP_RUNS}: {parameters[KEEP_RUNS]} is read or written by the report; name another folder."
        )
    return {**parameters, KEEP_RUNS: str(folder)}, {folder: folder.name}


def _sources(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder of notebooks; install the package again.")
    notebooks = sorted(path.absolute() for path in folder.glob("*.ipynb") if not path.name.startswith("."))
    if not notebooks:
        raise InputError(f"{folder}: holds no notebook; add one, or name another folder.")
    return notebooks


def _expected_work(notebook: Path) -> tuple[bool, int]:
    """What takes longest comes first, so that no process works on it alone at the end: models, then many figures."""
    source = notebook.read_bytes()
    return any(name in source for name in _WORKS_WITH_MODELS), source.count(b".plot(") + source.count(b"w.figure(")


def _chosen(sources: Sequence[Path], only: Sequence[str]) -> list[Path]:
    names = [path.stem for path in sources]
    wanted = [name.removesuffix(".ipynb") for name in only]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise InputError(f"only {unknown[0]!r}: there is no such notebook; use some of {', '.join(names)}.")
    return [path for path in sources if not wanted or path.stem in wanted or compares(path)]


def _typed(sources: Sequence[Path], parameters: Mapping[str, str]) -> list[dict[str, Value]]:
    """Of each notebook those parameters that it takes, in the type of its own value.

    Raises
    ------
    InputError
        None of the notebooks takes one, or its value is not of the type.
    """
    if not parameters:
        return [{} for _ in sources]
    taken = [_taken_by(path) for path in sources]
    for name in parameters:
        if name in _ELSEWHERE:
            raise InputError(f"parameter {name}: is not set so; {_ELSEWHERE[name]}.")
        if name not in OPTIONS and not any(name in own for own in taken):
            known = [
                *OPTIONS,
                *dict.fromkeys(each for own in taken for each in own if each not in {*_PLACES, *OPTIONS}),
            ]
            said = f"no notebook that is run takes it; they take {', '.join(known)}.{nearest(name, known)}"
            raise InputError(f"parameter {name!r}: {said}")
    return [
        {name: _as_type(name, value, own[name]) for name, value in parameters.items() if name in own} for own in taken
    ]


def _taken_by(notebook: Path) -> dict[str, object]:
    """The parameters of a notebook; none of one that cannot be read, which fails when it is run."""
    try:
        return parameters_of(notebook)
    except InputError:
        return {}


def _as_type(name: str, value: str, default: object) -> Value:
    if not isinstance(default, int | float):
        return value
    try:
        return type(default)(value)
    except ValueError as error:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise InputError(f"parameter {name}: {value!r} is not {kind}, as {default!r} is.") from error


def _checked(
    benchmark: Path, runs: Path | None, *, policy: str, dimension: str, seed: int, jobs: int, cases: int,
    parameters: Mapping[str, str],
) -> Provenance:  # fmt: skip
    if policy not in POLICIES:
        raise InputError(f"policy {policy!r} is unknown; use one of {', '.join(POLICIES)}.")
    if jobs < 1:
        raise InputError(f"jobs {jobs}: at least 1 is needed.")
    if cases < 0:
        raise InputError(f"cases {cases}: use 0 for none, or a larger whole number.")
    if seed < 0:
        raise InputError(f"seed {seed}: use 0 or a larger whole number.")
    made_from = provenance(benchmark, runs, policy=policy, dimension=dimension, seed=seed, parameters=parameters)
    dimensions = made_from.benchmark.dimensions
    # The default has to work on a benchmark that has no such dimension; a name that was typed has to be right.
    if dimension not in dimensions and dimension != DEFAULT_DIMENSION:
        raise InputError(f"dimension {dimension!r} is not in the benchmark; use one of {', '.join(dimensions)}.")
    return made_from


def _check_files(files: Mapping[str, Path], runs: Path | None) -> None:
    """Raise `InputError` for groups that are wrong or name no judge of the runs, or a work folder without a funnel."""
    if _GROUPS in files:
        manifests = [read_manifest(folder) for folder in run_folders(runs)] if runs is not None else []
        stated = read_group_file(files[_GROUPS])
        judge_groups([manifest.judge for manifest in manifests], manifests, override=stated)
    if _WORK in files:
        from mrb_lib.build.construct.work import open_work  # few reports need it

        if open_work(files[_WORK]).funnel().empty:
            raise InputError(f"{files[_WORK]}: no step of `mrb construct` is finished there; name another work folder.")


def _refuse_foreign(out: Path) -> None:
    """Keep away from a folder that holds anything but a report: files in it would be replaced and removed."""
    if out.is_file():
        raise InputError(f"{out}: is a file; name a folder.")
    if out.is_dir() and any(out.iterdir()) and not (out / CACHE / _MARK).is_file():
        raise InputError(f"{out}: holds something else; name a new folder, or one that an earlier report wrote.")


def _key(
    source: Path, made_from: Provenance, parameters: Mapping[str, Value], benchmark: Path, compared: str = ""
) -> str:
    """What a notebook is made from; where it shows or asks for them, what reviewers said or the other side, too."""
    content = source.read_bytes()
    own = {name: value for name, value in parameters.items() if name not in ("benchmark", "runs", COMPARED_BY)}
    everything = {"notebook": hashlib.sha256(content).hexdigest(), **made_from.key(), "parameters": own}
    for name, file in ((_GROUPS, ""), (_WORK, "funnel.parquet")):
        if own.get(name):
            everything[name] = sha256_of(Path(str(own[name])) / file)
    if b"adjudication" in content or own.get("gold") == ADJUDICATED or asks_for_reviews(str(own.get("where", ""))):
        everything["reviews"] = stamp(load(benchmark))
    if compares(source):
        everything["compared"] = compared
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()


def _current(out: Path, keys: Mapping[str, str]) -> dict[str, PageRecord]:
    records = {name: read_record(out, name) for name in keys}
    return {name: record for name, record in records.items() if record and record.is_current(keys[name], out)}


def _validate(benchmark: Path, runs: Path | None) -> None:
    """Read everything once, so that bad input is said once instead of by every notebook."""
    loaded = load(benchmark)
    if runs is not None:
        load_verdicts(runs, loaded.cases)
        training_cases([read_manifest(folder) for folder in run_folders(runs)], loaded)


@contextmanager
def _held(out: Path) -> Iterator[None]:
    """Hold the report for writing; a second process is refused."""
    try:
        (out / CACHE).mkdir(parents=True, exist_ok=True)
        lock = FileLock(out / CACHE / ".lock", timeout=0).acquire()
    except Timeout as error:
        raise RunError(f"{out}: another report is being written there; wait for it or stop it.") from error
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}); name a folder you may write to.") from error
    with lock:
        if not (out / CACHE / _MARK).is_file():
            (out / CACHE / _MARK).write_text(_MARK_TEXT, encoding="utf-8")
        yield


def _folder_names(benchmark: Path, runs: Path | None, out: Path, sources: Sequence[Path]) -> dict[Path, str]:
    """How the folders are called in what is published; where a notebook worked stands for where its files end up."""
    folders = {benchmark: benchmark.absolute().name, out: out.name}
    folders |= {_work(out) / source.stem: out.name for source in sources}
    return folders if runs is None else {**folders, runs: runs.absolute().name}


def _run(
    sources: Sequence[Path],
    out: Path,
    tasks: Mapping[str, Task],
    keys: Mapping[str, str],
    kept: Mapping[str, PageRecord],
    names: FolderNames,
    jobs: int,
    say: Say,
) -> Iterator[PageRecord]:
    """Run notebooks and put what each published in its place as soon as it is done."""
    work = _work(out)
    if work.exists():  # an earlier report was killed
        shutil.rmtree(work)
    if not sources:
        return
    taken = {file: record.notebook for record in kept.values() for file in record.files}
    commit = git_commit()
    try:
        say(f"Running {len(sources)} notebooks, {min(jobs, len(sources))} at a time ...")
        for done in run_notebooks(sources, work, tasks, jobs):
            record = _record(done, keys[done.notebook.stem], commit, names)
            record = install(out, done.folder, record, names, taken)
            taken.update(dict.fromkeys(record.files, record.notebook))
            verdict = "done" if record.failure is None else f"FAILED: {record.failure.error}"
            say(f"{record.notebook}: {verdict} ({record.seconds:.1f} s)")
            yield record
    finally:
        shutil.rmtree(work)


def _work(out: Path) -> Path:
    return out / CACHE / "work"


def _record(done: Finished, key: str, commit: str, names: FolderNames) -> PageRecord:
    failure = done.failure
    if failure is not None:
        failure = replace(failure, source=names.text(failure.source), value=names.message(failure.value))
    return PageRecord(
        notebook=done.notebook.stem, key=key, made=now(), commit=commit, seconds=round(done.seconds, 1), failure=failure
    )
