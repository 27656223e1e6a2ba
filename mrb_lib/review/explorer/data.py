"""What a failure explorer shows: a benchmark, the kinds of failure of its verdicts, and one case at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.votes import gold
from mrb_lib.probes.from_file import FileProbe
from mrb_lib.review.case.probed import probe_seed, probed_html
from mrb_lib.review.case.view import SIDE, case_html
from mrb_lib.review.failures.index import POLICY, CaseIndex, benchmark_kinds, scored_labels
from mrb_lib.review.failures.kinds import ANY_PROBE, Kinds
from mrb_lib.review.failures.query import PLACES, Query
from mrb_lib.review.pages import kind_note, template
from mrb_lib.stats.analysis import read_panels
from mrb_lib.stats.options import IntArray
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import NO_PROBE
from mrb_lib.verdicts.manifest import Manifest

_COLUMNS = ("judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "p_a", "status")
_TEXTS = ("reply", "error")
MOST_PRINTED = 100
_SIDE, _STATIC_SIDE = 640, 480
_STATIC_CASES, _STATIC_ROWS = 3, 200


def judges_of(query: Query) -> list[str]:
    """The judges in view: none, one, or two that are compared."""
    return [name for name in (query.judge, query.other) if name]


class ByCase:
    """A table's rows by case, found without looking at the others.

    Parameters
    ----------
    frame : any table with a column `case_id`; rows of other cases are left out
    case_ids : of the cases, in the benchmark's order
    """

    def __init__(self, frame: pd.DataFrame, case_ids: Sequence[str]) -> None:
        self.frame, self._case_ids = frame, case_ids
        self._rows = frame.groupby("case_id").indices

    def of(self, position: int) -> pd.DataFrame:
        """The rows of one case, in the order of the table."""
        return self.frame.iloc[list(self._rows.get(self._case_ids[position], []))]


@dataclass(frozen=True)
class ExplorerData:
    """What the explorer shows.

    Attributes
    ----------
    kinds : of failure, of every judge, dimension and case
    labels : the gold labels, by case
    votes : the annotations, by case
    verdicts : the verdicts on the case at a position, with replies where there are any
    manifests : of the runs, by the judge's name; none where the verdicts came as a table
    files : the probes of files that are at hand, by name
    """

    benchmark: Benchmark
    kinds: Kinds
    labels: ByCase
    votes: ByCase
    verdicts: Callable[[int], pd.DataFrame]
    manifests: Mapping[str, Manifest] = field(default_factory=dict)
    files: Mapping[str, FileProbe] = field(default_factory=dict)

    def case_html(self, position: int, *, judges: Sequence[str] = (), level: int = 3, side: int = SIDE) -> str:
        """The page of a case without its style, with the plain verdicts of some judges, or of all where none is named.

        Those under probes are in `probed_html`, a probe at a time: all at once are too many to read.
        """
        verdicts = self.verdicts(position)
        verdicts = verdicts[verdicts["probe"] == NO_PROBE]
        return case_html(
            self.benchmark.cases.iloc[position],
            images=self.benchmark.images,
            annotations=self.votes.of(position),
            gold=self.labels.of(position),
            verdicts=verdicts[verdicts["judge"].isin(list(judges))] if judges else verdicts,
            manifests=self.manifests,
            meta=self.benchmark.meta,
            level=level,
            style=False,
            side=side,
        )

    def probed_html(
        self, position: int, probe: str, *, judges: Sequence[str] = (), dimension: str | None = None, level: int = 3
    ) -> str:
        """A case as a probe changes it, without its style, once a seed of the runs that judged it so.

        Parameters
        ----------
        judges, dimension : whose verdicts, and on what, to show; all where none is named
        """
        verdicts = self.verdicts(position)
        verdicts = verdicts[verdicts["judge"].isin(list(judges))] if judges else verdicts
        verdicts = verdicts[verdicts["dimension"] == dimension] if dimension else verdicts
        names = verdicts.loc[verdicts["probe"] == probe, "judge"].unique().tolist() or list(judges) or self.kinds.judges
        by_seed: dict[int | None, list[str]] = {}
        for name in map(str, names):
            by_seed.setdefault(probe_seed(self.manifests.get(name)), []).append(name)
        return "".join(
            probed_html(
                self.benchmark,
                str(self.benchmark.cases["case_id"].iloc[position]),
                probe,
                seed=seed,
                verdicts=verdicts[verdicts["judge"].isin(own)],
                gold=self.labels.of(position),
                manifests={name: self.manifests[name] for name in own if name in self.manifests},
                files=self.files,
                level=level,
                style=False,
            )
            for seed, own in (by_seed or {None: []}).items()
        )

    def probes_of(self, position: int, query: Query) -> list[tuple[str, int, int]]:
        """Every probe of the verdicts: of how many in view, a judge's on a dimension of the case, how many changed."""
        judges = [self.kinds.judges.index(name) for name in judges_of(query)] or slice(None)
        dimensions = slice(None) if query.dimension is None else [self.kinds.dimensions.index(query.dimension)]
        share = self.kinds.changed[..., position][:, judges][:, :, dimensions]
        paired, changed = np.isfinite(share).sum(axis=(1, 2)), (share > 0).sum(axis=(1, 2))
        return list(zip(self.kinds.probes, paired.tolist(), changed.tolist(), strict=True))


def explorer_data(
    benchmark: Benchmark,
    verdicts: pd.DataFrame | CaseIndex | None = None,
    *,
    policy: str = POLICY,
    files: Mapping[str, FileProbe] | None = None,
) -> ExplorerData:
    """Lay out what the explorer shows.

    Parameters
    ----------
    verdicts : the verdicts table, or the index of `mrb_lib.review.failures.index`; None where nobody judged
    policy : the scoring policy that says what is wrong; that of an index, where one is given
    files : the probes of files that are at hand, see `mrb_lib.probes.from_file.file_probes`; None for none

    Raises
    ------
    InputError
        The policy is unknown or not the index's, or the verdicts are not of this benchmark.
    """
    files = files or {}
    ids = benchmark.cases["case_id"].tolist()
    votes = ByCase(benchmark.annotations, ids)
    if isinstance(verdicts, CaseIndex):
        if verdicts.kinds.policy != policy:
            raise InputError(f"policy {policy!r}: the index is of the policy {verdicts.kinds.policy}; build it anew.")
        labelled = ByCase(verdicts.gold, ids)
        manifests = verdicts.replies.manifests
        return ExplorerData(benchmark, verdicts.kinds, labelled, votes, verdicts.verdicts, manifests, files)
    table = pd.DataFrame(columns=list(_COLUMNS), dtype="str") if verdicts is None else verdicts
    table = table.reindex(columns=list(dict.fromkeys([*table.columns, *_COLUMNS, *_TEXTS])))
    # Texts that are missing are None, as in an index: equal to each other, which NaN is not.
    texts = {name: table[name].astype(object).where(table[name].notna(), None) for name in _TEXTS}
    table = table.assign(probe=table["probe"].fillna(NO_PROBE), **texts)
    kinds = benchmark_kinds(benchmark, read_panels(benchmark, [table]), scored_labels(benchmark), policy)
    return ExplorerData(benchmark, kinds, ByCase(gold(benchmark), ids), votes, ByCase(table, ids).of, files=files)


def page_of(data: ExplorerData, query: Query, positions: IntArray) -> str:
    """The selection as a page of its own for the printer, at most `MOST_PRINTED` cases."""
    judges, cases = judges_of(query), list[str]()
    for position in positions[:MOST_PRINTED].tolist():
        cases.append(data.case_html(position, judges=judges, level=2, side=_SIDE))
        if query.changed_by is not None and query.changed_by != ANY_PROBE:
            cases.append(data.probed_html(position, query.changed_by, judges=judges, dimension=query.dimension))
    n, most = len(positions), MOST_PRINTED
    return template("explorer_print").render(
        name=data.benchmark.meta.name, note=kind_note(data.benchmark.meta.kind), n=f"{n:,}", words=in_words(query),
        is_part=n > most, most=most, cases=cases,
    )  # fmt: skip


def static_view(data: ExplorerData, query: Query, positions: list[int]) -> str:
    """The plain view of a notebook: the query in words, the list, and the first cases whole."""
    listed = data.benchmark.cases.iloc[positions][["case_id", "question"]]
    return template("explorer_static").render(
        styles=("case/case", "explorer/explorer"), note=kind_note(data.benchmark.meta.kind),
        n=f"{len(positions):,}", words=in_words(query),
        rows=listed.head(_STATIC_ROWS).astype(str).values.tolist(), more=len(positions) - _STATIC_ROWS,
        html=[data.case_html(position, side=_STATIC_SIDE) for position in positions[:_STATIC_CASES]],
    )  # fmt: skip


def in_words(query: Query) -> list[tuple[str, str]]:
    """Return the filters of a query with their values, and its order, as words to show."""
    asked = {name.replace("_", " "): value for name, value in vars(query).items() if name not in ("sort", "desc")}
    words = [
        (name, (" or ".join(value) if isinstance(value, tuple) else value) or "none")
        for name, value in asked.items()
        if value not in (None, ()) and (value or name in PLACES)
    ]
    return words + [("sort", f"{'highest' if query.desc else 'lowest'} {query.sort} first")] * bool(query.sort)
