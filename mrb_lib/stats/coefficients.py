"""Coefficients of agreement between raters, as functions of sums over cases."""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, Quantity, divide
from mrb_lib.tables.schema import Level, category_numbers

Made = Quantity | Callable[[IntArray], Quantity]


def scaled(categories: Sequence[str], level: str) -> FloatArray:
    """Return the categories as numbers from 0 to 1: on the interval level their own, if they are numbers."""
    values = np.array(category_numbers(categories)) if level == "interval" else np.arange(len(categories), dtype=float)
    span = np.ptp(values) if len(values) else 0.0
    return (values - values.min()) / span if span > 0 else np.zeros(len(values))


def coefficients(labels: IntArray, values: FloatArray, level: str, used: BoolArray) -> dict[str, Made]:
    """Return every coefficient that a level of measurement allows, by name.

    Parameters
    ----------
    labels : shape (cases, m, raters), the codes of labels, -1 for none; m are dimensions
    values : shape (K,), the categories as numbers, see `scaled`
    used : shape (K,), the categories that raters use anywhere, among which AC1 and AC2 share out chance agreement

    Notes
    -----
    Percent agreement and Fleiss' kappa are means over pairs of raters of a case, and take missing labels as Gwet (2014,
    Handbook of Inter-Rater Reliability, ch. 3) does; alpha is Krippendorff's (2011), AC1 and AC2 Gwet's (2008,
    doi:10.1348/000711006X126600), the kappas means over pairs of raters of Cohen's (1960, 1968). Compared with
    `krippendorff`, statsmodels and irrCAC's published values.
    """
    k, q, apart = len(values), int(used.sum()), (values[:, None] - values) ** 2
    votes = (labels[..., None] == np.arange(k)).sum(axis=2).astype(np.float64)  # cases, m, K
    n = votes.sum(axis=-1)
    shares = divide(votes, n[..., None])

    def agreed(closeness: FloatArray) -> FloatArray:
        """Return the mean closeness of two labels of each case, and 1 where a case has two."""
        near = np.einsum("cmk,kl,cml->cm", votes, closeness, votes) - n
        return np.stack([np.nan_to_num(divide(near, n * (n - 1))), n >= 2], axis=-1)

    def beyond(closeness: FloatArray, chance: Callable[[np.ndarray], np.ndarray]) -> Quantity:
        def statistic(sums: np.ndarray) -> np.ndarray:
            share = divide(sums[..., 2:], sums[..., 2:].sum(axis=-1, keepdims=True))
            expected = chance((share**2).sum(axis=-1))
            return divide(divide(sums[..., 0], sums[..., 1]) - expected, 1 - expected)

        adds = np.concatenate([agreed(closeness), np.nan_to_num(shares)], axis=-1)
        return Quantity(adds, statistic, (n > 0).astype(np.float64))

    def gwet(closeness: FloatArray) -> Quantity:
        scale = closeness[np.ix_(used, used)].sum() / (q * (q - 1))
        return beyond(closeness, lambda concentration: scale * (1 - concentration))

    def mean_kappa(distance: FloatArray) -> Callable[[IntArray], Quantity]:
        return lambda cases: kappa(labels[cases], distance)

    same, reach = np.eye(k), float(np.ptp(values[used])) ** 2 if q > 1 else 0.0
    out: dict[str, Made] = {
        "percent_agreement": Quantity(agreed(same)),
        "cohen_kappa": mean_kappa(1 - same),
        "fleiss_kappa": beyond(same, lambda concentration: concentration),
        "krippendorff_alpha": alpha(votes, values, level),
    }
    if q > 1:
        out["gwet_ac1"] = gwet(same)
    if level != "nominal":
        out |= {"linear_kappa": mean_kappa(np.sqrt(apart)), "quadratic_kappa": mean_kappa(apart)}
        out |= {"gwet_ac2": gwet(1 - apart / reach)} if reach > 0 else {}
    if level == "interval":
        out |= {"icc_2_1": icc(labels, values, several=False), "icc_2_k": icc(labels, values, several=True)}
    return out


def kappa(labels: IntArray, distance: FloatArray) -> Quantity:
    """Return the mean of Cohen's kappa (1 - observed / expected distance of labels) over pairs of raters.

    Pairs that share fewer than two of the cases, or gave one and the same label only, are left out of the mean.
    """
    k, given = len(distance), labels >= 0
    together = np.einsum("nma,nmb->mab", given.astype(np.float64), given.astype(np.float64))
    first, second = np.nonzero(np.triu((together >= 2).any(axis=0), k=1))
    kept = given[:, :, first] & given[:, :, second] & (together[:, first, second] >= 2)
    one, other = labels[:, :, first], labels[:, :, second]
    parts = [(kept * distance[one, other])[..., None]]
    parts += [((each[..., None] == np.arange(k)) & kept[..., None]).astype(np.float64) for each in (one, other)]
    adds = np.concatenate(parts, axis=-1)  # cases, m, pairs, 1 + 2K

    def statistic(sums: np.ndarray) -> np.ndarray:
        by_pair = sums.reshape(*sums.shape[:-1], len(first), 1 + 2 * k)
        apart, rows, columns = by_pair[..., 0], by_pair[..., 1 : 1 + k], by_pair[..., 1 + k :]
        expected = np.einsum("...i,ij,...j->...", rows, distance, columns)
        each = 1 - divide(rows.sum(axis=-1) * apart, expected)
        known = np.isfinite(each)
        return divide(np.where(known, each, 0.0).sum(axis=-1), known.sum(axis=-1))

    return Quantity(adds.reshape(*labels.shape[:2], len(first) * (1 + 2 * k)), statistic)


def cohen_kappa(sums: np.ndarray) -> np.ndarray:
    """Return Cohen's kappa of tables of counts, shape (..., k * k); NaN where either side has one category only.

    Cohen (1960), doi:10.1177/001316446002000104.
    """
    k = round(sums.shape[-1] ** 0.5)
    counts = sums.reshape(*sums.shape[:-1], k, k)
    total = counts.sum(axis=(-2, -1))
    rows, columns = counts.sum(axis=-1), counts.sum(axis=-2)
    agreed = divide(np.trace(counts, axis1=-2, axis2=-1), total)
    by_chance = divide((rows * columns).sum(axis=-1), total**2)
    several = np.minimum((np.real(rows) > 0).sum(axis=-1), (np.real(columns) > 0).sum(axis=-1)) > 1
    return np.where(several, divide(agreed - by_chance, 1 - by_chance), np.nan)


def prevalence_index(shares: FloatArray, q: int) -> FloatArray:
    """Return how unevenly q categories are used, from their shares (..., K): 0 evenly, 1 one category only.

    With two categories it is the absolute difference of their shares, the prevalence index of Byrt, Bishop and Carlin
    (1993, doi:10.1016/0895-4356(93)90018-V); with more, the square root of (q sum p^2 - 1) / (q - 1).
    """
    uneven = (q * (shares**2).sum(axis=-1) - 1) / (q - 1) if q > 1 else np.full(shares.shape[:-1], np.nan)
    return np.asarray(np.sqrt(np.maximum(uneven, 0.0)))


def bias_index(first: FloatArray, second: FloatArray, q: int) -> FloatArray:
    """Return how differently two annotators use q categories, from shares (..., K): 0 alike, 1 never the same.

    With two categories it is the bias index of Byrt, Bishop and Carlin (1993). Cohen's kappa is
    (PABAK - PI^2 + BI^2) / (1 - PI^2 + BI^2), PI being the prevalence index of the mean shares and PABAK
    (q percent agreement - 1) / (q - 1).
    """
    scale = q / (q - 1) if q > 1 else np.nan
    return np.asarray(np.sqrt(scale * (((first - second) / 2) ** 2).sum(axis=-1)))


def alpha(votes: FloatArray, values: FloatArray, level: str) -> Quantity:
    """Return Krippendorff's alpha; on the ordinal level distances depend on all labels: sums are coincidences."""
    n = votes.sum(axis=-1)
    paired, k = n >= 2, len(values)
    pairs = votes[..., :, None] * votes[..., None, :] - np.eye(k) * votes[..., None]
    coincidences = pairs / np.maximum(n - 1, 1.0)[..., None, None] * paired[..., None, None]
    adds = np.concatenate([votes * paired[..., None], coincidences.reshape(*n.shape, k * k)], axis=-1)

    def statistic(sums: np.ndarray) -> np.ndarray:
        each, together = sums[..., :k], sums[..., k:].reshape(*sums.shape[:-1], k, k)
        total = each.sum(axis=-1)
        at = np.cumsum(each, axis=-1) - each / 2 if level == "ordinal" else values
        apart = (at[..., :, None] - at[..., None, :]) ** 2 if level != "nominal" else 1 - np.eye(k)
        expected = (each[..., :, None] * each[..., None, :] * apart).sum(axis=(-2, -1))
        return 1 - divide((total - 1) * (together * apart).sum(axis=(-2, -1)), expected)

    return Quantity(adds, statistic)


def estimated_alpha(labels: IntArray, values: FloatArray, level: str) -> float:
    """Return Krippendorff's alpha by the package `krippendorff`; NaN below two paired cases or two labels that occur.

    Parameters
    ----------
    labels : shape (cases, raters), the position of each label among `values`; -1 where there is none
    values : shape (K,), the labels as numbers
    """
    import krippendorff

    votes = (labels[..., None] == np.arange(len(values))).sum(axis=1)
    paired = votes[votes.sum(axis=1) >= 2]
    if len(paired) < 2 or paired.any(axis=0).sum() < 2:
        return np.nan
    return float(krippendorff.alpha(value_counts=paired, value_domain=values, level_of_measurement=cast(Level, level)))


def icc(labels: IntArray, values: FloatArray, several: bool) -> Quantity:
    """Return the intraclass correlation ICC(2,1) of single scores, or ICC(2,k) of mean scores; raters are a sample.

    Shrout and Fleiss (1979, doi:10.1037/0033-2909.86.2.420); components of variance by Henderson's first method, which
    takes missing scores (Searle, Casella and McCulloch 1992, ch. 5). Compared with pingouin.
    """
    given = (labels >= 0) & ((labels >= 0).sum(axis=2, keepdims=True) >= 2)
    score, number = np.where(given, values[labels], 0.0), given.sum(axis=2)
    each = np.maximum(number, 1)
    total, squares = score.sum(axis=2), (score**2).sum(axis=2)
    scalars = np.stack([number, number > 0, squares, total**2 / each, number**2, (number > 0) / each], axis=2)
    adds = np.concatenate([scalars, given, score], axis=2).astype(np.float64)
    raters = labels.shape[2]

    def statistic(sums: np.ndarray) -> np.ndarray:
        n, cases, squares, by_case, sizes, inverse = np.moveaxis(sums[..., :6], -1, 0)
        of_rater, total = sums[..., 6 : 6 + raters], sums[..., 6 + raters :]
        by_rater = np.nan_to_num(divide(total**2, of_rater)).sum(axis=-1)
        centre, people = divide(total.sum(axis=-1) ** 2, n), (np.real(of_rater) > 0).sum(axis=-1)
        within_case, within_rater = divide(squares - by_case, n - cases), divide(squares - by_rater, n - people)
        case_size, rater_size = divide(sizes, n), divide((of_rater**2).sum(axis=-1), n)
        explained = (n - case_size) * within_rater + (n - rater_size) * within_case
        between = within_rater - divide(explained - (squares - centre), n + 1 - case_size - rater_size)
        noise = within_case * divide(inverse, cases) if several else within_case
        return divide(between, between + noise)

    return Quantity(adds, statistic, (number > 0).astype(np.float64))
