"""The failure explorer: which cases judges got wrong, what they look like, and how a reviewer adjudicates them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pandas as pd
import traitlets

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.probes.from_file import file_probes
from mrb_lib.review.bundle import script, style
from mrb_lib.review.case.view import SCRIPTS as CASE_SCRIPTS
from mrb_lib.review.case.view import STYLES as CASE_STYLES
from mrb_lib.review.explorer.adjudicate import NO_STORE, NOT_JUDGED, Reviews
from mrb_lib.review.explorer.answers import ExplorerAnswers
from mrb_lib.review.explorer.data import ExplorerData, explorer_data
from mrb_lib.review.explorer.export import in_words
from mrb_lib.review.failures.index import POLICY, CaseIndex, open_index
from mrb_lib.review.failures.query import Query
from mrb_lib.review.shell import Shell
from mrb_lib.review.text import escaped

BENCHMARK, INDEX, STORE = "MRB_REVIEW_BENCHMARK", "MRB_REVIEW_INDEX", "MRB_REVIEW_STORE"
BLIND, PROBE_FILES = "MRB_REVIEW_BLIND", "MRB_REVIEW_PROBE_FILES"
_OWN = ("list", "filters", "form", "tags", "views", "probed", "explorer")
SCRIPTS: Final = (*CASE_SCRIPTS, *(f"explorer/{name}" for name in _OWN))
STYLES: Final = (*CASE_STYLES, "explorer/explorer")
_STATIC_CASES = 3
_STATIC_ROWS = 200
_STATIC_SIDE = 480


class Explorer(Shell):
    """The widget; see `explore`."""

    addressed = traitlets.Bool(False).tag(sync=True)

    def __init__(self, answers: ExplorerAnswers, *, addressed: bool, static: Callable[[], str]) -> None:
        super().__init__(answers.of(), scripts=SCRIPTS, styles=STYLES, static=static)
        self.answers = answers
        self.addressed = addressed


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
) -> Explorer:
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
    Explorer
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
    answers = ExplorerAnswers(data, _reviews(benchmark, store), start=start, reviewer=reviewer, blind=blind)
    answers.selections.of(start[0])
    return Explorer(answers, addressed=False, static=lambda: static_explorer(data, answers))


def review_app() -> Explorer:
    """The explorer of `mrb review`, from the environment that it starts its server with."""
    benchmark = load(Path(os.environ[BENCHMARK]))
    files = file_probes([Path(file) for file in json.loads(os.environ[PROBE_FILES])])
    data = explorer_data(benchmark, open_index(Path(os.environ[INDEX])), files=files)
    answers = ExplorerAnswers(data, _reviews(benchmark, os.environ[STORE]), blind=os.environ[BLIND] == "1")
    return Explorer(answers, addressed=True, static=lambda: first_view(answers))


def first_view(answers: ExplorerAnswers) -> str:
    """The explorer as a page shows it while its kernel opens: drawn by its own script, from answers made beforehand.

    Returns
    -------
    str
        An element marked `data-mrb="first-view"`, which the template of the app shows at once and the explorer itself
        takes away. A case that is too long for one message is left out: there is no kernel to ask for the rest of it.
    """
    recorded = {"initial_state": answers.initial_state({"fragment": ""})}
    if recorded["initial_state"]["rows"]:
        case = answers.case({"position": recorded["initial_state"]["rows"][0]["position"]})
        recorded |= {"case": case} if case["next"] is None else {}
    # No text of the data may end the element that holds it.
    answers_json = json.dumps(recorded).replace("<", "\\u003c")
    drawn = f"(() => {{\n{script('shell', *SCRIPTS)}\nmrbExplorer.preview(document.currentScript);\n}})();"
    return (
        f'<style>{style(*STYLES)}</style><div data-mrb="first-view">'
        f'<script type="application/json">{answers_json}</script><script>{drawn}</script></div>'
    )


def static_explorer(data: ExplorerData, answers: ExplorerAnswers) -> str:
    """The plain view: the query in words, the list of the cases, and the first of them whole."""
    query, case = answers.start
    selected = answers.selections.of(query).tolist()
    ids = data.benchmark.cases["case_id"]
    first = [position for position in selected if case and ids.iloc[position] == case] or selected[:_STATIC_CASES]
    rows = "".join(
        f'<li><bdi dir="auto">{escaped(ids.iloc[position])}</bdi> · '
        f'<bdi dir="auto">{escaped(str(data.benchmark.cases["question"].iloc[position])[:160])}</bdi></li>'
        for position in selected[:_STATIC_ROWS]
    )
    more = f"<p>and {len(selected) - _STATIC_ROWS:,} more</p>" if len(selected) > _STATIC_ROWS else ""
    parts = [
        f"<style>{style(*STYLES)}</style>",
        f'<p class="mrb-simulated">{escaped(data.note)}</p>' if data.note else "",
        f"<p>{len(selected):,} cases. {in_words(query)}</p>",
        f'<details class="mrb-plain"><summary>The list</summary><ol>{rows}</ol>{more}</details>' if selected else "",
    ]
    parts += [data.case_html(position, side=_STATIC_SIDE) for position in first]
    return f'<div class="mrb mrb-static">{"".join(parts)}</div>'


def _reviews(benchmark: Benchmark, store: str | Path | None) -> Reviews:
    if not benchmark.meta.is_judged:
        return Reviews(benchmark.meta.name, None, NOT_JUDGED)
    return Reviews(benchmark.meta.name, store, NO_STORE, categories=benchmark.meta.choices)
