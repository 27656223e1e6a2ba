"""How far annotators agree with each other, beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import krippendorff
import numpy as np
import pandas as pd
from statsmodels.stats.inter_rater import fleiss_kappa

from mrb_lib.errors import InputError
from mrb_lib.schema import CHOICES, CONSENSUS, LEVELS, Level
from mrb_lib.stats.agreement_kernel import COEFFICIENTS, Kernel, case_statistics, category_values
from mrb_lib.stats.labels import Part, encode_annotations, parts
from mrb_lib.stats.options import FloatArray, IntArray, join_reasons, typed
from mrb_lib.stats.pairwise import agreement_and_kappa, mean_kappa, total
from mrb_lib.stats.resample import Block, block, cluster_codes, interval, interval_reason, n_clusters, replicates
from mrb_lib.stats.subfields import groups

NOBODY_PAIRED = "no case has two annotators"
FEW_CASES = "fewer than two cases have two annotators"
ONE_CATEGORY = "one category only: agreement beyond chance is undefined"
NO_KAPPA = "cohen_kappa is undefined for every pair of annotators"
FEW_SHARED = "the two annotators share fewer than two cases"
ENOUGH_SHARED = 10
SPARSE_PAIR = f"no interval for cohen_kappa: the two share fewer than {ENOUGH_SHARED} cases"
SPARSE_PAIRS = f"no interval for cohen_kappa: most pairs of annotators share fewer than {ENOUGH_SHARED} cases"
_SHOWN = ("percent_agreement", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1")
COLUMNS = [
    "dimension",
    "subfield",
    "by",
    "n_cases",
    "n_unpaired",
    "n_unassigned",
    "n_annotators",
    "n_categories",
    "n_pairs",
    "n_pairs_undefined",
    "level",
    *(name + bound for name in _SHOWN for bound in ("", "_low", "_high")),
    "reason",
]
PAIR_COLUMNS = [
    "dimension",
    "subfield",
    "by",
    "annotator_1",
    "annotator_2",
    "n",
    "n_unassigned",
    "percent_agreement",
    "percent_agreement_low",
    "percent_agreement_high",
    "cohen_kappa",
    "cohen_kappa_low",
    "cohen_kappa_high",
    "reason",
]


def agreement(
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str] = CHOICES,
    level: str = "nominal",
    by: str | None = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Agreement between annotators on each dimension, overall and by subfield, with intervals.

    Parameters
    ----------
    annotations : the annotations table; annotators may be missing on any case. Rows of
        the annotator `consensus` are nobody's own, and are left out.
    cases : the cases table
    categories : the labels, in their order where `level` is ordinal or interval; on the
        interval level labels that are numbers count as these numbers, others as their positions
    level : of measurement, "nominal", "ordinal" or "interval"; Krippendorff's alpha alone uses it
    by, dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`

    Returns
    -------
    DataFrame
        One row a dimension, overall (`subfield` null) and for every subfield:
        `n_cases` with two annotators or more; `n_unpaired` with one; `n_unassigned` in no
        subfield; `n_annotators`; `n_categories` the labels in use (see Notes); `n_pairs` of
        annotators with a defined kappa, `n_pairs_undefined` others that share cases; `level`;
        and, each with the bounds `_low`, `_high` of a 95% percentile cluster-bootstrap interval:
        `percent_agreement` the share of agreeing pairs of annotators, a mean over cases;
        `cohen_kappa` the mean over pairs of annotators that share two cases or more and
        have a defined kappa; `fleiss_kappa`; `krippendorff_alpha`; `gwet_ac1`.
        `reason` says why values are null.

    Raises
    ------
    InputError
        `level` is unknown, a choice is not among the categories, `by` or `cluster` cannot
        be used, or an annotation speaks of an unknown case.

    Notes
    -----
    Where annotators are missing, Fleiss' kappa takes chance agreement from each case's
    shares of the categories, averaged over all annotated cases, as Gwet (2014, Handbook of
    Inter-Rater Reliability, 4th ed., ch. 3) does; with complete annotations it is Fleiss
    (1971). AC1 is Gwet's (2008, doi:10.1348/000711006X126600); its number of categories is
    that of the labels used anywhere in `annotations`, whatever the dimension or subfield, so
    that subfields compare; AC1 stays defined where all gave one label of several in use,
    while the kappas and alpha are null. Alpha is Krippendorff's (2011).
    Kappas of pairs that share few cases are biased, and more so in resamples, so that a
    bootstrap interval would miss its own estimate (it does on LLMFAO's 124 annotators): there
    is none for `cohen_kappa` where the median pair shares fewer than `ENOUGH_SHARED` cases.
    Validated in `tests/published/` and `tests/stats/test_agreement.py`; coverage in
    `tests/simulation/test_coverage.py`.
    """
    if level not in LEVELS:
        raise InputError(f"level {level!r} is unknown; use one of {', '.join(LEVELS)}.")
    coded = encode_annotations(annotations, cases, categories, dimensions)
    used = annotations.loc[annotations["annotator"] != CONSENSUS, "choice"].nunique()
    kernel = Kernel(cast(Level, level), category_values(categories), int(used))
    codes = cluster_codes(cases, cluster)
    found = list(parts(coded, groups(cases, by), len(cases), len(categories)))
    kappa = partial(mean_kappa, n_categories=len(categories))
    blocks = []
    for part in found:
        blocks.append(block(codes[part.cases], case_statistics(part.votes), kernel.coefficients))
        blocks.append(block(codes[part.cases], part.pairs.shared_by(2, len(categories)).sums, kappa))
    replicated = replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    rows = []
    for i, part in enumerate(found):
        estimate, text = _estimates(part, kernel, coded.absence(part.dimension))
        drawn = np.hstack(replicated[2 * i : 2 * i + 2])
        row = _described(part, kernel) | {"dimension": coded.dimensions[part.dimension]}
        rows.append(row | _with_intervals(part, estimate, text, drawn, blocks[2 * i], resamples))
    return typed(pd.DataFrame(rows, columns=COLUMNS), COLUMNS)


def _described(part: Part, kernel: Kernel) -> dict[str, object]:
    n_votes = part.votes.sum(axis=1)
    shared = part.pairs.shared_by(2, part.votes.shape[1])
    kappas = agreement_and_kappa(total(shared), part.votes.shape[1])
    defined = int(np.isfinite(kappas[0, len(shared.n) :]).sum())
    return {
        **part.group.label(),
        "n_cases": int((n_votes >= 2).sum()),
        "n_unpaired": int((n_votes == 1).sum()),
        "n_annotators": part.n_annotators,
        "n_categories": kernel.n_categories,
        "n_pairs": defined,
        "n_pairs_undefined": len(part.pairs.n) - defined,
        "level": kernel.level,
    }


def _estimates(part: Part, kernel: Kernel, absence: str) -> tuple[dict[str, float], list[str]]:
    """The coefficients, and why some of them are NaN."""
    estimate = dict.fromkeys(_SHOWN, np.nan)
    n_cases = int((part.votes.sum(axis=1) >= 2).sum())
    if n_cases < 2:
        return estimate, [absence if not len(part.cases) else FEW_CASES if n_cases else NOBODY_PAIRED]
    sums = case_statistics(part.votes).sum(axis=0)[None, :]
    estimate |= dict(zip(COEFFICIENTS, kernel.coefficients(sums)[0].tolist(), strict=True))
    shared = part.pairs.shared_by(2, part.votes.shape[1])
    estimate["cohen_kappa"] = float(mean_kappa(total(shared), part.votes.shape[1])[0, 0])
    paired = part.votes[part.votes.sum(axis=1) >= 2]
    reasons = []
    if (paired.sum(axis=0) > 0).sum() < 2:
        estimate["krippendorff_alpha"] = np.nan
        reasons.append(ONE_CATEGORY)
    else:
        estimate["krippendorff_alpha"] = float(
            krippendorff.alpha(
                value_counts=part.votes,
                value_domain=kernel.values,
                level_of_measurement=kernel.level,
            )
        )
        if _is_complete(part.votes):
            estimate["fleiss_kappa"] = float(fleiss_kappa(part.votes, method="fleiss"))
    if np.isnan(estimate["cohen_kappa"]):
        reasons.append(NO_KAPPA)
    return estimate, reasons


def _is_complete(votes: FloatArray) -> bool:
    n_votes = votes.sum(axis=1)
    return bool((n_votes == n_votes[0]).all())


def _with_intervals(
    part: Part, estimate: dict[str, float], reasons: list[str], drawn: FloatArray, item: Block, resamples: int
) -> dict[str, object]:
    """The coefficients with their bounds; `drawn` has the columns of the kernel, then the mean kappa."""
    low, high = interval(drawn)
    order = (*COEFFICIENTS, "cohen_kappa")
    paired_clusters = int((item.sums[:, 0] > 0).sum())
    row: dict[str, object] = {}
    n_cases = int((part.votes.sum(axis=1) >= 2).sum())
    shared = part.pairs.shared_by(2, part.votes.shape[1]).n
    sparse = bool(len(shared)) and np.median(shared) < ENOUGH_SHARED
    notes = [SPARSE_PAIRS] if sparse and np.isfinite(estimate["cohen_kappa"]) else []
    for i, name in enumerate(order):
        defined = np.isfinite(estimate[name]) and paired_clusters >= 2 and not (name == "cohen_kappa" and sparse)
        row[name] = estimate[name]
        row[f"{name}_low"], row[f"{name}_high"] = (low[i], high[i]) if defined else (np.nan, np.nan)
        if defined or paired_clusters < 2:
            notes.append(interval_reason(n_cases, paired_clusters, resamples, low[i], high[i]))
    row["reason"] = join_reasons(*reasons, *dict.fromkeys(notes))
    return row


def annotator_pairs(
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str] = CHOICES,
    by: str | None = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Agreement of every two annotators that share cases: the pairwise matrix in long form.

    Parameters
    ----------
    As in `agreement`.

    Returns
    -------
    DataFrame
        One row a dimension, group of cases and pair: `dimension`, `subfield`, `by`,
        `annotator_1`, `annotator_2`, `n` cases they share, `n_unassigned`,
        `percent_agreement` and `cohen_kappa`, each with `_low` and `_high`, `reason`. Null
        for fewer than two shared cases (the kappa's interval: fewer than `ENOUGH_SHARED`);
        the kappa is also null where both gave one and the same label only. Where nobody
        shares a case there is one row without annotators.

    Raises
    ------
    InputError
        As in `agreement`.

    Notes
    -----
    The published kappas of PandaLM's annotators: `tests/published/test_pandalm.py`.
    """
    coded = encode_annotations(annotations, cases, categories, dimensions)
    codes = cluster_codes(cases, cluster)
    n_categories = len(categories)
    found = list(parts(coded, groups(cases, by), len(cases), n_categories))
    statistic = partial(agreement_and_kappa, n_categories=n_categories)
    blocks = [block(codes[part.cases], part.pairs.sums, statistic) for part in found]
    replicated = replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    frames = []
    for part, item, drawn in zip(found, blocks, replicated, strict=True):
        if len(part.pairs.n):
            frame = _pair_frame(part, item, drawn, n_categories, resamples)
            names = np.array(coded.annotators, dtype=object)
            frame["annotator_1"], frame["annotator_2"] = names[part.pairs.first], names[part.pairs.second]
        else:
            reason = NOBODY_PAIRED if len(part.cases) else coded.absence(part.dimension)
            frame = pd.DataFrame([{**part.group.label(), "n": 0, "reason": reason}], columns=PAIR_COLUMNS)
        frame["dimension"] = coded.dimensions[part.dimension]
        frames.append(typed(frame, PAIR_COLUMNS))
    if not frames:
        return typed(pd.DataFrame(columns=PAIR_COLUMNS), PAIR_COLUMNS)
    return pd.concat(frames, ignore_index=True)


def _pair_frame(part: Part, item: Block, drawn: FloatArray, n_categories: int, resamples: int) -> pd.DataFrame:
    n = part.pairs.n
    values = agreement_and_kappa(total(part.pairs), n_categories)[0]
    low, high = interval(drawn)
    clusters = _clusters_of_pairs(item, len(n), n_categories)
    values[np.tile(n < 2, 2)] = np.nan
    unknown = np.isnan(values) | np.tile(clusters < 2, 2)
    unknown[len(n) :] |= n < ENOUGH_SHARED
    low[unknown], high[unknown] = np.nan, np.nan
    kappa = values[len(n) :]
    reasons = [FEW_SHARED if shared < 2 else "" for shared in n]
    for i in np.flatnonzero(n >= 2).tolist():
        texts = [ONE_CATEGORY if np.isnan(kappa[i]) else SPARSE_PAIR if n[i] < ENOUGH_SHARED else ""]
        texts.append(interval_reason(int(n[i]), int(clusters[i]), resamples, low[i], high[i]))
        reasons[i] = join_reasons(*texts) or ""
    columns: dict[str, object] = {**part.group.label(), "n": n, "reason": [text or None for text in reasons]}
    for i, name in enumerate(("percent_agreement", "cohen_kappa")):
        place = slice(i * len(n), (i + 1) * len(n))
        columns |= {name: values[place], f"{name}_low": low[place], f"{name}_high": high[place]}
    return pd.DataFrame(columns)


def _clusters_of_pairs(item: Block, n_pairs: int, n_categories: int) -> IntArray:
    """How many clusters hold cases that each pair shares."""
    cluster, column = item.sums.nonzero()
    pair = column // (1 + 2 * n_categories)
    seen = np.unique(cluster.astype(np.int64) * max(1, n_pairs) + pair)
    return np.bincount(seen % max(1, n_pairs), minlength=n_pairs).astype(np.int64)
