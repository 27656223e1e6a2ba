"""A benchmark of ratings for a notebook: the one named, or the SIMULATED one beside the embedded benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mrb_lib.report.notebook.absent import Absent, Frame
from mrb_lib.report.notebook.opening import open_workspace
from mrb_lib.report.notebook.workspace import Workspace
from mrb_lib.report.places import DEMO, RATINGS, home
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TABLES
from mrb_lib.stats.tables.ratings import RATING, crossed
from mrb_lib.tables.schema import NO_PROBE


def open_ratings(
    benchmark: str, runs: str = "", *, judges: str = "", dimension: str = "overall", **options: Any
) -> Workspace:
    """As `open_workspace`; for the embedded benchmark the SIMULATED one of ratings, with all its judges."""
    if benchmark == DEMO or Path(benchmark) == home() / DEMO / "benchmark":
        return open_workspace(RATINGS, **options)
    return open_workspace(benchmark, runs, judges=judges, dimension=dimension, **options)


def unordered(w: Workspace, level: str) -> str:
    """Why the categories cannot be counted with; empty where they are in order."""
    meta = w.benchmark.meta
    if not meta.is_rating or (level or meta.level) != "nominal":
        return ""
    return f"the categories of {meta.name} have no order; pass -p level=ordinal if they stand from the lowest"


def unacceptable(w: Workspace) -> str | Absent:
    """The categories that are not acceptable, in words; `Absent` where nobody says which are."""
    meta = w.benchmark.meta
    if not meta.acceptable:
        return Absent(f"{meta.name} does not say which categories are acceptable")
    return " or ".join(name for name in meta.categories if name not in meta.acceptable)


def by_agreement(w: Workspace, ratings: Frame) -> Frame:
    """Return the judges' categories by label, see `mrb_lib.stats.tables.ratings.crossed`; the nearest judge first."""
    reason = w.missing("ratings", "annotations", "verdicts")
    if reason or isinstance(ratings, Absent):
        return Absent(reason) if reason else ratings
    plain = w.verdicts[w.verdicts["probe"] == NO_PROBE]
    found = crossed(Analysis.from_frames(w.benchmark.cases, plain, w.labels(), meta=w.benchmark.meta))
    near = ratings.sort_values(["weighted_kappa", "judge"], ascending=[False, True])["judge"].tolist()
    place = {name: i for i, name in enumerate(near)}
    return found.sort_values("judge", key=lambda names: names.map(place), kind="stable")


def conclusion(ratings: Frame, *, dimension: str) -> str:
    """What the table `ratings` says of one dimension."""
    if isinstance(ratings, Absent):
        return ""
    own = (ratings["dimension"] == dimension) & (ratings["part"] == RATING)
    return str(TABLES["ratings"].says(ratings[own]))
