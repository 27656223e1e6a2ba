"""Figures and tables on disk: shown in the notebook, and written for the site and the paper.

A figure `id` becomes `out/figures/<id>.png .svg .pdf .csv .json`, a table `out/tables/<id>.csv .tex .json`; the JSON
(the sidecar) says what they show. What comes from simulated data says SIMULATED on its face.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten

import pandas as pd

from mrb_lib.figures.style import Paper, mark_simulated, write_mark
from mrb_lib.report.places import simulated_note
from mrb_lib.report.tabular import TableText, to_html, to_latex
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import write_atomic
from mrb_lib.tables.schema import SIMULATED
from mrb_lib.verdicts.manifest import Manifest

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_MARK = 90
Counts = int | Iterable[int] | None
"""How many cases: a number, or several."""
Behind = Callable[[Paper], dict[str, object]]
"""Gives the cases behind the parts of a finished figure, see `mrb_lib.report.links.cells_behind`."""


@dataclass(frozen=True)
class PublishedTable:
    """A table as a notebook shows it."""

    text: TableText
    title: str
    caption: str

    def _repr_html_(self) -> str:
        return to_html(self.text, f"{self.title.removesuffix('?')}. {self.caption}")

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self.text.rows)} rows>"


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

    def also_of(self, name: str, kind: str) -> Publisher:
        """Return what publishes data of this and of another benchmark: SIMULATED where either is."""
        if self.simulated or kind != "simulated":
            return self
        return replace(self, kind=kind, note=simulated_note(name))

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
        behind: Behind | None = None,
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
        behind : for the sidecar, see `Behind`

        Returns
        -------
        Paper
            The same figure, for the notebook to show.

        Raises
        ------
        InputError
            The id is not plain.
        """
        blind = self._blind_in(data)
        write_mark(drawn, shorten(blind, _LONGEST_MARK))
        if self.simulated:
            mark_simulated(drawn)
        caption = " ".join(filter(None, [self._caption(caption, blind, policy, gold, n), drawn.letters.legend]))
        if self._is_wanted("figures", id):
            files: dict[str, bytes | str] = {"png": drawn.png(), "svg": drawn.svg(), "pdf": drawn.pdf()}
            more = {} if behind is None else {"behind": behind(drawn)}
            words = {"title": title, "caption": caption, "reading": reading, "policy": policy}
            self._write("figures", id, data, files, n=n, **words, **more)
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
    ) -> PublishedTable:
        """Write a table: full precision in the CSV, `text` in LaTeX, in the notebook, and in the sidecar as `shown`."""
        caption = self._caption(caption, self._blind_in(frame), policy, gold, n)
        if self._is_wanted("tables", id):
            shown = {"shown": text.grid(), "n_rows": len(text.rows) - len(text.references), "policy": policy}
            latex = to_latex(text, f"{title.removesuffix('?')}. {caption}", id)
            self._write("tables", id, frame, {"tex": latex}, n=n, title=title, caption=caption, **shown)
        return PublishedTable(text, title, caption)

    def _is_wanted(self, kind: str, id: str) -> bool:
        """Whether to write; `InputError` for an id that is not plain, or that this notebook published already."""
        if not _ID.fullmatch(id):
            raise InputError(f"the id {id!r} is not plain; use lower-case words joined by hyphens.")
        if self.out and Path(self.out, kind, f"{id}.json").exists():
            raise InputError(f"{kind}/{id}: is published already; give one of the two another id.")
        return bool(self.out)

    def _write(
        self, kind: str, id: str, data: pd.DataFrame, files: Mapping[str, bytes | str], *, n: Counts, **content: object
    ) -> None:
        """Write the files of a figure or table, by suffix, its CSV, and the sidecar that names them."""
        files = {**files, "csv": self._csv(data)}
        for suffix, file in files.items():
            write_atomic(Path(self.out, kind, f"{id}.{suffix}"), file)
        content |= {"n": max(_counts(n), default=None), "simulated": self.simulated}
        content["files"] = {suffix: f"{id}.{suffix}" for suffix in files}
        sidecar = json.dumps({"id": id, **content}, indent=1, ensure_ascii=False) + "\n"
        write_atomic(Path(self.out, kind, f"{id}.json"), sidecar)

    def _caption(self, caption: str, blind: str, policy: str | None, gold: str | None, n: Counts) -> str:
        facts = [f"Benchmark: {self.name}"]
        if policy is not None:
            facts.append(f"policy: {policy}")
        if gold not in (None, "majority"):
            facts.append(f"gold labels: {gold}")
        if counts := _counts(n):
            several = f"{min(counts):,} to " if min(counts) < max(counts) else ""
            facts.append(f"n = {several}{max(counts):,} cases")
        return " ".join(filter(None, [self.note, caption, f"{blind}." if blind else "", "; ".join(facts) + "."]))

    def _blind_in(self, data: pd.DataFrame) -> str:
        """Return which of the judges that were shown no image a table names in any of its columns, in words."""
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


def _counts(n: Counts) -> list[int]:
    if n is None:
        return []
    return [int(count) for count in n] if isinstance(n, Iterable) else [int(n)]
