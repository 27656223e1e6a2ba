"""What a notebook needs to try a judge: the engines it can be asked with, or a stand-in where none is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.jury import is_jury
from mrb_lib.judges.roster.engines import ENGINES, public_engines
from mrb_lib.judges.roster.roster import DEFAULT_ENGINE, entry_of
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge as run_judges
from mrb_lib.runs.progress import RunProgress
from mrb_lib.verdicts.run_totals import totals
from mrb_lib.verdicts.store import load_verdicts

STAND_IN: Final = "RANDOM-WEIGHTS"
MARK: Final = "RANDOM WEIGHTS"
_NOTE: Final = (
    "RANDOM WEIGHTS: no judge was named, so a very small LLaVA drawn from a seed stands in for one; its verdicts are "
    "noise and say nothing about any model."
)


@dataclass(frozen=True)
class Trial:
    """One judge, in every way that it can be asked.

    Attributes
    ----------
    names : for `mrb_lib.runs.execute.judge`
    settings : for the same
    note : the sentence to show with everything it says; empty for a judge with weights of its own
    mark : the same in two words, for the face of a figure
    """

    names: tuple[str, ...]
    settings: Settings
    note: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Tried:
    """What a judge said when it was tried.

    Attributes
    ----------
    verdicts : with replies, probabilities rounded to four decimals
    lines : what became of each engine's run
    note, mark : see `Trial`
    """

    verdicts: pd.DataFrame
    lines: tuple[str, ...]
    note: str
    mark: str


def lacking(judge: str) -> str:
    """Why a judge cannot be tried with what is installed; empty where nothing is missing.

    Parameters
    ----------
    judge : a judge's name; empty for the stand-in

    Raises
    ------
    InputError
        There is no such judge.
    """
    engine = ENGINES[DEFAULT_ENGINE if not judge else "jury" if is_jury(judge) else entry_of(judge).engine]
    missing = engine.missing_packages()
    return f"needs {engine.install or engine.name}: {', '.join(missing)} not installed" if missing else ""


def trial(judge: str, folder: Path, *, texts: Iterable[str] = (), seed: int = 0) -> Trial:
    """Prepare to try a judge.

    Parameters
    ----------
    judge : a name of the roster, `path:DIR`, or any other name of a judge. One that names
        no engine and reads weights is asked with every engine that can ask any model: packed, generative and rating.
        Empty writes a very small model with random weights.
    folder : where the stand-in is written
    texts : what the stand-in learns its tokens from, besides the prompts
    seed : of the stand-in's weights, and of all that is drawn at random

    Raises
    ------
    InputError
        There is no such judge.

    Notes
    -----
    Validated by tests/report/notebook/test_trial.py.
    """
    if judge:
        return Trial(_names(judge), Settings(seed=seed))
    from mrb_lib.judges.local.tiny import write_tiny  # torch is imported only for it

    where = write_tiny(folder / STAND_IN, "llava", texts=texts, seed=seed)
    # Greedy replies of random weights repeat one token; drawn ones look like what they are.
    settings = Settings(seed=seed, max_new_tokens=32, temperature=1.0)
    return Trial(_names(f"path:{where}"), settings, _NOTE, MARK)


def run_trial(
    benchmark: Benchmark,
    judge: str,
    folder: Path,
    *,
    limit: int,
    seed: int = 0,
    keep_runs: str = "",
    progress: Callable[[RunProgress], None] | None = None,
) -> Tried:
    """Try a judge on the first cases of a benchmark, in every way that it can be asked.

    Parameters
    ----------
    judge : as for `trial`
    folder : to work in
    limit : how many cases
    keep_runs : the folder of runs to keep the verdicts in, where a run that was begun goes on; empty for `folder`
    progress : see `mrb_lib.runs.execute.judge`

    Notes
    -----
    Validated by tests/notebooks/test_judging.py and, for runs that are kept, tests/report/notebook/test_trial.py.
    """
    cases = benchmark.cases.head(limit)
    tried = trial(judge, folder, texts=[*cases["question"], *cases["response_a"], *cases["response_b"]], seed=seed)
    runs = Path(keep_runs) if keep_runs else folder / "runs"
    made = run_judges(benchmark, runs, tried.names, limit=limit, settings=tried.settings, progress=progress)
    lines = [f"{run.judge}: {'; '.join([str(totals(run.folder)), *run.notices])}." for run in made]
    # A folder that is kept may hold other runs, and these may hold more cases.
    verdicts = pd.concat([load_verdicts(run.folder, benchmark.cases, replies=True) for run in made], ignore_index=True)
    verdicts = verdicts[verdicts["case_id"].isin(cases["case_id"])].reset_index(drop=True)
    rounded = verdicts.assign(p_a=verdicts["p_a"].round(4))
    return Tried(rounded, tuple(lines), tried.note, tried.mark)


def _names(judge: str) -> tuple[str, ...]:
    compared = _compared_engines()
    if is_jury(judge) or judge.rpartition("+")[2] in public_engines() or entry_of(judge).engine not in compared:
        return (judge,)
    return tuple(f"{judge}+{engine}" for engine in compared)


def _compared_engines() -> list[str]:
    """The engines that any model's weights can be asked with about any case, the default one first."""
    weights = {name: engine for name, engine in ENGINES.items() if engine.model == "weights"}
    names = [name for name, engine in weights.items() if engine.reads_any_model and not engine.takes]
    return sorted(names, key=lambda name: name != DEFAULT_ENGINE)
