"""What the coordinator watches in people: who agrees with whom, how fast each works, whether their answers drift."""

from __future__ import annotations

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.annotate.tables import UNDEFINED, estimate, muted, quiet, records, sentence, table, when
from mrb_lib.review.records.answer_log import COMMENT, counting_choices
from mrb_lib.review.records.progress import pace
from mrb_lib.review.text import isolated
from mrb_lib.stats.methods.drift import drift
from mrb_lib.stats.tables.agreement import PAIR, agreement_of

_MOST_COMMENTS = 200
_PAIRS = (
    "Agreement is the share of these cases on which both chose the same, kappa what it is beyond chance; 95% "
    "intervals resample cases. A pair that stands out on a few cases is a reason to talk, not a finding."
)
_PACE = (
    "Hours are those in which a case was in sight and the page in front; a rest at an open page counts, too, "
    "which the median feels least. Few cases say little."
)
_DRIFT = (
    "A description and no test: the halves hold different cases, so that shares differ by chance alone, and of "
    "few answers by much. Near 0.50 of first shown is no leaning to what stands first."
)


def defined_reasons(reasons: pd.Series) -> list[str]:
    """Why values are null, without the measures that labels of the level cannot have: nobody waits for these."""
    each = reasons.fillna("").str.split("; ")
    never = ("nominal labels:", "ordinal labels:")
    return ["; ".join(why for why in of_row if not why.startswith(never)) for of_row in each]


def pairs_html(benchmark: Benchmark, annotations: pd.DataFrame, *, resamples: int = 2000) -> str:
    """Every two annotators on the cases that both answered, from the table `agreement`."""
    meta, several = benchmark.meta, list(benchmark.meta.labels)
    found = agreement_of(
        annotations[~annotations["dimension"].isin(several)], benchmark.cases, categories=meta.categories,
        level=meta.level, dimensions=meta.one_choice, resamples=resamples, pairwise=True,
    )  # fmt: skip
    left_out = f" Without dimensions of several labels: {', '.join(map(isolated, several))}." if several else ""
    found = found[found["part"] == PAIR].assign(reason=lambda rows: defined_reasons(rows["reason"]))
    if found.empty:
        return f"<p>No two annotators have answered the same case yet.{left_out}</p>"
    rows = []
    for row in records(found.sort_values(["annotator_1", "annotator_2"], kind="stable")):
        measures = [
            muted(estimate(*(float(row[f"{name}{end}"]) for end in ("", "_low", "_high")), missing=UNDEFINED))
            for name in ("percent_agreement", "cohen_kappa")
        ]
        pair = f"{isolated(row['annotator_1'])} and {isolated(row['annotator_2'])}"
        rows.append((pair, isolated(row["dimension"]), int(row["n_cases"]), *measures, sentence(row["reason"])))
    head = (
        "pair",
        "dimension",
        "cases both answered",
        "agreement",
        "Cohen's kappa",
        "why undefined, or how far to trust it",
    )
    return table(head, rows, "agreement of each pair of annotators") + quiet(_PAIRS + left_out)


def pace_html(log: pd.DataFrame) -> str:
    """How fast each annotator works; see `mrb_lib.review.records.progress.pace`."""
    found = pace(log[log["kind"] != COMMENT])
    if found.empty:
        return "<p>Nothing is answered yet.</p>"
    rows = [
        (
            isolated(row["annotator"]),
            row["answers"],
            row["untimed"],
            f"{row['hours']:.2f}",
            _number(row["answers_per_hour"], 0),
            row["cases"],
            _number(row["median_seconds"], 0),
        )
        for row in records(found)
    ]
    head = ("annotator", "answers with a time", "without", "hours", "answers an hour", "cases with every time",
            "median seconds a case")  # fmt: skip
    return table(head, rows, "pace of each annotator") + quiet(_PACE)


def drift_html(benchmark: Benchmark, log: pd.DataFrame) -> str:
    """The halves of each annotator; see `mrb_lib.stats.methods.drift.drift`."""
    found = drift(counting_choices(log), benchmark.cases, categories=benchmark.meta.categories)
    if found.empty:
        return "<p>Nothing is answered yet.</p>"
    rows = [
        (
            isolated(row["annotator"]),
            row["half"],
            row["n_cases"],
            row["n_answers"],
            *(_number(row[name], 2) for name in ("share_a", "share_first", "share_tie")),
            _number(row["agreement"], 2),
            row["n_compared"],
            "" if pd.isna(row["reason"]) else sentence(row["reason"]),
        )
        for row in records(found)
    ]
    head = ("annotator", "half of their cases", "cases", "answers", "chose A (of A or B)",
            "chose the first shown (of A or B)", "ties (of all)", "agrees with others", "answers compared",
            "why undefined")  # fmt: skip
    return table(head, rows, "first and second half of each annotator") + quiet(_DRIFT)


def comments_html(log: pd.DataFrame) -> str:
    """What annotators remarked, the latest first."""
    found = log[log["kind"] == COMMENT].iloc[::-1]
    if found.empty:
        return "<p>Nobody has commented.</p>"
    rows = [
        (isolated(row["case_id"]), isolated(row["annotator"]), sentence(row["comment"]), when(row["created"]))
        for row in records(found.head(_MOST_COMMENTS))
    ]
    more = quiet(f"and {len(found) - len(rows)} more, which the export has") if len(found) > len(rows) else ""
    return table(("case", "annotator", "comment", "when (UTC)"), rows, "comments") + more


def _number(value: float, digits: int) -> str:
    return muted(UNDEFINED) if value != value else f"{value:,.{digits}f}"
