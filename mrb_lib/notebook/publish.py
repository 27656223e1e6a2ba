"""Notebooks hand their figures and tables over here: shown in the notebook, and written for the site and the paper.

A figure `id` becomes `out/figures/<id>.png .svg .pdf .csv .json`, a table `out/tables/<id>.csv .tex .json`; the JSON
beside them (the sidecar) says what they show. What comes from simulated data says SIMULATED on its face.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.files import write_atomic
from mrb_lib.notebook.tabular import MOST_ROWS, Best, Shown, show, to_html, to_latex
from mrb_lib.notebook.workspace import Workspace
from mrb_lib.plots.style import Paper, mark_simulated

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SIMULATED = "SIMULATED"


@dataclass(frozen=True)
class Table:
    """A table as a notebook shows it."""

    shown: Shown
    title: str
    caption: str

    def _repr_html_(self) -> str:
        return to_html(self.shown, f"{self.title}. {self.caption}")

    def __repr__(self) -> str:
        return f"{self.title}: {len(self.shown.rows)} rows"


@dataclass(frozen=True)
class Absent:
    """What a notebook shows in place of a figure that these data cannot give."""

    title: str
    reason: str

    def _repr_html_(self) -> str:
        return f"<p><em>Not applicable: {html.escape(self.title)}.</em> {html.escape(self.reason)}.</p>"

    def __repr__(self) -> str:
        return f"Not applicable: {self.title}. {self.reason}."


def figure(
    fig: Paper,
    id: str,  # the name of the column in index.json
    *,
    title: str,
    caption: str,
    reading: str,
    data: pd.DataFrame,
    workspace: Workspace,
    out: str,
    policy: str | None = None,
    n: int | Iterable[int] | None = None,
) -> Paper:
    """Publish a figure.

    Parameters
    ----------
    fig : the figure; it gets the mark SIMULATED where the data are simulated
    id : lower-case words joined by hyphens, stable for ever
    title, caption, reading : what it shows; on what data and how; and how to read it. The caption is completed with
        the benchmark's name, the policy and n.
    data : every number drawn, for the CSV beside the figure
    out : the report's folder; empty writes nothing
    policy : the scoring policy, where one was used
    n : the number of cases it rests on, or several such numbers: the caption names the smallest and the largest,
        the sidecar the largest

    Returns
    -------
    Figure
        The same figure, for the notebook to show.

    Raises
    ------
    InputError
        The id is not plain.
    """
    _check(id)
    if workspace.simulated:
        mark_simulated(fig)
    if out:
        folder = Path(out) / "figures"
        write_atomic(folder / f"{id}.png", fig.png())
        write_atomic(folder / f"{id}.svg", fig.svg())
        write_atomic(folder / f"{id}.pdf", fig.pdf())
        write_atomic(folder / f"{id}.csv", _csv(data, workspace))
        _sidecar(
            folder,
            id,
            title=title,
            caption=_caption(caption, workspace, policy, n),
            reading=reading,
            policy=policy,
            n=_largest(n),
            simulated=workspace.simulated,
            files={suffix: f"{id}.{suffix}" for suffix in ("png", "svg", "pdf", "csv")},
        )
    return fig


def table(
    frame: pd.DataFrame,
    id: str,  # the name of the column in index.json
    *,
    title: str,
    caption: str,
    workspace: Workspace,
    out: str,
    best: Mapping[str, Best] | None = None,
    reference_rows: Collection[str] = (),
    policy: str | None = None,
    n: int | Iterable[int] | None = None,
    digits: int = 3,
) -> Table:
    """Publish a table: full precision in the CSV, rounded with the best in bold in LaTeX and in the notebook.

    Parameters
    ----------
    frame : the table; a column `x` with `x_low` and `x_high` is shown as one, see `mrb_lib.notebook.tabular.show`
    best : for each column named, whether the largest or the smallest value is the best
    reference_rows : values of the first column whose rows do not compete

    Returns
    -------
    Table
        For the notebook to show. The sidecar holds the same cells under `shown`.
    """
    _check(id)
    shown = show(frame, best=best, reference_rows=reference_rows, digits=digits)
    full = _caption(caption, workspace, policy, n)
    if out:
        folder = Path(out) / "tables"
        write_atomic(folder / f"{id}.csv", _csv(frame, workspace))
        write_atomic(folder / f"{id}.tex", to_latex(shown, f"{title}. {full}", id))
        _sidecar(
            folder,
            id,
            title=title,
            caption=full,
            policy=policy,
            n=_largest(n),
            simulated=workspace.simulated,
            files={suffix: f"{id}.{suffix}" for suffix in ("csv", "tex")},
            shown={
                "columns": shown.columns,
                "rows": shown.rows[:MOST_ROWS],
                "best": sorted(shown.best),
                "numeric": shown.numeric,
            },
        )
    return Table(shown, title, full)


def absent(
    id: str,  # the name of the column in index.json
    *,
    title: str,
    reason: str,
    workspace: Workspace,
    out: str,
) -> Absent:
    """Publish that a figure does not apply to these data, and why, so that it is not missed silently."""
    _check(id)
    if out:
        _sidecar(Path(out) / "figures", id, title=title, absent=True, reason=reason, simulated=workspace.simulated)
    return Absent(title, reason)


def spread(frame: pd.DataFrame, *, index: Collection[str], columns: str, value: str) -> pd.DataFrame:
    """Lay the values of a long frame side by side, each with its interval.

    Parameters
    ----------
    frame : `index`, `columns`, `value`, low, high
    columns : its values become columns `<x>`, `<x>_low`, `<x>_high`, in order of first appearance

    Returns
    -------
    DataFrame
        One row a combination of `index`, in order of first appearance.
    """
    rows = frame[list(index)].drop_duplicates().reset_index(drop=True)
    for name, part in frame.groupby(columns, sort=False):
        ends = {value: name, "low": f"{name}_low", "high": f"{name}_high"}
        rows = rows.merge(part[[*index, *ends]].rename(columns=ends), on=list(index), how="left", validate="1:1")
    return rows


def _check(name: str) -> None:
    if not _ID.fullmatch(name):
        raise InputError(f"the id {name!r} is not plain; use lower-case words joined by hyphens.")


def _largest(n: int | Iterable[int] | None) -> int | None:
    counts = _counts(n)
    return max(counts) if counts else None


def _counts(n: int | Iterable[int] | None) -> list[int]:
    if n is None:
        return []
    return [int(count) for count in n] if isinstance(n, Iterable) else [int(n)]


def _caption(caption: str, workspace: Workspace, policy: str | None, n: int | Iterable[int] | None) -> str:
    facts = [f"Benchmark: {workspace.benchmark.meta.name}"]
    if policy is not None:
        facts.append(f"policy: {policy}")
    counts = _counts(n)
    if counts:
        several = f"{min(counts):,} to " if min(counts) < max(counts) else ""
        facts.append(f"n = {several}{max(counts):,} cases")
    return " ".join(filter(None, [workspace.note, caption, "; ".join(facts) + "."]))


def _csv(frame: pd.DataFrame, workspace: Workspace) -> str:
    """The rows as CSV, each with the kind of its data: rows that say they are SIMULATED are, whatever the benchmark."""
    kind = SIMULATED if workspace.simulated else workspace.benchmark.meta.kind
    own = frame.get("data_kind", pd.Series(None, index=frame.index, dtype="str"))
    marked = frame.drop(columns="data_kind", errors="ignore")
    marked.insert(0, "data_kind", kind if workspace.simulated else own.fillna(kind))
    return marked.to_csv(index=False, lineterminator="\n")


def _sidecar(folder: Path, name: str, **content: object) -> None:
    write_atomic(folder / f"{name}.json", json.dumps({"id": name, **content}, indent=1, ensure_ascii=False) + "\n")
