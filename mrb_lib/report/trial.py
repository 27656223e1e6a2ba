"""Judges run on a few cases while a notebook waits, or a very small model where none is named."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.roster.engines import ENGINES
from mrb_lib.judges.roster.roster import DEFAULT_ENGINE
from mrb_lib.judges.settings import Settings
from mrb_lib.review.progress import live_progress
from mrb_lib.runs.execute import judge
from mrb_lib.stats.options import check_choice
from mrb_lib.tables.errors import NotApplicable
from mrb_lib.verdicts.manifest import Manifest, read_manifest
from mrb_lib.verdicts.store import load_verdicts

STAND_IN: Final = "RANDOM-WEIGHTS"
REMARK: Final = (
    "RANDOM WEIGHTS: no judge was named, so a very small LLaVA drawn from a seed stands in for one; its verdicts are "
    "noise and say nothing about any model."
)
# Greedy replies of random weights repeat one token; drawn ones look like what they are.
_OF_STAND_IN: Final[Mapping[str, Any]] = {"max_new_tokens": 32, "temperature": 1.0}


def tried(
    benchmark: Benchmark, names: Sequence[str], *, limit: int, keep: str | Path, settings: Mapping[str, Any]
) -> tuple[Benchmark, pd.DataFrame, list[Manifest], str]:
    """Run judges on the first cases of a benchmark; see `mrb_lib.report.study.Study.judge`.

    Returns
    -------
    The benchmark of these cases, the verdicts with replies, their manifests, and what to say with them, mostly nothing.

    Notes
    -----
    Validated by tests/report/test_study_cases.py.
    """
    for name in settings:
        check_choice("setting", name, sorted(Settings.__dataclass_fields__))
    given = Settings(**{**({} if names else _OF_STAND_IN), **settings})
    cases = benchmark.cases.head(limit)
    annotations = benchmark.annotations[benchmark.annotations["case_id"].isin(cases["case_id"])]
    few = replace(benchmark, cases=cases, annotations=annotations.reset_index(drop=True))
    with TemporaryDirectory(prefix="mrb-") as scratch:
        asked = names or _stand_in(few, Path(scratch), given.seed)
        runs = Path(keep) if keep else Path(scratch) / "runs"
        made = judge(benchmark, runs, asked, limit=limit, settings=given, progress=live_progress())
        for run in made:
            for notice in run.notices:
                print(f"{run.judge}: {notice}")
        # A folder that is kept may hold other runs, and these may hold more cases.
        verdicts = pd.concat([load_verdicts(run.folder, benchmark.cases, replies=True) for run in made])
        manifests = [read_manifest(run.folder) for run in made]
    verdicts = verdicts[verdicts["case_id"].isin(cases["case_id"])].reset_index(drop=True)
    verdicts["p_a"] = verdicts["p_a"].round(4)  # the digits beyond are those of a machine
    return few, verdicts, manifests, "" if names else REMARK


def _stand_in(benchmark: Benchmark, folder: Path, seed: int) -> list[str]:
    """Write a very small model with random weights, and return the names under which it is asked."""
    usual, cases = ENGINES[DEFAULT_ENGINE], benchmark.cases
    if missing := usual.missing_packages():
        raise NotApplicable(f"no judge is named, and a stand-in needs {usual.install} ({', '.join(missing)} missing).")
    from mrb_lib.judges.local.tiny import write_tiny  # torch is imported only for it

    texts = [
        text for name in ("question", "response_a", "response_b") if name in cases for text in cases[name].dropna()
    ]
    where = write_tiny(folder / STAND_IN, texts=texts, seed=seed)
    return [f"path:{where}+{engine}" for engine in (DEFAULT_ENGINE, "generative")]  # for probabilities, and a reply
