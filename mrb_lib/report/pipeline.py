"""The report: every notebook run headless, what changed only, and the static site of what they published."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

from filelock import FileLock, Timeout

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.report.clean import FolderNames
from mrb_lib.report.html.assemble import assemble
from mrb_lib.report.lab import Task, Value, notebooks_in, parameters_of
from mrb_lib.report.places import locate
from mrb_lib.report.provenance import Provenance, provenance
from mrb_lib.report.records import CACHE, NotebookFailure, PageRecord, install, read_record
from mrb_lib.review.records.reviewed import stamp
from mrb_lib.stats.analysis import ADJUDICATED
from mrb_lib.stats.options import check_choice
from mrb_lib.stats.where import asks_for_reviews
from mrb_lib.tables.errors import InputError, RunError, nearest
from mrb_lib.tables.files import sha256_of
from mrb_lib.verdicts.basis import IN_REPORT, basis_of, write_basis
from mrb_lib.verdicts.manifest import git_commit, now

COMPARISON: Final = Path(__file__).parent / "comparison.ipynb"
"""The page that a comparison adds."""
COMPARED_BY: Final = "other_benchmark"
"""The parameter of a notebook that compares."""
DEFAULT_DIMENSION = "overall"
DEFAULT_CASES = 12
_MARK = "CACHEDIR.TAG"
_MARK_TEXT = """Signature: 8a477f597d28d172789f06886806bc55
# What `mrb report` needs to skip unchanged notebooks, and to compare reports.
"""
_GROUPS, _WORK, _KEEP_RUNS = "groups", "work", "keep_runs"  # parameters that name a file or folder
_ELSEWHERE = ("benchmark", "runs", "out", COMPARED_BY, "dimension", "policy", "seed")
"""Parameters of notebooks that the report sets from arguments and options of its own."""
_PLACES = ("benchmark", "runs", COMPARED_BY)

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
    """

    executed: tuple[str, ...]
    skipped: tuple[str, ...]
    failed: tuple[NotebookFailure, ...]


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
    Validated by tests/report/test_pipeline.py and tests/report/test_pipeline.py.
    """
    say = progress or (lambda line: None)
    folders = locate(str(benchmark), "" if runs is None else str(runs), progress=say)
    out, mirror = Path(out).absolute(), None if figures is None else Path(figures).absolute()
    sources = with_comparison(notebooks_in(notebooks), compare)
    for name in (wanted := [name.removesuffix(".ipynb") for name in only]):
        check_choice("notebook", name, [path.stem for path in sources])
    if only and figures is not None:
        raise InputError("only and figures: the figures of all other notebooks would be deleted; use one of them.")
    chosen = [path for path in sources if not wanted or path.stem in wanted or compares(path)]
    for name, value, least in (("jobs", jobs, 1), ("cases", cases, 0), ("seed", seed, 0)):
        if value < least:
            raise InputError(f"{name} {value}: use a whole number from {least} on.")
    given = dict(parameters or {})
    files = {name: Path(given[name]).absolute() for name in (_GROUPS, _WORK, _KEEP_RUNS) if given.get(name)}
    made_from = provenance(
        folders.benchmark, folders.runs, policy=policy, dimension=dimension, seed=seed,
        parameters=given | {name: file.name for name, file in files.items()},
    )  # fmt: skip
    shared = {"benchmark": str(folders.benchmark.absolute())}
    if dimension != DEFAULT_DIMENSION:  # a notebook takes "overall", or the first dimension, by itself
        shared["dimension"] = dimension
        check_choice("dimension", dimension, cast(Sequence[str], made_from.benchmark["dimensions"]))
    if _KEEP_RUNS in files:  # what the report reads and writes is not to change meanwhile
        folder = files[_KEEP_RUNS].resolve()
        if folder.is_relative_to(out.resolve()) or (folders.runs and folder == folders.runs.resolve()):
            raise InputError(f"parameter {_KEEP_RUNS}: {folder} is read or written by the report; name another folder.")
    shared[COMPARED_BY], fingerprint = "", ""
    if compare is not None:
        from mrb_lib.report.comparison import compared_with

        shared[COMPARED_BY], fingerprint = compared_with(compare, *folders, out)
    given |= {name: str(file) for name, file in files.items()}
    options: dict[str, Any] = {
        "runs": "" if folders.runs is None else str(folders.runs.absolute()), "policy": policy, "seed": seed,
        **{name: _as_type(name, value, OPTIONS[name]) for name, value in given.items() if name in OPTIONS},
    }  # fmt: skip
    tasks = {name: {"parameters": own, "options": options} for name, own in _own(chosen, given, shared).items()}
    program = ""
    if pdf:
        from mrb_lib.report.html.pdf import browser

        program = browser()
    _refuse_foreign(out)
    keys = {
        path.stem: _key(path, made_from, options | tasks[path.stem]["parameters"], folders.benchmark, fingerprint)
        for path in chosen
    }
    found = {path.stem: read_record(out, path.stem) for path in sources}
    todo = [
        path for path in chosen
        if force or not (record := found[path.stem]) or record.failure or record.key != keys[path.stem]
    ]  # fmt: skip
    kept = {name: record for name, record in found.items() if record and name not in {path.stem for path in todo}}
    if todo:
        from mrb_lib.report.study import open as open_study  # as all that is imported below: slow, and only used here

        open_study(folders.benchmark, **options)  # so that bad input is said once, and not by every notebook
    with _held(out):
        if todo or not (out / IN_REPORT).is_dir():
            write_basis(basis_of(load(folders.benchmark), folders.runs), out / IN_REPORT)
        named = [*folders, *files.values(), *([Path(shared[COMPARED_BY])] if compare is not None else [])]
        names = {folder: folder.absolute().name for folder in filter(None, named)}
        made = {record.notebook: record for record in _run(todo, out, tasks, keys, kept, names, jobs, say)}
        ordered = [record for path in sources if (record := made.get(path.stem, kept.get(path.stem)))]
        assemble(out, ordered, made_from, folders, cases=cases, mirror=mirror, program=program)
    return ReportResult(
        executed=tuple(record.notebook for record in ordered if record.notebook in made and record.failure is None),
        skipped=tuple(record.notebook for record in ordered if record.notebook not in made),
        failed=tuple(record.failure for record in ordered if record.failure is not None),
    )


def compares(notebook: Path) -> bool:
    """Return whether a notebook takes something to compare with."""
    return COMPARED_BY.encode() in notebook.read_bytes()


def with_comparison(sources: Sequence[Path], old: str | Path | None) -> list[Path]:
    """The notebooks without those that compare, or, where something is to be compared with, with one that does."""
    if old is None:
        return [path for path in sources if not compares(path)]
    return [*sources] if any(map(compares, sources)) else [*sources, COMPARISON]


def _own(notebooks: Sequence[Path], given: Mapping[str, str], shared: Mapping[str, str]) -> dict[str, dict[str, Value]]:
    """Of each notebook the values of those parameters that it takes, in the type of its own value.

    Raises
    ------
    InputError
        None of the notebooks takes one that is given, or its value is not of the type.
    """
    taken = {path.stem: parameters_of(path) for path in notebooks}
    known = [*dict.fromkeys([*OPTIONS, *(name for own in taken.values() for name in own if name not in _PLACES)])]
    for name in given:
        if name in _ELSEWHERE:
            option = "--compare" if name == COMPARED_BY else f"its own argument or option {name}"
            raise InputError(f"parameter {name}: the report sets it; use {option}.")
        if name not in known:
            said = f"no notebook that is run takes it; they take {', '.join(known)}.{nearest(name, known)}"
            raise InputError(f"parameter {name!r}: {said}")
    return {
        notebook: {name: _as_type(name, value, own[name]) for name, value in {**shared, **given}.items() if name in own}
        for notebook, own in taken.items()
    }


def _as_type(name: str, value: str, default: object) -> Value:
    if not isinstance(default, int | float):
        return value
    try:
        return type(default)(value)
    except ValueError as error:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise InputError(f"parameter {name}: {value!r} is not {kind}, as {default!r} is.") from error


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
    own = {name: value for name, value in parameters.items() if name not in _PLACES}
    everything = {"notebook": hashlib.sha256(content).hexdigest(), **made_from.key(), "parameters": own}
    for name, file in ((_GROUPS, ""), (_WORK, "funnel.parquet")):
        path = Path(str(own.get(name) or "")) / file
        if path.is_file():
            everything[name] = sha256_of(path)
    if b"adjudication" in content or own.get("gold") == ADJUDICATED or asks_for_reviews(str(own.get("where", ""))):
        everything["reviews"] = stamp(load(benchmark))
    if compares(source):
        everything["compared"] = compared
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()


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


def _run(
    sources: Sequence[Path],
    out: Path,
    tasks: Mapping[str, Task],
    keys: Mapping[str, str],
    kept: Mapping[str, PageRecord],
    folders: Mapping[Path, str],
    jobs: int,
    say: Say,
) -> Iterator[PageRecord]:
    """Run notebooks and put what each published in its place as soon as it is done."""
    work = out / CACHE / "work"
    shutil.rmtree(work, ignore_errors=True)  # an earlier report was killed
    if not sources:
        return
    from mrb_lib.report.execute import run_notebooks

    # Where a notebook worked stands for where its files end up.
    names = FolderNames({**folders, out: out.name, **{work / path.stem: out.name for path in sources}})
    taken = {file: record.notebook for record in kept.values() for file in record.files}
    commit = git_commit()
    try:
        say(f"Running {len(sources)} notebooks, {min(jobs, len(sources))} at a time ...")
        # From the last on: those without a number run models or make many figures, and would end alone.
        for done in run_notebooks(sources[::-1], work, tasks, jobs):
            name, failure = done.notebook.stem, done.failure
            if failure is not None:
                failure = replace(failure, source=names.text(failure.source), value=names.message(failure.value))
            record = PageRecord(name, keys[name], "", now(), commit, round(done.seconds, 1), failure=failure)
            record = install(out, done.folder, record, names, taken)
            taken.update(dict.fromkeys(record.files, name))
            say(f"{name}: {f'FAILED: {record.failure.error}' if record.failure else 'done'} ({record.seconds:.1f} s)")
            yield record
    finally:
        shutil.rmtree(work)
