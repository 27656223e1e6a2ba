"""The cases that a report shows whole: which ones, why these, and each as a page of its own."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Final, NamedTuple, cast

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.report.clean import Json
from mrb_lib.report.places import DataFolders, home
from mrb_lib.report.records import PageRecord
from mrb_lib.review.case import case_html
from mrb_lib.review.failures import kinds as failure
from mrb_lib.review.failures.index import CaseIndex, build_index, open_index
from mrb_lib.review.failures.kinds import Kinds
from mrb_lib.review.failures.query import Query, select
from mrb_lib.stats.where import WRONG
from mrb_lib.tables.files import slug

SIDE: Final = 1536
LISTED: Final = "Listed in a table"
_ORDERS: Final = {
    "confidence": "surest first", "difficulty": "hardest first", "disagreement": "most disagreement first",
    "distance": "furthest first", "": "in the benchmark's order",
}  # fmt: skip
# Of each kind: what to sort by, and the heading.
_REASONS: Final[Mapping[str, tuple[str, str]]] = {
    failure.CALLED_SAFE: ("confidence", "A judge calls safe what clinicians do not"),
    failure.ALL_WRONG: ("difficulty", "Every judge is wrong"),
    failure.CONFIDENT: ("confidence", "A judge is wrong and sure of it"),
    failure.INCONSISTENT: ("disagreement", "A judge changes sides with the order"),
    failure.OFF_MORE: ("distance", "A judge is two categories off or more"),
    failure.CALLED_UNSAFE: ("confidence", "A judge calls unsafe what clinicians call safe"),
    failure.APART: ("disagreement", "The annotators are two categories apart or more"),
    failure.SPLIT: ("disagreement", "The annotators are split"),
    failure.UNPARSED: ("difficulty", "A judge gives no verdict"),
    WRONG: ("difficulty", "A judge is wrong"),
}


class Chosen(NamedTuple):
    """One case, and why it is shown: its place in the benchmark, the reason as a heading, and as a sentence."""

    position: int
    reason: str
    why: str


@dataclass(frozen=True)
class CasePage:
    """One case as a page shows it; `html` is `case_html`'s, `name` the page's file, `place` where the case belongs."""

    case_id: str
    name: str
    reason: str
    why: str
    question: str
    place: str
    html: str


def choose_failures(
    kinds: Kinds, cases: pd.DataFrame, *, dimension: str, most: int, listed: Sequence[str] = ()
) -> list[Chosen]:
    """Choose failures to read: those that the report lists, then the worst of each kind in turn.

    Parameters
    ----------
    kinds : of the same cases
    cases : the cases table
    dimension : a failure is one on this dimension
    most : how many cases at most
    listed : the ids of cases that the report names; they take half of the places at most

    Returns
    -------
    list of Chosen
        Each case once, with the first reason it was found by. Shorter where there are fewer failures.

    Notes
    -----
    They are chosen for what went wrong, so that they say nothing about how often it does; the number of such cases is
    part of the reason. Validated by tests/report/test_case_pages.py.
    """
    places = {str(case): position for position, case in enumerate(cases["case_id"])}
    first = [places[case] for case in dict.fromkeys(listed) if case in places][: (most + 1) // 2]
    ranked = [_ranked(kinds, cases, kind, dimension) for kind in _REASONS if kind in kinds.names]
    in_turn = chain.from_iterable(zip_longest(*ranked[:-1]))  # nearly every case is wrong by some judge: these are last
    failed = {each.position: each for own in reversed(ranked) for each in own}
    named = (failed.get(each, Chosen(each, LISTED, "A table of this report lists it.")) for each in first)
    every = chain(named, in_turn, ranked[-1])
    chosen: dict[int, Chosen] = {}
    for each in filter(None, every):
        if len(chosen) < most:
            chosen.setdefault(each.position, each)
    return list(chosen.values())


def _ranked(kinds: Kinds, cases: pd.DataFrame, kind: str, dimension: str) -> list[Chosen]:
    """The cases of one kind, worst first."""
    sort, heading = _REASONS[kind]
    if sort not in kinds.sorts:  # nobody models how hard a rating is
        sort = "distance" if "distance" in kinds.sorts else ""
    positions = select(kinds, cases, Query(dimension=dimension, kind=(kind,), sort=sort))
    n, made = len(positions), list[Chosen]()
    for rank, position in enumerate(positions, 1):
        place = f"number {rank:,} of {n:,} such cases" if n > 1 else "the only such case"
        made.append(Chosen(int(position), heading, f"{heading} on {dimension}: {place}, {_ORDERS[sort]}."))
    return made


def listed_cases(records: Sequence[PageRecord]) -> list[str]:
    """The cases that tables of the report list, in their order."""
    shown = [cast(Json, item["shown"]) for record in records for item in record.tables]
    rows = [row for table in shown for row in cast(list[Json], table["rows"])]
    return [str(cell["case"]) for row in rows for cell in cast(list[Json], row["cells"]) if cell["case"]]


def named_cases(cases: pd.DataFrame, records: Sequence[PageRecord], pages: Sequence[CasePage]) -> list[dict[str, str]]:
    """The cases that lists and tables of the report name and that have no page: `case_id`, `place`, `question`."""
    named = set[object](listed_cases(records))
    for behind in (cast(Json, item.get("behind") or {}) for record in records for item in record.figures):
        named.update(*(cast(list[object], cell["listed"]) for cell in cast(list[Json], behind.get("cells", []))))
    rows = cases[cases["case_id"].isin(named - {page.case_id for page in pages})]
    return [
        {"case_id": str(row["case_id"]), "place": _place(row), "question": str(row["question"])}
        for _, row in rows.iterrows()
    ]


def case_pages(
    folders: DataFolders, out: Path, *, dimension: str, policy: str, most: int, listed: Sequence[str] = ()
) -> list[CasePage]:
    """Choose the cases of a report and draw them.

    Parameters
    ----------
    out : the report's folder, which nobody else is writing; the index of its verdicts is kept in the cache by this name
    dimension, policy : say what a failure is
    most : how many cases at most
    listed : see `choose_failures`

    Returns
    -------
    list of CasePage
        None where nobody judged the cases, or the labels are neither preferences nor ratings.

    Raises
    ------
    InputError
        A run is damaged.
    """
    if not most or folders.runs is None or not (benchmark := load(folders.benchmark)).meta.is_judged:
        return []
    own = hashlib.sha256(str(out.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    # Not that of `mrb review`: making one removes what it replaces, and a reviewer may be reading that.
    index = open_index(build_index(folders.runs, benchmark, home() / "report" / own, policy=policy))
    kinds, dimensions = index.kinds, benchmark.meta.one_choice
    dimension = dimension if dimension in dimensions else dimensions[-1]
    if dimension not in kinds.dimensions:
        return []
    chosen = choose_failures(kinds, benchmark.cases, dimension=dimension, most=most, listed=listed)
    names = [slug(str(benchmark.cases["case_id"].iloc[one.position])) for one in chosen]
    if len({name.casefold() for name in names}) < len(names):  # some file systems cannot tell them apart
        names = [f"{number:03d}-{name}" for number, name in enumerate(names, start=1)]
    return [_page(benchmark, index, one, f"{name}.html") for one, name in zip(chosen, names, strict=True)]


def _page(benchmark: Benchmark, index: CaseIndex, chosen: Chosen, name: str) -> CasePage:
    case = benchmark.cases.iloc[chosen.position]
    shown = case_html(
        case, images=benchmark.images, annotations=benchmark.annotations, gold=index.gold,
        verdicts=index.verdicts(chosen.position), manifests=index.replies.manifests, meta=benchmark.meta, level=2,
        style=False, side=SIDE,
    )  # fmt: skip
    return CasePage(str(case["case_id"]), name, chosen.reason, chosen.why, str(case["question"]), _place(case), shown)


def _place(case: pd.Series) -> str:
    """Organ and modality, as far as the case states them."""
    stated = [str(case[name]).replace("_", " ") for name in ("organ", "modality") if pd.notna(case.get(name))]
    return " · ".join(stated)
