"""Coefficients of agreement between raters, as functions of sums over cases."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mrb_lib.stats.estimation import FloatArray, IntArray, Quantity, divide


def scaled(categories: tuple[str, ...], level: str) -> FloatArray:
    """Return the categories as numbers from 0 to 1: on the interval level their own, if they are numbers."""
    values = np.arange(len(categories), dtype=np.float64)
    if level == "interval" and all(name.replace(".", "", 1).lstrip("-").isdigit() for name in categories):
        values = np.array([float(name) for name in categories])
    span = np.ptp(values)
    return (values - values.min()) / span if span > 0 else np.zeros(len(values))


def coefficients(labels: IntArray, values: FloatArray, level: str, used: int) -> dict[str, Quantity]:
    """Every coefficient that a level of measurement allows.

    Parameters
    ----------
    labels : shape (cases, m, raters), the codes of labels, -1 for none; m are dimensions
    values : shape (K,), the categories as numbers, see `scaled`
    used : how many categories raters use anywhere, among which AC1 and AC2 share out chance agreement

    Notes
    -----
    Percent agreement and Fleiss' kappa are means over pairs of raters of a case, and take missing labels as Gwet (2014)
    does; alpha is Krippendorff's (2011), AC1 and AC2 Gwet's (2008, doi:10.1348/000711006X126600), the kappas means over
    pairs of raters of Cohen's (1960, 1968). Compared with `krippendorff`, statsmodels and irrCAC's published values.
    """
    k, weights = len(values), (values[:, None] - values[None, :]) ** 2
    votes = (labels[..., None] == np.arange(k)).sum(axis=2).astype(np.float64)  # cases, m, K
    n = votes.sum(axis=-1)
    paired, pairs = n >= 2, np.maximum(n * (n - 1), 1.0)
    agreeing = np.where(paired, (votes * (votes - 1)).sum(axis=-1) / pairs, 0.0)
    squares = np.einsum("cmk,kl,cml->cm", votes, weights, votes) / pairs * paired
    shares = votes / np.maximum(n, 1.0)[..., None]
    base = np.concatenate([paired[..., None], agreeing[..., None], squares[..., None], shares], axis=-1).astype(
        np.float64
    )

    def chance_corrected(
        by_chance: Callable[[np.ndarray], np.ndarray], observed: Callable[[np.ndarray], np.ndarray]
    ) -> Quantity:
        def statistic(sums: np.ndarray) -> np.ndarray:
            concentration = (divide(sums[..., 3:], sums[..., 3:].sum(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
            chance = by_chance(concentration)
            return divide(observed(sums) - chance, 1 - chance)

        return Quantity(base, statistic, (n > 0).astype(np.float64))

    def agreed(sums: np.ndarray) -> np.ndarray:
        return divide(sums[..., 1], sums[..., 0])

    out = {
        "percent_agreement": Quantity(base[..., [1, 0]]),
        "cohen_kappa": kappa(labels, 1 - np.eye(k)),
        "fleiss_kappa": chance_corrected(lambda concentration: concentration, agreed),
        "krippendorff_alpha": alpha(votes, values, level),
    }
    if used > 1:
        out["gwet_ac1"] = chance_corrected(lambda concentration: (1 - concentration) / (used - 1), agreed)
    if level != "nominal":
        out |= {"linear_kappa": kappa(labels, np.sqrt(weights)), "quadratic_kappa": kappa(labels, weights)}
    if level != "nominal" and used > 1:
        spread = (used**2 - weights.sum()) / (used * (used - 1))
        out["gwet_ac2"] = chance_corrected(lambda concentration: spread * (1 - concentration),
                                           lambda sums: 1 - divide(sums[..., 2], sums[..., 0]))  # fmt: skip
    if level == "interval":
        out |= {"icc_2_1": icc(labels, values, several=False), "icc_2_k": icc(labels, values, several=True)}
    return out


def kappa(labels: IntArray, distance: FloatArray) -> Quantity:
    """The mean over pairs of raters of 1 - observed / expected distance between their labels, where that is defined."""
    k, (first, second) = len(distance), np.triu_indices(labels.shape[2], k=1)
    both = (labels[:, :, first] >= 0) & (labels[:, :, second] >= 0)
    cell = np.where(both, labels[:, :, first] * k + labels[:, :, second], -1)
    shared = both.sum(axis=0) >= 2
    adds = (cell[..., None] == np.arange(k * k)) & shared[..., None]  # cases, m, pairs, cells
    shape = (len(first), k, k)

    def statistic(sums: np.ndarray) -> np.ndarray:
        table = sums.reshape(*sums.shape[:-1], *shape)
        n = table.sum(axis=(-2, -1))
        expected = np.einsum("...i,ij,...j->...", table.sum(axis=-1), distance, table.sum(axis=-2))
        each = 1 - divide(n * (table * distance).sum(axis=(-2, -1)), expected)
        known = np.isfinite(each)
        return divide(np.where(known, each, 0.0).sum(axis=-1), known.sum(axis=-1))

    return Quantity(adds.reshape(*labels.shape[:2], -1).astype(np.float64), statistic)


def alpha(votes: FloatArray, values: FloatArray, level: str) -> Quantity:
    """Krippendorff's alpha: on the ordinal level distances depend on all labels, and the sums are of coincidences."""
    n = votes.sum(axis=-1)
    paired, k = n >= 2, len(values)
    pairs = votes[..., :, None] * votes[..., None, :] - np.eye(k) * votes[..., None]
    coincidences = pairs / np.maximum(n - 1, 1.0)[..., None, None] * paired[..., None, None]
    adds = np.concatenate([votes * paired[..., None], coincidences.reshape(*n.shape, -1)], axis=-1)

    def statistic(sums: np.ndarray) -> np.ndarray:
        each, together = sums[..., :k], sums[..., k:].reshape(*sums.shape[:-1], k, k)
        total = each.sum(axis=-1)
        at = np.cumsum(each, axis=-1) - each / 2 if level == "ordinal" else values
        apart = (at[..., :, None] - at[..., None, :]) ** 2 if level != "nominal" else 1 - np.eye(k)
        expected = (each[..., :, None] * each[..., None, :] * apart).sum(axis=(-2, -1))
        return 1 - divide((total - 1) * (together * apart).sum(axis=(-2, -1)), expected)

    return Quantity(adds, statistic)


def icc(labels: IntArray, values: FloatArray, several: bool) -> Quantity:
    """The intraclass correlation ICC(2,1) of single scores, or ICC(2,k) of a case's mean score; raters are a sample.

    Shrout and Fleiss (1979, doi:10.1037/0033-2909.86.2.420); components of variance by Henderson's first method, which
    takes missing scores (Searle, Casella and McCulloch 1992, ch. 5). Compared with pingouin.
    """
    given = (labels >= 0) & ((labels >= 0).sum(axis=2, keepdims=True) >= 2)
    score, number = np.where(given, values[labels], 0.0), given.sum(axis=2)
    each = np.maximum(number, 1)
    scalars = [
        number,
        number > 0,
        (score**2).sum(axis=2),
        score.sum(axis=2) ** 2 / each,
        number**2,
        (number > 0) / each,
    ]
    adds = np.concatenate([np.stack(scalars, axis=2), given, score], axis=2).astype(np.float64)
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
