"""Whether judges find the erroneous steps of a response, and the first of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.options import (
    BoolArray,
    FloatArray,
    IntArray,
    by_column,
    check_choice,
    divide,
    join_reasons,
    typed,
    with_ends,
)
from mrb_lib.stats.resampling.bounds import reasoned_bounds
from mrb_lib.stats.resampling.resample import (
    block,
    cluster_codes,
    clusters_counted,
    n_clusters,
    ratios,
    resampled,
)
from mrb_lib.stats.steps import reading
from mrb_lib.stats.steps.errors import MEASURES, Measured, measured, steps_of
from mrb_lib.stats.subfields import By, Group, groups
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import LEVELS

NO_STEPS = "no step has both a gold label and a verdict"
NO_ITEMS = "no item has verdicts and labels up to its first error"
UNDEFINED = {
    "precision": "precision is undefined: the judge calls no step erroneous",
    "recall": "recall is undefined: no step is erroneous",
    "f1": "f1 is undefined: no step is erroneous, or called so",
    "error_item_accuracy": "error_item_accuracy is undefined: no item has an error",
    "clean_item_accuracy": "clean_item_accuracy is undefined: every item has an error",
    "first_error_distance": "first_error_distance is undefined: no item has an error by the annotators and the judge",
}
_SHOWN = ("step_accuracy", "precision", "recall", "f1", "first_error_accuracy", "error_item_accuracy",
          "clean_item_accuracy", "first_error_f1", "first_error_distance")  # fmt: skip
COLUMNS = [
    "judge", "dimension", "subfield", "by", "erroneous", "n_items", "n_error_items", "n_steps", "n_erroneous",
    "n_flagged", "n_excluded", "n_seen", "n_unassigned", "n_clusters", "coverage", *with_ends(*_SHOWN), "reason",
]  # fmt: skip


@register_table(
    "steps",
    question="does a judge find the erroneous steps of a response, and the first of them",
    columns=COLUMNS,
    meanings=reading.MEANINGS,
    headline=("f1", "first_error_accuracy", "step_accuracy"),
    sentence=reading.sentence,
    why_no_ratings="",
    why_no_preferences="it is about the steps of one response, rated one by one",
)
def steps(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    offered: Sequence[str] = (),
    acceptable: Sequence[str] = (),
    level: str = "ordinal",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare the steps that each judge calls erroneous with those that the annotators do.

    Parameters
    ----------
    verdicts : the verdicts of one probe, or the panel of it
    gold : `case_id, dimension, choice`; a step without a row, or with a null, has no label
    cases : with `item` and `step`; cases without are left out
    offered : the categories, from the lowest
    acceptable : the categories of a step that is not erroneous; where none is named, all but the lowest
    level : of the categories; at "nominal" there is no lowest, so that `acceptable` has to name some
    by, dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`. Items are resampled, or what
        they share, never single steps

    Returns
    -------
    DataFrame
        One row a judge and dimension it has a verdict on, overall (`subfield` null) and by subfield. `erroneous`: the
        categories that count as erroneous. Every quantity is a mean over the judge's repeats, with a 95% interval.

        Of the `n_steps` with a gold label and a verdict (`n_excluded` others, of which the judge was trained on
        `n_seen`), of which annotators call `n_erroneous` erroneous and the judge `n_flagged`: `coverage`, the share of
        verdicts that have a choice; `step_accuracy`, the share that both call erroneous or neither does; `precision`,
        `recall` and `f1` of erroneous steps.
        A verdict without a choice (unparsed, refused) is wrong for `step_accuracy`, and calls nothing erroneous.

        Of the `n_items` whose steps all have a gold label and a verdict, up to the annotators' first error where there
        is one: `first_error_accuracy`, the share in which the judge's first erroneous step is theirs, or both have
        none; the same of the `n_error_items` with an error, `error_item_accuracy`, and of those without,
        `clean_item_accuracy`, and the harmonic mean of these two, `first_error_f1`. A verdict without a choice at or
        before that step is not right. `first_error_distance`: the mean distance in steps between the judge's first
        erroneous step and the annotators', where both have one.

        Intervals are those of `mrb_lib.stats.resampling.resample.ratios`; that of `first_error_f1` is of the cluster
        bootstrap, `mrb_lib.stats.resampling.bounds.reasoned_bounds`, and null where its items with or without an
        error are in fewer than two clusters. `reason` says why a value is null.

    Raises
    ------
    InputError
        No case is a step, an option is unknown, or nothing says which categories are erroneous.

    Notes
    -----
    First errors as in ProcessBench (Zheng et al. 2024, arXiv 2412.06559), which reports the harmonic mean; F1 of
    erroneous steps as process reward models are scored, by PRMBench (Song et al. 2025, arXiv 2501.03124) and on
    medical responses by MedPRMBench. Tied to a plain loop in tests/stats/steps/test_steps.py, where planted rates of
    hits and false alarms are recovered.
    """
    laid = steps_of(cases)
    panel = as_panel(verdicts, cases["case_id"], dimensions, offered)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
    is_error = erroneous(panel.categories, acceptable, level)
    parts, codes = groups(cases, by), cluster_codes(cases, cluster)
    named = ", ".join(name for name, error in zip(panel.categories, is_error, strict=True) if error)
    is_step = np.zeros(len(cases), dtype=bool)
    is_step[laid.cases] = True
    by_cell = []
    for judge, dimension in np.argwhere(panel.takes_part()).tolist():
        said = panel.choice[judge, dimension][laid.cases, 0]
        sums = measured(labels[dimension, laid.cases], said, is_error, laid, len(cases))
        own = {"judge": panel.judges[judge], "dimension": panel.dimensions[dimension], "erroneous": named}
        found = _estimates(sums, parts, codes, resamples, seed)
        seen = panel.saw()[judge, dimension] & is_step
        by_cell.append(
            [
                {**own, **part.label(), **each, "n_seen": seen[part.cases].sum()}
                for part, each in zip(parts, found, strict=True)
            ]
        )
    rows = pd.DataFrame([row for of_part in zip(*by_cell, strict=True) for row in of_part], columns=COLUMNS)
    n_steps = np.repeat([int(is_step[part.cases].sum()) for part in parts], len(by_cell))
    return typed(rows.assign(n_excluded=n_steps - rows["n_steps"].to_numpy(dtype=np.int64)), COLUMNS, erroneous="str")


def erroneous(categories: Sequence[str], acceptable: Sequence[str], level: str) -> BoolArray:
    """Which categories are erroneous: those that are not acceptable, or, where none is named, the lowest."""
    check_choice("level", level, LEVELS)
    if level == "nominal" and not acceptable:
        raise InputError(
            "table steps: the categories are nominal, so that none is the lowest; name those of a step without error "
            "as acceptable in benchmark.toml, or add --level ordinal where they are listed from the lowest."
        )
    if not categories:
        raise InputError("table steps: there are no categories; name them, from the lowest.")
    good = acceptable or categories[1:]
    return np.array([name not in good for name in categories])


def _estimates(
    sums: Measured, parts: Sequence[Group], codes: IntArray, resamples: int, seed: int
) -> list[dict[str, object]]:
    """The columns of one judge and dimension, by group of cases."""
    shares = [np.array([name != "first_error_distance" for name in MEASURES])] * len(parts)
    each = [(part.cases, sums.numerator[part.cases], sums.denominator[part.cases]) for part in parts]
    found = ratios(each, codes, shares=shares, resamples=resamples, seed=seed)
    of_items = [MEASURES.index(name) for name in ("error_item_accuracy", "clean_item_accuracy")]
    blocks = [block(codes[own], np.hstack([num[:, of_items], den[:, of_items]]), _harmonic) for own, num, den in each]
    drawn = resampled(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    out = []
    for (own, _, den), ratio, item_draws in zip(each, found, drawn, strict=True):
        n = dict(zip(MEASURES, ratio.n.tolist(), strict=True))
        row: dict[str, object] = {
            "n_items": n["first_error_accuracy"],
            "n_error_items": n["error_item_accuracy"],
            "n_steps": n["step_accuracy"],
            "n_erroneous": n["recall"],
            "n_flagged": n["precision"],
            "n_clusters": int(clusters_counted(codes[own], den[:, [MEASURES.index("step_accuracy")]] > 0)[0]),
        }
        for i, name in enumerate(MEASURES):
            row |= dict(zip(with_ends(name), (ratio.value[i], ratio.low[i], ratio.high[i]), strict=True))
        value, counted = _harmonic(item_draws.total)[0], den[:, of_items] > 0
        fewest = clusters_counted(codes[own], counted).min(keepdims=True)
        ends, [of_f1] = reasoned_bounds(item_draws.replicates, value, counted.any(axis=1).sum(keepdims=True), fewest)
        row |= dict(zip(with_ends("first_error_f1"), (value[0], *ends[:, 0]), strict=True))
        why = dict(zip(MEASURES, ratio.reason, strict=True)) | {"first_error_f1": of_f1}
        out.append({**row, "reason": _reason(n, by_column({name: why[name] for name in _SHOWN}))})
    return out


def _reason(n: dict[str, int], of_interval: str) -> str | None:
    """Why values are null, from how many cases or items each is of."""
    if not n["step_accuracy"]:
        return NO_STEPS
    without = (
        [] if n["first_error_accuracy"] else ["error_item_accuracy", "clean_item_accuracy", "first_error_distance"]
    )
    said = [why for name, why in UNDEFINED.items() if not n[name] and name not in without]
    return join_reasons("" if n["first_error_accuracy"] else NO_ITEMS, *said, of_interval)


def _harmonic(sums: FloatArray) -> FloatArray:
    """The harmonic mean of two ratios, shape (b, 1), from their numerators and denominators; of zeros it is 0."""
    one, other = divide(sums[:, :2], sums[:, 2:]).T
    mean = np.where(one + other == 0, 0.0, divide(2 * one * other, one + other))
    return np.where(np.isnan(one + other), np.nan, mean)[:, None]
