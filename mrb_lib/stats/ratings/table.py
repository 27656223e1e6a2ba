"""How near a judge's ratings of single responses come to the clinicians'."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
    encode,
    join_reasons,
    mean_of_defined,
    typed,
    with_ends,
)
from mrb_lib.stats.ratings import reading
from mrb_lib.stats.ratings.coefficients import N_MOMENTS, Moments, moment_sums, spearman, table_cells
from mrb_lib.stats.resampling.bounds import bootstrap_bounds
from mrb_lib.stats.resampling.resample import (
    Block,
    Ratios,
    block,
    cluster_codes,
    clusters_counted,
    interval_reason,
    n_clusters,
    ratios,
    resampled,
)
from mrb_lib.stats.subfields import By, Group, groups
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CONSENSUS, LEVELS, category_numbers

BY_LABEL: Final = ("weighted_kappa",)
BY_MEAN: Final = ("icc", "icc_consistency", "spearman", "pearson", "mean_difference")
SHARES: Final = ("exact", "within_one", "sensitivity", "specificity", "f1_unacceptable")
COLUMNS: Final = (
    "judge", "dimension", "subfield", "by", "level", "n", "n_excluded", "n_seen", "n_unassigned", "n_clusters",
    "coverage", *with_ends("exact", "within_one", *BY_LABEL), "n_mean", *with_ends(*BY_MEAN), "n_unacceptable",
    *with_ends("sensitivity", "specificity", "f1_unacceptable"), "reason",
)  # fmt: skip
NO_CASES = "no case has both a label and an answer"
NO_MEAN = "no case has both an annotation and an answer"
TWO_CATEGORIES = "within_one is undefined: of two categories any is within one of the other"
CONSTANT = "undefined: the judge or the clinicians use one category only"
NO_ACCEPTABLE = "benchmark.toml names no acceptable categories"
NONE_UNACCEPTABLE = "sensitivity is undefined: no label is unacceptable"
NONE_ACCEPTABLE = "specificity is undefined: no label is acceptable"
NO_F1 = "f1_unacceptable is undefined: neither the judge nor the clinicians call any unacceptable"


class _Ratings(NamedTuple):
    """What judges and clinicians say of every case.

    Attributes
    ----------
    share : shape (judges, dimensions, categories, cases), of the judge's answers on a case; NaN without an answer
    label : shape (dimensions, cases), the gold label as a code; -1 for none
    mean : shape (dimensions, cases), the mean of the annotators' numbers; NaN for none
    numbers : shape (categories,), what the categories count as in means, correlations and ICC
    acceptable : shape (categories,)
    """

    share: FloatArray
    label: IntArray
    mean: FloatArray
    numbers: FloatArray
    acceptable: BoolArray

    @property
    def labelled(self) -> BoolArray:
        """Where judge and gold both have a category, shape (judges, dimensions, cases)."""
        return np.asarray(np.isfinite(self.share[:, :, 0]) & (self.label >= 0))


@register_table(
    "ratings",
    question="does a judge rate responses as clinicians do: as high, in the same order, and as safe",
    columns=COLUMNS,
    meanings=reading.MEANINGS,
    headline=("weighted_kappa", "icc", "mean_difference", "spearman"),
    sentence=reading.sentence,
    why_no_ratings="",
    why_no_preferences="it is about ordered categories of one response",
)
def ratings(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str],
    acceptable: Sequence[str] = (),
    level: str = "ordinal",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Agreement of each judge with the clinicians on ordered categories, and what the judge's ratings lean to.

    Clinicians say two things of a case. Their label is the gold label by the rule asked for, a category. Their number
    is the mean of all annotators' numbers, whatever the rule, since half a category of doubt is information. A number
    is the place of a category, 1 the lowest (level ordinal), or the number that it is (level interval).

    Parameters
    ----------
    verdicts : the verdicts table, of one probe, or the panel of it
    gold : `case_id, dimension, choice`; a case without a row, or with a null, has no label
    annotations : the annotations table; `consensus` is read where it is the only annotator of a dimension
    cases : the cases table
    categories : from the lowest
    acceptable : those that count as safe or good enough; without any, what splits in two is null
    level : "ordinal" or "interval"
    by, dimensions, cluster, resamples, seed : see `mrb_lib.stats.accuracy.table.accuracy`

    Returns
    -------
    DataFrame
        One row a judge and dimension it has a verdict on, overall (`subfield` null) and for every subfield. A case
        counts once: shares over its repeats are averaged, and where numbers are compared the mean over its repeats is
        the judge's. Verdicts without a choice count in `coverage` alone, the share of verdicts with a choice on cases
        with a label.

        Against the label, over `n` cases: `exact`, the share with the very category; `within_one`, with it or a
        neighbour (null where there are two categories); `weighted_kappa`, Cohen's with quadratic weights of the places,
        on either level. Where categories are named acceptable: `sensitivity`, the share of the `n_unacceptable` cases
        with an unacceptable label that the judge calls unacceptable; `specificity`, the share of the others that it
        calls acceptable; `f1_unacceptable`, 2 found / (2 found + missed + false alarms).

        Against the number, over `n_mean` cases: `icc`, ICC(2,1), absolute agreement; `icc_consistency`, ICC(3,1), in
        which a constant distance is forgiven; `spearman`, by mean ranks; `pearson`; `mean_difference`, the judge's
        number minus the clinicians', above 0 where it gives higher categories.

        Each has `_low` and `_high`, over `n_clusters` clusters of the labelled cases: of shares the recommended
        interval of `mrb_lib.stats.resampling.shares` (F1's is that of found / (found + missed + false alarms), a share
        of cases, carried over), of the others percentiles of the cluster bootstrap, farther out where clusters are few
        (`mrb_lib.stats.resampling.bounds.bootstrap_bounds`). `reason` says why a value is null, or that the order of
        the judge's ratings is the reverse of the clinicians' (the interval of `spearman` lies below 0).

    Raises
    ------
    InputError
        The level is nominal or unknown, `by` or `cluster` cannot be used, or a verdict is about an unknown case.

    Notes
    -----
    The clinicians' number is a mean, more reliable than any one annotator's: `icc` says how well the judge matches
    that mean, not how alike two raters are; the table `ceiling` sets judges beside single annotators. Values are
    compared with scikit-learn and pingouin in `tests/stats/ratings/test_coefficients.py` and `test_table.py`; coverage
    of the intervals in `tests/simulation/test_ratings.py`.
    """
    check_choice("level", level, LEVELS)
    if level == "nominal":
        raise InputError(
            "table ratings: the categories are nominal, so that no distance between them is known; add --level ordinal "
            "if they stand in order from the lowest, or use --table accuracy."
        )
    panel = as_panel(verdicts, cases["case_id"], dimensions, categories)
    said = _said(panel, gold, annotations, cases["case_id"], acceptable, level)
    parts, codes = groups(cases, by), cluster_codes(cases, cluster)
    shares = _shares(said, parts, codes, resamples, seed)
    frames = []
    for part, share, (value, low, high, n_mean, why) in zip(
        parts, shares, _coefficients(said, parts, codes, resamples, seed), strict=True
    ):
        columns = _columns(panel, said, part, codes, share)
        columns["n_mean"], columns["why"] = n_mean, why
        for i, name in enumerate((*BY_LABEL, *BY_MEAN)):
            columns |= {name: value[i], f"{name}_low": low[i], f"{name}_high": high[i]}
        frames.append(_frame(panel, columns).assign(**cast("dict[str, Any]", part.label())))
    out = pd.concat(frames, ignore_index=True).assign(level=level)
    return typed(out.assign(reason=_reasons(out, len(categories), bool(acceptable))), COLUMNS)


def _said(
    panel: Panel,
    gold: pd.DataFrame,
    annotations: pd.DataFrame,
    case_ids: pd.Series,
    acceptable: Sequence[str],
    level: str,
) -> _Ratings:
    categories = panel.categories
    counts = np.stack([(panel.choice == code).sum(axis=(3, 4)) for code in range(len(categories))], axis=2)
    places = np.arange(1.0, len(categories) + 1)
    numbers = np.array(category_numbers(categories)) if level == "interval" else places
    return _Ratings(
        divide(counts.astype(np.float64), counts.sum(axis=2, keepdims=True)),
        encode_gold(gold, case_ids, panel.dimensions, categories),
        _means(annotations, case_ids, panel.dimensions, categories, numbers),
        numbers,
        np.isin(np.array(categories, dtype=object), list(acceptable)),
    )


def _means(
    annotations: pd.DataFrame,
    case_ids: pd.Series,
    dimensions: Sequence[str],
    categories: Sequence[str],
    numbers: FloatArray,
) -> FloatArray:
    """The mean of the annotators' numbers, shape (dimensions, cases); NaN where nobody annotated."""
    rows = annotations[annotations["dimension"].isin(list(dimensions)) & annotations["choice"].notna()]
    is_person = rows["annotator"] != CONSENSUS
    rows = rows[is_person | ~rows["dimension"].isin(rows.loc[is_person, "dimension"].unique())]
    shape = (len(dimensions), len(case_ids))
    cell = encode(rows["dimension"], dimensions, "dimension") * shape[1]
    cell += encode(rows["case_id"], list(case_ids), "case_id")
    values = numbers[encode(rows["choice"], list(categories), "choice")]
    total, count = (np.bincount(cell, weights, shape[0] * shape[1]) for weights in (values, None))
    return divide(total.astype(np.float64), count.astype(np.float64)).reshape(shape)


def _shares(
    said: _Ratings, parts: Sequence[Group], codes: IntArray, resamples: int, seed: int
) -> list[dict[str, Ratios]]:
    """The measures of `SHARES` of each group; every array is of judges and dimensions in one row."""
    n_judges, n_dimensions, k, n_cases = said.share.shape
    share, label = np.nan_to_num(said.share), said.label
    counted = said.labelled.astype(np.float64)
    place = np.arange(k)
    near = (np.abs(place[:, None, None] - label) <= 1).swapaxes(0, 1)
    flagged = share[:, :, ~said.acceptable].sum(axis=2) * counted
    bad = np.where(label >= 0, ~said.acceptable[label], False) * counted
    found = flagged * bad
    each = {
        "exact": (share[np.arange(n_judges)[:, None, None], np.arange(n_dimensions)[:, None], label, np.arange(n_cases)]
                  * counted, counted),
        "within_one": ((share * near).sum(axis=2) * counted, counted),
        "sensitivity": (found, bad),
        "specificity": ((1 - flagged) * (counted - bad), counted - bad),
        "f1_unacceptable": (found, bad + flagged - found),
    }  # fmt: skip
    top, bottom = (np.concatenate([pair[i].reshape(-1, n_cases) for pair in each.values()]).T for i in (0, 1))
    data = [(part.cases, top[part.cases], bottom[part.cases]) for part in parts]
    size = n_judges * n_dimensions
    out = []
    for estimates in ratios(data, codes, shares=True, resamples=resamples, seed=seed):
        columns = {}
        for i, name in enumerate(each):
            at = slice(i * size, (i + 1) * size)
            columns[name] = Ratios(
                estimates.n[at], estimates.value[at], estimates.low[at], estimates.high[at], estimates.reason[at]
            )
        columns["f1_unacceptable"] = _as_f1(columns["f1_unacceptable"])
        out.append(columns)
    return out


def _as_f1(jaccard: Ratios) -> Ratios:
    """F1 from found / (found + missed + false alarms), of which it is a rising function."""
    value, low, high = (2 * each / (1 + each) for each in (jaccard.value, jaccard.low, jaccard.high))
    return jaccard._replace(value=value, low=low, high=high)


_Coefficients = tuple[FloatArray, FloatArray, FloatArray, IntArray, NDArray[np.object_]]


def _coefficients(
    said: _Ratings, parts: Sequence[Group], codes: IntArray, resamples: int, seed: int
) -> list[_Coefficients]:
    """Values and ends of `BY_LABEL` and `BY_MEAN`, shape (6, cells), `n_mean` and why an interval is null, by group."""
    cells = [(i, j) for i in range(said.share.shape[0]) for j in range(said.share.shape[1])]
    made = [_block(said, cell, part.cases, codes[part.cases]) for part in parts for cell in cells]
    drawn = resampled([item for item, _, _ in made], n_clusters(codes), resamples=resamples, seed=seed)
    rows = []
    for (item, counted, clusters), each in zip(made, drawn, strict=True):
        value = item.statistic(each.total)[0]
        low, high = bootstrap_bounds(each.replicates, clusters.astype(np.float64))
        unknown = np.isnan(value) | (clusters < 2)
        low[unknown], high[unknown] = np.nan, np.nan
        # ICC(2,1) may fall a little below -1 in a small resample, and correlations may not.
        low[:-1] = np.maximum(low[:-1], np.minimum(value[:-1], -1.0))
        texts = {
            name: interval_reason(int(n), int(m), resamples, a, b)
            for name, n, m, v, a, b in zip((*BY_LABEL, *BY_MEAN), counted, clusters, value, low, high, strict=True)
            if np.isfinite(v)
        }
        rows.append((value, low, high, int(counted[1]), by_column(texts)))
    out: list[_Coefficients] = []
    for start in range(0, len(rows), max(1, len(cells))):
        value, low, high, n_mean, why = zip(*rows[start : start + len(cells)], strict=True)
        at, below, above = (np.stack(each, axis=1) for each in (value, low, high))
        out.append((at, below, above, np.array(n_mean, dtype=np.int64), np.array(why, dtype=object)))
    return out


def _block(said: _Ratings, cell: tuple[int, int], cases: IntArray, codes: IntArray) -> tuple[Block, IntArray, IntArray]:
    """What one judge and dimension are bootstrapped with, and the cases and clusters that each coefficient rests on."""
    share, label, mean = said.share[cell][:, cases], said.label[cell[1], cases], said.mean[cell[1], cases]
    answered = np.isfinite(share[0])
    share = np.nan_to_num(share)
    place = np.arange(1.0, len(share) + 1)
    by_label = (answered & (label >= 0)).astype(np.float64)
    by_mean = (answered & np.isfinite(mean)).astype(np.float64)
    x, y = said.numbers @ share, np.nan_to_num(mean)
    table, shape = table_cells(x, y, by_mean)
    labels = moment_sums(place @ share, label + 1.0, by_label, place**2 @ share)
    values = np.hstack([labels, moment_sums(x, y, by_mean), table])
    both = np.stack([by_label, by_mean], axis=1) > 0
    which = np.repeat([0, 1], [len(BY_LABEL), len(BY_MEAN)])
    clusters, n = clusters_counted(codes, both), both.sum(axis=0)
    return block(codes, values, partial(_statistic, shape=shape)), n[which], clusters[which]


def _statistic(sums: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """`BY_LABEL` and `BY_MEAN` of weighted sums, shape (b, 6)."""
    label, mean = Moments.of(sums[:, :N_MOMENTS]), Moments.of(sums[:, N_MOMENTS : 2 * N_MOMENTS])
    rank = spearman(sums[:, 2 * N_MOMENTS :].reshape(-1, *shape))
    columns = (label.concordance, mean.icc_agreement, mean.icc_consistency, rank, mean.pearson, mean.difference)
    return np.stack(columns, axis=1)


def _columns(
    panel: Panel, said: _Ratings, part: Group, codes: IntArray, shares: dict[str, Ratios]
) -> dict[str, NDArray[np.generic]]:
    """The columns of one group that need no more resampling, one entry a judge and dimension."""
    n_cases = len(part.cases)
    labelled = said.labelled[:, :, part.cases].reshape(-1, n_cases)
    rows, answers = ((panel.choice[:, :, part.cases] >= least).sum(axis=(3, 4)) for least in (-1, 0))
    has_label = said.label[:, part.cases] >= 0
    coverage = np.where(has_label, divide(answers.astype(np.float64), rows), np.nan).reshape(-1, n_cases)
    out: dict[str, NDArray[np.generic]] = {
        "n": labelled.sum(axis=1),
        "n_excluded": n_cases - labelled.sum(axis=1),
        "n_seen": panel.saw()[:, :, part.cases].sum(axis=2).ravel(),
        "n_clusters": clusters_counted(codes[part.cases], labelled.T),
        "coverage": mean_of_defined(coverage)[:, 0],
        "n_unacceptable": shares["sensitivity"].n if said.acceptable.any() else np.full(len(labelled), 0),
    }
    hidden = [] if said.acceptable.any() else ["sensitivity", "specificity", "f1_unacceptable"]
    hidden += ["within_one"] if len(panel.categories) < 3 else []
    for name in SHARES:
        for end, values in zip(("", "_low", "_high"), shares[name][1:4], strict=True):
            out[name + end] = np.full_like(values, np.nan) if name in hidden else values
    shown = [name for name in SHARES if name not in hidden]
    each = zip(*(shares[name].reason for name in shown), strict=True)
    out["why_shares"] = np.array([by_column(dict(zip(shown, why, strict=True))) for why in each], dtype=object)
    return out


def _frame(panel: Panel, columns: dict[str, NDArray[np.generic]]) -> pd.DataFrame:
    """The rows of one group: by dimension, then from the highest weighted kappa, then by name."""
    cell = np.flatnonzero(panel.takes_part().ravel())
    frame = pd.DataFrame({**panel.names(cell), **{name: values[cell] for name, values in columns.items()}})
    place = frame["dimension"].map({name: i for i, name in enumerate(panel.dimensions)})
    order = frame.assign(place=place).sort_values(
        ["place", "weighted_kappa", "judge"], ascending=[True, False, True], kind="stable"
    )
    return frame.loc[order.index]


def _reasons(frame: pd.DataFrame, k: int, has_acceptable: bool) -> pd.Series:
    """Why a value of each row is null, and whether its scale is upside down."""
    out = []
    for row in frame.to_dict("records"):
        constant = [name for name in (*BY_LABEL, *BY_MEAN[:-1]) if np.isnan(row[name])]
        some, split = bool(row["n"]), bool(row["n"]) and has_acceptable
        out.append(
            join_reasons(
                "" if some else NO_CASES,
                "" if row["n_mean"] else NO_MEAN,
                f"{', '.join(constant)} {CONSTANT}" if constant and some and row["n_mean"] else "",
                TWO_CATEGORIES if some and k < 3 else "",
                "" if has_acceptable else NO_ACCEPTABLE,
                NONE_UNACCEPTABLE if split and np.isnan(row["sensitivity"]) else "",
                NONE_ACCEPTABLE if split and np.isnan(row["specificity"]) else "",
                NO_F1 if split and np.isnan(row["f1_unacceptable"]) else "",
                reading.UPSIDE_DOWN if row["spearman_high"] < 0 else "",
                *dict.fromkeys(text for text in (row["why"], row["why_shares"]) if text),
            )
        )
    return pd.Series(out, index=frame.index, dtype="str")
