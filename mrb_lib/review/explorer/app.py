"""The failure explorer: which cases judges got wrong, what they look like, and how a reviewer adjudicates them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.probes.from_file import file_probes
from mrb_lib.review.app import App
from mrb_lib.review.case.view import SCRIPTS as CASE_SCRIPTS
from mrb_lib.review.case.view import STYLES as CASE_STYLES
from mrb_lib.review.explorer.adjudicate import NO_STORE, NOT_JUDGED, Reviews
from mrb_lib.review.explorer.answers import ExplorerAnswers
from mrb_lib.review.explorer.data import explorer_data
from mrb_lib.review.explorer.export import static_view
from mrb_lib.review.failures.index import POLICY, CaseIndex
from mrb_lib.review.failures.query import Query

_OWN = ("list", "filters", "form", "tags", "views", "probed", "explorer")
SCRIPTS: Final = (*CASE_SCRIPTS, *(f"explorer/{name}" for name in _OWN))
STYLES: Final = (*CASE_STYLES, "explorer/explorer")


def explore(
    benchmark: Benchmark,
    verdicts: pd.DataFrame | CaseIndex | None = None,
    *,
    store: str | Path | None = None,
    query: Query | None = None,
    case: str = "",
    reviewer: str = "",
    blind: bool = False,
    policy: str = POLICY,
    probe_files: Sequence[str | Path] = (),
) -> App:
    """Look at the cases that judges got wrong, and say what is wrong with them.

    Parameters
    ----------
    benchmark : the cases, annotations and images
    verdicts : the verdicts table (with `reply`, the judges' reasoning is shown), or the index of
        `mrb_lib.review.failures.index`; None where nobody judged
    store : where reviewers' marks are kept, a path of an SQLite file or a URL; None stores nothing
    query : the filters, search and sort to begin with
    case : the id of the case to begin with
    reviewer : the name to offer at sign-in. It does not prove who someone is.
    blind : what others say of a case is shown once one's own review is stored, and not before
    policy : the scoring policy that says what is wrong
    probe_files : the files of `mrb judge --probe-file`, whose changed texts are shown beside the stored ones

    Returns
    -------
    App
        Shown by a notebook; where no kernel runs, a plain list of the selection and its first cases.

    Raises
    ------
    InputError
        The query or the policy is unknown, the verdicts are not of this benchmark, or a file is not one of a probe.

    Notes
    -----
    Validated by tests/review/explorer/test_explorer.py and tests/browser/test_review.py.
    """
    data = explorer_data(benchmark, verdicts, policy=policy, files=file_probes([Path(file) for file in probe_files]))
    start = (query or Query(), case)
    kept = (store, NO_STORE) if benchmark.meta.is_judged else (None, NOT_JUDGED)
    reviews = Reviews(benchmark.meta.name, *kept, categories=benchmark.meta.choices)
    answers = ExplorerAnswers(data, reviews, start=start, reviewer=reviewer, blind=blind)
    answers.selections.of(start[0])

    def static() -> str:
        return static_view(data, start[0], answers.selections.of(start[0]).tolist(), case)

    title = f"Failures: {benchmark.meta.name}"
    return App(title, answers.of(), SCRIPTS, STYLES, static)
