"""The cases behind the marks of figures that show no accuracy, as lists for `behind` of `Workspace.figure`.

Each function gives a list frame (see `notebook.behind`), or `Absent` where the data lack what it is made from.
Validated by tests/report/notebook/test_case_lists.py.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from mrb_lib.figures.agreement import pair_name
from mrb_lib.figures.jury import NAMES
from mrb_lib.figures.models import SUSPECT
from mrb_lib.report.links import as_lists, counted, named, of_part, wrong_of
from mrb_lib.report.notebook.absent import Absent, Frame
from mrb_lib.report.notebook.workspace import Workspace
from mrb_lib.review.failures.kinds import INCONSISTENT, SPLIT
from mrb_lib.review.failures.lists import (
    disputed_cases,
    disputed_pairs,
    in_order,
    surely_wrong,
    turned_cases,
    unsure_cases,
)
from mrb_lib.review.failures.query import Query, to_fragment
from mrb_lib.stats.subfields import subfield_values
from mrb_lib.stats.tables.jury import missed_by_juries
from mrb_lib.tables.schema import NO_PROBE


def _plain(w: Workspace) -> pd.DataFrame:
    return w.verdicts[w.verdicts["probe"] == NO_PROBE]


def turned(w: Workspace) -> Frame:
    """Cases whose verdict turns with the order, of each judge and dimension: for `consistency` and what follows it."""
    if reason := w.missing("preferences", "verdicts", "orders"):
        return Absent(reason)
    made = turned_cases(_plain(w), w.benchmark.cases)
    of = zip(made["judge"], made["dimension"], made["listed"], made["n"], strict=True)
    rows = [
        {
            "row": judge,
            "dimension": dimension,
            "listed": listed,
            "stated": f"{len(listed):,} turned of {counted(n)} answered in both orders",
            "query": to_fragment(Query(judge, dimension=dimension, kind=(INCONSISTENT,), where=w.where))
            if listed
            else "",
        }
        for judge, dimension, listed, n in of
    ]
    about = (
        "The cases on which a judge chooses something else when the responses change places, in one repeat at least. "
        "Where a judge was asked several times, the figure counts a case by the share of its repeats that turn."
    )
    return as_lists(pd.DataFrame(rows), about)


def surely_missed(w: Workspace) -> Frame:
    """Cases of each judge and dimension on which it is wrong with a confidence of .9 or more: for `calibration`."""
    if reason := w.missing("preferences", "annotations", "verdicts"):
        return Absent(reason)
    made = surely_wrong(_plain(w), w.labels(), w.benchmark.cases)
    rows = [
        {
            "row": row["judge"],
            "dimension": row["dimension"],
            "listed": row["listed"],
            "stated": f"{counted(len(row['listed']))}, with {row['n_verdicts']:,} wrong of "
            f"{counted(row['n'], 'verdict')} of confidence .9 or more",
            "query": named(Query(row["judge"], dimension=row["dimension"]), row["listed"]),
        }
        for row in made.to_dict("records")
    ]
    about = (
        "The cases on which a judge holds the other label for at least .9 probable, in one verdict at least; the "
        "table counts verdicts. Only cases with a decisive gold label count."
    )
    return as_lists(pd.DataFrame(rows), about)


def unsure(w: Workspace, selective: Frame, *, delta: float) -> Frame:
    """Cases that each judge should not answer alone, below the threshold that the figure of `selective` promises by."""
    if isinstance(selective, Absent):
        return selective
    promised = selective[(selective["part"] == "guarantee") & (selective["delta"] == delta)]
    promised = promised[(promised["reference"] == w.gold) & promised["subfield"].isna()]
    promised = promised[(promised["dimension"] == w.dimension) & promised["threshold"].notna()]
    thresholds = dict(zip(promised["judge"], promised["threshold"], strict=True))
    made = unsure_cases(_plain(w), w.labels(), w.benchmark.cases, thresholds, dimension=w.dimension)
    rows = [
        {
            "row": judge,
            "dimension": w.dimension,
            "listed": listed,
            "stated": f"{len(listed):,} of {counted(n)} below a confidence of {thresholds[judge]:.3f}",
            "query": named(Query(judge, dimension=w.dimension), listed),
        }
        for judge, listed, n in zip(made["judge"], made["listed"], made["n"], strict=True)
    ]
    about = (
        "The cases that a judge should not answer alone: its confidence is below the threshold that is promised, which "
        "all cases give together. A judge for which nothing can be promised, and so none of its answers, has no list."
    )
    return as_lists(pd.DataFrame(rows), about)


def suspect(w: Workspace, cases: Frame) -> Frame:
    """Cases whose gold label is more probably wrong than right: for the rows "case" of `difficulty`."""
    if isinstance(cases, Absent):
        return cases
    listed = in_order(cases.loc[cases["suspicion"] >= 0.5, "case_id"].tolist(), w.benchmark.cases)
    n = int(cases["suspicion"].notna().sum())
    row = {
        "row": SUSPECT,
        "dimension": w.dimension,
        "listed": listed,
        "stated": f"{len(listed):,} of {counted(n)} with a suspicion",
        "query": named(Query(dimension=w.dimension), listed),
    }
    about = (
        "The cases whose gold label is wrong with a posterior probability of one half or more, by the judges' verdicts."
    )
    return as_lists(pd.DataFrame([row]), about, rows="cases")


def disputed(w: Workspace) -> Frame:
    """Cases on which annotators do not all choose the same, of each dimension: for `agreement`."""
    if reason := w.missing("annotations", "annotators"):
        return Absent(reason)
    made = disputed_cases(w.benchmark.annotations, w.benchmark.cases)
    rows = []
    for dimension, n, listed, is_split in made.itertuples(index=False):
        query = Query(dimension=dimension, where=w.where)
        by_kind = is_split and w.benchmark.meta.is_preference and listed
        rows.append(
            {
                "row": "annotators",
                "dimension": dimension,
                "listed": listed,
                "stated": f"{len(listed):,} of {counted(n)} with several annotators",
                "query": to_fragment(replace(query, kind=(SPLIT,))) if by_kind else named(query, listed),
            }
        )
    return as_lists(pd.DataFrame(rows), "The cases on which annotators do not all choose the same.", rows="list")


def disputed_by_pairs(w: Workspace) -> Frame:
    """Cases on which two annotators choose differently, of each pair and dimension."""
    if reason := w.missing("annotations", "annotators"):
        return Absent(reason)
    made = disputed_pairs(w.benchmark.annotations, w.benchmark.cases)
    rows = [
        {
            "row": pair_name(one, two),
            "dimension": dimension,
            "listed": listed,
            "stated": f"{len(listed):,} of {counted(n)} that both annotated",
            "query": named(Query(dimension=dimension), listed),
        }
        for dimension, one, two, n, listed in made.itertuples(index=False)
    ]
    return as_lists(pd.DataFrame(rows), "The cases on which two annotators choose differently.", rows="annotators")


def missed(w: Workspace) -> Frame:
    """Cases that the juries of all judges get wrong: for the rows "jury" of `jury`."""
    if reason := w.missing("preferences", "annotations", "verdicts", "judges"):
        return Absent(reason)
    made = missed_by_juries(
        _plain(w), w.labels(), w.benchmark.cases_by_image, dimension=w.dimension, policy=w.policy,
        cluster=w.cluster or None, seed=w.seed,
    )  # fmt: skip
    rows = [
        {
            "row": NAMES[row["kind"]],
            "dimension": w.dimension,
            "listed": row["wrong"],
            "stated": wrong_of(row),
            "query": named(Query(dimension=w.dimension), row["wrong"]),
        }
        for row in made[made["n"] > 0].to_dict("records")
    ]
    about = (
        f"The cases on which a jury of all judges disagrees with the gold label: its score under the policy {w.policy} "
        "is below one half."
    )
    return as_lists(pd.DataFrame(rows), about, rows="jury")


def all_of(w: Workspace, by: str) -> Frame:
    """All cases of each value of a column: for `composition`."""
    if reason := w.missing(by):
        return Absent(reason)
    cases = w.benchmark.cases
    rows = []
    for name, own in cases.groupby(subfield_values(cases, by)):
        query = of_part(Query(where=w.where), cases, by, str(name))
        rows.append(
            {
                "row": "cases",
                "by": by,
                "subfield": str(name),
                "dimension": w.dimension,
                "listed": tuple(map(str, own["case_id"])),
                "stated": counted(len(own)),
                "query": "" if query is None else to_fragment(query),
            }
        )
    return as_lists(pd.DataFrame(rows), f"All cases, by {by.replace('_', ' ')}.", rows="list")
