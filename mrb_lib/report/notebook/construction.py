"""The making of a benchmark in frames and text: from a work folder, or on the spot from a SIMULATED one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import read_table
from mrb_lib.build.construct.answers.difficulty import chance_of
from mrb_lib.build.construct.pairing.design import meetings
from mrb_lib.build.construct.respond import responder_counts
from mrb_lib.build.construct.screen import screening_benchmark, screening_form
from mrb_lib.build.construct.status import counts_by
from mrb_lib.build.construct.work import KEPT, Work, open_work
from mrb_lib.report.notebook.absent import Absent, Frame
from mrb_lib.report.notebook.workspace import Workspace
from mrb_lib.review.records.exchange import annotations_of
from mrb_lib.review.records.store import open_store
from mrb_lib.stats.tables.agreement import agreement_of
from mrb_lib.tables.files import REVIEWS
from mrb_lib.tables.schema import SIMULATED

_ITEMS: Final = 240
_BINS: Final = 10
_ALPHA: Final = "krippendorff_alpha"


@dataclass(frozen=True)
class Construction:
    """A work folder in frames; each is `Absent` where its step has not been run.

    Attributes
    ----------
    note : the sentence to show with everything; empty for a folder that was named and is not simulated
    mark : the same in a word, for the face of a figure, where the benchmark does not say so already
    steps : `step, n_in, n_out, reason, n`, see `mrb_lib.build.construct.work.funnel_of`, the reasons only
    left : `value, step, n, share`, how many items of each value of a column are left after each step
    bins : `low, high, kept, left_out`, how many items were answered rightly how often by the models that filtered them
    chance : what blind guessing gets right on average; NaN where nothing is known of it
    counted : see `mrb_lib.build.construct.respond.responder_counts`
    met : see `mrb_lib.build.construct.pairing.design.meetings`
    design : see `mrb_lib.build.construct.pairing.design.design`
    screening : the table `agreement` of the clinicians' ratings, a row a criterion
    """

    note: str
    mark: str
    steps: pd.DataFrame
    left: Frame
    bins: Frame
    chance: float
    counted: Frame
    met: Frame
    design: Frame
    screening: Frame


def construction(
    workspace: Workspace, work: str, scratch: Path, *, by: str = "organ", store: str = ""
) -> Construction | Absent:
    """What became of the items of a work folder.

    Parameters
    ----------
    work : the folder; empty for one that is SIMULATED on the spot, where the benchmark is simulated
    scratch : a folder to make that in
    by : a column of the items; where they have none of that name, `left` is absent
    store : of the screening's ratings; empty for the folder's own

    Raises
    ------
    InputError
        The folder is none.

    Notes
    -----
    Validated by tests/report/notebook/test_construction.py.
    """
    note = mark = ""
    if work:
        made = open_work(Path(work))
        if made.meta.kind == "simulated":
            note, mark = f"Everything in the work folder is {SIMULATED}.", "" if workspace.simulated else SIMULATED
    elif workspace.benchmark.meta.kind == "simulated":
        from mrb_lib.build.construct.simulated import write_simulated_work

        made = write_simulated_work(scratch / "work", items=_ITEMS, seed=workspace.seed)
        note = (
            f"{SIMULATED} work folder, made here, since none is named (-p work=WORK): no model, clinician or patient "
            "stands behind it."
        )
    else:
        return Absent("no work folder is named: -p work=WORK names the one in which the benchmark was made")
    funnel = made.funnel()
    if funnel.empty:
        return Absent(f"no step of {made.meta.name} is finished")
    pairs, responses = made.pairs(), made.responses()
    return Construction(
        note,
        mark,
        steps=reasons_of(funnel),
        left=_left(made, by) if by in made.items() else Absent(f"the items have no column {by}"),
        bins=_bins(made),
        chance=_guessing(made.items()),
        counted=responder_counts(responses) if len(responses) else Absent("nobody has responded yet"),
        met=meetings(pairs) if len(pairs) else Absent("no responses are paired yet"),
        design=read_table(made.path / "design.parquet") if len(pairs) else Absent("no responses are paired yet"),
        screening=_screening(made, store, workspace.resamples, workspace.seed),
    )


def _left(work: Work, by: str) -> pd.DataFrame:
    table = counts_by(work, by).rename(columns={by: "value"})
    long = table.melt("value", var_name="step", value_name="n")
    first = long["value"].map(table.set_index("value")["items"])
    return long.assign(share=long["n"] / first)


def _bins(work: Work) -> Frame:
    """How many items were answered rightly how often; those without a marked answer are in no bin."""
    table = work.difficulty()
    if table.empty:
        return Absent("no models filtered the items")
    decisions = work.decisions()
    kept = decisions[(decisions["step"] == "filter") & decisions["kept"]]["item_id"]
    share, is_kept = table["share_correct"], table["item_id"].isin(kept)
    edges = np.linspace(0, 1, _BINS + 1)
    counts = {
        name: np.histogram(share[rows & share.notna()], edges)[0]
        for name, rows in {"kept": is_kept, "left_out": ~is_kept}.items()
    }
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], **counts})


def _guessing(items: pd.DataFrame) -> float:
    chance = chance_of(items)
    return float(np.nanmean(chance)) if np.isfinite(chance).any() else float("nan")


def _screening(work: Work, store: str, resamples: int, seed: int) -> Frame:
    if work.state("screen") is None:
        return Absent("the items were not screened")
    where = store or str(work.path / REVIEWS)
    if "://" not in where and not Path(where).is_file():
        return Absent(f"the ratings are not at hand: there is no {Path(where).name} in the work folder")
    benchmark = screening_benchmark(work, screening_form(work))
    with open_store(where, create=False) as opened:
        ratings, _ = annotations_of(benchmark, opened)
    meta = benchmark.meta
    return agreement_of(
        ratings, benchmark.cases, categories=meta.categories, level=meta.level, dimensions=meta.dimensions,
        resamples=resamples, seed=seed,
    )  # fmt: skip


def reasons_of(funnel: pd.DataFrame) -> pd.DataFrame:
    """A funnel without the counts of what was kept: a row a step and reason to leave out, or one with a null reason."""
    silent = funnel["reason"].eq(KEPT) & funnel["n_in"].gt(funnel["n_out"])
    rows = funnel[~silent].copy()
    nothing = rows["reason"] == KEPT
    return rows.assign(reason=rows["reason"].mask(nothing), n=rows["n"].mask(nothing)).reset_index(drop=True)


def conclusion(made: Construction) -> str:
    """What became of the items, what cost most of them, and what the pairs will show."""
    first, last = made.steps.iloc[0], made.steps.iloc[-1]
    said = f"Of {first['n_in']:,} items {last['n_out']:,} are left after the step {last['step']}."
    reasons = made.steps.dropna(subset="reason")
    if len(reasons):
        most = reasons.sort_values("n", ascending=False, kind="stable").iloc[0]
        said += f" Most were left out by {most['step']}: {int(most['n']):,} for the reason {most['reason']!r}."
    if isinstance(made.screening, pd.DataFrame):
        told = made.screening.dropna(subset=_ALPHA)
        if len(told):
            worst = told.sort_values(_ALPHA, kind="stable").iloc[0]
            said += (
                f" Clinicians agree least on {worst['dimension']} (alpha {worst[_ALPHA]:.2f} "
                f"[{worst[f'{_ALPHA}_low']:.2f}, {worst[f'{_ALPHA}_high']:.2f}])."
            )
    if isinstance(made.design, pd.DataFrame):
        value = made.design.set_index("quantity")["value"]
        said += (
            f" {int(value['n_cases']):,} cases let every two of {int(value['n_responders'])} responders meet "
            f"{int(value['fewest_meetings']):,} to {int(value['most_meetings']):,} times"
        )
        width = value["accuracy_width"]
        said += "." if pd.isna(width) else f"; a judge's accuracy will be known to within {50 * width:.0f} points."
    return f"{made.note} {said}".strip()
