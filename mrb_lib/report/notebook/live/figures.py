"""Figures that a notebook draws again while a reader chooses what of: nothing is published.

Each function gives one to be called by `mrb_lib.review.controls.choose`, with what was chosen by keyword.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mrb_lib.figures.style import Paper
from mrb_lib.report.notebook.absent import Absent
from mrb_lib.report.notebook.workspace import Workspace

Draw = Callable[..., Paper | Absent]


def leaderboard(workspace: Workspace) -> Draw:
    """The accuracy of the judges on every dimension, by `dimension`, `policy` and `judges`."""

    def draw(*, dimension: str, policy: str, judges: Sequence[str]) -> Paper | Absent:
        w = replace(_of(workspace, judges), dimension=dimension, policy=policy)
        return w.figure("leaderboard", w.analyze("accuracy"), ceiling=w.analyze("ceiling", verdicts=None))

    return draw


def subfields(workspace: Workspace) -> Draw:
    """The accuracy of the judges in every subfield, by `dimension`, `policy`, `by` and `judges`."""

    def draw(*, dimension: str, policy: str, by: str | None, judges: Sequence[str]) -> Paper | Absent:
        w = replace(_of(workspace, judges), dimension=dimension, policy=policy)
        if by is None:
            return w.figure("leaderboard", w.analyze("accuracy", dimension=dimension))
        accuracy = w.analyze("accuracy", by=by, dimension=dimension, references=0)
        return w.figure("subfields-heatmap", accuracy, words={"by": by}, title=f"Accuracy by {by}")

    return draw


def _of(workspace: Workspace, judges: Sequence[str]) -> Workspace:
    verdicts = workspace.verdicts
    return replace(workspace, verdicts=verdicts[verdicts["judge"].isin(list(judges))], out="")
