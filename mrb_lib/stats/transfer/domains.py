"""Accuracy by domain on a scale on which domains can be pooled, however small they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.options import FloatArray, IntArray, divide
from mrb_lib.stats.resampling.resample import indicator
from mrb_lib.tables.errors import InputError

DOMAINS = ("institution", "dataset", "department")
NO_CASES = "no case can be scored"
CONSTANT = "undefined: every case has the same score within each domain, so that sampling error cannot be estimated"
ONE_CLUSTER = "undefined: every domain is one cluster, so that sampling error cannot be estimated"
BINOMIAL = "no domain varies: sampling error is taken as binomial"


class Domains(NamedTuple):
    """Accuracies by domain on the scale on which they are pooled; shape (m, K) but where said otherwise.

    Attributes
    ----------
    n, accuracy : cases scored, and their mean score
    binomial_ratio : shape (m,), sampling variance over that of as many independent right-or-wrong answers
    effect, variance : arcsine of the root of the accuracy, and its sampling variance
    clusters : shape (m,), the most clusters in a domain
    """

    n: IntArray
    accuracy: FloatArray
    binomial_ratio: FloatArray
    effect: FloatArray
    variance: FloatArray
    clusters: IntArray


def default_domain(cases: pd.DataFrame) -> str:
    """The column that says where a case comes from; see `transfer`.

    Raises
    ------
    InputError
        There is none.
    """
    filled = [name for name in DOMAINS if name in cases.columns and cases[name].notna().any()]
    if not filled:
        raise InputError(f"transfer: the cases state none of {', '.join(DOMAINS)}; name another column with `by`.")
    return next((name for name in filled if cases[name].nunique() > 1), filled[0])


def domain_accuracies(value: FloatArray, member: IntArray, n_domains: int, codes: IntArray) -> Domains:
    """The accuracies of each domain and their sampling variances.

    Parameters
    ----------
    value : shape (m, N), scores of cases, NaN where excluded
    member : shape (N,), the domain of each case, -1 for none
    codes : shape (N,), the cluster of each case
    """
    inside = member >= 0
    value, domain = value[:, inside], member[inside]
    counted = np.isfinite(value)
    scored = np.where(counted, value, 0.0)
    cells, cell = np.unique(np.column_stack([domain, codes[inside]]), axis=0, return_inverse=True)
    in_domain, in_cell = indicator(domain, n_domains), indicator(cell.reshape(-1), len(cells))
    cell_in_domain = indicator(cells[:, 0], n_domains)
    n = counted.astype(np.float64) @ in_domain
    accuracy = divide(scored @ in_domain, n)
    residual = np.where(counted, value - accuracy[:, domain], 0.0)
    squares = (residual @ in_cell) ** 2 @ cell_in_domain
    clusters = (counted.astype(np.float64) @ in_cell > 0).astype(np.float64) @ cell_in_domain
    enough = clusters > 1
    robust = np.where(enough, squares * divide(clusters, clusters - 1), 0.0).sum(axis=1)
    spread = n**2 * np.nan_to_num(accuracy * (1 - accuracy))
    binomial = np.where(enough, spread * divide(np.ones_like(n), n - 1), 0.0).sum(axis=1)
    ratio = divide(robust, binomial)
    alike = enough.any(axis=1) & (binomial == 0)
    ratio[alike] = 1.0
    effective = divide(n, ratio[:, None])
    effective[effective == 0] = np.nan
    return Domains(
        n=n.astype(np.int64),
        accuracy=accuracy,
        binomial_ratio=ratio,
        effect=np.arcsin(np.sqrt((effective * accuracy + 0.375) / (effective + 0.75))),
        variance=1.0 / (4.0 * effective + 2.0),
        clusters=clusters.max(axis=1, initial=0).astype(np.int64),
    )


def proportion(effect: FloatArray) -> FloatArray:
    """The accuracy that has this arcsine; what lies beyond the scale is at its end."""
    out: FloatArray = np.sin(np.clip(effect, 0.0, np.pi / 2)) ** 2
    return out


def variance_reasons(domains: Domains) -> list[str]:
    """Why the sampling variances of a judge and dimension are undefined, or what they rest on; empty if neither."""
    out = []
    for total, effect, clusters, accuracy in zip(
        domains.n.sum(axis=1), domains.binomial_ratio, domains.clusters, domains.accuracy, strict=True
    ):
        if total == 0:
            out.append(NO_CASES)
        elif clusters < 2:
            out.append(ONE_CLUSTER)
        elif not effect > 0:
            out.append(CONSTANT)
        else:
            defined = accuracy[np.isfinite(accuracy)]
            out.append(BINOMIAL if ((defined == 0) | (defined == 1)).all() else "")
    return out
