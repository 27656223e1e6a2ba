"""Figures and tables on disk: shown in the notebook, and written for the site and the paper.

A figure `id` becomes `out/figures/<id>.png .svg .pdf .csv .json`, a table `out/tables/<id>.csv .tex .json`, and `.html`
where it comes with cases; the JSON beside them (the sidecar) says what they show. What comes from simulated data says
SIMULATED on its face.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

import pandas as pd

from mrb_lib.figures.style import Paper, mark_simulated, write_mark
from mrb_lib.report.tabular import TableText, to_html, to_latex
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import write_atomic
from mrb_lib.tables.schema import SIMULATED
from mrb_lib.verdicts.manifest import Manifest

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_MARK = 90
Counts = int | Iterable[int] | None
"""How many cases: a number, or several."""


@dataclass(frozen=True)
class PublishedTable:
    """A table as a notebook shows it."""

    text: TableText
    title: str
    caption: str

    def _repr_html_(self) -> str:
        return to_html(self.text, f"{self.title.removesuffix('?')}. {self.caption}")

    def __repr__(self) -> str:
        return f"{self.title}: {len(self.text.rows)} rows"


def blind_judges(manifests: Iterable[Manifest]) -> frozenset[str]:
    """The names by which judges are shown that were shown no image; several runs of one are told apart as in tables."""
    runs = list(manifests)
    shown = {manifest.judge for manifest in runs if not manifest.spec.get("without_images")}
    blind = [manifest for manifest in runs if manifest.spec.get("without_images")]
    return frozenset({manifest.judge for manifest in blind} - shown | {f"{one.judge}@{one.run_id}" for one in blind})


@dataclass(frozen=True)
class Publisher:
    """Where figures and tables go, and what is said with each of them.

    Attributes
    ----------
    out : the report's folder; empty writes nothing
    name, kind, note : the benchmark's name and kind, and the sentence to show with it, empty unless it is simulated
    blind : the judges that were shown no image, which is said on the face of every figure with one of them
    """

    out: str
    name: str
    kind: str
    note: str
    blind: frozenset[str] = frozenset()

    @property
    def simulated(self) -> bool:
        """Whether everything shown has to say so."""
        return self.kind == "simulated"

    def figure(
        self,
        drawn: Paper,
        id: str,  # the name of the column in index.json
        *,
        title: str,
        caption: str,
        reading: str,
        data: pd.DataFrame,
        policy: str | None = None,
        gold: str | None = None,
        n: Counts = None,
        behind: Callable[[Paper], dict[str, object]] | None = None,
    ) -> Paper:
        """Write a figure.

        Parameters
        ----------
        drawn : the figure; it gets the mark SIMULATED where the data are simulated
        id : lower-case words joined by hyphens, stable for ever
        title, caption, reading : what it shows; on what data and how; and how to read it. The caption is completed
            with the benchmark's name, the policy, the gold rule and n.
        data : every number drawn, for the CSV beside the figure
        policy, gold : the scoring policy and the gold rule, where they were used
        n : the number of cases it rests on, or several such numbers: the caption names the smallest and the largest,
            the sidecar the largest
        behind : gives the cases behind the parts of the finished figure, for the sidecar; see
            `mrb_lib.report.links.cells_behind`

        Returns
        -------
        Paper
            The same figure, for the notebook to show.

        Raises
        ------
        InputError
            The id is not plain.
        """
        self._check(id, "figures")
        blind = self._blind_in(data)
        write_mark(drawn, shorten(blind, _LONGEST_MARK))
        if self.simulated:
            mark_simulated(drawn)
        caption = f"{caption} {blind}." if blind else caption
        if self.out:
            folder = Path(self.out) / "figures"
            write_atomic(folder / f"{id}.png", drawn.png())
            write_atomic(folder / f"{id}.svg", drawn.svg())
            write_atomic(folder / f"{id}.pdf", drawn.pdf())
            write_atomic(folder / f"{id}.csv", self._csv(data))
            self._sidecar(
                folder,
                id,
                title=title,
                caption=self._caption(caption, policy, gold, n),
                reading=reading,
                policy=policy,
                n=_largest(n),
                simulated=self.simulated,
                files={suffix: f"{id}.{suffix}" for suffix in ("png", "svg", "pdf", "csv")},
                **({} if behind is None else {"behind": behind(drawn)}),
            )
        return drawn

    def table(
        self,
        frame: pd.DataFrame,
        text: TableText,
        id: str,  # the name of the column in index.json
        *,
        title: str,
        caption: str,
        policy: str | None = None,
        gold: str | None = None,
        n: Counts = None,
        beside: str = "",
    ) -> PublishedTable:
        """Write a table: full precision in the CSV, `text` in LaTeX, in the notebook, and in the sidecar as `shown`.

        `beside` is a page with the cases that it names, of `mrb_lib.review.page`, which the report shows below it.
        """
        self._check(id, "tables")
        blind = self._blind_in(frame)
        full = self._caption(f"{caption} {blind}." if blind else caption, policy, gold, n)
        if self.out:
            folder = Path(self.out) / "tables"
            write_atomic(folder / f"{id}.csv", self._csv(frame))
            write_atomic(folder / f"{id}.tex", to_latex(text, f"{title}. {full}", id))
            if beside:
                write_atomic(folder / f"{id}.html", beside)
            self._sidecar(
                folder,
                id,
                title=title,
                caption=full,
                policy=policy,
                n=_largest(n),
                simulated=self.simulated,
                files={suffix: f"{id}.{suffix}" for suffix in ("csv", "tex", *(["html"] if beside else []))},
                shown=text.as_json(),
                n_rows=len(text.rows),
            )
        return PublishedTable(text, title, full)

    def _check(self, id: str, kind: str) -> None:  # id as above
        """Raise `InputError` for an id that is not plain, or that this notebook published already."""
        check_id(id)
        if self.out and (Path(self.out) / kind / f"{id}.json").exists():
            raise InputError(f"{kind}/{id}: is published already; give one of the two another id.")

    def _caption(self, caption: str, policy: str | None, gold: str | None, n: Counts) -> str:
        facts = [f"Benchmark: {self.name}"]
        if policy is not None:
            facts.append(f"policy: {policy}")
        if gold not in (None, "majority"):
            facts.append(f"gold labels: {gold}")
        counts = _counts(n)
        if counts:
            several = f"{min(counts):,} to " if min(counts) < max(counts) else ""
            facts.append(f"n = {several}{max(counts):,} cases")
        return " ".join(filter(None, [self.note, caption, "; ".join(facts) + "."]))

    def _blind_in(self, data: pd.DataFrame) -> str:
        """Which of the judges that were shown no image a table names in any of its columns, in words."""
        if not self.blind:
            return ""
        named = {name for column in data for name in self.blind & set(data[column].map(str))}
        return f"Judged without images: {', '.join(sorted(named))}" if named else ""

    def _csv(self, frame: pd.DataFrame) -> str:
        """The rows as CSV, each with the kind of its data: a row that says SIMULATED is, whatever the benchmark."""
        kind = SIMULATED if self.simulated else self.kind
        own = frame.get("data_kind", pd.Series(None, index=frame.index, dtype="str"))
        marked = frame.drop(columns="data_kind", errors="ignore")
        marked.insert(0, "data_kind", kind if self.simulated else own.fillna(kind))
        return marked.to_csv(index=False, lineterminator="\n")

    @staticmethod
    def _sidecar(folder: Path, name: str, **content: object) -> None:
        write_atomic(folder / f"{name}.json", json.dumps({"id": name, **content}, indent=1, ensure_ascii=False) + "\n")


def check_id(name: str) -> None:
    """Raise `InputError` unless an id is lower-case words joined by hyphens."""
    if not _ID.fullmatch(name):
        raise InputError(f"the id {name!r} is not plain; use lower-case words joined by hyphens.")


def _largest(n: Counts) -> int | None:
    counts = _counts(n)
    return max(counts) if counts else None


def _counts(n: Counts) -> list[int]:
    if n is None:
        return []
    return [int(count) for count in n] if isinstance(n, Iterable) else [int(n)]
