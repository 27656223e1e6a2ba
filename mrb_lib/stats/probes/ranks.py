"""Whether a probe changes the order of judges: which of two is the more accurate with it and without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.options import FloatArray, IntArray, join_reasons
from mrb_lib.stats.probes.pairing import Paired, labelled
from mrb_lib.stats.rank_agreement import Strengths, rank_interval, ranks
from mrb_lib.stats.rankings import kendall
from mrb_lib.stats.resampling.resample import cluster_sums
from mrb_lib.stats.significance.paired import ALPHA
from mrb_lib.stats.subfields import Group

RANK: Final = "rank"
NO_SHARED_CASE: Final = "no case is scored with and without the probe for all judges"
FEW_CLUSTERS: Final = "no interval of a rank and no test: fewer than two clusters"
ALL_EQUAL: Final = "kendall_tau is undefined: all judges are equal with or without the probe"


class _Compared(NamedTuple):
    """The judges under one probe on one dimension, on the cases that all of them are scored on in both conditions.

    Attributes
    ----------
    judges : shape (J,), their positions
    plain, probed : their accuracies with the covariance over clusters
    """

    dimension: int
    probe: str
    judges: IntArray
    n: int
    n_clusters: int
    plain: Strengths
    probed: Strengths


def rank_rows(paired: Paired, whole: Group, correction: str, family: str) -> pd.DataFrame:
    """The rows of `part` "rank": a row a judge, for every probe of two judges or more under which labels hold."""
    compared = list(_compared(paired))
    if not compared:
        return pd.DataFrame()
    pairs = [np.triu_indices(len(each.judges), k=1) for each in compared]
    p_values = np.concatenate([_reversal_p(each)[own] for each, own in zip(compared, pairs, strict=True)])
    counts = [len(own[0]) for own in pairs]
    families = np.repeat([each.dimension if family == "dimension" else 0 for each in compared], counts)
    adjusted, size = adjust_families(p_values, families, correction)
    frames = [
        _rows(each, own_p, paired).assign(family=int(own_size[0]))
        for each, own_p, own_size in zip(
            compared, *(np.split(every, np.cumsum(counts)[:-1]) for every in (adjusted, size)), strict=True
        )
    ]
    return labelled(pd.concat(frames, ignore_index=True), whole).assign(
        part=RANK, policy=paired.options.policy, correction=correction, family_scope=family
    )


def _compared(paired: Paired) -> Iterator[_Compared]:
    for d in range(len(paired.dimensions)):
        for name, each in paired.cells.items():
            judges = np.flatnonzero(each.presented[:, d].any(axis=1))
            if len(judges) < 2 or paired.known[name].expected == "flips":
                continue  # where choices should flip, the label is no longer what is right
            plain, probed = each.plain[judges, d], each.probed[judges, d]
            shared = np.isfinite(plain + probed).all(axis=0)
            codes = paired.codes[shared]
            clusters = len(np.unique(codes))
            both = (_strengths(scores[:, shared], codes) for scores in (plain, probed))
            yield _Compared(d, name, judges, int(shared.sum()), clusters, *both)


def _strengths(scores: FloatArray, codes: IntArray) -> Strengths:
    """The mean scores of judges on the same cases, of shape (judges, cases)."""
    judges, n = scores.shape
    unknown = np.full((judges, judges), np.nan)
    if n == 0:
        return Strengths(np.full(judges, np.nan), unknown, np.nan)
    mean = scores.mean(axis=1)
    clusters, residuals = cluster_sums(codes, (scores - mean[:, None]).T)
    count = len(clusters)
    covariance = residuals.T @ residuals / n**2 * count / (count - 1) if count > 1 else unknown
    return Strengths(mean, covariance, count - 1)


def _gaps(strengths: Strengths) -> FloatArray:
    """The accuracy of each judge less that of each other; 0 where only rounding tells them apart."""
    gap = strengths.value[:, None] - strengths.value
    return np.where(np.abs(gap) < 1e-12, 0.0, gap)


def _is_reversed(each: _Compared) -> FloatArray:
    """1 where two judges stand in the other order under the probe, else 0; shape (J, J), NaN without cases."""
    product = _gaps(each.plain) * _gaps(each.probed)
    return np.where(np.isnan(product), np.nan, product < 0)


def _reversal_p(each: _Compared) -> FloatArray:
    """Of two judges that stand in the other order the larger p of the two differences, else 1; shape (J, J).

    A difference that is the same in all clusters has no error to go by, and shows nothing.
    """
    if each.n_clusters < 2:
        return np.full((len(each.judges),) * 2, np.nan)
    both = [
        2 * special.stdtr(strengths.df, -np.abs(_gaps(strengths) / strengths.errors))
        for strengths in (each.plain, each.probed)
    ]
    return np.where(_is_reversed(each) == 1, np.nan_to_num(np.maximum(*both), nan=1.0), 1.0)


def _rows(each: _Compared, adjusted: FloatArray, paired: Paired) -> pd.DataFrame:
    """A row a judge; `adjusted` has the p of each pair, in the order of the upper triangle."""
    about, judges = paired.known[each.probe], len(each.judges)
    p_values = np.full((judges, judges), np.nan)
    p_values[np.triu_indices(judges, k=1)] = adjusted
    p_values = np.fmax(p_values, p_values.T)
    others = ~np.eye(judges, dtype=bool)
    shown = np.where(np.isnan(p_values), np.nan, p_values <= ALPHA)
    columns: dict[str, object] = {
        "judge": [paired.judges[j] for j in each.judges],
        "dimension": paired.dimensions[each.dimension],
        "probe": about.name,
        "severity": about.severity,
        "expected": about.expected,
        "n": each.n,
        "n_clusters": each.n_clusters,
        "n_judges": judges,
        "n_reversed": _is_reversed(each).sum(axis=1, where=others),
        "n_reversed_shown": shown.sum(axis=1, where=others),
        "reversal_p_adjusted": p_values.min(axis=1, where=others, initial=1.0),
    }
    for end, strengths in (("", each.plain), ("_probed", each.probed)):
        low, high = rank_interval(strengths) if each.n_clusters > 1 else (np.nan, np.nan)
        columns |= {f"accuracy{end}": strengths.value, f"rank{end}": ranks(strengths.value)}
        columns |= {f"rank{end}_low": low, f"rank{end}_high": high}
    tau = float(kendall(each.plain.value[:, None], each.probed.value[:, None])[0]) if each.n else np.nan
    reason = join_reasons(
        NO_SHARED_CASE if not each.n else "",
        FEW_CLUSTERS if each.n and each.n_clusters < 2 else "",
        ALL_EQUAL if each.n and np.isnan(tau) else "",
    )
    return pd.DataFrame(columns).assign(kendall_tau=tau, reason=pd.Series(reason, index=range(judges), dtype="str"))
